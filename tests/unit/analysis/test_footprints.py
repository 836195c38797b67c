# SPDX-License-Identifier: Apache-2.0


from ioatlas.answer.analysis.footprints import with_history, written_before
from ioatlas.model.cell import Cell
from ioatlas.model.estimate import Estimate
from ioatlas.model.verdict import VerdictCode, read_reasons
from ioatlas.model.visit import Histogram, Part, Purpose, Series, Visit

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
