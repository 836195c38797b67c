# SPDX-License-Identifier: Apache-2.0
"""The adaptive design: history in, next batch out; the live campaign and the replay of a recording use the same code.

The next batch is a function of the settings and of the history alone: a campaign that was killed and resumed asks for
the same cells as one that was not.

Order of work: cliff pass, start that touches every level, then batches that mix cells chosen for what they teach,
random hold-out cells that are predicted before they are measured, and second visits at distant times. A reading far
from its prediction is measured again.

A design ends with a map: every cell with a 90% interval, and where the model is not to be trusted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil

import numpy as np

from ioatlas.design import cliff_pass
from ioatlas.design.acquire import reduce_error, spread_out
from ioatlas.design.holdout import Pick, state, width_factor
from ioatlas.design.regimes import regime_of, weak_regimes
from ioatlas.errors import UsageError
from ioatlas.model.map_model import ChangePoint, StatedError
from ioatlas.model.visit import DesignPurpose
from ioatlas.surrogate.change_points import find_change_points, fit_with, footprint, undecided
from ioatlas.surrogate.gp import one_thread
from ioatlas.surrogate.space import Floats, Ints, Space
from ioatlas.surrogate.surrogate import Surrogate, Training

SURPRISE_SDS = 3.0
SURPRISE_LEAST = 0.2
RESERVE_SHARE = 0.05
JUDGED_SHARE = 0.6
POOL_CELLS = 10
"""Cells visited twice early on, so that the spread between visits is known and every cell can have an interval,
however the campaign ends.
"""
OUTLYING_WEIGHT = 0.5
"""Weight of a cell in the model below which a second visit decides whether it is outlying or was disturbed."""
LARGE_NOISE = 0.1
"""Log sd of a reading from which a second visit of any cell is worth its time when no further cell is to be had."""
CLOSING_VISITS = 16
"""Such visits at most: what they add to a map of two dozen cells they do not add to one of a hundred."""
SEARCHED_EACH_TIME = 128
"""Cells up to which change points are searched for at every batch; a search takes the cube of their number."""
SEARCH_GROWTH = 1.1
"""Beyond that: how many times more cells are known at a search than at the search before."""
REFIT_ITERATIONS = 12
"""Steps of the optimiser between two searches, from what the last search found."""
PICKS_TO_STOP = 12
"""Hold-out picks below which no stated error ends a campaign."""


@dataclass(frozen=True)
class Settings:
    """cells: most distinct cells; error: stated median error to stop at; at least one is given, or the caller stops
    by its clock.

    certain: whether `cells` will be reached; False when it is what a budget of time is expected to allow.
    hold_out_share: part of the cells that is drawn at random.
    start_share:   part of the cells that is measured before the first model chooses.
    visits_limit:  most visits of a cell.
    cost:          predicted cost of a visit by cell, shape (n,), from the predicted log I/Os per second; None: every
    visit costs the same.
    """

    cells: int | None = None
    certain: bool = True
    error: float | None = None
    seed: int = 1
    hold_out_share: float = 0.25
    start_share: float = 0.4
    visits_limit: int = 2
    cost: Callable[[Floats], Floats] | None = None


@dataclass(frozen=True)
class Request:
    """One visit to make. log_predicted, sd, factor: what the model said beforehand; only hold-out picks carry it."""

    cell: int
    purpose: DesignPurpose
    log_predicted: float | None = None
    smooth_sd: float = 0.0
    factor: float = 0.0


@dataclass(frozen=True)
class Reading:
    """A visit made for a request. log_value: natural logarithm of I/Os per second, None when it failed or was
    discarded.
    """

    request: Request
    log_value: float | None


@dataclass
class AdaptiveDesign:
    """next_batch(history) says what to measure next, [] when done; the other methods judge the same history.

    All of them are functions of their arguments. What is remembered between calls is looked up by the readings it was
    made of, so it saves time and decides nothing.
    """

    space: Space
    settings: Settings

    def __post_init__(self) -> None:
        wanted = self.settings.cells
        if wanted is not None and not 1 <= wanted <= len(self.space):
            raise UsageError(
                f"{wanted} cells were asked for, the map has {len(self.space)}",
                remedy=f"ask for 1 to {len(self.space)} cells",
            )
        self._lines = cliff_pass.lines(self.space)
        self._searched = lru_cache(maxsize=1)(self._search)
        self._modelled = lru_cache(maxsize=1)(self._model)

    @property
    def _budget(self) -> int:
        return self.settings.cells if self.settings.cells is not None else len(self.space)

    @property
    def _end_is_known(self) -> bool:
        return self.settings.cells is not None and self.settings.certain

    @property
    def _plan(self) -> int:
        """Cells the shares are taken of: the budget, or a twelfth of the map when the clock or the error ends the
        campaign.
        """
        return (
            self.settings.cells
            if self.settings.cells is not None
            else min(len(self.space), max(48, len(self.space) // 12))
        )

    @property
    def _start(self) -> int:
        """Cells that are measured before the first model chooses."""
        return ceil(self.settings.start_share * self._plan)

    @property
    def _batch(self) -> int:
        return max(4, ceil(self._plan / 10))

    @property
    def _hold_out_wanted(self) -> int:
        """Three picks at least, where they are not over a third: fewer state nothing."""
        wanted = round(self.settings.hold_out_share * self._plan)
        return max(wanted, min(3, self._plan // 3))

    @one_thread
    def next_batch(self, history: Sequence[Reading]) -> list[Request]:
        readings = values_by_cell(history)
        asked = {reading.request.cell for reading in history}
        left = self._budget - len(asked)
        rng = np.random.default_rng([self.settings.seed, len(history)])
        if self._stop_reached(history):
            return []
        cliff = self._cliff_requests(readings, asked, left)
        if cliff:
            return cliff
        start = self._start
        if len(asked) < start or len(readings) < 3:
            if left <= 0:
                return []
            count = min(left, max(start - len(asked), 3))
            first = [
                Request(c, DesignPurpose.START)
                for c in spread_out(self.space, np.array(sorted(asked), dtype=np.int64), count, rng)
            ]
            # A budget of time may end any moment; else they wait for the first model, so that more time lies between
            # the visits.
            return first if self._end_is_known else first + self._pool(history, first)
        if left <= 0:
            return self._closing_repeats(history)
        model = self.model(history)
        size = min(left, self._batch)
        made = sum(1 for reading in history if reading.request.purpose is DesignPurpose.HOLD_OUT)
        # Cells that are still owed to the hold-out sample are nobody else's.
        owed = max(0, self._hold_out_wanted - made) if self._end_is_known else 0
        requests = self._surprises(history, model)
        requests += self._bracket_requests(
            model, asked | {r.cell for r in requests}, left - owed - len({r.cell for r in requests} - asked)
        )
        room = size - len({r.cell for r in requests} - asked)
        honest = min(self._hold_out_count(owed, size, left), left)
        open_cells = np.setdiff1d(np.arange(len(self.space)), list(asked | {r.cell for r in requests}))
        requests += self._hold_out(history, model, open_cells, honest, rng)
        room = min(room - honest, left - max(owed - honest, 0) - len({r.cell for r in requests} - asked))
        open_cells = np.setdiff1d(open_cells, [r.cell for r in requests])
        if room > 0 and len(open_cells):
            chosen = reduce_error(model, open_cells, room, self._weights(model), self._cost(model), rng)
            requests += [Request(cell, DesignPurpose.LEARN) for cell in chosen]
        requests += self._repeats(history, requests)
        return [requests[i] for i in rng.permutation(len(requests))]

    # What is known

    def model(self, history: Sequence[Reading]) -> Surrogate:
        """The model of all readings so far, with the change points of the last search.

        A search begins from nothing, and which readings it saw follows from the history, not from when it was asked.
        """
        return self._modelled(tuple(history))

    def _model(self, history: tuple[Reading, ...]) -> Surrogate:
        point = self._search_point(history)
        searched = self._searched(history[:point])
        if point == len(history):
            return searched
        training = Training.of(values_by_cell(history))
        return fit_with(self.space, training, searched.change_points, searched, iterations=REFIT_ITERATIONS)

    def _search_point(self, history: Sequence[Reading]) -> int:
        """How many readings of the history the last search saw: all of them up to `SEARCHED_EACH_TIME` cells."""
        cells: set[int] = set()
        due, point = SEARCHED_EACH_TIME, len(history)
        for number, reading in enumerate(history, 1):
            if reading.log_value is not None:
                cells.add(reading.request.cell)
            if len(cells) >= due:
                due, point = ceil(SEARCH_GROWTH * due), number
        return point

    @one_thread
    def final_model(self, history: Sequence[Reading]) -> Surrogate:
        """The model the map is drawn from, change points searched for with all readings."""
        return self._searched(tuple(history))

    def _search(self, history: tuple[Reading, ...]) -> Surrogate:
        training = Training.of(values_by_cell(history))
        return find_change_points(self.space, training, self._suspected(training))

    def _suspected(self, training: Training) -> tuple[ChangePoint, ...]:
        means = dict(zip(training.cells.tolist(), training.mean.tolist(), strict=True))
        return cliff_pass.suspected(self.space, self._lines, means, training.noise.sd)

    def picks(self, history: Sequence[Reading], model: Surrogate, readings: float | None = None) -> list[Pick]:
        """Hold-out cells with what was said of them before, but for those said when under `JUDGED_SHARE` of the cells
        that
        are known now were known: they judged another map. The rule looks at counts only, never at values.

        model: the present one. readings: errors are to be those of the geometric mean of so many readings of a cell;
        None: of as many as each pick has.
        """
        by_cell = values_by_cell(history)
        now = len(by_cell)
        gap, variance = model.leave_one_out()
        without = dict(
            zip(model.training.cells.tolist(), zip(gap.tolist(), variance.tolist(), strict=True), strict=True)
        )
        known: set[int] = set()
        found = []
        for reading in history:
            request = reading.request
            known.add(request.cell)
            share = min(1.0, (len(known) - 1) / now)
            if share < JUDGED_SHARE:
                continue
            if (
                request.purpose is not DesignPurpose.HOLD_OUT
                or request.log_predicted is None
                or request.cell not in by_cell
            ):
                continue
            visits = by_cell[request.cell]
            noise, (missed, var) = model.training.noise.var, without[request.cell]
            read = noise / len(visits)
            sd, measured = float(np.sqrt(request.smooth_sd**2 + read)), float(np.mean(visits))
            scale = 1.0 if readings is None else float(np.sqrt((var - read + noise / readings) / var))
            found.append(
                Pick(request.cell, request.log_predicted, sd, request.factor, measured, measured - missed, scale)
            )
        return found

    def stated_error(self, history: Sequence[Reading], model: Surrogate, readings: float | None = None) -> StatedError:
        return state(self.picks(history, model, readings))

    def factor(self, history: Sequence[Reading], model: Surrogate) -> float:
        gap, variance = model.leave_one_out()
        return width_factor(self.picks(history, model), gap / np.sqrt(variance))

    # What to do next

    def _stop_reached(self, history: Sequence[Reading]) -> bool:
        if self.settings.error is None:
            return False
        if sum(reading.request.purpose is DesignPurpose.HOLD_OUT for reading in history) < PICKS_TO_STOP:
            return False
        model = self.model(history)
        stated = self.stated_error(history, model)
        if stated.n < PICKS_TO_STOP or stated.median is None or stated.median > self.settings.error:
            return False
        return not weak_regimes(model, self.settings.error)

    def _cliff_requests(self, readings: Mapping[int, Sequence[float]], asked: set[int], left: int) -> list[Request]:
        """A round of the cliff pass; it may use a fifth of the cells."""
        if not self._lines or len(asked) > sum(len(line.cells) + len(line.cross) for line in self._lines):
            return []
        room = min(left, round(0.2 * self._plan) - len(asked))
        if room <= 0:
            return []
        means = {cell: float(np.mean(values)) for cell, values in readings.items()}
        most = max(2, round(0.2 * self._plan / len(self._lines)))
        wanted: list[int] = []
        for line in self._lines:
            wanted += [c for c in cliff_pass.next_cells(line, means, most) if c not in asked]
        return [Request(c, DesignPurpose.CLIFF) for c in wanted[:room]]

    def _bracket_requests(self, model: Surrogate, asked: set[int], left: int) -> list[Request]:
        """A cell in the middle of each bracket that the levels of the axes allow to be finer."""
        requests: list[Request] = []
        for edge in model.change_points:
            inside = np.setdiff1d(undecided(self.space, edge), [*asked, *(r.cell for r in requests)])
            if len(inside) and len(requests) < left:
                middle = 0.5 * np.log(edge.low * edge.high)
                away = np.abs(np.log(footprint(self.space, edge.exponent)[inside]) - middle)
                # Few jobs and middling blocks show a miss best: nothing else limits them.
                busy = 0.01 * np.log(self.space.outstanding[inside]) + 0.01 * np.abs(
                    np.log(self.space.block_bytes[inside] / 16384)
                )
                requests.append(Request(int(inside[np.argmin(away + busy)]), DesignPurpose.CLIFF))
        return requests

    def _hold_out_count(self, owed: int, size: int, left: int) -> int:
        """How many of the next batch are random.

        With a known number of cells they come towards the end, so that they judge a nearly final map, in a few
        batches, so that later ones profit from earlier ones; a reserve is kept for what they bring up. Else the share
        is kept in every batch.
        """
        if not self._end_is_known:
            return max(1, round(size * self.settings.hold_out_share))
        if left - owed <= ceil(RESERVE_SHARE * self._plan):
            return min(owed, ceil(self._hold_out_wanted / 3))
        return 0

    def _hold_out(
        self, history: Sequence[Reading], model: Surrogate, open_cells: Ints, count: int, rng: np.random.Generator
    ) -> list[Request]:
        if count <= 0 or not len(open_cells):
            return []
        cells = rng.choice(open_cells, min(count, len(open_cells)), replace=False)
        said = model.predict(cells)
        factor = self.factor(history, model)
        sd = np.sqrt(said.variance())
        return [
            Request(int(c), DesignPurpose.HOLD_OUT, float(m), float(s), factor)
            for c, m, s in zip(cells, said.mean, sd, strict=True)
        ]

    def _surprises(self, history: Sequence[Reading], model: Surrogate) -> list[Request]:
        """Readings that the others did not foresee: once more."""
        gap, variance = model.leave_one_out()
        far = np.abs(gap) > np.maximum(SURPRISE_SDS * np.sqrt(variance), SURPRISE_LEAST)
        visits = Counter(reading.request.cell for reading in history)
        order = np.argsort(-np.abs(gap))
        cells = [int(cell) for cell in model.training.cells[order[far[order]]]]
        again = [cell for cell in cells if visits[cell] < self.settings.visits_limit]
        return [Request(cell, DesignPurpose.SURPRISE) for cell in again[: max(2, self._plan // 16)]]

    def _repeats(self, history: Sequence[Reading], already: Sequence[Request]) -> list[Request]:
        """Second visits of hold-out cells measured at least two batches ago: they tell the noise, at distant times."""
        size = self._batch
        early = history[: max(0, len(history) - 2 * size)]
        pool = [request for request in self._pool(history) if all(r.cell != request.cell for r in already)]
        return pool + self._second_visits(early, history, {r.cell for r in [*already, *pool]})

    def _pool(self, history: Sequence[Reading], first: Sequence[Request] = ()) -> list[Request]:
        """Second visits until `POOL_CELLS` cells have two; first: visits that are asked for at the same time, to be
        made before.
        """
        if self.settings.visits_limit < 2:
            return []
        asked = [*(r.request.cell for r in history), *(r.cell for r in first)]
        read = [*(r.request.cell for r in history if r.log_value is not None), *(r.cell for r in first)]
        twice = sum(read.count(cell) > 1 for cell in set(read))
        once = [cell for cell in dict.fromkeys(read) if asked.count(cell) == 1]
        # From all over the start, not its first cells: one direction or mode may be noisier than another.
        wanted = min(max(0, POOL_CELLS - twice), len(once))
        return [Request(once[at * len(once) // wanted], DesignPurpose.REPEAT) for at in range(wanted)]

    def _closing_repeats(self, history: Sequence[Reading]) -> list[Request]:
        """When the cells are spent: second visits of the hold-out cells that have none, then of the most outlying, or
        of any where noise is large.
        """
        owed = self._second_visits(history, history, set())
        visits = Counter([reading.request.cell for reading in history] + [request.cell for request in owed])
        model = self.model(history)
        worth = model.weight < (np.inf if model.training.noise.sd > LARGE_NOISE else OUTLYING_WEIGHT)
        order = [
            int(cell) for cell in model.training.cells[np.argsort(model.weight, kind="stable")][: int(worth.sum())]
        ]
        once = [cell for cell in order if visits[cell] < min(2, self.settings.visits_limit)]
        closing = sum(1 for reading in history if reading.request.purpose is DesignPurpose.CLOSING)
        return owed + [Request(cell, DesignPurpose.CLOSING) for cell in once[: max(0, CLOSING_VISITS - closing)]]

    def _second_visits(self, of: Sequence[Reading], history: Sequence[Reading], without: set[int]) -> list[Request]:
        visits: dict[int, int] = {}
        for reading in history:
            visits[reading.request.cell] = visits.get(reading.request.cell, 0) + 1
        cells = [
            r.request.cell
            for r in of
            if r.request.purpose is DesignPurpose.HOLD_OUT
            and visits[r.request.cell] < min(2, self.settings.visits_limit)
        ]
        return [Request(c, DesignPurpose.REPEAT) for c in dict.fromkeys(cells) if c not in without]

    def _weights(self, model: Surrogate) -> Floats:
        """How much a cell's error matters: more in the regimes (mode and side of the cliffs) where the model has been
        wrong.
        """
        group = regime_of(model)
        gap, variance = model.leave_one_out()
        standard = np.minimum(gap**2 / variance, 9.0)
        weight = np.ones(len(self.space))
        for number in np.unique(group):
            mine = standard[group[model.training.cells] == number]
            weight[group == number] = np.clip((mine.sum() + 4.0) / (len(mine) + 4.0), 0.5, 4.0)
        return weight

    def _cost(self, model: Surrogate) -> Floats:
        if self.settings.cost is None:
            return np.ones(len(self.space))
        return self.settings.cost(model.predict(np.arange(len(self.space))).mean)


def values_by_cell(history: Sequence[Reading]) -> dict[int, list[float]]:
    """Log readings by cell in the order of the visits."""
    found: dict[int, list[float]] = {}
    for reading in history:
        if reading.log_value is not None:
            found.setdefault(reading.request.cell, []).append(reading.log_value)
    return found


METHOD = "adaptive-law-gp/2"


@one_thread
def predicted_map(
    design: AdaptiveDesign, history: Sequence[Reading], model: Surrogate, readings: float = np.inf
) -> tuple[Floats, Floats]:
    """The whole map from a finished history: natural logarithm of each cell's I/Os per second, and half the width of
    its 90% interval; shapes (n,). readings: intervals hold the geometric mean of so many readings; the true value when
    infinite. Of a measured cell it is the model's smoothing, not its estimate.
    """
    said = model.predict(np.arange(len(design.space)))
    return said.mean, design.factor(history, model) * np.sqrt(said.variance(readings))
