# SPDX-License-Identifier: Apache-2.0
"""What a study's campaign measured, load by load, with what is known of each lab target."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ioatlas.lab.running import filled, find
from ioatlas.model.cell import OptionValue
from ioatlas.model.limit import UNDETERMINED
from ioatlas.model.result import CampaignResult
from ioatlas.reproductions.claims import Measured
from ioatlas.reproductions.study import Study, Value, targets_of
from ioatlas.results.sides import QUANTITIES, Place, read_campaign


def measured_in(study: Study, directory: Path, result: CampaignResult, *, quick: bool) -> list[Measured]:
    """Every load that was visited. Raises UsageError when there is none."""
    sides = {quantity: read_campaign(directory, quantity) for quantity in QUANTITIES}
    limits: dict[Place, str] = {
        (e.cell.key, e.direction): e.limit.resource
        for e in result.estimates
        if e.limit is not None and e.limit.resource != UNDETERMINED
    }
    factors = {one.name: {name: f.value for name, f in one.factors.items()} for one in result.configurations}
    truths = {made.name: _truth(made.scenario, made.settings) for made in targets_of(study, quick=quick)}
    named = {name for claim in study.claim for name in (*claim.of, *claim.over)}
    names = ("rw", *result.axes, *sorted(named - {"rw", "direction", *result.axes}))
    found = []
    for place, row in sides["bw"].rows.items():
        values = {
            quantity: tuple(reading.value for reading in side.readings.get(place, ()))
            for quantity, side in sides.items()
        }
        options: dict[str, OptionValue] = {"rw": row.cell.rw, **row.cell.option}
        swept = {name: options[name] for name in names if name in options}
        where = {**swept, "direction": row.direction, **factors.get(row.cell.target, {})}
        if "operation" in where:  # which says both
            del where["rw"], where["direction"]
        target = row.cell.target
        found.append(Measured(target, where, values, limits.get(place, ""), truths.get(target)))
    return found


def _truth(scenario: str, settings: Mapping[str, Value]) -> dict[str, float]:
    """What is known of a lab target before anything is measured."""
    one = find(scenario)
    return {name: truth.value for name, truth in one.build(filled(one, settings)).truth.items()}
