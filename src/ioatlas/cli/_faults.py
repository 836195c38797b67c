# SPDX-License-Identifier: Apache-2.0
"""What a command says when the values in a campaign's directory do not fit together in a way that no check foresaw."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import ParamSpec, TypeVar

from ioatlas.errors import IoAtlasError

Given = ParamSpec("Given")
Answer = TypeVar("Answer")

FAULTS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    MemoryError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What values lead to that cannot be computed with. What the system says is no part of it."""


def says_what_does_not_fit(command: Callable[Given, Answer]) -> Callable[Given, Answer]:
    """A command that reads a campaign's directory, which may be somebody else's: one message in the place of a
    traceback, with the place in the code for a report.
    """

    @functools.wraps(command)
    def told(*arguments: Given.args, **options: Given.kwargs) -> Answer:
        try:
            return command(*arguments, **options)
        except Exception as error:
            import sqlite3  # a journal whose pages are damaged; when something went wrong only

            if not isinstance(error, (*FAULTS, sqlite3.Error)):
                raise
            places = [str(value) for value in options.values() if isinstance(value, Path)]
            raise IoAtlasError(
                f"values in it do not fit together ({type(error).__name__} at {_place(error.__traceback__)})",
                where=places[0] if places else "",
                remedy="restore it from a copy; where nobody changed it this is a fault of ioatlas: please report it",
            ) from error

    return told


def _place(traceback: TracebackType | None) -> str:
    """The last place in ioatlas itself."""
    place = "?"
    while traceback is not None:
        module = str(traceback.tb_frame.f_globals.get("__name__", ""))
        if module.startswith("ioatlas."):
            place = f"{module}, line {traceback.tb_lineno}"
        traceback = traceback.tb_next
    return place
