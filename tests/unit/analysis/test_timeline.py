# SPDX-License-Identifier: Apache-2.0
"""A target over time: levels, steps, what differs at a step, and how often a quiet target alarms."""

from dataclasses import replace

import numpy as np
import pytest

from ioatlas.analysis.compare import Reading
from ioatlas.analysis.timeline import Moment, follow, story

CELLS = ("4k", "64k", "1m")
DAY = 86_400.0


def campaign(day, level=0.0, writes=None, seed=0, cells=CELLS, noise=0.02, between=0.01, **facts):
    draws = np.random.default_rng([day, seed])
    shared = draws.normal(0, between)
    readings = {"read": [], "write": [], "all": []}
    for direction, moved in (("read", level), ("write", writes)):
        if moved is None:
            continue
        for index, cell in enumerate(cells):
            rows = [
                Reading(f"{cell}/{direction}", 1e8 * (index + 1) * np.exp(moved + shared + draws.normal(0, noise)), day)
                for _ in range(3)
            ]
            readings[direction] += rows
            readings["all"] += rows
    return Moment(f"day {day}", day * DAY, readings, {"fio": "3.33", **facts})


def test_a_step_is_found_with_its_size_and_what_changed_there():
    moments = [campaign(day, firmware="1.1") for day in range(6)]
    moments += [campaign(day, level=np.log(0.8), firmware="1.2") for day in range(6, 10)]
    (timeline,) = follow(moments)
    (change,) = timeline.changes
    assert change.at == 6
    assert change.low < 0.8 < change.high
    assert change.differs == ("firmware: 1.1, then 1.2",)
    assert timeline.verdict == "worse"
    assert follow(moments, higher_is_better=False)[0].verdict == "better"
    assert timeline.points[0].ratio == 1.0
    assert timeline.points[9].ratio == pytest.approx(0.8, rel=0.05)
    assert timeline.sd == pytest.approx(0.015, abs=0.012)


def test_an_old_step_is_no_news():
    moments = [campaign(day, level=0.0 if day < 6 else -0.3) for day in range(20)]
    (timeline,) = follow(moments, recent=5)
    assert [change.at for change in timeline.changes] == [6]
    assert timeline.verdict == "unchanged"
    assert follow(moments, recent=14)[0].verdict == "worse"


def test_a_step_among_campaigns_of_one_day_has_a_time():
    moments = [campaign(day, level=0.0 if day < 6 else -0.3) for day in range(10)]
    assert "on 1970-01-07." in story(follow(moments))[0]
    hourly = [replace(each, time=each.time / 24) for each in moments]
    assert "on 1970-01-01 06:00 UTC." in story(follow(hourly))[0]


def test_a_step_of_writes_alone_is_told_of_writes():
    moments = [campaign(day, writes=0.0 if day < 7 else -0.5) for day in range(12)]
    found = {timeline.part: timeline for timeline in follow(moments)}
    assert found["write"].verdict == "worse"
    assert found["read"].verdict == "unchanged"
    assert found["read"].false_alarms == pytest.approx(0.01 / 3)


def test_order_is_by_time_and_campaigns_without_a_common_cell_are_left_out():
    moments = [campaign(day) for day in (3, 1, 2, 4)] + [campaign(0, cells=("2k",))]
    (timeline,) = follow(moments)
    assert [point.name for point in timeline.points] == ["day 1", "day 2", "day 3", "day 4"]
    assert timeline.left_out == ("day 0",)


def test_campaigns_that_share_cells_only_by_way_of_others_are_followed():
    moments = [campaign(1, cells=("4k", "64k")), campaign(2, cells=("64k", "1m")), campaign(3, cells=("1m",))]
    (timeline,) = follow(moments)
    assert len(timeline.points) == 3
    assert timeline.verdict == "too few"


def test_few_campaigns_give_levels_and_no_verdict():
    (timeline,) = follow([campaign(1), campaign(2, level=-0.5)])
    assert timeline.verdict == "too few"
    assert timeline.points[1].ratio == pytest.approx(0.6, rel=0.1)
    assert timeline.smallest is None
    assert follow([campaign(1)])[0].points[0].ratio == 1.0


def test_a_change_within_the_tolerance_is_none():
    moments = [campaign(day, level=0.0 if day < 8 else 0.05, noise=0.001, between=0.001) for day in range(12)]
    assert follow(moments)[0].verdict == "better"
    assert follow(moments, tolerance=0.1)[0].verdict == "unchanged"


def test_a_quiet_target_alarms_as_seldom_as_told():
    alarms = 0
    for seed in range(150):
        moments = [campaign(day, writes=0.0, seed=seed, between=0.05) for day in range(9)]
        alarms += any(timeline.changes for timeline in follow(moments, false_alarms=0.05, tolerance=0.0))
    assert alarms <= 0.05 * 150 + 3 * 2.7


def test_the_smallest_drop_that_would_be_seen_is_told():
    noisy = follow([campaign(day, between=0.1) for day in range(8)])[0]
    quiet = follow([campaign(day, between=0.005) for day in range(8)])[0]
    assert 0 < quiet.smallest < 0.1 < noisy.smallest < 1
