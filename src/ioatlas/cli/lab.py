# SPDX-License-Identifier: Apache-2.0
"""`ioatlas lab`: real targets with known truth on this machine."""

from __future__ import annotations

import dataclasses
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ioatlas.cli._complete import Name
from ioatlas.cli._fold import folded
from ioatlas.cli._json import say_json
from ioatlas.cli._lab_study import command as study_command
from ioatlas.errors import IoAtlasError, UsageError
from ioatlas.lab import instance, scenarios
from ioatlas.lab.running import LabTarget, down, missing, start, up
from ioatlas.lab.scenario import Scenario
from ioatlas.model.units import parse_size_bytes

if TYPE_CHECKING:
    from ioatlas.lab.check import Outcome

SCENARIO = Name(lambda: {name: one.summary for name, one in scenarios().items()})


def _running() -> list[str]:
    return [one.ident for one in instance.instances()]


@click.group()
def command() -> None:
    """Real storage targets with known truth, made on this machine from existing software.

    \b
    ioatlas lab list                     what there is
    ioatlas lab up bandwidth             start one; prints what to measure
    ioatlas map nbd+unix:///?socket=...  measure it
    ioatlas lab down                     stop all, and clean up
    """  # noqa: D301


def _settings(words: tuple[str, ...]) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    for word in words:
        name, sign, value = word.partition("=")
        if not sign:
            raise UsageError(f"--set takes NAME=VALUE, not {word!r}", remedy="for example --set bw_bytes_per_s=50MB")
        bytes_wanted = name.endswith(("_bytes", "_bytes_per_s"))
        settings[name] = parse_size_bytes(value, where=f"--set {name}") if bytes_wanted else value
    return settings


def _possible(registry: Mapping[str, Scenario]) -> tuple[str, ...]:
    """The targets for which nothing is missing here, neither a package nor root."""
    return tuple(
        name for name, one in registry.items() if not missing(one) and not (one.needs_root and os.geteuid() != 0)
    )


def _judge_truth(outcomes: Sequence[Outcome]) -> None:
    """How many were right. Exit code 3 when one was not."""
    off = sum(not outcome.ok for outcome in outcomes)
    click.echo(f"{len(outcomes) - off} of {len(outcomes)} measured values within their tolerance", err=True)
    if off:
        sys.exit(3)


def _truth_lines(target: LabTarget) -> list[str]:
    return [
        f"  {name:<20} {truth.value:g} {truth.unit}  ({truth.source}) {truth.note}"
        for name, truth in target.truth.items()
    ]


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="One JSON list.")
def list_(*, as_json: bool) -> None:
    """List the scenarios: what limits each, and what it needs."""
    rows: list[dict[str, Any]] = []
    for scenario in scenarios().values():
        lacking = sorted({need.package for need in missing(scenario)})
        rows.append(
            {
                "name": scenario.name,
                "limit": scenario.limit,
                "summary": scenario.summary,
                "needs_root": scenario.needs_root,
                "settings": dict(scenario.settings),
                "packages": sorted({need.package for need in scenario.requires}),
                "missing_packages": lacking,
            }
        )
    if as_json:
        say_json(rows)
        return
    for row in rows:
        remarks = [
            text for text in ("needs root" if row["needs_root"] else "", _lacking(row["missing_packages"])) if text
        ]
        told = f"{row['name']:<16} {row['summary']}{' [' + '; '.join(remarks) + ']' if remarks else ''}"
        click.echo(folded(told, 17))
        click.echo(folded(f"{'':<16} {' '.join(f'{key}={value}' for key, value in row['settings'].items())}", 17))


def _lacking(packages: list[str]) -> str:
    return f"missing: apt-get install {' '.join(packages)}" if packages else ""


@command.command("up")
@click.argument("names", nargs=-1, required=True, metavar="NAME...", type=SCENARIO)
@click.option(
    "--set",
    "words",
    multiple=True,
    metavar="NAME=VALUE",
    help="A setting of the scenario, e.g. --set bw_bytes_per_s=50MB.",
)
@click.option(
    "--id", "ident", metavar="ID", default="", help="Name of the target; an earlier one of this name is taken down."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object a target and line.")
def up_(names: tuple[str, ...], words: tuple[str, ...], ident: str, *, as_json: bool) -> None:
    """Start scenarios that stay until `ioatlas lab down`."""
    if ident and len(names) > 1:
        raise UsageError("an --id names one target", where=" ".join(names), remedy="start them one by one")
    for name in names:
        target = up(name, _settings(words), ident=ident)
        if as_json:
            truth = {key: dataclasses.asdict(value) for key, value in target.truth.items()}
            record = {
                "name": name,
                "id": target.directory.name,
                "kind": target.kind,
                "location": target.location,
                "limit": target.limit,
                "exports": dict(target.exports),
            }
            say_json({**record, "options": dict(target.options), "truth": truth}, line=True)
            continue
        click.echo(f"{target.location}")
        for line in _truth_lines(target):
            click.echo(line)
        if target.options:
            click.echo(f"  measure it with {' '.join(f'{key}={value}' for key, value in target.options.items())}")
        programs = target.directory / instance.PROGRAMS
        path = f"PATH={shlex.quote(str(programs))}:$PATH " if programs.is_dir() else ""
        sheet = target.directory / instance.SHEET
        product = f" --product {shlex.quote(str(sheet))}" if sheet.exists() else ""
        for one, location in target.exports:
            click.echo(f"  {one:<20} {location}")
        if target.exports:
            places = " ".join(shlex.quote(location) for _, location in target.exports)
            click.echo(f"  measure all: ioatlas map {places} --together")
        click.echo(
            f"  measure: {path}ioatlas map {shlex.quote(target.location)}{product}    stop: ioatlas lab down "
            f"{target.directory.name}"
        )


@command.command("down")
@click.argument("names", nargs=-1, metavar="[NAME|ID...]", type=Name(_running))
@click.option("--json", "as_json", is_flag=True, help="One JSON list of what was stopped.")
def down_(names: tuple[str, ...], *, as_json: bool) -> None:
    """Stop this user's lab targets (all, or those named) and remove all they left in the system."""
    running = instance.instances()
    unknown = [name for name in names if not any(name in (one.ident, one.scenario) for one in running)]
    if unknown:
        raise UsageError(
            f"no lab target {unknown[0]!r} is running",
            remedy=f"running: {', '.join(one.ident for one in running) or 'none'}",
        )
    stopped, failures = [], []
    for one in running:
        if names and not {one.ident, one.scenario} & set(names):
            continue
        try:
            down(one.directory)
            stopped.append(one.ident)
        except IoAtlasError as error:
            failures.append(str(error))
    if as_json:
        say_json(stopped, line=True)
    else:
        click.echo(
            f"stopped {len(stopped)} lab target{'s' if len(stopped) != 1 else ''}"
            + (f": {', '.join(stopped)}" if stopped else "")
        )
    if failures:
        raise IoAtlasError("; ".join(failures))


@command.command("status")
@click.option("--json", "as_json", is_flag=True, help="One JSON list.")
def status(*, as_json: bool) -> None:
    """List what is running."""
    rows = [
        {"id": one.ident, "name": one.scenario, "location": one.location, "directory": str(one.directory)}
        for one in instance.instances()
    ]
    if as_json:
        say_json(rows)
        return
    for row in rows:
        click.echo(f"{row['id']:<28} {row['location']}")
    if not rows:
        click.echo("no lab target is running", err=True)


@command.command("run", context_settings={"ignore_unknown_options": True})
@click.argument("name", type=SCENARIO)
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="COMMAND...")
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="A setting of the scenario.")
def run(name: str, words: tuple[str, ...], settings: tuple[str, ...]) -> None:
    """Start a scenario, run COMMAND with {} replaced by its location, and take it down.

    \b
    ioatlas lab run bandwidth -- ioatlas map {} --profile quick -o out
    """  # noqa: D301
    if not words:
        raise UsageError("no command was given", remedy="write `ioatlas lab run NAME -- COMMAND {}`")
    with start(name, **_settings(settings)) as target:
        for line in _truth_lines(target):
            click.echo(line, err=True)
        with target.programs():
            command = [_program(words[0]), *(word.replace("{}", target.location) for word in words[1:])]
            try:
                done = subprocess.run(command, check=False)
            except OSError as error:
                raise UsageError(
                    f"cannot be run: {error.strerror}", where=words[0], remedy="name a program after `--`"
                ) from error
    sys.exit(done.returncode if done.returncode >= 0 else 1)


def _program(name: str) -> str:
    """A command's program; `ioatlas` is this one where PATH has none. Raises UsageError."""
    scripts = str(Path(sys.executable).parent) if name == "ioatlas" else None
    found = shutil.which(name) or shutil.which(name, path=scripts)
    if found is None:
        raise UsageError("no such program", where=name, remedy="check its name; give its path if it is not in PATH")
    return found


@command.command("truth")
@click.argument("names", nargs=-1, metavar="[NAME...]", type=SCENARIO)
@click.option(
    "--seeds",
    type=click.IntRange(1, 100),
    default=1,
    show_default=True,
    help="Measure everything this often, with other offsets and in other orders.",
)
@click.option(
    "--set", "words", multiple=True, metavar="NAME=VALUE", help="A setting of the scenarios, e.g. --set level=raid6."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object for each value and seed, one a line.")
def truth_(names: tuple[str, ...], *, seeds: int, words: tuple[str, ...], as_json: bool) -> None:
    """Measure the targets with plain fio and print measured against configured. Exit code 3 when one is off.

    The remaining difference is explained as far as possible without fio: how long a sleep takes on this machine, the
    work in flight at the window's edges, chance.

    \b
    ioatlas lab truth bandwidth latency
    ioatlas lab truth array-model --set level=raid6 --set drives=8
    ioatlas lab truth --seeds 5          all of them, five times; says first how long it takes
    """  # noqa: D301
    import random

    from ioatlas.lab.check import check

    registry = scenarios()
    chosen = names or _possible(registry)
    settings = _settings(words)
    if settings and not names:
        raise UsageError("--set needs the names of scenarios", remedy="write `ioatlas lab truth NAME --set ...`")
    _say_how_long(chosen, seeds, settings)
    found: dict[tuple[str, str, str], list[Outcome]] = {}
    for seed in range(1, seeds + 1):
        order = list(chosen)
        if seeds > 1:
            random.Random(seed).shuffle(order)  # noqa: S311 - an order, not a secret
        for name in order:
            for outcome in check(name, seed, settings):
                found.setdefault((name, outcome.quantity, outcome.options), []).append(outcome)
                if as_json:
                    say_json(dataclasses.asdict(outcome), line=True)
                elif seeds == 1:
                    click.echo(_truth_line([outcome]))
        if seeds > 1:
            click.echo(f"seed {seed} of {seeds} done", err=True)
    if seeds > 1 and not as_json:
        for place in sorted(found, key=lambda place: (list(registry).index(place[0]), place[1:])):
            click.echo(_truth_line(found[place]))
    left_out = [name for name in registry if not names and name not in chosen]
    if left_out:
        click.echo(f"not measured here (package or root missing): {', '.join(left_out)}", err=True)
    _judge_truth([outcome for outcomes in found.values() for outcome in outcomes])


def _say_how_long(names: Sequence[str], seeds: int, settings: Mapping[str, Any]) -> None:
    """One line before what takes more than half a minute."""
    from ioatlas.lab.check import seconds_of
    from ioatlas.model.units import format_duration

    takes = seeds * sum(seconds_of(name, settings) for name in names)
    if takes > 30:
        click.echo(
            f"{len(names)} targets, {seeds} seed{'s' if seeds > 1 else ''}: about {format_duration(takes)}", err=True
        )


def _truth_line(outcomes: list[Any]) -> str:
    """One value: configured, mean measured, error over the seeds, what of it is explained."""
    first, count = outcomes[0], len(outcomes)
    good = sum(one.ok for one in outcomes)
    verdict = "ok " if good == count else "OFF"
    measured = sum(one.measured for one in outcomes) / count
    errors = sorted(one.error for one in outcomes)
    mean = sum(errors) / count
    left = (
        f"{mean:+.2%}" + (f" ({errors[0]:+.2%} .. {errors[-1]:+.2%})" if count > 1 else "") if any(errors) else "exact"
    )
    known = [one.explained for one in outcomes if one.explained is not None]
    if known:
        explained = sum(known) / len(known)
        why = f"; explained {explained:+.2%}: {outcomes[-1].because}; unexplained {mean - explained:+.2%}"
    else:
        why = f"; {first.because}" if first.because else ""
    seeds = f" {good}/{count}" if count > 1 else ""
    return (
        f"{verdict}{seeds} {first.scenario:<15} {first.quantity:<19} configured {first.truth:<11.6g} measured "
        f"{measured:<11.6g} {first.unit:<8} {left}{why}"
        f"  [{first.options}] {first.remark}"
    )


command.add_command(study_command)
