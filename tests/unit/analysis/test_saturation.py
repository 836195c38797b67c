# SPDX-License-Identifier: Apache-2.0
"""Lines whose law is known, with the noise of real visits."""

import math
import re

import numpy as np
import pytest

from ioatlas.analysis.saturation import FEWEST_LEVELS, Level, lines_of, saturation, saturation_findings
from ioatlas.model.cell import Cell
from ioatlas.model.estimate import Estimate
from ioatlas.model.verdict import VerdictCode

LEVELS = (1, 2, 4, 8, 16, 32, 64, 128)


def usl(g, a, b):
    return lambda n: g * n / (1 + a * (n - 1) + b * n * (n - 1))


def bounds(rate, top):
    return lambda n: min(n * rate, top)


def line(law, *, noise=0.02, visits=3, seed=1, levels=LEVELS):
    dice = np.random.default_rng(seed)
    return [Level(n, tuple(law(n) * np.exp(dice.normal(0, noise, visits)))) for n in levels]


@pytest.mark.parametrize(
    ("law", "name"),
    [
        (bounds(1000, 16_000), "bounds"),
        (usl(1000, 0.03, 0.0005), "usl"),
        (usl(1000, 0.05, 1e-9), "usl"),
        (lambda n: 1000 * n, "linear"),
    ],
)
def test_the_law_that_made_the_data_wins(law, name):
    wins = sum(saturation(line(law, seed=seed)).law.law == name for seed in range(20))
    assert wins >= 19


def test_the_losers_are_kept_with_their_score():
    found = saturation(line(bounds(1000, 16_000)))
    assert {fit.law for fit in found.fits} == {"bounds", "usl", "linear"}
    assert found.fits[0].aicc < found.fits[1].aicc < found.fits[2].aicc
    rate, top = found.law.parameters
    assert rate == pytest.approx(1000, rel=0.03)
    assert top == pytest.approx(16_000, rel=0.03)


def test_the_peak_of_a_line_that_turns_down():
    law = usl(1000, 0.03, 0.0005)
    truth = math.sqrt(0.97 / 0.0005)
    inside = 0
    for seed in range(20):
        found = saturation(line(law, seed=seed))
        assert found.peak.value == pytest.approx(truth, rel=0.1)
        inside += found.peak.low <= truth <= found.peak.high
    assert inside >= 17  # 95% of 20, and a little luck


def test_no_peak_is_made_up():
    assert saturation(line(bounds(1000, 16_000))).peak is None
    assert saturation(line(lambda n: 1000 * n)).peak is None
    # It would turn down at 1,000: far beyond what was measured.
    assert saturation(line(usl(1000, 0.001, 1e-6))).peak is None


def test_knee_of_plain_bounds():
    found = saturation(line(bounds(1000, 16_000)))
    assert found.power.value == 16
    assert 13 < found.near_peak.value < 15.5
    assert found.near_peak.low <= found.near_peak.value <= found.near_peak.high
    assert found.last_gaining.value == 16
    assert found.saturated


def test_a_straight_line_has_no_bend():
    found = saturation(line(lambda n: 1000 * n))
    assert not found.saturated
    assert found.last_gaining.value == 128
    assert found.per_job[0][1] == pytest.approx(found.per_job[-1][1], rel=0.1)


def test_five_levels_are_too_few():
    assert FEWEST_LEVELS == 6
    assert saturation(line(bounds(1000, 4000), levels=LEVELS[:5])) is None
    assert saturation(line(bounds(1000, 4000), levels=LEVELS[:6])) is not None


def test_one_visit_a_level_has_no_interval():
    found = saturation(line(bounds(1000, 16_000), visits=1))
    assert found.law.law == "bounds"
    assert found.near_peak.low is None


def test_the_same_visits_give_the_same_intervals():
    assert saturation(line(bounds(1000, 16_000))) == saturation(line(bounds(1000, 16_000)))


def cells(along, levels=LEVELS, **more):
    base = {
        "rw": "randread",
        "bs": 4096,
        "size": 1 << 30,
        "numjobs": 1,
        "iodepth": 1,
        "direct": 1,
        "ioengine": "libaio",
        **more,
    }
    return [Cell.of("nas", {**base, along: n}) for n in levels]


def estimates(along, law, verdict=VerdictCode.STEADY, **more):
    return [
        Estimate(cell, "read", "measured", 2, law(n) * 4096, iops=law(n), verdict=verdict)
        for n, cell in zip(LEVELS, cells(along, **more), strict=True)
    ]


def test_lines_of_a_map():
    members = estimates("numjobs", bounds(1000, 16_000)) + estimates("numjobs", bounds(900, 9000), bs=8192)
    lines = lines_of(members)
    assert {(key.along, key.cell.bs_bytes) for key in lines} == {("numjobs", 4096), ("numjobs", 8192)}
    assert not lines_of(estimates("numjobs", bounds(1000, 16_000), verdict=VerdictCode.CLIENT_LIMITED))
    assert not lines_of(estimates("numjobs", bounds(1000, 16_000), verdict=VerdictCode.CACHED))


def test_the_engine_that_follows_the_depth_does_not_break_a_line():
    members = estimates("iodepth", bounds(1000, 16_000))
    changed = Cell.of("nas", {**members[0].cell.option, "ioengine": "psync"})
    members[0] = Estimate(changed, "read", "measured", 2, 4096e3, iops=1000.0, verdict=VerdictCode.STEADY)
    assert [len(levels) for levels in lines_of(members).values()] == [8]


def test_the_sentence_holds_the_numbers():
    members = estimates("numjobs", bounds(1000, 16_000))
    visits = {(e.cell.key, "read"): (e.iops * 0.99, e.iops * 1.01) for e in members}
    (finding,) = saturation_findings(members, visits)
    assert finding.code == "saturation-law"
    assert set(finding.cells) == {e.cell.key for e in members}
    assert re.search(
        r"Best described by plain bounds \(AICc -?\d+\.\d; the Universal Scalability Law -?\d+\.\d", finding.sentence
    )
    assert "16 k IOPS" in finding.sentence
    assert "1000 IOPS with 1 job, 125 with 128" in finding.sentence
    assert saturation_findings([]) == ()
