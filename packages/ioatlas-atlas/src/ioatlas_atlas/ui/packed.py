# SPDX-License-Identifier: Apache-2.0
"""Columns as a script that hands them over: a page on a disk loads nothing else, and few servers of files pack."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray


def packed_script(call: str, columns: Mapping[str, Sequence[Any]], **more: Any) -> bytes:
    """call: with %s where the columns come. more: told beside them.

    A line of JSON says what codes stand for; the codes follow, part by part of each column, their lowest bytes first.
    Packed, a letter of two bytes holds 15 bits, from U+3000 on: a fifteenth is added, where base64 adds a third.
    """
    coded = {name: [*map(_coded, _parts(values))] for name, values in columns.items()}
    head = {name: [[told, len(planes)] for told, planes in parts] for name, parts in coded.items()}
    body = b"".join(plane.tobytes() for parts in coded.values() for _, planes in parts for plane in planes)
    told = {**more, "rows": len(next(iter(columns.values()))), "columns": head}
    line = json.dumps(told, ensure_ascii=False, separators=(",", ":"))
    data = gzip.compress(f"{line}\n".encode() + body, mtime=0)
    bits = np.unpackbits(np.frombuffer(data, np.uint8))
    letters = np.pad(bits, (0, -len(bits) % 15)).reshape(-1, 15) @ (1 << np.arange(14, -1, -1)) + 0x3000
    text = letters.astype("<u2").tobytes().decode("utf-16-le")
    return f"\ufeff{call % f'[{len(data)},{chr(34)}{text}{chr(34)}]'};\n".encode("utf-16-le")


def _parts(values: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Of texts what stands between commas: it is repeated more often than the whole."""
    return list(zip_longest(*(value.split(", ") if isinstance(value, str) else [value] for value in values)))


def _coded(values: Sequence[Any]) -> tuple[Any, list[NDArray[np.uint8]]]:
    """(what codes stand for, their bytes): a list of values, from code 0 on, or of many numbers of four digits the
    power of ten p, where code 1 is 1000 * 10^p, code 9001 ten times as much, and 0 is no value.
    """
    told: Any = list(dict.fromkeys(values))
    codes = {value: code for code, value in enumerate(told)}
    if len(told) > 256 and all(map(_short, told)):  # more than codes of one byte could tell
        written = {value: f"{value:.3e}".replace(".", "").split("e") for value in told if value is not None}
        least = min(int(power) for _, power in written.values())
        codes = {value: 9000 * (int(power) - least) + int(four) - 999 for value, (four, power) in written.items()}
        codes[None], told = 0, least - 3
    found = np.array([codes[value] for value in values])
    return told, [(found >> low).astype(np.uint8) for low in range(0, int(found.max()).bit_length(), 8)]


def _short(value: Any) -> bool:
    return value is None or (isinstance(value, float) and value > 0 and float(f"{value:.3e}") == value)
