# SPDX-License-Identifier: Apache-2.0
"""What a person typed so that targets may be written, and who answers when a configuration has to be set up by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from ioatlas.errors import RefusedError, UsageError
from ioatlas.model.factors import Configuration
from ioatlas.model.target import Target
from ioatlas.run.plan import Plan
from ioatlas.target.guard import check_before_start, confirm_destroy, confirm_overwrite

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
