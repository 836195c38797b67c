# SPDX-License-Identifier: Apache-2.0
"""A law that was kept tells what it told when it was fitted; another record is none."""

import json
from dataclasses import replace

import pytest

from ioatlas.answer.law import kept
from ioatlas.answer.law.cells import foretold
from ioatlas.answer.law.fit import fit_law
from ioatlas.answer.law.kept import fit_of, record_of
from ioatlas.answer.law.limits import burst_findings, limit_of
from ioatlas.answer.law.told import tell
from tests.unit.law.stepped import QUICK, Bucket, Target, mapped

BOTH = ("read", "write")


@pytest.fixture(scope="module")
def fitted():
    """(courses, fit) of a target with a limiter, one load of which does not teach."""
    buckets = [Bucket("bytes", BOTH, 20e6, 40e6, 60e6)]
    target = Target(dict.fromkeys(BOTH, 1e-3), dict.fromkeys(BOTH, 3000.0), dict.fromkeys(BOTH, 80e6), buckets=buckets)
    courses, _ = mapped(target)
    courses = [*courses[:-1], replace(courses[-1], fits=False)]
    return courses, fit_law(courses)


@pytest.mark.long("law", "results")
def test_it_tells_the_same_to_the_last_bit(fitted):
    courses, fit = fitted
    again = fit_of(json.loads(json.dumps(record_of(fit))), [replace(one, fits=True) for one in courses])
    assert burst_findings({"t": fit})
    assert burst_findings({"t": again}) == burst_findings({"t": fit})
    for one in QUICK:
        way = one.directions[0]
        assert tell(again, one, way) == tell(fit, one, way)
        assert limit_of(again, one, way) == limit_of(fit, one, way)
    assert foretold(QUICK, {"t": again}) == foretold(QUICK, {"t": fit})
    assert record_of(again) == record_of(fit)


def test_of_other_loads_or_another_version_it_is_none(fitted, monkeypatch):
    courses, fit = fitted
    record = record_of(fit)
    assert fit_of(record, courses[:-1]) is None
    assert fit_of(record, [*courses[:-1], replace(courses[-1], counted=False)]) is None
    assert fit_of(record, [replace(courses[0], done=courses[0].done * (1 + 1e-9)), *courses[1:]]) is None
    monkeypatch.setattr(kept, "VERSION", kept.VERSION + 1)
    assert fit_of(record, courses) is None


@pytest.mark.parametrize(
    "change",
    [
        {"theta": [0.0]},
        {"theta": ["x"]},
        {"covariance": []},
        {"noise": [0.1]},
        {"evidence": None},
        {"evidence": float("nan")},
        {"limiters": [["ios"]]},
        {"limiters": []},
        {"limiters": [["litres", ["write"], True]]},
        {"ways": []},
        {"ways": ["write", "trim"]},
        {"seek": 1},
        {"taught": []},
        {"taught": 3},
        {"taught": [[]]},
        {"rivals": 3},
        {"rivals": ["x"]},
        {"rivals": [{}]},
    ],
)
def test_a_record_that_fits_nothing_is_none(fitted, change):
    courses, fit = fitted
    assert fit_of({**record_of(fit), **change}, courses) is None


def test_an_empty_record_is_none(fitted):
    assert fit_of({}, fitted[0]) is None
