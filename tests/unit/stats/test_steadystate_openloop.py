# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioatlas.model.errors import UsageError
from ioatlas.stats.openloop import intended_from, intended_latency
from ioatlas.stats.steadystate import steady_state
from tests.examples import examples


@pytest.mark.parametrize(
    ("rounds", "met"),
    [
        ([100, 80, 90, 95, 94, 96, 95], True),
        ([90, 110, 100, 110, 90], True),  # a range of exactly 20% of the average, slope 0
        ([89.9, 110, 100.1, 110, 90], False),
        ([95, 97.5, 100, 102.5, 105], True),  # a line that moves by exactly 10% of its average
        ([94.9, 97.45, 100, 102.55, 105.1], False),
        ([100.0] * 4, False),
        ([0.0] * 5, False),
    ],
)
def test_limits_of_the_steady_state_are_inclusive(rounds, met):
    assert steady_state(rounds).met is met


def test_steady_state_is_met_at_the_first_window_that_passes():
    result = steady_state([100, 80, 90, 95, 94, 96, 95, 95])
    assert (result.met, result.round_number, result.average) == (True, 7, 94.0)
    y = [103.0, 97.0, 101.0, 99.0, 96.0]
    assert steady_state(y).slope_share == pytest.approx(abs(np.polyfit(range(5), y, 1)[0]) * 4 / np.mean(y))


def test_the_test_ends_after_25_rounds():
    falling = [1000 * 0.9**i for i in range(25)]
    result = steady_state(falling)
    assert (result.met, result.finished) == (False, True)
    assert not any(steady_state(falling[:n]).finished for n in (4, 24))
    assert (steady_state([0.0] * 25).finished, steady_state([0.0] * 24).finished) == (True, False)
    assert steady_state([]).average is None
    for wrong in ([*falling, 1.0], [1.0, -1.0]):
        with pytest.raises(UsageError):
            steady_state(wrong)


@given(st.lists(st.floats(1, 1e9), min_size=5, max_size=25), st.floats(1e-3, 1e3))
def test_steady_state_does_not_depend_on_the_unit(rounds, factor):
    one, other = steady_state(rounds), steady_state([value * factor for value in rounds])
    assert one.range_share == pytest.approx(other.range_share, rel=1e-6, abs=1e-9)


def served(due_ns, service_ns):
    """Starts and completions of one server that takes I/Os in order and never starts one early."""
    start, end, free = np.empty(due_ns.size), np.empty(due_ns.size), 0.0
    for i, (due, service) in enumerate(zip(due_ns, service_ns, strict=True)):
        start[i] = max(due, free)
        free = end[i] = start[i] + service
    return start, end


def test_waiting_behind_a_stall_is_charged():
    due = np.arange(2000) * 1e6
    service = np.full(2000, 2e5)
    service[1000] = 3e8
    start, end = served(due, service)
    result = intended_latency(end, end - start, 1000)
    assert result.latency_ns == pytest.approx(end - due)
    assert np.percentile(end - start, 90) == pytest.approx(2e5)
    assert np.percentile(result.latency_ns, 90) > 1e8
    assert not result.overloaded


@pytest.mark.parametrize(
    ("n", "service_ns", "drains", "reason"),
    [(2000, 1.2e6, False, "83."), (2000, 1.2e6, True, ""), (20_000, 1.005e6, False, "")],
    ids=["far", "one that drains", "by 0.5%"],
)
def test_a_generator_that_falls_behind_is_overloaded(n, service_ns, drains, reason):
    start, end = served(np.arange(n) * 1e6, np.full(n, service_ns))
    result = intended_latency(end, end - start, 1000, drains=drains)
    assert result.overloaded
    assert result.reason.startswith(reason)
    assert paced(np.arange(100.0)).reason == "50.3% of the offered rate achieved"


def test_the_first_ios_own_lateness_is_not_charged():
    start, end = served(np.arange(100) * 1e6 + 5e6, np.full(100, 1e5))
    assert intended_latency(end, end - start, 1000).latency_ns.min() == pytest.approx(1e5)


@examples(60)
@given(st.lists(st.floats(1e3, 1e8), min_size=1, max_size=80), st.floats(10, 1e5), st.randoms(use_true_random=False))
def test_intended_latency_is_never_below_the_recorded_one(services, rate, random):
    due = np.arange(len(services)) * 1e9 / rate
    start, end = served(due, np.array(services))
    order = list(range(len(services)))
    random.shuffle(order)
    result = intended_latency(end[order], (end - start)[order], rate)
    assert np.all(result.latency_ns >= (end - start) - 1e-3)
    assert result.latency_ns == pytest.approx(end - due, rel=1e-6, abs=1)


def test_bad_logs_are_refused():
    for completion, latency, rate in (([], [], 10), ([1.0], [1.0, 2.0], 10), ([1.0], [1.0], 0), ([np.nan], [1.0], 1)):
        with pytest.raises(UsageError):
            intended_latency(np.array(completion), np.array(latency), rate)


def test_the_window_tells_its_line_and_why():
    state = steady_state([100.0, 101.0, 102.0, 103.0, 104.0])
    assert state.line == pytest.approx((100.0, 104.0))
    assert (state.met, state.average, state.round_number) == (True, 102.0, 5)
    assert state.reason == "met in round 5: range 3.9% of the average (limit 20%), slope 3.9% (limit 10%)"
    rising = steady_state([100.0, 110.0, 120.0, 130.0, 140.0])
    assert rising.reason.startswith("not met in round 5: range 33.3%")
    assert rising.line == pytest.approx((100.0, 140.0))


MS = 1e6


def paced(late_ms, latency_ms=0.2, **more):
    """1,000 I/Os a second, each started so many milliseconds late."""
    late = np.asarray(late_ms, dtype=float) * MS
    completion = np.arange(late.size) * MS + late + latency_ms * MS
    return intended_latency(completion, np.full(late.size, latency_ms * MS), 1000, **more)


STALL = [0.0] * 30 + [5.0, 4.0, 3.0, 2.0, 1.0] + [0.0] * 25


def test_a_stall_is_charged_to_those_that_waited_and_to_nobody_else():
    found = paced(STALL)
    assert found.latency_ns == pytest.approx((np.array(STALL) + 0.2) * MS)
    assert (found.overloaded, found.reason) == (False, "")
    coarse = paced(STALL, resolution_ns=MS)
    assert coarse.latency_ns == pytest.approx((np.maximum(np.array(STALL) - 1, 0) + 0.2) * MS)


@pytest.mark.parametrize(("n", "end_ms", "grows"), [(2000, 15.0, True), (2000, 9.0, False), (40, 0.3, False)])
def test_a_lag_that_grows_to_the_end_is_overload_at_99_percent_too(n, end_ms, grows):
    found = paced(np.linspace(0.0, end_ms, n))
    assert found.overloaded == grows
    assert found.reason.startswith("lag grows: 7.50 ms half way, 14.2") == grows


def test_slow_rates_and_latencies_of_zero_are_legal():
    slow = intended_latency(np.array([0.0, 4e9]), np.array([0.0, 0.0]), 0.5)
    assert slow.latency_ns.tolist() == [0.0, 2e9]
    for rate in (0.0, -1.0):
        with pytest.raises(UsageError, match="positive rate"):
            intended_latency(np.array([0.0]), np.array([0.0]), rate)


def drained(due_ns, service_ns, pause=()):
    """As fio's paced job with room for many in flight: what is due starts, all of it is finished, then it sleeps.

    The target takes any number at once. pause: (begin, end) in which it answers nothing.
    """
    start, end, now, place = np.empty(due_ns.size), np.empty(due_ns.size), 0.0, 0
    while place < due_ns.size:
        now = max(now, due_ns[place])
        until = place
        while until < due_ns.size and due_ns[until] <= now:
            start[until] = now
            end[until] = now + service_ns[until]
            if pause and pause[0] <= end[until] < pause[1]:
                end[until] = pause[1]
            until += 1
        now, place = end[place:until].max(), until
    return start, end


@pytest.mark.parametrize("rate", [100, 320, 1600, 3200])
def test_what_the_generator_waits_by_itself_is_not_the_target_s(rate):
    due = np.arange(rate * 2) * 1e9 / rate
    service = 5 * MS * np.exp(0.1 * np.random.default_rng(1).standard_normal(due.size))
    start, end = drained(due, service)
    charged, told = (intended_latency(end, end - start, rate, drains=drains).latency_ns for drains in (False, True))
    assert np.mean(told) == pytest.approx(np.mean(service), rel=0.03)
    assert np.percentile(told, 99) == pytest.approx(np.percentile(service, 99), rel=0.1)
    if rate > 200:
        assert np.mean(charged) > 1.3 * np.mean(service)  # what the correction is for


def test_a_pause_of_the_target_is_charged_though_the_generator_waits_too():
    due = np.arange(2000) * MS
    begin, long = 1000 * MS, 300 * MS
    start, end = drained(due, np.full(2000, 5 * MS), (begin, begin + long))
    told = intended_latency(end, end - start, 1000, drains=True)
    truth = np.where((due + 5 * MS >= begin) & (due < begin + long - 5 * MS), begin + long - due, 5 * MS)
    assert np.percentile(told.latency_ns, 99) == pytest.approx(np.percentile(truth, 99), rel=0.05)
    assert np.mean(told.latency_ns) == pytest.approx(np.mean(truth), rel=0.06)
    assert np.percentile(end - start, 99) < 10 * MS  # what fio's own clock saw


@pytest.mark.parametrize(("late_ms", "overloaded"), [(0, False), (9, False), (11, True), (500, True)])
def test_a_trace_that_ends_late_was_not_carried(late_ms, overloaded):
    """100 I/Os, one each 10 ms; from the 80th on all start late."""
    due = np.arange(100) * 10e6
    late = np.where(np.arange(100) >= 80, late_ms * 1e6, 0.0)
    told = intended_from(due + late + 1e6, np.full(100, 1e6), due)
    assert told.overloaded is overloaded
    assert told.reason == (f"late by {late_ms} ms at the end of a trace of 0.99 s" if overloaded else "")
