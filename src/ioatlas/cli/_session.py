# SPDX-License-Identifier: Apache-2.0
"""One session of a campaign on the command line: run it, write the report, say where it is."""

from __future__ import annotations

import errno
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ioatlas.api import load
from ioatlas.cli._arguments import report_of
from ioatlas.cli._live import Stop, TerminalLine, choose, json_lines, paragraph
from ioatlas.cli._options import with_metrics
from ioatlas.cli._output import show
from ioatlas.measure.campaign import run
from ioatlas.measure.procedures.registry import procedure_of_journal
from ioatlas.model.errors import IoAtlasError, PartialResultError
from ioatlas.model.finding import FindingCode
from ioatlas.model.outcomes import Emit, Event
from ioatlas.model.units import format_duration
from ioatlas.model.verdict import ReasonCode, sentences
from ioatlas.model.visit import RemarkKind, VisitStatus
from ioatlas.report.findings import worded
from ioatlas.report.page import write_report
from ioatlas.store import confined

if TYPE_CHECKING:
    from ioatlas.cli._options import Measuring
    from ioatlas.measure.run.live import Summary
    from ioatlas.measure.run.set_up import Consent
    from ioatlas.model.result import CampaignResult
    from ioatlas.store.journal import Journal

MORE_TIME = "give it more time with --budget, or a smaller sweep"
NEEDS_TIME = frozenset({ReasonCode.NO_IO, ReasonCode.RUNTIME, ReasonCode.OVERLAP, ReasonCode.OVER_RUN, ReasonCode.LATE})
"""Why a visit was discarded that a longer one would not be."""
OVERDRAWN_SECONDS = 0.5
_OF_THE_PLACE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO})
"""Faults of the file system that the campaign's directory lies on."""
TOLD = frozenset({FindingCode.PRECISION, FindingCode.FLUSHES})
"""Findings that stand below the answer even where only that was asked for: they say how it is to be taken."""


def go_on(journal: Journal, how: Measuring, *, consent: Consent | None = None, clients: str = "") -> None:
    """A session that ends with the answer of a campaign of this kind. consent, clients: as of `run_session`."""
    from ioatlas.cli import fit, tune

    own = {"tune": tune.finish, "advise": tune.tell_gains, "fit": fit.finish}
    if finish := own.get(procedure_of_journal(journal).name):
        finish(journal, how)
    else:
        run_session(journal, how, consent=consent, clients=clients)
        how.show(journal.directory)


def run_session(journal: Journal, how: Measuring, *, consent: Consent | None = None, clients: str = "") -> None:
    """Make all visits that are planned, then the report and the answer.

    clients: hosts for this session in the place of the campaign's. Raises IoAtlasError when nothing was measured.
    """
    if journal.campaign().complete:
        _show_finished(journal, as_json=how.as_json, verbose=how.verbose)
        return
    summary, result = measured(journal, how, in_events=how.as_json, consent=consent, clients=clients)
    directory, report = journal.directory, str(report_of(journal.directory))
    if how.as_json:
        json_lines(_done(summary, report))
    elif summary.cells:
        answer(directory, result, verbose=how.verbose)
        _tell_overdrawn(summary)
    if not summary.cells:
        why, remedy = _why_nothing(journal)
        raise IoAtlasError(
            f"nothing was measured: {why}", where=str(directory), remedy=f"{remedy}; {report} shows what was tried"
        )


def measured(
    journal: Journal, how: Measuring, *, in_events: bool = False, consent: Consent | None = None, clients: str = ""
) -> tuple[Summary, CampaignResult]:
    """One session, and the report of what the campaign has then; a stopped one gets it too. in_events: told in JSON,
    an object a line. The journal is open until the command ends. Raises IoAtlasError.
    """
    click.get_current_context().call_on_close(journal.close)
    stop = Stop()
    emit = choose(in_events, quiet=how.quiet)
    directory = journal.directory
    try:
        summary = run(journal, emit=with_metrics(emit), stop_asked=stop, consent=consent, clients=clients)
    except PartialResultError as error:
        _end_line(emit)
        if in_events:
            visits = journal.count_visits().get(VisitStatus.DONE, 0)
            json_lines(Event("stopped", {"directory": str(directory), "reason": error.what, "visits": visits}))
        try_report(journal)
        if stop():
            click.echo(f"ioatlas: {error}", err=True)
            stop.die()
        raise
    except OSError as error:
        if error.errno not in _OF_THE_PLACE and not str(error.filename or "").startswith(str(directory)):
            raise
        raise PartialResultError(
            f"what was measured cannot be written: {error.strerror}",
            where=str(error.filename or directory),
            remedy=f"free some space there, or bring the directory back; then `ioatlas resume {directory}`",
        ) from error
    _end_line(emit)
    return summary, write_report_of(journal.directory)


def _end_line(emit: Emit) -> None:
    if isinstance(emit, TerminalLine):
        emit.close()


def _done(summary: Summary, report: str) -> Event:
    return Event(
        "done",
        {
            "directory": str(summary.directory),
            "report": report,
            "cells": summary.cells,
            "visits": summary.visits,
            "seconds": round(summary.seconds, 1),
        },
    )


def _tell_overdrawn(summary: Summary) -> None:
    if summary.budget_seconds is not None and summary.seconds > summary.budget_seconds + OVERDRAWN_SECONDS:
        took, budget = format_duration(summary.seconds), format_duration(summary.budget_seconds)
        click.echo(f"It took {took}, more than the budget of {budget}.")


def _show_finished(journal: Journal, *, as_json: bool, verbose: bool) -> None:
    """A campaign of which nothing is left to do: what it came to. Nothing is changed."""
    report = report_of(journal.directory)
    if not report.exists():
        write_report_of(journal.directory)
    summary = run(journal, emit=lambda _event: None, stop_asked=lambda: False)
    journal.close()
    if as_json:
        json_lines(_done(summary, str(report)))
        return
    answer(journal.directory, load(journal.directory), verbose=verbose)
    click.echo("The campaign is complete: nothing is left to do.")


def _why_nothing(journal: Journal) -> tuple[str, str]:
    """Why no visit of a campaign counts, and what to do about it."""
    why_not = [visit.discarded for visit in journal.visits() if visit.discarded]
    lost = Counter((sentences(reasons), reasons[0].code in NEEDS_TIME) for reasons in why_not)
    lost.update((reason, False) for _, reason in journal.failures())
    if lost:
        why, time_helps = lost.most_common(1)[0][0]
        return why, MORE_TIME if time_helps else "mend that first: more time does not help"
    told = [text for kind, text in journal.remarks() if kind == RemarkKind.LEFT_OUT]
    return (told[-1].rstrip(".") if told else "no visit was finished"), MORE_TIME


def answer(directory: Path, result: CampaignResult, *, verbose: bool) -> None:
    """The first screen, and the findings that stand below it."""
    report = report_of(directory)
    show(result, place=str(directory), report=str(report) if report.exists() else "")
    for text in told_below(result, verbose=verbose):
        click.echo(paragraph(text))


def told_below(result: CampaignResult, *, verbose: bool = False) -> list[str]:
    """Findings that stand below an answer."""
    told = (one for one in worded(result) if verbose or (one.code in TOLD and not one.in_order))
    return [f"{one.title}: {one.sentence}" for one in told]


def write_report_of(directory: Path) -> CampaignResult:
    """What the report in a campaign's directory shows, which is written. Without a page there is still an answer."""
    path = report_of(directory)
    confined.is_ordinary(path, linked=False)
    result = load(directory)
    try:
        write_report(result, path)
    except IoAtlasError as error:
        click.echo(f"no report: {error}", err=True)
    return result


def try_report(journal: Journal) -> None:
    """The report of a partial result; its absence must not hide why the campaign ended."""
    try:
        if journal.count_visits().get(VisitStatus.DONE):
            write_report_of(journal.directory)
            click.echo(f"report of what was finished: {report_of(journal.directory)}", err=True)
    except IoAtlasError as error:
        click.echo(f"no report: {error}", err=True)
