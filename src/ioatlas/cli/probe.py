# SPDX-License-Identifier: Apache-2.0
"""`ioatlas probe`: the testbed as facts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ioatlas.cli._arguments import PathOrWord, corrections_option
from ioatlas.cli._output import room, say_json
from ioatlas.model.units import grouped

if TYPE_CHECKING:
    from ioatlas.model.testbed import Fact, Testbed

MOST_GROUPS = 23
"""Columns and groups of the first screen."""
_DOUBT = {"doubtful": "?", "typed in": "+"}
_MARKS = {"known": " ", "typed in": "+", "doubtful": "?", "unknown": "-", "absent": "-"}


@click.command()
@click.argument("target", type=PathOrWord())
@corrections_option
@click.option("--json", "as_json", is_flag=True, help="All facts and raw texts as one JSON object.")
@click.option("-v", "--verbose", is_flag=True, help="Every fact on a line of its own, with notes.")
@click.option("--share", is_flag=True, help="Leave out what names a machine, a drive or an address, and the raw texts.")
def command(target: str, facts_file: Path | None, *, verbose: bool, as_json: bool, share: bool) -> None:
    """Show the testbed: client, path to TARGET, devices and network, each fact with its source.

    \b
    ioatlas probe /mnt/nas
    ioatlas probe /dev/sdb --json
    ioatlas probe nbd://10.0.0.5 --facts testbed.toml

    A mark says how a value is known: blank = read, + = typed in, ? = doubtful (a virtual device says so about
    itself), - = not known, or the tool is missing. Nothing is written and no load is made.
    """  # noqa: D301
    from ioatlas.load.machine.host import testbed

    found = testbed(target, facts_file)
    if share:
        found = found.shareable()
    if as_json:
        say_json(found.as_json())
        return
    if verbose:
        _print(found)
    else:
        for line in answer(found):
            click.echo(line)


def answer(found: Testbed) -> list[str]:
    """A line for each group of facts with what is known first; what is doubtful or not known is counted."""
    groups = _groups(found)
    known = {name: [fact for fact in facts if fact.value is not None] for name, facts in groups.items()}
    side = max((len(name) for name in groups), default=0) + 2
    shown = [name for name, facts in known.items() if facts]
    lines = []
    for name in shown[:MOST_GROUPS]:
        told = [f"{fact.name[len(name) + 1 :]} {_shown(fact)}{_DOUBT.get(fact.kind, '')}" for fact in known[name]]
        lines.append(name.ljust(side) + _fitting(told, room() - side - 12))
    if len(shown) > MOST_GROUPS:
        lines.append(f"... and {len(shown) - MOST_GROUPS} more groups")
    unknown = sum(fact.value is None for fact in found.facts)
    doubtful = sum(fact.kind == "doubtful" for fact in found.facts)
    lines.append(
        f"{len(found.facts)} facts in {found.seconds:.2f} s: {doubtful} doubtful (?), {unknown} not known. All: -v"
    )
    return lines


def _fitting(texts: Sequence[str], width: int) -> str:
    """As many as fit, and how many more there are."""
    line, count = "", 0
    while count < len(texts) and len(line) + len(texts[count]) + 3 <= width:
        count += 1
        line = " · ".join(texts[:count])
    left = len(texts) - count
    return f"{line} · {left} more" if left and line else f"{left} facts" if left else line


def _groups(found: Testbed) -> dict[str, list[Fact]]:
    """By the first word of their names."""
    return grouped((fact.name.split(".")[0], fact) for fact in found.facts)


def _print(found: Testbed) -> None:
    for group, facts in _groups(found).items():
        click.echo(group)
        for fact in facts:
            note = f"   ({fact.note})" if fact.note else ""
            click.echo(f" {_MARKS[fact.kind]} {fact.name[len(group) + 1 :]:<32} {_shown(fact)}{note}")
    click.echo(f"{len(found.facts)} facts in {found.seconds:.2f} s", err=True)


def _shown(fact: Fact) -> str:
    from ioatlas.model.testbed import value_text

    return fact.kind if fact.value is None else value_text(fact.value, fact.unit)
