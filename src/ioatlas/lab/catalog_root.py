# SPDX-License-Identifier: Apache-2.0
"""The scenarios that need root: links in network namespaces, and drives behind the block I/O controller."""

from __future__ import annotations

from collections.abc import Mapping

from ioatlas.lab.catalog import NBDKIT, SIZE, nbdkit, whole
from ioatlas.lab.network import goodput_bytes_per_s
from ioatlas.lab.scenario import Check, Link, Loop, MakeFile, Recipe, Requirement, Scenario, Serve, Setting, Truth

IPROUTE = (Requirement("ip", "iproute2"), Requirement("tc", "iproute2"), Requirement("nsenter", "util-linux"))
IPERF = Requirement("iperf3", "iperf3")
LOSETUP = Requirement("losetup", "util-linux")
PORT = 10809
IPERF_PORT = 5201

REGISTRY: dict[str, Scenario] = {}


def _link(s: Mapping[str, Setting]) -> Recipe:
    rate, mtu = whole(s, "rate_bits_per_s"), whole(s, "mtu")
    goodput = goodput_bytes_per_s(rate, mtu)
    burst = 256 << 10 if rate <= 5_000_000_000 else 1 << 20
    steps = (
        Link(rate, mtu, burst),
        nbdkit("memory", f"{s['size_bytes']}", address=("--ipaddr", "{server}", "--port", f"{PORT}"), ready=f"{{server}}:{PORT}"),
        Serve("iperf", ("iperf3", "--server", "--bind", "{server}", "--port", f"{IPERF_PORT}"), f"{{server}}:{IPERF_PORT}", inside=True),
    )
    truth = {
        "bw_bytes_per_s": Truth(
            goodput, "B/s", "arithmetic",
            "TCP payload: rate/8 x (MTU-52)/(MTU+14); the token bucket counts the frame header but not preamble, FCS and gap; each direction apart",
        ),
        "rate_bits_per_s": Truth(rate, "bit/s", note="of the token bucket at each end"),
        "mtu": Truth(mtu, "B"),
        "burst_bytes": Truth(burst, "B", note="what the bucket lets through at once after an idle time"),
    }  # fmt: skip
    checks = (
        Check("bw_bytes_per_s", ("rw=read", "bs=64k", "iodepth=16"), settle_seconds=1, tolerance=0.005),
        Check("bw_bytes_per_s", ("rw=write", "bs=64k", "iodepth=16"), settle_seconds=1, tolerance=0.005),
    )
    return Recipe(steps, f"nbd://{{server}}:{PORT}", truth, checks=checks)


for _name, _rate, _mtu, _words in (
    ("link-1g", 10**9, 1500, "1 Gb/s at MTU 1500"),
    ("link-1g-jumbo", 10**9, 9000, "1 Gb/s at MTU 9000"),
    ("link-100m", 10**8, 1500, "100 Mb/s at MTU 1500"),
    ("link-100m-jumbo", 10**8, 9000, "100 Mb/s at MTU 9000"),
):
    REGISTRY[_name] = Scenario(
        _name,
        "link",
        f"memory served over TCP through a link of {_words}; iperf3 answers on the same address",
        (NBDKIT, IPERF, *IPROUTE),
        {"rate_bits_per_s": _rate, "mtu": _mtu, "size_bytes": SIZE},
        _link,
        needs_root=True,
    )


def _drive(s: Mapping[str, Setting]) -> Recipe:
    rate, iops = whole(s, "bw_bytes_per_s"), whole(s, "iops")
    steps = (MakeFile("{dir}/drive.img", whole(s, "size_bytes")), Loop("{dir}/drive.img", rate, iops))
    truth = {
        "bw_bytes_per_s": Truth(rate, "B/s", note="large blocks; reads and writes apart"),
        "iops": Truth(iops, "1/s", note="small blocks; reads and writes apart; given out in slices of about 0.1 s, so latency is an artefact"),
    }
    common = ("ioengine=libaio", "direct=1")
    checks = (
        Check("bw_bytes_per_s", (*common, "rw=read", "bs=256k", "iodepth=8"), settle_seconds=1, tolerance=0.02),
        Check("iops", (*common, "rw=randread", "bs=4k", "iodepth=16"), "iops", settle_seconds=1, tolerance=0.02),
    )
    return Recipe(steps, "{loop0}", truth, kind="block", checks=checks, options={"direct": 1})


REGISTRY["drive"] = Scenario(
    "drive",
    "drive bandwidth",
    "a real block device (loop) with limits on bytes and I/Os a second by the kernel's block I/O controller",
    (LOSETUP,),
    {"bw_bytes_per_s": 50_000_000, "iops": 1000, "size_bytes": SIZE},
    _drive,
    needs_root=True,
)

