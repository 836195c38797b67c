# SPDX-License-Identifier: Apache-2.0
"""Kernel counters against what a whole batch claims."""

import pytest

from ioatlas.answer.analysis.counters import CountedPath
from ioatlas.load.machine.telemetry import Watched
from ioatlas.measure.run.gates import AMPLIFIED, Gates, counted_path
from tests.unit.run.made import MIB, cell, part, planned, result

DISK = Watched(("sda",), (), "", tops=("sda",))


def usage(read=0, write=0, disk="sda"):
    return {"disks": {disk: {"read_bytes": read * MIB, "write_bytes": write * MIB}}}


def told(gates, results, counted, *, alone=False):
    rows = {one.section.visit_id: planned(one.section.visit_id, alone=alone) for one in results}
    return gates.contradictions(results, rows, counted)


def test_bytes_are_counted_where_all_of_them_pass():
    assert counted_path(Watched(("sda", "dm-0"), (), "", tops=("dm-0",))).devices == ("dm-0",)
    assert counted_path(Watched((), ("eth0",), "/mnt/nas")) == CountedPath(nfs=True)
    assert counted_path(Watched((), ("eth0", "eth1"), "", one_way=True)) == CountedPath(interfaces=("eth0",))
    assert counted_path(Watched((), ("eth0",), "", one_way=False)) == CountedPath()


def test_counters_that_agree_or_are_not_known_contradict_nothing():
    gates = Gates(None, {"t": DISK})
    assert told(gates, [result()], usage(100)) == {}
    assert told(gates, [result()], None) == {}
    assert told(gates, [], usage(0)) == {}
    assert told(gates, [result(1, cell("elsewhere"))], usage(0)) == {}
    assert {name: path.devices for name, path in gates.paths.items()} == {"t": ("sda",)}


def test_too_few_bytes_void_direct_reads_and_those_alone():
    gates = Gates(None, {"t": DISK})
    results = [result(1), result(2, cell(direct=0)), result(3, None, part("write", 1))]
    reasons = told(gates, results, usage(50, 1))
    assert list(reasons) == [1]
    assert "sda carried 50.0% of the bytes read" in reasons[1]


@pytest.mark.parametrize("option", ["buffer_compress_percentage", "dedupe_percentage", "zero_buffers"])
def test_writes_that_can_be_reduced_may_be_short(option):
    gates = Gates(None, {"t": DISK})
    assert told(gates, [result(1, cell(rw="write", **{option: 50}), part("write"))], usage(0, 10)) == {}
    assert list(told(gates, [result(1, cell(rw="write"), part("write"))], usage(0, 10))) == [1]


def test_another_load_voids_the_visits_of_a_batch_that_it_was_on():
    gates = Gates(None, {"t": DISK, "u": Watched(("sdb",), (), "", tops=("sdb",))})
    results = [result(1), result(2, cell(direct=0)), result(3, cell("u"))]
    counted = {"disks": {**usage(500)["disks"], **usage(100, disk="sdb")["disks"]}}
    reasons = told(gates, results, counted)
    assert sorted(reasons) == [1, 2]
    assert all("another load was on it" in reason for reason in reasons.values())


def test_what_is_too_much_in_a_process_of_its_own_is_amplification_and_stands():
    gates = Gates(None, {"t": DISK})
    for _ in range(AMPLIFIED):
        assert told(gates, [result(1)], usage(500)), "so far it may have been another load"
        assert told(gates, [result(1)], usage(500), alone=True) == {}
    assert told(gates, [result(1)], usage(500)) == {}
    assert told(gates, [result(1, cell(rw="write"), part("write"))], usage(0, 500)), "of writes nothing is known yet"


def test_targets_on_one_path_are_judged_together():
    gates = Gates(None, {"t": DISK, "u": DISK})
    assert told(gates, [result(1), result(2, cell("u"))], usage(200)) == {}
    assert sorted(told(gates, [result(1), result(2, cell("u"))], usage(100))) == [1, 2]
