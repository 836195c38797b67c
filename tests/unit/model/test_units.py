# SPDX-License-Identifier: Apache-2.0
"""Numbers for people: three digits, never a power of ten, never a wrong magnitude."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioatlas.model.testbed import value_text
from ioatlas.model.units import (
    UNITS,
    exact_duration,
    format_count,
    format_duration,
    format_latency,
    format_size_rounded,
    parse_duration_seconds,
    round_budget,
)

BACK = {
    format_count: {"": 1, **UNITS["count"]},
    format_latency: UNITS["latency"],
    format_size_rounded: UNITS["binary"],
}


@pytest.mark.parametrize("write", BACK)
@given(st.floats(1, 1e14))
def test_what_is_written_is_the_value_to_three_digits(write, value):
    number, _, unit = write(value).partition(" ")
    assert "e" not in number
    assert float(number) * BACK[write][unit] == pytest.approx(
        value, rel=0.006 if value >= 100 or write is not format_latency else 0.5
    )


def test_millions_are_not_written_as_thousands():
    assert (format_count(2.03e6), format_count(999.7), format_latency(999_700), format_size_rounded(999.7)) == (
        "2.03 M",
        "1000",
        "1 ms",
        "0.976 KiB",
    )


def test_a_fact_is_exact_and_readable():
    assert value_text(25276514304, "B") == "25276514304 B = 23.5 GiB"
    assert (value_text(512, "B"), value_text(1_000_000_000, "bit/s"), value_text("mq-deadline", "")) == (
        "512 B",
        "1000 Mb/s",
        "mq-deadline",
    )


@given(st.floats(0, 1e8))
def test_a_duration_written_to_a_file_is_read_back_exactly(seconds):
    assert parse_duration_seconds(exact_duration(seconds)) == seconds


def test_a_duration_that_people_are_told_can_be_typed():
    assert [parse_duration_seconds(format_duration(s)) for s in (0.85, 42, 200, 7500)] == [0.85, 42, 200, 7500]


@pytest.mark.parametrize(("seconds", "budget"), [(12, "1m"), (60, "1m"), (61, "2m"), (8 * 3600, "8h"), (1e5, "28h")])
def test_budgets_are_round_and_no_shorter(seconds, budget):
    assert round_budget(seconds) == budget


def test_durations_in_files_are_short():
    assert [exact_duration(s) for s in (0.5, 0.0125, 1, 1.5, 1000.0)] == ["500ms", "12.5ms", "1s", "1.5s", "1000s"]
