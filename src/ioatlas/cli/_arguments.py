# SPDX-License-Identifier: Apache-2.0
"""Arguments of several commands: words that may be files, which shells complete; a quantity; a part of loads;
files for a build server.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click
from click.shell_completion import CompletionItem
from click.types import StringParamType

from ioatlas.errors import UsageError
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
