# SPDX-License-Identifier: Apache-2.0
"""What becomes of the sections of a batch, whatever their values."""

from dataclasses import replace

import numpy as np
import pytest

from ioatlas.answer.analysis.counters import CountedPath
from ioatlas.load.fio.batch import Section
from ioatlas.load.fio.collect import SectionResult
from ioatlas.load.fleet.merge import outweighing_ms
from ioatlas.load.machine.telemetry import Watched
from ioatlas.measure.run.budget import USUAL_SLOWDOWN, USUAL_START_SECONDS, Budget
from ioatlas.measure.run.gates import AMPLIFIED, Gates, counted_path
from ioatlas.measure.run.intake import LONGER, reinstated, take_in
from ioatlas.model.cell import Cell
from ioatlas.model.verdict import Reason, ReasonCode, Verdict, VerdictCode, sentences
from ioatlas.model.visit import Histogram, Part, Purpose, SectionState, Series, Visit, VisitShare
from ioatlas.store.journal import PlannedVisit
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


CELL = Cell.of(
    "t", {"rw": "randread", "bs": 4096, "size": 1 << 30, "numjobs": 1, "iodepth": 8, "ioengine": "libaio", "direct": 1}
)
ASKED_MS, INTERVAL_MS = 490, 10


def of_shape(shape, *, alone=False, state=SectionState.FINISHED, seed=1, neighbours=0):
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
    first = of_shape(shape)
    assert "second half" in sentences(first.visits[0].discarded)
    assert [(one.alone, one.runtime_ms) for one in first.again] == [(True, LONGER * ASKED_MS)]
    again = of_shape(shape, alone=True)
    assert not again.again
    assert not again.visits[0].discarded
    assert again.visits[0].verdict.code is VerdictCode.SLOWDOWN
    assert again.visits[0].window_start_ms == 0


@pytest.mark.parametrize("seed", range(5))
def test_what_drains_after_the_window_is_no_slowdown(seed):
    intake = of_shape([1.0] * 49 + [0.02] * 14, seed=seed)
    assert not intake.again
    assert (intake.visits[0].verdict, intake.visits[0].discarded) == (Verdict(VerdictCode.FLAT), ())


def test_an_early_warm_up_is_cut():
    visit = of_shape([0.5] * 10 + [1.0] * 39).visits[0]
    assert not visit.discarded
    assert 90 <= visit.window_start_ms <= 150


def test_an_overlap_is_made_again_alone_and_as_long():
    intake = of_shape([1.0] * 49, state=SectionState.OVER_RUN, neighbours=1)
    assert "overlapped" in sentences(intake.visits[0].discarded)
    assert [(one.alone, one.runtime_ms) for one in intake.again] == [(True, None)]


def test_what_drains_late_in_a_process_of_its_own_disturbs_nobody():
    intake = of_shape([1.0] * 49, state=SectionState.OVER_RUN)
    assert not intake.visits[0].discarded
    assert not intake.again


def test_a_late_cut_counts_only_when_the_longer_visit_shows_it_too():
    first = (1, CELL.key, 0, of_shape([2.0] * 30 + [1.0] * 19).visits[0].verdict)

    def counts(shape, visit_id=2):
        return reinstated([first], [replace(of_shape(shape, alone=True).visits[0], visit_id=visit_id)])

    flat, same, other = ([1.0] * 49, [2.0] * 15 + [1.0] * 34, [0.5] * 15 + [1.0] * 34)
    ((visit_id, cell_key, verdict),) = counts(flat)
    assert (visit_id, cell_key) == (1, CELL.key)
    assert verdict.text.startswith("flat: slowdown(300 ms)")
    assert counts(other)
    assert not counts(same)
    for unsteady in ([2.0] * 30 + [1.0] * 19, np.linspace(1.0, 2.0, 49)):
        assert not counts(unsteady)
    assert not counts(flat, visit_id=1)  # not the longer one: the first try itself


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
