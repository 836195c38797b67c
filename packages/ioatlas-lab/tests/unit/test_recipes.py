# SPDX-License-Identifier: Apache-2.0
import re

import pytest
from tests.lab_check import _mean_between

from ioatlas.model.errors import UsageError
from ioatlas.model.units import words
from ioatlas_lab.network import goodput_bytes_per_s
from ioatlas_lab.running import fill, filled, find, scenarios
from ioatlas_lab.scenario import Limit, Loop, MakeFile, Run, Serve, Text

PLACES = {
    *words("dir python plugins server client namespace device octet gluster1_pid name"),
    *(f"{kind}{index}" for kind in ("node", "namespace", "beside") for index in range(1, 13)),
    *(f"loop{index}" for index in range(5)),
}


@pytest.mark.parametrize("name", list(scenarios()))
def test_each_recipe_is_complete(name):
    scenario = scenarios()[name]
    recipe = scenario.build(scenario.settings)
    told = [recipe.location]
    for step in recipe.steps:
        if isinstance(step, Serve):
            told += [*step.argv, step.ready, *(value for _, value in step.environment)]
        elif isinstance(step, Run):
            told += step.argv
        elif isinstance(step, (MakeFile, Loop)):
            told.append(step.path)
        elif isinstance(step, Text):
            told += [step.path, step.text]
        elif isinstance(step, Limit):
            told.append(step.device)
    assert {place for word in told for place in re.findall(r"{(\w+)}", word)} <= PLACES
    assert all(check.quantity in recipe.truth for check in recipe.checks)
    assert all(
        truth.unit and truth.source in {"configured", "arithmetic", "documented"} for truth in recipe.truth.values()
    )
    assert scenario.requires
    assert scenario.summary
    for check in recipe.checks:
        # The tolerances that are promised: 1% of a rate, 2% or 0.3 ms of a latency; whatever is wider says why.
        promised = check.tolerance <= (0.02 if check.kind == "latency" else 0.01) and check.tolerance_absolute <= (
            0.3 if check.kind == "latency" else 0
        )
        assert promised or check.wider, check
        assert not check.without_delay or scenario.build({**filled(scenario, {}), check.without_delay: 0}), (
            "it can do without the delay"
        )


def test_settings_reach_the_truth():
    scenario = find("latency")
    recipe = scenario.build(filled(scenario, {"lat_ms": 10, "threads": "4"}))
    assert recipe.truth["lat_mean_ms"].value == 10
    assert recipe.truth["iops_per_job"].value == 400
    assert recipe.truth["knee_iodepth"].value == 4


@pytest.mark.parametrize("given", [{"lat_ms": 1.5}, {"lat_ms": "x"}, {"size_bytes": 0}, {"lat_ms": -1}, {"speed": 1}])
def test_settings_that_cannot_be_are_refused(given):
    with pytest.raises(UsageError):
        filled(find("latency"), given)


def test_braces_that_mean_something_else_stay():
    assert fill("{dir}/x {other}", {"dir": "/d"}) == "/d/x {other}"


def test_the_link_truth_counts_what_the_token_bucket_counts():
    assert goodput_bytes_per_s(10**9, 1500) / 1e6 == pytest.approx(119.55, abs=0.005)
    assert goodput_bytes_per_s(10**9, 9000) / 1e6 == pytest.approx(124.08, abs=0.005)


def test_a_rate_log_with_a_gap_is_weighed_by_time():
    # The entry of 400 ms is missing: the one of 500 ms speaks for 200 ms.
    log = [(100, 10, 0), (200, 10, 0), (300, 10, 0), (500, 40, 0), (600, 10, 0)]
    assert _mean_between(log, 100, 500) == pytest.approx((100 * 10 + 100 * 10 + 200 * 40 + 100 * 10) / 500)
    both = [(100, 10, 0), (100, 5, 1), (200, 10, 0), (200, 5, 1)]
    assert _mean_between(both, 100, 200) == 15
