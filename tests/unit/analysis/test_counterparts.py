# SPDX-License-Identifier: Apache-2.0
"""Loads by their names, and loads of two tools: what is the same load, and what cannot be known to be."""

import pytest

from ioatlas.answer.analysis.imported import counterparts, load_of, told_by_one
from ioatlas.answer.analysis.wording import Namer
from ioatlas.model.cell import Cell


def load(direction="read", **options):
    return load_of(Cell.of("t", options), direction)


def test_equal_loads_are_counterparts():
    ours = load(rw="read", bs=4096)
    assert counterparts([ours], [ours, load(rw="read", bs=8192)]) == ([(ours, ours)], 0)


def test_what_one_side_does_not_tell_fits_if_only_one_load_does():
    ours, theirs = load(rw="read", bs=4096, iodepth=1, numjobs=1), load(rw="read", bs=4096, numjobs=1)
    assert counterparts([ours], [theirs]) == ([(ours, theirs)], 0)
    assert told_by_one(ours, theirs) == ("iodepth",)
    assert counterparts([ours, load(rw="read", bs=4096, iodepth=8, numjobs=1)], [theirs]) == ([], 2)


@pytest.mark.parametrize(
    "other",
    [
        {"rw": "write", "bs": 4096, "direction": "write"},
        {"rw": "read", "bs": 8192},
        {"rw": "read"},
        {"operation": "reread", "bs": 4096},
        {"rw": "randrw", "bs": 4096, "rwmixread": 70},
    ],
)
def test_other_loads_are_no_counterparts(other):
    assert counterparts([load(rw="read", bs=4096)], [load(**other)]) == ([], 0)


def test_a_mix_counts_only_for_mixed_loads():
    assert told_by_one(load(rw="read", bs=4096, rwmixread=50), load(rw="read", bs=4096)) == ()
    assert counterparts([load(rw="randrw", bs=1, rwmixread=50)], [load(rw="randrw", bs=1, rwmixread=70)]) == ([], 0)


def short(options, state="laid-out"):
    cell = Cell.of("t", options, state=state)
    return Namer([cell], ["t"]).short(cell)


def test_what_another_tool_does_not_say_is_not_told():
    assert short({"rw": "read"}) == "4 KiB, 1 job"
    assert short({"rw": "read"}, "unknown") == "load not told"
    assert short({"rw": "randread", "numjobs": 4}, "unknown") == "random, 4 jobs"
    assert short({"rw": "randread", "bs": 8192}, "unknown") == "8 KiB random"
    assert short({"rw": "randrw", "bssplit": "4k/50:8k/50", "iodepth": 8}, "unknown") == "mixed sizes randrw, iodepth 8"


def test_a_load_of_our_own_has_all_its_parts():
    assert short({"rw": "randrw", "bs": 65536, "numjobs": 16}) == "64 KiB randrw, 16 jobs"
