# SPDX-License-Identifier: Apache-2.0
"""What a person sees while a campaign works: a bar on a terminal, one JSON object a line with --json, else a plain line
every few seconds.
"""

from __future__ import annotations

import shutil
import signal
import sys
import time
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any

import click

from ioatlas.answer.analysis.wording import plural
from ioatlas.cli._output import folded, say, say_json
from ioatlas.model.outcomes import Emit, Event
from ioatlas.model.units import (
    format_count,
    format_duration,
    format_latency,
    format_rate,
    format_size,
    format_size_rounded,
)

TELLING_SHARE = 0.02
BAR = 16
ERASED = "\r\x1b[K"
PLAIN_SECONDS = 5.0
"""Between two lines where there is no terminal."""
_BARS = "▁▂▃▄▅▆▇█"


class Stop:
    """Remembers SIGINT, SIGTERM and SIGHUP; the campaign looks at it between two steps."""

    def __init__(self) -> None:
        self.signum: int | None = None
        for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(signum, self._note)

    def _note(self, signum: int, _frame: FrameType | None) -> None:
        if self.signum is None and sys.stderr.isatty():
            click.echo("\nstopping: finished visits are kept, the target is cleaned ...", err=True)
        self.signum = signum

    def __call__(self) -> bool:
        return self.signum is not None

    def die(self) -> None:
        """End as the signal would have ended us, so that the caller sees the truth."""
        if self.signum is not None:
            signal.signal(self.signum, signal.SIG_DFL)
            signal.raise_signal(self.signum)


def paragraph(sentence: str) -> str:
    """A sentence as it is printed: folded between words on a terminal, one line elsewhere, for tools that read
    lines.
    """
    return folded(f"• {sentence}", 2) if sys.stdout.isatty() else sentence


def json_lines(event: Event) -> None:
    """One JSON object a line on standard output."""
    say_json(event.as_json(), line=True)


class Progress:
    """What the events said so far, in words."""

    def __init__(self) -> None:
        self._state = ""
        self._now = ""
        self._last = ""
        self._shorter: list[str] = []
        self._share: float | None = None

    def take(self, event: Event) -> str | None:
        """A line that stands by itself; '' when the state changed, None when it did not."""
        fields = event.fields
        match event.name:
            case "layout":
                done, total = fields.get("bytes_done", 0), fields["bytes"]
                # The first bytes tell nothing of the rest: they wait for the file to be made.
                left = fields.get("seconds_left") if done >= total * TELLING_SHARE else None
                amount = f"{format_size_rounded(done)} of {format_size_rounded(total)}"
                self._state = f"laying out {amount} on {fields['target']}"
                self._state += f", {format_duration(left)} left" if left else ""
            case "probe":
                self._state = f"trying {plural(fields['cells'], 'load')} to tell how long the rest takes"
            case "progress":
                self._take_progress(fields)
            case "visit":
                self._last, *self._shorter = _pictures(fields)
            case "removing":
                self._state = f"removing files on {fields['target']}: {fields['files']:,} are gone"
            case "fresh":
                return f"measuring the {fields['cells']} best cells again"
            case "phase" | "round" | "remark" | "configuration":
                return str(fields["text"])
            case _:
                return None
        return ""

    def _take_progress(self, fields: Mapping[str, Any]) -> None:
        done, planned = fields["visits_done"], fields["visits_planned"]
        passed, budget = fields.get("elapsed_seconds"), fields.get("budget_seconds")
        left = max(1.0, fields["seconds_left"] - fields["batch_seconds"])
        if passed is not None and budget:
            # Time that is left is used while it makes values surer: the budget is what it may take.
            left, most = max(1.0, budget - passed), " at most"
        else:
            most = ""
        self._share = passed / (passed + left) if passed is not None else None
        visits = f"{done}/{done + planned} visits" if planned else plural(done, "visit")
        self._state = f"{visits}, {format_duration(left)} left{most}"
        self._now = _load(fields) if "bs_bytes" in fields else ""

    def line(self, *, bar: bool, width: int | None = None) -> str:
        """'[████------] 40%  12/30 visits, 20 s left   now randread 4 KiB x4   read 1 MiB x1: 780 MiB/s ...'.

        width: what does not fit is left out from the end, figure by figure: half a number is another number.
        """
        parts = []
        if self._share is not None:
            told = f"{self._share:.0%}"
            full = round(self._share * BAR)
            parts.append(f"[{'█' * full}{'-' * (BAR - full)}] {told}" if bar else told)
        parts.append(self._state)
        now = f"now {self._now}" if self._now else ""
        ends = [*((now, last) for last in (self._last, *self._shorter)), (now, ""), ("", "")]
        lines = ["  ".join(part for part in (*parts, *end) if part) for end in ends]
        return next((line for line in lines if width is None or len(line) <= width), lines[-1][:width])


class TerminalLine:
    """A line that is drawn again and again on standard error. What a load gives stands in it as it came, credit and
    warm-up included: the map of what lasts is the answer's.
    """

    def __init__(self) -> None:
        self._progress = Progress()

    def __call__(self, event: Event) -> None:
        said = self._progress.take(event)
        if said is not None:
            told = f"{folded(said, 2)}\n" if said else ""
            line = self._progress.line(bar=True, width=shutil.get_terminal_size().columns - 1)
            click.echo(f"{ERASED}{told}{line}", nl=False, err=True)

    def close(self) -> None:
        """The answer follows."""
        click.echo(ERASED, nl=False, err=True)


class PlainLines:
    """Where there is no terminal: what is said once, and how far it is every few seconds, on standard error."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._progress = Progress()
        self._now = now
        self._told = now()

    def __call__(self, event: Event) -> None:
        said = self._progress.take(event)
        if said and event.name in ("configuration", "phase", "remark"):
            say(said, err=True)
        if said is None or self._now() - self._told < PLAIN_SECONDS:
            return
        self._told = self._now()
        click.echo(self._progress.line(bar=False), err=True)


def _load(fields: Mapping[str, Any]) -> str:
    """'randread 4 KiB x16': I/Os in flight after the x; of two streams both, for more do not fit a line."""
    if streams := fields.get("streams"):
        return " + ".join(map(_load, streams)) if len(streams) <= 2 else f"{len(streams)} streams"
    if "operation" in fields:
        return f"{fields['operation']} x{fields['numjobs']}"
    return f"{fields['rw']} {format_size(fields['bs_bytes'])} x{fields['numjobs'] * fields['iodepth']}"


def _pictures(fields: Any) -> list[str]:
    """The last result, with its throughput over the window as bars; then shorter and shorter."""
    rates = fields.get("bw_series", [])
    top = max(rates, default=0)
    bars = "".join(_BARS[min(7, int(rate / top * 7.99))] for rate in rates) if top > 0 else ""
    latency = f" {format_latency(fields['lat_mean_ns'])}" if fields.get("lat_mean_ns") else ""
    if "operation" in fields:
        return [f"{_load(fields)}: {format_count(fields['iops'])} operations/s{latency}"]
    rate = format_rate(fields["bw_bytes_per_s"])
    figures = f"{rate} {format_count(fields['iops'])} IOPS{latency}"
    # Where all of it fits but for the bars, figures say more than they do.
    return [f"{_load(fields)}: {shown}" for shown in (f"{bars} {figures}" if bars else figures, figures, rate)]


def silent(_event: Event) -> None:
    """Tells nothing."""


def choose(as_json: bool, *, quiet: bool = False) -> Emit:
    """The listener for this run."""
    if as_json:
        return json_lines
    if quiet:
        return silent
    if sys.stderr.isatty():
        return TerminalLine()
    return PlainLines()
