# SPDX-License-Identifier: Apache-2.0
"""Dataclasses as JSON and back, by the types of their fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import StrEnum
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints


def plain(value: Any) -> Any:
    """A value as JSON: a dataclass is an object of its fields, a set is sorted."""
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: plain(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, Mapping):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    return sorted(value) if isinstance(value, frozenset) else value


def of_plain(hint: Any, value: Any) -> Any:
    """The value of type `hint` that `plain` wrote. Raises TypeError, ValueError, AttributeError for what is none."""
    parts, origin = get_args(hint), get_origin(hint)
    if NoneType in parts:
        return None if value is None else of_plain(next(part for part in parts if part is not NoneType), value)
    if is_dataclass(hint):
        types = hints_of(hint)
        return hint(**{name: of_plain(types.get(name), one) for name, one in value.items()})  # type: ignore[operator]
    if origin is tuple:
        types_of_parts = [parts[0]] * len(value) if parts[-1] is ... else parts
        return tuple(of_plain(part, one) for part, one in zip(types_of_parts, value, strict=True))
    if origin is frozenset:
        return frozenset(of_plain(parts[0], one) for one in value)
    if origin in (Mapping, dict):
        return {of_plain(parts[0], key): of_plain(parts[1], one) for key, one in value.items()}
    enumeration = isinstance(hint, type) and issubclass(hint, StrEnum)
    return hint(value) if enumeration or hint in (str, int, float) else value


_HINTS: dict[Any, dict[str, Any]] = {}


def hints_of(table: Any) -> dict[str, Any]:
    """Types of a dataclass' fields by name; asked for often, so they are kept."""
    if table not in _HINTS:
        _HINTS[table] = get_type_hints(table)
    return _HINTS[table]
