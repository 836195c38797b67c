# SPDX-License-Identifier: Apache-2.0
"""Watts beside values: the power of a target while a cell was measured, and what it gives for each watt."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import fmean

from ioatlas.answer.analysis.wording import Namer
from ioatlas.model.estimate import Estimate
from ioatlas.model.finding import Finding, FindingCode, Value
from ioatlas.model.outcomes import KeptMeter
from ioatlas.model.visit import COUNTED, Visit


def with_watts(
    estimates: Iterable[Estimate],
    visits: Iterable[Visit],
    watts: Mapping[int, Mapping[str, float]],
    meters: Sequence[KeptMeter],
) -> tuple[Estimate, ...]:
    """The estimates with the target's power: all of its meters added, the mean over the visits beside which every
    one of them answered.

    watts: {visit_id: {meter: watts while it ran}}. What was typed in stands for every visit.
    """
    mine = [meter for meter in meters if meter.of == "target"]
    if not mine:
        return tuple(estimates)
    typed = sum(meter.loaded_watts for meter in mine if meter.loaded_watts is not None)
    live = [meter.name for meter in mine if meter.loaded_watts is None]
    found: dict[str, list[float]] = defaultdict(list)
    for visit in visits:
        read = watts.get(visit.visit_id, {})
        if not visit.discarded and visit.purpose in COUNTED and all(name in read for name in live):
            found[visit.cell_key].append(typed + sum(read[name] for name in live))
    return tuple(
        replace(e, watts=fmean(found[e.cell.key])) if e.kind == "measured" and found.get(e.cell.key) else e
        for e in estimates
    )


def power_findings(
    estimates: Sequence[Estimate], meters: Sequence[KeptMeter], idle_watts: Mapping[str, float]
) -> tuple[Finding, ...]:
    """Idle and loaded watts, and the most throughput and I/Os for a watt; how many values have none."""
    if not meters:
        return ()
    known = [e for e in estimates if e.kind == "measured" and e.watts]
    measured = [e for e in estimates if e.kind == "measured"]
    known_idle = [one for one in meters if one.name in idle_watts]
    values: dict[str, Value] = {
        "idle": [{"meter": one.name, "watts": idle_watts[one.name], "source": one.source} for one in known_idle],
        "n_values": len(measured),
        "n_unknown": len(measured) - len(known) or None,
    }
    cells: tuple[str, ...] = ()
    if known:
        namer = Namer((e.cell for e in measured), sorted({e.cell.target for e in measured}))
        most = max(known, key=lambda e: e.bw_bytes_per_s_per_watt or 0.0)
        dense = max(known, key=lambda e: e.iops_per_watt or 0.0)
        values |= {
            "least_watts": min(e.watts or 0.0 for e in known),
            "most_watts": max(e.watts or 0.0 for e in known),
            "bytes_per_s_per_watt": most.bw_bytes_per_s_per_watt or 0.0,
            "fastest": namer.cell(most.cell, with_target=True),
            "iops_per_watt": dense.iops_per_watt or 0.0,
            "densest": namer.cell(dense.cell, with_target=True),
        }
        cells = tuple(dict.fromkeys((most.cell.key, dense.cell.key)))
    return (Finding(FindingCode.POWER, values, cells),)
