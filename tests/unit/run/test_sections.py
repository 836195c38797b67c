# SPDX-License-Identifier: Apache-2.0
"""What becomes of the sections of a batch, whatever their values."""

from dataclasses import replace

import pytest

from ioatlas.load.fleet.merge import outweighing_ms
from ioatlas.load.machine.telemetry import Watched
from ioatlas.measure.run.budget import USUAL_SLOWDOWN, USUAL_START_SECONDS, Budget
from ioatlas.measure.run.gates import Gates
from ioatlas.measure.run.intake import take_in
from ioatlas.model.verdict import Reason, ReasonCode, VerdictCode, sentences
from ioatlas.model.visit import Purpose, SectionState, VisitShare
from tests.unit.run.made import MIB, cell, part, planned, result


def taken(*results, purpose=Purpose.SWEEP, alone=False, **gates):
    rows = {one.section.visit_id: planned(one.section.visit_id, purpose, alone=alone) for one in results}
    return take_in(results, rows, **gates)


def test_a_failed_section_with_figures_is_made_again_by_itself_once():
    failed = result(state=SectionState.FAILED, reason="fio reported error 5")
    intake = taken(failed)
    assert (intake.visits, intake.failed) == ([], {1: "fio reported error 5"})
    assert [(one.alone, one.seed, one.replicate, one.purpose) for one in intake.again] == [(True, 8, 0, Purpose.SWEEP)]
    assert taken(failed, alone=True).again == []
    nothing = taken(replace(failed, visit=None))
    assert (nothing.failed, nothing.again) == ({1: "fio reported error 5"}, [])


def test_a_section_cut_short_stays_planned_and_what_it_wrote_is_booked():
    short = result(1, cell(rw="write"), part("write", 7, 300), state=SectionState.CUT_SHORT)
    intake = taken(short)
    assert (intake.visits, intake.failed, intake.again) == ([], {}, [])
    assert intake.written == {("t", "write load"): 7 * MIB}
    assert intake.load_seconds == 0.3


def test_everything_written_is_added_up_by_target_and_kind():
    mixed = cell(rw="randrw")
    intake = taken(
        result(1, mixed, part("read", 5), part("write", 2, 2000)),
        result(2, mixed, part("write", 3), part("trim", 1)),
        result(3, cell("u", rw="write"), part("write", 4)),
    )
    assert intake.written == {("t", "write load"): 5 * MIB, ("t", "trim load"): 1 * MIB, ("u", "write load"): 4 * MIB}
    assert intake.load_seconds == 2 + 1 + 1


def test_a_start_skew_makes_the_next_try_no_longer_than_it_asks():
    parts = (VisitShare("read", 1000.0, 3000, 1, 1, 1.0, name="a"), VisitShare("read", 1000.2, 3000, 1, 1, 1.0))
    apart = result()
    apart = replace(apart, visit=replace(apart.visit, clients=parts))
    refused = replace(apart.visit, discarded=(Reason(ReasonCode.SKEW, f"{ReasonCode.SKEW}: 200 ms"),))
    (again,) = taken(apart, judge_one=lambda *_: (refused, False)).again
    assert (again.alone, again.runtime_ms) == (True, outweighing_ms(refused.skew_ms))


def test_a_probe_counts_whatever_its_figures():
    odd = result(1, cell(bs=8192))
    assert "bytes" in sentences(taken(odd).visits[0].discarded)
    assert len(taken(odd).again) == 1
    probe = taken(odd, purpose=Purpose.PROBE)
    assert (probe.visits[0].discarded, probe.again) == ((), [])


def test_counters_that_contradict_discard_a_visit_and_have_it_made_again():
    gates = Gates(None, {"t": Watched(("sda",), (), "", tops=("sda",))})
    usage = {"disks": {"sda": {"read_bytes": 10 * MIB, "write_bytes": 0}}}
    slow = result(1, cell(numjobs=32), part())
    gates._ceilings = lambda cell, direction: ()  # nothing is known of the path
    intake = taken(slow, gates=gates, usage=usage)
    assert [reason.code for reason in intake.visits[0].discarded] == [ReasonCode.COUNTERS]
    assert len(intake.again) == 1
    assert taken(slow, gates=gates, usage=usage, alone=True).again == []


def test_a_load_that_its_own_log_calls_overloaded_is_labelled():
    late = replace(result(1, cell(numjobs=32)), overloaded="90.0% of the offered rate achieved")
    (visit,) = taken(late).visits
    assert (visit.verdict.code, visit.window_start_ms) == (VerdictCode.OVERLOADED, 0)
    assert visit.verdict.detail == "90.0% of the offered rate achieved"
    assert not visit.discarded


def test_a_budget_is_what_is_left_of_it():
    now = [10.0]
    budget = Budget(lambda: now[0], 60.0, 5.0)
    assert (budget.elapsed, budget.left) == (5.0, 55.0)
    now[0] = 70.0
    assert (budget.elapsed, budget.left) == (65.0, -5.0)
    assert Budget(lambda: 70.0, None, 5.0).left is None


def test_what_batches_took_is_reckoned_with():
    budget = Budget(lambda: 0.0, None, 0.0)
    assert (budget.slowdown, budget.start_seconds) == (USUAL_SLOWDOWN, USUAL_START_SECONDS)
    assert budget.seconds_per_visit(9.0) == 9.0
    assert budget.process_seconds(10.0) == pytest.approx(10 * USUAL_SLOWDOWN + USUAL_START_SECONDS)
    budget.book(4, planned=10.0, spent=12.5, load=12.0)
    assert (budget.slowdown, budget.start_seconds) == (1.2, 0.5)
    assert budget.seconds_per_visit(9.0) == 12.5 / 4
    assert budget.process_seconds(10.0) == pytest.approx(12.5)
    for _ in range(5):
        budget.book(1, planned=10.0, spent=8.1, load=8.0)
    assert budget.slowdown == 1.0, "52 s of load in 60 s planned"
    assert budget.seconds_per_visit(9.0) == pytest.approx((12.5 + 5 * 8.1) / 9)
    assert budget.start_seconds == pytest.approx(0.1), "the slow start is six batches ago"
    budget.book(1, planned=10.0, spent=30.1)
    assert budget.slowdown == pytest.approx((52 + 30) / 70)
    assert budget.start_seconds == pytest.approx(0.1), "of an unknown load nobody knows its start"
