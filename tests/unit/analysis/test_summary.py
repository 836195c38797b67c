# SPDX-License-Identifier: Apache-2.0
"""The first screen's model: every rule of the badge at its limits, ties, the moved winner, what to do next."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from ioatlas.answer.analysis import trust
from ioatlas.answer.analysis.best import NUMBER_WIDTH, STEADY_WIDTH, with_fresh
from ioatlas.answer.analysis.summary import summarise
from ioatlas.answer.analysis.trust import badge
from ioatlas.model.cell import Cell
from ioatlas.model.estimate import Estimate, Limit
from ioatlas.model.finding import Finding, FindingCode
from ioatlas.model.result import CampaignResult, OtherTraffic, ReplicateRow, Unmeasured
from ioatlas.model.summary import Advice, DoubtCode, Trust
from ioatlas.model.target import Target
from ioatlas.model.verdict import VerdictCode, read_unmeasured
from ioatlas.report.findings import next_step, told_doubts
from ioatlas.report.numbers import title_of

MIB = 1 << 20


def value(mib, width=0.04, *, rw="read", bs=MIB, jobs=1, direction="", **changes):
    cell = Cell.of("nas", {"rw": rw, "bs": bs, "numjobs": jobs})
    bw = mib * MIB
    low, high = (bw * (1 - width), bw * (1 + width)) if width is not None else (None, None)
    fields = {"verdict": VerdictCode.STEADY, "iops": bw / bs, **changes}
    return Estimate(cell, direction or cell.directions[0], "measured", 3, bw, low, high, **fields)


def result(estimates, **changes):
    fields = {"axes": {}, "constants": {}, "n_visits": 100, **changes}
    return CampaignResult(
        "id", "t (quick)", 0.0, "0", (Target("nas", "directory", "/nas"),), estimates=tuple(estimates), **fields
    )


def row(n=20, width=0.04, **changes):
    """A line of cells that rises with the jobs."""
    return [value(100 + jobs, width, jobs=jobs, **changes) for jobs in range(1, n + 1)]


def codes(summary):
    return {doubt.code: doubt.level for doubt in summary.doubts}


def test_a_quiet_campaign_is_good_and_says_what_comes_next():
    summary = summarise(result(row()))
    assert (summary.trust, summary.doubts) == (Trust.GOOD, ())
    assert summary.next_step == (Advice("fit"),)
    [best] = summary.headlines
    assert (best.label, best.where, best.value) == ("Best read", "1 MiB, 20 jobs", 120 * MIB)


@pytest.mark.parametrize(
    ("changes", "code", "level"),
    [
        ({"estimates": row(width=0.049)}, None, Trust.GOOD),
        ({"estimates": row(width=0.06)}, DoubtCode.NUMBER, Trust.FAIR),
        ({"estimates": row(width=0.16)}, DoubtCode.NUMBER, Trust.LOW),
        ({"estimates": row(width=None)}, DoubtCode.NUMBER, Trust.FAIR),
        ({"estimates": [*row(20, None)[:19], value(120, jobs=20)]}, None, Trust.GOOD),
        ({"estimates": [*row(19), value(9, verdict=VerdictCode.DRIFTING, jobs=30)]}, None, Trust.GOOD),
        ({"estimates": [value(9, verdict=VerdictCode.DRIFTING)]}, DoubtCode.NUMBER, Trust.LOW),
        ({"estimates": [value(9, 2.0)]}, DoubtCode.NUMBER, Trust.LOW),
        ({"other_traffic": (OtherTraffic("vda", "read", 1e9, 0.05, 3, 9),)}, DoubtCode.OTHER_LOAD, Trust.FAIR),
        ({"other_traffic": (OtherTraffic("vda", "read", 1e9, 0.10, 3, 9),)}, DoubtCode.OTHER_LOAD, Trust.LOW),
        ({"others_cpu": 0.2}, DoubtCode.OTHER_PROGRAMS, Trust.FAIR),
        ({"others_cpu": 0.5}, DoubtCode.OTHER_PROGRAMS, Trust.LOW),
        ({"replicates": (ReplicateRow("nas", 2, 9, 0, 0.09, 0.01, "out of line"),)}, None, Trust.GOOD),
        ({"replicates": (ReplicateRow("nas", 2, 9, 0, 0.11, 0.01, "out of line"),)}, DoubtCode.DRIFT, Trust.FAIR),
        ({"replicates": (ReplicateRow("nas", 2, 9, 0, 1.1, 0.1, "out of line"),)}, DoubtCode.DRIFT, Trust.LOW),
        ({"replicates": (ReplicateRow("nas", 2, 9, 0, 1.1, 0.1, "repeated", voided=True),)}, None, Trust.GOOD),
        ({"n_not_reached": 4}, None, Trust.GOOD),
        ({"n_not_reached": 5}, DoubtCode.SKIPPED, Trust.FAIR),
        ({"complete": False}, DoubtCode.UNFINISHED, Trust.FAIR),
        ({"findings": (Finding(FindingCode.CORRUPTION),)}, DoubtCode.CORRUPTION, Trust.LOW),
        ({"findings": (Finding(FindingCode.LITTLES_LAW),)}, DoubtCode.CONTRADICTION, Trust.LOW),
        ({"findings": (Finding(FindingCode.DATA_REDUCTION),)}, DoubtCode.DATA_REDUCTION, Trust.FAIR),
        ({"estimates": [*row(19), value(9, verdict=VerdictCode.CACHED)]}, DoubtCode.CACHED, Trust.FAIR),
        ({"estimates": [*row(3), value(9, verdict=VerdictCode.SUSPECT, jobs=9)]}, DoubtCode.CACHED, Trust.LOW),
        ({"estimates": row(verdict=VerdictCode.CLIENT_LIMITED)}, DoubtCode.CLIENT_LIMITED, Trust.FAIR),
        ({"estimates": []}, DoubtCode.NOTHING, Trust.LOW),
    ],
)
def test_each_rule_at_its_limits(changes, code, level):
    changes = {"estimates": row(), **changes}
    summary = summarise(result(changes.pop("estimates"), **changes))
    assert summary.trust is level
    assert codes(summary) == ({} if code is None else {code: level})


@pytest.mark.parametrize(
    ("whole", "told"), [(2 << 30, "1 cell over 256 MiB of 2 GiB"), (256 * MIB, "1 cell over 256 MiB")]
)
def test_the_title_tells_how_much_of_the_target_was_measured(whole, told):
    one = value(100)
    load = replace(one, cell=Cell.of("nas", {**one.cell.option, "size": 256 * MIB}))
    summary = summarise(replace(result([load]), targets=(Target("nas", "block", "/dev/x", size_bytes=whole),)))
    assert told in title_of(summary).split(" · ")


@pytest.mark.parametrize(("width", "gain"), [(0.14, "(±14% → about ±7%)"), (0.02, "")])
def test_the_next_step_tells_what_four_times_the_time_gives(width, gain):
    settings = {"budget": "60 s"}
    told = next_step(summarise(result([value(100, width=width)], settings=settings)).next_step)
    assert told == f"re-run with --budget 5m {gain}" if gain else "--budget" not in told


@pytest.mark.parametrize(("lost", "level"), [(1, Trust.GOOD), (3, Trust.FAIR), (25, Trust.LOW)])
def test_cells_that_time_did_not_suffice_for(lost, level):
    cells = [Cell.of("nas", {"rw": "read", "bs": MIB, "numjobs": 100 + n}) for n in range(lost)]
    missing = tuple(Unmeasured(cell, read_unmeasured("left out: the budget did not allow it")) for cell in cells)
    summary = summarise(result(row(), unmeasured=missing, seconds=60.0))
    assert summary.trust is level
    if lost == 25:
        assert Advice("again", {"options": "--budget 3m"}) in summary.next_step
        restless = [replace(one, verdict=VerdictCode.DRIFTING) for one in row()]
        traffic = (OtherTraffic("vda", "read", 1e9, 0.10, 3, 9),)
        told = summarise(result(restless, unmeasured=missing, seconds=60.0, other_traffic=traffic)).next_step
        assert next_step(told) == "re-run when idle, with --budget 3m"
    other = tuple(Unmeasured(cell, read_unmeasured("not admissible: too large")) for cell in cells)
    assert summarise(result(row(), unmeasured=other)).trust is Trust.GOOD


def test_a_value_that_moved_when_it_was_checked_is_the_news_and_stands_in_the_map():
    swept = [value(1008, 0.4, jobs=16), value(700, 0.2, jobs=4), value(300, jobs=1)]
    fresh = (value(744, 0.16, jobs=16),)
    summary = summarise(result(with_fresh(swept, fresh)))
    [best] = summary.headlines
    assert (best.value, best.first) == (744 * MIB, 1008 * MIB)
    assert best.tie == "ties with 1 MiB, 4 jobs"


def test_what_is_clearly_faster_than_the_checked_one_is_the_best():
    swept = [value(1000, 0.05, jobs=16), value(950, 0.02, jobs=4)]
    [best] = summarise(result(with_fresh(swept, [value(500, 0.05, jobs=16)]))).headlines
    assert (best.where, best.first) == ("1 MiB, 4 jobs", None)


def test_no_tie_without_overlap_and_none_with_a_bigger_slower_load():
    [best] = summarise(result([value(100, 0.02, jobs=4), value(92, 0.02, jobs=1)])).headlines
    assert best.tie == ""
    [best] = summarise(result([value(100, 0.05, jobs=4), value(95, 0.05, jobs=16)])).headlines
    assert (best.tie, len(best.ties)) == ("", 1)


def test_small_io_at_the_lightest_and_the_best_load():
    cells = [
        value(mib, rw="randread", bs=4096, jobs=jobs, lat_mean_ns=1e5 * jobs, lat_p99_ns=2e5 * jobs)
        for jobs, mib in ((1, 30), (4, 90), (16, 80))
    ]
    apart = value(900, 3.0, rw="randread", bs=4096, jobs=32)
    [line] = summarise(result([*cells, apart, value(500)])).small
    assert (line.label, line.bs_bytes) == ("4 KiB random read", 4096)
    assert (line.lightest.in_flight, line.best.in_flight) == (1, 4)
    assert line.best.iops == pytest.approx(90 * MIB / 4096)
    assert (line.lightest.lat_mean_ns, line.lightest.lat_p99_ns) == (1e5, 2e5)


def test_limits_are_counted_and_an_unclear_one_asks_for_more_loads():
    limits = [Limit("drive"), Limit("drive"), Limit(), Limit(), Limit(), Limit(), Limit()]
    cells = [replace(e, limit=limit) for e, limit in zip(row(7), limits, strict=True)]
    summary = summarise(result(cells))
    assert [(one.name, one.count) for one in summary.bottlenecks] == [("drive", 2), ("undetermined", 5)]
    assert "--numjobs" in next_step(summary.next_step)


def test_limits_are_counted_with_the_mean_of_their_probabilities():
    limits = [Limit("link", probability=0.9), Limit("link", probability=0.7), Limit()]
    cells = [replace(e, limit=limit) for e, limit in zip(row(3), limits, strict=True)]
    [link, unclear] = summarise(result(cells)).bottlenecks
    assert (link.name, link.count, link.probability) == ("link", 2, pytest.approx(0.8))
    assert (unclear.name, unclear.probability) == ("undetermined", None)


@pytest.mark.parametrize(("probability", "minimum"), [(None, True), (0.9, True), (0.6, False)])
def test_a_client_that_is_only_probably_the_limit_makes_no_minimum(probability, minimum):
    limited = replace(value(500), limit=Limit("client CPU", probability=probability))
    [best] = summarise(result([limited])).headlines
    assert best.lower_bound is minimum
    assert best.limit == "client CPU"
    assert best.limit_probability == probability


def test_the_badge_is_the_worst_of_its_doubts():
    assert badge(()) is Trust.GOOD
    doubts = summarise(result(row(width=0.4), complete=False)).doubts
    assert [doubt.level for doubt in doubts] == [Trust.LOW, Trust.FAIR]
    assert badge(doubts[1:]) is Trust.FAIR


def test_the_page_about_the_badge_has_the_limits_of_the_code():
    page = (Path(__file__).resolve().parents[3] / "docs" / "method" / "trust.md").read_text()
    for name, limit in {
        "other load": trust.OTHER_LOAD,
        "drift": trust.SHIFT,
        "cached": trust.CELLS,
        "skipped": trust.LEFT_OUT,
    }.items():
        assert re.search(rf"^\| {name} \|.*\| {limit.fair:.0%} \| {limit.low:.0%} \|$", page, re.MULTILINE), name
    assert f"±{STEADY_WIDTH:.0%}" in page
    assert f"±{NUMBER_WIDTH:.0%}" in page


@pytest.mark.parametrize(
    ("verdicts", "said"),
    [
        ([VerdictCode.UNSTABLE], "leaves out 1 faster, unsteady cell of up to 900 MiB/s"),
        ([VerdictCode.UNSTABLE] * 2, "leaves out 2 faster, unsteady cells of up to 901 MiB/s"),
        ([VerdictCode.CACHED], "leaves out 1 faster, suspect cell of up to 900 MiB/s"),
        ([VerdictCode.CACHED, VerdictCode.UNSTABLE], "leaves out 2 faster, doubtful cells of up to 901 MiB/s"),
    ],
)
def test_the_best_says_which_faster_cells_it_leaves_out(verdicts, said):
    faster = [value(900 + place, jobs=64 + place, verdict=verdict) for place, verdict in enumerate(verdicts)]
    [best] = summarise(result([value(100), *faster])).headlines
    assert best.value == 100 * MIB
    assert best.tie == said


@pytest.mark.parametrize(
    ("bs", "low", "named"),
    [(MIB, 101, 900), (MIB, 99, 100), (4096, 1, 900)],
    ids=["above", "not above", "small blocks"],
)
@pytest.mark.parametrize(("verdict", "grade"), [(VerdictCode.RUNS_DISAGREE, None), (VerdictCode.UNSTABLE, Trust.LOW)])
def test_a_cell_that_is_uneven_is_the_best_above_all_others_and_clearly_above_smaller_blocks(
    bs, low, named, verdict, grade
):
    apart = replace(value(900, jobs=64, verdict=verdict), bw_low=low * MIB, bw_high=1800 * MIB, grade=grade)
    [best] = summarise(result([value(100, width=0.0, bs=bs), apart])).headlines
    assert best.value == named * MIB


def test_the_next_budget_is_longer_than_the_one_there_was():
    settings = {"budget": "5 min 00 s"}
    told = summarise(result(row(), n_not_reached=5, seconds=240.0, settings=settings)).next_step
    assert told == (Advice("again", {"options": "--budget 10m"}),)


def test_loads_that_end_when_their_work_is_done_are_visited_more_often():
    written = value(700, 0.4, rw="write")
    written = replace(written, cell=Cell.of("nas", {**written.cell.option, "loops": 1}))
    [told] = summarise(result([written], settings={"window": "2 s"})).next_step
    assert told.values["options"] == "--visits 12"


def test_a_single_cell_is_not_one_of_one():
    summary = summarise(result([value(100, verdict=VerdictCode.DRIFTING)]))
    assert summary.doubts[0].values == {"label": "Best read", "why": VerdictCode.DRIFTING}


def failed(jobs, reason):
    return Unmeasured(value(1, jobs=jobs).cell, read_unmeasured(f"failed: {reason}"))


def test_what_failed_is_told_with_its_reason():
    several = [failed(900 + n, "it ended with 5") for n in range(5)]
    summary = summarise(result(row(18), unmeasured=(failed(890, "no such file"), *several)))
    assert [doubt.sentence for doubt in told_doubts(summary.doubts)] == [
        "1 cell failed: no such file.",
        "5 cells failed: it ended with 5.",
    ]
    assert summary.trust is Trust.LOW
    assert summarise(result(row(30), unmeasured=(several[0],))).trust is Trust.FAIR


def test_many_reasons_are_counted():
    many = [failed(900 + n, f"reason {n}") for n in range(8)]
    assert summarise(result(row(), unmeasured=tuple(many))).doubts[-1].values == {"n_more": 3}
