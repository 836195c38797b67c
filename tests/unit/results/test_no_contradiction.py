# SPDX-License-Identifier: Apache-2.0
"""No two sentences of one report contradict each other, on simulated targets of many laws and on random results."""

import re
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ioatlas.answer.analysis.best import (
    NUMBER_WIDTH,
    STEADY_WIDTH,
    client_limited,
    disagrees,
    found_unsteady,
    half_interval,
)
from ioatlas.answer.analysis.findings import in_reading_order, map_findings
from ioatlas.answer.analysis.summary import summarise
from ioatlas.measure.campaign import load_result
from ioatlas.model.cell import Cell
from ioatlas.model.estimate import Estimate, Limit
from ioatlas.model.finding import FindingCode
from ioatlas.model.result import CampaignResult
from ioatlas.model.summary import DoubtCode, Trust
from ioatlas.model.target import Target
from ioatlas.model.verdict import LOWER_BOUND, VerdictClass, VerdictCode, verdict_class
from ioatlas.report.findings import told_doubts, worded
from tests.examples import examples
from tests.simulate.law import Burst, Cache, Way
from tests.unit.procedures.cases import FEW_CELLS, FIXED_WORK, POINTS, ROUNDS
from tests.unit.simulated import LAW, MIB, World
from tests.unit.words import check_told

SWEEP = """
visits = 3
window = "500ms"
[target]
path = "TARGET"
[sweep]
rw = ["randread", "write"]
bs = ["4k", "64k", "1m"]
size = ["8m", "64m"]
numjobs = [1, 16]
"""
FEWER = SWEEP.replace('"64k", ', "").replace("visits = 3", "visits = 2")
"""Where it is the law that is told of: fitting takes so much longer with each load."""
CASES = {
    "quiet": (FEWER, LAW),
    "noisy": (SWEEP, replace(LAW, noise=0.25)),
    "wild": (FEWER, replace(LAW, noise=0.8)),
    "drifting": (FEWER, replace(LAW, drift_per_hour=-20.0, noise=0.03)),
    "bursty": (FEWER, replace(LAW, burst=Burst(6e9, 3.0, 5e8), noise=0.05)),
    "cached": (FEWER, replace(LAW, caches=(Cache(16 * MIB, Way(4e-6, 1_500_000, 8e9)),))),
    "client": (FEWER, replace(LAW, client_iops=4_000.0)),
    "stalls": (FEWER, replace(LAW, stall_every_seconds=1.0, stall_seconds=0.3)),
    "once": (FEWER.replace("visits = 2", "visits = 1"), LAW),
    "few cells": (FEW_CELLS, replace(LAW, noise=0.05)),
    "load points": (POINTS, LAW),
    "fixed work": (FIXED_WORK, LAW),
    "SNIA": (ROUNDS, LAW),
    "budget": (FEWER.replace("visits = 2", 'budget = "20s"'), replace(LAW, burst=Burst(6e9, 3.0, 5e8), noise=0.02)),
}
SOON = ("wild", "once", "few cells", "budget")
"""The quiet target is that of a single visit, the noisy one lies between it and the wild one, the bursty one is that
of the budget, and a law beside stalls takes ten seconds to fit: the others are left to the long run.
"""


@pytest.mark.parametrize(
    "name",
    [
        name if name in SOON else pytest.param(name, marks=pytest.mark.long("analysis", "results", "law"))
        for name in CASES
    ],
)
def test_sentences_of_a_simulated_campaign_agree(tmp_path, name):
    text, law = CASES[name]
    world = World(tmp_path, law)
    world.run(text)
    result = load_result(world.directory)
    agree(result)
    summary = summarise(result)
    if name == "quiet":
        # The simulated files have holes, so that no read has a usable value.
        assert {doubt.code for doubt in summary.doubts} <= {DoubtCode.HOLES, DoubtCode.NUMBER}, summary.doubts
    if name == "wild":
        assert summary.trust is Trust.LOW
    if name == "budget":
        assert not result.replicates  # loads chosen one after another are no rounds: credit passed for a shift
    if name in ("load points", "SNIA"):
        assert summary.headlines
    for e in result.estimates:
        if verdict_class(e.verdict) is VerdictClass.STEADY and e.verdict is not VerdictCode.WORK_BOUNDED:
            assert (half_interval(e) or 0) <= STEADY_WIDTH, e
        if e.verdict in LOWER_BOUND and e.limit is not None:
            assert e.limit.determined, e


def agree(result):
    """What holds of the sentences and the first screen of any result."""
    check_told(result)
    told = {code: [one for one in result.findings if one.code is code] for code in FindingCode}
    summary = summarise(result)
    values = {(e.cell.key, e.direction): e for e in result.estimates}
    for best in summary.headlines:
        if not best.cell:
            continue
        e = values[best.cell, best.direction]
        assert best.value == e.bw_bytes_per_s
        assert best.lower_bound == (client_limited(e) or e.outrun)
        assert (best.high is None) == (e.bw_high is None or e.outrun)
        own = (best.target, best.direction, "measured")
        others = [one for one in result.estimates if (one.cell.target, one.direction, one.kind) == own]
        if e.kind == "measured" and (disagrees(e) or found_unsteady(e)):
            assert all(
                disagrees(one)
                or found_unsteady(one)
                or verdict_class(one.verdict) is VerdictClass.SUSPECT
                or max(one.bw_bytes_per_s, one.bw_high or 0.0) < (e.bw_low or 0.0)  # it lies above them as a whole
                or one.cell.bs_bytes < e.cell.bs_bytes
                for one in others
                if one.bw_bytes_per_s
            )
    no_sign = [one for one in told[FindingCode.CACHE] if one.values.get("n_checked")]
    assert not no_sign or len(told[FindingCode.CACHE]) == len(no_sign)
    doubts = told_doubts(summary.doubts)
    for one in (*worded(result), *doubts):
        assert all(int(share) <= 100 * NUMBER_WIDTH for share in re.findall(r"±(\d+)%", one.sentence)), one.sentence
    for doubt in doubts:
        assert len(doubt.sentence.split()) <= 20, doubt.sentence
    low = any(doubt.level is Trust.LOW for doubt in summary.doubts)
    assert summary.trust is (Trust.LOW if low else Trust.FAIR if summary.doubts else Trust.GOOD)


VALUES = st.one_of(st.none(), st.just(0.0), st.floats(1e3, 1e11))


@examples(200)
@example(
    [
        (1000.0, None, VerdictCode.NONE, "", None, "measured"),
        (None, None, VerdictCode.NONE, "", None, "measured"),
        (1001.0, 0.0, VerdictCode.RUNS_DISAGREE, "", None, "measured"),
    ]
)
@given(
    st.lists(
        st.tuples(
            VALUES,
            st.one_of(st.none(), st.floats(0.0, 3.0)),
            st.sampled_from(VerdictCode),
            st.sampled_from(["", "client CPU", "drive", "latency", "undetermined"]),
            st.one_of(st.none(), VALUES),
            st.sampled_from(["measured", "measured", "measured", "predicted", "imported"]),
        ),
        max_size=24,
    )
)
def test_sentences_of_any_result_agree(rows):
    estimates, fresh = [], []
    for i, (value, width, verdict, limit, again, kind) in enumerate(rows):
        cell = Cell.of("nas", {"rw": ("read", "randwrite")[i % 2], "bs": 4096 << (i % 5), "numjobs": 1 + i // 5})
        known = value is not None and width is not None
        low, high = (value * max(0.0, 1 - width), value * (1 + width)) if known else (None, None)
        judged = {"verdict": verdict, "limit": Limit(limit, evidence=("because",)) if limit else None}
        iops = value and value / cell.bs_bytes
        e = Estimate(cell, cell.directions[0], kind, 3, value, low, high, iops, **judged)
        estimates.append(e)
        if again is not None and kind == "measured":
            fresh.append(replace(e, bw_bytes_per_s=again, bw_low=again * 0.9, bw_high=again * 1.1))
    nas = (Target("nas", "directory", "/nas"),)
    plain = CampaignResult("id", "any", 0.0, "0", nas, axes={}, constants={}, estimates=tuple(estimates))
    from ioatlas.answer.analysis.best import with_fresh

    merged = replace(plain, estimates=with_fresh(plain.estimates, fresh))
    agree(replace(merged, findings=in_reading_order(map_findings(merged))))
    assert merged.estimates == with_fresh(merged.estimates, fresh), "once replaced it stays as it is"
