# SPDX-License-Identifier: Apache-2.0
"""The search for the highest load, against targets whose capacity is known."""

import random

import pytest

from ioatlas.plan.load_search import LEAST_IOPS, MOST_TRIALS, WIDTH, LoadTrial, search_load

LIMIT_NS = 30e6


def target(capacity, service_ns=1e6, noise=0.0, seed=1):
    """A queue with one server: response time has no bound at capacity; above it the offered rate is not achieved."""
    generator = random.Random(seed)

    def trial(load, long):
        shaken = capacity * generator.uniform(1 - noise, 1 + noise)
        busy = load / shaken
        latency = service_ns / (1 - busy) if busy < 1 else 1e9
        return LoadTrial(load, min(load, shaken), latency, busy >= 0.99, long)

    return trial


def searched(make, limit_ns=LIMIT_NS):
    trials = []
    for _ in range(100):
        answer = search_load(trials, limit_ns)
        if answer.next is None:
            return answer, trials
        trials.append(make(*answer.next))
    raise AssertionError("it does not end")


@pytest.mark.parametrize("capacity", [130, 777, 3000, 45_678, 900_000])
def test_the_highest_load_is_found_within_the_width(capacity):
    answer, trials = searched(target(capacity))
    truth = capacity * (1 - 1e6 / LIMIT_NS)  # where 1 ms / (1 - busy) is 30 ms
    assert truth / WIDTH / 1.02 <= answer.highest <= truth
    assert answer.refused > truth
    assert len(trials) <= 25


def test_what_limits_is_told():
    slow = searched(target(1000, service_ns=20e6))[0]
    assert slow.limited_by == "response time"
    # Response time is no matter where nothing queues: the rate is not achieved.
    flat = searched(lambda load, long: LoadTrial(load, min(load, 5000), 1e5, load > 5000, long))[0]
    assert flat.limited_by == "throughput"
    assert 4700 <= flat.highest <= 5000
    free = searched(lambda load, long: LoadTrial(load, load, 1e3, False, long))[0]
    assert free.limited_by == "nothing"
    assert free.highest > 1e6


def test_a_target_that_carries_nothing():
    answer, trials = searched(lambda load, long: LoadTrial(load, load / 2, 1e9, True, long))
    assert answer.highest is None
    assert answer.next is None
    assert min(trial.offered_iops for trial in trials) >= LEAST_IOPS


def test_a_load_that_a_long_trial_refutes_is_left():
    # Short trials live on a burst that long ones outlast.
    answer, _ = searched(lambda load, long: LoadTrial(load, load, 1e6, load > (2000 if long else 4000), long))
    assert answer.highest <= 2000
    assert answer.highest > 1500


@pytest.mark.parametrize("seed", range(20))
def test_noise_never_keeps_it_from_ending(seed):
    answer, trials = searched(target(5000, noise=0.3, seed=seed))
    assert len(trials) <= MOST_TRIALS
    if answer.highest is not None:
        mine = [trial for trial in trials if trial.offered_iops == answer.highest]
        assert all(trial.carried(LIMIT_NS) for trial in mine)
        assert sum(trial.long for trial in mine) >= 2


def test_the_same_trials_give_the_same_answer():
    _, trials = searched(target(3000, noise=0.1))
    for count in range(len(trials)):
        assert search_load(trials[:count], LIMIT_NS) == search_load(list(trials[:count]), LIMIT_NS)
        assert search_load(trials[:count], LIMIT_NS).next == (trials[count].offered_iops, trials[count].long)
