# SPDX-License-Identifier: Apache-2.0
"""`ioatlas history trend`: did a target get worse? For a person, a build server and a pull request."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ioatlas.analysis.timeline import RECENT
from ioatlas.cli._arguments import WORDS, units_option
from ioatlas.cli._examples import examples
from ioatlas.cli._faults import says_what_does_not_fit
from ioatlas.cli._gate import gate_files, write_gate
from ioatlas.cli._output import say_json
from ioatlas.cli._timeline import History, document, history_options, read_history, shortener
from ioatlas.errors import GateError

if TYPE_CHECKING:
    from ioatlas.analysis.timeline import Timeline, Verdict
    from ioatlas.report.export.to_gate import Gate, Outcome

_NEWS: dict[Verdict, str] = {
    "worse": "WORSE",
    "better": "BETTER",
    "unchanged": "NO CHANGE SHOWN",
    "too few": "TOO FEW CAMPAIGNS TO TELL",
}
"""The first that fits any part is the headline."""


@click.command(
    name="trend",
    epilog=examples("trend"),
)
@history_options
@click.option(
    "--recent",
    metavar="N",
    type=click.IntRange(min=1),
    default=RECENT,
    show_default=True,
    help="A change counts as news when it began within this many campaigns.",
)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Draw the levels: .png, .svg, .pdf, .gp or .csv.",
)
@gate_files
@units_option
@click.option("--fail-if-worse", is_flag=True, help="Exit with 3 when the target got worse.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@says_what_does_not_fit
def command(
    places: tuple[str, ...],
    folder: Path | None,
    quantity: str,
    tolerance: str,
    false_alarms: str,
    recent: int,
    output: Path | None,
    junit: Path | None,
    markdown: Path | None,
    fail_if_worse: bool,
    as_json: bool,
) -> None:
    """Say whether a target got better or worse in its newest campaigns."""
    history = read_history(places, folder, quantity, tolerance=tolerance, false_alarms=false_alarms, recent=recent)
    if as_json:
        say_json(document(history))
    else:
        for line in lines(history):
            click.echo(line)
    gate = gate_of(history)
    write_gate(gate, junit, markdown)
    if output is not None:
        from ioatlas.report.export.drawings import timeline_drawing
        from ioatlas.report.export.to_panels import write_drawing

        drawn = timeline_drawing(history.title, WORDS[quantity], history.timelines)
        click.echo(f"written: {write_drawing(drawn, output)[0]}", err=True)
    if fail_if_worse and gate.failed:
        worse = [check.name for check in gate.checks if check.outcome == "failed"]
        raise GateError(f"worse: {', '.join(worse)}", where=history.title)


def lines(history: History) -> list[str]:
    """The verdict, what changed, and how far to trust it."""
    from ioatlas.analysis.timeline import chance, left_out, story

    verdicts = {timeline.verdict for timeline in history.timelines}
    news = [_NEWS[verdict] for verdict in _NEWS if verdict in verdicts]
    told = "WORSE in part, BETTER in part" if {"worse", "better"} <= verdicts else news[0]
    if news[0] == _NEWS["unchanged"] and any(timeline.changes for timeline in history.timelines):
        told = "NO NEW CHANGE SHOWN"
    found = [f"{history.title}, {WORDS[history.quantity]}: {told}"]
    found += [f"  {sentence}" for sentence in story(history.timelines)]
    found += ["", chance(history.timelines)]
    found += [*left_out(history.timelines), *(f"Skipped: {reason}." for reason in history.skipped)]
    return found


def gate_of(history: History) -> Gate:
    """A check for each part, and the levels as a table."""
    from ioatlas.analysis.timeline import SUBJECTS, chance, moment, told
    from ioatlas.report.export.to_gate import Check, Gate

    checks = []
    for timeline in history.timelines:
        sentence, *evidence = told(timeline)
        checks.append(Check(SUBJECTS[timeline.part], _outcome(timeline), sentence, tuple(evidence)))
    points, short = history.timelines[0].points, shortener()
    table = [("date (UTC)", "level", "campaign")]
    table += [
        (moment(point.time), f"{point.ratio:.3f} ({point.low:.3f} to {point.high:.3f})", short(point.name))
        for point in points
    ]
    title, note = f"{history.title}: {WORDS[history.quantity]}", chance(history.timelines)
    return Gate(title, points[-1].time, tuple(checks), tuple(table), note)


def _outcome(timeline: Timeline) -> Outcome:
    if timeline.verdict == "worse":
        return "failed"
    return "skipped" if timeline.verdict == "too few" else "passed"
