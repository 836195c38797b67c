# SPDX-License-Identifier: Apache-2.0
"""Two campaigns as one result, each of their targets under a name of its own, with what changed in every cell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ioatlas.model.cell import Cell, OptionValue
from ioatlas.model.change import Change
from ioatlas.model.result import CampaignResult, Unmeasured
from ioatlas.results.comparison import CampaignComparison, identity


def joined(first: CampaignResult, second: CampaignResult, comparison: CampaignComparison) -> CampaignResult:
    """Both campaigns side by side. Changes stand at the cells of the second one.

    Findings, sections of single campaigns and the courses of visits are left out: each campaign's own report has them.
    """
    names = _names(first, second, comparison.names)
    sides = [_renamed(result, mine) for result, mine in zip((first, second), names, strict=True)]
    one, two = sides
    axes = _axes(one, two)
    return replace(
        one,
        campaign_id=f"{first.campaign_id}-{second.campaign_id}",
        name=f"{comparison.names[1]} against {comparison.names[0]}",
        created_at=max(first.created_at, second.created_at),
        targets=(*one.targets, *two.targets),
        axes=axes,
        constants={
            name: value
            for name, value in one.constants.items()
            if two.constants.get(name) == value and name not in axes
        },
        estimates=(*one.estimates, *two.estimates),
        unmeasured=(*one.unmeasured, *two.unmeasured),
        fresh=(),
        findings=(),
        settings={name: value for name, value in one.settings.items() if two.settings.get(name) == value},
        sessions=(*one.sessions, *two.sessions),
        n_visits=one.n_visits + two.n_visits,
        n_discarded=one.n_discarded + two.n_discarded,
        discard_reasons={},
        seconds=one.seconds + two.seconds,
        complete=one.complete and two.complete,
        load_curves=(),
        charts=(),
        tables=(),
        rounds=(),
        baselines=(),
        replicates=(),
        latency_curves=(),
        time_courses=(),
        changes=_changes(two, names[1], comparison),
    )


def _names(first: CampaignResult, second: CampaignResult, called: tuple[str, str]) -> tuple[dict[str, str], ...]:
    """The name of each target in the joined result, by its own name: the campaign's where it has but one target."""
    return tuple(
        {target.name: name if len(result.targets) == 1 else f"{name}: {target.name}" for target in result.targets}
        for result, name in zip((first, second), called, strict=True)
    )


def _renamed(result: CampaignResult, names: Mapping[str, str]) -> CampaignResult:
    def moved(cell: Cell) -> Cell:
        return replace(cell, target=names.get(cell.target, cell.target))

    return replace(
        result,
        targets=tuple(replace(target, name=names[target.name]) for target in result.targets),
        estimates=tuple(replace(e, cell=moved(e.cell)) for e in result.estimates),
        unmeasured=tuple(Unmeasured(moved(u.cell), u.reason) for u in result.unmeasured),
    )


def _axes(one: CampaignResult, two: CampaignResult) -> dict[str, tuple[OptionValue, ...]]:
    """Axes of either; an option that is constant in both, with two values, becomes one."""
    axes = {
        name: tuple(dict.fromkeys((*one.axes.get(name, ()), *two.axes.get(name, ()))))
        for name in dict.fromkeys((*one.axes, *two.axes))
    }
    for name, value in one.constants.items():
        other = two.constants.get(name, value)
        if name in axes or other != value:
            axes[name] = tuple(dict.fromkeys((value, *axes.get(name, ()), other)))
    return axes


def _changes(two: CampaignResult, names: Mapping[str, str], comparison: CampaignComparison) -> tuple[Change, ...]:
    """What changed, at the cells of the second side. names: those of its targets in the joined result, by their own."""
    own = {told: name for name, told in names.items()}
    compared = {row.cell: row for row in comparison.result.cells}
    found = []
    for e in two.estimates:
        cell = replace(e.cell, target=own[e.cell.target])
        row = compared.get(identity(cell, e.direction, by_target=comparison.by_target))
        if row is not None and row.ratio is not None:
            found.append(Change(e.cell.key, e.direction, row.ratio, row.low, row.high, row.outcome))
    return tuple(found)
