# SPDX-License-Identifier: Apache-2.0
"""The closing line of a session counts what a reader will find in the result."""

from types import SimpleNamespace

import pytest

from ioatlas.measure.run.budget import Budget
from ioatlas.measure.run.live import Summary
from ioatlas.model.verdict import Reason, ReasonCode
from ioatlas.model.visit import Purpose

LATE = (Reason(ReasonCode.LATE, "late"),)
MADE = [("a", Purpose.PROBE, ()), ("a", Purpose.SWEEP, ()), ("a", Purpose.FRESH, ()), ("b", Purpose.SWEEP, LATE)]
MADE += [("c", Purpose.BASELINE, ())]


@pytest.mark.parametrize(
    ("counted", "cells", "visits"),
    [(None, 2, 3), (frozenset({Purpose.SWEEP}), 1, 1), (frozenset({Purpose.PROBE, Purpose.BASELINE}), 2, 2)],
)
def test_discarded_visits_and_probes_are_not_counted(tmp_path, counted, cells, visits):
    rows = [SimpleNamespace(cell_key=key, purpose=purpose, discarded=why) for key, purpose, why in MADE]
    journal = SimpleNamespace(directory=tmp_path, visits=lambda: rows)
    told = Summary.of(journal, Budget(lambda: 7.0, 60.0, 4.0), complete=True, counted=counted)
    assert told == Summary(tmp_path, cells, visits, 3.0, complete=True, budget_seconds=60.0)
    assert Summary.of(journal, None, complete=False).seconds == 0.0
