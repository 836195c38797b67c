# SPDX-License-Identifier: Apache-2.0
"""Arrays of drives by arithmetic (`array_model`): as a disk of this machine, and behind a link."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

from ioatlas.errors import UsageError
from ioatlas_lab.array_model import Layout, cached_iops, random_iops, stream_bytes_per_s
from ioatlas_lab.catalog_root import IPERF, IPERF_SERVER, IPROUTE, PORT
from ioatlas_lab.instance import SHEET
from ioatlas_lab.network import goodput_bytes_per_s
from ioatlas_lab.recipes import FIO, PATH_NOTE, SIZE, SOCKET, URI, each_way, number, read_latency, scenario, whole
from ioatlas_lab.scenario import Check, Link, Recipe, Serve, Setting, Text, Truth

BLOCK = 4096
UNEVEN = "random addresses leave a drive without work now and then"
_SWITCHES = ("rebuilding", "ssd_cache")


ARRAY: dict[str, Setting] = {
    "drives": 5,
    "level": "raid5",
    "degraded": 0,
    "rebuilding": 0,
    "rebuild_percent": 30.0,
    "ssd_cache": 0,
    "cache_bytes": 64 << 20,
    "ssd_iops": 2000,
    "bw_bytes_per_s": 20_000_000,
    "seek_ms": 8.0,
    "size_bytes": SIZE,
}


def layout_of(s: Mapping[str, Setting]) -> Layout:
    """The array that settings describe. Raises UsageError when there can be no such one."""
    for name in _SWITCHES:
        if whole(s, name) not in (0, 1):
            raise UsageError(f"{name} of an array is 0 or 1, not {s[name]}")
    if not 0 < number(s, "rebuild_percent") < 100:
        raise UsageError(f"rebuild_percent is above 0 and below 100, not {s['rebuild_percent']}")
    rebuilding = whole(s, "rebuilding")
    layout = Layout(
        level=str(s["level"]),
        drives=whole(s, "drives"),
        missing=max(whole(s, "degraded"), rebuilding),
        bw_bytes_per_s=number(s, "bw_bytes_per_s"),
        seek_s=number(s, "seek_ms") / 1000,
        rebuild_share=number(s, "rebuild_percent") / 100 * rebuilding,
        cache_bytes=whole(s, "cache_bytes") * whole(s, "ssd_cache"),
        ssd_iops=number(s, "ssd_iops"),
        size_bytes=whole(s, "size_bytes"),
    )
    if layout.problem():
        raise UsageError(layout.problem(), remedy="change drives, level, degraded or rebuilding")
    return layout


def array_server(layout: Layout, place: str = SOCKET, name: str = "disk", *, node: int = 0) -> Serve:
    """The process that is such an array. place: a socket's path, or HOST:PORT of the scenario's server or of a node."""
    words = tuple(f"{field.name}={getattr(layout, field.name)}" for field in fields(Layout))
    on_socket = place.startswith("{dir}")
    argv = ("{python}", "-m", "ioatlas_lab.array_server", f"unix:{place}" if on_socket else place, *words)
    return Serve(name, argv, place, inside=not on_socket and not node, node=node)


def array_sheet(name: str, layout: Layout) -> Text:
    """The product sheet of such an array: its drives and their layout are facts, its usable capacity follows."""
    rate, iops = layout.bw_bytes_per_s, 1 / (layout.seek_s + BLOCK / layout.bw_bytes_per_s)
    copies = f"copies = {layout.drives}\n" if layout.level == "raid1" else ""
    text = f"""# A lab target: drives and layout are what was set.
format = 1

[source]
name = "settings of the lab target {name}"

[product]
vendor = "I/O Atlas lab"
model = "{name}: {layout.level} over {layout.drives} drives"
kind = "array, by arithmetic"
note = "{len(layout.living)} of {layout.drives} drives are there."

[[drives]]
count = {layout.drives}
model = "{rate / 1e6:g} MB/s, seek {1000 * layout.seek_s:g} ms"
capacity = "{layout.size_bytes // layout.units} B"
read = "{rate / 1e6:g} MB/s"
write = "{rate / 1e6:g} MB/s"
read_iops = {iops:.1f}
write_iops = {iops:.1f}

[layout]
type = "{layout.level}"
{copies}stripe_unit = "{layout.unit_bytes >> 10}k"
"""
    return Text(f"{{dir}}/{SHEET}", text)


def array_truth(layout: Layout) -> dict[str, Truth]:
    """What follows from the layout."""
    rate, seek = layout.bw_bytes_per_s, layout.seek_s
    truth = {
        "read_bytes_per_s": Truth(
            stream_bytes_per_s(layout, write=False),
            "B/s",
            "arithmetic",
            "one stream of sequential reads: units of data in a stripe x drive; parity and second copies pass under "
            "the heads",
        ),
        "write_bytes_per_s": Truth(
            stream_bytes_per_s(layout, write=True),
            "B/s",
            "arithmetic",
            "one stream of sequential writes, whole stripes",
        ),
        "random_read_iops": Truth(
            random_iops(layout, BLOCK, write=False),
            "1/s",
            "arithmetic",
            "4 KiB, all drives busy: all drives that are there x drive; a read of a missing one reads the others",
        ),
        "random_write_iops": Truth(
            random_iops(layout, BLOCK, write=True),
            "1/s",
            "arithmetic",
            "4 KiB, all drives busy: 4 I/Os a write with one parity, 6 with two, one for each copy of mirrors",
        ),
        "drive_bytes_per_s": Truth(rate, "B/s", note="of every drive, without a seek"),
        "drive_iops": Truth(1 / (seek + BLOCK / rate), "1/s", "arithmetic", "of every drive: seek and 4 KiB"),
    }
    if layout.cache_bytes:
        truth["cache_bytes"] = Truth(layout.cache_bytes, "B", note="of the SSD: random reads, units of 64 KiB, LRU")
        truth["random_read_iops"] = Truth(
            cached_iops(layout, layout.size_bytes),
            "1/s",
            "arithmetic",
            "4 KiB over the whole disk, once the cache is full: hits of the SSD, and misses that read 64 KiB each",
        )
        truth["hit_iops"] = Truth(layout.ssd_iops, "1/s", note="of random reads that the cache holds, once it does")
    return truth


def _seconds(layout: Layout) -> float:
    """Time after which the cache holds what it can: three times its units, each missed once."""
    if not layout.cache_bytes:
        return 1.0
    return 1 + 3 * layout.cache_bytes / layout.unit_bytes / random_iops(layout, layout.unit_bytes, write=False)


@scenario("array-model", "drive bandwidth", (FIO,), ARRAY)
def _model(s: Mapping[str, Setting]) -> Recipe:
    """Raid0, 1, 5, 6 or 10 over drives with a seek and a rate each: degraded, rebuilding, behind an SSD cache, as
    set.
    """
    layout = layout_of(s)
    size = f"size={layout.size_bytes}"
    deep = ("bs=4k", "iodepth=256", size)
    checks = [
        *each_way("{way}_bytes_per_s", "bs=256k", "iodepth=8", size, settle_seconds=1),
        Check("random_write_iops", ("rw=randwrite", *deep), "iops", 1, 6, 0.03, wider=UNEVEN),
    ]
    if not layout.cache_bytes:
        checks.append(Check("random_read_iops", ("rw=randread", *deep), "iops", 1, 4, 0.03, wider=UNEVEN))
    else:
        held = ("rw=randread", "bs=4k", "iodepth=16", f"size={layout.cache_bytes // 2}", "norandommap=1")
        checks.append(Check("hit_iops", held, "iops", _seconds(layout), 3))
        whole_disk = ("rw=randread", *deep, "norandommap=1")
        checks.append(
            Check("random_read_iops", whole_disk, "iops", _seconds(layout), 5, 0.05, wider=f"{UNEVEN}; chance of a hit")
        )
    steps = (array_sheet("array-model", layout), array_server(layout))
    return Recipe(steps, URI, array_truth(layout), checks=tuple(checks))


@scenario(
    "drive-zones",
    "drive bandwidth",
    (FIO,),
    {"bw_bytes_per_s": 80_000_000, "inner_bytes_per_s": 40_000_000, "seek_ms": 8.0, "size_bytes": SIZE},
)
def _zones(s: Mapping[str, Setting]) -> Recipe:
    """One drive of two zones: the outer half of its tracks is faster than the inner half; a seek before each random
    I/O.
    """
    outer, inner, size = number(s, "bw_bytes_per_s"), number(s, "inner_bytes_per_s"), whole(s, "size_bytes")
    seek, half = number(s, "seek_ms") / 1000, size // 2
    layout = Layout("raid0", 1, 0, outer, inner, seek, size_bytes=size)
    truth = {
        "outer_bytes_per_s": Truth(
            half / (half / outer + seek),
            "B/s",
            "arithmetic",
            f"sequential passes over the first half of the drive, a seek each; the heads read {outer:g} B/s",
        ),
        "inner_bytes_per_s": Truth(
            half / (half / inner + seek),
            "B/s",
            "arithmetic",
            f"such passes over the second half; the heads read {inner:g} B/s",
        ),
        "whole_bytes_per_s": Truth(
            size / (half / outer + half / inner + seek), "B/s", "arithmetic", "such passes over the whole drive"
        ),
        "iops": Truth(1 / (seek + BLOCK / outer), "1/s", "arithmetic", "random 4 KiB in the first half"),
        "lat_mean_ms": Truth(
            1000 * (seek + BLOCK / outer), "ms", "arithmetic", f"of such reads, one in flight; {PATH_NOTE}"
        ),
        "boundary_bytes": Truth(half, "B", note="where the inner zone begins"),
    }
    stream = ("rw=read", "bs=256k", "iodepth=8", f"size={half}")
    checks = (
        Check("outer_bytes_per_s", stream, settle_seconds=1, seconds=5),
        Check("inner_bytes_per_s", (*stream, f"offset={half}"), settle_seconds=1, seconds=5),
        read_latency("lat_mean_ms", 1000 * seek, f"size={half}"),
    )
    return Recipe((array_server(layout),), URI, truth, checks=checks)


@scenario(
    "array-link",
    "link",
    (FIO, IPERF, *IPROUTE),
    {**ARRAY, "bw_bytes_per_s": 50_000_000, "rate_bits_per_s": 10**9, "mtu": 1500},
    needs_root=True,
)
def _array_link(s: Mapping[str, Setting]) -> Recipe:
    """Such an array behind a link of given rate and MTU: the lesser of both."""
    layout = layout_of(s)
    rate, mtu = whole(s, "rate_bits_per_s"), whole(s, "mtu")
    link, array = goodput_bytes_per_s(rate, mtu), array_truth(layout)
    truth = {
        name: Truth(min(array[name].value, link), "B/s", "arithmetic", f"the lesser of array and link; {way}")
        for name, way in (("read_bytes_per_s", "one stream"), ("write_bytes_per_s", "one stream, whole stripes"))
    }
    truth |= {
        name: Truth(min(one.value, link / BLOCK), "1/s", one.source, one.note)
        for name, one in array.items()
        if one.unit == "1/s" and name != "drive_iops"
    }
    truth |= {
        "array_read_bytes_per_s": array["read_bytes_per_s"],
        "array_write_bytes_per_s": array["write_bytes_per_s"],
        "link_bytes_per_s": Truth(link, "B/s", "arithmetic", "TCP payload; each direction apart"),
        "rate_bits_per_s": Truth(rate, "bit/s", note="of the token bucket at each end"),
        "mtu": Truth(mtu, "B"),
        "drive_bytes_per_s": array["drive_bytes_per_s"],
        "drive_iops": array["drive_iops"],
    }
    burst = 256 << 10 if rate <= 5_000_000_000 else 1 << 20
    checks = each_way("{way}_bytes_per_s", "bs=64k", "iodepth=32", f"size={layout.size_bytes}", settle_seconds=1)
    place = f"{{server}}:{PORT}"
    steps = (array_sheet("array-link", layout), Link(rate, mtu, burst), array_server(layout, place), IPERF_SERVER)
    return Recipe(steps, f"nbd://{place}", truth, checks=checks)
