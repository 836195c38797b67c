# SPDX-License-Identifier: Apache-2.0
"""One session of a campaign on the command line: run it, write the report, say where it is."""

from __future__ import annotations

import click

from ioatlas import beneath
from ioatlas.analysis.wording import plural
from ioatlas.campaign import run
from ioatlas.cli._live import Stop, TerminalLine, choose, paragraph
from ioatlas.errors import IoAtlasError, PartialResultError
from ioatlas.model.events import Event
from ioatlas.model.status import VisitStatus
from ioatlas.model.units import format_duration
from ioatlas.store.journal import Journal

REPORT = "report.html"


def run_session(journal: Journal, *, as_json: bool) -> None:
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
    for sentence in _closing(directory):
        click.echo(paragraph(sentence))
    click.echo(
        f"{plural(summary.cells, 'cell')}, {plural(summary.visits, 'visit')} in {format_duration(summary.seconds)}"
    )
    click.echo(f"report: {report or 'not written'}")


def _closing(directory: object) -> list[str]:
    from pathlib import Path

    from ioatlas.campaign import load_result

    return [finding.sentence for finding in load_result(Path(str(directory))).findings]


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
