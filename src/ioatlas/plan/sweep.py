# SPDX-License-Identifier: Apache-2.0
"""The fio options of a campaign: single values, lists and ranges that double become axes and constants."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from ioatlas.model.cell import TARGETS, OptionValue
from ioatlas.model.errors import UsageError
from ioatlas.model.options import ALIASES, ALLOWED, read_option
from ioatlas.model.units import format_size


def read_sweep(
    sweep: Mapping[str, Any], where: Callable[[str], str] | None = None, keys: Collection[str] = ()
) -> tuple[dict[str, tuple[OptionValue, ...]], dict[str, OptionValue]]:
    """Axes and constants of a `[sweep]` table.

    where: the place of an option for messages. keys: of the campaign, which have no place here. Raises UsageError.
    """
    axes: dict[str, tuple[OptionValue, ...]] = {}
    constants: dict[str, OptionValue] = {}
    for written, value in sweep.items():
        spot = where(written) if where else f"[sweep] {written}"
        name = _name_of(written, spot, keys)
        if name in axes or name in constants:
            raise UsageError(f"{name!r} is set twice", where=spot, remedy="keep one of them")
        entries = value if isinstance(value, list) else [value]
        if not entries:
            raise UsageError("the list is empty", where=spot, remedy="give at least one value")
        values = dict.fromkeys(item for entry in entries for item in _expand(name, entry, spot))
        if isinstance(value, list) or _is_range(value):
            axes[name] = tuple(values)
        else:
            (constants[name],) = values
    return axes, constants


def _name_of(written: str, where: str, keys: Collection[str]) -> str:
    name = ALIASES.get(written, written)
    if name not in ALLOWED:
        if written in keys:
            raise UsageError(
                f"{written!r} is a key of the campaign, not a fio option",
                where=where,
                remedy="write it above the first table, before [sweep]",
            )
        read_option(written, 1, where=where)  # raises with the reason
    return name


def _is_range(value: object) -> bool:
    return isinstance(value, str) and ".." in value


def _expand(name: str, value: Any, where: str) -> list[OptionValue]:
    """One entry of a sweep: a value, or a range `LOW..HIGH` that doubles; of targets it counts one by one."""
    if not _is_range(value):
        return [read_option(name, value, where=where)[1]]
    low_text, _, high_text = value.partition("..")
    _, low = read_option(name, low_text, where=where)
    _, high = read_option(name, high_text, where=where)
    if not isinstance(low, int) or not isinstance(high, int) or low <= 0 or high < low:
        raise UsageError(
            f"{value!r} is not a doubling range", where=where, remedy="write LOW..HIGH, 0 < LOW <= HIGH, such as 4k..1m"
        )
    if name == TARGETS:
        return list(range(low, high + 1))
    values: list[OptionValue] = []
    step = low
    while step <= high:
        values.append(step)
        step *= 2
    if values[-1] != high:
        end = format_size(step // 2) if low_text.strip()[-1:].isalpha() else step // 2
        raise UsageError(
            f"doubling from {low_text} does not reach {high_text}",
            where=where,
            remedy=f"end the range at {end} or list the values",
        )
    return values
