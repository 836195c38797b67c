# SPDX-License-Identifier: Apache-2.0
"""`ioatlas history`: one target over time, whether it got worse, and campaigns that were measured apart."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ioatlas.analysis.timeline import RECENT
from ioatlas.cli._arguments import WORDS, PathOrWord, folder_option, path_option, quantity_option, units_option
from ioatlas.cli._commands import Commands, examples
from ioatlas.cli._faults import says_what_does_not_fit
from ioatlas.cli._gate import gate_files, write_gate
from ioatlas.cli._output import columns, say_json
from ioatlas.cli._timeline import History, document, read_history, shortener, targets_known
from ioatlas.errors import GateError

if TYPE_CHECKING:
    from ioatlas.analysis.timeline import Part, Timeline, Verdict
    from ioatlas.report.export.to_gate import Gate, Outcome

SECTIONS = {
    "Commands": {
        "show": "Show one target over time, and whether it got worse; the default.",
        "series": "Join campaigns by what tells them apart.",
    }
}
_HEADINGS: dict[Part, str] = {"all": "LEVEL", "read": "READS", "write": "WRITES"}
_NEWS: dict[Verdict, str] = {
    "worse": "WORSE",
    "better": "BETTER",
    "unchanged": "NO CHANGE SHOWN",
    "too few": "TOO FEW CAMPAIGNS TO TELL",
}
"""The first that fits any part is the headline."""
_OUTCOMES: dict[Verdict, Outcome] = {"worse": "failed", "too few": "skipped", "better": "passed", "unchanged": "passed"}


@click.group(name="history", cls=Commands, sections=SECTIONS, default="show")
def command() -> None:
    """How a target's speed changed from campaign to campaign, and what a factor does over campaigns measured apart.

    \b
    ioatlas history /mnt/nas                             each campaign of that target, and where it changed
    ioatlas history /mnt/nas --fail-if-worse             for scripts: exit code 3 when it got worse
    ioatlas history series show drives.toml              what the number of drives does
    """  # noqa: D301


@command.command(name="show", epilog=examples("history"))
@click.argument("places", metavar="TARGET | DIR...", nargs=-1, type=PathOrWord())
@folder_option("--in", "folder", metavar="FOLDER", help="Look here instead of in the library.")
@quantity_option("What is followed.")
@click.option(
    "--tolerance", metavar="PERCENT", default="2%", show_default=True, help="Changes up to this are never reported."
)
@click.option(
    "--false-alarms",
    metavar="PERCENT",
    default="1%",
    show_default=True,
    help="Chance of reporting a change where there is none, each time you look.",
)
@click.option(
    "--recent",
    metavar="N",
    type=click.IntRange(min=1),
    default=RECENT,
    show_default=True,
    help="A change counts as news when it began within this many campaigns.",
)
@path_option("-o", "--output", metavar="FILE", help="Draw the levels: .png, .svg, .pdf, .gp or .csv.")
@gate_files
@units_option
@click.option("--fail-if-worse", is_flag=True, help="Exit with 3 when the target got worse.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@says_what_does_not_fit
def show_(
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
    """Show how a target's speed changed from campaign to campaign, and whether it got worse lately.

    A level is relative to the first campaign, over the loads that campaigns have in common. A change is reported when
    levels moved by more than campaigns of the unchanged target do.
    """
    if not (places or output or junit or markdown or fail_if_worse):
        _targets(folder, as_json=as_json)
        return
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
    """The verdict and what changed, then the campaigns, the oldest first, and how far to trust it."""
    from ioatlas.analysis.timeline import chance, left_out, story
    from ioatlas.analysis.wording import plural

    count = plural(len(history.timelines[0].points), "campaign")
    found = [f"{history.title}: {_news(history)}, {WORDS[history.quantity]} over {count}"]
    found += [f"  {sentence}" for sentence in story(history.timelines)]
    found += ["", *_table(history.timelines), "", chance(history.timelines)]
    return [*found, *left_out(history.timelines), *(f"Skipped: {reason}." for reason in history.skipped)]


def _news(history: History) -> str:
    verdicts = {timeline.verdict for timeline in history.timelines}
    if {"worse", "better"} <= verdicts:
        return "WORSE in part, BETTER in part"
    first = next(verdict for verdict in _NEWS if verdict in verdicts)
    if first == "unchanged" and any(timeline.changes for timeline in history.timelines):
        return "NO NEW CHANGE SHOWN"
    return _NEWS[first]


def _table(timelines: Sequence[Timeline]) -> list[str]:
    """A row for each campaign, with a level for reads and one for writes where there are both."""
    from ioatlas.analysis.timeline import moment

    whole = timelines[0]
    shown, short = timelines[1:] or timelines, shortener()
    rows = [["DATE (UTC)", *(_HEADINGS[each.part] for each in shown), "LOADS", "CAMPAIGN"]]
    for point in whole.points:
        levels = [_level(each, point.name) for each in shown]
        rows.append([moment(point.time), *levels, str(point.cells), short(point.name)])
    return [f"  {line}" for line in columns(rows)]


def _level(timeline: Timeline, name: str) -> str:
    """'0.79 (0.77 to 0.81)', with the change where a step begins."""
    places = [number for number, point in enumerate(timeline.points) if point.name == name]
    if not places:
        return "-"
    point = timeline.points[places[0]]
    level = f"{point.ratio:.2f}" if places[0] == 0 else f"{point.ratio:.2f} ({point.low:.2f} to {point.high:.2f})"
    changes = [change.ratio - 1 for change in timeline.changes if change.at == places[0]]
    return f"{level} {changes[0]:+.0%}" if changes else level


def _targets(folder: Path | None, *, as_json: bool) -> None:
    from ioatlas.analysis.timeline import moment

    known = targets_known(folder)
    if as_json:
        say_json(known)
        return
    if not known:
        click.echo("no campaign yet; make one: ioatlas map DIRECTORY")
        return
    rows = [("LAST (UTC)", "CAMPAIGNS", "TARGET")]
    rows += [(moment(each["last"]) if each["last"] else "-", str(each["campaigns"]), each["target"]) for each in known]
    click.echo("\n".join([*columns(rows, right={1}), "", "Next: ioatlas history TARGET"]))


def gate_of(history: History) -> Gate:
    """A check for each part, and the levels as a table."""
    from ioatlas.analysis.timeline import SUBJECTS, chance, moment, told
    from ioatlas.report.export.to_gate import Check, Gate

    checks = []
    for timeline in history.timelines:
        sentence, *evidence = told(timeline)
        checks.append(Check(SUBJECTS[timeline.part], _OUTCOMES[timeline.verdict], sentence, tuple(evidence)))
    points, short = history.timelines[0].points, shortener()
    table = [("date (UTC)", "level", "campaign")]
    table += [
        (moment(point.time), f"{point.ratio:.3f} ({point.low:.3f} to {point.high:.3f})", short(point.name))
        for point in points
    ]
    title, note = f"{history.title}: {WORDS[history.quantity]}", chance(history.timelines)
    return Gate(title, points[-1].time, tuple(checks), tuple(table), note)
