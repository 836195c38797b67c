# SPDX-License-Identifier: Apache-2.0
"""A campaign from end to end: its targets opened, its cells planned, begun, run in sessions, its result read.

plan = open_plan(spec)              # the targets are opened, the procedure plans the cells; nothing is written
journal = start(plan, directory)    # guards and confirmations, then a directory with a journal
run(journal, ...)                   # one session: recover, make what is left, clean
load_result(directory)              # everything a report needs, computed anew from the journal
"""

from __future__ import annotations

import json
import re
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ioatlas import __version__, beneath
from ioatlas.config.spec import CampaignSpec
from ioatlas.config.user import results_folder
from ioatlas.errors import IoAtlasError, UsageError
from ioatlas.fio.executor import Clock, Executor, SystemExecutor
from ioatlas.model.events import Emit, Event
from ioatlas.model.status import RemarkKind, VisitStatus
from ioatlas.model.target import Target
from ioatlas.model.words import words
from ioatlas.procedures.options import CAMPAIGN, campaign_toml
from ioatlas.procedures.registry import PROCEDURES, parts_of, procedure_of
from ioatlas.run.foreign import confirm_trust
from ioatlas.run.plan import Plan
from ioatlas.run.procedure import Procedure
from ioatlas.run.record import plan_record, recorded_plan
from ioatlas.store.journal import Journal
from ioatlas.store.machine_key import machine_key
from ioatlas.target.guard import check_before_start, confirm_destroy, confirm_overwrite
from ioatlas.target.identity import recognise
from ioatlas.target.opening import open_target
from ioatlas.target.place import check_journal_place, check_space
from ioatlas.target.sites import Sites
from ioatlas.testbed.facts_file import FACTS_FILE, asks_of, facts_text

if TYPE_CHECKING:
    from ioatlas.model.result import CampaignResult
    from ioatlas.run.environment import Environment
    from ioatlas.run.runner import Summary


OURS = frozenset(
    words(
        "journal.sqlite journal.sqlite-journal imported.sqlite campaign.toml testbed.toml report.html tune.json "
        "batches layout verify trace trace.iolog"
    )
)
"""What a session reads, writes or removes in a campaign's directory."""


def open_plan(spec: CampaignSpec, *, read_only: bool = False, procedure: Procedure | None = None) -> Plan:
    """Open the targets of a specification and plan its cells. Writes nothing. Raises IoAtlasError.

    procedure: one that a command brings; otherwise the specification says which it is.
    """
    targets = _distinct([open_target(location, name or None) for name, location in spec.targets])
    procedure = procedure or procedure_of(spec)
    for other in PROCEDURES:
        if other.name != procedure.name:
            other.refuse_in(spec)
    return procedure.plan(spec, targets, read_only=read_only)


def _distinct(targets: list[Target]) -> tuple[Target, ...]:
    """Targets under different names; a second one of a name gets a number."""
    seen: dict[str, int] = {}
    named = []
    for target in targets:
        seen[target.name] = seen.get(target.name, 0) + 1
        named.append(target if seen[target.name] == 1 else replace(target, name=f"{target.name}-{seen[target.name]}"))
    for index, one in enumerate(named):
        for other in named[:index]:
            if one.location == other.location:
                raise UsageError("a target is named twice", where=one.location, remedy="name every target once")
    return tuple(named)


def default_directory(plan: Plan) -> Path:
    """A new directory in the results folder, named after the first target and the time."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", plan.targets[0].name).strip("-.") or "map"
    return results_folder() / f"ioatlas-{name}-{time.strftime('%Y%m%d-%H%M%S')}"


def start(
    plan: Plan,
    directory: Path,
    *,
    destroy: str | None = None,
    overwrite: str | None = None,
    procedure: Procedure | None = None,
    facts: Path | None = None,
    measure: Mapping[str, str | None] | None = None,
    executor: Executor | None = None,
) -> Journal:
    """A new campaign in `directory`: guards and confirmations first, then its journal with every visit that is known
    beforehand.

    procedure: as in `open_plan`. facts, measure: a file of typed-in facts, and what is measured alone first (`iperf`: a
    host, `drive`: a path). executor: what will make the loads; this machine when left out. Raises RefusedError when a
    guard refuses, UsageError when the directory is taken.
    """
    procedure, executor = procedure or procedure_of(plan.spec), executor or SystemExecutor()
    executor.find("fio")
    if not plan.to_measure:
        raise UsageError("no cell of the sweep can be measured", remedy="see `ioatlas plan` for the reasons")
    procedure.check_start(plan, executor)
    typed = facts_text(facts, measure or {})
    _confirm(plan, destroy, overwrite)
    remarks = [remark for target in plan.targets for remark in check_journal_place(str(directory.absolute()), target)]
    if not procedure.shrinks_to_fit(plan):  # before anything is made: whether the files fit
        for target in plan.targets:
            check_space(target, sum(plan.files.get(target.name, {}).values()))
    journal = _new_journal(directory, executor.clock)
    procedure.keep(plan, directory)  # before there is a campaign to go on with
    journal.begin_campaign(uuid.uuid4().hex[:12], _name_of(plan), __version__, plan_record(plan), plan.targets)
    journal.add_cells(plan.cells)
    procedure.begin(journal, plan)
    for remark in plan.remarks:
        journal.add_remark(RemarkKind.NOTE, remark)
    for remark in remarks:
        journal.add_remark(RemarkKind.WARNING, remark)
    # With the targets' full paths: the file can be used again from anywhere.
    located = tuple((name, target.location) for (name, _), target in zip(plan.spec.targets, plan.targets, strict=True))
    (directory / "campaign.toml").write_text(campaign_toml(replace(plan.spec, targets=located)), encoding="utf-8")
    if typed:
        (directory / FACTS_FILE).write_text(typed, encoding="utf-8")
    try:
        journal.seal(machine_key(), _asks_text(asks_of(directory)))
    except IoAtlasError as error:  # measuring needs no seal
        journal.add_remark(RemarkKind.WARNING, f"The plan is not sealed ({error.what}): `resume` will ask for --trust.")
    return journal


def _new_journal(directory: Path, clock: Clock) -> Journal:
    if directory.exists() and not directory.is_dir():
        raise UsageError("it is not a directory", where=str(directory), remedy="choose another -o")
    if directory.is_dir() and any(directory.iterdir()) and not (directory / "journal.sqlite").exists():
        raise UsageError(
            "the directory is not empty", where=str(directory), remedy="choose a new or an empty one with -o"
        )
    try:
        return Journal.create(directory, clock.time)
    except OSError as error:
        raise IoAtlasError(
            f"the campaign's directory cannot be made: {error.strerror}",
            where=str(directory),
            remedy="choose another -o",
        ) from error


def _name_of(plan: Plan) -> str:
    """What was given, else the targets and the profile: a profile's own name says nothing of what was measured."""
    if plan.spec.name and plan.spec.name != plan.spec.profile:
        return plan.spec.name
    targets = ", ".join(target.name for target in plan.targets)
    return f"{targets} ({plan.spec.profile})" if plan.spec.profile else targets


def _asks_text(asks: Mapping[str, Any]) -> str:
    return json.dumps(asks, sort_keys=True, default=str)


def _check_trust(journal: Journal, plan: Plan, typed: str | None, executor: Executor) -> None:
    """Whether this machine and user made the plan as it is, or a person vouches for it; then it is sealed as theirs.

    Raises ForeignError otherwise.
    """
    asks, row = asks_of(journal.directory), journal.campaign()
    try:
        key = machine_key()
        why = journal.foreign(key, _asks_text(asks))
    except IoAtlasError as error:
        key, why = None, error.what
    if not why:
        return
    cells = [cell for cell, _ in plan.cells]
    sites = Sites(
        journal, row.campaign_id, plan.targets, cells, executor=executor, stop_asked=lambda: False, emit=lambda _: None
    )
    first = next(iter(plan.to_measure), None)
    confirm_trust(
        plan,
        typed,
        where=str(journal.directory),
        why=why,
        campaign_id=row.campaign_id,
        visits=journal.count_visits().get(VisitStatus.PLANNED, 0),
        asks=asks,
        first={**first.members[0].option, **dict(sites.location(first))} if first is not None else {},
    )
    journal.forget_processes()
    if key is not None:
        journal.seal(key, _asks_text(asks))


def reopen(
    directory: Path,
    *,
    destroy: str | None = None,
    overwrite: str | None = None,
    trust: str | None = None,
    executor: Executor | None = None,
) -> Journal:
    """The journal of a campaign to go on with; confirmations are asked for again unless it is complete. Raises as
    `start`.

    trust: what was typed to vouch for a plan that was not made here, or was changed since.
    """
    executor = executor or SystemExecutor()
    executor.find("fio")
    journal = Journal.open(directory, executor.clock.time)
    try:
        beneath.check_tree(directory, OURS)
        if journal.campaign().complete:  # nothing will be started, so nothing is looked at or asked for
            return journal
        plan = recorded_plan(journal, CAMPAIGN.tables)
        _check_trust(journal, plan, trust, executor)
        procedure_of(plan.spec, journal.outcomes()).restore(plan, directory)
        journal.set_targets(recognise(target) for target in plan.targets)
        for target in plan.targets:
            check_journal_place(str(directory.absolute()), target)
        _confirm(replace(plan, targets=journal.targets()), destroy, overwrite)
    except BaseException:
        journal.close()
        raise
    return journal


def _confirm(plan: Plan, destroy: str | None, overwrite: str | None) -> None:
    """The guards and what a person has to type, for every target that will be written."""
    for target in plan.targets:
        writes = plan.writes(target.name)
        if not writes:
            continue
        try:
            check_before_start(target, writes=True)
            if target.kind == "block":
                confirm_destroy(target, destroy)
            elif target.kind in ("file", "uri"):
                confirm_overwrite(target, overwrite)
        except UsageError as error:
            error.remedy += (
                "; or measure it with --read-only, which writes nothing"
                if error.remedy and target.kind != "directory"
                else ""
            )
            raise


def run(
    journal: Journal, *, emit: Emit, stop_asked: Callable[[], bool], environment: Environment | None = None
) -> Summary:
    """One session of the campaign; nothing at all when it is complete. Raises PartialResultError when it ends early;
    finished visits are kept.

    environment: what stands for this machine; the machine itself when left out.
    """
    from ioatlas.run.environment import system_environment  # what only plans starts fast
    from ioatlas.run.runner import Runner, Summary

    if journal.campaign().complete:
        for earlier in journal.sessions():
            if earlier.ended_at is None:  # it died after its last visit
                journal.end_session(earlier.session_id)
        return Summary.of(journal, None, complete=True)
    environment = environment or system_environment()
    began = environment.executor.clock.monotonic()
    plan, row = recorded_plan(journal, CAMPAIGN.tables), journal.campaign()
    procedure = procedure_of(plan.spec, journal.record_names())
    cells = [cell for cell, _ in plan.cells]
    sites = Sites(
        journal,
        row.campaign_id,
        plan.targets,
        cells,
        executor=environment.executor,
        stop_asked=stop_asked,
        emit=emit,
    )
    runner = Runner(journal, plan, procedure, sites, environment, emit=emit, stop_asked=stop_asked, began=began)
    runner.recover()
    session = journal.begin_session(environment.conditions(environment.executor, plan.targets, journal.directory))
    told = {"directory": str(journal.directory), "campaign_id": row.campaign_id, "cells": len(plan.to_measure)}
    emit(Event("campaign", told))
    try:
        return runner.run()
    finally:
        journal.end_session(session)


def load_result(directory: Path) -> CampaignResult:
    """The result of the campaign in `directory`, with what was imported there. Raises UsageError when there is none."""
    from ioatlas.results.result import load_result as load

    return load(directory, parts_of)
