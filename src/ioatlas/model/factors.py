# SPDX-License-Identifier: Apache-2.0
"""What factors do: a quantity along one factor while the others are held, and what follows from it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field

from ioatlas.model.configuration import Factor
from ioatlas.model.limit import Bound

Load = Hashable
"""What a load is wherever it runs: the same for all members that were measured under it."""


@dataclass(frozen=True)
class Measured:
    """Throughput of one load on one member, in bytes a second, with its 95% interval; bounds None when withheld.

    ceiling: the tightest bound known of its path. limit: what was found to limit it, '' where that is not known.
    cells: keys of its cells in the result, its evidence.
    """

    value: float
    low: float | None
    high: float | None
    visits: int
    ceiling: Bound | None = None
    limit: str = ""
    cells: tuple[str, ...] = ()


@dataclass(frozen=True)
class Member:
    """One of the things that factors tell apart: a configuration, or a campaign of a series.

    measured: by load and direction.
    """

    name: str
    factors: Mapping[str, Factor]
    measured: Mapping[tuple[Load, str], Measured]


@dataclass(frozen=True)
class Ratio:
    """A ratio with its 95% interval; bounds None when a value behind it has none."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class FactorPoint:
    """One level of a factor. change: against the first level. efficiency: of what the first level gives for each unit
    of the factor; None where the factor is no number above zero.
    """

    level: Factor
    member: str
    measured: Measured
    change: Ratio
    efficiency: Ratio | None = None


@dataclass(frozen=True)
class FactorLine:
    """One direction of one load along one factor.

    held:     the other factors, with the values they have all along.
    exponent: of the power law through the points: 1 is in proportion, 0 no change; None where the levels are no
              numbers above zero, or there are two only.
    slope:    bytes a second for each unit, where levels are numbers and not all above zero.
    ends:     the place of the point from which on more gains nothing; None where it grows to the last, or never did.
    """

    factor: str
    direction: str
    load: str
    held: Mapping[str, Factor]
    points: tuple[FactorPoint, ...]
    exponent: Ratio | None = None
    slope: Ratio | None = None
    ends: int | None = None

    @property
    def numeric(self) -> bool:
        return all(not isinstance(point.level.value, str) for point in self.points)

    @property
    def held_words(self) -> str:
        """'raid = raid5, mtu = 9000'; '' where nothing else varies."""
        return ", ".join(f"{name} = {factor.text}" for name, factor in self.held.items())


@dataclass(frozen=True)
class FactorEffects:
    """All lines of a set of members, in the order of their factors."""

    lines: tuple[FactorLine, ...] = ()
    alone: Mapping[str, str] = field(default_factory=dict)
    """Factors of which nothing can be said, with the reason."""
