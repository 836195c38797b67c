# SPDX-License-Identifier: Apache-2.0
"""`ioatlas completion`: completion for a shell."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from ioatlas.cli import ioatlas
from ioatlas.cli._commands import examples

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_IOATLAS_COMPLETE"


@click.command(name="completion", epilog=examples("completion"))
@click.argument("shell", type=click.Choice(SHELLS))
def command(shell: str) -> None:
    """Print what makes SHELL complete commands, options, profiles and campaigns."""
    kind = get_completion_class(shell)
    assert kind is not None, shell
    source = kind(ioatlas, {}, "ioatlas", VARIABLE).source()
    # click's lines for fish are cut at every comma, also at those of a help text.
    click.echo(source.replace('string split ","', 'string split --max 1 ","'))
