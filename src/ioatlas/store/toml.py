# SPDX-License-Identifier: Apache-2.0
"""TOML files that a person wrote: every fault names file, line and remedy. And tables that come with a package."""

from __future__ import annotations

import pkgutil
import re
import tomllib
from collections.abc import Collection
from pathlib import Path
from typing import Any

from ioatlas.model.errors import UsageError, faults

MOST_BYTES = 4 << 20


def text_of(path: Path, what: str, remedy: str = "name a readable TOML file") -> str:
    """The text of a file. what: it is, for messages. Raises UsageError for one that cannot be read, is larger than
    4 MiB, or is no UTF-8.
    """
    with faults(UsageError, f"{what} cannot be read", where=str(path), remedy=remedy), path.open("rb") as file:
        raw = file.read(MOST_BYTES + 1)
    if len(raw) > MOST_BYTES:
        raise UsageError(f"{what} is too large: over 4 MiB", where=str(path), remedy=remedy)
    try:
        return raw.decode("utf-8-sig")  # some editors put a byte order mark in front
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        said = f"{what} is not UTF-8 text: byte 0x{raw[error.start]:02x}"
        raise UsageError(said, where=f"{path}:{line}", remedy="save it as UTF-8") from error


def parsed(text: str, source: str, keys: Collection[str] = (), remedy: str = "") -> dict[str, Any]:
    """The tables of a text. source: its name in messages. keys: all that there may be; () for any.

    Raises UsageError.
    """
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        match = re.search(r"\(at line (\d+), column \d+\)", str(error))
        raise UsageError(
            f"not TOML: {str(error).split(' (at ')[0]}",
            where=f"{source}:{match[1]}" if match else source,
            remedy=remedy or "mend that line",
        ) from error
    if keys and (unknown := sorted(table.keys() - set(keys))):
        remedy = remedy or f"there are {', '.join(keys)}"
        raise UsageError(f"there is no table or key {unknown[0]!r}", where=source, remedy=remedy)
    return table


def read(path: Path, what: str, keys: Collection[str] = (), remedy: str = "") -> dict[str, Any]:
    """The tables of a file; as `text_of` and `parsed`."""
    return parsed(text_of(path, what, *([remedy] if remedy else [])), str(path), keys, remedy)


def shipped(package: str, name: str) -> dict[str, Any]:
    """The tables of a file that is part of a package."""
    return tomllib.loads((pkgutil.get_data(package, name) or b"").decode())
