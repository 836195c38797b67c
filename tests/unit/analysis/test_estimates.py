# SPDX-License-Identifier: Apache-2.0
"""Visits to estimates: cuts, intervals, verdicts."""

from dataclasses import replace

import pytest

from ioatlas.answer.analysis.estimates import cell_verdict, estimate_cells, judged_visits, window_values
from ioatlas.model.cell import Cell
from ioatlas.model.verdict import VerdictCode, read_reasons, read_verdict
from ioatlas.model.visit import Histogram, Part, Purpose, Series, Visit
from ioatlas.stats.intervals import Interval
from tests.facts import has


def part(bw=1e8, runtime_ms=500, direction="read", rates=None, latency=1e5):
    ios = round(bw * runtime_ms / 1000 / 4096)
    n = len(rates) if rates else 0
    series = Series(10, tuple(10 * (i + 1) for i in range(n)), tuple(rates or ()), tuple([latency] * n))
    return Part(direction, ios * 4096, ios, runtime_ms, latency, Histogram(((100000, ios),)), series)


def visit(number, cell, bw, **more):
    fields = {"purpose": Purpose.SWEEP, "discarded": (), "verdict": read_verdict("flat"), "window_start_ms": 0, **more}
    return Visit(number, cell.key, 1, 0, number, number, float(number), (part(bw),), **fields)


def cells(count):
    made = [Cell.of("t", {"rw": "read", "bs": 4096, "size": 1 << 20, "offset": 4096 * i}) for i in range(count)]
    return {cell.key: cell for cell in made}


def test_without_a_cut_the_values_are_fios_totals():
    values = window_values(part(bw=1e8))
    assert values.bw_bytes_per_s == pytest.approx(1e8, rel=1e-3)
    assert values.iops * 4096 == pytest.approx(values.bw_bytes_per_s)


def test_a_cut_removes_exactly_the_share_of_the_warm_up():
    # 10 of 50 intervals at a tenth of the rate, then 40 at the full rate.
    rates = [1e7] * 10 + [1e8] * 40
    mean = sum(rates) / len(rates)
    values = window_values(part(bw=mean, rates=rates), cut_ms=100)
    assert values.bw_bytes_per_s == pytest.approx(1e8, rel=1e-3)
    assert values.seconds == pytest.approx(0.4)


def test_after_a_cut_that_holds_most_bytes_the_intervals_stand_for_themselves():
    """A log that tells 3% too little of a burst would make what comes after it 22% too fast."""
    rates = [97e6 * 0.97] * 60 + [20e6] * 40
    moved = 0.6 * 97e6 + 0.4 * 20e6
    values = window_values(part(bw=moved, runtime_ms=1000, rates=rates), cut_ms=600)
    assert values.bw_bytes_per_s == pytest.approx(20e6, rel=1e-3)
    assert values.iops * 4096 == pytest.approx(20e6, rel=1e-3)


def test_windows_that_begin_amid_a_load_are_unsure_by_what_was_in_flight():
    known = cells(12)
    few = {"verdict": read_verdict("too short")}
    slow = [4096 * 20.0] * 50

    def moved(twice, index):
        one = part(4096 * 20.0, rates=slow)
        return replace(one, io_bytes=round(one.io_bytes * (1 + 1e-3 * twice * (index % 3))))

    def estimated(**more):
        visits = [
            replace(visit(2 * index + twice, cell, 4096 * 20.0, **more), parts=(moved(twice, index),))
            for index, cell in enumerate(known.values())
            for twice in (0, 1)
        ]
        return estimate_cells(known, visits)

    for estimate in estimated(**few, window_start_ms=100):
        # 8 I/Os in 0.4 s; one in flight and one at the cut, in two visits.
        assert (estimate.bw_high / estimate.bw_bytes_per_s - 1) == pytest.approx(2 / 8 / 2**0.5, rel=0.05)
        assert (1 - estimate.bw_low / estimate.bw_bytes_per_s) == pytest.approx(2 / 8 / 2**0.5, rel=0.05)
    for narrow in (*estimated(**few), *estimated(window_start_ms=100)):
        assert narrow.bw_high / narrow.bw_bytes_per_s - 1 < 0.01


def test_a_visit_that_was_much_longer_outweighs_those_that_were_too_short():
    (cell,) = cells(1).values()
    bare = visit(1, cell, 1e8, verdict=read_verdict("too short"))
    short, longer = (replace(bare, parts=(part(bw, ms),)) for bw, ms in ((3e8, 400), (1e8, 2000)))
    assert judged_visits([short, longer]) == [longer]
    assert judged_visits([short, replace(longer, parts=(part(1e8, 500),))]) != [longer]
    for latency_ns, counts in ((3e7, True), (6e7, False)):  # 13 and 6 answers to each I/O in flight
        slow = replace(bare, parts=(part(1e8, 400, rates=[1e8] * 40, latency=latency_ns),))
        assert (slow in judged_visits([slow, longer])) is counts


def test_two_visits_use_the_pooled_variance_and_say_so():
    known = cells(12)
    visits = []
    for index, cell in enumerate(known.values()):
        visits += [
            visit(2 * index, cell, 1e8 * (1 + index * 0.001)),
            visit(2 * index + 1, cell, 1.05e8 * (1 + index * 0.002)),
        ]
    estimates = estimate_cells(known, visits)
    assert len(estimates) == 12
    assert all(e.n_visits == 2 and "log-t-moderated" in e.method for e in estimates)
    assert all(e.bw_low < e.bw_bytes_per_s < e.bw_high for e in estimates)
    assert all(e.verdict == "steady" for e in estimates)


def test_two_visits_of_few_cells_get_no_interval():
    known = cells(2)
    visits = [visit(i, cell, 1e8) for i, cell in enumerate([*known.values(), *known.values()])]
    assert all(e.bw_low is None and e.bw_bytes_per_s for e in estimate_cells(known, visits))


def test_discarded_visits_count_but_give_no_value():
    known = cells(1)
    (cell,) = known.values()
    (estimate,) = estimate_cells(known, [visit(1, cell, 1e8, discarded=read_reasons("overlapped"))])
    has(estimate, verdict="discarded", n_discarded=1, bw_bytes_per_s=None, n_visits=0)


def test_fresh_visits_are_kept_apart():
    known = cells(1)
    (cell,) = known.values()
    visits = [visit(1, cell, 1e8), visit(2, cell, 5e7, purpose=Purpose.FRESH)]
    assert estimate_cells(known, visits)[0].bw_bytes_per_s == pytest.approx(1e8, rel=1e-3)
    assert estimate_cells(known, visits, Purpose.FRESH)[0].bw_bytes_per_s == pytest.approx(5e7, rel=1e-3)


def test_the_least_steady_visit_names_the_cell():
    known = cells(1)
    (cell,) = known.values()
    visits = [
        visit(1, cell, 1e8),
        visit(2, cell, 1e8, verdict=read_verdict("drifting")),
        visit(3, cell, 1e8, verdict=read_verdict("warm-up(30 ms)")),
    ]
    assert estimate_cells(known, visits)[0].verdict == "drifting"
    assert estimate_cells(known, [visits[0], visits[2]])[0].verdict == "steady"


@pytest.mark.parametrize(("visits", "verdict"), [(1, VerdictCode.UNCERTAIN), (2, VerdictCode.RUNS_DISAGREE)])
def test_one_visit_disagrees_with_none(visits, verdict):
    wide = Interval(100.0, 20.0, 500.0, visits, 0.95, "log-t-moderated/1")
    assert cell_verdict([VerdictCode.FLAT] * visits, wide) is verdict
