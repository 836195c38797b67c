# SPDX-License-Identifier: Apache-2.0
"""How it is told what a comparison could find."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ioatlas.cli._compare_two import MOST_DETECTABLE
from ioatlas.cli._quantity import WORDS
from ioatlas.model.units import format_count

if TYPE_CHECKING:
    from ioatlas.analysis.power import PowerForetold


def tell_power(
    places: tuple[Path, ...], quantity: str, *, tolerance: float, by_target: bool, reference: bool, as_json: bool
) -> None:
    """For each side what the comparison of so many could find, with its own noise."""
    from dataclasses import asdict

    from ioatlas.results.power import power_of
    from ioatlas.results.sides import read_sides

    sides = read_sides(places, quantity, by_target=by_target)
    n = len(sides)
    pairs = max(1, n - 1 if reference else n * (n - 1) // 2)
    found = {side.name: power_of(side, tolerance=tolerance, pairs=pairs) for side in sides}
    if as_json:
        import json

        told = {name: asdict(power) for name, power in found.items()}
        click.echo(json.dumps({"quantity": quantity, "power": told}, indent=2))
        return
    for name, power in found.items():
        of = f"as one of {power.pairs} pairs" if power.pairs > 1 else "against another campaign with this plan"
        click.echo(f"{name}, {WORDS[quantity]}, {power.cells} cells, {power.visits:g} visits each, {of}")
        for line in power_lines(power):
            click.echo(f" {line}")


def power_lines(power: PowerForetold) -> list[str]:
    """What is found 8 times in 10, and what a 10% difference takes."""
    cell = _visits(power.visits_cell, power.effect)
    return [
        f"Whole map    {_slower(power.whole)} is found 8 times in 10",
        f"Single cell  {_slower(power.cell)}",
        f"For {power.effect:.0%}      whole map: {_visits(power.visits_whole, power.effect)}; single cell: {cell}",
        f"Noise        one visit varies by {power.cv:.1%}; differences up to {power.tolerance:.0%} are ignored",
    ]


def _slower(share: float) -> str:
    if share >= MOST_DETECTABLE:
        return "only what is many times slower"
    return f"{share:.1%} slower" if share < 0.0995 else f"{share:.0%} slower"


def _visits(count: int | None, effect: float) -> str:
    if count is None:
        return f"no number of visits up to 1,000 finds {effect:.0%}"
    return f"{format_count(count)} visit{'s' if count > 1 else ''}"
