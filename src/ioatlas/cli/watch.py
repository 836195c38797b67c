# SPDX-License-Identifier: Apache-2.0
"""`ioatlas watch`: measure a few cells again and again, and tell when they get worse; what it
prints: a line for each round, one JSON object a line with --json.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from ioatlas.answer.analysis.watching import Rules
from ioatlas.answer.analysis.wording import plural
from ioatlas.answer.results.library import results_folder
from ioatlas.cli._arguments import PathOrWord, quantity_option, units_option
from ioatlas.cli._commands import examples
from ioatlas.cli._live import Stop, TerminalLine, json_lines, paragraph
from ioatlas.cli._options import (
    Asked,
    Measuring,
    directory_option,
    how_options,
    metrics_option,
    plan_text,
    with_levels,
    with_metrics,
)
from ioatlas.cli._output import say, say_json, says_what_does_not_fit
from ioatlas.measure.procedures.options import FitOptions
from ioatlas.model.errors import GateError, IoAtlasError, RefusedError, UsageError
from ioatlas.model.outcomes import Event
from ioatlas.model.quantities import LOWER_IS_BETTER
from ioatlas.model.units import (
    format_count,
    format_duration,
    format_latency,
    format_rate,
    parse_duration_seconds,
    parse_percent,
)
from ioatlas.plan.spec import CampaignSpec

if TYPE_CHECKING:
    from ioatlas.measure.run.plan import Plan
    from ioatlas.measure.watch import Alarm, Session
    from ioatlas.measure.watch_kept import Settings
    from ioatlas.plan.spec import CampaignSpec

FEWEST_EVERY_SECONDS = 10.0


@click.command(name="watch", epilog=examples("watch"))
@click.argument("target", required=False, type=PathOrWord())
@click.option("--every", metavar="TIME", required=True, help="Time between the starts of two rounds.")
@click.option("--share", metavar="PERCENT", default="1%", show_default=True, help="Largest share of the target's time.")
@click.option(
    "--campaign", "campaign_file", metavar="FILE.toml", type=click.Path(path_type=Path), help="Your own cells."
)
@click.option("--for", "uses", metavar="USE[,USE...]", help="Watch whether it still fits these uses.")
@click.option("--size", metavar="SIZE", help="Bytes of the target to use. Default: 256m, less where writing is slow.")
@quantity_option("What is watched.")
@click.option(
    "--false-alarms",
    metavar="TIME",
    default="365d",
    show_default=True,
    help="Mean time between false alarms of a target that does not change.",
)
@click.option("--tolerance", metavar="PERCENT", default="5%", show_default=True, help="Smaller changes are no alarm.")
@click.option("--rhythm", metavar="TIME", help="Compare rounds with the same hour of other days (24h) or weeks (7d).")
@click.option("--alarm", "command_line", metavar="COMMAND", help="Run by /bin/sh on an alarm, with IOATLAS_ALARM.")
@click.option("--until", metavar="WHEN", help="End after a time (7d), at a date (2026-12-31), or at an `alarm`.")
@click.option("--once", is_flag=True, help="Make one round if the share allows it, then end: for a timer.")
@directory_option(help="Directory of the rounds. Default: ioatlas-watch-NAME in the results folder.")
@how_options(
    "dry_run read_only destroy overwrite verbose quiet open_report as_json",
    dry_run="Show what a round does and how soon changes would be found; write nothing.",
    verbose="Add the seconds of each round, and how near an alarm is.",
    quiet="No progress, and only the rounds that have news.",
    open_report="Open the newest round's report in the browser at the end.",
    as_json="Print a JSON object per line.",
)
@click.option("--yes", is_flag=True, expose_value=False, hidden=True)
@metrics_option
@units_option
@says_what_does_not_fit
def command(
    how: Measuring,
    target: str | None,
    every: str,
    share: str,
    campaign_file: Path | None,
    uses: str | None,
    size: str | None,
    quantity: str,
    false_alarms: str,
    tolerance: str,
    rhythm: str | None,
    command_line: str | None,
    until: str | None,
    once: bool,
    output: Path | None,
) -> None:
    """Measure a few cells of TARGET again and again, and raise an alarm when they get worse.

    Each round is a small campaign, which `ioatlas compare` reads too. Rounds take a bounded share of the
    target's time. A round that was killed is finished by the next call.
    """
    from ioatlas.cli._session import write_report_of
    from ioatlas.measure.run.environment import system_environment
    from ioatlas.measure.run.set_up import Consent
    from ioatlas.measure.watch import Session, only_one
    from ioatlas.measure.watch_kept import FIT, MOST_SHARE, kept, kept_of, round_seconds, settings_of

    if uses:
        _check_alone(click.get_current_context())
    taken = parse_percent(share, where="--share", most=MOST_SHARE)
    if not taken:
        raise UsageError("the share is above 0", where="--share", remedy="write 1%")
    rules = _rules(every, false_alarms, tolerance, rhythm, higher_is_better=quantity not in LOWER_IS_BETTER)
    seconds = round_seconds(rules.every_seconds, taken)
    spec = _spec(target, campaign_file, uses, size, seconds, read_only=how.read_only)
    clock = system_environment().executor.clock
    end = _end(until, clock.time())
    try:
        plan = how.plan(spec)
    except RefusedError:
        raise
    except IoAtlasError:
        settings = kept_of(output, spec) if output is not None and not how.dry_run else None
        if settings is None:
            raise
    else:
        output = output or _default_directory(plan)
        settings = settings_of(spec, plan, FIT if uses else quantity, read_only=how.read_only)
        if how.dry_run:
            _show(plan, settings, rules, taken, as_json=how.as_json)
            return
        settings = kept(output, settings, chosen=campaign_file is not None or size is not None)
    assert output is not None
    with only_one(output):
        teller = Teller(how, command_line, settings.quantity)
        session = Session(
            output,
            settings,
            rules,
            taken,
            clock,
            confirmed=Consent(how.destroy, how.overwrite),
            told=with_metrics(teller.tell),
            loads=with_metrics(teller.load),
            alarm=teller.alarm,
            stop_asked=teller.stop,
        )
        session.rounds(once=once, end=end, at_alarm=until == "alarm")
        newest = session.newest() if how.open_report else None
        if newest is not None:
            write_report_of(newest)
            how.show(newest)
        teller.end(session)
    if session.alarms:
        sys.exit(GateError.exit_code)


def _rules(every: str, false_alarms: str, tolerance: str, rhythm: str | None, *, higher_is_better: bool) -> Rules:
    every_seconds = parse_duration_seconds(every, where="--every")
    apart = parse_duration_seconds(false_alarms, where="--false-alarms")
    cycle = parse_duration_seconds(rhythm, where="--rhythm") if rhythm else 0.0
    if every_seconds < FEWEST_EVERY_SECONDS:
        raise UsageError("rounds are at least 10 s apart", where="--every", remedy="write --every 1h")
    if apart < 10 * every_seconds:
        raise UsageError(
            f"false alarms every {format_duration(apart)} are no alarm: that is less than 10 rounds",
            where="--false-alarms",
            remedy=f"write --false-alarms {format_duration(max(100 * every_seconds, 86_400.0))}",
        )
    if cycle and cycle < 2 * every_seconds:
        raise UsageError("a rhythm holds at least two rounds", where="--rhythm", remedy="write --rhythm 24h")
    least = parse_percent(tolerance, where="--tolerance")
    return Rules(every_seconds, apart, least, cycle, higher_is_better)


def _check_alone(context: click.Context) -> None:
    """--for says itself what is measured and when it is an alarm."""
    for name in ("campaign_file", "size", "quantity", "false_alarms", "tolerance", "rhythm"):
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            option = "--campaign" if name == "campaign_file" else f"--{name.replace('_', '-')}"
            raise UsageError("a use says what is measured and what is an alarm", where=option, remedy="leave it out")


def _spec(
    target: str | None,
    campaign_file: Path | None,
    uses: str | None,
    size: str | None,
    seconds: float,
    *,
    read_only: bool,
) -> CampaignSpec:
    from ioatlas.measure.procedures.fit.read import in_full
    from ioatlas.measure.watch_kept import default_spec, of_one_size

    levels = {"size": size} if size is not None else {}
    if campaign_file is not None:
        spec = Asked((target,) if target is not None else (), None, campaign_file, levels, {}).spec()
    elif target is None:
        raise UsageError("no target is named", remedy="name one: `ioatlas watch DIRECTORY --every 1h`")
    else:
        spec = CampaignSpec(targets=(("", target),))
        if uses:
            spec = spec.having(FitOptions(in_full(uses)))
        else:
            spec = with_levels(default_spec(spec, read_only=read_only), levels)
    if len(spec.targets) != 1 or spec.configurations or spec.clients:
        raise UsageError("one target is watched from one client", where="watch", remedy="start a watch for each")
    spec = of_one_size(spec)
    budget = seconds if spec.budget_seconds is None else min(seconds, spec.budget_seconds)
    return replace(spec, budget_seconds=budget)


def _default_directory(plan: Plan) -> Path:

    plain = re.sub(r"[^A-Za-z0-9]+", "-", plan.targets[0].name).strip("-").lower()
    return results_folder() / f"ioatlas-watch-{plain[:60] or 'target'}"


def _end(until: str | None, now: float) -> float:
    if until is None or until == "alarm":
        return float("inf")
    try:
        return datetime.fromisoformat(until).astimezone(UTC).timestamp()
    except ValueError:
        pass
    try:
        return now + parse_duration_seconds(until, where="--until")
    except UsageError:
        raise UsageError(f"{until!r} is no time", where="--until", remedy="say 7d, 2026-12-31T18:00 or alarm") from None


def _show(plan: Plan, settings: Settings, rules: Rules, share: float, *, as_json: bool) -> None:
    from ioatlas.measure.watch import UNFIT_IN_A_ROW
    from ioatlas.measure.watch_kept import FIT
    from ioatlas.report.plan import summary_of

    found = {f"{shift:g}": length for shift, length in rules.found_after(settings.charts).items()}
    if as_json:
        watched = {"every_seconds": rules.every_seconds, "share": share, "quantity": settings.quantity}
        if settings.quantity != FIT:
            watched |= {
                "false_alarm_seconds": rules.false_alarm_seconds,
                "tolerance": rules.tolerance,
                "rhythm_seconds": rules.rhythm_seconds or None,
                "limit_sd": round(rules.limit(settings.charts), 3),
                "mean_rounds_until_found_by_sd": found,
            }
        say_json({"round": summary_of(plan), "watch": watched})
        return
    click.echo(plan_text(plan))
    budget = settings.spec.budget_seconds or 0.0
    click.echo(f"round        every {format_duration(rules.every_seconds)}, up to {format_duration(budget)} of load")
    if settings.quantity == FIT:
        click.echo(
            f"alarm        after {UNFIT_IN_A_ROW} rounds in which it does not fit, and none between in which it does"
        )
        return
    apart = rules.false_alarm_seconds
    days = f"{apart / 86_400:.0f} days" if apart >= 2 * 86_400 else format_duration(apart)
    click.echo(f"false alarm  once in {days} on average, while nothing changes")
    # Of one cell, and of a change that goes on.
    sizes = ", ".join(f"{length:g} rounds for {shift} sd" for shift, length in found.items())
    say(f"found after  {sizes} (sd: by which rounds differ)", indent=13)


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
        from ioatlas.measure.watch import run_command

        why = run_command(self._command, alarm)
        if why:
            click.echo(f"--alarm: {why}", err=True)


def _value(value: float, quantity: str) -> str:
    if quantity == "bw":
        return format_rate(value)
    return f"{format_count(value)} IOPS" if quantity == "iops" else format_latency(value)
