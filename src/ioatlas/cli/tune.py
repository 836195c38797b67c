# SPDX-License-Identifier: Apache-2.0
"""`ioatlas tune`: the best numjobs x iodepth under a latency limit."""

from __future__ import annotations

import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ioatlas.cli._arguments import PathOrWord, latency_limit, report_of
from ioatlas.cli._commands import examples
from ioatlas.cli._options import Measuring, campaign_option, consent_of, directory_option, measuring_options
from ioatlas.cli._output import fold, say_json
from ioatlas.measure.procedures.options import CAMPAIGN, USUAL_BUDGET_SECONDS
from ioatlas.model.errors import UsageError
from ioatlas.model.finding import Finding, FindingCode
from ioatlas.model.units import format_duration
from ioatlas.plan.spec import CampaignSpec, recorded_spec
from ioatlas.plan.sweep import read_sweep

if TYPE_CHECKING:
    from ioatlas.plan.latency_search import Goal
    from ioatlas.store.journal import Journal

MOST_LIMIT_NS = 60e9
SHORTEST_BUDGET_SECONDS = 10.0
BUDGET = CAMPAIGN.option("budget")


@click.command(name="tune", epilog=examples("tune"))
@click.argument("target", required=False, type=PathOrWord())
@click.option("--rw", metavar="MODE", help="fio's rw: read, write, randread, randwrite, rw, randrw. Default: randread.")
@click.option("--bs", metavar="SIZE", help="Block size. Default: 4k.")
@click.option(
    "--size", metavar="SIZE", help="Bytes of the target to use. Default: 1 GiB of a directory, else the whole target."
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
@click.option("--max-throughput", is_flag=True, help="No limit: the smallest load with the most IOPS. The default.")
@click.option(
    "--advise", is_flag=True, help="Try more jobs, depth, another engine, larger blocks; tell what each gains."
)
@click.option(
    "--cure", metavar="COMMAND", help="With --advise: tell what a command gains, such as 'blockdev --setra ...'."
)
@click.option("--undo", metavar="COMMAND", help="What sets back what --cure changed; run whatever happens.")
@click.option("--max-jobs", type=click.IntRange(1, 1024), default=64, show_default=True, help="Most jobs.")
@click.option(
    "--max-depth", type=click.IntRange(1, 4096), default=256, show_default=True, help="Most I/Os in flight of a job."
)
@click.option("--clients", metavar="HOSTS", default="", help="Several clients: hosts.toml, a,b,c, or local:4.")
@campaign_option(BUDGET, "Time it may take, at least 10s. Default: 3m.")
@directory_option(help="Directory of the search. Default: a new one here.")
@measuring_options
def command(
    how: Measuring,
    target: str | None,
    rw: str | None,
    bs: str | None,
    size: str | None,
    rwmixread: int | None,
    settings: tuple[str, ...],
    p99: str | None,
    mean: str | None,
    max_throughput: bool,
    advise: bool,
    cure: str | None,
    undo: str | None,
    max_jobs: int,
    max_depth: int,
    clients: str,
    budget: str | None,
    output: Path | None,
) -> None:
    """Find the numjobs x iodepth with the most IOPS on TARGET, under a latency limit if one is named.

    Measures the load-latency curve up to it as well, and says which fixed request rate is safe. Writes a report and a
    fio job of the best setting.
    """
    if target is None:
        raise UsageError("no target is named", remedy="name one: `ioatlas tune DIRECTORY --p99 5ms`")
    from ioatlas.cli._session import go_on
    from ioatlas.measure.procedures.tune.procedure import Tune
    from ioatlas.measure.procedures.tune.turns import advised

    goal = _goal(p99, mean, max_jobs, max_depth, max_throughput=max_throughput, advise=advise)
    spec = _spec(
        target, {"rw": rw or "randread", "bs": bs or "4k", "size": size, "rwmixread": rwmixread}, settings, budget
    )
    spec = replace(spec, clients=clients)
    if bool(cure) != bool(undo) or (cure and not advise):
        raise UsageError("it takes --advise, --cure and --undo", where="--cure", remedy="give all three of them")
    spec, procedure = advised(spec, cure, undo) if advise else (spec, Tune(goal))
    plan = how.plan(spec, procedure)
    if how.only_shows(plan):
        return
    journal = how.start(plan, output)
    go_on(journal, how, consent=consent_of(spec, how.destroy, how.overwrite, ()))


def tell_gains(journal: Journal, how: Measuring) -> None:
    """Make the visits, and say of each change what it gains."""
    from ioatlas.cli._session import measured
    from ioatlas.measure.procedures.tune.advice import cure, load_gains, load_settings
    from ioatlas.report.findings import sentence_of

    measured(journal, how)
    spec, report = recorded_spec(journal, CAMPAIGN.tables), report_of(journal.directory)
    found = load_gains(journal, base := spec.patterns[0])
    settings = load_settings(journal, base, found)
    if how.as_json:
        gains = [asdict(one) | {"proved": one.proved} for one in found]
        told = {"directory": str(journal.directory), "as_it_is": base, "gains": gains, "settings": settings}
        say_json({**told, "report": str(report)})
    else:
        click.echo(sentence_of(Finding(FindingCode.HIGHEST_LOAD, cure(found, spec))))
        click.echo("   as it is: " + " ".join(f"{name}={value}" for name, value in base.items()))
        for one in found:
            click.echo(f" {'✔' if one.proved else ' '} {f'{one.option}={one.value}':<20} {one.words}")
        for text in settings:
            click.echo("\n".join(fold(text, "  ")))
        click.echo(f"\nReport: {report}")
    how.show(journal.directory)


def _goal(
    p99: str | None, mean: str | None, max_jobs: int, max_depth: int, *, max_throughput: bool, advise: bool
) -> Goal:
    from ioatlas.plan.latency_search import Goal

    name, limit_ns = latency_limit(p99, mean)
    if sum((limit_ns is not None, max_throughput, advise)) > 1:
        raise UsageError(
            "only one goal is possible: --p99 TIME, --mean TIME, --max-throughput or --advise",
            where="tune",
            remedy="keep one of them",
        )
    if limit_ns is not None and not 0 < limit_ns < MOST_LIMIT_NS:
        raise UsageError(
            f"a limit of {format_duration(limit_ns / 1e9)} is none",
            where=f"--{name}",
            remedy="bare numbers are seconds: write 5ms, or --max-throughput",
        )
    return Goal(name, limit_ns, max_jobs, max_depth)


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
    seconds = USUAL_BUDGET_SECONDS
    if budget is not None:
        seconds = BUDGET.option.kind.read(budget, "--budget")
        if seconds < SHORTEST_BUDGET_SECONDS:
            raise UsageError("a search takes 10 s at least", where="--budget", remedy="write --budget 1m")
    return CampaignSpec(targets=(("", target),), constants=constants, budget_seconds=seconds)


def finish(journal: Journal, how: Measuring) -> None:
    """Run the search to its end, keep its answer, its report and its job beside the journal, and print it.

    Exit status 3 when no setting meets the limit.
    """
    from ioatlas.cli._session import answer, measured
    from ioatlas.measure.procedures.tune.result import TuneGoal
    from ioatlas.measure.procedures.tune.wording import asked, keep_answer, load_text
    from ioatlas.report.findings import worded

    _, result = measured(journal, how)
    told = keep_answer(journal)
    if how.as_json:
        say_json(told)
    else:
        click.echo(f"{load_text(journal.cells()[0][0])}, {asked(journal.kept(TuneGoal).goal)}")
        answer(journal.directory, result, verbose=how.verbose)
        found = (one.sentence for one in worded(result) if one.code is FindingCode.HIGHEST_LOAD)
        click.echo(f"fio job: {told['job']}" if told["job"] else next(found))
    how.show(journal.directory)
    if told["job"] is None:
        sys.exit(3)
