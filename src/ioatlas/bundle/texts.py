# SPDX-License-Identifier: Apache-2.0
"""JSON of a bundle: written in one form, read without what JSON does not have."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NoReturn

from ioatlas.errors import IoAtlasError

REMEDY = "ask for a bundle that was not changed"
MOST_LEVELS = 60


def pretty(value: Any) -> bytes:
    """A document for people and programs: in its order, indented."""
    return (json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()


def canonical(value: Any) -> bytes:
    """A document that is signed: sorted, without blanks, in ASCII."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def parse(data: bytes, where: str) -> Any:
    """A document. Raises IoAtlasError for NaN, a key that stands twice, too many levels, and what is no JSON."""
    try:
        value = json.loads(data.decode(), parse_constant=_no_number, object_pairs_hook=_once)
    except RecursionError:
        raise IoAtlasError("its JSON has too many levels", where=where, remedy=REMEDY) from None
    except ValueError as error:
        raise IoAtlasError(f"this is no JSON: {str(error)[:100]}", where=where, remedy=REMEDY) from None
    _check_levels(value, where)
    return value


def parse_lines(data: bytes, where: str, most: int) -> Iterator[Any]:
    """A document for each line. Raises as `parse`, and for more than `most` of them."""
    lines = data.split(b"\n")
    if lines.pop() or len(lines) > most:
        raise IoAtlasError(
            f"it has more than {most} lines, or its last one is cut off", where=where, remedy=REMEDY
        ) from None
    return (parse(line, f"{where}:{number}") for number, line in enumerate(lines, start=1))


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands there twice")
    return found


def _check_levels(value: Any, where: str) -> None:
    level, waiting = 0, [value]
    while waiting:
        if level > MOST_LEVELS:
            raise IoAtlasError("its JSON has too many levels", where=where, remedy=REMEDY)
        inside: list[Any] = []
        for one in waiting:
            if isinstance(one, dict):
                inside += [each for each in one.values() if isinstance(each, (dict, list))]
            elif isinstance(one, list) and one and isinstance(one[0], (dict, list)):
                inside += one
            elif isinstance(one, list):
                inside += [each for each in one if isinstance(each, (dict, list))]
        waiting, level = inside, level + 1
