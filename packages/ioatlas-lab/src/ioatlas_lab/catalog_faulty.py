# SPDX-License-Identifier: Apache-2.0
"""Scenarios that do wrong: wrong bytes, errors, refused sizes."""

from __future__ import annotations

from collections.abc import Mapping

from ioatlas.model.words import words
from ioatlas_lab.recipes import NBDKIT, PYTHON_PLUGIN, SIZE, STORAGE_DAEMON, URI, nbdkit, number, scenario, whole
from ioatlas_lab.scenario import Check, MakeFile, Recipe, Requirement, Run, Serve, Setting, Truth


@scenario("corrupting", "", (NBDKIT, PYTHON_PLUGIN), {"every_writes": 500, "size_bytes": 64 << 20})
def _corrupting(s: Mapping[str, Setting]) -> Recipe:
    """A disk that flips one byte in some of the blocks written to it, and reports success."""
    server = nbdkit("python", "{plugins}/memory_disk.py", f"size={s['size_bytes']}", f"every={s['every_writes']}")
    truth = {
        "every_writes": Truth(
            whole(s, "every_writes"), "1", note="each write of this number stores one wrong byte and returns success"
        ),
    }
    every = whole(s, "every_writes")
    verify = ("rw=randwrite", "bs=4k", "iodepth=8", f"size={4 * every * 4096}", "verify=crc32c", "do_verify=1")
    return Recipe((server,), URI, truth, checks=(Check("every_writes", verify, "writes_per_error", 0, 0, 0),))


@scenario(
    "corrupting-parallel",
    "",
    (STORAGE_DAEMON, Requirement("fusermount3", "fuse3"), Requirement("/dev/fuse", "a kernel with FUSE")),
    {"size_bytes": 64 << 20},
)
def _corrupting_parallel(s: Mapping[str, Setting]) -> Recipe:
    """A file on QEMU's FUSE export, which mixes up parallel writes (QEMU before the middle of 2025)."""
    file = ("--blockdev", "driver=file,node-name=disk,filename={dir}/content")
    export = ("--export", "type=fuse,id=export,node-name=disk,mountpoint={dir}/disk,writable=on")
    server = Serve("disk", ("qemu-storage-daemon", "--pidfile", "{dir}/mounted", *file, *export), "{dir}/mounted")
    truth = {
        "safe_iodepth": Truth(
            1, "1", "documented", "writes in flight that are stored right; a newer QEMU stores any number right"
        )
    }
    verify = ("rw=randwrite", "bs=4k", "ioengine=libaio", "direct=1", "size=16m", "verify=crc32c", "do_verify=1")
    steps = (MakeFile("{dir}/content", whole(s, "size_bytes")), Run(("touch", "{dir}/disk")), server)
    return Recipe(
        steps, "{dir}/disk", truth, kind="file", checks=(Check("safe_iodepth", verify, "safe_iodepth", 0, 0, 0),)
    )


@scenario("failing", "", (NBDKIT,), {"error_percent": 1.0, "size_bytes": SIZE})
def _failing(s: Mapping[str, Setting]) -> Recipe:
    """A disk that answers some I/Os with an error."""
    percent = number(s, "error_percent")
    server = nbdkit("--filter=error", "memory", f"{s['size_bytes']}", "error=EIO", f"error-rate={percent:g}%")
    truth = {"error_percent": Truth(percent, "%", note="chance of every single I/O to fail with EIO")}
    return Recipe(
        (server,),
        URI,
        truth,
        checks=(
            Check(
                "error_percent",
                ("rw=randread", "bs=4k", "iodepth=4"),
                "error_percent",
                0,
                3,
                0.15,
                wider="chance: four standard deviations of 700 errors",
            ),
        ),
    )


@scenario("sector-4k", "", (NBDKIT,), {"sector_bytes": 4096, "size_bytes": SIZE})
def _sector(s: Mapping[str, Setting]) -> Recipe:
    """A disk that refuses I/Os smaller than or not aligned to 4 KiB."""
    sector = whole(s, "sector_bytes")
    settings = words(
        f"blocksize-minimum={sector} blocksize-preferred={sector} blocksize-maximum=32M blocksize-error-policy=error"
    )
    server = nbdkit("--filter=blocksize-policy", "memory", f"{s['size_bytes']}", *settings)
    truth = {"sector_bytes": Truth(sector, "B", note="smaller or unaligned requests fail with EINVAL")}
    return Recipe(
        (server,), URI, truth, checks=(Check("sector_bytes", ("rw=randread", "iodepth=1"), "refused", 0, 1, 0),)
    )
