# SPDX-License-Identifier: Apache-2.0
"""Arguments of several commands: campaigns by their directory, where `last` is the newest of the results folder and
names are looked up in the folders of the library; words that may be files, which shells complete; a quantity; a part of
loads; files for a build server. And the help of a command with many options: in groups, the rarer ones only when all
are asked for.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click
from click.shell_completion import CompletionItem
from click.types import StringParamType

from ioatlas.answer.results.library import (
    BUNDLE_ENDING,
    REPORT,
    bundles,
    directories,
    is_opened,
    library_folders,
    stamp,
)
from ioatlas.model.errors import UsageError
from ioatlas.model.options import ALIASES, ALLOWED
from ioatlas.model.quantities import COMPARED
from ioatlas.model.units import RATE_UNITS, parse_duration_seconds, rates_in

if TYPE_CHECKING:
    from ioatlas.report.export.to_gate import Gate


class PathOrWord(StringParamType):
    """Text that is mostly a path: a target, which may be a URI; a key; a command line or a file of it."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002
        return [CompletionItem(incomplete, type="file")]


class Name(StringParamType):
    """One of some names, which are asked for when they are needed. The command itself says which are wrong."""

    def __init__(self, names: Callable[[], Iterable[str] | Mapping[str, str]]) -> None:
        self._names = names

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002
        names = self._names()
        told = names if isinstance(names, Mapping) else dict.fromkeys(names, "")
        return [CompletionItem(name, help=text or None) for name, text in told.items() if name.startswith(incomplete)]


def quantity_option(meaning: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """`--quantity`, with what it is the quantity of."""
    return click.option("--quantity", type=click.Choice(tuple(COMPARED)), default="bw", show_default=True, help=meaning)


def latency_limit(p99: str | None, mean: str | None) -> tuple[Literal["p99", "mean"], float | None]:
    """Which latency is limited, and to how many nanoseconds; None for no limit. Raises UsageError for two limits."""
    if p99 is not None and mean is not None:
        raise UsageError("there are two latency limits", where="--p99, --mean", remedy="keep one of them")
    name: Literal["p99", "mean"] = "p99" if mean is None else "mean"
    text = p99 if mean is None else mean
    return name, None if text is None else parse_duration_seconds(text, where=f"--{name}") * 1e9


path_option = functools.partial(click.option, type=click.Path(path_type=Path))
"""A folder that is there."""
USUAL = Path("testbed.toml")
corrections_option = path_option(
    "--facts",
    "facts_file",
    default=lambda: USUAL if USUAL.is_file() else None,
    help="testbed.toml with facts to add or correct (./testbed.toml when there is one).",
)
where_option = click.option(
    "--where", metavar="OPTION=VALUE[,VALUE]", multiple=True, help="Only loads with these values; repeatable."
)
units_option = click.option(
    "--units",
    type=click.Choice(tuple(RATE_UNITS)),
    default="binary",
    envvar="IOATLAS_UNITS",
    expose_value=False,
    callback=lambda ctx, _param, system: ctx.with_resource(rates_in(system)),
    help="Units of throughput: MiB/s (binary, the default) or MB/s (decimal).",
)
"""Of everything that the command prints, draws and writes for people."""

_FILE = click.Path(path_type=Path, dir_okay=False)


def gate_files(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--junit` and `--markdown`."""
    markdown = click.option("--markdown", metavar="FILE", type=_FILE, help="Write a summary for a pull request.")
    return click.option("--junit", metavar="FILE", type=_FILE, help="Write the checks as JUnit XML.")(markdown(command))


def write_gate(gate: Gate, junit: Path | None, markdown: Path | None) -> None:
    """Write what was asked for, and say so on standard error."""
    from ioatlas.report.export.to_gate import write

    for path in write(gate, junit_file=junit, markdown_file=markdown):
        click.echo(f"written: {path}", err=True)


LAST = "last"


class CampaignDirectory(click.Path):
    """A campaign's directory: a path, a name in the results folder, `last`, or a bundle, which is opened."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = Path(str(super().convert(value, param, ctx)))
        if path.is_file():
            return _opened(path)
        if path.exists():
            return path
        folders = library_folders()
        if str(value) == LAST:
            return newest()
        inside = [folder / path for folder in folders if not path.is_absolute()]
        bundle = next((each for each in inside if each.name.endswith(BUNDLE_ENDING) and each.is_file()), None)
        return _opened(bundle) if bundle else next((each for each in inside if stamp(each) is not None), path)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        folders = library_folders()
        names = [LAST, *(path.name for path in (*directories(folders), *bundles(folders)))]
        items = [CompletionItem(name) for name in names if name.startswith(incomplete)]
        return [*items, *super().shell_complete(ctx, param, incomplete)]


def newest() -> Path:
    """The newest campaign of the results folder. Raises UsageError where there is none."""
    folder = library_folders()[0]
    found = directories([folder])
    if not found:
        remedy = "`ioatlas map DIRECTORY` makes one"
        raise UsageError("there is no campaign yet", where=str(folder.resolve()), remedy=remedy)
    return found[0]


class SideArgument(CampaignDirectory):
    """A campaign's directory, `DIR:TARGET` with the name of one of its targets, or a file."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = super().convert(value, param, ctx)
        place, colon, target = str(value).rpartition(":")
        if Path(path).exists() or not colon or not place:
            return path
        inside = super().convert(place, param, ctx)
        return Path(f"{inside}:{target}") if Path(inside).exists() else path


def _opened(path: Path) -> Path:
    """The directory of a bundle's campaign; another file is left as it is."""
    from ioatlas.bundle.opening import looks_like_bundle, opened_directory

    return opened_directory(path) if looks_like_bundle(path) else path


def report_of(directory: Path) -> Path:
    """Where a campaign has its report."""
    return directory / REPORT


def own_place(directory: Path, name: str) -> Path:
    """Where a command writes a file unless it is told: into the campaign's directory; of a bundle here, under its
    name.
    """
    return Path(f"{directory.name}-{name}") if is_opened(directory) else directory / name


campaign_argument = click.argument("directory", metavar="[DIR]", default=LAST, type=CampaignDirectory())
"""A campaign, by default the newest."""


OPTION_GROUPS = {
    "What to measure": "profile campaign_file rw bs numjobs iodepth size prepare trace engine file_sizes "
    "directory_depth together clients client_range on_lost_client",
    "How long, how precise": "budget visits cells precision grade max_visits window rest blocks",
    "What may be written": "read_only destroy overwrite answers",
    "What else is known": "product iperf drive facts",
    "Beside the plan": "schema",
    "Results": "output metrics units verbose quiet open_report as_json dry_run yes help help_all",
}
REST = "Other options"
_RARE = (
    "trace engine grade max_visits window rest blocks drive facts answers prepare iperf together client_range "
    "on_lost_client file_sizes directory_depth metrics"
)
RARE = frozenset(_RARE.split())
SHOWING_ALL = "ioatlas.help_all"


def _show_all(ctx: click.Context, _: click.Parameter, asked: bool) -> None:
    if asked:
        ctx.meta[SHOWING_ALL] = True
        click.echo(ctx.get_help())
        ctx.exit()


def _name(option: click.Option) -> str:
    """The name of an option; that of --help is click's own business."""
    return "help" if "--help" in option.opts else option.name or ""


class GroupedCommand(click.Command):
    """A command whose options stand under the headings of `OPTION_GROUPS`."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Its own, --help, and --help-all."""
        every = click.Option(
            ["--help-all"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_show_all,
            help="Show all options.",
        )
        return [*super().get_params(ctx), every]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Raises UsageError for an option of fio that stands in a campaign file, not on the command line."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            name = error.option_name.lstrip("-")
            if name in ("runtime", "time", "timeout", "duration"):
                remedy = "`--budget 5m` is the time that the campaign may take"
            elif name in ALIASES or name in ALLOWED:
                remedy = "set it in [sweep] of a campaign file: `ioatlas map --campaign FILE.toml`"
            else:
                raise
            raise UsageError("this is an option of fio", where=error.option_name, remedy=remedy) from None

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        options = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        records = {_name(option): record for option in options if (record := option.get_help_record(ctx))}
        if not ctx.meta.get(SHOWING_ALL):
            records = {name: record for name, record in records.items() if name not in RARE}
        groups = {heading: names.split() for heading, names in OPTION_GROUPS.items()}
        grouped = {name for names in groups.values() for name in names}
        groups[REST] = [name for name in records if name not in grouped]
        for heading, names in groups.items():
            rows = [records[name] for name in names if name in records]
            if rows:
                with formatter.section(heading):
                    formatter.write_dl(rows, col_max=26)
