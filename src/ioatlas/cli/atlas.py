# SPDX-License-Identifier: Apache-2.0
"""`ioatlas atlas`: results that others may see and check."""

from __future__ import annotations

import click

from ioatlas.cli._commands import Commands

SECTIONS = {
    "Your results": {
        "publish": "Send a bundle to an atlas, after a preview.",
        "change": "Change who sees a result of yours; withdraw, delete.",
        "reply": "Say something beside a result of an atlas.",
        "key": "Keys that sign bundles, and keys you trust.",
    },
    "Results of others": {
        "search": "Find results of an atlas by what they can do.",
        "fetch": "Bring a bundle from an atlas, and check it.",
    },
    "Your own atlas": {"serve": "Serve an atlas of many evaluators' bundles."},
}


@click.group(name="atlas", cls=Commands, sections=SECTIONS)
def command() -> None:
    """An atlas collects signed bundles, recomputes every number from the raw output, and lets vendors answer."""
