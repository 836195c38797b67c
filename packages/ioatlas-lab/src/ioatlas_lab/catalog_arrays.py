# SPDX-License-Identifier: Apache-2.0
"""Arrays of drives by arithmetic (`array_model`): as a disk of this machine, and behind a link; several that are loaded
together: behind the one link of a central box, or striped over nodes with a link each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace

from ioatlas.model.errors import UsageError
from ioatlas_lab.array_model import Layout, cached_iops, random_iops, stream_bytes_per_s
from ioatlas_lab.catalog_root import PORT, bucket_bytes, iperf_server
from ioatlas_lab.instance import SHEET
from ioatlas_lab.network import goodput_bytes_per_s
from ioatlas_lab.scenario import (
    PATH_NOTE,
    SOCKET,
    URI,
    Check,
    Link,
    Nodes,
    Recipe,
    Serve,
    Settings,
    Step,
    Text,
    Truth,
    check,
    each_way,
    follows,
    number,
    read_latency,
    scenario,
    settings_of,
    text_of,
    whole,
)

BLOCK = 4096
UNEVEN = "random addresses leave a drive without work now and then"
_SWITCHES = ("rebuilding", "ssd_cache")


ARRAY = settings_of("array-model")


def layout_of(s: Settings) -> Layout:
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
    rate = layout.bw_bytes_per_s
    text = text_of("array.toml").format(
        name=name,
        level=layout.level,
        drives=layout.drives,
        living=len(layout.living),
        rate=rate / 1e6,
        seek_ms=1000 * layout.seek_s,
        iops=1 / (layout.seek_s + BLOCK / rate),
        capacity=layout.size_bytes // layout.units,
        copies=f"copies = {layout.drives}\n" if layout.level == "raid1" else "",
        unit_kib=layout.unit_bytes >> 10,
    )
    return Text(f"{{dir}}/{SHEET}", text)


_READ = (
    "one stream of sequential reads: units of data in a stripe x drive; parity and second copies pass under the heads"
)
_RANDOM_READ = "4 KiB, all drives busy: all drives that are there x drive; a read of a missing one reads the others"
_RANDOM_WRITE = "4 KiB, all drives busy: 4 I/Os a write with one parity, 6 with two, one for each copy of mirrors"
_CACHED = "4 KiB over the whole disk, once the cache is full: hits of the SSD, and misses that read 64 KiB each"


def array_truth(layout: Layout) -> dict[str, Truth]:
    """What follows from the layout."""
    rate, seek = layout.bw_bytes_per_s, layout.seek_s
    written = stream_bytes_per_s(layout, write=True)
    truth = {
        "read_bytes_per_s": follows(stream_bytes_per_s(layout, write=False), _READ),
        "write_bytes_per_s": follows(written, "one stream of sequential writes, whole stripes"),
        "random_read_iops": follows(random_iops(layout, BLOCK, write=False), _RANDOM_READ),
        "random_write_iops": follows(random_iops(layout, BLOCK, write=True), _RANDOM_WRITE),
        "drive_bytes_per_s": Truth(rate, "of every drive, without a seek"),
        "drive_iops": follows(1 / (seek + BLOCK / rate), "of every drive: seek and 4 KiB"),
    }
    if layout.cache_bytes:
        truth |= {
            "cache_bytes": Truth(layout.cache_bytes, "of the SSD: random reads, units of 64 KiB, LRU"),
            "random_read_iops": follows(cached_iops(layout, layout.size_bytes), _CACHED),
            "hit_iops": Truth(layout.ssd_iops, "of random reads that the cache holds, once it does"),
        }
    return truth


def _seconds(layout: Layout) -> float:
    """Time after which the cache holds what it can: three times its units, each missed once."""
    if not layout.cache_bytes:
        return 1.0
    return 1 + 3 * layout.cache_bytes / layout.unit_bytes / random_iops(layout, layout.unit_bytes, write=False)


@scenario("array-model")
def _model(s: Settings) -> Recipe:
    """Raid0, 1, 5, 6 or 10 over drives with a seek and a rate each: degraded, rebuilding, behind an SSD cache, as
    set.
    """
    layout = layout_of(s)
    size = f"size={layout.size_bytes}"
    deep = f"bs=4k iodepth=256 {size}"
    checks = [
        *each_way("{way}_bytes_per_s", f"bs=256k iodepth=8 {size}", 1),
        check("random_write_iops", f"rw=randwrite {deep}", 1, 6, 0.03, wider=UNEVEN),
    ]
    if layout.cache_bytes:
        full, hits = _seconds(layout), f"bs=4k iodepth=16 size={layout.cache_bytes // 2}"
        hit = f"{UNEVEN}; chance of a hit"
        checks += [
            check("hit_iops", f"rw=randread {hits} norandommap=1", full),
            check("random_read_iops", f"rw=randread {deep} norandommap=1", full, 5, 0.05, wider=hit),
        ]
    else:
        checks.append(check("random_read_iops", f"rw=randread {deep}", 1, 4, 0.03, wider=UNEVEN))
    steps = (array_sheet("array-model", layout), array_server(layout))
    return Recipe(steps, URI, array_truth(layout), checks=tuple(checks))


@scenario("drive-zones")
def _zones(s: Settings) -> Recipe:
    """One drive of two zones: the outer half of its tracks is faster than the inner half; a seek before each random
    I/O.
    """
    outer, inner, size = number(s, "bw_bytes_per_s"), number(s, "inner_bytes_per_s"), whole(s, "size_bytes")
    seek, half = number(s, "seek_ms") / 1000, size // 2
    access = seek + BLOCK / outer
    first = f"sequential passes over the first half of the drive, a seek each; the heads read {outer:g} B/s"
    second = f"such passes over the second half; the heads read {inner:g} B/s"
    truth = {
        "outer_bytes_per_s": follows(half / (half / outer + seek), first),
        "inner_bytes_per_s": follows(half / (half / inner + seek), second),
        "whole_bytes_per_s": follows(size / (half / outer + half / inner + seek), "such passes over the whole drive"),
        "iops": follows(1 / access, "random 4 KiB in the first half"),
        "lat_mean_ms": follows(1000 * access, f"of such reads, one in flight; {PATH_NOTE}"),
        "boundary_bytes": Truth(half, "where the inner zone begins"),
    }
    stream = f"rw=read bs=256k iodepth=8 size={half}"
    checks = (
        check("outer_bytes_per_s", stream, 1, 5),
        check("inner_bytes_per_s", f"{stream} offset={half}", 1, 5),
        read_latency("lat_mean_ms", 1000 * seek, f"size={half}"),
    )
    layout = Layout("raid0", 1, 0, outer, inner, seek, size_bytes=size)
    return Recipe((array_server(layout),), URI, truth, checks=checks)


@scenario("array-link")
def _array_link(s: Settings) -> Recipe:
    """Such an array behind a link of given rate and MTU: the lesser of both."""
    layout = layout_of(s)
    rate, mtu = whole(s, "rate_bits_per_s"), whole(s, "mtu")
    link, array = goodput_bytes_per_s(rate, mtu), array_truth(layout)
    both = {"read_bytes_per_s": "one stream", "write_bytes_per_s": "one stream, whole stripes"}
    truth = {
        name: follows(min(array[name].value, link), f"the lesser of array and link; {how}")
        for name, how in both.items()
    }
    truth |= {
        name: replace(one, value=min(one.value, link / BLOCK))
        for name, one in array.items()
        if name.endswith("iops") and name != "drive_iops"
    }
    truth |= {
        **{f"array_{name}": array[name] for name in both},
        "link_bytes_per_s": follows(link, "TCP payload; each direction apart"),
        "rate_bits_per_s": Truth(rate, "of the token bucket at each end"),
        "mtu": Truth(mtu),
        **{name: array[name] for name in ("drive_bytes_per_s", "drive_iops")},
    }
    checks = each_way("{way}_bytes_per_s", f"bs=64k iodepth=32 size={layout.size_bytes}", 1)
    place = f"{{server}}:{PORT}"
    carried = (Link(rate, mtu, bucket_bytes(rate)), array_server(layout, place), iperf_server())
    return Recipe((array_sheet("array-link", layout), *carried), f"nbd://{place}", truth, checks=checks)


# -- loaded together -------------------------------------------------------------------------------------------------

MOST = 16
"""Disks of one target."""
_TIMES = 50
"""How many times as fast as a node's port this machine's is: never what limits."""
_QUEUE_MS = 2000
"""Long enough that nothing is dropped: a client whose first packet to a full port is lost starts a second later."""


_WAYS = ("read", "write")


def _count(s: Settings) -> int:
    count = whole(s, "arrays")
    if not 0 < count <= MOST:
        raise UsageError(f"arrays is 1 to {MOST}, not {count}")
    return count


def _rates(s: Settings, layout: Layout) -> tuple[dict[str, float], dict[str, float]]:
    """Bytes a second of a link and of an array's drives, by way."""
    link = {way: goodput_bytes_per_s(whole(s, f"{way}_bits_per_s"), whole(s, "mtu")) for way in _WAYS}
    return link, {way: stream_bytes_per_s(layout, write=way == "write") for way in _WAYS}


def _truth(
    one: Mapping[str, float], together: Mapping[str, float], what: str, link: Mapping[str, float], passes: str
) -> dict[str, Truth]:
    """What one array gives alone, and all of them together. what: they share, or have apart; passes: NAME of each link,
    and who passes that.
    """
    found = {}
    for way in _WAYS:
        found[f"{way}_bytes_per_s"] = follows(one[way], f"sequential, one array alone; {what}")
        found[f"all_{way}_bytes_per_s"] = follows(together[way], "the sum of all arrays together")
    name, _, who = passes.partition(" ")
    return found | {f"{name}_{way}_bytes_per_s": follows(link[way], f"TCP payload that {who} passes") for way in _WAYS}


def _checks(size: int) -> tuple[Check, ...]:
    return each_way("{way}_bytes_per_s", f"bs=64k iodepth=16 size={size}", 2)


@scenario("central-box")
def _central_box(s: Settings) -> Recipe:
    """Several arrays behind the link of one controller, which takes less than it gives: together they share it."""
    layout, count = layout_of({**ARRAY, **s}), _count(s)
    link, drives = _rates(s, layout)
    truth = _truth(
        {way: min(link[way], drives[way]) for way in _WAYS},
        {way: min(link[way], count * drives[way]) for way in _WAYS},
        "the lesser of its drives and the controller's link",
        link,
        "link the controller",
    )
    out, into = whole(s, "read_bits_per_s"), whole(s, "write_bits_per_s")
    places = [f"{{server}}:{PORT + number}" for number in range(count)]
    arrays = tuple(array_server(layout, place, f"disk{number}") for number, place in enumerate(places, 1))
    link_of_all = Link(out, whole(s, "mtu"), in_bits_per_s=into, queue_ms=_QUEUE_MS)
    exports = tuple((f"array{number}", f"nbd://{place}") for number, place in enumerate(places, 1))
    steps: tuple[Step, ...] = (link_of_all, *arrays, iperf_server())
    return Recipe(steps, exports[0][1], truth, checks=_checks(layout.size_bytes), exports=exports)


@scenario("storage-nodes")
def _storage_nodes(s: Settings) -> Recipe:
    """Several arrays, each striped by the client over nodes with drives and a port each: together they add up."""
    count, each, drives, size = _count(s), whole(s, "nodes_each"), whole(s, "drives"), whole(s, "size_bytes")
    if not 0 < each <= MOST or count * each > MOST or drives % each:
        raise UsageError(f"{count} arrays over {each} nodes each cannot be", remedy=f"use at most {MOST} nodes")
    layout = layout_of({**ARRAY, **s, "drives": drives // each, "size_bytes": size // each})
    port, behind = _rates(s, layout)
    one = {way: each * min(port[way], behind[way]) for way in _WAYS}
    whole_set = {way: count * rate for way, rate in one.items()}
    truth = _truth(one, whole_set, "its nodes, each the lesser of drives and port", port, "port a node")
    nodes = range(1, count * each + 1)
    disks = tuple(array_server(layout, f"{{node{number}}}:{PORT}", f"disk{number}", node=number) for number in nodes)
    stripes, exports = [], []
    for array in range(1, count + 1):
        listening = f"{{dir}}/array{array}.sock"
        below = tuple(f"{{node{number}}}:{PORT}/" for number in nodes[(array - 1) * each : array * each])
        words = ("{python}", "-m", "ioatlas_lab.spread_server", f"unix:{listening}", str(layout.unit_bytes), *below)
        stripes.append(Serve(f"stripe{array}", words, listening))
        exports.append((f"array{array}", f"nbd+unix:///?socket={listening}"))
    out, into = whole(s, "read_bits_per_s"), whole(s, "write_bits_per_s")
    fast = _TIMES * max(out, into)
    switch = Nodes(len(nodes), out, whole(s, "mtu"), in_bits_per_s=into, client_bits_per_s=fast, queue_ms=_QUEUE_MS)
    steps: tuple[Step, ...] = (switch, *disks, *stripes, iperf_server(1))
    return Recipe(steps, exports[0][1], truth, checks=_checks(size), exports=tuple(exports))
