# SPDX-License-Identifier: Apache-2.0
import random
import re

import pytest

from ioatlas.analysis.footprints import before_after_findings, with_history, written_before
from ioatlas.model.cell import Cell
from ioatlas.model.estimate import Estimate
from ioatlas.model.histogram import Histogram
from ioatlas.model.reason import read_reasons
from ioatlas.model.verdict import VerdictCode
from ioatlas.model.visit import Part, Purpose, Series, Visit

MIB = 1 << 20


def cell(rw, size=64 * MIB, state="filled", **options):
    return Cell.of("t", {"rw": rw, "bs": 65536, "size": size, **options}, state=state)


def visit(number, of, direction, mib, at, purpose=Purpose.SWEEP, discarded=""):
    part = Part(direction, int(mib * MIB), max(1, int(mib * 16)), 1000, 1e6, Histogram(), Series(0))
    return Visit(number, of.key, 1, 0, number, number, at, (part,), purpose=purpose, discarded=read_reasons(discarded))


def place(of):
    return of.target


def test_writes_count_from_the_preparation_on_and_only_where_they_overlap():
    whole, half, writer = cell("read"), cell("randread", 32 * MIB), cell("randwrite")
    cells = {each.key: each for each in (whole, half, writer)}
    visits = [
        visit(1, whole, "read", 10, 1.0),
        visit(2, writer, "write", 100, 2.0, discarded="a gate refused it"),
        visit(3, whole, "read", 10, 3.0),
        visit(4, half, "read", 10, 4.0),
        visit(5, whole, "read", 10, 6.0),
    ]
    found = written_before(cells, visits, place, {"t": [0.5, 5.0]})
    assert found[1].total_bytes == 0
    assert found[3].random_bytes == 100 * MIB  # what a discarded visit wrote is written all the same
    assert found[4].total_bytes == 50 * MIB  # half of the range, half of the bytes
    assert found[5].total_bytes == 0  # written over in full at 5.0


def test_a_read_of_nothing_is_marked_and_a_first_write_is_told():
    reader, writer = cell("read", state="fresh"), cell("write", state="fresh")
    visits = [visit(1, reader, "read", 10, 1.0), visit(2, writer, "write", 128, 2.0)]
    estimates = [
        Estimate(reader, "read", "measured", 1, 1e9, verdict=VerdictCode.STEADY),
        Estimate(writer, "write", "measured", 1, 1e9, verdict=VerdictCode.STEADY),
    ]
    marked = with_history(estimates, visits, {})
    assert marked[0].verdict is VerdictCode.HOLE
    assert marked[1].verdict == "steady"
    assert "2 times its length" in marked[1].notes[0]


def campaign(factor, noise, seed):
    generator = random.Random(seed)
    writer = cell("randwrite")
    readers = [cell("read", iodepth=depth) for depth in (1, 2, 4, 8)]
    cells = {each.key: each for each in (*readers, writer)}
    visits = [
        visit(i, each, "read", 100 * generator.lognormvariate(0, noise), 1.0 + i, Purpose.INITIAL)
        for i, each in enumerate(readers)
    ]
    visits.append(visit(50, writer, "write", 200, 20.0))
    number = 100
    for _ in range(3):
        for each in readers:
            number += 1
            visits.append(visit(number, each, "read", 100 * factor * generator.lognormvariate(0, noise), float(number)))
    history = written_before(cells, visits, place, {"t": [0.0]})
    return tuple(before_after_findings(cells, visits, history))


@pytest.mark.parametrize("factor", [0.3, 3.0])
def test_reads_that_differ_after_writes_are_found(factor):
    (finding,) = campaign(factor, 0.05, 1)
    assert finding.code == "reads-after-writes"
    assert int(re.search(r"reach (\d+)% of", finding.sentence)[1]) == pytest.approx(100 * factor, rel=0.15)
    assert finding.cells


def test_noise_alone_is_seldom_taken_for_a_difference():
    false = sum(bool(campaign(1.0, 0.15, seed)) for seed in range(200))
    assert false <= 6  # nominal 1%
