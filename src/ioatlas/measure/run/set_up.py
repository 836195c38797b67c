# SPDX-License-Identifier: Apache-2.0
"""Making a configuration so: what a person does, what a command does, and the target as it then is; and
what a person typed so that targets may be written.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from ioatlas.load.fio.process import Minder, run_process
from ioatlas.measure.run.plan import Plan
from ioatlas.model.errors import IoAtlasError, PartialResultError, RefusedError, UsageError
from ioatlas.model.factors import Configuration
from ioatlas.model.target import Target
from ioatlas.store import confined
from ioatlas.store.journal import Journal
from ioatlas.target.guard import check_before_start, confirm_destroy, confirm_overwrite
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
    place = confined.make_directory(directory, f"configurations/{confined.plain_name(configuration.name)}")
    said = place / (f"{which}-{number + 1}.txt" if number else f"{which}.txt")
    confined.is_ordinary(said, linked=False)
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
        Minder(stop_asked, lambda pid, _: leader.append(pid)),
        directory=folder,
        sink=str(said.absolute()),
        limit_seconds=LONGEST_COMMAND_SECONDS,
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
    """What is raised when a person asks to stop."""
    return PartialResultError(
        "stopped; finished visits are kept", where=str(directory), remedy=f"go on with `ioatlas resume {directory}`"
    )


CONFIRMS = {"block": ("destroy", confirm_destroy), "file": ("overwrite", confirm_overwrite)}
CONFIRMS["uri"] = CONFIRMS["file"]


class Answer(StrEnum):
    """What is said when a configuration has to be set up by hand."""

    YES = "yes"
    SKIP = "skip"
    STOP = "stop"


@dataclass(frozen=True)
class Consent:
    """destroy, overwrite: typed on the command line, for any target. own: typed in the campaign file, by configuration.

    answer: says whether what a configuration asks for was done; None where nobody can be asked.
    """

    destroy: tuple[str, ...] = ()
    overwrite: tuple[str, ...] = ()
    own: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    answer: Callable[[Configuration], Answer] | None = None

    def without(self, kind: str, text: str) -> Consent:
        """What is left for other targets once one of the texts has served."""
        every: list[str] = list(getattr(self, kind))
        if text in every:
            every.remove(text)
        left: dict[str, Any] = {kind: tuple(every)}
        return replace(self, **left)

    def typed(self, kind: str, target: str) -> tuple[str, ...]:
        """All that was typed for a target. kind: 'destroy' or 'overwrite'."""
        every: tuple[str, ...] = getattr(self, kind)
        mine = self.own.get(target, {}).get(kind)
        return (*every, mine) if mine else every


def typed_texts(typed: str | Sequence[str] | None) -> tuple[str, ...]:
    """What was typed, once or several times."""
    return (typed,) if isinstance(typed, str) else tuple(typed or ())


def confirm_writing(plan: Plan, consent: Consent, targets: Sequence[Target]) -> None:
    """The guards and what a person has to type, for every one of these targets that will be written.

    A text serves for one place: drives of one size have the same, and each of them has to be meant.
    """
    meant: set[str] = set()
    for target in targets:
        if not plan.writes(target.name):
            continue
        try:
            check_before_start(target, writes=True)
            if target.kind in CONFIRMS and target.location not in meant:
                kind, confirm = CONFIRMS[target.kind]
                text = _confirmed(lambda text: confirm(target, text), consent.typed(kind, target.name))  # noqa: B023
                if text != consent.own.get(target.name, {}).get(kind):
                    consent = consent.without(kind, text)
                meant.add(target.location)
        except UsageError as error:
            error.remedy += (
                "; or measure it with --read-only, which writes nothing"
                if error.remedy and target.kind != "directory"
                else ""
            )
            raise


def _confirmed(confirm: Callable[[str | None], None], typed: Sequence[str]) -> str:
    """The text that the guard wants. Raises what it raises unless there is one; '' where it wants none."""
    for text in typed[:-1]:
        try:
            confirm(text)
        except RefusedError:
            continue
        return text
    confirm(typed[-1] if typed else None)
    return typed[-1] if typed else ""


def check_something_typed(plan: Plan, consent: Consent, targets: Sequence[Target]) -> None:
    """Of targets that are set up later: that something was typed at all for those whose data will be lost. Whether it
    is right shows when they are there. Raises RefusedError.
    """
    for target in targets:
        if plan.writes(target.name) and target.kind in CONFIRMS:
            kind, _ = CONFIRMS[target.kind]
            if not consent.typed(kind, target.name):
                raise RefusedError(
                    "what is on it will be lost, and that was not confirmed: nothing was typed",
                    where=f"configuration {target.name}, {target.location}",
                    remedy=f"write {kind} = into its [[configuration]], or use --{kind}; or use --read-only",
                )
