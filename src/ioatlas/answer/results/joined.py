# SPDX-License-Identifier: Apache-2.0
"""Several campaigns as one result, each of their targets under a name of its own, with what changed in every cell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ioatlas.answer.results.comparison import SidesComparison
from ioatlas.answer.results.sides import Side
from ioatlas.model.cell import Cell, OptionValue
from ioatlas.model.result import CampaignResult, Change, Unmeasured

MOST_NAMED = 4


def joined_sides(results: Sequence[CampaignResult], found: SidesComparison) -> CampaignResult:
    """The results of all sides, each under its side's name. Changes against the base stand at the cells of the
    others.
    """
    parts = [_part(result, side) for result, side in zip(results, found.sides, strict=True)]
    names = [_names(part, side.name) for part, side in zip(parts, found.sides, strict=True)]
    changes = [
        change
        for at, (part, called) in enumerate(zip(parts, names, strict=True))
        if at != found.base
        for change in _side_changes(part, called, found, at)
    ]
    title = " · ".join(found.names) if len(found.names) <= MOST_NAMED else f"{len(found.names)} sides"
    return _joined(parts, names, title, tuple(changes))


def _part(result: CampaignResult, side: Side) -> CampaignResult:
    """The targets of a side only."""
    kept = frozenset(side.targets)
    return replace(
        result,
        targets=tuple(target for target in result.targets if target.name in kept),
        estimates=tuple(e for e in result.estimates if e.cell.target in kept),
        unmeasured=tuple(u for u in result.unmeasured if u.cell.target in kept),
        methods={name: facts for name, facts in result.methods.items() if name in kept},
    )


def _joined(
    results: Sequence[CampaignResult], names: Sequence[Mapping[str, str]], title: str, changes: tuple[Change, ...]
) -> CampaignResult:
    """What all of them say of their values. What one says of itself, such as findings, charts and the courses of its
    visits, is left out: its own report has it.
    """
    sides = [_renamed(result, mine) for result, mine in zip(results, names, strict=True)]
    axes = _axes(sides)
    once = {side.campaign_id or str(number): side for number, side in enumerate(sides)}.values()
    shared = set.intersection(*(set(side.constants.items()) for side in sides))
    settings = set.intersection(*(set(side.settings.items()) for side in sides))
    return CampaignResult(
        "-".join(side.campaign_id for side in sides[:MOST_NAMED]),
        title,
        max(side.created_at for side in sides),
        sides[0].tool_version,
        tuple(target for side in sides for target in side.targets),
        axes,
        {name: value for name, value in sides[0].constants.items() if (name, value) in shared and name not in axes},
        tuple(e for side in sides for e in side.estimates),
        tuple(u for side in sides for u in side.unmeasured),
        settings={name: value for name, value in sides[0].settings.items() if (name, value) in settings},
        sessions=tuple(session for side in sides for session in side.sessions),
        n_visits=sum(side.n_visits for side in once),
        n_discarded=sum(side.n_discarded for side in once),
        seconds=sum(side.seconds for side in once),
        complete=all(side.complete for side in sides),
        methods={name: facts for side in sides for name, facts in side.methods.items()},
        changes=changes,
    )


def _names(result: CampaignResult, called: str) -> dict[str, str]:
    """The name of each target in the joined result, by its own name: the side's where it has but one target."""
    return {
        target.name: called if len(result.targets) == 1 else f"{called}: {target.name}" for target in result.targets
    }


def _renamed(result: CampaignResult, names: Mapping[str, str]) -> CampaignResult:
    def moved(cell: Cell) -> Cell:
        return replace(cell, target=names.get(cell.target, cell.target))

    return replace(
        result,
        targets=tuple(replace(target, name=names[target.name]) for target in result.targets),
        estimates=tuple(replace(e, cell=moved(e.cell)) for e in result.estimates),
        unmeasured=tuple(Unmeasured(moved(u.cell), u.reason) for u in result.unmeasured),
        methods={names.get(name, name): facts for name, facts in result.methods.items()},
    )


def _axes(sides: Sequence[CampaignResult]) -> dict[str, tuple[OptionValue, ...]]:
    """Axes of any; an option that is constant in each, with several values, becomes one."""
    axes = {
        name: tuple(dict.fromkeys(value for side in sides for value in side.axes.get(name, ())))
        for name in dict.fromkeys(name for side in sides for name in side.axes)
    }
    for name in dict.fromkeys(name for side in sides for name in side.constants):
        values = [side.constants[name] for side in sides if name in side.constants]
        if name in axes or len(set(values)) > 1:
            axes[name] = tuple(dict.fromkeys((*values[:1], *axes.get(name, ()), *values[1:])))
    return axes


def _side_changes(part: CampaignResult, names: Mapping[str, str], found: SidesComparison, at: int) -> Iterator[Change]:
    """Of one side against the base, at its own cells."""
    pair = found.result.pair(found.base, at)
    rows = {} if pair is None else {cell.cell: cell for cell in (*pair.cells, *pair.untested)}
    loads = found.loads.names[at]
    for e in part.estimates:
        row = rows.get(loads.get((e.cell.key, e.direction), ""))
        if row is not None and row.ratio is not None and (e.kind != "predicted" or row.predicted):
            key = replace(e.cell, target=names[e.cell.target]).key
            outcome = "predicted" if row.predicted else row.outcome
            yield Change(key, e.direction, row.ratio, row.low, row.high, outcome)
