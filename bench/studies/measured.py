# SPDX-License-Identifier: Apache-2.0
"""What a study's campaign measured, load by load, with what is known of each lab target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean

from bench.studies.claims import Measured
from bench.studies.study import Study, Value, targets_of
from ioatlas.answer.results.sides import Place, read_campaign
from ioatlas.model.cell import Cell, OptionValue
from ioatlas.model.estimate import UNDETERMINED
from ioatlas.model.quantities import COMPARED
from ioatlas.model.result import CampaignResult
from ioatlas_lab.running import filled, find
from ioatlas_lab.scenario import Limit, Recipe

LEAST_SECONDS = 1.0
"""How long fixed work has to take on a drive of the block I/O controller. That one lets through what fits 100 ms at the
drive's rate before it holds anything back: 256 KiB of a drive of 10 MB/s came at 87 MB/s, 1 MiB at 9.3.
"""


def measured_in(study: Study, directory: Path, result: CampaignResult, *, quick: bool) -> tuple[list[Measured], int]:
    """Every load that was visited and that its lab target's limits held for; how many they did not hold for. Raises
    UsageError when none was visited.
    """
    sides = {quantity: read_campaign(directory, quantity, lawful=False) for quantity in COMPARED}
    limits: dict[Place, str] = {
        (e.cell.key, e.direction): e.limit.resource
        for e in result.estimates
        if e.limit is not None and e.limit.resource != UNDETERMINED
    }
    factors = {one.name: {name: f.value for name, f in one.factors.items()} for one in result.configurations}
    recipes = {made.name: _recipe(made.scenario, made.settings) for made in targets_of(study, quick=quick)}
    truths = {name: {key: one.value for key, one in recipe.truth.items()} for name, recipe in recipes.items()}
    throttled = {name for name, one in recipes.items() if any(isinstance(step, Limit) for step in one.steps)}
    named = {name for claim in study.claim for name in (*claim.of, *claim.over)}
    names = ("rw", *result.axes, *sorted(named - {"rw", "direction", *result.axes}))
    found, unheld = [], 0
    for place, row in sides["bw"].rows.items():
        values = {
            quantity: tuple(reading.value for reading in side.readings.get(place, ()))
            for quantity, side in sides.items()
        }
        if row.cell.target in throttled and _is_too_short(row.cell, values["bw"]):
            unheld += 1
            continue
        options: dict[str, OptionValue] = {"rw": row.cell.rw, **row.cell.option}
        swept = {name: options[name] for name in names if name in options}
        where = {**swept, "direction": row.direction, **factors.get(row.cell.target, {})}
        if "operation" in where:  # which says both
            del where["rw"], where["direction"]
        target = row.cell.target
        within = fmean(reading.within for reading in sides["bw"].readings[place])
        found.append(Measured(target, where, values, limits.get(place, ""), truths.get(target), within))
    return found, unheld


def _recipe(scenario: str, settings: Mapping[str, Value]) -> Recipe:
    """How a lab target is made, with what is known of it before anything is measured."""
    one = find(scenario)
    return one.build(filled(one, settings))


def _is_too_short(cell: Cell, rates: Sequence[float]) -> bool:
    """Whether fixed work was done before the drives' limit held. rates: of its visits, bytes a second."""
    return cell.work_bounded and any(cell.size_bytes < LEAST_SECONDS * rate for rate in rates)
