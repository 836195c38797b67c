# SPDX-License-Identifier: Apache-2.0
"""Watts during a load: meters asked in threads of their own, their answers dated; means over a stretch of time."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from ioatlas.testbed.beats import Beats, Recorder
from ioatlas.testbed.power import Meter, MeterError

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
    inside: dict[str, list[float]] = {}
    for one in samples:
        if begin <= one.end <= end:
            inside.setdefault(one.meter, []).append(one.watts)
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
