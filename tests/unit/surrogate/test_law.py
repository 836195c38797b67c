# SPDX-License-Identifier: Apache-2.0
"""The mechanistic law: exact derivatives, limits everyone can check by hand, parameters found back from readings."""

import numpy as np
import pytest

from ioatlas.model.map_model import ChangePoint
from ioatlas.surrogate.change_points import find_change_points
from ioatlas.surrogate.law import Law
from ioatlas.surrogate.space import Space
from ioatlas.surrogate.surrogate import Training, fit

KIB, MIB = 1 << 10, 1 << 20


def grid(**axes):
    names = list(axes)
    shape = np.meshgrid(*[np.arange(len(axes[n])) for n in names], indexing="ij")
    return Space.of(
        [
            {n: axes[n][int(i)] for n, i in zip(names, row, strict=True)}
            for row in np.stack([s.ravel() for s in shape], axis=1)
        ]
    )


SPACE = grid(
    rw=["read", "write"],
    bs_bytes=[4 * KIB << b for b in range(7)],
    size_bytes=[MIB << s for s in range(6)],
    numjobs=[1, 2, 4, 8, 16],
)


def queue(space, service_s, stream, servers, link):
    """Closed queue with finite servers and a link, exact minimum of the bounds."""
    time = service_s + space.block_bytes / stream
    return np.minimum(np.minimum(space.outstanding, servers) / time, link / space.block_bytes)


def test_derivatives_are_those_of_the_function():
    rng = np.random.default_rng(1)
    rows = rng.choice(len(SPACE), 50, replace=False)
    points = (
        ChangePoint(4 * MIB, 8 * MIB, 1, "read", 3.0),
        ChangePoint(16 * MIB, 32 * MIB, 0, "write", 2.0),
        ChangePoint(8 * KIB, 16 * KIB, 0, "write", 0.5, "bs_bytes"),
    )
    law = Law(SPACE, rows, np.log(queue(SPACE, 1e-4, 1e9, 8, 1e9))[rows], points)
    theta = law.prior_mean + 0.2 * rng.standard_normal(len(law.prior_mean))
    _, slope = law.jacobian(theta, rows)
    for k in range(len(theta)):
        step = np.zeros(len(theta))
        step[k] = 1e-5
        numeric = (law.predict(theta + step, rows) - law.predict(theta - step, rows)) / 2e-5
        assert np.allclose(numeric, slope[:, k], atol=1e-6), k


@pytest.mark.parametrize("slower", [2.5, 1.0])
def test_small_writes_that_take_longer_are_told_from_two_of_them(slower):
    iops = queue(SPACE, 200e-6, 500e6, 8, 1.2e9)
    small = np.array([p["rw"] == "write" and p["bs_bytes"] == 4096 for p in SPACE.points])
    iops[small] /= slower
    rng = np.random.default_rng(3)
    cells = [
        *rng.choice(np.flatnonzero(~small), 38, replace=False),
        *rng.choice(np.flatnonzero(small), 2, replace=False),
    ]
    readings = {int(c): [float(np.log(iops[c]) + rng.normal(0, 0.02)) for _ in range(2)] for c in cells}
    model = find_change_points(SPACE, Training.of(readings))
    steps = [point for point in model.change_points if point.axis == "bs_bytes"]
    assert len(steps) == (slower > 1)
    assert all(point.high == 8 * KIB for point in steps)
    rest = np.setdiff1d(np.flatnonzero(small), cells)
    assert np.median(np.abs(np.expm1(model.predict(rest).mean - np.log(iops[rest])))) < 0.1


def test_without_block_size_or_jobs_the_law_still_predicts():
    for axes in (
        {"numjobs": [1, 2, 4, 8, 16, 32, 64], "engine": ["a", "b"]},
        {"bs_bytes": [4096 << b for b in range(10)], "engine": ["a", "b"]},
        {"x": list(range(20))},
    ):
        space = grid(**axes)
        iops = queue(space, 1e-4, 1e9, 8, 2e9)
        readings = {c: [float(np.log(iops[c]))] for c in range(0, len(space), 2)}
        model = fit(space, Training.of(readings))
        rest = np.arange(1, len(space), 2)
        assert np.median(np.abs(np.expm1(model.predict(rest).mean - np.log(iops[rest])))) < 0.1


def test_a_stalled_reading_does_not_bend_the_map():
    iops = queue(SPACE, 200e-6, 500e6, 8, 1.2e9)
    rng = np.random.default_rng(5)
    cells = rng.choice(len(SPACE), 60, replace=False)
    readings = {int(c): [float(np.log(iops[c]) + rng.normal(0, 0.02))] for c in cells}
    rest = np.setdiff1d(np.arange(len(SPACE)), cells)

    def error():
        return np.abs(np.expm1(fit(SPACE, Training.of(readings)).predict(rest).mean - np.log(iops[rest])))

    clean = error()
    for c in cells[:3]:
        readings[int(c)][0] += np.log(0.3)
    stalled = error()
    assert np.median(stalled) < 0.05
    assert np.quantile(stalled, 0.9) < np.quantile(clean, 0.9) + 0.1
