# SPDX-License-Identifier: Apache-2.0
"""Searches for the best setting and the highest load, against systems whose answer is known by arithmetic."""

import random
from dataclasses import dataclass

import pytest

from ioatlas.plan.latency_search import Goal, Trial, conclude, judge_load, next_trials
from ioatlas.plan.load_search import LEAST_IOPS, MOST_TRIALS, WIDTH, LoadTrial, search_load

MS = 1e6


@dataclass(frozen=True)
class System:
    """`per_job` I/Os of a job are served at once, each in `service` ms; in all `cap` IOPS. p99 is 1.2 x the mean."""

    per_job: float = 1e9
    service: float = 1.0
    cap: float = 1e9

    def iops(self, jobs, depth):
        return min(jobs * min(depth, self.per_job) / self.service * 1e3, self.cap)

    def p99_ns(self, jobs, depth):
        return 1.2 * jobs * depth / self.iops(jobs, depth) * 1e9

    def trial(self, point, dice, noise):
        iops = self.iops(*point) * dice.gauss(1, noise)
        tail = self.p99_ns(*point) * dice.gauss(1, 2 * noise)
        return Trial(point, iops, point[0] * point[1] / iops * 1e9, tail, 0.5)

    def optimum(self, goal):
        """Most IOPS of any setting within the limits, by trying all."""
        points = [(j, d) for j in range(1, goal.max_jobs + 1) for d in range(1, goal.max_depth + 1)]
        return max(
            (self.iops(*p) for p in points if goal.limit_ns is None or self.p99_ns(*p) <= goal.limit_ns), default=None
        )


def search(system, goal, *, noise=0.003, seed=1, refuse=lambda _point: False):
    dice, history, failed = random.Random(seed), [], set()
    for _ in range(150):
        points = next_trials(goal, history, failed)
        if not points:
            return conclude(goal, history, failed), history
        for point in points:
            assert 1 <= point[0] <= goal.max_jobs
            assert 1 <= point[1] <= goal.max_depth
            if refuse(point):
                failed.add(point)
            else:
                history.append(system.trial(point, dice, noise))
    raise AssertionError("the search does not end")


SYSTEMS = [
    pytest.param(System(16), Goal(limit_ns=5 * MS, max_jobs=1), id="knee at 16 of one connection"),
    pytest.param(System(12, cap=12e3), Goal(limit_ns=5 * MS, max_jobs=16), id="knee that is no power of two"),
    pytest.param(System(cap=40e3), Goal(limit_ns=1.5 * MS, max_jobs=16), id="plateau of the whole target"),
    pytest.param(System(1, cap=48e3), Goal(limit_ns=5 * MS), id="one I/O a connection: only jobs help"),
    pytest.param(System(24, cap=24e3), Goal(), id="no limit"),
    pytest.param(System(), Goal(max_jobs=4, max_depth=8), id="ends at the largest load allowed"),
    pytest.param(System(8, 2.0, 30e3), Goal("mean", 3 * MS, 32, 64), id="mean latency"),
]


@pytest.mark.parametrize(("system", "goal"), SYSTEMS)
@pytest.mark.parametrize("noise", [0.0, 0.003, 0.03])
def test_it_finds_nearly_all_that_the_limit_allows(system, goal, noise):
    outcome, history = search(system, goal, noise=noise)
    best = outcome.best.point
    limit = goal.limit_ns
    truth = system.optimum(goal if goal.quantity == "p99" else Goal("p99", 1.2 * limit, goal.max_jobs, goal.max_depth))
    assert system.iops(*best) >= (0.97 if noise < 0.01 else 0.90) * truth
    if limit is not None:
        slack = 1.2 if goal.quantity == "mean" else 1.0
        assert system.p99_ns(*best) <= limit * slack * (1 + 6 * noise + 0.01)
    assert len(history) < 70


def test_a_plateau_gives_its_smallest_load():
    outcome, _ = search(System(16, cap=16e3), Goal(limit_ns=20 * MS))
    assert outcome.best.outstanding in range(15, 18)
    assert outcome.limited_by == "throughput plateau"


def test_the_limit_is_named_when_more_load_would_give_more():
    # Latency grows from the first I/O on: X = N / (1 + N / 16), the limit cuts in long before the plateau.
    class Curved(System):
        def iops(self, jobs, depth):
            n = jobs * depth
            return 1000 * n / (1 + n / 64)

    goal = Goal("mean", 1.5 * MS, 16, 64)
    outcome, _ = search(Curved(), goal, noise=0.0)
    # 1 + n / 64 <= 1.5 allows 32 I/Os in flight.
    assert outcome.limited_by == "latency limit"
    assert outcome.best.outstanding in range(30, 33)
    over = [load.outstanding for load in outcome.loads if load.verdict.state == "exceeds"]
    assert outcome.best.outstanding <= 32 < min(over)


def test_no_setting_meets_an_impossible_limit():
    outcome, history = search(System(16, 10.0), Goal(limit_ns=5 * MS))
    assert outcome.best is None
    assert outcome.loads[0].verdict.state == "exceeds"
    assert outcome.limited_by == "latency limit"
    assert len(history) <= 4


def test_the_largest_load_allowed_is_named():
    outcome, _ = search(System(16), Goal(limit_ns=50 * MS, max_jobs=8, max_depth=64))
    assert outcome.best.point[0] == 8
    assert outcome.limited_by == "max jobs/depth"


def test_a_load_that_cannot_be_run_is_an_upper_bound():
    outcome, _ = search(System(4), Goal(limit_ns=50 * MS, max_jobs=64), refuse=lambda point: point[0] > 5)
    assert outcome.best.point[0] in (4, 5)
    assert outcome.limited_by == "a load that failed"


def test_a_client_that_cannot_ask_for_more_is_named():
    goal = Goal(max_jobs=2, max_depth=64)
    _, history = search(System(cap=5e3), goal)
    history = [Trial(t.point, t.iops, t.lat_mean_ns, t.lat_p99_ns, t.seconds, limited=True) for t in history]
    assert conclude(goal, history).limited_by == "client"


def test_stopped_at_any_trial_it_goes_on_to_the_same_end():
    system, goal = System(16, cap=40e3), Goal(limit_ns=5 * MS, max_jobs=8)
    _, whole = search(system, goal, noise=0.0)
    for cut in range(1, len(whole)):
        history = whole[:cut]
        while points := next_trials(goal, history):
            history += [system.trial(point, random.Random(0), 0.0) for point in points]
        assert conclude(goal, history).best.point == conclude(goal, whole).best.point


def trials(*tails, seconds=1.0):
    return [Trial((1, 1), 100.0, 1.0, tail * MS, seconds) for tail in tails]


@pytest.mark.parametrize(
    ("tails", "state", "decided"),
    [
        ((4,), "meets", False),
        ((6,), "exceeds", False),
        ((4, 4), "meets", True),  # one bad trial more would be a third
        ((6, 6), "exceeds", True),
        ((4, 6), "meets", False),
        ((4, 6, 6), "exceeds", True),
        ((4, 6, 4), "meets", True),
    ],
)
def test_loads_are_classified_by_the_share_of_time_that_exceeds(tails, state, decided):
    verdict = judge_load(trials(*tails), Goal(limit_ns=5 * MS))
    assert (verdict.state, verdict.decided) == (state, decided)


def test_longer_trials_weigh_more():
    short, long = trials(6, seconds=0.5), trials(4, seconds=2.0)
    assert judge_load(short + long + long, Goal(limit_ns=5 * MS)).state == "meets"


def test_every_load_that_was_tried_is_told():
    outcome, history = search(System(16, cap=16e3), Goal(limit_ns=5 * MS))
    assert {load.point for load in outcome.loads} == {trial.point for trial in history}


def test_a_refuted_setting_gives_way_to_the_next():
    goal = Goal(limit_ns=5 * MS, max_jobs=8)
    outcome, history = search(System(16, cap=40e3), goal)
    again = conclude(goal, history, exclude=[outcome.best.point])
    assert again.best.point != outcome.best.point
    assert again.best.verdict.state == "meets"


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
