# SPDX-License-Identifier: Apache-2.0
"""The adaptive design at work on a campaign: its requests become planned visits, finished visits its readings."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace

import numpy as np

from ioatlas.analysis.estimates import window_values
from ioatlas.design.adaptive import METHOD, AdaptiveDesign, Reading, Request, Settings, predicted_map
from ioatlas.design.regimes import weak_regimes
from ioatlas.model.cell import Cell
from ioatlas.model.map_model import MapOutcome, Maps
from ioatlas.model.outcomes import AdaptiveLimit
from ioatlas.model.visit import DesignPurpose, Purpose, Visit
from ioatlas.procedures.adaptive_map.sweep import FEWEST_MEASURED
from ioatlas.store.journal import Journal, NewVisit, Prediction
from ioatlas.surrogate.space import Floats, Space

WINDOW_SECONDS = 0.5
DRAIN_TIMES = 2.0
"""Latencies that the gap after a visit is worth, in the predicted cost of one."""


class AdaptiveMap:
    """One target's map. `plan_next` asks the design for the next visits, `finish` writes down what it predicts of the
    rest.
    """

    def __init__(
        self,
        journal: Journal,
        target: str,
        cells: Sequence[Cell],
        *,
        limit: int | None,
        error: float | None,
        seed: int,
        certain: bool,
    ) -> None:
        self._journal = journal
        self._target = target
        self._cells = list(cells)
        self._number = {cell.key: number for number, cell in enumerate(self._cells)}
        self._space = Space.of(_points(self._cells))
        limit = min(limit, len(self._cells)) if limit is not None else None
        self._design = AdaptiveDesign(
            self._space, Settings(cells=limit, certain=certain, error=error, seed=seed, cost=self._visit_seconds)
        )
        self._seed = seed

    def _visit_seconds(self, log_iops: Floats) -> Floats:
        """What a visit of each cell takes: a window, and a gap in which what is in flight drains, by Little's law."""
        return np.asarray(WINDOW_SECONDS + DRAIN_TIMES * self._space.outstanding * np.exp(-log_iops))

    def plan_next(self) -> int:
        """Plan the visits of the next batch; returns how many, 0 when the design is done."""
        history = self.history()
        requests = self._design.next_batch(history)
        block = 1 + max((block for _, block, _ in self._journal.designed()), default=-1)
        generator = np.random.default_rng([self._seed, block])
        planned, times = [], Counter[int]()
        for request in requests:
            # A second visit in the same batch is in the next block: a cell is visited once in each.
            said = json.dumps({"target": self._target, **_spoken(request)})
            seed = int(generator.integers(1, 2**31))
            planned.append(NewVisit(self._cells[request.cell].key, block + times[request.cell], seed, design_json=said))
            times[request.cell] += 1
        self._journal.add_visits(planned)
        return len(requests)

    def history(self) -> list[Reading]:
        """What the design asked for so far and what was read; a visit made again counts by its last reading."""
        values: dict[tuple[str, int], float] = {}
        for visit in self._journal.visits(with_series=True):
            if visit.purpose is Purpose.SWEEP and not visit.discarded and visit.cell_key in self._number:
                value = _iops(visit)
                if value > 0:
                    values[visit.cell_key, visit.replicate] = math.log(value)
        readings = []
        for key, block, text in self._journal.designed():
            said = json.loads(text)
            if said.pop("target") != self._target or key not in self._number:
                continue
            said["purpose"] = DesignPurpose(said["purpose"])
            readings.append(Reading(Request(self._number[key], **said), values.get((key, block))))
        return readings

    def finish(self) -> None:
        """Predict every cell that has no reading, and write down the stated error, the cliffs and the law's
        parameters.
        """
        history = self.history()
        if sum(reading.log_value is not None for reading in history) < 3:
            return
        model = self._design.final_model(history)
        logs, halves = predicted_map(self._design, history, model, readings=1)
        measured = {reading.request.cell for reading in history if reading.log_value is not None}
        left = [number for number in range(len(self._cells)) if number not in measured]
        rows = [self._prediction(float(logs[number]), float(halves[number]), number) for number in left]
        others = [row for row in self._journal.predictions() if row.cell_key not in self._number]
        self._journal.set_predictions([*others, *rows])
        outcome = MapOutcome(
            len(self._cells),
            len(measured),
            self._design.stated_error(history, model),
            tuple(model.change_points),
            weak_regimes(model, self._design.settings.error),
        )
        self._journal.keep(Maps({**self._journal.kept(Maps).targets, self._target: outcome}))

    def _prediction(self, log_iops: float, half: float, number: int) -> Prediction:
        """One cell's row; the intervals are those of one reading."""
        iops, low, high = (math.exp(log_iops + far) for far in (0.0, -half, half))
        return Prediction(self._cells[number].key, iops, low, high, None, None, None, METHOD)


def _points(cells: Sequence[Cell]) -> list[dict[str, int | float | str]]:
    """What tells cells apart, in the recorded sweep's names: what is the same for all the space leaves out by itself.

    An engine that only follows from the depth (psync at 1, an asynchronous one beyond) is no axis of its own.
    """
    by_depth: dict[int, set[object]] = {}
    for cell in cells:
        by_depth.setdefault(cell.integer("iodepth", 1), set()).add(cell.option.get("ioengine"))
    implied = {"ioengine"} if all(len(engines) == 1 for engines in by_depth.values()) else set()
    renamed = {"bs": "bs_bytes", "size": "size_bytes"}
    return [{renamed.get(name, name): value for name, value in cell.options if name not in implied} for cell in cells]


def _spoken(request: Request) -> dict[str, object]:
    said = asdict(replace(request, cell=0))
    del said["cell"]
    return said


def _iops(visit: Visit) -> float:
    """I/Os per second of all directions together."""
    return sum(window_values(part, visit.window_start_ms).iops for part in visit.parts)


def adaptive_maps(
    journal: Journal, cells: Iterable[Cell], *, limit: int | None, error: float | None, seed: int
) -> list[AdaptiveMap]:
    """One map a target; a limit on cells is shared out evenly. One that a budget of time is expected to allow may not
    be reached.
    """
    by_target: dict[str, list[Cell]] = {}
    for cell in cells:
        by_target.setdefault(cell.target, []).append(cell)
    share = None if limit is None else max(FEWEST_MEASURED, limit // len(by_target))
    certain = not journal.is_kept(AdaptiveLimit)
    return [
        AdaptiveMap(journal, target, mine, limit=share, error=error, seed=seed, certain=certain)
        for target, mine in by_target.items()
    ]
