# SPDX-License-Identifier: Apache-2.0
import pytest

from ioatlas.answer.analysis.rounds import result_of, rounds_estimates, rounds_finding, rounds_of
from ioatlas.model.cell import Cell
from ioatlas.model.verdict import read_reasons
from ioatlas.model.visit import Histogram, Part, Purpose, Series, Visit

READS = Cell.of("d", {"rw": "randrw", "rwmixread": 100, "bs": 4096, "size": 1 << 20}, state="filled-twice")
WRITES = Cell.of("d", {"rw": "randrw", "rwmixread": 0, "bs": 4096, "size": 1 << 20}, state="filled-twice")


def visit(cell, direction, number, iops, purpose=Purpose.SWEEP, discarded=""):
    part = Part(direction, int(iops) * 4096, int(iops), 1000, 1e6, Histogram(((1_000_000, int(iops)),)), Series(0))
    place = (number * 10 + (cell is WRITES), cell.key, 1, 0, number, number + 1, float(number))
    return Visit(*place, (part,), purpose=purpose, discarded=read_reasons(discarded))


def rounds(values, first=0):
    visits = [
        each
        for number, value in enumerate(values)
        for each in (visit(READS, "read", number, 500), visit(WRITES, "write", number, value))
    ]
    return rounds_of("iops", [READS, WRITES], visits, first)


def test_values_are_the_averages_of_the_measurement_window():
    made = rounds([300, 200, 100, 104, 96, 100, 100])
    assert made.ended(60) == "steady state met"
    result = result_of(made, ended="steady state met", part="", purge="none", deviations=())
    assert result.met
    assert result.window == (3, 7)
    assert result.average == pytest.approx(100)
    assert {cell.read_percent: cell.value for cell in result.cells} == {100: 500, 0: 100}
    read, write = rounds_estimates(made, result)
    assert (read.direction, write.direction) == ("read", "write")
    assert write.iops == pytest.approx(100)
    assert write.iops_low < 100 < write.iops_high
    assert write.n_visits == 5
    assert write.verdict == "steady"
    assert rounds_finding(result, ()).values["n_rounds"] == 7


def test_a_window_never_spans_a_new_preparation():
    made = rounds([100, 100, 100, 100, 100, 100, 100, 100], first=4)
    assert made.ended(60) == ""  # four rounds since the last fill
    again = rounds([100] * 9, first=4)
    assert again.ended(60)
    assert result_of(again, ended="", part="", purge="", deviations=()).window == (5, 9)


def test_rounds_with_a_gap_or_a_discarded_visit_are_not_complete():
    visits = [visit(READS, "read", 0, 500), visit(WRITES, "write", 0, 100), visit(READS, "read", 1, 500)]
    visits.append(visit(WRITES, "write", 1, 100, discarded="Little's law"))
    made = rounds_of("iops", [READS, WRITES], visits)
    assert made.complete == 1
    assert made.missing(1) == [WRITES]
    assert made.missing(2) == [READS, WRITES]


def test_25_rounds_without_steady_state_end_the_test():
    made = rounds([100 * 1.3**number for number in range(25)])
    assert made.ended(60) == "no steady state in 25 rounds"
    result = result_of(made, ended=made.ended(60), part="", purge="", deviations=())
    assert not result.met
    assert result.window == (21, 25)
    assert {e.verdict for e in rounds_estimates(made, result)} == {"no steady state"}


def test_write_saturation_ends_by_bytes_and_claims_nothing():
    cell = Cell.of("d", {"rw": "randwrite", "bs": 4096, "size": 1 << 20})
    visits = [
        Visit(n, cell.key, 1, 0, n, n, float(n), (Part("write", 1 << 20, 256, 1000, 1e6, Histogram(), Series(0)),))
        for n in range(5)
    ]
    assert rounds_of("saturation", [cell], visits[:3]).ended(60) == ""
    assert rounds_of("saturation", [cell], visits[:4]).ended(60) == "4 times the range was written"
    assert rounds_of("saturation", [cell], visits[:3]).ended(12 * 3600) == "24 hours are over"
