# SPDX-License-Identifier: Apache-2.0
"""Lab targets whose rate is promised to a percent: only a machine that does nothing else can hold them to it."""

import pytest
from tests import lab_check
from tests.real.pauses import Pauses

import ioatlas_lab as lab
from ioatlas_lab.running import missing

SHORTEST = 3
"""Seconds that no check of these is shorter than."""
pytestmark = [pytest.mark.long("lab"), pytest.mark.usefixtures("own_lab")]


@pytest.mark.parametrize(("name", "settings"), [("bandwidth", {"burst_seconds": 0.5}), ("iops", {})])
def test_holds_its_truth(name, settings):
    if lacking := missing(lab.scenarios()[name]):
        pytest.skip(f"not installed: {', '.join(need.program for need in lacking)}")
    with Pauses() as pauses:
        outcomes = list(lab_check.check(name, settings=settings))
    assert outcomes
    # Their own tolerance, and what pauses of the machine took or were caught up after.
    assert [one for one in outcomes if not one.ok and abs(one.error) > 0.01 + 2 * pauses.seconds / SHORTEST] == []
