# SPDX-License-Identifier: Apache-2.0
"""A configuration: one of the ways in which a target was set up, told apart from the others by its factors."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

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
