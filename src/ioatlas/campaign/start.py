# SPDX-License-Identifier: Apache-2.0
"""Opening a campaign: from a specification to a plan, to a journal, to a running session; and again after an end."""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ioatlas import __version__
from ioatlas.campaign.adaptive import FEWEST_CELLS, can_be_adaptive
from ioatlas.campaign.conditions import FACTS_FILE, conditions, facts_text
from ioatlas.campaign.events import Emit, Event
from ioatlas.campaign.ordered_plan import build_ordered_plan
from ioatlas.campaign.plan import Plan, build_plan
from ioatlas.campaign.record import plan_record, spec_from_plan
from ioatlas.campaign.session import Session, Summary
from ioatlas.campaign.sites import Sites
from ioatlas.campaign.spec import CampaignSpec, campaign_toml
from ioatlas.campaign.streams_plan import build_streams_plan
from ioatlas.campaign.traces import keep_trace, summed_up
from ioatlas.design.exhaustive import random_blocks
from ioatlas.engine.process import Fio, find_fio
from ioatlas.errors import IoAtlasError, UsageError
from ioatlas.model.target import Target
from ioatlas.store.journal import Journal, NewVisit
from ioatlas.target.guard import check_before_start, confirm_destroy, confirm_overwrite
from ioatlas.target.identity import recognise
from ioatlas.target.opening import open_target
from ioatlas.target.place import check_journal_place, check_space


def open_plan(spec: CampaignSpec, *, read_only: bool = False) -> Plan:
    """Open the targets of a specification and plan its cells. Writes nothing. Raises IoAtlasError."""
    targets = [open_target(location, name or None) for name, location in spec.targets]
    if spec.trace:
        return build_plan(summed_up(spec, targets), _distinct(targets), read_only=read_only)
    if spec.streams is not None:
        return build_streams_plan(spec, _distinct(targets), read_only=read_only)
    if spec.ordered:
        return build_ordered_plan(spec, _distinct(targets), read_only=read_only)
    if spec.engines != ("fio",):
        raise UsageError("only the profile iozone2017 has a second engine", where="engine", remedy="leave it out, or name that profile")
    return build_plan(spec, _distinct(targets), read_only=read_only)


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
    """A new directory in the working directory, named after the first target and the time."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", plan.targets[0].name).strip("-.") or "map"
    return Path(f"ioatlas-{name}-{time.strftime('%Y%m%d-%H%M%S')}")


def start(
    plan: Plan,
    directory: Path,
    *,
    destroy: str | None = None,
    overwrite: str | None = None,
    planned: bool = True,
    facts: Path | None = None,
    measure: Mapping[str, str | None] | None = None,
) -> Journal:
    """A new campaign in `directory`: guards and confirmations first, then its journal with every planned visit.

    planned: off when a search asks for its visits as it goes. facts, measure: a file of typed-in facts, and what is measured alone first (`iperf`: a host, `drive`: a path).
    Raises RefusedError when a guard refuses, UsageError when the directory is taken.
    """
    find_fio()
    if not plan.to_measure:
        raise UsageError("no cell of the sweep can be measured", remedy="see `ioatlas plan` for the reasons")
    adaptive = plan.spec.cells is not None or plan.spec.error is not None
    if adaptive and not can_be_adaptive(plan.to_measure):
        raise UsageError(
            f"the adaptive design needs {FEWEST_CELLS} cells or more along an axis of numbers, this sweep has {len(plan.to_measure)}",
            where="--cells, --error",
            remedy="leave them out: a small sweep is measured whole",
        )
    if adaptive and plan.spec.wanted.precision is not None:
        raise UsageError(
            "a precision for every cell and a map from a few cells exclude each other",
            where="--precision",
            remedy="use --error for the map's own error, or leave out --cells and --error",
        )
    typed = facts_text(facts, measure or {})
    _confirm(plan, destroy, overwrite)
    remarks = [remark for target in plan.targets for remark in check_journal_place(str(directory.absolute()), target)]
    _check_room(plan)
    if directory.exists() and not directory.is_dir():
        raise UsageError("it is not a directory", where=str(directory), remedy="choose another -o")
    if directory.is_dir() and any(directory.iterdir()) and not (directory / "journal.sqlite").exists():
        raise UsageError("the directory is not empty", where=str(directory), remedy="choose a new or an empty one with -o")
    try:
        journal = Journal.create(directory)
    except OSError as error:
        raise IoAtlasError(
            f"the campaign's directory cannot be made: {error.strerror}", where=str(directory), remedy="choose another -o"
        ) from error
    if plan.spec.trace:  # before there is a campaign to go on with
        keep_trace(plan, directory)
    journal.begin_campaign(uuid.uuid4().hex[:12], _name_of(plan), __version__, plan_record(plan), plan.targets)
    journal.add_cells(plan.cells)
    rounds = plan.spec.ordered or plan.spec.snia is not None
    order = [] if adaptive or rounds or plan.spec.streams is not None or not planned else random_blocks([cell.key for cell in plan.to_measure], plan.spec.visits, plan.spec.order_seed)
    journal.add_visits(NewVisit(key, block, seed) for key, block, seed in order)
    for remark in plan.remarks:
        journal.add_remark("note", remark)
    for remark in remarks:
        journal.add_remark("warning", remark)
    # With the targets' full paths: the file can be used again from anywhere.
    located = tuple((name, target.location) for (name, _), target in zip(plan.spec.targets, plan.targets, strict=True))
    (directory / "campaign.toml").write_text(campaign_toml(replace(plan.spec, targets=located)), encoding="utf-8")
    if typed:
        (directory / FACTS_FILE).write_text(typed, encoding="utf-8")
    return journal


def _name_of(plan: Plan) -> str:
    """What was given, else the targets and the profile: a profile's own name says nothing of what was measured."""
    if plan.spec.name and plan.spec.name != plan.spec.profile:
        return plan.spec.name
    targets = ", ".join(target.name for target in plan.targets)
    return f"{targets} ({plan.spec.profile})" if plan.spec.profile else targets


def _check_room(plan: Plan) -> None:
    """Before anything is made: whether the files fit. A budget may leave out sizes, and a study in order shrinks its file; these look later."""
    if plan.spec.ordered or (plan.spec.budget_seconds is not None and len({cell.size_bytes for cell in plan.to_measure}) > 1):
        return
    for target in plan.targets:
        check_space(target, sum(plan.files.get(target.name, {}).values()))


def reopen(directory: Path, *, destroy: str | None = None, overwrite: str | None = None) -> Journal:
    """The journal of a campaign to go on with; confirmations are asked for again. Raises as `start`."""
    find_fio()
    journal = Journal.open(directory)
    journal.set_targets(recognise(target) for target in journal.targets())
    plan = _recorded_plan(journal)
    for target in plan.targets:
        check_journal_place(str(directory.absolute()), target)
    _confirm(plan, destroy, overwrite)
    return journal


def _recorded_plan(journal: Journal) -> Plan:
    record = journal.plan()
    return Plan(spec_from_plan(record), journal.targets(), tuple(journal.cells()), tuple(record["remarks"]), record["files"])


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
            error.remedy += "; or measure it with --read-only, which writes nothing" if error.remedy and target.kind != "directory" else ""
            raise


def run(journal: Journal, *, emit: Emit, stop_asked: Callable[[], bool], kind: type[Session] | None = None) -> Summary:
    """One session of the campaign. Raises PartialResultError when it ends early; finished visits are kept.

    kind: who decides on the visits; a search brings its own, otherwise the plan says whether it is a map or a study in order.
    """
    began = time.monotonic()
    fio = find_fio()
    plan = _recorded_plan(journal)
    row = journal.campaign()
    supervisor = _session(kind, journal, plan, fio, row.campaign_id, emit=emit, stop_asked=stop_asked, began=began)
    supervisor.recover()
    session = journal.begin_session(conditions(fio, plan.targets, journal.directory))
    emit(Event("campaign", {"directory": str(journal.directory), "campaign_id": row.campaign_id, "cells": len(plan.to_measure)}))
    try:
        return supervisor.run()
    finally:
        journal.end_session(session)


def _session(kind: type[Session] | None, journal: Journal, plan: Plan, fio: Fio, campaign_id: str, **how: Any) -> Session:
    """The session that the plan asks for. Each kind is imported only when it runs: what only plans starts fast."""
    if plan.spec.ordered:
        from ioatlas.campaign.ordered import OrderedSession
        from ioatlas.campaign.ordered_sites import OrderedSites

        return OrderedSession(journal, plan, OrderedSites(journal, plan, campaign_id), fio, **how)
    return (kind or _kind_of(plan))(journal, plan, Sites(journal, plan, campaign_id), fio, **how)


def _kind_of(plan: Plan) -> type[Session]:
    if plan.spec.snia:
        from ioatlas.campaign.rounds import RoundsSession

        return RoundsSession
    if plan.spec.streams is not None:
        from ioatlas.campaign.streams import Streams

        return Streams
    from ioatlas.campaign.supervisor import Supervisor

    return Supervisor
