# SPDX-License-Identifier: Apache-2.0
"""What a person sees while a campaign works: one line on a terminal, one JSON object a line with --json, else
nothing.
"""

from __future__ import annotations

import json
import shutil
import signal
import sys
import textwrap
from types import FrameType
from typing import Any

import click

from ioatlas.model.events import Emit, Event
from ioatlas.model.units import (
    format_count,
    format_duration,
    format_latency,
    format_rate,
    format_size,
    format_size_rounded,
)

WIDEST = 120
TELLING_SHARE = 0.02
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
    if not sys.stdout.isatty():
        return sentence
    width = min(shutil.get_terminal_size().columns, WIDEST)
    return textwrap.fill(sentence, width, initial_indent="• ", subsequent_indent="  ", break_on_hyphens=False)


def json_lines(event: Event) -> None:
    """One JSON object a line on standard output."""
    click.echo(json.dumps(event.as_json(), separators=(",", ":")))


class TerminalLine:
    """A line that is drawn again and again on standard error."""

    def __init__(self) -> None:
        self._last = ""
        self._state = ""

    def __call__(self, event: Event) -> None:
        fields = event.fields
        match event.name:
            case "layout":
                done, total = fields.get("bytes_done", 0), fields["bytes"]
                # The first bytes tell nothing of the rest: they wait for the file to be made.
                left = fields.get("seconds_left") if done >= total * TELLING_SHARE else None
                self._state = (
                    f"laying out {format_size_rounded(done)} of {format_size_rounded(total)} on {fields['target']}"
                )
                self._state += f", {format_duration(left)} left" if left else ""
            case "probe":
                self._state = f"trying the lightest and heaviest of {fields['cells']} corners"
            case "progress":
                done, planned = fields["visits_done"], fields["visits_planned"]
                self._state = (
                    f"{done}/{done + planned} visits, "
                    f"{format_duration(max(1.0, fields['seconds_left'] - fields['batch_seconds']))} left"
                )
            case "visit":
                self._last = _picture(fields)
            case "fresh":
                self._say(f"measuring {fields['cells']} extreme cells again")
            case "round":
                self._say(str(fields["text"]))
            case "remark":
                self._say(str(fields["text"]))
            case _:
                return
        self._draw()

    def _draw(self) -> None:
        width = shutil.get_terminal_size().columns - 1
        text = f"{self._state}   {self._last}" if self._last else self._state
        click.echo(f"\r\x1b[K{text[:width]}", nl=False, err=True)

    def _say(self, text: str) -> None:
        click.echo(f"\r\x1b[K{text}", err=True)

    def close(self) -> None:
        click.echo("\r\x1b[K", nl=False, err=True)


def _picture(fields: Any) -> str:
    """The last result in one line, with its throughput over the window as bars."""
    rates = fields.get("bw_series", [])
    top = max(rates, default=0)
    bars = "".join(_BARS[min(7, int(rate / top * 7.99))] for rate in rates) if top > 0 else ""
    latency = f" {format_latency(fields['lat_mean_ns'])}" if fields.get("lat_mean_ns") else ""
    return (
        f"{fields['rw']} {format_size(fields['bs_bytes'])} x{fields['numjobs'] * fields['iodepth']}: "
        f"{bars} {format_rate(fields['bw_bytes_per_s'])} {format_count(fields['iops'])} IOPS{latency}"
    )


def choose(as_json: bool) -> Emit:
    """The listener for this run."""
    if as_json:
        return json_lines
    if sys.stderr.isatty():
        return TerminalLine()
    return lambda _event: None
