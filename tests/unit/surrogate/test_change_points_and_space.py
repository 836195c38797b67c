# SPDX-License-Identifier: Apache-2.0
"""Where the cliffs are, which way the footprint goes, and how axes of every kind are placed."""

import sys
from pathlib import Path

import numpy as np
import pytest

from ioatlas.errors import UsageError
from ioatlas.model.map_model import ChangePoint
from ioatlas.surrogate.change_points import find_change_points as find_on_all_threads
from ioatlas.surrogate.change_points import regimes, undecided
from ioatlas.surrogate.gp import one_thread
from ioatlas.surrogate.law import Variant
from ioatlas.surrogate.space import Space
from ioatlas.surrogate.surrogate import Training, fit, measure_noise

sys.path.insert(0, str(Path(__file__).parents[3] / "bench/adaptive"))
import surfaces

find_change_points = one_thread(find_on_all_threads)
AXES = ("rw", "bs_bytes", "size_bytes", "numjobs")


def tables(rows):
    first = [row for row in rows if row["pass"] == 1]
    space = Space.of([{a: row[a] for a in AXES} for row in first])
    return space, np.log([row["iops"] for row in first])


@pytest.mark.parametrize("private", [True, False])
def test_a_cache_edge_is_found_where_it_is_on_the_right_coordinate(private):
    space, log_iops = tables(surfaces.array(0, private=private))
    cells = np.random.default_rng(1).choice(len(space), 120, replace=False)
    model = find_change_points(space, Training.of({int(c): [log_iops[c]] for c in cells}))
    read = sorted((e for e in model.change_points if e.direction == "read" and not e.axis), key=lambda e: -e.drop)
    assert read[0].exponent == int(private)
    assert read[0].high <= 2.01 * read[0].low
    assert read[0].low <= 48 * surfaces.MIB <= read[0].high


def test_a_noisy_map_without_cliffs_gets_none():
    rows = surfaces.disk(2)
    space, log_iops = tables(rows)
    cells = np.random.default_rng(2).choice(len(space), 60, replace=False)
    model = find_change_points(space, Training.of({int(c): [log_iops[c]] for c in cells}))
    assert not [e for e in model.change_points if not e.axis]


def trained(log_iops_of, count: int, seed: int):
    """A model of so many random cells of a queue grid, and its errors on the others; log_iops_of: of a cell's rw,
    block, jobs and depth.
    """
    points = [
        {"rw": rw, "bs_bytes": 4 * surfaces.KIB << b, "numjobs": jobs, "iodepth": depth}
        for rw in ("randread", "randwrite")
        for b in range(8)
        for jobs in (1, 2, 4, 8)
        for depth in (1, 2, 4, 8)
    ]
    space = Space.of(points)
    log_iops = np.log([log_iops_of(*point.values()) for point in points])
    rng = np.random.default_rng(seed)
    cells = rng.choice(len(space), count, replace=False)
    model = find_change_points(space, Training.of({int(c): [log_iops[c] + rng.normal(0, 0.01)] for c in cells}))
    rest = np.setdiff1d(np.arange(len(space)), cells)
    return model, np.abs(np.expm1(model.predict(rest).mean - log_iops[rest]))


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("cut", [True, False])
def test_ios_served_in_pieces_are_foretold(seed, cut):
    """Writes one at a time, 1 ms for each 64 KiB begun; or 1 ms and another one for every 64 KiB."""
    piece = 64 * surfaces.KIB

    def iops(rw, bs, jobs, depth):
        reads = min(jobs * depth, 8) / (100e-6 + bs / 2e9)
        return reads if rw == "randread" else 1 / (1e-3 * (max(1.0, bs / piece) if cut else 1 + bs / piece))

    _, missed = trained(iops, 40, seed)
    assert np.median(missed) < 0.05


def test_modes_alike_are_not_told_apart():
    own, _ = trained(lambda rw, bs, jobs, depth: jobs * min(depth, 2) / 5e-3, 24, 1)
    assert Variant.MODES_APART not in own.variants


def test_nothing_of_the_residual_crosses_an_edge():
    space, log_iops = tables(surfaces.array(1))
    edge = ChangePoint(32 * surfaces.MIB, 64 * surfaces.MIB, 1, "read", 3.0)
    code = regimes(space, (edge,))
    assert code is not None
    cells = np.random.default_rng(3).choice(len(space), 80, replace=False)
    model = fit(space, Training.of({int(c): [log_iops[c]] for c in cells}), change_points=(edge,), separate=code)
    covariance = model.kernel.covariance(model.hyper, np.arange(200), np.arange(200))
    assert np.all(covariance[code[:200][:, None] != code[:200][None, :]] == 0)


def test_cells_inside_a_wide_bracket_are_undecided():
    space, _ = tables(surfaces.array(1))
    inside = undecided(space, ChangePoint(8 * surfaces.MIB, 64 * surfaces.MIB, 0, "read"))
    assert {space.points[c]["size_bytes"] for c in inside} == {16 * surfaces.MIB, 32 * surfaces.MIB}
    assert {space.points[c]["rw"] for c in inside} == {"read"}


def test_axes_are_placed_by_their_spacing():
    space = Space.of(
        [
            {"bs": b, "rwmixread": m, "engine": e}
            for b in (4096, 8192, 65536)
            for m in (0, 25, 50, 75, 100)
            for e in ("x", "y")
        ]
    )
    axes = {axis.name: axis for axis in space.axes}
    assert axes["rwmixread"].place.tolist() == [0, 0.25, 0.5, 0.75, 1]
    assert axes["bs"].place.tolist() == [0, 0.25, 1]
    assert not axes["engine"].numeric


def test_gaps_in_a_numeric_axis_are_a_level():
    space = Space.of([{"iodepth": d, "engine": e} for d in (None, 1, 2, 4) for e in ("psync", "libaio")])
    assert [a.name for a in space.axes] == ["engine", "iodepth", "iodepth given"]


def test_two_equal_cells_are_refused():
    with pytest.raises(UsageError, match="same value"):
        Space.of([{"bs": 1}, {"bs": 1}, {"bs": 2}])


def test_noise_is_measured_robustly():
    rng = np.random.default_rng(4)
    visits = [list(rng.normal(0, 0.1, 2)) for _ in range(60)]
    visits[0][1] -= 2
    assert measure_noise(visits).sd == pytest.approx(0.1, rel=0.3)
    assert measure_noise([]).pairs == 0
