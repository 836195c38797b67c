# SPDX-License-Identifier: Apache-2.0
"""`ioatlas lab`: real targets with known truth on this machine."""

from __future__ import annotations

import dataclasses
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from ioatlas.cli._arguments import Name
from ioatlas.cli._output import folded, say, say_json
from ioatlas.model.errors import IoAtlasError, UsageError, faults
from ioatlas.model.units import parse_size_bytes
from ioatlas_lab import instance, scenarios
from ioatlas_lab.running import LabTarget, down, missing, start, up

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


def _truth_lines(target: LabTarget) -> list[str]:
    return [
        f"  {name:<20} {truth.value:g} {truth.unit}  ({truth.source}) {truth.note}"
        for name, truth in target.truth.items()
    ]


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
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
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object per line.")
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
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
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
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
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
            say(line, err=True, indent=23)
        with target.programs():
            given = [word.replace("{}", target.location) for word in words[1:]]
            if words[0] == "ioatlas":
                given += _confirmation(given, target.location)
            command = [_program(words[0]), *given]
            with faults(UsageError, "cannot be run", where=words[0], remedy="name a program after `--`"):
                done = subprocess.run(command, check=False)
    sys.exit(done.returncode if done.returncode >= 0 else 1)


def _confirmation(words: Sequence[str], location: str) -> list[str]:
    """What writes to the target that was made for this command alone is confirmed by whoever made it."""
    from ioatlas.target.identity import identify
    from ioatlas.target.opening import open_target

    told = {"--read-only", "--overwrite", "--destroy"} & {word.partition("=")[0] for word in words}
    if told or location not in words or words[0] not in ("map", "tune", "fit"):
        return []
    target = open_target(location)
    if target.kind == "directory":
        return []
    size = dict(identify(target).facts)["size_bytes"]
    return ["--destroy", size] if target.kind == "block" else ["--overwrite", f"{location} {size}"]


def _program(name: str) -> str:
    """A command's program; `ioatlas` is this one where PATH has none. Raises UsageError."""
    scripts = str(Path(sys.executable).parent) if name == "ioatlas" else None
    found = shutil.which(name) or shutil.which(name, path=scripts)
    if found is None:
        raise UsageError("no such program", where=name, remedy="check its name; give its path if it is not in PATH")
    return found
