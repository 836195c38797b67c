# SPDX-License-Identifier: Apache-2.0
"""What `ioatlas watch` prints: a line for each round, one JSON object a line with --json."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from typing import Any

import click

from ioatlas.analysis.wording import plural
from ioatlas.cli._live import Stop, TerminalLine, json_lines, paragraph
from ioatlas.cli._options import Measuring
from ioatlas.model.events import Event
from ioatlas.model.units import format_count, format_duration, format_latency, format_rate
from ioatlas.watch.session import Alarm, Session

NEAR = 0.5
"""Evidence from which on a line says so, as a share of what an alarm takes."""


class Teller:
    """Prints, runs the user's command, and remembers signals. command: of the user; None without one. quantity: that is
    watched.

    quiet: a round is told only when it was not measured. verbose: with its seconds and its evidence.
    """

    def __init__(self, how: Measuring, command: str | None, quantity: str) -> None:
        self._how, self._command, self._quantity = how, command, quantity
        self.stop = Stop()
        self._line = TerminalLine() if sys.stderr.isatty() and not how.as_json and not how.quiet else None

    def end(self, session: Session) -> None:
        """The last line."""
        if self._line is not None:
            self._line.close()
        told = {"rounds": session.made, "alarms": session.alarms, "directory": str(session.directory)}
        if self._how.as_json:
            json_lines(Event("done", told))
        elif not session.made:
            left = session.due_by_share() - session.clock.time()
            if left > 0:
                click.echo(f"No round: the share allows the next one in {format_duration(left)}.")
        if self.stop() and not session.alarms:
            self.stop.die()

    def load(self, event: Event) -> None:
        """What the campaign of a round tells."""
        if self._line is not None:
            self._line(event)

    def tell(self, event: Event) -> None:
        """What happens to the watch."""
        if self._line is not None:
            self._line.close()
        fields = event.fields
        if self._how.as_json:
            json_lines(event)
        elif event.name == "watched":
            if text := self._round(fields):
                click.echo(text)
        elif event.name in ("better", "alarm"):
            click.echo(paragraph(f"{'ALARM' if event.name == 'alarm' else 'Better'}: {fields['text']}"))

    def _round(self, fields: Mapping[str, Any]) -> str:
        """'2026-11-23 10:00  randread 4 KiB x4 12.3 MiB/s (-1%)  ...'."""
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(fields["began"]))
        if fields["failed"]:
            return f"{when}  not measured: {fields['failed']}"
        if self._how.quiet:
            return ""
        parts = [f"{chart['name']} {self._level(chart)}" for chart in fields["charts"]]
        parts += [fit["sentence"].rstrip(".") for fit in fields["fits"]]
        without = fields["cells_without_value"]
        if without:
            parts.append(f"no time for {plural(without, 'more cell')}: raise --share, or watch fewer")
        if self._how.verbose:
            parts.append(f"{fields['round']}, {format_duration(fields['seconds'])}")
        return f"{when}  " + "; ".join(parts)

    def _level(self, chart: Mapping[str, Any]) -> str:
        last = _value(chart["last"], self._quantity)
        if chart["learning"]:
            return f"{last} (learning)"
        near = ", may be getting worse" if chart["evidence"] >= NEAR else ""
        if self._how.verbose:
            near += f", {chart['evidence']:.0%} of an alarm's evidence"
        return f"{last} ({chart['last'] / chart['level'] - 1:+.0%}{near})"

    def alarm(self, alarm: Alarm) -> None:
        """Run the user's command."""
        if self._command is None:
            return
        from ioatlas.watch.session import run_command

        why = run_command(self._command, alarm)
        if why:
            click.echo(f"--alarm: {why}", err=True)


def _value(value: float, quantity: str) -> str:
    if quantity == "bw":
        return format_rate(value)
    return f"{format_count(value)} IOPS" if quantity == "iops" else format_latency(value)
