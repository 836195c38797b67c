# SPDX-License-Identifier: Apache-2.0
"""docs/method/statistics.md names every method and the limits that the code uses."""

from pathlib import Path

import pytest

from ioatlas.answer.analysis import many
from ioatlas.load.fio.series import MOST_ROWS
from ioatlas.model.verdict import VerdictCode
from ioatlas.plan import stopping
from ioatlas.stats import drift, gates, intervals, openloop, steadystate, verdict, warmup

TEXT = (Path(__file__).parents[3] / "docs" / "method" / "statistics.md").read_text()


@pytest.mark.parametrize(
    "method",
    [
        *(intervals.LOG_T, intervals.MODERATED_LOG, intervals.PLAIN_T, intervals.MEDIAN),
        *(warmup.MSER, warmup.PELT, verdict.METHOD, intervals.VARIANCE_METHOD, drift.METHOD, many.METHOD),
        stopping.CERTIFIED_METHOD,
        *(stopping.MAP_METHOD, drift.FIT_METHOD, steadystate.METHOD, gates.METHOD),
        *("block-shift/1", "lost-cells/1", openloop.METHOD, "backlog-poisson/1"),
        intervals.SEEN_METHOD,
    ],
)
def test_every_method_is_in_the_docs(method):
    assert f"`{method}`" in TEXT


def test_every_verdict_is_in_the_docs():
    for label in (
        *verdict.STEADY,
        *(VerdictCode.DRIFTING, VerdictCode.BISTABLE, VerdictCode.UNSTABLE, VerdictCode.TOO_SHORT),
    ):
        assert label in TEXT


def test_the_docs_state_the_limits_of_the_code():
    assert f"{verdict.RELEVANT:.0%} of the level" in TEXT
    assert f"fewer than {verdict.FEWEST} intervals" in TEXT
    assert f"{drift.RELEVANT_SHIFT:.0%} off the others" in TEXT
    assert f"the tolerance ({many.TOLERANCE:.0%})" in TEXT
    assert f"each I/O, up to {MOST_ROWS:,} a visit" in TEXT
    assert f"above {gates.CEILING_LIMIT:.1%} of a ceiling" in TEXT
    assert f"at most {steadystate.RANGE_LIMIT:.0%} of their average" in TEXT
    assert ", ".join(str(look) for look in stopping.CERTIFIED_LOOKS[:-1]) in TEXT
