# SPDX-License-Identifier: Apache-2.0
"""Where the cliffs are, which way the footprint goes, and how axes of every kind are placed."""

import sys
from pathlib import Path

import numpy as np
import pytest

from ioatlas.errors import UsageError
from ioatlas.surrogate.cliffs import find_edges as find_edges_on_all_threads
from ioatlas.surrogate.cliffs import regimes, undecided
from ioatlas.surrogate.explain import explain
from ioatlas.surrogate.law import Edge
from ioatlas.surrogate.noise import measure_noise
from ioatlas.surrogate.space import Space
from ioatlas.surrogate.surrogate import Training, fit
from ioatlas.surrogate.threads import one_thread

sys.path.insert(0, str(Path(__file__).parents[3] / "bench/adaptive"))
import surfaces

find_edges = one_thread(find_edges_on_all_threads)
AXES = ("rw", "bs_bytes", "size_bytes", "numjobs")


def tables(rows):
    first = [row for row in rows if row["pass"] == 1]
    space = Space.of([{a: row[a] for a in AXES} for row in first])
    return space, np.log([row["iops"] for row in first])


@pytest.mark.parametrize("private", [True, False])
def test_a_cache_edge_is_found_where_it_is_on_the_right_coordinate(private):
    space, log_iops = tables(surfaces.array(0, private=private))
    cells = np.random.default_rng(1).choice(len(space), 120, replace=False)
    _, edges = find_edges(space, Training.of(space, {int(c): [log_iops[c]] for c in cells}))
    read = sorted((e for e in edges if e.direction == "read" and not e.axis), key=lambda e: -e.drop)
    assert read[0].exponent == int(private)
    assert read[0].high <= 2.01 * read[0].low
    assert read[0].low <= 48 * surfaces.MIB <= read[0].high


def test_a_noisy_map_without_cliffs_gets_none():
    rows = surfaces.disk(2)
    space, log_iops = tables(rows)
    cells = np.random.default_rng(2).choice(len(space), 60, replace=False)
    _, edges = find_edges(space, Training.of(space, {int(c): [log_iops[c]] for c in cells}))
    assert not [e for e in edges if not e.axis]


def behind_a_cache(fetched: int):
    """Reads of 4 KiB to 1 MiB: hits take 20 us, misses 1 ms for each `fetched` bytes, which reads in order share; 64 MiB of cache."""
    points = [
        {"rw": rw, "bs_bytes": 4 * surfaces.KIB << b, "size_bytes": 8 * surfaces.MIB << s, "numjobs": jobs}
        for rw in ("read", "randread")
        for b in range(9)
        for s in range(8)
        for jobs in (1, 2, 4)
    ]
    log_iops = []
    for point in points:
        bs, size = point["bs_bytes"], point["size_bytes"]
        missed = max(0.0, 1 - 64 * surfaces.MIB / size)
        fetches = bs / fetched if point["rw"] == "read" else max(1.0, bs / fetched)
        log_iops.append(np.log(point["numjobs"] / (20e-6 + bs / 2e9 + 1e-3 * missed * fetches)))
    return Space.of(points), np.array(log_iops)


@pytest.mark.parametrize("fetched", [32 * surfaces.KIB, 64 * surfaces.KIB])
def test_what_a_miss_fetches_at_a_time_is_told(fetched):
    space, log_iops = behind_a_cache(fetched)
    cells = np.random.default_rng(3).choice(len(space), 60, replace=False)
    model, edges = find_edges(space, Training.of(space, {int(c): [log_iops[c]] for c in cells}))
    assert any(edge.granular for edge in edges)
    (granule,) = [p for p in explain(model) if p.name == "what a miss behind it fetches at a time"]
    assert granule.known
    assert granule.value == pytest.approx(fetched, rel=0.7)


def test_misses_that_share_nothing_have_no_granule():
    """Reads in order that pay each miss in full, as random ones do."""
    space, log_iops = behind_a_cache(64 * surfaces.KIB)
    random_ones = {tuple(p[a] for a in AXES[1:]): v for p, v in zip(space.points, log_iops, strict=True) if p["rw"] == "randread"}
    same = np.array([random_ones[tuple(p[a] for a in AXES[1:])] for p in space.points])
    cells = np.random.default_rng(3).choice(len(space), 60, replace=False)
    _, edges = find_edges(space, Training.of(space, {int(c): [same[c]] for c in cells}))
    assert edges
    assert not any(edge.granular for edge in edges)


def trained(log_iops_of, count: int, seed: int):
    """A model of so many random cells of a queue grid, and its errors on the others; log_iops_of: of a cell's rw, block, jobs and depth."""
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
    model, _ = find_edges(space, Training.of(space, {int(c): [log_iops[c] + rng.normal(0, 0.01)] for c in cells}))
    rest = np.setdiff1d(np.arange(len(space)), cells)
    return model, np.abs(np.expm1(model.predict(rest).mean - log_iops[rest]))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_queue_for_each_job_is_told_from_one_for_all(seed):
    """Two I/Os at a time, 5 ms each: for each job, or for all of them."""
    own, missed = trained(lambda rw, bs, jobs, depth: jobs * min(depth, 2) / 5e-3, 24, seed)
    assert "own queues" in own.traits
    assert np.median(missed) < 0.05
    (ceiling,) = [p for p in explain(own) if p.name == "ceiling in I/Os, of each job" and p.mode == "randread"]
    assert ceiling.low <= 2 / 5e-3 * 1.1
    assert "modes apart" not in own.traits
    (growth,) = [p for p in explain(own) if p.name == "limits in I/Os with two jobs, times those with one"]
    assert growth.low <= 2.0 <= growth.high
    shared, _ = trained(lambda rw, bs, jobs, depth: min(jobs * depth, 2) / 5e-3, 24, seed)
    assert "own queues" not in shared.traits


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_bandwidth_for_each_job_is_told_from_one_for_all(seed):
    own, _ = trained(lambda rw, bs, jobs, depth: min(jobs * depth / 1e-4, jobs * 30e6 / bs), 24, seed)
    shared, _ = trained(lambda rw, bs, jobs, depth: min(jobs * depth / 1e-4, 30e6 / bs), 24, seed)
    assert "own bandwidth" in own.traits
    assert "own bandwidth" not in shared.traits


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_pieces_are_told_from_a_time_that_grows_with_every_byte(seed):
    """Writes one at a time, 1 ms for each 64 KiB begun; or 1 ms and another one for every 64 KiB."""
    piece = 64 * surfaces.KIB

    def iops(rw, bs, jobs, depth, *, cut):
        reads = min(jobs * depth, 8) / (100e-6 + bs / 2e9)
        return reads if rw == "randread" else 1 / (1e-3 * (max(1.0, bs / piece) if cut else 1 + bs / piece))

    cut, _ = trained(lambda *cell: iops(*cell, cut=True), 40, seed)
    assert "pieces write" in cut.traits
    (told,) = [p for p in explain(cut) if p.name == "I/Os are served in pieces of" and p.mode == "randwrite"]
    assert told.low <= piece <= told.high
    assert told.value == pytest.approx(piece, rel=0.3)
    grown, _ = trained(lambda *cell: iops(*cell, cut=False), 40, seed)
    assert not [trait for trait in grown.traits if trait.startswith("pieces")]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_modes_far_apart_are_told_each_by_its_own_parameters(seed):
    """Reads that a cache serves in 20 us, 16 at a time; writes one at a time, 4 ms each."""
    model, missed = trained(lambda rw, bs, jobs, depth: min(jobs * depth, 16) / 20e-6 if rw == "randread" else 1 / 4e-3, 24, seed)
    assert "modes apart" in model.traits
    found = {(p.name, p.mode): p for p in explain(model)}
    assert found["fixed time of an I/O", "randread"].value == pytest.approx(20e-6, rel=0.3)
    assert found["fixed time of an I/O", "randwrite"].value == pytest.approx(4e-3, rel=0.3)
    assert np.median(missed) < 0.05


@pytest.mark.parametrize("seed", [1, 2])
def test_jumps_that_only_together_explain_the_readings_are_found(seed):
    """Both cache edges and the penalty of small writes from 41 cells: any one of them alone leaves the map as rough as before."""
    rows = surfaces.array(4, sizes=6, blocks=9, jobs=4)
    space, first = tables(rows)
    again = {tuple(row[a] for a in AXES): row["iops"] for row in rows if row["pass"] == 2}
    second = np.log([again[tuple(point[a] for a in AXES)] for point in space.points])
    small = np.array([point["rw"] == "write" and point["bs_bytes"] == 4096 for point in space.points])
    rng = np.random.default_rng(seed)
    cells = [*rng.choice(np.flatnonzero(~small), 40, replace=False), rng.choice(np.flatnonzero(small))]
    model, edges = find_edges(space, Training.of(space, {int(c): [first[c], second[c]] for c in cells}))
    found = {(edge.axis or "footprint", edge.direction): edge for edge in edges}
    assert found["footprint", "read"].low <= 48 * surfaces.MIB <= found["footprint", "read"].high
    assert found["footprint", "write"].low <= 12 * surfaces.MIB <= found["footprint", "write"].high
    (penalty,) = [parameter for parameter in explain(model) if parameter.name.startswith("time of the smallest writes")]
    assert not [p for p in explain(model) if p.known and "two jobs" in p.name]
    assert penalty.known
    assert penalty.low <= 2.5 <= penalty.high


def test_nothing_of_the_residual_crosses_an_edge():
    space, log_iops = tables(surfaces.array(1))
    edge = Edge(32 * surfaces.MIB, 64 * surfaces.MIB, 1, "read", 3.0)
    code = regimes(space, (edge,))
    assert code is not None
    cells = np.random.default_rng(3).choice(len(space), 80, replace=False)
    model = fit(space, Training.of(space, {int(c): [log_iops[c]] for c in cells}), edges=(edge,), separate=code)
    covariance = model.kernel.covariance(model.hyper, np.arange(200), np.arange(200))
    assert np.all(covariance[code[:200][:, None] != code[:200][None, :]] == 0)


def test_cells_inside_a_wide_bracket_are_undecided():
    space, _ = tables(surfaces.array(1))
    inside = undecided(space, Edge(8 * surfaces.MIB, 64 * surfaces.MIB, 0, "read"))
    assert {space.points[c]["size_bytes"] for c in inside} == {16 * surfaces.MIB, 32 * surfaces.MIB}
    assert {space.points[c]["rw"] for c in inside} == {"read"}


def test_axes_are_placed_by_their_spacing():
    space = Space.of([{"bs": b, "rwmixread": m, "engine": e} for b in (4096, 8192, 65536) for m in (0, 25, 50, 75, 100) for e in ("x", "y")])
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
    assert measure_noise([visits]).sd == pytest.approx(0.1, rel=0.3)
    assert measure_noise([]).pairs == 0


def test_quiet_writes_beside_noisy_reads_keep_a_noise_of_their_own():
    rng = np.random.default_rng(5)
    quiet, noisy = [[[0.0, float(gap)] for gap in rng.normal(0, sd * np.sqrt(2), 6)] for sd in (0.02, 0.25)]
    noise = measure_noise([quiet, noisy, []])
    assert noise.var_of_mode[0] ** 0.5 < 0.06
    assert noise.var_of_mode[1] ** 0.5 > 0.15
    # A mode without a second visit is taken for what the others are together.
    assert noise.var_of_mode[2] ** 0.5 == pytest.approx(noise.sd, rel=0.01)


def test_modes_alike_share_one_noise():
    """Of 200 maps with four modes of one noise, the modes' own estimates stray less from the truth than each alone would."""
    rng = np.random.default_rng(6)
    shared, alone = [], []
    for _ in range(200):
        visits = [[[0.0, float(gap)] for gap in rng.normal(0, 0.1 * np.sqrt(2), 3)] for _ in range(4)]
        shared.append(np.log(np.sqrt(measure_noise(visits).var_of_mode) / 0.1))
        alone.append([np.log(measure_noise([mode]).sd / 0.1) for mode in visits])
    assert np.sqrt(np.mean(np.square(shared))) < 0.8 * np.sqrt(np.mean(np.square(alone)))
