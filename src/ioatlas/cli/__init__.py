# SPDX-License-Identifier: Apache-2.0
"""The command line: one file per command, found by name, imported only when it is called."""

from __future__ import annotations

import difflib
import importlib
import pkgutil
import sys
from typing import Any

import click

from ioatlas import __version__
from ioatlas.errors import IoAtlasError, UsageError


class _Commands(click.Group):
    """Finds `ioatlas NAME` in the module NAME of this package; a trailing underscore avoids keywords."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return sorted(
            info.name.rstrip("_").replace("_", "-")
            for info in pkgutil.iter_modules(__path__)
            if not info.name.startswith("_")
        )

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        names = {
            info.name.rstrip("_").replace("_", "-"): info.name
            for info in pkgutil.iter_modules(__path__)
            if not info.name.startswith("_")
        }
        if cmd_name not in names:
            return None
        command: click.Command = importlib.import_module(f"{__name__}.{names[cmd_name]}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            near = difflib.get_close_matches(args[0], self.list_commands(ctx), n=1)
            raise UsageError(
                f"there is no command {args[0]!r}",
                remedy=f"did you mean {near[0]!r}?" if near else "see `ioatlas --help`",
            )
        return super().resolve_command(ctx, args)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="ioatlas")
def ioatlas() -> None:
    """Performance maps of storage: name a target, get a map whose every cell has an interval and a verdict."""


def main(arguments: list[str] | None = None) -> Any:
    """Entry point. Turns an IoAtlasError into one message and its exit code."""
    try:
        return ioatlas.main(args=arguments, prog_name="ioatlas", standalone_mode=True)
    except IoAtlasError as error:
        click.echo(f"ioatlas: {error}", err=True)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        sys.exit(0)
