# SPDX-License-Identifier: Apache-2.0
"""Power: a number of watts that a command or a URL gives each second, or that a person typed in.

    [power.nas]
    url = "http://10.0.0.7/cm?cmnd=Status%208"
    path = "StatusSNS.ENERGY.Power"                  # where the watts stand in a JSON answer
    [power.shelf]
    command = "ipmitool dcmi power reading | awk '/Instantaneous/ {print $4}'"
    [power.old-array]
    idle = "210 W"
    loaded = "265 W"

`of` says whose power it is: 'target' (what IOPS per watt are reckoned with) or 'client' (told, not reckoned with).
"""

from __future__ import annotations

import json
import math
import os
import re
import signal
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Literal, cast
from urllib.parse import urlsplit

from ioatlas.errors import IoAtlasError, UsageError

Of = Literal["target", "client"]
TIMEOUT_SECONDS = 3.0
_MOST_BYTES = 4 << 20
_WAYS = ("command", "url", "loaded")
_KEYS = {*_WAYS, "path", "idle", "of"}
_GONE = ("redfish", "ipmi", "rapl", "user", "password_env", "insecure", "scale")


class MeterError(IoAtlasError):
    """A meter did not answer, or what it said holds no power."""


class Meter(ABC):
    """One source of watts.

    name: as the person called it. of: whose power. interval_seconds: no sense in asking it more often.
    idle_watts, loaded_watts: typed in; None where they have to be measured.
    """

    idle_watts: float | None = None
    loaded_watts: float | None = None
    interval_seconds = 1.0

    def __init__(self, name: str, of: Of = "target") -> None:
        self.name = name
        self.of: Of = of

    @abstractmethod
    def sample(self) -> float:
        """Watts now. Raises MeterError."""

    @property
    @abstractmethod
    def source(self) -> str:
        """How it is read, without addresses."""


class TypedMeter(Meter):
    """What a person read off a meter by hand: one value under load, one at rest."""

    interval_seconds = math.inf

    def __init__(self, name: str, loaded_watts: float, idle_watts: float | None, of: Of = "target") -> None:
        super().__init__(name, of)
        self._watts = self.loaded_watts = loaded_watts
        self.idle_watts = idle_watts

    @property
    def source(self) -> str:
        return "typed in"

    def sample(self) -> float:
        return self._watts


class CommandMeter(Meter):
    """A command of the user's own, run by /bin/sh: the last line that it prints is the watts."""

    def __init__(self, name: str, command: str, of: Of = "target") -> None:
        super().__init__(name, of)
        self._command = command

    @property
    def source(self) -> str:
        return "a command"

    def sample(self) -> float:
        with subprocess.Popen(
            ["/bin/sh", "-c", self._command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        ) as process:
            try:
                said, complaint = process.communicate(timeout=TIMEOUT_SECONDS)
            except subprocess.TimeoutExpired as error:
                os.killpg(process.pid, signal.SIGKILL)
                raise MeterError(f"no answer within {TIMEOUT_SECONDS:g} s", where=self.name) from error
        watts = _number((said.strip().splitlines() or [""])[-1])
        if watts is None:
            reason = (complaint.strip() or said.strip() or f"exit status {process.returncode}").splitlines()[-1]
            raise MeterError(
                f"its command prints no watts: {reason}", where=self.name, remedy="let its last line be a number"
            )
        return watts


class UrlMeter(Meter):
    """A URL that answers with a number, or with JSON that holds one at `path` ('outlets.3.watts')."""

    def __init__(self, name: str, url: str, path: str = "", of: Of = "target") -> None:
        super().__init__(name, of)
        self._url, self._path = url, path

    @property
    def source(self) -> str:
        return f"HTTP{f', {self._path}' if self._path else ''}"

    def sample(self) -> float:
        import urllib.request

        place = urlsplit(self._url)
        where = f"{place.scheme}://{place.hostname}{place.path}"
        # A meter stands in the same room: no proxy lies between.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(self._url, timeout=TIMEOUT_SECONDS) as answer:
                said = json.loads(answer.read(_MOST_BYTES))
        except OSError as error:
            raise MeterError(
                f"the meter does not answer: {getattr(error, 'reason', '') or error}",
                where=where,
                remedy="is the address right? Where it asks for a password, use a command such as curl",
            ) from error
        except (ValueError, RecursionError) as error:
            raise MeterError("it answers neither a number nor JSON", where=where, remedy="use a command") from error
        watts = value_at(said, self._path)
        if watts is None:
            raise MeterError(
                f"there is no number at {self._path!r}",
                where=self.name,
                remedy='write path = "a.b.0.watts"',
            )
        return watts


def value_at(data: Any, path: str) -> float | None:
    """The number at 'a.b.0.c': names of objects and places in lists; None when there is none."""
    for step in path.split(".") if path else ():
        if isinstance(data, dict) and step in data:
            data = data[step]
        elif isinstance(data, list) and step.isdigit() and int(step) < len(data):
            data = data[int(step)]
        else:
            return None
    return None if isinstance(data, bool) else _number(str(data))


def _number(text: str) -> float | None:
    """The watts in '41.5', '41.5 W' or '4.15e1'."""
    found = re.fullmatch(r"\s*(-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)\s*W?\s*", text)
    return float(found[1]) if found and math.isfinite(float(found[1])) else None


def open_meters(spec: Mapping[str, Mapping[str, object]], *, where: str = "power") -> list[Meter]:
    """The meters of a `[power]` table: name -> its settings (see the head of this file). Nothing is asked yet.

    Raises UsageError for what is mistaken.
    """
    meters = []
    for name, entry in spec.items():
        if not isinstance(entry, Mapping):
            raise UsageError(
                f"power.{name} must be a table",
                where=where,
                remedy=f'write [power.{name}] and below it a line such as url = "http://..."',
            )
        meters.append(_open(name, entry, f"{where}: power.{name}"))
    return meters


def _open(name: str, entry: Mapping[str, object], where: str) -> Meter:
    unknown = sorted(entry.keys() - _KEYS)
    if unknown:
        remedy = 'use command = "...", see the guide to power' if unknown[0] in _GONE else ""
        raise UsageError(
            f"there is no key {unknown[0]!r}", where=where, remedy=remedy or f"a meter has {', '.join(sorted(_KEYS))}"
        )
    ways = [way for way in _WAYS if way in entry]
    if len(ways) != 1:
        raise UsageError(
            f"a meter is read in one way, not {len(ways)}", where=where, remedy='give command, url, or loaded = "265 W"'
        )
    of = str(entry.get("of", "target"))
    if of not in {"target", "client"}:
        raise UsageError(f"of = {of!r}", where=where, remedy="it is the power of the target or of the client")
    whose = cast(Of, of)
    if "loaded" in entry:
        idle = entry.get("idle")
        return TypedMeter(name, _watts(entry["loaded"], where), None if idle is None else _watts(idle, where), whose)
    if "command" in entry:
        command = str(entry["command"])
        if not command.strip() or "\n" in command:
            raise UsageError("its command is no single line", where=where, remedy="call a script for more")
        return CommandMeter(name, command, whose)
    url = str(entry["url"])
    if urlsplit(url).scheme not in {"http", "https"} or not urlsplit(url).hostname:
        raise UsageError(f"{url!r} is not a URL of a meter", where=where, remedy="write http://ADDRESS/PATH")
    return UrlMeter(name, url, str(entry.get("path", "")), whose)


def _watts(value: object, where: str) -> float:
    found = _number(str(value))
    if found is None or found < 0:
        raise UsageError(f"{value!r} is not a power", where=where, remedy='write "265 W"')
    return found
