# SPDX-License-Identifier: Apache-2.0
"""Groups of commands: found by name, imported only when they are called; names of before 0.4 still work.

What `--help` ends with, examples and exit status, stands in one text for each package of commands, `examples.txt`.

A command stands in a file of this room, or in a package of its own that names it as an entry point of
`ioatlas.commands`.
"""

from __future__ import annotations

import difflib
import functools
import importlib
import pkgutil
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import click

from ioatlas.cli._output import say
from ioatlas.model.errors import UsageError

ATLAS = ("serve", "publish", "search", "fetch", "change", "reply")
PACKAGES = {
    "lab": "lab",
    **dict.fromkeys(("import", "translate"), "translate"),
    **dict.fromkeys((*ATLAS, "ui", "site"), "atlas"),
}
"""Commands of packages of their own: by name the extra of ioatlas that installs it."""
MOVED = {
    **{name: f"atlas {name}" for name in (*ATLAS, "key")},
    "cost": "product cost",
    "report": "export --format html",
    "chart": "export --figure",
}
"""What commands of before 0.4 are now, for one version."""


class Commands(click.Group):
    """A group whose commands stand under headings, as `commands.txt` has them; none is loaded before it is called.

    sections: by heading, by name what each command does; below a heading that begins with Also they are only named.
    files: by name of a module the commands that stand in it too, each as NAME_command.
    """

    def __init__(self, *args: Any, files: Mapping[str, str] | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **{"no_args_is_help": True, **kwargs})
        self.sections = _sections(self.name or "")
        self.files = {name: file for file, names in (files or {}).items() for name in names.split()}

    @property
    def said(self) -> dict[str, str]:
        """By name what each command does."""
        return {name: text for section in self.sections.values() for name, text in section.items()}

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(self.said)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        for heading, commands in self.sections.items():
            with formatter.section(heading):
                if heading.startswith("Also"):
                    formatter.write_text(", ".join(commands))
                else:
                    formatter.write_dl(list(commands.items()))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in self.commands or cmd_name not in self.said:
            return super().get_command(ctx, cmd_name)
        if cmd_name in PACKAGES:
            return of_package(cmd_name)
        module = importlib.import_module(f"ioatlas.cli.{self.files.get(cmd_name, cmd_name)}")
        command: click.Command = getattr(module, f"{cmd_name}_command", module.command)
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        with _one_style():
            return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        with _one_style():
            return super().invoke(ctx)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] == "help" and ctx.parent is None:
            if len(args) == 1:
                click.echo(ctx.get_help())
                ctx.exit()
            args = [*args[1:], "--help"]
        if ctx.parent is None and args[0] in MOVED:
            say(f"`ioatlas {args[0]}` is now `ioatlas {MOVED[args[0]]}`", err=True)
            args = [*MOVED[args[0]].split(), *args[1:]]
        if args[0] in _gone():
            raise UsageError(f"`{ctx.command_path} {args[0]}` is gone", remedy=_gone()[args[0]])
        if not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            raise _unknown(args[0], self.list_commands(ctx), ctx.command_path)
        return super().resolve_command(ctx, args)


class _Absent(click.Command):
    """Stands for a command whose package is not installed: listed like any other, and called says what to install."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:  # noqa: ARG002
        if ctx.resilient_parsing:
            return []
        raise UsageError(
            f"`{ctx.command_path}` is a package of its own, which is not installed in this version",
            remedy=f"pip install 'ioatlas[{PACKAGES[self.name or '']}]'",
        )


def of_package(name: str) -> click.Command:
    """A command of a package of its own; what says how to install it where that is not there."""
    from importlib.metadata import entry_points  # which takes a fourth of the time of `ioatlas --version`

    for point in entry_points(group="ioatlas.commands", name=name):
        with suppress(ImportError):  # of another version
            command: click.Command = point.load()
            return command
    return _Absent(name, add_help_option=False)


@contextmanager
def _one_style() -> Iterator[None]:
    """What click finds wrong is told as everything else is."""
    try:
        yield
    except click.UsageError as error:
        if isinstance(error, click.exceptions.NoArgsIsHelpError):
            raise
        remedy = f"`{error.ctx.command_path if error.ctx else 'ioatlas'} --help` shows what it takes"
        if isinstance(error, click.NoSuchOption):
            gone = _gone().get(error.option_name)
            near = f"did you mean {error.possibilities[0]}? " if error.possibilities else ""
            what = "this option is gone" if gone else "there is no such option"
            raise UsageError(what, where=error.option_name, remedy=gone or near + remedy) from None
        what = error.format_message().rstrip(".")
        if word := re.search(r"'([^']+)'(?: is not one of|$)", what):
            remedy = _gone().get(word[1], remedy)
        raise UsageError(f"{what[:1].lower()}{what[1:]}", remedy=remedy) from None


def _unknown(word: str, known: list[str], path: str) -> UsageError:
    near = difflib.get_close_matches(word, known, n=1)
    remedy = f"did you mean {near[0]!r}?" if near else f"see `{path} --help`"
    if Path(word).exists():
        remedy = (
            "a path stands behind a command: `ioatlas map` measures it, `ioatlas import` reads results, "
            "`ioatlas translate fio` reads a job file"
        )
    return UsageError(f"there is no command {word!r}", remedy={"version": "`ioatlas --version`"}.get(word, remedy))


def examples(command: str, package: str = "ioatlas.cli") -> str:
    """What stands below `== command` in the package's examples.txt. Its lines stay as they are."""
    return "\b\n" + _texts(package, "examples.txt")[command].replace("\n\n", "\n\n\b\n")


def _sections(group: str) -> dict[str, dict[str, str]]:
    """What `commands.txt` has below `== GROUP: HEADING`."""
    told = {head.partition(": "): body.splitlines() for head, body in _texts("ioatlas.cli", "commands.txt").items()}
    return {
        heading: {line.split()[0]: line.partition(" ")[2].strip() for line in lines}
        for (of, _, heading), lines in told.items()
        if of == group
    }


def _gone() -> dict[str, str]:
    """Commands and options that are no more, and what serves in their place."""
    return {name: told for names, told in _texts("ioatlas.cli", "gone.txt").items() for name in names.split()}


@functools.cache
def _texts(package: str, name: str) -> dict[str, str]:
    text = (pkgutil.get_data(package, name) or b"").decode()
    sections = re.split(r"^== (.+)\n", text, flags=re.MULTILINE)
    return {name: body.strip("\n") for name, body in zip(sections[1::2], sections[2::2], strict=True)}
