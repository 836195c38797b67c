# SPDX-License-Identifier: Apache-2.0
"""The command line: one file per command, found by name, imported only when it is called."""

from __future__ import annotations

import difflib
import errno
import importlib
import os
import sys
from pathlib import Path
from typing import Any

import click

from ioatlas import __version__
from ioatlas.errors import IoAtlasError, UsageError

SECTIONS = {
    "Measure": {
        "map": "Measure a performance map of a target.",
        "plan": "Show what `map` would do; nothing is written.",
        "resume": "Go on with a campaign that was stopped.",
        "watch": "Measure again and again; tell when it gets worse.",
        "tune": "Find the jobs and depth with the most IOPS.",
        "fit": "Say whether a target fits a use: PASS or FAIL.",
        "profiles": "List the built-in profiles.",
    },
    "Look": {
        "show": "Show a campaign's answer in the terminal.",
        "open": "Open a campaign's report in the browser.",
        "list": "List what was measured and imported.",
        "ui": "Look, compare and measure in the browser.",
        "history": "Show one target over time.",
        "trend": "Say whether a target got worse.",
        "compare": "Compare campaigns, targets or result files.",
        "series": "Join campaigns by what tells them apart.",
        "chart": "Draw several sides in one chart.",
        "report": "Write a campaign's report anew.",
        "export": "Write tables, figures or gnuplot files.",
        "paper": "Write figures, tables and data for a paper.",
    },
    "Worth its price": {
        "product": "Sheets of products: capacity, price, facts.",
        "judge": "Is this good, for what it is made of?",
        "cost": "What a TiB, a MB/s or 1,000 IOPS costs.",
    },
    "Share": {
        "bundle": "Pack a campaign into one signed file.",
        "verify": "Check a bundle against its raw output.",
        "reproduce": "Measure a bundle's campaign on your target.",
        "key": "Keys that sign bundles, and keys you trust.",
        "serve": "Serve an atlas of many evaluators' bundles.",
        "publish": "Send a bundle to an atlas, after a preview.",
        "search": "Find results of an atlas by what they can do.",
        "fetch": "Bring a bundle from an atlas, and check it.",
        "change": "Change who sees a result of yours; withdraw, delete.",
        "reply": "Say something beside a result of an atlas.",
    },
    "Before and beside": {
        "probe": "Facts about client, path and target.",
        "shakedown": "Check whether this client can measure a target.",
        "lab": "Run targets whose truth is known.",
    },
    "Other tools": {
        "import": "Import result files of other tools.",
        "translate": "Translate another tool's job into fio's.",
        "completion": "Print completion for bash, zsh or fish.",
    },
}
"""Commands as `ioatlas --help` lists them: their own modules are not loaded for that."""


class _Commands(click.Group):
    """Finds `ioatlas NAME` in the module NAME of this package; a trailing underscore avoids keywords."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return [name for section in SECTIONS.values() for name in section]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        for heading, commands in SECTIONS.items():
            with formatter.section(heading):
                formatter.write_dl(list(commands.items()))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        module = {"import": "import_"}.get(cmd_name, cmd_name)
        command: click.Command = importlib.import_module(f"{__name__}.{module}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            near = difflib.get_close_matches(args[0], self.list_commands(ctx), n=1)
            remedy = f"did you mean {near[0]!r}?" if near else "see `ioatlas --help`"
            remedy = {"version": "`ioatlas --version`", "help": "`ioatlas --help`"}.get(args[0], remedy)
            if Path(args[0]).exists():
                remedy = (
                    "a path stands behind a command: `ioatlas map` measures it, `ioatlas import` reads results, "
                    "`ioatlas translate fio` reads a job file"
                )
            raise UsageError(f"there is no command {args[0]!r}", remedy=remedy)
        return super().resolve_command(ctx, args)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, "-V", "--version", prog_name="ioatlas")
def ioatlas() -> None:
    """Performance maps of storage: name a target, get a map whose every cell has an interval and a verdict."""


def main(arguments: list[str] | None = None) -> Any:
    """Entry point. Turns an IoAtlasError into one message and its exit code."""
    try:
        return ioatlas.main(args=arguments, prog_name="ioatlas", standalone_mode=True)
    except IoAtlasError as error:
        from ioatlas.cli._fold import say

        say(f"ioatlas: {error}", err=True)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        sys.exit(0)
    except OSError as error:
        if error.filename is not None or error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EIO):
            raise
        _write_nothing_more()
        click.echo(f"ioatlas: the output cannot be written: {error.strerror}", err=True)
        sys.exit(1)


def _write_nothing_more() -> None:
    """What still waits to be written would be tried again at the end, with a traceback."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
