# SPDX-License-Identifier: Apache-2.0
"""Verdicts and reasons: the texts of journals made so far become codes, and are given back letter by letter."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioatlas.model.estimate import Bound, Limit
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
from ioatlas.model.verdict import (
    Reason,
    ReasonCode,
    UnmeasuredCode,
    UnmeasuredReason,
    Verdict,
    VerdictClass,
    VerdictCode,
    read_reasons,
    read_unmeasured,
    read_verdict,
    sentences,
    verdict_class,
)

VERDICTS = {
    "": Verdict(),
    "flat": Verdict(VerdictCode.FLAT),
    "warm-up(120 ms)": Verdict(VerdictCode.WARM_UP, "120 ms"),
    "slowdown(300 ms)": Verdict(VerdictCode.SLOWDOWN, "300 ms"),
    "too short": Verdict(VerdictCode.TOO_SHORT),
    "work done": Verdict(VerdictCode.WORK_DONE),
    "flat: slowdown(300 ms), which a visit 4 times as long did not show": Verdict(
        VerdictCode.FLAT, "slowdown(300 ms), which a visit 4 times as long did not show"
    ),
    "overloaded: 97.0% of the offered rate achieved (reads)": Verdict(
        VerdictCode.OVERLOADED, "97.0% of the offered rate achieved (reads)"
    ),
    "client-limited: load generator: 99% CPU for each job, limit 80%": Verdict(
        VerdictCode.CLIENT_LIMITED, "load generator: 99% CPU for each job, limit 80%"
    ),
    "some new word": Verdict(VerdictCode.UNKNOWN, "some new word"),
    "flat(3)": Verdict(VerdictCode.UNKNOWN, "flat(3)"),
}
CUT = "kernel counters: sda carried 40.0% of the bytes read; the rest was answered before it"
REASONS = {
    "": [],
    "error 5 reported by the load generator": [ReasonCode.ERROR],
    "no I/O completed in the window": [ReasonCode.NO_IO],
    "Little's law: IOPS x mean latency = 3.10 in flight, 4 kept in flight (ratio 0.78)": [ReasonCode.LITTLES_LAW],
    "overlapped its neighbour by 50 ms": [ReasonCode.OVERLAP],
    "ran longer than asked: 700 ms instead of 500": [ReasonCode.OVER_RUN],
    "settled in the second half of its window (slowdown(300 ms)): made again 4 times as long": [ReasonCode.LATE],
    "block voided: level -33% against the other blocks; 6% lost": [ReasonCode.VOIDED],
    f"bytes: 8 moved, 2 I/Os x 8 = 16 (50.0%); {CUT}": [ReasonCode.BYTES, ReasonCode.COUNTERS],
    "asu1: bytes: 8 moved, 2 I/Os x 8 = 16 (50.0%); asu2: runtime: 1 ms of 2 ms asked": [
        ReasonCode.BYTES,
        ReasonCode.RUNTIME,
    ],
    "a gate of tomorrow refused it": [ReasonCode.OTHER],
}


@pytest.mark.parametrize("text", VERDICTS)
def test_a_verdict_of_a_journal(text):
    assert read_verdict(text) == VERDICTS[text]
    assert VERDICTS[text].text == text


@given(st.one_of(st.text(), st.builds("{}: {}".format, st.sampled_from(VerdictCode), st.text())))
def test_any_text_of_a_verdict_is_given_back(text):
    assert read_verdict(text).text == text


def test_what_is_not_known_is_suspect():
    assert verdict_class(read_verdict("excellent").code) is VerdictClass.SUSPECT
    assert verdict_class(VerdictCode.WARM_UP) is VerdictClass.STEADY
    assert verdict_class(VerdictCode.OVERLOADED) is VerdictClass.UNSTABLE
    assert {verdict_class(code) for code in VerdictCode} == set(VerdictClass)


@pytest.mark.parametrize("text", REASONS)
def test_the_reasons_of_a_journal(text):
    assert [reason.code for reason in read_reasons(text)] == REASONS[text]
    assert sentences(read_reasons(text)) == text


@given(st.text(alphabet="abc; :'"))
def test_any_text_of_reasons_is_given_back(text):
    assert sentences(read_reasons(text)) == text


def test_the_field_s_word_is_shown_for_the_one_of_the_journal():
    assert [code.text for code in ReasonCode if code.text != code] == ["replicate voided"]
    assert Reason(ReasonCode.VOIDED, "block voided: x").code == "block voided"


@pytest.mark.parametrize(
    ("text", "code", "detail"),
    [
        (
            "not admissible: larger than the target (1 GiB)",
            UnmeasuredCode.NOT_ADMISSIBLE,
            "larger than the target (1 GiB)",
        ),
        ("left out: the budget did not allow it", UnmeasuredCode.LEFT_OUT, "the budget did not allow it"),
        ("not reached", UnmeasuredCode.NOT_REACHED, ""),
        ("failed: fio reported error 5: EIO", UnmeasuredCode.FAILED, "fio reported error 5: EIO"),
        ("a step of the load-latency curve", UnmeasuredCode.NOT_OF_THE_MAP, ""),
        ("a trial of the search for the highest load", UnmeasuredCode.TRIAL, ""),
        ("on holiday", UnmeasuredCode.OTHER, "on holiday"),
    ],
)
def test_why_a_cell_was_not_measured(text, code, detail):
    assert read_unmeasured(text) == UnmeasuredReason(code, detail)
    assert read_unmeasured(text).text == text


@given(st.one_of(st.text(), st.builds("{}: {}".format, st.sampled_from(UnmeasuredCode), st.text())))
def test_any_reason_of_a_cell_is_given_back(text):
    assert read_unmeasured(text).text == text


def test_what_a_part_of_the_target_lets_through_is_a_bound():
    assert Limit("target bandwidth", most_bytes_per_s=5e7).bound == Bound("target bandwidth", 5e7, "law")
    assert Limit("latency").bound is None


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
