# SPDX-License-Identifier: Apache-2.0
"""Kernel counters against claims: caches proven, foreign load named, small batches left alone."""

import pytest

from ioatlas.answer.analysis.counters import (
    BatchCount,
    CountedPath,
    counter_findings,
    dropped_flushes,
    early_findings,
    excess,
    flush_findings,
    other_traffic,
    shortage,
)
from ioatlas.model.target import NO_FLUSHES, Identity, Target
from ioatlas.model.testbed import Fact, Testbed
from ioatlas.model.visit import Histogram

MIB = 1 << 20


def codes(*counts):
    return [(finding.code, dict(finding.values)) for finding in counter_findings("sda", counts)]


def test_equal_counts_are_not_news():
    assert codes(*[BatchCount("read", 1000 * MIB, 1001 * MIB, 20.0)] * 3) == []
    assert other_traffic("sda", [BatchCount("read", 1000 * MIB, 1001 * MIB, 20.0)] * 3) == ()


def test_a_shortfall_proves_a_cache():
    counts = BatchCount("read", 1000 * MIB, 1000 * MIB, 20.0), BatchCount("read", 1000 * MIB, 100 * MIB, 20.0)
    values = {"path": "sda", "missing_bytes": 900 * MIB, "share": 0.1, "n_batches": 1, "n_judged": 2}
    assert codes(*counts) == [("cache", values)]


def test_an_excess_is_another_load():
    values = {"path": "sda", "excess_bytes": 300 * MIB, "n_batches": 1, "n_judged": 1}
    assert codes(BatchCount("write", 1000 * MIB, 1300 * MIB, 20.0)) == [("counters", values)]
    [found] = other_traffic("sda", [BatchCount("write", 1000 * MIB, 1300 * MIB, 20.0)])
    assert (found.excess_bytes, found.share) == (300 * MIB, 0.3)


def test_a_moments_work_of_the_system_in_one_batch_is_not_news():
    counts = [BatchCount("write", 1000 * MIB, 1000 * MIB, 20.0)] * 3 + [BatchCount("write", 200 * MIB, 230 * MIB, 4.0)]
    assert codes(*counts) == []
    assert other_traffic("sda", counts) == ()


def test_one_batch_with_so_much_of_it_that_the_whole_is_off_is_trouble():
    ((_, values),) = codes(
        *[BatchCount("write", 1000 * MIB, 1000 * MIB, 20.0)] * 3, BatchCount("write", 1000 * MIB, 1500 * MIB, 20.0)
    )
    assert values == {"path": "sda", "excess_bytes": 500 * MIB, "n_batches": 1, "n_judged": 4}


def test_what_a_link_carries_beside_payload_is_no_excess():
    assert codes(BatchCount("read", 1000 * MIB, 1060 * MIB, 20.0, most_bytes=1070 * MIB)) == []


def test_small_batches_are_not_judged_and_short_ones_are():
    assert codes(BatchCount("read", MIB, 0, 20.0)) == []
    ((code, _),) = codes(BatchCount("read", 1000 * MIB, 0, 1.0))
    assert code == "cache", "the counters bracket the whole process"


def usage(read=0, write=0, rx=0, tx=0):
    disk = {"read_bytes": read, "write_bytes": write}
    return {"disks": {"sda": disk, "sdb": disk}, "nics": {"eth0": {"rx_bytes": rx, "tx_bytes": tx}}, "nfs": None}


def test_bytes_are_counted_where_all_of_them_pass():
    assert CountedPath(devices=("sda",)).counted_bytes(usage(read=5), "read") == 5
    assert CountedPath(devices=("sda", "sdb")).counted_bytes(usage(write=5), "write") == 10
    assert CountedPath(devices=("sdc",)).counted_bytes(usage(read=5), "read") is None
    assert CountedPath(interfaces=("eth0",)).counted_bytes(usage(rx=7, tx=9), "write") == 9
    assert CountedPath(nfs=True).counted_bytes({"nfs": {"server_read_bytes": 3, "server_write_bytes": 4}}, "read") == 3
    assert CountedPath(nfs=True).counted_bytes(usage(), "read") is None
    assert CountedPath().counted_bytes(usage(read=5), "read") is None
    assert CountedPath(devices=("sda",)).counted_bytes(usage(), "trim") is None


def test_too_few_bytes_contradict_however_short_the_batch_and_too_many_only_far_off():
    disk, wire = CountedPath(devices=("sda",)), CountedPath(interfaces=("eth0",))
    assert "12.5% of the bytes read" in shortage(disk, "read", 8 * MIB, MIB)
    assert shortage(disk, "read", 100 * MIB, 99 * MIB) == ""
    assert shortage(disk, "read", MIB // 2, 0) == ""
    assert shortage(disk, "read", 8 * MIB, None) == ""
    assert "260.0% of the bytes written" in excess(disk, "write", 100 * MIB, 100, 260 * MIB)
    assert excess(disk, "write", 100 * MIB, 100, 190 * MIB) == ""
    assert excess(disk, "write", 10 * MIB, 100, 25 * MIB) == ""
    assert excess(disk, "write", 10 * MIB, 100, 160 * MIB), "the other load leaves little to claim"
    # 4 KiB I/Os: requests and headers are part of what a wire carries.
    assert excess(wire, "read", 100 * MIB, 25_600, 222 * MIB) == ""
    assert "another load" in excess(wire, "read", 100 * MIB, 100, 222 * MIB)


def flushes(*counts):
    return {"disks": {f"sd{letter}": {"flushes": count} for letter, count in zip("abc", counts, strict=False)}}


def test_flushes_that_no_drive_was_sent_are_named_and_no_others():
    path = CountedPath(devices=("dm-0",), caches=("sda", "sdb"))
    assert path.counted_flushes(flushes(0, 7)) == 7
    assert path.counted_flushes(flushes(0, None)) is None
    assert path.counted_flushes(flushes(0)) is None
    assert CountedPath(devices=("sda",)).counted_flushes(flushes(5)) is None
    # waited for, as many as cannot have been joined, and sent
    for waited, apart, sent, told in (
        (99, 99, 0, []),
        (1000, 1000, 0, [False]),
        (5000, 5000, 400, [False]),
        (1000, 1000, 900, [True]),
        (64000, 1000, 900, [True]),
        (64, 64, 900, []),
    ):
        assert [one.in_order for one in flush_findings("t", path, waited, apart, sent, ("c",))] == told


def test_an_nfs_mount_has_to_send_something_for_each_flush():
    path = CountedPath(nfs=True)
    for sent, told in ((0, [False]), (1200, [True])):
        usage = {"nfs": {"server_read_bytes": 0, "server_write_bytes": 0, "flushes": sent}}
        found = flush_findings("t", path, 1000, 1000, path.counted_flushes(usage), ("c",))
        assert [one.in_order for one in found] == told
        assert [found[0].values[name] for name in ("drives", "n_sent", "n_waited")] == ["", sent, 1000]
    assert path.counted_flushes({"nfs": {"server_read_bytes": 0, "server_write_bytes": 0}}) is None


@pytest.mark.parametrize(
    ("facts", "us", "named"),
    [
        ({"path__round_trip": 1e-3}, 400, "'trip_ns': 1000000.0"),
        ({"path__round_trip": 1e-3}, 600, ""),
        ({"path__round_trip": 2e-5}, 5, ""),  # of so short a trip most is the time of processors
        ({"device__sda__rotation_rpm": 7200.0}, 900, "'quarter_ns': 2083333"),
        ({"device__sda__rotation_rpm": 7200.0}, 2500, ""),
        ({}, 1, ""),
    ],
)
def test_flushes_that_are_answered_before_anything_can_have_lasted_are_named(facts, us, named):
    path = CountedPath(devices=("sda",), caches=("sda",)) if "device__sda__rotation_rpm" in facts else CountedPath()
    for count, share in ((1000, 0.45), (1000, 0.7), (90, 0.9)):
        early = round(share * count)
        flushed = Histogram.from_counts({us * 1000: early, 20_000_000: count - early})
        slow = Histogram.from_counts({20_000_000: count})
        expected = [False] if named and (share, count) == (0.7, 1000) else []
        for whole, alone in ((flushed, slow), (slow, flushed)):
            found = early_findings("t", bed(**facts), path, whole, alone)
            assert [one.in_order for one in found] == ([] if alone is flushed and path.caches else expected)
            assert all(named in str(one.values) for one in found)
        assert early_findings("t", bed(**facts), CountedPath(nfs=True), slow, flushed) == ()


def bed(**facts):
    return Testbed("t", 0.0, tuple(Fact(name.replace("__", "."), value) for name, value in facts.items()))


LOOP = {"device__stack": "loop0 > sda", "device__loop0__direct_io": False}
CACHED = {"device__stack": "sda", "device__sda__write_cache": "write back"}
SET_BY_HAND = {"device__stack": "sda", "device__sda__write_cache": "write through"}


@pytest.mark.parametrize(
    ("facts", "named"),
    [
        ({"fs__type": "tmpfs", "mount__options": "rw"}, "tmpfs"),
        ({"fs__type": "ext4", "mount__options": "rw,nobarrier", **CACHED}, "nobarrier"),
        ({"fs__type": "ext4", "mount__options": "rw,nobarrier", **SET_BY_HAND}, ""),
        ({"fs__type": "ext4", "mount__options": "rw", **CACHED}, ""),
        ({"fs__type": "overlay", "mount__options": "rw,upperdir=/u,fsync=volatile"}, "fsync=volatile"),
        ({"fs__type": "overlay", "mount__options": "rw,upperdir=/volatile"}, ""),
        ({"fs__type": "xfs", **LOOP, "device__loop0__backing_fs": "tmpfs rw,size=1g"}, "tmpfs"),
        ({"fs__type": "xfs", **LOOP, "device__loop0__backing_fs": "ext4 rw", **CACHED}, ""),
        ({"fs__type": "xfs", "device__stack": "zram0"}, "zram0"),
        ({**LOOP, "device__loop0__write_cache": "write through"}, "loop0"),
        ({**LOOP, "device__loop0__write_cache": "write back"}, ""),
        ({**SET_BY_HAND, "device__sda__cache_type": "write back"}, "sda"),
        ({**SET_BY_HAND, "device__sda__volatile_write_cache": True}, "sda"),
        ({**SET_BY_HAND, "device__sda__cache_type": "write through"}, ""),
        ({"server__drops_flushes": "cache=unsafe"}, "cache=unsafe"),
        ({}, ""),
    ],
)
def test_what_keeps_flushes_from_what_lasts_is_named_and_nothing_else(facts, named):
    why = dropped_flushes(Target("t", "directory", "/t"), bed(**facts))
    assert named in why if named else why == ""


def test_a_server_that_takes_no_flushes_is_named():
    assert dropped_flushes(Target("t", "uri", "nbd://t", Identity((NO_FLUSHES,))), None)
    assert dropped_flushes(Target("t", "uri", "nbd://t"), None) == ""
