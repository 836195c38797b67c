# SPDX-License-Identifier: Apache-2.0
"""A campaign that was not begun here: what resuming it would do, in words, and the name that has to be typed for it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from typing import Any

from ioatlas.measure.run.plan import Plan
from ioatlas.model.cell import Cell
from ioatlas.model.errors import RefusedError
from ioatlas.model.fixed_work import IOZONE, tool_of
from ioatlas.model.options import JobValue
from ioatlas.model.target import Target
from ioatlas.model.units import format_size_rounded
from ioatlas.model.visit import VisitStatus
from ioatlas.store.journal import Journal
from ioatlas.target.workspace import directory_name

MOST_VALUES = 12
"""Values of an option that are listed."""


class ForeignError(RefusedError):
    """A plan that nobody here has vouched for. shown: lines that say what it would do."""

    def __init__(self, what: str, *, where: str, remedy: str, shown: tuple[str, ...]) -> None:
        super().__init__(what, where=where, remedy=remedy)
        self.shown = shown


def confirm_trust(
    journal: Journal, plan: Plan, typed: str | None, *, why: str, asks: Mapping[str, Any], first: Mapping[str, JobValue]
) -> None:
    """A foreign plan is resumed only after its targets were typed in full, having been shown with options and commands.

    why: what makes it foreign. asks: hosts and drives that its facts file names. first:
    options of its first load. Raises ForeignError saying what to type.
    """
    wanted = " ".join(dict.fromkeys(target.location for target in plan.targets))
    if typed is not None and typed.split() == wanted.split():
        return
    campaign_id, visits = journal.campaign().campaign_id, journal.count_visits().get(VisitStatus.PLANNED, 0)
    said = "nothing was typed" if not typed else f"{typed!r} is not the place that it works on"
    raise ForeignError(
        f"{why}, and it was not trusted: {said}",
        where=str(journal.directory),
        remedy=f"read what it would do, then type the place it works on: --trust {shlex.quote(wanted)}",
        shown=(
            "Resuming this directory would do this here:",
            *(f"  target   {_target(plan, target, campaign_id)}" for target in plan.targets),
            f"  loads    {len(plan.to_measure)} cells, {visits} visits planned so far; by {_programs(plan)}",
            *(f"  option   {line}" for line in _options(plan.to_measure)),
            f"  prepare  {plan.spec.prepare}, {format_size_rounded(plan.prepared_bytes)}{_purge(plan)}",
            *(f"  asks     {line}" for line in _asked(asks)),
            f"  first    fio {' '.join(f'--{name}={_plain(value)}' for name, value in first.items())}",
        ),
    )


def _target(plan: Plan, target: Target, campaign_id: str) -> str:
    place = f"{target.kind} {_plain(target.location)}"
    if target.kind == "directory":
        return f"{place}: files in {directory_name(campaign_id)}, removed at the end"
    return f"{place}: {'its data are overwritten' if plan.writes(target.name) else 'read only'}"


def _programs(plan: Plan) -> str:
    return "fio and iozone" if any(tool_of(cell) == IOZONE for cell in plan.to_measure) else "fio"


def _purge(plan: Plan) -> str:
    how = plan.spec.own.get("purge") if plan.spec.own.get("snia") else None
    return f"; purge: {_plain(how)}" if how else ""


def _options(cells: Iterable[Cell]) -> list[str]:
    """Every option that fio is given, with its values."""
    found: dict[str, dict[object, None]] = {}
    for cell in cells:
        for one in cell.members:
            for name, value in one.options:
                found.setdefault(name, {})[value] = None
    lines = []
    for name, values in sorted(found.items()):
        told = ", ".join(_plain(value) for value in [*values][:MOST_VALUES])
        more = len(values) - MOST_VALUES
        lines.append(f"{name} = {told}{f' and {more} more' if more > 0 else ''}")
    return lines


def _asked(asks: Mapping[str, Any]) -> list[str]:
    """The tables of the facts file that name hosts and drives."""
    return [
        f"{_plain(table)}.{_plain(name)} = {_plain(value)}"
        for table, entries in asks.items()
        for name, value in entries.items()
    ]


def _plain(value: object) -> str:
    """A value without anything that could steer a terminal."""
    text = ":".join(map(str, value)) if isinstance(value, tuple) else str(value)
    return "".join(letter if letter.isprintable() else "?" for letter in text[:400])
