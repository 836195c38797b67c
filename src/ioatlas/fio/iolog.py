# SPDX-License-Identifier: Apache-2.0
"""Timed traces: fio's version 3 log read, checked and dealt out to lanes that fio replays at absolute times.

Facts about fio's replay that the lanes rest on (fio 3.33, `iolog.c`, each tried): a version 3 log waits a time since
the job's last I/O, so a replay that was once late stays late by as much for good; a `wait` of version 2 waits until an
absolute time, in milliseconds since fio started, so what is overdue is made up for at once. With more than one I/O in
flight fio sees completions only when it is full or about to submit, so every lane has one.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from ioatlas.errors import UsageError

MOST_IOS = 200_000
"""I/Os of a trace: each is logged by itself (about 40 B of text)."""
NAME = "data"
_ACTIONS = {"read": "read", "write": "write"}
_FILE_ACTIONS = frozenset({"add", "open", "close"})
_NO_DATA = frozenset({"sync", "datasync"})
_ALIGNMENT = 1 << 20
_NUMBER = re.compile(r"[0-9]{1,18}")
"""What fio can hold: below 2^63."""


@dataclass(frozen=True)
class TimedIo:
    """One I/O: microseconds since the first one, direction, place on the target."""

    at_us: int
    direction: str
    offset_bytes: int
    length_bytes: int


@dataclass(frozen=True)
class Trace:
    """I/Os in the order of their times. left_out: what the source held besides, in words."""

    ios: tuple[TimedIo, ...]
    left_out: tuple[str, ...] = ()

    @property
    def seconds(self) -> float:
        """From the first I/O to the last."""
        return self.ios[-1].at_us / 1e6

    @property
    def end_bytes(self) -> int:
        return max(one.offset_bytes + one.length_bytes for one in self.ios)

    @property
    def block_sizes(self) -> tuple[int, ...]:
        return tuple(sorted({one.length_bytes for one in self.ios}))

    @property
    def directions(self) -> tuple[str, ...]:
        used = {one.direction for one in self.ios}
        return tuple(direction for direction in ("read", "write") if direction in used)

    @cached_property
    def digest(self) -> str:
        """Hash of the I/Os: 16 hexadecimal digits."""
        return hashlib.sha256(trace_text(self).encode()).hexdigest()[:16]


def read_trace(text: str, where: str) -> Trace:
    """A trace in fio's version 3 format: `MICROSECONDS FILE ACTION OFFSET LENGTH`, after the line `fio version 3
    iolog`.

    Times count from the first I/O. Several files lie one after the other, each from a multiple of 1 MiB on. Raises
    UsageError with the line.
    """
    lines = text.splitlines()
    head = lines[0].strip() if lines else ""
    if head != "fio version 3 iolog":
        without = head == "fio version 2 iolog"
        raise UsageError(
            "this trace is of version 2, which has no times" if without else "this is no timed trace of fio",
            where=f"{where}:1",
            remedy="use a log that fio 3.29 or newer wrote with write_iolog: it begins with `fio version 3 iolog`",
        )
    found: list[tuple[int, str, str, int, int]] = []
    idle = 0
    for number, line in enumerate(lines[1:], 2):
        words = line.split()
        if not words:
            continue
        place = f"{where}:{number}"
        if len(words) < 3 or not _NUMBER.fullmatch(words[0]):
            raise _bad(f"{line[:60]!r} is no line of a trace", place)
        action = words[2]
        if action in _FILE_ACTIONS:
            continue
        if action in _NO_DATA:
            idle += 1
            continue
        if action not in _ACTIONS:
            raise _bad(f"{action!r} is not replayed", place)
        if len(words) != 5 or not (_NUMBER.fullmatch(words[3]) and _NUMBER.fullmatch(words[4])) or int(words[4]) == 0:
            raise _bad(f"{line[:60]!r} lacks an offset or a length", place)
        found.append((int(words[0]), words[1], _ACTIONS[action], int(words[3]), int(words[4])))
        if len(found) > MOST_IOS:
            raise UsageError(
                f"the trace has more than {MOST_IOS:,} I/Os", where=place, remedy="cut it into shorter ones"
            )
    if not found:
        raise UsageError("the trace holds no read and no write", where=where, remedy="name another file")
    left_out = (f"{idle} sync or datasync of the trace are left out.",) if idle else ()
    return Trace(_placed(found), left_out)


def _bad(what: str, where: str) -> UsageError:
    return UsageError(what, where=where, remedy="write `MICROSECONDS FILE read|write OFFSET LENGTH`, numbers in bytes")


def _placed(found: list[tuple[int, str, str, int, int]]) -> tuple[TimedIo, ...]:
    ends: dict[str, int] = {}
    for _, name, _, offset, length in found:
        ends[name] = max(ends.get(name, 0), offset + length)
    bases, base = {}, 0
    for name, end in ends.items():
        bases[name] = base
        base += math.ceil(end / _ALIGNMENT) * _ALIGNMENT
    begin = min(at for at, *_ in found)
    ios = [
        TimedIo(at - begin, direction, bases[name] + offset, length) for at, name, direction, offset, length in found
    ]
    return tuple(sorted(ios, key=lambda one: one.at_us))


def trace_text(trace: Trace) -> str:
    """The trace in version 3, on one file."""
    rows = (f"{one.at_us} {NAME} {one.direction} {one.offset_bytes} {one.length_bytes}\n" for one in trace.ios)
    return f"fio version 3 iolog\n0 {NAME} add\n0 {NAME} open\n{''.join(rows)}{trace.ios[-1].at_us} {NAME} close\n"


def due_ms(one: TimedIo) -> int:
    """When a lane makes it, in the whole milliseconds of fio's wait: up to 1 ms after the trace's own time."""
    return -(-one.at_us // 1000)


def lane_of(trace: Trace, number: int, count: int) -> tuple[TimedIo, ...]:
    """The I/Os of one of `count` lanes: every count-th one, so that neighbours in time lie in different lanes."""
    return trace.ios[number::count]


def lane_text(ios: Iterable[TimedIo], lead_ms: int) -> str:
    """A lane in version 2, each I/O after a wait until `lead_ms` plus its time since fio started."""
    rows = (
        f"{NAME} wait {lead_ms + due_ms(one)} 0\n{NAME} {one.direction} {one.offset_bytes} {one.length_bytes}\n"
        for one in ios
    )
    return f"fio version 2 iolog\n{NAME} add\n{NAME} open\n{''.join(rows)}{NAME} close\n"
