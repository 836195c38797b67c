# SPDX-License-Identifier: Apache-2.0
"""A series as one result: its members are configurations, and what else differs between them is told first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ioatlas.analysis.headlines import headlines
from ioatlas.config.series_file import Series, SeriesMember
from ioatlas.errors import UsageError
from ioatlas.model.factors import Configuration, Factor, Load
from ioatlas.model.finding import Finding, FindingCode
from ioatlas.model.result import CampaignResult, ProductCost
from ioatlas.results.conditions import Apart, conditions_apart
from ioatlas.results.factors import with_factors
from ioatlas.results.joined import joined_members
from ioatlas.results.prices import with_prices
from ioatlas.results.sides import Side, align, read_sides

MOST_TOLD = 5
"""Conditions that differ besides the factors, of those that are told in the finding."""


@dataclass(frozen=True)
class SeriesResult:
    """result: all members as one, with what their factors do. apart: what else differs, the weightiest first."""

    result: CampaignResult
    sides: tuple[Side, ...]
    apart: tuple[Apart, ...]

    @property
    def sentences(self) -> list[str]:
        """What else differs, a sentence each."""
        return [one.sentence([side.name for side in self.sides]) for one in self.apart]


def load_series(series: Series, load: Callable[[Path], CampaignResult]) -> SeriesResult:
    """All members read anew and joined. load: reads the result in a directory. Raises UsageError."""
    if len(series.members) < 2:
        raise UsageError(
            f"it has {len(series.members)} members, and a series needs two",
            where=series.name,
            remedy="add some: `ioatlas history series add FILE DIR --factor drives=3`",
        )
    sides = _named([side for member in series.members for side in _sides(member)])
    results = {side.directory: None for side in sides}
    read = {directory: load(directory) for directory in results}
    joined = joined_members([read[side.directory] for side in sides], sides, series.name)
    configurations = tuple(
        Configuration(target.name, target.location, side.factors)
        for side, target in zip(sides, joined.targets, strict=True)
    )
    joined = replace(joined, configurations=configurations)
    apart = conditions_apart(sides)
    loads = _loads(joined, [read[side.directory] for side in sides], sides)
    found = with_factors(joined, loads, campaigns=len(read))
    found = with_prices(found, _costs(joined, [read[side.directory] for side in sides], sides), loads)
    found = replace(found, findings=headlines((*_differs(apart, sides), *found.findings)))
    return SeriesResult(found, tuple(sides), apart)


def _sides(member: SeriesMember) -> Iterator[Side]:
    """A side for each target of a member, with the factors of the campaign's own configurations and those added."""
    found = read_sides([member.place], by_target=True)
    several = len(found) > 1
    for side in found:
        name = member.name or side.directory.resolve().name
        factors: dict[str, Factor] = {**side.factors, **member.factors}
        yield replace(side, name=f"{name}: {side.targets[0]}" if several else name, factors=factors)


def _named(sides: Sequence[Side]) -> list[Side]:
    twice = [name for name, count in Counter(side.name for side in sides).items() if count > 1]
    if twice:
        raise UsageError(
            f"two members are called {twice[0]!r}", where="series", remedy="give them names: `name =` in [[member]]"
        )
    units: dict[str, set[str]] = {}
    for side in sides:
        for name, factor in side.factors.items():
            units.setdefault(name, set()).add(factor.unit)
    mixed = next((name for name, told in units.items() if len(told) > 1), None)
    if mixed is not None:
        raise UsageError(f"the factor {mixed!r} has several units", where="series", remedy="use one unit for a factor")
    return list(sides)


def _loads(
    joined: CampaignResult, results: Sequence[CampaignResult], sides: Sequence[Side]
) -> dict[tuple[str, str], Load]:
    """Names of loads by the cells of the joined result: as comparisons match them."""
    loads = align([replace(side, targets=side.targets[:1]) for side in sides])
    found: dict[tuple[str, str], Load] = {}
    for result, side, names, target in zip(results, sides, loads.names, joined.targets, strict=True):
        for e in result.estimates:
            if e.cell.target in side.targets and (e.cell.key, e.direction) in names:
                moved = replace(e.cell, target=target.name)
                found[moved.key, e.direction] = names[e.cell.key, e.direction]
    return found


def _costs(joined: CampaignResult, results: Sequence[CampaignResult], sides: Sequence[Side]) -> dict[str, ProductCost]:
    """What the product of each member costs, where its campaign names one; by the name it has in the joined result."""
    return {
        target.name: replace(cost, target=target.name)
        for result, side, target in zip(results, sides, joined.targets, strict=True)
        for cost in result.costs
        if cost.target in ("", *side.targets)
    }


def _differs(apart: Sequence[Apart], sides: Sequence[Side]) -> list[Finding]:
    """What else differs: the reader must know it before the factor is believed."""
    if not apart:
        return []
    names = [side.name for side in sides]
    told = "; ".join(one.sentence(names) for one in apart[:MOST_TOLD])
    more = f"; and {len(apart) - MOST_TOLD} more" if len(apart) > MOST_TOLD else ""
    return [Finding(FindingCode.FACTOR, f"Besides the factors these differ: {told}{more}.", title="What else differs")]
