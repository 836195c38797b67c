# SPDX-License-Identifier: Apache-2.0
"""`ioatlas fit`: does this target fit a use?"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from ioatlas.cli._arguments import PathOrWord, gate_files, report_of, write_gate
from ioatlas.cli._commands import examples
from ioatlas.cli._options import Measuring, campaign_option, directory_option, measuring_options, with_metrics
from ioatlas.cli._output import fold, say_json
from ioatlas.measure.procedures.options import CAMPAIGN, FitOptions
from ioatlas.model.errors import UsageError
from ioatlas.model.outcomes import Event
from ioatlas.plan.spec import CampaignSpec, recorded_spec
from ioatlas.report.export.to_gate import Check, Gate, Outcome
from ioatlas.report.findings import sentence_of

if TYPE_CHECKING:
    from ioatlas.measure.procedures.fit.fits import Fit
    from ioatlas.store.journal import Journal

BUDGET, CLIENTS = CAMPAIGN.option("budget"), CAMPAIGN.option("clients")
EXIT_STATUS = {"pass": 0, "fail": 3, "undecided": 5}
OUTCOMES: dict[str, Outcome] = {"pass": "passed", "fail": "failed", "undecided": "skipped"}


@click.command(name="fit", epilog=examples("fit"))
@click.argument("target", required=False, type=PathOrWord())
@click.option("--for", "uses", metavar="USE[,USE...]", help="Uses to check, with parameters, such as etcd,vm-host:20.")
@click.option("--list", "list_uses", is_flag=True, help="List the uses, what they require, and who says so.")
@click.option("--new", "new_use", is_flag=True, help="Print a commented use, to start your own from.")
@click.option("--max", "most", is_flag=True, help="Find how many it carries: virtual machines, streams, accelerators.")
@gate_files
@campaign_option(BUDGET, "Time it may take. Default: 3m.")
@campaign_option(CLIENTS, "Several clients make the loads together: hosts.toml, a,b,c, or local:4.")
@directory_option(help="Directory of the campaign. Default: a new one (see `ioatlas list`).")
@measuring_options
def command(
    how: Measuring,
    target: str | None,
    uses: str | None,
    list_uses: bool,
    new_use: bool,
    most: bool,
    junit: Path | None,
    markdown: Path | None,
    budget: str | None,
    clients: str | None,
    output: Path | None,
) -> None:
    """Say whether TARGET fits a use: PASS, FAIL or UNDECIDED, as soon as each of its requirements is decided."""
    if list_uses or new_use:
        _tell_uses(new=new_use, as_json=how.as_json)
        return
    if target is None or not uses:
        raise UsageError(
            "no use is named" if target else "no target is named",
            remedy="`ioatlas fit DIRECTORY --for etcd`; `ioatlas fit --list` shows the uses",
        )
    if (Path(target) / "campaign.toml").is_file():
        _tell_measured(Path(target), uses, how, (junit, markdown))
    given = {"fit": uses, "fit_max": most, "budget": budget, "clients": clients}
    spec = CAMPAIGN.apply(
        CampaignSpec(targets=(("", target),)),
        {key: value for key, value in given.items() if value is not None},
        lambda key, *_: "--for" if key == "fit" else f"--{key}",
        folder=Path(),
    )
    plan = how.plan(spec)
    if not how.only_shows(plan):
        finish(how.start(plan, output), how, gate=(junit, markdown))


def _tell_measured(directory: Path, uses: str, how: Measuring, gate: tuple[Path | None, Path | None]) -> None:
    """The answer by a campaign that was measured. Ends with its exit status."""
    from ioatlas import api
    from ioatlas.cli._session import told_below
    from ioatlas.measure.procedures.fit.fits import fits_measured, requirement
    from ioatlas.measure.procedures.fit.read import read_uses
    from ioatlas.measure.procedures.fit.verdict import Answer
    from ioatlas.store.journal import Journal

    journal = Journal.open(directory)
    click.get_current_context().call_on_close(journal.close)
    result = api.load(directory)
    fits = fits_measured(journal, read_uses(uses), result.estimates)
    places = {one.name: one for one in journal.targets()}
    for fit in () if how.as_json else fits:
        click.echo(sentence_of(fit.finding))
        for n, (_, one) in enumerate(fit.judged, 1):
            click.echo("\n".join(fold(sentence_of(requirement(one, fit.use, n, fit.target)), "  ")))
        place = places[fit.target]
        typed = f" --overwrite {quote(f'{place.location} {place.size_bytes}')}" if place.kind in ("file", "uri") else ""
        if fit.open:  # in one line, to be pasted
            where, use = quote(place.location), quote(fit.use.name)
            click.echo(f"To measure what is open: ioatlas fit {where} --for {use}{typed}")
    total, doubts = Answer.of_all([one.answer for one in fits]).value, told_below(result)
    for text in () if how.as_json else doubts:
        click.echo("\n".join(fold(text, "")))
    _end(fits, how, gate, {"directory": str(directory), "answer": total, "doubts": doubts})


def _end(
    fits: Sequence[Fit],
    how: Measuring,
    gate: tuple[Path | None, Path | None],
    told: dict[str, Any],
    carries: tuple[Check, ...] = (),
) -> None:
    """Write the checks and metrics, tell JSON where that is asked for, and end with the status of the answer. carries:
    what is said of how many a target carries, before the checks of the most that it does.
    """
    write_gate(_gate(fits[:1] if carries else fits, carries), *gate)
    document = {**told, "fits": [{**one.as_json(), "sentence": sentence_of(one.finding)} for one in fits]}
    with_metrics(lambda _: None)(Event("fits", document))
    if how.as_json:
        say_json(document)
    sys.exit(EXIT_STATUS[told["answer"]])


def finish(journal: Journal, how: Measuring, *, gate: tuple[Path | None, Path | None] = (None, None)) -> None:
    """Run it to its end, write its report, and print the answer. Ends with its exit status.

    gate: files for JUnit and Markdown.
    """
    from ioatlas.cli._session import answer, measured, told_below
    from ioatlas.measure.procedures.fit.fits import carried, load_fits
    from ioatlas.measure.procedures.fit.verdict import Answer

    directory = journal.directory
    _, result = measured(journal, how)
    fits = load_fits(journal)
    most = carried(fits) if recorded_spec(journal, CAMPAIGN.tables).of(FitOptions).fit_max else None
    total = Answer.of_all([one.answer for one in fits]) if most is None else most.answer
    told: dict[str, Any] = {"directory": str(directory), "answer": total.value, "report": str(report_of(directory))}
    told |= {"doubts": told_below(result)} | ({} if most is None else {"carries": sentence_of(most.finding)})
    if not how.as_json:
        answer(directory, result, verbose=how.verbose)
    how.show(directory)
    carries = () if most is None else (Check("How many it carries", OUTCOMES[most.answer], sentence_of(most.finding)),)
    _end(fits if most is None else most.around, how, gate, told, carries)


def _gate(fits: Sequence[Fit], first: tuple[Check, ...]) -> Gate:
    """Each requirement as a check; what is undecided is skipped."""
    from ioatlas.measure.procedures.fit.fits import measured_text

    checks = first + tuple(
        Check(
            f"{fit.use.name}: {one.requirement.words}",
            OUTCOMES[one.answer],
            measured_text(one),
            (f"source: {one.requirement.source}",),
        )
        for fit in fits
        for _, one in fit.judged
    )
    fine = "It fits." if all(one.outcome == "passed" for one in checks) else ""
    answers = " ".join(sentence_of(fit.finding) for fit in fits)
    return Gate("Does it fit?", time.time(), checks, note=answers, fine=fine, bad="fail")


def _tell_uses(*, new: bool, as_json: bool) -> None:
    from ioatlas.measure.procedures.fit.read import example, read_uses, ready

    if new:
        click.echo(example().rstrip())
        return
    uses = read_uses(",".join(ready()))
    if as_json:
        each = (
            (use, [{"requirement": one.words, "source": asdict(one.source)} for one in use.requires]) for use in uses
        )
        say_json([{"use": use.name, "title": use.title, "requires": requires} for use, requires in each])
        return
    for name, use in zip(ready(), uses, strict=True):
        for text in fold(f"{name:<20} {use.title}", " " * 21):
            click.echo(text)
        for one in use.requires:
            for text in fold(f"{'':<20} {one.words}; {one.source}", " " * 23):
                click.echo(text)
