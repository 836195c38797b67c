# SPDX-License-Identifier: Apache-2.0
"""A published evaluation made again in small, from the lab targets to the table.

python -m bench.studies                              what there is
python -m bench.studies nii2021 --quick --dry-run    what would run: targets, time, bytes
python -m bench.studies nii2021 --quick -o nii       measure; again after a kill, and it goes on
"""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

import click

from bench.studies.claims import Checked, check_claims
from bench.studies.measured import LEAST_SECONDS, measured_in
from bench.studies.set_up import campaign_document, campaign_name, check_possible, lab_of, read_document
from bench.studies.study import NAMES, Study, find_study, targets_of
from bench.studies.table import COLUMNS, WORDS, as_document, as_table, draw, here, summary, write_answer
from ioatlas.answer.analysis.wording import plural
from ioatlas.answer.results.library import REPORT, results_folder
from ioatlas.cli._live import Stop, TerminalLine, choose
from ioatlas.cli._output import say_json
from ioatlas.measure.campaign import load_result, open_plan, reopen, run, start
from ioatlas.measure.run.set_up import Consent
from ioatlas.model.errors import IoAtlasError, PartialResultError, UsageError
from ioatlas.report.page import write_report
from ioatlas.report.plan import described, summary_of
from ioatlas.store.journal import Journal

PLACE = "study"
"""Folder of figures and table in the campaign's directory."""


@click.command(help="Repeat a published evaluation in small, on lab targets, and check its claims.")
@click.argument("name", required=False, type=click.Choice(NAMES))
@click.option(
    "-o", "--out", metavar="DIR", type=click.Path(path_type=Path), help="Directory of the campaign. Default: a new one."
)
@click.option("--quick", is_flag=True, help="Fewer levels and visits: a few minutes.")
@click.option("--dry-run", is_flag=True, help="Show what would run: time and bytes. Nothing is set up.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line while it works.")
def command(name: str | None, out: Path | None, *, quick: bool, dry_run: bool, as_json: bool) -> None:
    """One campaign, its report, the figures of the study, and a table: published, here, same direction?"""
    if name is None:
        _list(as_json=as_json)
        return
    study = find_study(name)
    directory = out or results_folder() / f"ioatlas-{study.name}{'-quick' * quick}-{time.strftime('%Y%m%d-%H%M%S')}"
    try:
        if dry_run:
            _dry_run(study, directory, quick=quick, as_json=as_json)
        else:
            make(study, directory, quick=quick, as_json=as_json)
    except IoAtlasError as error:
        raise SystemExit(f"bench.studies: {error}") from error


def _list(*, as_json: bool) -> None:
    studies = [find_study(name) for name in NAMES]
    if as_json:
        rows = [
            {"name": one.name, "title": one.title, "source": one.source, "claims": len(one.claim)} for one in studies
        ]
        say_json(rows)
        return
    for one in studies:
        count, few = (len(targets_of(one, quick=quick)) for quick in (False, True))
        click.echo(f"{one.name:<14} {one.title}: {len(one.claim)} claims, {count} configurations ({few} with --quick)")


def _dry_run(study: Study, directory: Path, *, quick: bool, as_json: bool) -> None:
    """What `ioatlas plan` says of the campaign, with the claims."""
    apart = study.model_copy(update={"together": False})  # planned before anything is set up
    plan = open_plan(read_document(campaign_document(apart, directory, quick=quick)), ahead=True)
    if study.together:  # what is said last is of their order
        said = "Configurations are measured in turns: what drifts, drifts for all of them."
        plan = replace(plan, remarks=(*plan.remarks[:-2], said))
    if as_json:
        claims = [claim.model_dump() for claim in study.claim]
        say_json({"study": study.name, **summary_of(plan), "claims": claims})
        return
    bare = replace(plan.spec, configurations=tuple(replace(c, before="", after="") for c in plan.spec.configurations))
    click.echo(f"study        {study.title}")
    click.echo("\n".join(described(replace(plan, spec=bare))))
    for claim in study.claim:
        click.echo(f"claim        {claim.says}")


def make(study: Study, directory: Path, *, quick: bool, as_json: bool) -> None:
    """Set up, measure, answer, take down. A stopped study is answered as far as it came."""
    check_possible(study, quick=quick, root=os.geteuid() == 0)
    stop, emit, stopped = Stop(), choose(as_json), None
    again = f"python -m bench.studies {study.name}{' --quick' if quick else ''} -o {directory}"
    with lab_of(study, directory, quick=quick):
        journal, consent = _journal(study, directory, quick=quick)
        try:
            run(journal, emit=emit, stop_asked=stop, consent=consent)
        except PartialResultError as error:
            stopped = error
        finally:
            journal.close()
            if isinstance(emit, TerminalLine):
                emit.close()
        checked = _answer(study, directory, again, quick=quick)  # also where the lab targets cannot be taken down
        if checked is not None:
            _show(study, directory, checked, as_json=as_json)
    if stopped is not None:
        stopped.remedy = f"go on with `{again}`"
        if stop():
            click.echo(f"ioatlas: {stopped}", err=True)
            stop.die()
        raise stopped


def _journal(study: Study, directory: Path, *, quick: bool) -> tuple[Journal, Consent]:
    """A new campaign, or the one that was begun there."""
    spec = read_document(campaign_document(study, directory, quick=quick))
    typed = tuple(text for one in spec.confirmations.values() for text in one.values())
    if (directory / "journal.sqlite").exists():
        journal = reopen(directory, overwrite=typed)
        if journal.campaign().name != campaign_name(study, quick=quick):
            there = journal.campaign().name
            journal.close()
            raise UsageError(f"another campaign lies there: {there}", where=str(directory), remedy="choose another -o")
        return journal, Consent((), typed, {}, None)
    plan = open_plan(spec)
    return start(plan, directory, overwrite=typed), Consent((), typed, spec.confirmations, None)


def _answer(study: Study, directory: Path, again: str, *, quick: bool) -> list[Checked] | None:
    """Figures, table and report; None where nothing was measured."""
    result = load_result(directory)
    if not result.estimates:
        return None
    measured, unheld = measured_in(study, directory, result, quick=quick)
    checked = check_claims(study.claim, measured)
    place = directory / PLACE
    figures, missing = draw(study, directory, result, place) if result.complete and not unheld else ([], [])
    if unheld:
        missing = [f"{plural(unheld, 'load')} took less than {LEAST_SECONDS:g} s, and the lab drives' rate holds later"]
    for why in missing:
        click.echo(f"not drawn: {why}", err=True)
    write_answer(study, checked, [path.relative_to(directory) for path in figures], place, again)
    told = replace(result, tables=(as_table(study, checked), *result.tables))
    write_report(told, directory / REPORT)
    return checked


def _show(study: Study, directory: Path, checked: list[Checked], *, as_json: bool) -> None:
    place = directory / PLACE
    figures = sorted(path.relative_to(directory) for path in place.glob("*.png"))
    if as_json:
        document = as_document(study, checked, figures)
        say_json({"event": "study", "directory": str(directory), **document}, line=True)
        return
    click.echo(f"{study.title}\n{study.source}\n")
    width = max(len(WORDS[one.outcome]) for one in checked)
    click.echo(f"{'same?':<{width}}  {COLUMNS[0]}; {COLUMNS[1].lower()}; {COLUMNS[2].lower()}")
    for one in checked:
        click.echo(f"{WORDS[one.outcome]:<{width}}  {one.claim.says}")
        click.echo(f"{'':<{width}}    published: {one.claim.published}")
        click.echo(f"{'':<{width}}    here: {here(one)}")
    click.echo(f"\n{summary(study, checked)}")
    click.echo(f"Table: {place / 'study.md'}   Report: {directory / 'report.html'}")
    click.echo(f"Figures: {', '.join(str(directory / path) for path in figures)}")


if __name__ == "__main__":
    command()
