# SPDX-License-Identifier: Apache-2.0
"""The command line that does again what this call was asked for, from any directory."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping
from pathlib import Path

import click


def program() -> list[str]:
    """How this program was started, with its full path."""
    started = Path(sys.argv[0])
    if started.name == "ioatlas" and started.is_file():
        return [str(started.absolute())]
    return [sys.executable, "-m", "ioatlas"]


def words_again(context: click.Context, instead: Mapping[str, object], *, without: Collection[str]) -> list[str]:
    """The command with what it was given; paths in full. instead: other values. without: options left out."""
    given = {**context.params, **instead}
    words = [context.info_name or ""]
    last: list[str] = []
    for one in context.command.params:
        value = given.get(one.name or "")
        if one.name in without or value is None or value is False or value == ():
            continue
        if isinstance(one, click.Argument):
            last.append(_text(value))
            continue
        flag = one.opts[-1]
        if value is True:
            words.append(flag)
            continue
        if value == one.get_default(context):
            continue
        for each in value if isinstance(value, tuple) else (value,):
            words.append(f"{flag}={_text(each)}" if flag.startswith("--") else f"{flag}{_text(each)}")
    return [*words, *(["--", *last] if last else [])]


def _text(value: object) -> str:
    return str(value.absolute() if isinstance(value, Path) else value)
