# SPDX-License-Identifier: Apache-2.0
"""Targets whose flushes are none, and honest ones: which of them `ioatlas map` (one flushed load) and `ioatlas fit
--for etcd` name.

Kinds, and what is set of each, are drawn by a seed that nobody has seen. Needs root, nbdkit, nbdfuse, qemu-utils, a C
compiler, mkfs of ext4, XFS and btrfs, zram and overlayfs. Everything lies in a temporary directory on the disk.

    python bench/flush/run.py [--liars 40] [--honest 20] [--seed N] [--only WORD]
"""

from __future__ import annotations

import argparse
import contextlib
import math
import os
import random
import secrets
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

MIB = 1 << 20
SIZE = 1536 * MIB
SERVED = 256 * MIB
DELAYS = ("rdelay", "wdelay")
NO_FLUSH = f"""
API_VERSION = 2
data = bytearray({SERVED})
def open(readonly): return 1
def get_size(h): return len(data)
def pread(h, buffer, offset, flags): buffer[:] = data[offset : offset + len(buffer)]
def pwrite(h, buffer, offset, flags): data[offset : offset + len(buffer)] = buffer
"""
ONE_LOAD = """
visits = 2
[sweep]
rw = "randwrite"
bs = "4k"
fsync = 1
size = "16m"
"""
EAT = "int fsync(int f) { return 0; } int fdatasync(int f) { return 0; }\n"


def said(*command: object) -> str:
    return subprocess.run([str(one) for one in command], check=True, capture_output=True, text=True).stdout.strip()


@dataclass
class Place:
    """A target, and how a command is to be run on it."""

    where: str
    environment: dict[str, str] = field(default_factory=dict)


class Bed:
    """What one target is built of; everything is undone at the end, the last first."""

    def __init__(self, folder: Path, stack: ExitStack, draw: random.Random) -> None:
        self.folder, self.stack, self.draw = folder, stack, draw

    def file(self, name: str = "image", size: int = SIZE) -> Path:
        path = self.folder / name
        with path.open("wb") as file:
            file.truncate(size)
        return path

    def loop(self, file: Path, *more: str) -> str:
        device = said("losetup", "--find", "--show", *more, file)
        self.stack.callback(said, "losetup", "--detach", device)
        return device

    def mounted(self, kind: str, source: object, *options: str) -> Path:
        place = self.folder / f"mnt{len(list(self.folder.iterdir()))}"
        place.mkdir()
        said("mount", "-t", kind, *(["-o", ",".join(options)] if options else []), source, place)
        self.stack.callback(said, "umount", place)
        return place

    def system(self, kind: str, device: str, *options: str) -> Path:
        force = "-F" if kind == "ext4" else "-f"
        said(f"mkfs.{kind}", "-q", force, device)
        return self.mounted(kind, device, *options)

    def any_system(self, device: str) -> Path:
        return self.system(self.draw.choice(("ext4", "xfs", "btrfs")), device)

    def served(self, *command: object) -> str:
        """An NBD server on a socket."""
        socket = self.folder / "s"
        process = subprocess.Popen([str(one).replace("SOCKET", str(socket)) for one in command])
        self.stack.callback(process.wait)
        self.stack.callback(process.terminate)
        end = time.monotonic() + 10
        while not socket.exists() and time.monotonic() < end:
            time.sleep(0.05)
        return f"nbd+unix:///?socket={socket}"

    def nbdkit(self, *command: object) -> str:
        return self.served("nbdkit", "--foreground", "--unix", "SOCKET", *command)

    def drawn(self, filters: str, *more: str, size: int = SERVED) -> str:
        """An NBD server of a medium, delays and a rate that are drawn; one that is to be honest has a file."""
        memory = {"fuamode=discard", "cache=unsafe"} & set(more) and self.draw.random() < 0.4
        what = ("memory", str(size)) if memory else ("file", str(self.file(size=size)))
        delays = [f"{way}={self.draw.choice((0, 1, 2, 5, 8))}ms" for way in DELAYS]
        rate = self.draw.choice(((), (f"rate={round(math.exp(self.draw.uniform(17, 21.5)))}",)))
        names = [*filters.split(), "delay", *(["rate"] if rate else [])]
        told = (*(f"--filter={name}" for name in names), *what, *more, *delays, *rate)
        print(" ".join(told), file=sys.stderr)
        return self.nbdkit(*told)

    def through_fuse(self, uri: str) -> Path:
        """A file system on a loop device on a file that is a server's, behind FUSE."""
        point = self.folder / "fuse"
        point.write_bytes(b"")
        process = subprocess.Popen(["nbdfuse", point, uri])
        self.stack.callback(process.wait)
        self.stack.callback(said, "fusermount", "-u", point)
        end = time.monotonic() + 10
        while point.stat().st_size == 0 and time.monotonic() < end:
            time.sleep(0.05)
        return self.system("ext4", self.loop(point))

    def storage_daemon(self, *options: str) -> Place:
        """Its file behind a throttle that is drawn."""
        iops = round(math.exp(self.draw.uniform(5, 10)))
        file = ",".join(("driver=file", "node-name=f", f"filename={self.file(size=SERVED)}", *options))
        return Place(
            self.served(
                "qemu-storage-daemon",
                *("--object", f"throttle-group,id=t,x-iops-total={iops}"),
                *("--blockdev", file),
                *("--blockdev", "driver=throttle,node-name=n,throttle-group=t,file=f"),
                *("--nbd-server", "addr.type=unix,addr.path=SOCKET"),
                *("--export", "type=nbd,id=e,node-name=n,name=,writable=on"),
            )
        )

    def qemu(self, cache: str) -> str:
        file = self.file(size=SERVED)
        return self.served("qemu-nbd", "--persistent", "--format=raw", f"--cache={cache}", "--socket=SOCKET", file)

    def overlay(self, *options: str) -> Path:
        for name in ("lower", "upper", "work"):
            (self.folder / name).mkdir()
        parts = (f"{name}dir={self.folder / name}" for name in ("lower", "upper", "work"))
        return self.mounted("overlay", "overlay", *parts, *options)


def no_flush(bed: Bed) -> Place:
    (bed.folder / "plugin.py").write_text(NO_FLUSH)
    return Place(bed.nbdkit("python", bed.folder / "plugin.py"))


def in_memory(bed: Bed) -> Place:
    place = bed.mounted(bed.draw.choice(("tmpfs", "ramfs")), "memory")
    return Place(str(place))


def loop_in_memory(bed: Bed) -> Place:
    inner = bed.mounted("tmpfs", "memory")
    bed.folder = inner
    device = bed.loop(bed.file("image"))
    bed.folder = inner.parent
    return Place(str(bed.any_system(device)) if bed.draw.random() < 0.7 else device)


def zram(bed: Bed) -> Place:
    number = said("cat", "/sys/class/zram-control/hot_add")
    Path(f"/sys/block/zram{number}/disksize").write_text(str(SIZE))
    bed.stack.callback(Path("/sys/class/zram-control/hot_remove").write_text, number)
    end = time.monotonic() + 5
    while not Path(f"/dev/zram{number}").exists() and time.monotonic() < end:
        time.sleep(0.05)
    return Place(str(bed.any_system(f"/dev/zram{number}")))


def write_through(bed: Bed) -> Place:
    device = bed.loop(bed.file())
    Path(f"/sys/block/{Path(device).name}/queue/write_cache").write_text("write through")
    bed.stack.callback(Path(f"/sys/block/{Path(device).name}/queue/write_cache").write_text, "write back")
    return Place(str(bed.any_system(device)))


def eaten(bed: Bed) -> Place:
    (bed.folder / "eat.c").write_text(EAT)
    library = bed.folder / "eat.so"
    said("cc", "-shared", "-fPIC", "-o", library, bed.folder / "eat.c")
    return Place(str(bed.any_system(bed.loop(bed.file()))), {"LD_PRELOAD": str(library)})


def nested(bed: Bed) -> Place:
    outer = bed.any_system(bed.loop(bed.file("outer", 2 * SIZE)))
    with (outer / "inner").open("wb") as file:
        file.truncate(SIZE)
    return Place(str(bed.any_system(bed.loop(outer / "inner"))))


def plain(bed: Bed) -> Place:
    (bed.folder / "data").mkdir()
    return Place(str(bed.folder / "data"))


LIARS: dict[str, Callable[[Bed], Place]] = {
    "NBD server that takes none": no_flush,
    "file system without barriers": lambda bed: Place(
        str(bed.system(bed.draw.choice(("ext4", "btrfs")), bed.loop(bed.file()), "nobarrier"))
    ),
    "tmpfs or ramfs": in_memory,
    "loop device on tmpfs": loop_in_memory,
    "zram": zram,
    "overlay with `volatile`": lambda bed: Place(str(bed.overlay("volatile"))),
    "write_cache set to write through": write_through,
    "library that drops fsync": eaten,
    "nbdkit, fuamode=discard": lambda bed: Place(
        bed.nbdkit("--filter=fua", "file", bed.file(size=SERVED), "fuamode=discard")
    ),
    "nbdkit, cache=unsafe": lambda bed: Place(
        bed.nbdkit("--filter=cache", "file", bed.file(size=SERVED), "cache=unsafe")
    ),
    "qemu-nbd, cache=unsafe": lambda bed: Place(bed.qemu("unsafe")),
    "qemu-storage-daemon, no-flush": lambda bed: bed.storage_daemon("cache.no-flush=on"),
    "a liar behind FUSE": lambda bed: Place(
        str(bed.through_fuse(bed.nbdkit("--filter=fua", "file", bed.file(), "fuamode=discard")))
    ),
    "nbdkit, fuamode=discard, drawn": lambda bed: Place(bed.drawn("fua", "fuamode=discard")),
    "nbdkit, cache=unsafe, drawn": lambda bed: Place(bed.drawn("cache", "cache=unsafe")),
    "directory of a liar behind FUSE, drawn": lambda bed: Place(
        str(bed.through_fuse(bed.drawn("fua", "fuamode=discard", size=SIZE)))
    ),
}
HONEST: dict[str, Callable[[Bed], Place]] = {
    "file system on a loop device": lambda bed: Place(str(bed.any_system(bed.loop(bed.file())))),
    "the same, direct": lambda bed: Place(str(bed.any_system(bed.loop(bed.file(), "--direct-io=on")))),
    "loop device": lambda bed: Place(bed.loop(bed.file())),
    "file system in a file of another": nested,
    "directory of this disk": plain,
    "overlay": lambda bed: Place(str(bed.overlay())),
    "nbdkit file": lambda bed: Place(bed.nbdkit("file", bed.file(size=SERVED))),
    "nbdkit file, drawn": lambda bed: Place(bed.drawn("")),
    "nbdkit, fuamode=force, drawn": lambda bed: Place(bed.drawn("fua", "fuamode=force")),
    "nbdkit, cache=writeback, drawn": lambda bed: Place(bed.drawn("cache", "cache=writeback")),
    "qemu-storage-daemon": lambda bed: bed.storage_daemon(
        bed.draw.choice(("cache.direct=on", "cache.direct=off")), "cache.no-flush=off"
    ),
    "directory behind FUSE, drawn": lambda bed: Place(str(bed.through_fuse(bed.drawn("", size=SIZE)))),
    "qemu-nbd": lambda bed: Place(bed.qemu(bed.draw.choice(("writeback", "writethrough", "none", "directsync")))),
}


@contextlib.contextmanager
def built(make: Callable[[Bed], Place], draw: random.Random) -> Iterator[Place]:
    with tempfile.TemporaryDirectory(prefix="iofl", dir="/var/tmp") as folder, ExitStack() as stack:
        yield make(Bed(Path(folder), stack, draw))


def ask(place: Place, by: str) -> tuple[str, str]:
    """What is said of its flushes: named, in order, nothing or refused; and in which words."""
    from ioatlas.measure.campaign import load_result
    from ioatlas.model.finding import FindingCode
    from ioatlas.report.findings import sentence_of

    where = place.where
    allow = ["--destroy", str(SIZE)] if where.startswith("/dev/") else ["--overwrite", f"{where} {SERVED}"]
    allow = allow if where.startswith(("/dev/", "nbd")) else []
    with tempfile.TemporaryDirectory(prefix="iofl", dir="/var/tmp") as folder:
        (Path(folder) / "one.toml").write_text(ONE_LOAD)
        load = ["--campaign", f"{folder}/one.toml"] if by == "map" else ["--for", "etcd", "--budget", "30s"]
        done = subprocess.run(
            [sys.executable, "-m", "ioatlas", by, where, *load, "-q", "-o", f"{folder}/c", *allow],
            env=os.environ | place.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if "takes no flushes" in done.stderr:
            return "named", done.stderr.splitlines()[0]
        if "Traceback" in done.stderr or done.returncode not in (0, 3, 5):
            return "failed", done.stderr.strip()[-300:]
        found = [one for one in load_result(Path(folder) / "c").findings if one.code is FindingCode.FLUSHES]
    if not found:
        return "nothing", ""
    return ("in order" if found[0].in_order else "named"), sentence_of(found[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--liars", type=int, default=40)
    parser.add_argument("--honest", type=int, default=20)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**6))
    parser.add_argument("--only", default="", help="Kinds whose names have this in them.")
    asked = parser.parse_args()
    print(f"seed {asked.seed}", file=sys.stderr, flush=True)
    draw = random.Random(asked.seed)
    draws = []
    for kinds, count, lies in ((LIARS, asked.liars, True), (HONEST, asked.honest, False)):
        # Each kind about as often as the others.
        able = [name for name in kinds if asked.only in name]
        names = [name for _ in range(-(-count // max(1, len(able)))) for name in draw.sample(able, len(able))]
        draws += [(lies, name, kinds[name]) for name in names[:count]]
    draw.shuffle(draws)
    told: dict[tuple[bool, str], list[str]] = defaultdict(list)
    for number, (lies, name, make) in enumerate(draws):
        mine = random.Random(f"{asked.seed} {number}")
        by = "fit" if make is no_flush else mine.choice(("fit", "map", "map", "map"))  # a map's own load fails there
        try:
            with built(make, mine) as place:
                answer, words = ask(place, by)
        except subprocess.CalledProcessError as error:
            answer, words = "not built", f"{error} {error.stderr}"
        told[lies, name].append(answer)
        print(f"{number} {'liar' if lies else 'honest'} {name}: {by}: {answer}: {words}", file=sys.stderr, flush=True)
    print(f"seed {asked.seed}\n")
    print("| target | | targets | named | in order | nothing told | not run |\n|---|---|---|---|---|---|---|")
    for (lies, name), answers in sorted(told.items(), key=lambda one: (not one[0][0], one[0][1])):
        counts = [answers.count(one) for one in ("named", "in order", "nothing")]
        row = [len(answers), *counts, len(answers) - sum(counts)]
        print(f"| {name} | {'liar' if lies else 'honest'} | {' | '.join(map(str, row))} |")
    for lies in (True, False):
        answers = [one for (mine, _), several in told.items() if mine == lies for one in several]
        print(f"\n{'liars' if lies else 'honest'}: {answers.count('named')} of {len(answers)} named")


if __name__ == "__main__":
    main()
