# SPDX-License-Identifier: Apache-2.0
"""Targets that their client holds back: a network card slower than the target, memory smaller than the data."""

from __future__ import annotations

from collections.abc import Mapping

from ioatlas_lab.catalog_root import (
    IPERF,
    IPERF_SERVER,
    IPROUTE,
    OWN_BYTES,
    PORT,
    SMB_FILE,
    SMB_PACKAGES,
    smb_steps,
)
from ioatlas_lab.network import goodput_bytes_per_s
from ioatlas_lab.recipes import FIO, NBDKIT, SIZE, each_way, nbdkit, scenario, whole
from ioatlas_lab.scenario import Check, Link, Memory, Recipe, Setting, Truth

_BURST_SECONDS = 0.1


@scenario(
    "slow-nic",
    "link",
    (NBDKIT, IPERF, *IPROUTE),
    {"nic_bits_per_s": 560_000_000, "mtu": 1500, "bw_bytes_per_s": 113_000_000, "size_bytes": SIZE},
    needs_root=True,
)
def _slow_nic(s: Mapping[str, Setting]) -> Recipe:
    """A client whose network card (67 MB/s) is slower than the target behind it (113 MB/s)."""
    card, mtu, rate = whole(s, "nic_bits_per_s"), whole(s, "mtu"), whole(s, "bw_bytes_per_s")
    goodput = goodput_bytes_per_s(card, mtu)
    place, limit = f"{{server}}:{PORT}", (f"rate={rate * 8}", f"burstiness={_BURST_SECONDS}")
    server = nbdkit("--filter=rate", "memory", f"{s['size_bytes']}", *limit, place=place)
    truth = {
        "bw_bytes_per_s": Truth(
            min(goodput, rate), "B/s", "arithmetic", "the lesser of card and target; each direction apart"
        ),
        "nic_bytes_per_s": Truth(goodput, "B/s", "arithmetic", "TCP payload that passes the client's card"),
        "nic_bits_per_s": Truth(card, "bit/s", note="of the token bucket that stands for the card"),
        "target_bytes_per_s": Truth(rate, "B/s", note="what the target gives, after a burst of 0.1 s"),
    }
    checks = each_way("bw_bytes_per_s", "bs=64k", "iodepth=16", settle_seconds=1, tolerance=0.005)
    return Recipe((Link(card, mtu), server, IPERF_SERVER), f"nbd://{place}", truth, checks=checks)


@scenario(
    "small-ram",
    "client page cache",
    (FIO, *IPROUTE, *SMB_PACKAGES),
    {"rate_bits_per_s": 250_000_000, "mtu": 1500, "ram_bytes": 64 << 20, "size_bytes": 128 << 20},
    needs_root=True,
)
def _small_ram(s: Mapping[str, Setting]) -> Recipe:
    """A client of little memory (fio in a memory control group) before an SMB server behind a link: files that fit
    come once, others in every pass.
    """
    rate, mtu, memory, size = (whole(s, key) for key in ("rate_bits_per_s", "mtu", "ram_bytes", "size_bytes"))
    half = memory // 2
    truth = {
        "bw_bytes_per_s": Truth(
            goodput_bytes_per_s(rate, mtu),
            "B/s",
            "arithmetic",
            "of a file larger than the memory, at most and in every pass: it comes over the link again",
        ),
        "link_read_bytes": Truth(
            half,
            "B",
            "arithmetic",
            "of a file half as large as the memory, read again and again while it is open: each byte comes once",
        ),
        "ram_bytes": Truth(memory, "B", note=f"of fio: its own, some {OWN_BYTES >> 20} MiB, and its page cache"),
    }
    common = ("ioengine=psync", "direct=0", "invalidate=0", "rw=read", "bs=256k")
    checks = (
        Check(
            "bw_bytes_per_s",
            (*common, f"size={min(size, 2 * memory)}"),
            settle_seconds=1,
            seconds=8,
            tolerance=0.05,
            wider="SMB has headers of its own, and some blocks of the last pass are still there",
        ),
        Check(
            "link_read_bytes",
            (*common, f"size={half}"),
            "path_bytes",
            0,
            4,
            0.03,
            wider="headers of TCP and SMB, 1.3%",
        ),
    )
    options: dict[str, Setting] = {"direct": 0, "invalidate": 0, "ioengine": "psync"}
    steps = (*smb_steps(Link(rate, mtu), size), Memory(memory))
    return Recipe(steps, SMB_FILE, truth, kind="file", checks=checks, options=options)
