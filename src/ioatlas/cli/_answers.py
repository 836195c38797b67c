# SPDX-License-Identifier: Apache-2.0
"""What a person agrees to when configurations are set up: commands that run, and what is to be done by hand."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import click

from ioatlas.errors import UsageError

if TYPE_CHECKING:
    from ioatlas.config.spec import CampaignSpec
    from ioatlas.model.factors import Configuration
    from ioatlas.run.set_up import Answer, Consent


def consent_of(spec: CampaignSpec, destroy: Sequence[str], overwrite: Sequence[str], answers: Sequence[str]) -> Consent:
    """What was typed, and who answers. Raises UsageError where a configuration asks and nobody can."""
    from ioatlas.run.set_up import Consent

    answer = _answerer(answers)
    asking = next((one for one in spec.configurations if one.ask), None)
    if asking is not None and answer is None:
        raise UsageError(
            f"it asks a person ({asking.ask}), and there is no terminal",
            where=f"configuration {asking.name}",
            remedy="use --answer yes where it is done by then, or start it in a terminal",
        )
    return Consent(tuple(destroy), tuple(overwrite), spec.confirmations, answer)


def commands_of(spec: CampaignSpec) -> list[str]:
    """What a session of the campaign will run and ask for, a line each."""
    return [
        f"{one.name}: {what} {'; '.join(line.strip() for line in text.splitlines() if line.strip())}"
        for one in spec.configurations
        for what, text in (("ask   ", one.ask), ("before", one.before), ("after ", one.after))
        if text
    ]


def _answerer(answers: Sequence[str]) -> Callable[[Configuration], Answer] | None:
    from ioatlas.run.set_up import Answer

    if answers:
        typed: Iterator[str] = itertools.chain(answers, itertools.repeat(answers[-1]))
        return lambda _: Answer(next(typed))
    return _prompt if sys.stdin.isatty() and sys.stderr.isatty() else None


def _prompt(one: Configuration) -> Answer:
    from ioatlas.run.set_up import Answer

    words = f" ({one.words})" if one.factors else ""
    click.echo(f"\r\x1b[KNow set up {one.name}{words}: {one.ask}", err=True)
    said = click.prompt(
        "Press enter when it is done, or type skip or stop",
        default="yes",
        show_default=False,
        err=True,
        type=click.Choice(["yes", "skip", "stop"]),
        show_choices=False,
    )
    return Answer(said)
