# SPDX-License-Identifier: Apache-2.0
"""Checks for a build server and a pull request: the options that name their files, and the writing of these."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from ioatlas.report.export.to_gate import Gate

_FILE = click.Path(path_type=Path, dir_okay=False)


def gate_files(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--junit` and `--markdown`."""
    command = click.option("--markdown", metavar="FILE", type=_FILE, help="Write a summary for a pull request.")(
        command
    )
    return click.option("--junit", metavar="FILE", type=_FILE, help="Write the checks as JUnit XML.")(command)


def write_gate(gate: Gate, junit: Path | None, markdown: Path | None) -> None:
    """Write what was asked for, and say so on standard error."""
    from ioatlas.report.export.to_gate import write

    for path in write(gate, junit_file=junit, markdown_file=markdown):
        click.echo(f"written: {path}", err=True)
