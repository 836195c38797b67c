# SPDX-License-Identifier: Apache-2.0
"""Making a configuration so: what a person does, what a command does, and the target as it then is."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable
from pathlib import Path

from ioatlas import beneath
from ioatlas.errors import IoAtlasError, PartialResultError
from ioatlas.fio.process import run_process
from ioatlas.model.factors import Configuration
from ioatlas.model.target import Target
from ioatlas.run.consent import Answer, Consent, confirm_writing
from ioatlas.run.plan import Plan
from ioatlas.store.journal import Journal
from ioatlas.target.layout import last_line
from ioatlas.target.opening import open_target
from ioatlas.target.place import check_journal_place

LONGEST_COMMAND_SECONDS = 7 * 86_400.0
"""Arrays are built for hours; a command that hangs for a week is not waited for."""


class StopAskedError(Exception):
    """A person asked to stop while a configuration was set up."""


def ask_for(configuration: Configuration, consent: Consent, stop_asked: Callable[[], bool]) -> None:
    """Wait until a person has done what the configuration asks for. Raises IoAtlasError when it is passed over."""
    if not configuration.ask:
        return
    if consent.answer is None:
        raise IoAtlasError(f"it asks a person ({configuration.ask}), and nobody can be asked")
    said = consent.answer(configuration)
    if said is Answer.STOP or stop_asked():
        raise StopAskedError
    if said is Answer.SKIP:
        raise IoAtlasError(f"it was passed over when it asked: {configuration.ask}")


def run_command(
    configuration: Configuration, which: str, directory: Path, stop_asked: Callable[[], bool], *, number: int = 0
) -> None:
    """Run one of its commands in its folder; what it says is kept in the campaign's directory.

    which: 'before' or 'after'. number: of the set-up, from 0. Raises IoAtlasError when it fails, StopAskedError when it
    was ended for us.
    """
    command = configuration.before if which == "before" else configuration.after
    if not command:
        return
    place = beneath.make_directory(directory, f"configurations/{beneath.plain_name(configuration.name)}")
    said = place / (f"{which}-{number + 1}.txt" if number else f"{which}.txt")
    beneath.is_ordinary(said, linked=False)
    known = {"CONFIGURATION": configuration.name, "TARGET": configuration.location, "SET_UP": str(number + 1)} | {
        f"FACTOR_{name}": str(factor.value) for name, factor in configuration.factors.items()
    }
    folder = Path(configuration.folder or directory)
    if not folder.is_dir():
        raise IoAtlasError(f"its commands run in {folder}, and there is no such folder")
    variables = [f"IOATLAS_{name}={value}" for name, value in known.items()]
    leader: list[int] = []
    outcome = run_process(
        ["/usr/bin/env", *variables, "/bin/sh", "-c", command],
        directory=folder,
        sink=str(said.absolute()),
        limit_seconds=LONGEST_COMMAND_SECONDS,
        stop_asked=stop_asked,
        started=lambda pid, _: leader.append(pid),
    )
    if outcome.stopped:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(leader[0], signal.SIGTERM)  # what the shell had started
        raise StopAskedError
    if outcome.exit_code:
        told = last_line(outcome.stderr)
        # What it said may name a site: it stays in the file, and on the terminal.
        raise IoAtlasError(f"its command `{which}` ended with {outcome.exit_code}", where=told)


def opened(configuration: Configuration, plan: Plan, journal: Journal, consent: Consent) -> Target:
    """The target of a configuration that was set up, with its identity anew and everything confirmed that has to be.

    Raises IoAtlasError when it is not there, of another kind than planned, or not confirmed.
    """
    planned = next(target for target in plan.targets if target.name == configuration.name)
    # A device may have another name by now: it is opened by the name that a person gave it.
    place = planned.location if planned.kind in ("directory", "file") else configuration.location
    target = open_target(place, configuration.name)
    if (target.kind, target.ioengine) != (planned.kind, planned.ioengine):
        raise IoAtlasError(f"it was planned as a {planned.kind} and is a {target.kind}", where=planned.location)
    check_journal_place(str(journal.directory.absolute()), target)
    confirm_writing(plan, consent, [target])
    journal.set_targets([target if one.name == target.name else one for one in journal.targets()])
    return target


def stopped(directory: Path) -> PartialResultError:
    """What is raised when a person asked to stop while a configuration was set up."""
    return PartialResultError(
        "stopped; finished visits are kept",
        where=str(directory),
        remedy=f"go on with `ioatlas resume {directory}`",
    )
