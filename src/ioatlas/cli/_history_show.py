# SPDX-License-Identifier: Apache-2.0
"""`ioatlas history`: one target over time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ioatlas.cli._arguments import WORDS
from ioatlas.cli._examples import examples
from ioatlas.cli._faults import says_what_does_not_fit
from ioatlas.cli._output import columns, say_json
from ioatlas.cli._timeline import History, document, history_options, read_history, shortener, targets_known

if TYPE_CHECKING:
    from ioatlas.analysis.timeline import Part, Timeline

_HEADINGS: dict[Part, str] = {"all": "LEVEL", "read": "READS", "write": "WRITES"}


@click.command(
    name="history",
    epilog=examples("history"),
)
@history_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@says_what_does_not_fit
def command(
    places: tuple[str, ...], folder: Path | None, quantity: str, tolerance: str, false_alarms: str, as_json: bool
) -> None:
    """Show how a target's speed changed from campaign to campaign.

    A level is relative to the first campaign, over the loads that campaigns have in common. A change is reported when
    levels moved by more than campaigns of the unchanged target do.
    """
    if not places:
        _targets(folder, as_json=as_json)
        return
    history = read_history(places, folder, quantity, tolerance=tolerance, false_alarms=false_alarms)
    if as_json:
        say_json(document(history))
        return
    for line in lines(history):
        click.echo(line)


def lines(history: History) -> list[str]:
    """The answer first, then the campaigns, the oldest first."""
    from ioatlas.analysis.timeline import left_out, story
    from ioatlas.analysis.wording import plural

    count = plural(len(history.timelines[0].points), "campaign")
    found = [f"{history.title}: {WORDS[history.quantity]} over {count}"]
    found += [f"  {sentence}" for sentence in story(history.timelines)]
    found += ["", *_table(history.timelines)]
    notes = [*left_out(history.timelines), *(f"Skipped: {reason}." for reason in history.skipped)]
    return [*found, *(["", *notes] if notes else [])]


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
