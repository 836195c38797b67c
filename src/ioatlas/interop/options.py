# SPDX-License-Identifier: Apache-2.0
"""Option tables: what each option of a tool does to the plan that its translator fills.

A table maps an option's name to an action. An action takes the plan, the option as it is written in messages, its value
and where it stands. The words of a note may name `{option}` and `{value}`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ioatlas.interop.command import whole_number
from ioatlas.interop.fidelity import Fidelity, approximate, exact, not_expressible

Read = Callable[[str, str, str], Any]
"""A value out of (text, option, where). Raises UsageError."""
Action = Callable[[Any, str, str, str], None]


def whole(low: int = 0, high: int = 1 << 62) -> Read:
    """Whole numbers in a range."""
    return lambda text, option, where: whole_number(text, option, where, low=low, high=high)


def put(attribute: str, read: Read) -> Action:
    """The value becomes an attribute of the plan."""
    return lambda plan, option, value, where: setattr(plan, attribute, read(value, option, where))


def append(attribute: str, read: Read) -> Action:
    """The value joins a list of the plan."""
    return lambda plan, option, value, where: getattr(plan, attribute).append(read(value, option, where))


def fixed(**values: Any) -> Action:
    """The option alone sets these attributes."""

    def act(plan: Any, _option: str, _value: str, _where: str) -> None:
        for name, value in values.items():
            setattr(plan, name, value)

    return act


def _note(make: Callable[..., Fidelity], *words: str) -> Action:
    return lambda plan, option, value, _: plan.notes.append(
        make(*(text.format(option=option, value=value) for text in words))
    )


def same(attribute: str, reason: str) -> Action:
    """Noted as exact."""
    return _note(exact, attribute, reason)


def nearly(attribute: str, reason: str, error: str) -> Action:
    """Noted as approximate."""
    return _note(approximate, attribute, reason, error)


def lost(attribute: str, reason: str) -> Action:
    """Noted as not expressible."""
    return _note(not_expressible, attribute, reason)


def both(*actions: Action) -> Action:
    """One after another."""

    def act(plan: Any, option: str, value: str, where: str) -> None:
        for action in actions:
            action(plan, option, value, where)

    return act
