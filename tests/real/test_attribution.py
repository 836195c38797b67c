# SPDX-License-Identifier: Apache-2.0
"""Lab targets with a known limit: named rightly or withheld, never wrong. bench/attribution does it for all."""

import os
import sys
from pathlib import Path

import pytest

from ioatlas.answer.analysis.attribution import OTHERS
from ioatlas.answer.analysis.best import CLIENT
from ioatlas_lab.running import find, missing
from tests.real.pauses import Pauses

sys.path.insert(0, str(Path(__file__).parents[2] / "bench/attribution"))
import attributed as attribution
from attributed import attributed, table
from limit_cases import CASES

pytestmark = pytest.mark.needs("fio")

CONFIDENT = 0.9


@pytest.mark.long("analysis", "lab")
@pytest.mark.parametrize("name", ["a rate the load asks for", "1 Gb/s at MTU 1500"])
def test_none_is_confidently_wrong(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attribution, "WINDOW_SECONDS", 0.4)  # neither of these limits gives credits
    (case,) = (case for case in CASES if case.name == name)
    scenario = find(case.scenario)
    if missing(scenario) or (scenario.needs_root and os.geteuid() != 0):
        pytest.skip(f"{case.scenario} cannot be started here")
    with Pauses() as pauses:
        outcome = attributed(case)
    # Where others fight for the processors, these are what limits the client, whatever the target could do.
    fought_for = pauses.share > 0.02 and outcome.attributed in (CLIENT, OTHERS)
    # A limit is named from even odds on; of those named with 90% one in ten may be wrong (bench/attribution).
    assert outcome.verdict in ("right", "withheld") or outcome.probability < CONFIDENT or fought_for, outcome
    assert outcome.evidence
    assert name in table([outcome])[-1]


@pytest.mark.unmeasured
def test_every_row_asks_a_cell_of_its_sweep_and_names_what_there_is() -> None:
    assert len({case.name for case in CASES}) == len(CASES) >= 12
    for case in CASES:
        find(case.scenario)
        assert all(value in case.sweep[option] for option, value in case.asked.items()), case.name
        assert "undetermined" not in case.right
