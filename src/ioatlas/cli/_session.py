# SPDX-License-Identifier: Apache-2.0
"""One session of a campaign on the command line: run it, write the report, say where it is."""

from __future__ import annotations

from pathlib import Path

import click

from ioatlas import beneath
from ioatlas.campaign import run
from ioatlas.cli._live import Stop, TerminalLine, choose, paragraph
from ioatlas.errors import IoAtlasError, PartialResultError
from ioatlas.model.events import Event
from ioatlas.model.status import VisitStatus
from ioatlas.store.journal import Journal

REPORT = "report.html"


def run_session(journal: Journal, *, as_json: bool, verbose: bool = False) -> None:
    """Make all visits that are planned, then the report. A stopped campaign gets the report of what it has."""
    stop = Stop()
    emit = choose(as_json)
    directory = journal.directory
    try:
        summary = run(journal, emit=emit, stop_asked=stop)
    except PartialResultError as error:
        if isinstance(emit, TerminalLine):
            emit.close()
        if as_json:
            emit(
                Event(
                    "stopped",
                    {
                        "directory": str(directory),
                        "reason": error.what,
                        "visits": journal.count_visits().get(VisitStatus.DONE, 0),
                    },
                )
            )
        _try_report(journal)
        if stop():
            click.echo(f"ioatlas: {error}", err=True)
            stop.die()
        raise
    finally:
        journal.close()
    if isinstance(emit, TerminalLine):
        emit.close()
    report = _write_report(journal)
    done = {
        "directory": str(directory),
        "report": str(report) if report else None,
        "cells": summary.cells,
        "visits": summary.visits,
        "seconds": round(summary.seconds, 1),
    }
    if as_json:
        emit(Event("done", done))
        return
    _answer(directory, report, verbose=verbose)


def _answer(directory: Path, report: str, *, verbose: bool) -> None:
    from ioatlas.campaign import load_result
    from ioatlas.cli._screen import console_of, show

    result = load_result(directory)
    show(result, console_of(), place=str(directory), report=report)
    if verbose:
        for finding in result.findings:
            click.echo(paragraph(f"{finding.title}: {finding.sentence}"))


def _write_report(journal: Journal) -> str:
    from ioatlas.campaign import load_result
    from ioatlas.report.page import write_report

    path = journal.directory / REPORT
    beneath.is_ordinary(path, linked=False)
    write_report(load_result(journal.directory), path)
    return str(path)


def _try_report(journal: Journal) -> None:
    """The report of a partial result; its absence must not hide why the campaign ended."""
    try:
        if journal.count_visits().get(VisitStatus.DONE):
            click.echo(f"report of what was finished: {_write_report(journal)}", err=True)
    except IoAtlasError as error:
        click.echo(f"no report: {error}", err=True)
