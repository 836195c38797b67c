# SPDX-License-Identifier: Apache-2.0
"""A part of a result: the loads that have certain values, such as those of 4 KiB blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ioatlas.model.cell import Cell, OptionValue
from ioatlas.model.errors import UsageError
from ioatlas.model.finding import Finding
from ioatlas.model.options import SIZE_OPTIONS
from ioatlas.model.result import CampaignResult
from ioatlas.model.units import parse_size_bytes

Filter = Mapping[str, Sequence[str]]
"""Values by option: fio's names, sizes as one writes them; `direction` and `target` too."""


def parse_filter(texts: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """['bs=4k,64k', 'rw=randread'] as {'bs': ('4k', '64k'), ...}. Raises UsageError."""
    found: dict[str, tuple[str, ...]] = {}
    for text in texts:
        name, sign, values = text.partition("=")
        if not sign or not name.strip() or not values.strip():
            raise UsageError(f"{text!r} is no choice", where="--where", remedy="write OPTION=VALUE[,VALUE]: bs=4k,64k")
        if "=" in values:
            raise UsageError(
                f"{text!r} names two options",
                where="--where",
                remedy="give --where once for each: --where bs=4k --where rw=read",
            )
        found[name.strip()] = tuple(value.strip() for value in values.split(",") if value.strip())
    return found


def passes(cell: Cell, direction: str, where: Filter) -> bool:
    """Whether a load has one of the values of each option."""
    options: dict[str, OptionValue] = {"direction": direction, "rw": cell.rw, "target": cell.target, **cell.option}
    return all(any(same(name, options.get(name), text) for text in texts) for name, texts in where.items())


def same(name: str, value: OptionValue | None, text: str) -> bool:
    """Whether a value is what a person wrote: 4096 and '4k'."""
    if value is None:
        return False
    if str(value) == text:
        return True
    if name in SIZE_OPTIONS and isinstance(value, int):
        try:
            return parse_size_bytes(text, where="--where") == value
        except UsageError:
            return False
    return False


def only(result: CampaignResult, where: Filter) -> CampaignResult:
    """The result of these loads alone. Findings on other cells are left out. Raises UsageError when nothing is left."""
    if not where:
        return result
    estimates = tuple(e for e in result.estimates if passes(e.cell, e.direction, where))
    unmeasured = tuple(u for u in result.unmeasured if any(passes(u.cell, way, where) for way in u.cell.directions))
    if not estimates and not unmeasured:
        there = "; ".join(f"{name}={','.join(map(str, values[:6]))}" for name, values in result.axes.items())
        raise UsageError("no load is left", where="--where", remedy=f"axes and values there are: {there}")
    kept = {e.cell.key for e in estimates} | {u.cell.key for u in unmeasured}
    axes = {
        name: tuple(v for v in values if name not in where or any(same(name, v, text) for text in where[name]))
        for name, values in result.axes.items()
    }
    ways = {(e.cell.key, e.direction) for e in estimates}
    return replace(
        result,
        axes=axes,
        estimates=estimates,
        unmeasured=unmeasured,
        beside=tuple(e for e in result.beside if passes(e.cell, e.direction, where)),
        findings=tuple(one for one in result.findings if _is_of(one, kept)),
        headlines=result.headlines and tuple(one for one in result.headlines if one.cell in ("", *kept)),
        latency_curves=tuple(one for one in result.latency_curves if (one.cell_key, one.direction) in ways),
        time_courses=tuple(one for one in result.time_courses if (one.cell_key, one.direction) in ways),
    )


def _is_of(finding: Finding, kept: set[str]) -> bool:
    """Whether all cells that it names are there; one that names none is of the whole campaign."""
    return set(finding.cells) <= kept
