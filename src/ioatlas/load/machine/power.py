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
During a load meters are asked in threads of their own, and means are over a stretch of time.
"""

from __future__ import annotations

import json
import math
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean
from typing import Any, Literal, cast
from urllib.parse import urlsplit

from ioatlas.load.machine.telemetry import Beats, Recorder
from ioatlas.model.errors import IoAtlasError, UsageError
from ioatlas.model.units import grouped

Of = Literal["target", "client"]
TIMEOUT_SECONDS = 3.0
_MOST_BYTES = 4 << 20
_WAYS = ("command", "url", "loaded")
_KEYS = {*_WAYS, "path", "idle", "of"}
_GONE = ("redfish", "ipmi", "rapl", "user", "password_env", "insecure", "scale")


class MeterError(IoAtlasError):
    """A meter did not answer, or what it said holds no power."""


@dataclass(frozen=True)
class Meter:
    """One source of watts.

    name: as the person called it. of: whose power. source: how it is read, without addresses. sample: watts now; raises
    MeterError. interval_seconds: no sense in asking it more often. idle_watts, loaded_watts: typed in; None where they
    have to be measured.
    """

    name: str
    of: Of
    source: str
    sample: Callable[[], float]
    interval_seconds: float = 1.0
    idle_watts: float | None = None
    loaded_watts: float | None = None


def _of_command(name: str, command: str) -> float:
    """What a command of the user's own, run by /bin/sh, prints in its last line."""
    with subprocess.Popen(
        ["/bin/sh", "-c", command],
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
            raise MeterError(f"no answer within {TIMEOUT_SECONDS:g} s", where=name) from error
    watts = _number((said.strip().splitlines() or [""])[-1])
    if watts is None:
        reason = (complaint.strip() or said.strip() or f"exit status {process.returncode}").splitlines()[-1]
        raise MeterError(f"its command prints no watts: {reason}", where=name, remedy="let its last line be a number")
    return watts


def _of_url(name: str, url: str, path: str) -> float:
    """What a URL answers: a number, or JSON that holds one at `path` ('outlets.3.watts')."""
    import urllib.request

    place = urlsplit(url)
    where = f"{place.scheme}://{place.hostname}{place.path}"
    # A meter stands in the same room: no proxy lies between.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=TIMEOUT_SECONDS) as answer:
            said = json.loads(answer.read(_MOST_BYTES))
    except OSError as error:
        raise MeterError(
            f"the meter does not answer: {getattr(error, 'reason', '') or error}",
            where=where,
            remedy="is the address right? Where it asks for a password, use a command such as curl",
        ) from error
    except (ValueError, RecursionError) as error:
        raise MeterError("it answers neither a number nor JSON", where=where, remedy="use a command") from error
    watts = value_at(said, path)
    if watts is None:
        raise MeterError(f"there is no number at {path!r}", where=name, remedy='write path = "a.b.0.watts"')
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
        loaded, idle = (_watts(entry[key], where) if entry.get(key) is not None else None for key in ("loaded", "idle"))
        return Meter(name, whose, "typed in", lambda: loaded or 0.0, math.inf, idle, loaded)
    if "command" in entry:
        command = str(entry["command"])
        if not command.strip() or "\n" in command:
            raise UsageError("its command is no single line", where=where, remedy="call a script for more")
        return Meter(name, whose, "a command", partial(_of_command, name, command))
    url = str(entry["url"])
    if urlsplit(url).scheme not in {"http", "https"} or not urlsplit(url).hostname:
        raise UsageError(f"{url!r} is not a URL of a meter", where=where, remedy="write http://ADDRESS/PATH")
    path = str(entry.get("path", ""))
    return Meter(name, whose, f"HTTP{f', {path}' if path else ''}", partial(_of_url, name, url, path))


def _watts(value: object, where: str) -> float:
    found = _number(str(value))
    if found is None or found < 0:
        raise UsageError(f"{value!r} is not a power", where=where, remedy='write "265 W"')
    return found


IDLE_SECONDS = 3.0


@dataclass(frozen=True)
class PowerSample:
    """Watts of one meter at the moment it was asked, seconds since the epoch; begin and end are the same."""

    meter: str
    begin: float
    end: float
    watts: float


class PowerLog(Recorder):
    """Asks meters from start() to stop(), each as often as makes sense; one that fails leaves a gap,
    counted in `failures`.
    """

    def __init__(self, meters: Sequence[Meter]) -> None:
        self.meters = tuple(meters)
        self.failures: dict[str, str] = {}
        self._samples: list[PowerSample] = []
        self._beats: list[Beats] = []

    def start(self) -> None:
        """Begin to ask. A meter that was typed in gives nothing: what it says did not happen now."""
        self._samples.clear()
        self._beats = [self._beats_of(meter) for meter in self.meters if math.isfinite(meter.interval_seconds)]
        for one in self._beats:
            one.start()

    def stop(self) -> tuple[PowerSample, ...]:
        """All samples since start(). A second call gives the same again."""
        for one in self._beats:
            one.end()
        for one in self._beats:
            one.stop()
        self._beats = []
        return tuple(sorted(self._samples, key=lambda one: one.end))

    def _beats_of(self, meter: Meter) -> Beats:
        def work() -> None:
            try:
                watts = meter.sample()
            except MeterError as error:
                self.failures[meter.name] = error.what
                return
            now = time.time()
            self._samples.append(PowerSample(meter.name, now, now, watts))

        return Beats(f"power {meter.name}", meter.interval_seconds, work)


def mean_watts(samples: Iterable[PowerSample], begin: float = -math.inf, end: float = math.inf) -> dict[str, float]:
    """Mean watts by meter over [begin, end]; meters with nothing inside are left out."""
    inside = grouped((one.meter, one.watts) for one in samples if begin <= one.end <= end)
    return {name: fmean(watts) for name, watts in inside.items()}


def idle_watts(
    meters: Sequence[Meter], stop_asked: Callable[[], bool], seconds: float = IDLE_SECONDS
) -> dict[str, float]:
    """Watts of each meter while nothing of ours runs; what was typed in stands as it is."""
    typed = {meter.name: meter.idle_watts for meter in meters if meter.idle_watts is not None}
    live = [meter for meter in meters if meter.name not in typed and meter.source != "typed in"]
    if not live:
        return {name: watts for name, watts in typed.items() if watts is not None}
    log = PowerLog(live)
    log.start()
    end = time.monotonic() + seconds
    while time.monotonic() < end and not stop_asked():
        time.sleep(0.1)
    found = mean_watts(log.stop())
    if not found and log.failures:
        raise MeterError(
            "; ".join(f"{name}: {what}" for name, what in log.failures.items()),
            remedy="correct [power] in testbed.toml, or leave it out",
        )
    return {**found, **{name: watts for name, watts in typed.items() if watts is not None}}
