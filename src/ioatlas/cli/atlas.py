# SPDX-License-Identifier: Apache-2.0
"""`ioatlas atlas`: results that others may see and check."""

from __future__ import annotations

import click

from ioatlas.cli._commands import Commands


@click.group(name="atlas", cls=Commands)
def command() -> None:
    """An atlas collects signed bundles, recomputes every number from the raw output, and lets vendors answer."""
