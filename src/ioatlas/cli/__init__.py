# SPDX-License-Identifier: Apache-2.0
"""The command line: one file per command, found by name, imported only when it is called."""

from __future__ import annotations

import errno
import os
import sys
from typing import Any

import click

from ioatlas import __version__
from ioatlas.cli._commands import Commands
from ioatlas.errors import IoAtlasError

SECTIONS = {
    "Measure": {
        "map": "Measure a performance map of a target.",
        "plan": "Show what `map` would do; nothing is written.",
        "resume": "Go on with a campaign that was stopped.",
        "tune": "Find the jobs and depth with the most IOPS.",
        "fit": "Say whether a target fits a use: PASS or FAIL.",
        "watch": "Measure again and again; tell when it gets worse.",
    },
    "Look": {
        "show": "Show a campaign's answer in the terminal.",
        "open": "Open a campaign's report in the browser.",
        "compare": "Compare campaigns, targets or result files.",
        "import": "Import result files of other tools.",
        "export": "Write tables, figures or a report.",
        "list": "List what was measured and imported.",
        "ui": "Look, compare and measure in the browser.",
        "product": "Products: sheets, capacity, price, and what to expect.",
    },
    "Share": {
        "bundle": "Pack a campaign into one signed file.",
        "verify": "Check a bundle against its raw output.",
        "atlas": "Publish to an atlas, search one, serve one.",
    },
    "Also, each with --help": {
        "lab": "Run targets whose truth is known.",
        "profiles": "List the built-in profiles.",
        "shakedown": "Check whether this client can measure a target.",
        "probe": "Facts about client, path and target.",
        "reproduce": "Measure a bundle's campaign on your target.",
        "site": "Write results as a folder of static pages.",
        "translate": "Translate another tool's job into fio's.",
        "completion": "Print completion for bash, zsh or fish.",
    },
}
"""Commands as `ioatlas --help` lists them."""


@click.group(
    cls=Commands,
    sections=SECTIONS,
    modules={"import": "import_"},
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(__version__, "-V", "--version", prog_name="ioatlas")
def ioatlas() -> None:
    """How fast a storage target is, how sure that is, and what limits it. To begin: `ioatlas map DIRECTORY`."""


def main(arguments: list[str] | None = None) -> Any:
    """Entry point. Turns an IoAtlasError into one message and its exit code."""
    if os.path.expanduser("~") == "~":  # noqa: PTH111 - none, as in containers; settings and keys ask for one
        os.environ["HOME"] = "/"
    try:
        return ioatlas.main(args=arguments, prog_name="ioatlas", standalone_mode=True)
    except IoAtlasError as error:
        from ioatlas.cli._output import say

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
