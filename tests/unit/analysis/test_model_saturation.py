# SPDX-License-Identifier: Apache-2.0
"""Lines of a map of which a model foretells the most: told as the model's, with intervals that hold the truth."""

import math
import random

import pytest

from ioatlas.analysis.model_saturation import model_lines, model_saturation_findings
from ioatlas.analysis.overview import findings
from ioatlas.analysis.saturation import near_peak
from ioatlas.model.cell import Cell
from ioatlas.model.estimate import Estimate
from ioatlas.model.finding import FindingCode
from ioatlas.model.result import CampaignResult
from ioatlas.model.target import Target
from ioatlas.model.verdict import VerdictCode

JOBS = (1, 2, 4, 8, 16, 32, 64, 128)


def bounds(n, top=12_000):
    return min(1000.0 * n, top)


def line(law=bounds, measured=(1, 128), spread=0.03, seed=1, verdict=VerdictCode.STEADY):
    """A line along numjobs, with the errors that its intervals tell of."""
    dice = random.Random(seed)
    found = []
    for n in JOBS:
        cell = Cell.of("nas", {"rw": "randread", "bs": 4096, "size": 1 << 30, "numjobs": n, "iodepth": 1, "direct": 1})
        kind = "measured" if n in measured else "predicted"
        value = law(n) * math.exp(dice.gauss(0, spread))
        side = (1.96 if kind == "measured" else 1.645) * spread
        low, high = value * math.exp(-side), value * math.exp(side)
        rates = (value * 4096, low * 4096, high * 4096, value, low, high)
        word = verdict if kind == "measured" else VerdictCode.PREDICTED
        found.append(Estimate(cell, "read", kind, 3, *rates, verdict=word))
    return found


def test_the_bend_of_a_line_lies_within_its_interval():
    truth = near_peak(JOBS, [bounds(n) for n in JOBS])
    held = 0
    for seed in range(40):
        (found,) = model_lines(line(seed=seed))
        assert found.told
        assert found.bends
        held += found.near_peak.low <= truth <= found.near_peak.high
        assert found.last_gaining.low <= 16 <= found.last_gaining.high
    assert held >= 34  # of 40, at 90%


def test_an_interval_follows_the_models_own():
    (sure,), (unsure,) = model_lines(line(spread=0.01)), model_lines(line(spread=0.3))
    assert unsure.near_peak.high / unsure.near_peak.low > sure.near_peak.high / sure.near_peak.low


def test_it_is_told_as_the_models_in_short_sentences():
    (finding,) = model_saturation_findings(line())
    assert finding.code is FindingCode.SATURATION_LAW
    assert finding.sentence.startswith("By the map's model, reads (randread, ")
    assert " jobs (" in finding.sentence
    assert "Of 8 points 2 were measured." in finding.sentence
    assert len(finding.cells) == 2
    assert not model_saturation_findings(line(), [("nas", "read", "numjobs")])  # readings told it already


def test_a_line_that_still_rises_has_no_bend():
    (finding,) = model_saturation_findings(line(lambda n: 1000.0 * n))
    assert "no bend is sure up to 128 jobs" in finding.sentence


@pytest.mark.parametrize(
    "members",
    [
        line(measured=JOBS),  # all measured: no model
        line(measured=()),  # nothing measured
        line(measured=(1,), verdict=VerdictCode.CLIENT_LIMITED),
        line()[:3],
        line(spread=2.0),
    ],
    ids=["measured", "foretold", "client", "short", "vague"],
)
def test_nothing_is_told_of_other_lines(members):
    assert not model_saturation_findings(members)


def result(estimates):
    targets = (Target("nas", "directory", "/nas"),)
    return CampaignResult("id", "any", 0.0, "0", targets, axes={}, constants={}, estimates=tuple(estimates))


def test_the_jobs_that_a_load_needs_are_told_by_the_model_where_readings_are_too_few():
    (told,) = (one for one in findings(result(line())) if one.code is FindingCode.SATURATION)
    assert told.sentence.startswith("By the map's model, ")
    assert "read 4 KiB random blocks at nearly full speed" in told.sentence
    bare = [e for e in line() if e.kind == "measured"]
    (unknown,) = (one for one in findings(result(bare)) if one.code is FindingCode.SATURATION)
    assert unknown.sentence.startswith("Can't tell how many jobs")
