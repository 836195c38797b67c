# SPDX-License-Identifier: Apache-2.0
"""`ioatlas tune`: the best numjobs x iodepth under a latency limit."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ioatlas import beneath
from ioatlas.cli._options import (
    campaign_option,
    check_read_only,
    destroy_option,
    directory_option,
    overwrite_option,
    read_only_option,
)
from ioatlas.config.spec import CampaignSpec
from ioatlas.config.sweep import read_sweep
from ioatlas.errors import PartialResultError, UsageError
from ioatlas.model.units import format_count, format_duration, format_latency, format_rate, parse_duration_seconds
from ioatlas.procedures.options import CAMPAIGN

if TYPE_CHECKING:
    from ioatlas.design.latency_search import Goal, Load
    from ioatlas.model.events import Emit, Event
    from ioatlas.procedures.tune.result import CurvePoint, Tuning
    from ioatlas.store.journal import Journal

RESULT = "tune.json"
SHORTEST_BUDGET_SECONDS = 10.0
BUDGET = CAMPAIGN.option("budget")


@click.command(
    name="tune",
    epilog="""\b
Examples:
  ioatlas tune /mnt/nas --rw randread --bs 4k --p99 5ms            most IOPS with 99% of reads within 5 ms
  ioatlas tune nbd://server --rw randread --bs 4k --mean 2ms --read-only
  ioatlas tune /mnt/nas --rw randrw --rwmixread 67 --bs 8k --p99 20ms --json
  ioatlas tune /mnt/nas --rw read --bs 1m --max-throughput --max-jobs 16 --max-depth 32
  ioatlas resume DIR                                               a search that was stopped

\b
Exit status: 0 done, 1 failed, 2 refused or wrong usage, 3 no setting meets the limit,
4 stopped early with a partial result.""",
)
@click.argument("target", required=False)
@click.option("--rw", metavar="MODE", help="fio's rw: read, write, randread, randwrite, rw, randrw. Default: randread.")
@click.option("--bs", metavar="SIZE", help="Block size. Default: 4k.")
@click.option(
    "--size",
    metavar="SIZE",
    help="Bytes of the target that are used. Default: 1 GiB of a directory, else the whole target.",
)
@click.option("--rwmixread", type=click.IntRange(0, 100), metavar="PERCENT", help="Share of reads of a mixed load.")
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="OPTION=VALUE",
    help="Any other fio option of the load, such as direct=0; may be repeated.",
)
@click.option("--p99", metavar="TIME", help="Limit of the 99th percentile of latency, such as 5ms.")
@click.option("--mean", metavar="TIME", help="Limit of the mean latency.")
@click.option("--max-throughput", is_flag=True, help="No limit: the smallest load with the most IOPS.")
@click.option("--max-jobs", type=click.IntRange(1, 1024), default=64, show_default=True, help="Most jobs.")
@click.option(
    "--max-depth", type=click.IntRange(1, 4096), default=256, show_default=True, help="Most I/Os in flight of a job."
)
@campaign_option(BUDGET, "Time the whole may take, such as 2m, 10 s or more.")
@directory_option(help="Directory of the search. Default: a new one here.")
@read_only_option
@destroy_option
@overwrite_option
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def command(
    target: str | None,
    rw: str | None,
    bs: str | None,
    size: str | None,
    rwmixread: int | None,
    settings: tuple[str, ...],
    p99: str | None,
    mean: str | None,
    max_throughput: bool,
    max_jobs: int,
    max_depth: int,
    budget: str | None,
    output: Path | None,
    read_only: bool,
    destroy: str | None,
    overwrite: str | None,
    as_json: bool,
) -> None:
    """Find the numjobs x iodepth with the most IOPS on TARGET under a latency limit.

    Measures the load-latency curve up to it as well.
    """
    if target is None:
        raise UsageError("no target is named", remedy="name one: `ioatlas tune DIRECTORY --p99 5ms`")
    from ioatlas.campaign import default_directory, open_plan, start
    from ioatlas.procedures.tune.procedure import Tune

    goal = _goal(p99, mean, max_jobs, max_depth, max_throughput=max_throughput)
    spec = _spec(
        target, {"rw": rw or "randread", "bs": bs or "4k", "size": size, "rwmixread": rwmixread}, settings, budget
    )
    procedure = Tune(goal)
    plan = open_plan(spec, read_only=read_only, procedure=procedure)
    if read_only:
        check_read_only(plan)
    directory = output or default_directory(plan)
    journal = start(plan, directory, destroy=destroy, overwrite=overwrite, procedure=procedure)
    finish(journal, as_json=as_json)


def _goal(p99: str | None, mean: str | None, max_jobs: int, max_depth: int, *, max_throughput: bool) -> Goal:
    from ioatlas.design.latency_search import Goal

    if sum((p99 is not None, mean is not None, max_throughput)) != 1:
        raise UsageError(
            "one goal is needed: --p99 TIME, --mean TIME or --max-throughput",
            where="tune",
            remedy="write for example --p99 5ms",
        )
    if max_throughput:
        return Goal(limit_ns=None, max_jobs=max_jobs, max_depth=max_depth)
    name, text = ("--p99", p99) if p99 is not None else ("--mean", mean)
    seconds = parse_duration_seconds(text or "", where=name)
    if seconds <= 0:
        raise UsageError("the limit is zero", where=name, remedy="write a time such as 5ms")
    if seconds >= 60:
        raise UsageError(
            f"a limit of {format_duration(seconds)} is none",
            where=name,
            remedy="bare numbers are seconds: write 5ms, or --max-throughput",
        )
    return Goal("p99" if p99 is not None else "mean", seconds * 1e9, max_jobs, max_depth)


def _spec(target: str, named: dict[str, Any], settings: tuple[str, ...], budget: str | None) -> CampaignSpec:
    wanted = {name: value for name, value in named.items() if value is not None}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals or not value:
            raise UsageError(f"{setting!r} sets nothing", where="--set", remedy="write OPTION=VALUE, such as direct=0")
        if name in wanted:
            raise UsageError(f"{name} is set twice", where="--set", remedy="keep one of them")
        wanted[name] = value
    axes, constants = read_sweep(wanted, lambda name: f"--{name}" if name in named else f"--set {name}")
    if axes:
        raise UsageError(
            f"{next(iter(axes))} has several values",
            where="tune",
            remedy="tune one load at a time, or use `ioatlas map`",
        )
    seconds = None
    if budget is not None:
        seconds = BUDGET.option.kind.read(budget, "--budget")
        if seconds < SHORTEST_BUDGET_SECONDS:
            raise UsageError("a search takes 10 s at least", where="--budget", remedy="write --budget 1m")
    return CampaignSpec(targets=(("", target),), constants=constants, budget_seconds=seconds)


def finish(journal: Journal, *, as_json: bool) -> None:
    """Run the search to its end, write its result beside the journal and print it.

    Exit status 3 when no setting meets the limit.
    """
    from ioatlas.campaign import run
    from ioatlas.cli._live import Stop, TerminalLine
    from ioatlas.procedures.tune.result import load_tuning

    stop = Stop()
    emit = _listener()
    try:
        run(journal, emit=emit, stop_asked=stop)
        tuning = load_tuning(journal)
    except PartialResultError as error:
        if stop():
            click.echo(f"ioatlas: {error}", err=True)
            stop.die()
        raise
    finally:
        if isinstance(emit, TerminalLine):
            emit.close()
        journal.close()
    document = {"directory": str(journal.directory), **tuning.as_json()}
    beneath.write_text(journal.directory / RESULT, json.dumps(document, indent=1) + "\n", in_root=True)
    if as_json:
        click.echo(json.dumps(document, indent=1))
    else:
        for line in describe(tuning):
            click.echo(line)
        click.echo(f"all of it: {journal.directory / RESULT}")
    if tuning.best is None:
        sys.exit(3)


def _listener() -> Emit:
    """On a terminal the usual line; elsewhere one line on standard error for each part."""
    from ioatlas.cli._live import TerminalLine

    if sys.stderr.isatty():
        return TerminalLine()

    def tell(event: Event) -> None:
        if event.name == "phase":
            click.echo(f"{event.fields['text']}, about {format_duration(event.fields['seconds_left'])} left", err=True)
        elif event.name == "remark":
            click.echo(str(event.fields["text"]), err=True)

    return tell


def describe(tuning: Tuning) -> list[str]:
    """The result for people: the settings around the best, the curve, one sentence."""
    lines = [f"{'jobs':>5} {'iodepth':>7} {'IOPS':>9} {'mean':>9} {'p99':>9}  "]
    limit = tuning.goal.limit_ns is not None
    for load in tuning.outcome.pareto:
        words = ("within the limit" if load.verdict.state == "meets" else "over the limit") if limit else ""
        lines.append(_row(load) + f"  {words}")
    best = tuning.best
    if tuning.curve:
        lines += ["", f"{'offered':>8} {'IOPS':>9} {'mean':>9} {'p99':>9}   open loop; latencies are lower bounds"]
        lines += [
            f"{format_count(p.offered):>8} {_figures(p)}   {'overloaded' if p.overloaded else ''}" for p in tuning.curve
        ]
    asked = (
        f"{tuning.goal.quantity} within {format_latency(tuning.goal.limit_ns)}"
        if tuning.goal.limit_ns is not None
        else "no latency limit"
    )
    if best is None:
        why = (
            "even one I/O at a time exceeds it"
            if not tuning.refuted
            else "fresh visits confirmed none of the settings that the search named"
        )
        if not tuning.outcome.loads:
            why = "no trial finished"
        return [*lines, "", f"No setting found for {asked}: {why}."]
    interval = (
        f" ({format_count(best.iops_low)} to {format_count(best.iops_high)})"
        if best.iops_low and best.iops_high
        else ""
    )
    sentence = (
        f"Best for {asked}: {best.numjobs} x {best.iodepth} (numjobs x iodepth), "
        f"{format_count(best.iops)} IOPS{interval}, {format_rate(best.bw_bytes_per_s)}, p99 {_time(best.lat_p99_ns)}, "
        f"from {best.n_visits} fresh visits; ended by: {tuning.limited_by}."
    )
    return [*lines, "", sentence]


def _row(load: Load) -> str:
    return f"{load.point[0]:>5} {load.point[1]:>7} {_figures(load)}"


def _figures(load: Load | CurvePoint) -> str:
    return f"{format_count(load.iops):>9} {_time(load.lat_mean_ns):>9} {_time(load.lat_p99_ns):>9}"


def _time(nanoseconds: float | None) -> str:
    return format_latency(nanoseconds) if nanoseconds is not None else "-"
