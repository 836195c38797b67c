# SPDX-License-Identifier: Apache-2.0
"""Options that commands share. Those that shape a campaign are the ones its format declares.

And what stands behind some of them: the one listener of a call for its metrics, and what a person agrees to when
configurations are set up.
"""

from __future__ import annotations

import functools
import itertools
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ioatlas.cli._arguments import Name, PathOrWord, path_option, report_of, units_option
from ioatlas.cli._output import folded, say_json
from ioatlas.measure.procedures.options import CAMPAIGN
from ioatlas.model.errors import UsageError
from ioatlas.model.outcomes import Emit
from ioatlas.plan.options import FLAG, Declared
from ioatlas.plan.profiles import profiles
from ioatlas.plan.spec import CampaignSpec
from ioatlas.plan.sweep import read_sweep

if TYPE_CHECKING:
    from ioatlas.measure.run.plan import Plan
    from ioatlas.measure.run.procedure import Procedure
    from ioatlas.measure.run.set_up import Answer, Consent
    from ioatlas.model.factors import Configuration
    from ioatlas.store.journal import Journal

_KEY = "ioatlas.metrics"


def _begin(context: click.Context, _: click.Parameter, place: Path | None) -> None:
    """Remember the place; the file is written when something is measured."""
    if place is not None:
        from ioatlas.report.metrics import check_place

        check_place(place)
        context.meta[_KEY] = place


metrics_option = path_option(
    "--metrics",
    metavar="FILE",
    callback=_begin,
    expose_value=False,
    help="Metrics for Prometheus: a file for node_exporter (.prom).",
)


def with_metrics(emit: Emit) -> Emit:
    """The listener, and behind it the metrics where they were asked for. They end with the call."""
    from ioatlas.report.metrics import Metrics

    context = click.get_current_context(silent=True)
    place = context.meta.get(_KEY) if context is not None else None
    if context is None or place is None:
        return emit
    metrics = context.meta.get(f"{_KEY}.listener")
    if metrics is None:
        metrics = Metrics(place)
        context.meta[f"{_KEY}.listener"] = metrics
        context.call_on_close(metrics.close)
    return metrics.behind(emit)


Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

WIDEST_CHOICE = 22
"""Letters of a list of words that stand beside an option; longer ones stand in its help."""

LEVELS = {
    "rw": ("LIST", "Directions, such as read,randwrite."),
    "bs": ("LIST", "Block sizes, such as 4k,64k or 4k..1m."),
    "numjobs": ("LIST", "Jobs at once, such as 1,4,16."),
    "iodepth": ("LIST", "I/Os that each job keeps in flight, such as 1,32."),
    "size": ("SIZE", "Bytes of the target to use, such as 64g."),
}
"""Options of the sweep that the command line takes."""
_flag_option = partial(click.option, is_flag=True)
directory_option = partial(click.option, "-o", "output", metavar="DIR", type=click.Path(path_type=Path))
answer_option = click.option(
    "--answer",
    "answers",
    multiple=True,
    type=click.Choice(["yes", "skip", "stop"]),
    help="Answer to what a configuration asks for; the last one holds for all that follow.",
)


@dataclass(frozen=True)
class Measuring:
    """How a command measures, and what it says of it: options that several have. destroy, overwrite: what was typed."""

    facts: Path | None = None
    read_only: bool = False
    destroy: tuple[str, ...] = ()
    overwrite: tuple[str, ...] = ()
    open_report: bool = False
    verbose: bool = False
    quiet: bool = False
    dry_run: bool = False
    yes: bool = False
    as_json: bool = False

    def plan(self, spec: CampaignSpec, procedure: Procedure | None = None) -> Plan:
        """As `ioatlas.api.plan`."""
        from ioatlas import api

        return api.plan(spec, read_only=self.read_only, facts=self.facts, procedure=procedure)

    def only_shows(self, plan: Plan) -> bool:
        """Whether the plan is all that was asked for; it is printed then."""
        from ioatlas.report.plan import summary_of

        if self.dry_run and self.as_json:
            say_json(summary_of(plan))
        elif self.dry_run:
            click.echo(plan_text(plan))
        return self.dry_run

    def agree(self, plan: Plan) -> None:
        """Shows the plan, and asks whether to go on where a person can answer."""
        click.echo(plan_text(plan), err=True)
        if not self.yes and sys.stdin.isatty() and sys.stderr.isatty():
            click.confirm("Go on?", default=True, abort=True, err=True)

    def start(self, plan: Plan, directory: Path | None, **more: Any) -> Journal:
        """A new campaign in the directory, or in one of its own. more: as of `ioatlas.measure.campaign.start`."""
        from ioatlas.measure.campaign import default_directory, start

        place = directory or default_directory(plan)
        return start(plan, place, destroy=self.destroy, overwrite=self.overwrite, facts=self.facts, **more)

    def show(self, directory: Path) -> None:
        """The campaign's report in the browser, where that was asked for."""
        if self.open_report:
            from ioatlas.cli.list import open_report

            open_report(report_of(directory))


def plan_text(plan: Plan) -> str:
    """A plan in words, folded on a terminal."""
    from ioatlas.report.plan import described

    return "\n".join(folded(line, 13) for line in described(plan))


_HOW: dict[str, Callable[..., Decorator]] = {
    "facts": partial(
        path_option, "--facts", metavar="FILE.toml", help="Typed-in facts and meters. Default: ./testbed.toml."
    ),
    "read_only": partial(_flag_option, "--read-only", help="Only read: lay nothing out, and ask for no confirmation."),
    "destroy": partial(
        click.option,
        "--destroy",
        multiple=True,
        metavar="SERIAL-OR-SIZE",
        help="Write to a block device: type its serial number or size in bytes, for each device.",
    ),
    "overwrite": partial(
        click.option,
        "--overwrite",
        multiple=True,
        metavar="'NAME SIZE'",
        help="Write to a file or a URI: type its full name and size in bytes, for each of them.",
    ),
    "open_report": partial(_flag_option, "--open", "open_report", help="Open the report in the browser at the end."),
    "verbose": partial(_flag_option, "-v", "--verbose", help="At the end every finding, not only the answer."),
    "quiet": partial(_flag_option, "-q", "--quiet", help="No progress, only the answer."),
    "dry_run": partial(_flag_option, "--dry-run", help="Show the plan, and measure nothing."),
    "yes": partial(_flag_option, "--yes", help="Do not ask whether to go on."),
    "as_json": partial(_flag_option, "--json", "as_json", help="Print JSON."),
}


def how_options(names: str = " ".join(_HOW), **helps: str) -> Decorator:
    """Adds the options of these names, handed on as one `Measuring`, the command's first argument. helps: by name what
    an option means here, where that is something else than usual.
    """

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def with_how(*given: Any, **values: Any) -> Any:
            return command(Measuring(**{name: values.pop(name) for name in names.split()}), *given, **values)

        decorated: Callable[..., Any] = with_how
        for name in reversed(names.split()):
            decorated = _HOW[name](**({"help": helps[name]} if name in helps else {}))(decorated)
        return decorated

    return decorate


def taken_for_map(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options of `map` that change nothing where nothing is measured: its line can be used as it stands."""
    for flags in (("--yes",), ("--dry-run",), ("-q", "--quiet"), ("-v", "--verbose"), ("--open",)):
        command = click.option(*flags, is_flag=True, expose_value=False, hidden=True)(command)
    return command


def campaign_option(one: Declared, text: str = "") -> Decorator:
    """An option of the campaign file as one of the command line. text: help in the place of the declared one."""
    kind = one.option.kind
    how: dict[str, Any] = {"metavar": kind.metavar or None}
    if kind.path:
        how["type"] = PathOrWord()
    if kind is FLAG:
        how = {"is_flag": True}
    elif kind.choices is not None:
        words = [word.value for word in kind.choices]
        short = len("|".join(words)) <= WIDEST_CHOICE
        how = {"type": click.Choice(words), "metavar": None if short else one.key.upper()}
        text = text or _first_sentence(one) + ("" if short else f" One of {', '.join(words)}.")
    elif kind.least is not None:
        how = {"type": click.IntRange(kind.least, kind.most), "metavar": "N"}
    default = "" if kind is FLAG or one.written_default in (None, "") else f" Default: {one.written_default}."
    return click.option(_flag(one.key), one.key, help=(text or _first_sentence(one)) + default, **how)


def _first_sentence(one: Declared) -> str:
    """Help on the command line is one sentence; the reference has all of it."""
    return re.split(r"(?<=\.) |; ", one.option.help, maxsplit=1)[0].rstrip(".") + "."


def _flag(key: str, *_: object) -> str:
    return f"--{key.replace('_', '-')}"


def sweep_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds [TARGET]..., everything that shapes the campaign, handed on as one `Asked`."""
    asked = [one for one in CAMPAIGN.options if one.option.flag]
    options: list[Decorator] = [
        click.argument("targets", nargs=-1, metavar="[TARGET]...", type=PathOrWord()),
        click.option(
            "--profile",
            metavar="NAME",
            type=Name(profiles),
            help="Built-in profile; `ioatlas profiles` lists them. Default: quick.",
        ),
        path_option("--campaign", "campaign_file", metavar="FILE.toml", help="Campaign file with your own sweep."),
        *(click.option(f"--{name}", metavar=metavar, help=text) for name, (metavar, text) in LEVELS.items()),
        *map(campaign_option, asked),
    ]

    @functools.wraps(command)
    def with_asked(targets: tuple[str, ...], profile: str | None, campaign_file: Path | None, **values: Any) -> Any:
        levels = {name: text for name in LEVELS if (text := values.pop(name)) is not None}
        typed = {one.key: values.pop(one.key) for one in asked}
        given = {key: value for key, value in typed.items() if value is not None and value is not False}
        return command(Asked(targets, profile, campaign_file, levels, given), **values)

    decorated: Callable[..., Any] = with_asked
    for option in reversed(options):
        decorated = option(decorated)
    return decorated


def with_levels(spec: CampaignSpec, levels: Mapping[str, str]) -> CampaignSpec:
    """The campaign on other values of the options of its sweep. Raises UsageError."""
    elsewhere = {name for pattern in spec.patterns for name in pattern}
    for name in levels:
        if name in elsewhere or (name != "size" and CAMPAIGN.brings_load(spec)):
            raise UsageError(
                "this profile or campaign file says itself what is loaded",
                where=f"--{name}",
                remedy="leave the option out, or take another profile",
            )
    axes, constants = read_sweep({name: _listed(text) for name, text in levels.items()}, _flag)
    return replace(
        spec,
        axes={name: values for name, values in spec.axes.items() if name not in constants} | axes,
        constants={name: value for name, value in spec.constants.items() if name not in axes} | constants,
    )


def _listed(text: str) -> str | list[str]:
    """Values with commas between; a single one is no list."""
    values = [value.strip() for value in text.split(",")]
    return values if len(values) > 1 else text


def _no_job(targets: Sequence[str]) -> None:
    """A campaign file or a job file where a target stands would be measured as one. Raises UsageError."""
    for target in targets:
        if Path(target).suffix == ".toml" and Path(target).is_file():
            raise UsageError("it is a campaign file, not a target", where=target, remedy=f"say `--campaign {target}`")
        if Path(target).suffix in (".fio", ".job") and Path(target).is_file() and _names_jobs(Path(target)):
            raise UsageError(
                "this is a job file of fio, not a target",
                where=target,
                remedy=f"`ioatlas translate fio {target}` makes a campaign file of it",
            )


def _names_jobs(path: Path) -> bool:
    with path.open("rb") as file:
        return re.search(rb"(?m)^\[[^\]\n]+\]", file.read(1 << 16)) is not None


@dataclass(frozen=True)
class Asked:
    """What was asked for on the command line. levels: of options of the sweep; given: options of the
    campaign, by key. Both as they were typed.
    """

    targets: tuple[str, ...]
    profile: str | None
    campaign_file: Path | None
    levels: Mapping[str, str]
    given: Mapping[str, Any]

    def spec(self) -> CampaignSpec:
        """The specification. Arguments override the campaign file, the file overrides its profile.

        Raises UsageError.
        """
        spec = self._base()
        if self.targets:
            if spec.targets:
                raise UsageError(
                    "a target is named twice",
                    where=f"{self.targets[0]} and {self.campaign_file}",
                    remedy="name it on the command line or in the campaign file",
                )
            _no_job(self.targets)
            spec = replace(spec, targets=tuple(("", target) for target in self.targets))
        if not spec.targets:
            raise UsageError(
                "no target is named",
                remedy="name one: `ioatlas map DIRECTORY`, or [target] path = in the campaign file",
            )
        spec = CAMPAIGN.apply(spec, self.given, _flag, folder=Path())
        if len(self.targets) > 1 and not spec.together:
            raise UsageError(
                f"{len(self.targets)} targets are named",
                where=" ".join(self.targets),
                remedy="add --together to load them at the same time; a campaign file measures several in turns",
            )
        return with_levels(spec, self.levels)

    def _base(self) -> CampaignSpec:
        base = CAMPAIGN.profile(self.profile) if self.profile else None
        if self.campaign_file is None:
            return base or (CampaignSpec() if "trace" in self.given else CAMPAIGN.profile("quick"))
        spec = CAMPAIGN.read_file(self.campaign_file, base)
        if spec.axes or spec.constants or spec.patterns or CAMPAIGN.brings_load(spec) or "trace" in self.given:
            return spec
        return CAMPAIGN.read_file(self.campaign_file, CAMPAIGN.profile("quick"))


def measuring_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What commands that measure one target with loads of their own have in common, in the order of their help."""
    return how_options()(metrics_option(units_option(command)))


def consent_of(spec: CampaignSpec, destroy: Sequence[str], overwrite: Sequence[str], answers: Sequence[str]) -> Consent:
    """What was typed, and who answers. Raises UsageError where a configuration asks and nobody can."""
    from ioatlas.measure.run.set_up import Consent

    answer = _answerer(answers)
    asking = next((one for one in spec.configurations if one.ask), None)
    if asking is not None and answer is None:
        raise UsageError(
            f"it asks a person ({asking.ask}), and there is no terminal",
            where=f"configuration {asking.name}",
            remedy="use --answer yes where it is done by then, or start it in a terminal",
        )
    return Consent(tuple(destroy), tuple(overwrite), spec.confirmations, answer)


def _answerer(answers: Sequence[str]) -> Callable[[Configuration], Answer] | None:
    from ioatlas.measure.run.set_up import Answer

    if answers:
        typed: Iterator[str] = itertools.chain(answers, itertools.repeat(answers[-1]))
        return lambda _: Answer(next(typed))
    return _prompt if sys.stdin.isatty() and sys.stderr.isatty() else None


def _prompt(one: Configuration) -> Answer:
    from ioatlas.measure.run.set_up import Answer

    words = f" ({one.words})" if one.factors else ""
    click.echo(f"\r\x1b[KNow set up {one.name}{words}: {one.ask}", err=True)
    said = click.prompt(
        "Press enter when it is done, or type skip or stop",
        default="yes",
        show_default=False,
        err=True,
        type=click.Choice(["yes", "skip", "stop"]),
        show_choices=False,
    )
    return Answer(said)
