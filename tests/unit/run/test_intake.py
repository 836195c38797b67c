# SPDX-License-Identifier: Apache-2.0
"""What becomes of a batch's sections: kept, discarded, made again."""

from dataclasses import replace

import numpy as np
import pytest

from ioatlas.load.fio.batch import Section
from ioatlas.load.fio.collect import SectionResult
from ioatlas.measure.run.intake import LONGER, reinstated, take_in
from ioatlas.model.cell import Cell
from ioatlas.model.verdict import Verdict, VerdictCode, sentences
from ioatlas.model.visit import Histogram, Part, Purpose, SectionState, Series, Visit
from ioatlas.store.journal import PlannedVisit

CELL = Cell.of(
    "t", {"rw": "randread", "bs": 4096, "size": 1 << 30, "numjobs": 1, "iodepth": 8, "ioengine": "libaio", "direct": 1}
)
ASKED_MS, INTERVAL_MS = 490, 10


def taken(shape, *, alone=False, state=SectionState.FINISHED, seed=1, neighbours=0):
    """The intake of one visit whose load went as `shape` says, a value an interval of 10 ms; 490 ms were asked for."""
    shape = np.asarray(shape) * (1 + 0.05 * np.random.default_rng(seed).normal(size=len(shape)))
    ran_ms = len(shape) * INTERVAL_MS
    ios = int(50_000 * shape.sum() * INTERVAL_MS / 1000)
    ends = tuple(INTERVAL_MS * (i + 1) for i in range(len(shape)))
    series = Series(INTERVAL_MS, ends, tuple(shape * 50_000 * 4096), (1e6,) * len(shape))
    latency_ns = 8 * ran_ms * 1e6 / ios
    visit = Visit(
        1, CELL.key, 1, 0, 0, 7, 0.0, (Part("read", ios * 4096, ios, ran_ms, latency_ns, Histogram(), series),)
    )
    section = Section(1, CELL, 7, ASKED_MS, 10, (("filename", "/x"),))
    result = SectionResult(section, state, visit, "overlapped its neighbour by 50 ms" if state == "over-run" else "")
    others = [
        replace(result, section=replace(section, visit_id=n), visit=None, state=SectionState.CUT_SHORT)
        for n in range(2, 2 + neighbours)
    ]
    plan = PlannedVisit(CELL.key, 0, 7, Purpose.SWEEP, alone, ASKED_MS, visit_id=1)
    return take_in([result, *others], {n: replace(plan, visit_id=n) for n in range(1, 2 + neighbours)})


def test_a_visit_that_settles_late_is_made_again_longer_in_a_fio_of_its_own_and_then_labelled():
    shape = [2.0] * 30 + [1.0] * 19
    first = taken(shape)
    assert "second half" in sentences(first.visits[0].discarded)
    assert [(one.alone, one.runtime_ms) for one in first.again] == [(True, LONGER * ASKED_MS)]
    again = taken(shape, alone=True)
    assert not again.again
    assert not again.visits[0].discarded
    assert again.visits[0].verdict.code is VerdictCode.SLOWDOWN
    assert again.visits[0].window_start_ms == 0


@pytest.mark.parametrize("seed", range(5))
def test_what_drains_after_the_window_is_no_slowdown(seed):
    intake = taken([1.0] * 49 + [0.02] * 14, seed=seed)
    assert not intake.again
    assert (intake.visits[0].verdict, intake.visits[0].discarded) == (Verdict(VerdictCode.FLAT), ())


def test_an_early_warm_up_is_cut():
    visit = taken([0.5] * 10 + [1.0] * 39).visits[0]
    assert not visit.discarded
    assert 90 <= visit.window_start_ms <= 150


def test_an_overlap_is_made_again_alone_and_as_long():
    intake = taken([1.0] * 49, state=SectionState.OVER_RUN, neighbours=1)
    assert "overlapped" in sentences(intake.visits[0].discarded)
    assert [(one.alone, one.runtime_ms) for one in intake.again] == [(True, None)]


def test_what_drains_late_in_a_process_of_its_own_disturbs_nobody():
    intake = taken([1.0] * 49, state=SectionState.OVER_RUN)
    assert not intake.visits[0].discarded
    assert not intake.again


def test_a_late_cut_counts_only_when_the_longer_visit_shows_it_too():
    first = (1, CELL.key, 0, taken([2.0] * 30 + [1.0] * 19).visits[0].verdict)

    def counts(shape, visit_id=2):
        return reinstated([first], [replace(taken(shape, alone=True).visits[0], visit_id=visit_id)])

    flat, same, other = ([1.0] * 49, [2.0] * 15 + [1.0] * 34, [0.5] * 15 + [1.0] * 34)
    ((visit_id, cell_key, verdict),) = counts(flat)
    assert (visit_id, cell_key) == (1, CELL.key)
    assert verdict.text.startswith("flat: slowdown(300 ms)")
    assert counts(other)
    assert not counts(same)
    for unsteady in ([2.0] * 30 + [1.0] * 19, np.linspace(1.0, 2.0, 49)):
        assert not counts(unsteady)
    assert not counts(flat, visit_id=1)  # not the longer one: the first try itself
