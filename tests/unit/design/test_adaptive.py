# SPDX-License-Identifier: Apache-2.0
"""The adaptive design on surfaces of known truth: what it measures, what it says, how near it comes.

How near it comes takes whole maps of hundreds of fits, seconds for each: long, as only design and surrogate move it.
"""

import sys
from pathlib import Path

import numpy as np
import pytest

from ioatlas.design import adaptive
from ioatlas.design.acquire import spread_out
from ioatlas.design.adaptive import AdaptiveDesign, Settings, predicted_map
from ioatlas.design.holdout import Pick, quantile, state, width_factor
from ioatlas.design.regimes import weak_regimes
from ioatlas.errors import UsageError
from ioatlas.model.visit import DesignPurpose

sys.path.insert(0, str(Path(__file__).parents[3] / "bench/adaptive"))
import histories
import surfaces
from recording import read_recording
from replay import read_pass, replay, sweep_of


def sweep(rows):
    columns = list(rows[0])
    text = "\n".join([",".join(columns), *(",".join(str(row[c]) for c in columns) for row in rows)])
    return sweep_of(read_recording(text))


def run(s, **settings):
    design = AdaptiveDesign(s.space, Settings(**settings))
    history = []
    for readings in batches(s, design):
        history += readings
    return design, history


def batches(s, design):
    """The readings of one batch after the other."""
    history = []
    while batch := design.next_batch(history):
        made = read_pass(s, history, batch)
        history += made
        yield made


CELLS = 48


@pytest.fixture(scope="module")
def array():
    return sweep(surfaces.array(1))


@pytest.fixture(scope="module")
def whole(array):
    """One cell in twenty, judged."""
    return replay(array, Settings(cells=96, seed=3))


@pytest.fixture(scope="module")
def done(array):
    """A whole map of CELLS."""
    return run(array, cells=CELLS, seed=3)


@pytest.fixture(scope="module")
def small(array):
    return run(array, cells=24, seed=1)[1]


@pytest.fixture(scope="module")
def noisy():
    """A noisy disk, and a map of some of its cells, judged."""
    s = sweep(surfaces.disk(1))
    return s, replay(s, Settings(cells=43, seed=1))


def test_budget_shares_and_levels(array, done):
    _, history = done
    cells = {r.request.cell for r in history}
    assert len(cells) == CELLS
    honest = [r for r in history if r.request.purpose is DesignPurpose.HOLD_OUT]
    assert 0.2 * CELLS <= len(honest) <= CELLS / 3
    for number in array.space.own_axes:
        assert len(set(array.space.index[list(cells), number])) == len(array.space.axes[number].levels)
    assert max(np.bincount([r.request.cell for r in history])) <= 2


def test_honesty_picks_are_random_and_predicted_before_their_first_visit(done):
    _, history = done
    seen = set()
    for reading in history:
        if reading.request.purpose is DesignPurpose.HOLD_OUT:
            assert reading.request.cell not in seen
            assert reading.request.log_predicted is not None
        seen.add(reading.request.cell)


def test_the_cliff_pass_comes_first(done):
    _, history = done
    purposes = [r.request.purpose for r in history]
    first = purposes.index("start")
    assert set(purposes[:first]) == {"cliff"}
    assert first <= round(0.2 * CELLS)


def test_same_seed_same_history_and_another_seed_another(array, small):
    """A history follows from its seed: what comes after a model too, as of designs that were asked otherwise."""

    def begun(seed):
        design, asked = AdaptiveDesign(array.space, Settings(cells=24, seed=seed)), []
        for readings in batches(array, design):
            if readings[0].request.purpose not in ("cliff", "start"):
                return asked
            asked += [r.request.cell for r in readings]
        raise AssertionError

    first = begun(1)
    assert first == [r.request.cell for r in small][: len(first)] != begun(4)[: len(first)]


@pytest.mark.parametrize("number", range(4))
def test_a_fresh_design_asks_for_what_one_that_saw_every_batch_asks_for(number, monkeypatch):
    if number % 2:
        # As on large maps: searches at some numbers of cells, other batches with what the last one found.
        monkeypatch.setattr(adaptive, "SEARCHED_EACH_TIME", 8)
        monkeypatch.setattr(adaptive, "SEARCH_GROWTH", 1.5)
    warm, cold = histories.warm_and_cold(list(histories.SMALL), number, 24)
    assert warm == cold


def test_the_next_batch_does_not_depend_on_what_a_design_was_asked_before(array, done):
    _, history = done
    settings = Settings(cells=CELLS, seed=3)
    fresh, other = AdaptiveDesign(array.space, settings), AdaptiveDesign(array.space, settings)
    other.next_batch(history[:40])
    other.final_model(history)
    other.next_batch(history[:24])
    assert other.next_batch(history[:32]) == fresh.next_batch(history[:32]) != []


@pytest.mark.long("design", "surrogate")
def test_five_per_cent_of_the_cells_give_the_map(array, whole):
    found = [whole, replay(array, Settings(cells=95, seed=0))]
    assert np.mean([o.median_error for o in found]) <= 0.05
    assert np.mean([o.p90_error for o in found]) <= 0.15
    assert 0.8 <= np.mean([o.interval_cover for o in found]) <= 1.0


@pytest.mark.long("design", "surrogate")
def test_a_noisy_disk_is_smoothed_below_its_floor(noisy):
    s, o = noisy
    floor, floor_p90 = s.noise()
    assert o.median_error <= 1.2 * floor
    assert o.p90_error <= 2 * floor_p90


@pytest.mark.long("design", "surrogate")
def test_any_axes(array):
    s = sweep(surfaces.modes(0))
    o = replay(s, Settings(cells=73, seed=1))
    assert o.median_error <= 0.1
    assert {a.name for a in s.space.axes} >= {"engine", "target", "rwmixread", "bs_bytes", "iodepth"}


@pytest.mark.long("design", "surrogate")
def test_it_stops_at_the_stated_error(array):
    design, history = run(array, cells=200, error=0.08, seed=1)
    stated = design.stated_error(history, design.model(history))
    assert stated.median <= 0.08
    assert len({r.request.cell for r in history}) < 200


@pytest.mark.long("design", "surrogate")
def test_without_a_number_of_cells_the_share_of_honesty_holds(array):
    design, history = run(array, error=0.05, seed=2)
    assert design.stated_error(history, design.model(history)).median <= 0.05
    chosen = [r.request.purpose for r in history if r.request.purpose in ("learn", "honesty")]
    assert 0.15 <= chosen.count("honesty") / len(chosen) <= 0.4


def test_failed_visits_are_survived(array):
    design = AdaptiveDesign(array.space, Settings(cells=24, seed=1))
    history = []
    while batch := design.next_batch(history):
        made = read_pass(array, history, batch)
        history += [type(r)(r.request, None) if i % 3 == 0 else r for i, r in enumerate(made)]
    model = design.final_model(history)
    assert np.all(np.isfinite(model.predict(np.arange(len(array.space))).mean))


def test_cost_moves_the_choice_to_cheap_cells(array, small):
    slow = array.space.numjobs >= 16
    cost = np.where(slow, 50.0, 1.0)
    paid = run(array, cells=24, seed=1, cost=lambda _: cost)[1]

    def share(history):
        learn = [r.request.cell for r in history if r.request.purpose is DesignPurpose.LEARN]
        return np.mean(slow[learn])

    assert share(paid) < share(small)


def test_every_cell_has_an_interval(array, done):
    design, history = done
    logs, halves = predicted_map(design, history, design.final_model(history))
    assert logs.shape == halves.shape == (len(array.space),)
    assert np.all(halves > 0)


@pytest.mark.long("design", "surrogate")
def test_a_surprise_is_measured_again():
    s = sweep(surfaces.disk(3, 0.02, 2, notch=6.0))
    _, history = run(s, cells=96, seed=1)
    asked = [r.request.cell for r in history]
    again = [r.request.cell for r in history if r.request.purpose is DesignPurpose.SURPRISE]
    assert again
    assert all(asked.count(cell) == 2 for cell in again)


def test_more_cells_than_there_are_is_refused(array):
    with pytest.raises(UsageError, match="cells"):
        AdaptiveDesign(array.space, Settings(cells=10**6))


def test_stated_error_of_known_picks():
    rng = np.random.default_rng(1)
    held = {0.5: 0, 0.9: 0}
    for _ in range(300):
        z = rng.normal(0, 0.1, 25)
        s = state([Pick(i, float(v), 0.1, 1.645, 0.0) for i, v in enumerate(z)])
        held[0.5] += s.median_low <= 0.0675 <= s.median_high
        held[0.9] += s.p90_low <= 0.1645 <= s.p90_high * 1.1
    assert held[0.5] >= 0.93 * 300
    assert held[0.9] >= 0.90 * 300
    assert state([]).median is None


def test_the_error_of_a_pick_lies_between_what_it_was_and_what_it_is():
    then, now = 0.3, 0.1
    pick = Pick(0, float(np.log1p(then)), 0.1, 1.645, 0.0, float(np.log1p(-now)), 0.5)
    assert pick.error == pytest.approx(0.5 * np.sqrt(then * now))
    assert state([pick] * 5).median_low <= pick.error <= state([pick] * 5).median_high


@pytest.mark.long("design", "surrogate")
def test_the_error_of_more_readings_is_smaller_where_noise_is_all_of_it(noisy):
    s, o = noisy
    design, history = AdaptiveDesign(s.space, Settings(cells=43, seed=1)), list(o.history)
    model = design.final_model(history)
    one, two, many = (design.stated_error(history, model, readings).median for readings in (1, 2, 100))
    assert many < two < one < 1.5 * two
    assert two == pytest.approx(design.stated_error(history, model).median)


@pytest.mark.long("design", "surrogate")
def test_where_noise_is_large_the_cells_of_a_small_map_are_read_twice(noisy, small):
    s, _ = noisy
    twice = run(s, cells=24, seed=1)[1]
    assert set(np.bincount([r.request.cell for r in twice])) == {0, 2}
    large = run(s, cells=96, seed=1)[1]
    assert 0 < sum(r.request.purpose is DesignPurpose.CLOSING for r in large) <= 16
    assert 1 in np.bincount([r.request.cell for r in small])


def test_a_start_touches_every_footprint_in_each_direction(array):
    space = array.space
    cells = spread_out(space, np.array([], dtype=np.int64), 60, np.random.default_rng(1))
    footprint = space.index[:, space.axis_named("footprint_bytes")]
    for direction in space.directions:
        inside = space.in_direction(direction)
        assert set(footprint[[c for c in cells if inside[c]]]) == set(footprint[inside])


def test_harrell_davis_and_width():
    assert quantile(np.arange(1.0, 102.0), 0.5) == pytest.approx(51, abs=0.5)
    wide = [Pick(i, 0.5 * (-1) ** i, 0.1, 1.6, 0.0) for i in range(40)]
    assert width_factor(wide, np.zeros(0)) >= 4
    assert width_factor([], np.zeros(0)) == pytest.approx(1.645, abs=0.8)


@pytest.fixture(scope="module")
def wild():
    """Reads follow the law; of random writes every cell is its own affair, the same in both passes."""
    rng = np.random.default_rng(5)
    rows = [
        row
        for row in surfaces.disk(2, sd=0.02, passes=2)
        if row["rw"] in ("read", "randwrite") and row["size_bytes"] <= 64 << 20
    ]
    own: dict = {}
    for row in rows:
        if row["rw"] == "randwrite":
            factor = own.setdefault(
                (row["bs_bytes"], row["numjobs"], row["size_bytes"]), float(np.exp(rng.normal(0, 1.0)))
            )
            row["bw_bytes_per_s"] *= factor
            row["iops"] *= factor
    return sweep(rows)


def test_a_regime_where_the_model_fails_is_named(wild):
    outcome = replay(wild, Settings(cells=80, seed=3))
    writes = np.array([point["rw"] == "randwrite" for point in wild.space.points])
    (named,) = outcome.weak_regimes
    assert named.failing
    assert "randwrite" in named.name
    assert named.measured == sum(writes[cell] for cell in {r.request.cell for r in outcome.history})
    assert named.cells == writes.sum()


@pytest.mark.long("design", "surrogate")
def test_no_error_ends_a_campaign_while_a_regime_fails(wild):
    design, history = run(wild, error=0.2, seed=1)
    assert not weak_regimes(design.final_model(history), 0.2)


@pytest.mark.long("design", "surrogate")
def test_a_map_without_failing_regimes_names_none():
    assert not replay(sweep(surfaces.disk(3, sd=0.05)), Settings(cells=96, seed=1)).weak_regimes


def test_ten_cells_have_two_visits_before_the_first_model_when_the_end_is_not_certain(array):
    design = AdaptiveDesign(array.space, Settings(cells=96, certain=False, seed=1))
    history = []
    batch = design.next_batch(history)
    while all(request.purpose in ("cliff", "start", "repeat") for request in batch):
        history += read_pass(array, history, batch)
        batch = design.next_batch(history)
    visits = np.bincount([r.request.cell for r in history])
    assert np.sum(visits == 2) == 10


def test_one_pass_is_never_visited_twice(array):
    _, history = run(array, cells=24, seed=1, visits_limit=1)
    assert max(np.bincount([r.request.cell for r in history])) == 1


def test_honesty_picks_start_early_when_the_end_is_not_certain(array):
    def first(**settings):
        """How many readings are made before the first of a held-out cell."""
        before = 0
        for readings in batches(array, AdaptiveDesign(array.space, Settings(cells=24, seed=1, **settings))):
            for reading in readings:
                if reading.request.purpose is DesignPurpose.HOLD_OUT:
                    return before
                before += 1
        return before

    assert first(certain=False) < first()
