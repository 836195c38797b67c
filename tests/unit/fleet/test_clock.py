# SPDX-License-Identifier: Apache-2.0
"""A clock against ours, from round trips whose truth is known."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioatlas.load.fleet.client import Exchange, offset_of

SECONDS = st.floats(0, 2)


@given(st.floats(-1000, 1000), st.lists(st.tuples(SECONDS, SECONDS), min_size=1, max_size=8))
def test_the_truth_lies_within_the_error(offset, legs):
    """However long there and back take, and however unequal."""
    told = offset_of(Exchange(100.0, 100.0 + there + offset, 100.0 + there + back) for there, back in legs)
    assert abs(told.offset_ms - offset * 1000) <= told.error_ms + 1e-6
    assert told.error_ms == pytest.approx(min(there + back for there, back in legs) * 500, abs=1e-6)


def test_a_coarse_reading_counts_for_less():
    fine, coarse = Exchange(0, 5.010, 0.020), Exchange(1, 6.0, 1.001, resolution_seconds=0.5)
    assert offset_of([coarse, fine]).offset_ms == pytest.approx(5000)


def test_without_an_answer_there_is_none():
    assert offset_of([]) is None
