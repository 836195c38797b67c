# SPDX-License-Identifier: Apache-2.0
"""The command line: a file for a command or a few that belong together, imported only when one is called."""

from __future__ import annotations

import errno
import gc
import os
import sys
from typing import Any

import click

from ioatlas import __version__
from ioatlas.cli._commands import Commands
from ioatlas.cli._output import say
from ioatlas.model.errors import IoAtlasError


@click.group(
    cls=Commands,
    name="ioatlas",
    files={"map": "plan resume", "list": "open profiles completion", "bundle": "verify reproduce"},
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(__version__, "-V", "--version", prog_name="ioatlas")
def ioatlas() -> None:
    """How fast a storage target is, how sure that is, and what limits it. To begin: `ioatlas map DIRECTORY`."""


def main(arguments: list[str] | None = None) -> Any:
    """Entry point. Turns an IoAtlasError into one message and its exit code."""
    gc.set_threshold(50_000)  # imports make many objects and no garbage, and looking for it takes a while
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # of small matrices: waiting threads take time from the load
    if os.path.expanduser("~") == "~":  # noqa: PTH111 - none, as in containers; settings and keys ask for one
        os.environ["HOME"] = "/"
    try:
        return ioatlas.main(args=arguments, prog_name="ioatlas", standalone_mode=True)
    except IoAtlasError as error:
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
