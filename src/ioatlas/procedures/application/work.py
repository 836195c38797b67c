# SPDX-License-Identifier: Apache-2.0
"""A work: the commands that set it up, that are timed, that check it and that clean up; and the figure it gives."""

from __future__ import annotations

import functools
import hashlib
import json
import re
import shlex
from dataclasses import asdict, dataclass
from enum import StrEnum

from ioatlas.config.options import NAME_PATTERN, Where
from ioatlas.errors import UsageError, faults

LONGEST_COMMAND, LONGEST_UNIT, LONGEST_REGEX, MOST_WORKS = 32_768, 40, 500, 64
LIMIT_SECONDS, LONGEST_LIMIT_SECONDS = 600.0, 7 * 86_400.0
USUAL_SECONDS = 30.0
"""What one run of a work takes, as a plan reckons that knows nothing of it."""
TARGET = "{target}"
PHASES = ("setup", "command", "verify", "cleanup")
SECONDS = "s"
_TIMES = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0}


class Better(StrEnum):
    """Which way a figure is good."""

    MORE = "more"
    LESS = "less"


@dataclass(frozen=True)
class Metric:
    """A figure that the command prints: the first group of `regex`, where it matches last."""

    regex: str
    unit: str
    better: Better = Better.MORE


@dataclass(frozen=True)
class Work:
    """One work. Its commands are shell; `{target}` in them is the folder that they work in.

    limit_seconds: of each of its commands. cold: what setup wrote leaves the page cache before the clock starts.
    space_bytes:   what it needs on the target. usual_seconds: what one run takes, for a plan.
    """

    name: str
    command: str
    setup: str = ""
    verify: str = ""
    cleanup: str = ""
    metric: Metric | None = None
    limit_seconds: float = LIMIT_SECONDS
    cold: bool = False
    space_bytes: int = 0
    usual_seconds: float = USUAL_SECONDS

    @functools.cached_property
    def digest(self) -> str:
        """Of all that decides what is run and what is read from it: 16 hexadecimal digits."""
        told = {name: value for name, value in asdict(self).items() if name not in ("usual_seconds", "space_bytes")}
        return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:16]

    @property
    def unit(self) -> str:
        return self.metric.unit if self.metric else SECONDS

    @property
    def better(self) -> Better:
        """Of its figure; without one, of its time."""
        return self.metric.better if self.metric else Better.LESS

    @property
    def unit_seconds(self) -> float:
        """How many seconds one unit of a figure of which less is better stands for; 1 where it is no time."""
        return _TIMES.get(self.unit, 1.0)

    @property
    def is_time(self) -> bool:
        return self.better is Better.LESS and self.unit in _TIMES

    def bound(self, phase: str, target: str) -> str:
        """One of its commands with the folder that it works in."""
        return str(getattr(self, phase)).replace(TARGET, shlex.quote(target))

    def check(self, at: Where) -> None:
        """Raises UsageError for what no campaign file can say; also of what a journal keeps."""
        if not re.fullmatch(NAME_PATTERN, self.name):
            raise UsageError(
                f"{self.name[:80]!r} cannot name a work",
                where=at("name"),
                remedy="use letters, digits, '.', - and _, at most 64",
            )
        for phase in PHASES:
            text = str(getattr(self, phase))
            if len(text) > LONGEST_COMMAND or "\0" in text:
                raise UsageError(
                    f"it is longer than {LONGEST_COMMAND} letters, or no text",
                    where=at(phase),
                    remedy="put it into a script and call that",
                )
        if not self.command.strip():
            raise UsageError("there is nothing to time", where=at("command"), remedy="write a shell command")
        if not 0 < self.limit_seconds <= LONGEST_LIMIT_SECONDS:
            raise UsageError("a limit is a time up to a week", where=at("limit"), remedy="write a time such as 10m")
        if self.space_bytes < 0 or not 0 < self.usual_seconds <= LONGEST_LIMIT_SECONDS:
            raise UsageError("it cannot be that", where=at("space"), remedy="write a size such as 1g")
        if self.metric:
            _check_metric(self.metric, at)


def _check_metric(metric: Metric, at: Where) -> None:
    with faults(
        UsageError,
        "that is no regular expression",
        where=at("metric", "regex"),
        remedy="mend it",
        of=(re.error, RecursionError, OverflowError),
    ):
        groups = re.compile(metric.regex).groups
    if not groups or len(metric.regex) > LONGEST_REGEX:
        raise UsageError(
            "no part of it is the figure",
            where=at("metric", "regex"),
            remedy="put the figure in brackets, such as 'tps = ([0-9.]+)'",
        )
    if not 0 < len(metric.unit) <= LONGEST_UNIT or not metric.unit.isprintable():
        raise UsageError("a figure has a unit", where=at("metric", "unit"), remedy="write one such as 'tps'")
