# SPDX-License-Identifier: Apache-2.0
"""How it is told what a comparison could find."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ioatlas.cli._arguments import WORDS
from ioatlas.cli._comparison import MOST_DETECTABLE
from ioatlas.cli._output import say_json
from ioatlas.model.units import format_count

if TYPE_CHECKING:
    from ioatlas.analysis.power import PowerForetold


def tell_power(
    places: tuple[Path, ...], quantity: str, *, tolerance: float, by_target: bool, reference: bool, as_json: bool
) -> None:
    """For each side what the comparison of so many could find, with its own noise."""
    from dataclasses import asdict

    from ioatlas.results.comparison import power_of
    from ioatlas.results.sides import read_sides

    sides = read_sides(places, quantity, by_target=by_target)
    n = len(sides)
    pairs = max(1, n - 1 if reference else n * (n - 1) // 2)
    found = {side.name: power_of(side, tolerance=tolerance, pairs=pairs, among=sides) for side in sides}
    if as_json:
        told = {name: asdict(power) for name, power in found.items()}
        say_json({"quantity": quantity, "power": told})
        return
    for name, power in found.items():
        of = f"as one of {power.pairs} pairs" if power.pairs > 1 else "against another campaign with this plan"
        click.echo(f"{name}, {WORDS[quantity]}, {power.cells} cells, {power.visits:g} visits each, {of}")
        for line in power_lines(power):
            click.echo(f" {line}")


def power_lines(power: PowerForetold) -> list[str]:
    """What is found 8 times in 10, and what a 10% difference takes."""
    cell = _visits(power.visits_cell, power.effect)
    lines = [
        f"Whole map    {_slower(power.whole)} is found 8 times in 10",
        f"Single cell  {_slower(power.cell)}",
        f"For {power.effect:.0%}      whole map: {_visits(power.visits_whole, power.effect)}; single cell: {cell}",
        f"Noise        one visit varies by {power.cv:.1%}; differences up to {power.tolerance:.0%} are ignored",
    ]
    return [*lines, f"Set-ups      {_set_ups(power)}"] if power.set_ups else lines


def _set_ups(power: PowerForetold) -> str:
    """Whether what moves between set-ups is in the figures; and how many set-ups the effect takes."""
    if power.set_ups == 1:
        return "each is set up once: drift between them is not known, and in no figure here; `blocks = 2` shows it"
    if power.set_up_sd is None:
        return "what moves between them is not known from this campaign, and in no figure here"
    told = f"{power.set_ups} of each; one lies off by {power.set_up_sd:.1%}, which is in all figures here"
    if power.whole <= power.effect:
        return told
    if power.set_ups_whole is None:
        return f"{told}; no number of them finds {power.effect:.0%} of a whole map"
    return f"{told}; `blocks = {power.set_ups_whole}` finds {power.effect:.0%} of a whole map"


def _slower(share: float) -> str:
    if share >= MOST_DETECTABLE:
        return "only what is many times slower"
    return f"{share:.1%} slower" if share < 0.0995 else f"{share:.0%} slower"


def _visits(count: int | None, effect: float) -> str:
    if count is None:
        return f"no number of visits up to 1,000 finds {effect:.0%}"
    return f"{format_count(count)} visit{'s' if count > 1 else ''}"
