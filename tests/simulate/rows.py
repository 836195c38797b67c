# SPDX-License-Identifier: Apache-2.0
"""I/Os one by one, where a log has a row for each: paced loads, and lanes of a timed trace."""

import heapq
import random
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ioatlas.load.fio.series import DIRECTIONS
from tests.simulate.device import Device, Load
from tests.simulate.jobs import SimulatedJob

Rows = NDArray[np.float64]
"""Shape (n, 5): completion (s since the load started), latency (s), direction (its place), bytes, offset."""

_LINE = re.compile(r"^\S+ (wait|read|write) (\d+) (\d+)$")


def paced_rows(load: Load, law_spread: float, seed: str) -> list[Rows]:
    """The I/Os of each clone of a paced job in the order of completion."""
    clones = []
    for number in range(load.job.numjobs):
        draws = np.random.default_rng([number, *seed.encode()])
        parts = []
        for way in load.job.directions:
            count = round(load.ios(way) / load.job.numjobs)
            offered = load.job.offered_iops(way)
            if not count or not offered:
                continue
            # An overloaded loop starts its I/Os when the ones before are done: later and later.
            gap = max(1 / offered, load.ran_seconds / max(1, count + 1))
            mean = load.latency_seconds(way)
            latency = mean * np.exp(draws.normal(-(law_spread**2) / 2, law_spread, count))
            done = np.arange(count) * gap + latency
            block = np.full(count, load.job.block_bytes(way))
            place = np.full(count, float(DIRECTIONS.index(way)))
            parts.append(np.column_stack([done, latency, place, block, np.zeros(count)]))
        rows = np.concatenate(parts) if parts else np.empty((0, 5))
        clones.append(rows[np.argsort(rows[:, 0], kind="stable")])
    return clones


def read_lane(path: Path) -> list[tuple[float, str, int, int]]:
    """(due in seconds since fio started, direction, offset, bytes) of every I/O of a lane."""
    found = []
    due = 0.0
    for line in path.read_text().splitlines():
        match = _LINE.match(line)
        if match is None:
            continue
        if match[1] == "wait":
            due = int(match[2]) / 1000
        else:
            found.append((due, match[1], int(match[2]), int(match[3])))
    return found


def replayed(device: Device, jobs: Sequence[SimulatedJob], directory: Path, limit: float) -> list[Rows]:
    """The I/Os of each lane, which has one in flight; the target serves one after the other, as fast as it can."""
    lanes = [read_lane(directory / job.options["read_iolog"]) for job in jobs]
    draws = random.Random(f"{device.law.seed} {jobs[0].options.get('randseed', jobs[0].name)}")
    made: list[list[tuple[float, float, float, float, float]]] = [[] for _ in lanes]
    waiting = [(lane[0][0], number, 0) for number, lane in enumerate(lanes) if lane]
    heapq.heapify(waiting)
    free = 0.0
    while waiting:
        begin, number, index = heapq.heappop(waiting)
        _, way, offset, length = lanes[number][index]
        target = device.law.way(jobs[number], way)
        served = max(begin, free)
        free = served + target.cost_seconds(length)
        done = served + target.seconds(length) * draws.lognormvariate(0.0, device.law.spread)
        if done > limit:
            continue
        made[number].append((done, done - begin, float(DIRECTIONS.index(way)), float(length), float(offset)))
        if index + 1 < len(lanes[number]):
            heapq.heappush(waiting, (max(lanes[number][index + 1][0], done), number, index + 1))
    return [np.array(rows).reshape(-1, 5) for rows in made]
