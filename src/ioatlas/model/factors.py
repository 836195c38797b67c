# SPDX-License-Identifier: Apache-2.0
"""What factors do: a quantity along one factor while the others are held, and what follows from it.

A configuration is one of the ways in which a target was set up, told apart from the others by its factors.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field

from ioatlas.model.estimate import Bound
from ioatlas.model.load_curve import Spread

FACTOR = "factor_"
"""Before the name of a factor in the name of its column."""
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
class FactorPoint:
    """One level of a factor. change: against the first level. efficiency: of what the first level gives for each unit
    of the factor; None where the factor is no number above zero.
    """

    level: Factor
    measured: Measured
    change: Spread
    efficiency: Spread | None = None


@dataclass(frozen=True)
class FactorLine:
    """One direction of one load along one factor.

    held:     the other factors, with the values they have all along.
    ends:     the place of the point from which on more gains nothing; None where it grows to the last, or never did.
    """

    factor: str
    direction: str
    load: str
    held: Mapping[str, Factor]
    points: tuple[FactorPoint, ...]
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


FactorValue = int | float | str
FACTOR_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}")


@dataclass(frozen=True)
class Factor:
    """What a configuration has of one factor: 7, 'raid5', 10 'Gbit/s'. A yes or no is the text 'true' or 'false'."""

    value: FactorValue
    unit: str = ""

    @property
    def text(self) -> str:
        """As people read it."""
        value = f"{self.value:g}" if isinstance(self.value, float) else str(self.value)
        return f"{value} {self.unit}".rstrip()


@dataclass(frozen=True)
class Configuration:
    """One configuration of a campaign. Its target goes by its name.

    factors:       by name, in the order of the campaign file.
    product:       path of its product sheet; '' where there is none.
    before, after: commands that make it so, and undo it; folder: where they run.
    ask:           what a person has to do before it is measured.
    members:       (name, location) of each of several targets that are loaded together; then `location` is empty.
    """

    name: str
    location: str
    factors: Mapping[str, Factor] = field(default_factory=dict)
    product: str = ""
    before: str = ""
    after: str = ""
    ask: str = ""
    folder: str = ""
    members: tuple[tuple[str, str], ...] = ()

    @property
    def places(self) -> tuple[tuple[str, str], ...]:
        """(name, location) of its target, or of each of those that are loaded together."""
        return self.members or ((self.name, self.location),)

    @property
    def set_up(self) -> bool:
        """Whether something has to be done before it can be measured."""
        return bool(self.before or self.after or self.ask)

    @property
    def words(self) -> str:
        """Its factors in words."""
        return ", ".join(f"{name} = {factor.text}" for name, factor in self.factors.items())


def speaks_for_itself(value: FactorValue) -> bool:
    """Whether a level needs not the name of its factor: 'raid5' does not, 'true', '1.2' and 7 do."""
    return isinstance(value, str) and value[:1].isalpha() and value not in ("true", "false", "yes", "no", "on", "off")


def factor_names(configurations: Iterable[Configuration]) -> tuple[str, ...]:
    """The factors of a set of configurations, in the order in which they are first told."""
    return tuple(dict.fromkeys(name for one in configurations for name in one.factors))


def is_blocked(configurations: Iterable[Configuration]) -> bool:
    """Whether they are measured one after another: they have to be set up, or share one place."""
    known = list(configurations)
    places = [location for one in known for _, location in one.places]
    return any(one.set_up for one in known) or len(set(places)) < len(places)
