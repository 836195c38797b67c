# SPDX-License-Identifier: Apache-2.0
"""`ioatlas history`: one target over time, and campaigns that were measured apart."""

from __future__ import annotations

import click

from ioatlas.cli._commands import Commands

SECTIONS = {
    "Commands": {
        "show": "Show one target over time, and whether it got worse; the default.",
        "series": "Join campaigns by what tells them apart.",
    }
}


@click.group(name="history", cls=Commands, sections=SECTIONS, modules={"show": "_history_show"}, default="show")
def command() -> None:
    """How a target's speed changed from campaign to campaign, and what a factor does over campaigns measured apart.

    \b
    ioatlas history /mnt/nas                             each campaign of that target, and where it changed
    ioatlas history /mnt/nas --fail-if-worse             for scripts: exit code 3 when it got worse
    ioatlas history series show drives.toml              what the number of drives does
    """  # noqa: D301
