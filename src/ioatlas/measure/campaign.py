# SPDX-License-Identifier: Apache-2.0
"""A campaign from end to end: its targets opened, its cells planned, begun, run in sessions, its result read.

plan = open_plan(spec)              # the targets are opened, the procedure plans the cells; nothing is written
journal = start(plan, directory)    # guards and confirmations, then a directory with a journal
run(journal, ...)                   # one session: recover, make what is left, clean
load_result(directory)              # everything a report needs, computed anew from the journal
"""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ioatlas import __version__
from ioatlas.answer.analysis.wording import plural
from ioatlas.answer.results.library import check_not_opened, results_folder
from ioatlas.load.fio.executor import Clock, Executor, SessionTime, SystemExecutor
from ioatlas.load.machine.typed_in import FACTS_FILE, asks_of, commands_of, facts_source, facts_text
from ioatlas.measure.procedures.options import CAMPAIGN, campaign_toml
from ioatlas.measure.procedures.registry import load_result, procedure_of, procedure_of_plan
from ioatlas.measure.run.environment import Environment, sites_of, system_environment
from ioatlas.measure.run.fleet import client_remarks, with_clients
from ioatlas.measure.run.fleet import opened as opened_fleet
from ioatlas.measure.run.foreign import confirm_trust
from ioatlas.measure.run.live import LiveFile, Summary
from ioatlas.measure.run.plan import Plan, order_remarks, plan_record, recorded_plan
from ioatlas.measure.run.procedure import Procedure
from ioatlas.measure.run.runner import Runner
from ioatlas.measure.run.session import Session
from ioatlas.measure.run.set_up import Consent, check_something_typed, confirm_writing, typed_texts
from ioatlas.model.errors import IoAtlasError, RefusedError, UsageError, faults
from ioatlas.model.factors import factor_names
from ioatlas.model.outcomes import Emit, Event, LaidOuts
from ioatlas.model.target import Target
from ioatlas.model.units import words
from ioatlas.model.visit import RemarkKind
from ioatlas.plan.spec import CampaignSpec
from ioatlas.store import confined
from ioatlas.store.imported import FILE_NAME as IMPORTED
from ioatlas.store.journal import FILE_NAME, Journal
from ioatlas.store.seal import machine_key
from ioatlas.target.identity import recognise
from ioatlas.target.marker import claimed
from ioatlas.target.nbd import served_at_once
from ioatlas.target.opening import NOT_YET, expected_target, open_target
from ioatlas.target.place import check_journal_place, check_space
from ioatlas.target.sites import Sites

__all__ = ["default_directory", "load_result", "open_plan", "reopen", "run", "start"]
OURS = frozenset(
    words(
        "journal.sqlite journal.sqlite-journal imported.sqlite campaign.toml testbed.toml report.html tune.json "
        "batches layout verify trace trace.iolog product.toml products configurations"
    )
)
"""What a session reads, writes or removes in a campaign's directory."""


OF_ONE_CLIENT = frozenset({"fixed_work", "metadata", "trace"})
"""Procedures whose loads have an order or times of their own, which no clients share."""
OF_TARGETS_TOGETHER = frozenset({"dense_map"})
"""Procedures whose loads may go to several targets at once."""


def open_plan(
    spec: CampaignSpec,
    *,
    read_only: bool = False,
    procedure: Procedure | None = None,
    facts: Path | None = None,
    ahead: bool = False,
) -> Plan:
    """Open the targets of a specification and plan its cells. Writes nothing. Raises IoAtlasError.

    procedure: one that a command brings; otherwise the specification says which it is. facts: a file of typed-in facts;
    `./testbed.toml` without one. ahead: of configurations that are set up first, and of groups, nothing is looked at,
    not even whether it is there.
    """
    targets = _distinct(_opened(spec, ahead=ahead), shared=spec.blocked)
    if not targets:
        raise UsageError(
            "no target is named", remedy="name one: `ioatlas map DIRECTORY`, or [target] path = in the campaign file"
        )
    spec = with_clients(spec, targets)
    brought, procedure = procedure, (procedure or procedure_of(spec)).informed(facts_source(facts))
    for table in CAMPAIGN.tables:
        spec.of(table).check_alone()
    spec = spec.with_set_ups(several=procedure.in_set_ups)
    if spec.clients and procedure.name in OF_ONE_CLIENT:
        raise UsageError(
            "fixed work and traces are made by one client",
            where="--clients",
            remedy="leave it out, or start this command on each client",
        )
    if spec.groups([target.name for target in targets]) and procedure.name not in OF_TARGETS_TOGETHER:
        raise UsageError(
            "only maps load several targets together",
            where="--together",
            remedy="measure one target after another, or sweep fio's options in a map",
        )
    plan = procedure.plan(spec, targets, read_only=read_only)
    remarks = order_remarks(spec) if len(spec.configurations) > 1 else ()
    return replace(plan, remarks=(*plan.remarks, *remarks), procedure=brought)


def _opened(spec: CampaignSpec, *, ahead: bool) -> list[Target]:
    """The targets as they are now; those that have to be set up first as far as their location tells."""
    set_up = {one.name for one in spec.configurations if one.set_up}
    if ahead:
        set_up |= {name for one in spec.configurations for name, _ in one.members}
    sizes = [int(value) for value in spec.axes.get("size", ()) or (spec.constants.get("size", 0),)]
    found = []
    for name, location in spec.targets:
        later = expected_target(location, name, max(sizes)) if name in set_up else None
        if ahead and later is not None and max(sizes):
            found.append(later)
            continue
        try:
            found.append(open_target(location, name or None))
        except IoAtlasError as error:
            if later is None:
                raise
            if not max(sizes):
                error.remedy = "name the `size` to use in [sweep]: it is planned before it is set up"
                raise
            found.append(later)
    return found


def _distinct(targets: list[Target], *, shared: bool = False) -> tuple[Target, ...]:
    """Targets under different names; a second one of a name gets a number. shared: they may lie at one place."""
    seen: dict[str, int] = {}
    named = []
    for target in targets:
        seen[target.name] = seen.get(target.name, 0) + 1
        named.append(target if seen[target.name] == 1 else replace(target, name=f"{target.name}-{seen[target.name]}"))
    for index, one in enumerate(named):
        for other in named[:index]:
            if one.location == other.location and not shared:
                raise UsageError("a target is named twice", where=one.location, remedy="name every target once")
    return tuple(named)


def check_read_only(plan: Plan) -> None:
    """Raises UsageError for a read-only sweep of a directory: it would have to make the files that it reads."""
    for target in plan.targets:
        if target.kind == "directory":
            raise UsageError(
                "a read-only sweep lays nothing out, and a directory is measured on files that are laid out in it",
                where=target.location,
                remedy="name one file of it; or leave out --read-only: all is written in a subdirectory of its own "
                "and removed at the end",
            )


def default_directory(plan: Plan) -> Path:
    """A new directory in the results folder, named after the first target and the time.

    In the home directory where the results folder, which is the working directory unless another was set, lies on what
    is to be measured or cannot hold a journal.
    """
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", plan.targets[0].name).strip("-.") or "map"
    made = f"ioatlas-{name}-{time.strftime('%Y%m%d-%H%M%S')}"
    for folder in (results_folder(), Path.home()):
        with contextlib.suppress(IoAtlasError):
            for target in plan.targets:
                check_journal_place(str(folder.absolute()), target)
            return folder / made
    return results_folder() / made


def start(
    plan: Plan,
    directory: Path,
    *,
    destroy: str | Sequence[str] | None = None,
    overwrite: str | Sequence[str] | None = None,
    facts: Path | None = None,
    measure: Mapping[str, str | None] | None = None,
    executor: Executor | None = None,
) -> Journal:
    """A new campaign in `directory`: guards and confirmations first, then its journal with every visit that is known
    beforehand.

    facts, measure: a file of typed-in facts, and what is measured alone first (`iperf`: a
    host, `drive`: a path). executor: what will make the loads; this machine when left out. Raises RefusedError when a
    guard refuses, UsageError when the directory is taken.
    """
    from ioatlas.answer.product.kept import sheet_texts

    procedure, executor = procedure_of_plan(plan), executor or SystemExecutor()
    executor.find("fio")
    if not plan.to_measure:
        reasons = [reason for _, reason in plan.cells if reason]
        why = f": {max(reasons, key=reasons.count)}" if reasons else ""
        raise UsageError(f"no cell of the sweep can be measured{why}", remedy="see `ioatlas plan` for all reasons")
    procedure.check_start(plan, executor)
    if (fleet := opened_fleet(plan.spec, executor, plan.targets)) is not None:
        fleet.close()  # all hosts answer; a session opens them anew
    typed, sheets = facts_text(facts, measure or {}), sheet_texts(plan.spec)
    consent = Consent(typed_texts(destroy), typed_texts(overwrite), plan.spec.confirmations)
    there = [target for target in plan.targets if target.identity != NOT_YET]
    with claimed(there):  # a session claims them again
        _confirm(plan, consent)
    remarks = [remark for target in there for remark in check_journal_place(str(directory.absolute()), target)]
    if not procedure.shrinks_to_fit(plan):  # before anything is made: whether the files fit
        for target in there:
            check_space(target, sum(plan.files.get(target.name, {}).values()))
    with _new_journal(directory, executor.clock) as journal:
        procedure.keep(plan, directory)
        _write_files(plan, directory, typed, sheets)
        journal.begin_campaign(uuid.uuid4().hex[:12], _name_of(plan), __version__, plan_record(plan), plan.targets)
        journal.add_cells(plan.cells)
        _begin(procedure, journal, plan)
        for remark in plan.remarks:
            journal.add_remark(RemarkKind.NOTE, remark)
        for remark in remarks:
            journal.add_remark(RemarkKind.WARNING, remark)
        try:
            journal.seal(machine_key(), _asks_text(asks_of(directory)))
        except IoAtlasError as error:  # measuring needs no seal
            told = f"The plan is not sealed ({error.what}): `resume` will ask for --trust."
            journal.add_remark(RemarkKind.WARNING, told)
    return journal


def _write_files(plan: Plan, directory: Path, typed: str, sheets: Mapping[str, str]) -> None:
    """What stands beside a journal: the campaign file, typed-in facts and product sheets.

    typed: text of the facts, '' for none. sheets: text of each by its place.
    """
    from ioatlas.answer.product.kept import keep_sheets

    # With the targets' full paths: the file can be used again from anywhere.
    located = tuple(
        (name, target.location + ("/" if target.kind == "directory" and target.identity == NOT_YET else ""))
        for (name, _), target in zip(plan.spec.targets, plan.targets, strict=True)
    )
    places = dict(located)
    configurations = tuple(
        replace(one, members=tuple((name, places[name]) for name, _ in one.members))
        if one.members
        else replace(one, location=places[one.name])
        for one in plan.spec.configurations
    )
    spec = replace(plan.spec, targets=located, configurations=configurations)
    (directory / "campaign.toml").write_text(campaign_toml(spec), encoding="utf-8")
    if typed:
        (directory / FACTS_FILE).write_text(typed, encoding="utf-8")
    keep_sheets(directory, sheets)


def _begin(procedure: Procedure, journal: Journal, plan: Plan) -> None:
    """The visits that are known beforehand, of each set-up."""
    for number in range(plan.spec.set_ups):
        part = journal.of_set_up(number) if plan.spec.set_ups > 1 else journal
        procedure.begin(part, replace(plan, spec=plan.spec.of_set_up(number)))


@contextlib.contextmanager
def _new_journal(directory: Path, clock: Clock) -> Iterator[Journal]:
    """The journal of a campaign that is there when the block ends; what an earlier process left is started anew."""
    if directory.exists() and not directory.is_dir():
        raise UsageError("it is not a directory", where=str(directory), remedy="choose another -o")
    with faults(
        IoAtlasError, "the campaign's directory cannot be made", where=str(directory), remedy="choose another -o"
    ):
        if directory.is_dir():
            _check_empty(directory)
        with Journal.making(directory, SessionTime(clock).now) as journal:
            yield journal


def _check_empty(directory: Path) -> None:
    """Raises UsageError for a directory that holds anything but a campaign, which is looked at later. Of one that was
    never begun, what stands beside its journal is removed.
    """
    unmade, journals = Journal.is_unmade(directory), {FILE_NAME, f"{FILE_NAME}-journal"}
    left = OURS - journals - {IMPORTED} if unmade else frozenset()
    for path in (directory / each for name in left for each in (name, confined.unfinished(name))):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    there = {path.name for path in directory.iterdir()}
    if there - journals if unmade else there and FILE_NAME not in there:
        raise UsageError("the directory is not empty", where=str(directory), remedy="choose an empty one with -o")


def _name_of(plan: Plan) -> str:
    """What was given, else the targets: a profile's own name says nothing of what was measured."""
    if plan.spec.name and plan.spec.name != plan.spec.profile:
        return plan.spec.name
    if plan.spec.configurations:
        factors = ", ".join(factor_names(plan.spec.configurations))
        return f"{len(plan.spec.configurations)} configurations{f' of {factors}' if factors else ''}"
    return ", ".join(plan.names)


def _asks_text(asks: Mapping[str, Any]) -> str:
    return json.dumps(asks, sort_keys=True, default=str)


def _check_trust(journal: Journal, plan: Plan, typed: str | None, executor: Executor) -> None:
    """Whether this machine and user made the plan as it is, or a person vouches for it; then it is sealed as theirs.

    Raises ForeignError otherwise.
    """
    asks = asks_of(journal.directory)
    try:
        key = machine_key()
        why = journal.foreign(key, _asks_text(asks))
    except IoAtlasError as error:
        key, why = None, error.what
    if not why:
        return
    if any(one.before or one.after for one in plan.spec.configurations):
        raise RefusedError(
            f"{why}, and its configurations bring commands: these are run from your own campaign file only",
            where=str(journal.directory),
            remedy="read the commands in its campaign.toml, then start anew: `ioatlas map --campaign YOUR-COPY.toml`",
        )
    if commands_of(asks.get("power", {})):
        raise RefusedError(
            f"{why}, and its meters bring commands: these are run from your own file of facts only",
            where=str(journal.directory / FACTS_FILE),
            remedy="read them, and remove [power] there; or start anew with --facts and your own copy",
        )
    sites = sites_of(journal, plan, Environment(executor))
    first = next(iter(plan.to_measure), None)
    options = {**first.members[0].option, **dict(sites.location(first))} if first is not None else {}
    confirm_trust(journal, plan, typed, why=why, asks=asks, first=options)
    journal.forget_processes()
    if key is not None:
        journal.seal(key, _asks_text(asks))


def reopen(
    directory: Path,
    *,
    destroy: str | Sequence[str] | None = None,
    overwrite: str | Sequence[str] | None = None,
    trust: str | None = None,
    executor: Executor | None = None,
) -> Journal:
    """The journal of a campaign to go on with; confirmations are asked for again unless it is complete. Raises as
    `start`.

    trust: what was typed to vouch for a plan that was not made here, or was changed since.
    """
    check_not_opened(directory)
    executor = executor or SystemExecutor()
    executor.find("fio")
    journal = Journal.open(directory, SessionTime(executor.clock).now)
    try:
        confined.check_tree(directory, OURS)
        if journal.campaign().complete:  # nothing will be started, so nothing is looked at or asked for
            return journal
        plan = recorded_plan(journal, CAMPAIGN.tables)
        _check_trust(journal, plan, trust, executor)
        procedure_of(plan.spec, journal.outcomes()).restore(plan, directory)
        consent = Consent(typed_texts(destroy), typed_texts(overwrite))
        if plan.spec.blocked:  # what is there now says nothing of what will be set up
            check_something_typed(plan, consent, plan.targets)
            return journal
        journal.set_targets(recognise(target) for target in plan.targets)
        for target in plan.targets:
            check_journal_place(str(directory.absolute()), target)
        confirm_writing(plan, consent, journal.targets())
    except BaseException:
        journal.close()
        raise
    return journal


def _confirm(plan: Plan, consent: Consent) -> None:
    """The guards and what has to be typed, before anything is begun; of what is set up later, that it was typed."""
    later = {one.name for one in plan.spec.configurations if one.set_up}
    check_something_typed(plan, consent, [target for target in plan.targets if target.name in later])
    confirm_writing(plan, consent, [target for target in plan.targets if target.name not in later])


def run(
    journal: Journal,
    *,
    emit: Emit,
    stop_asked: Callable[[], bool],
    environment: Environment | None = None,
    consent: Consent | None = None,
    clients: str = "",
) -> Summary:
    """One session of the campaign; nothing at all when it is complete. Raises PartialResultError when it ends early;
    finished visits are kept.

    environment: what stands for this machine; the machine itself when left out. consent: what was typed for targets
    that are set up in the session, and who is asked. clients: hosts for this session in the place of the campaign's.
    """
    if journal.campaign().complete:
        for earlier in journal.sessions():
            if earlier.ended_at is None:  # it died after its last visit
                journal.end_session(earlier.session_id)
        return Summary.of(journal, None, complete=True)
    consent = consent or Consent()
    if environment is not None:
        return _on_clients(journal, replace(environment, emit=emit, stop_asked=stop_asked), consent, clients)
    with contextlib.closing(LiveFile(journal.directory, emit)) as told:
        here = replace(system_environment(), emit=told, stop_asked=stop_asked)
        return _on_clients(journal, here, consent, clients)


def _on_clients(journal: Journal, environment: Environment, consent: Consent, clients: str) -> Summary:
    """One session, its clients made ready where it has others than this machine."""
    began = environment.executor.clock.monotonic()
    plan = recorded_plan(journal, CAMPAIGN.tables)
    with claimed(() if plan.spec.blocked else plan.targets):
        fleet = environment.fleet or opened_fleet(plan.spec, environment.executor, plan.targets, clients)
        if fleet is None:
            return _session(journal, plan, environment, consent, began)
        with contextlib.closing(fleet):
            for text in client_remarks(journal, fleet):
                journal.add_remark(RemarkKind.WARNING, text)
                environment.emit(Event("remark", {"text": text}))
            return _session(journal, plan, environment.of_fleet(fleet), consent, began)


def _session(journal: Journal, plan: Plan, environment: Environment, consent: Consent, began: float) -> Summary:
    """One session on clients that are ready."""
    from ioatlas.measure.run.blocks import BlockedRun

    procedure = procedure_of(plan.spec, journal.record_names())
    if plan.spec.blocked:
        return BlockedRun(journal, plan, procedure, environment, consent).run()
    plan, sites = _laid_out_in_time(journal, plan, procedure, environment)
    session = Session(journal, plan, sites, environment, procedure.odd_sizes, began)
    if not session.of_fleet:
        _leave_out_what_servers_refuse(session)
    runner = Runner(session, procedure.steps(session), environment)
    runner.recover()
    runner.look_around()
    return runner.run(journal)


def _leave_out_what_servers_refuse(session: Session) -> None:
    """Go on without the cells whose jobs are more connections than the server takes at a time."""
    plan = session.plan
    for target in plan.targets:
        mine = [cell for cell in plan.to_measure if cell.target == target.name and target.kind == "uri"]
        served = served_at_once(target.location, max((cell.numjobs for cell in mine), default=0))
        too_many = {cell.key for cell in mine if cell.numjobs > served}
        if 0 < len(too_many) < len(plan.to_measure):
            why = f"the server takes {plural(served, 'connection')} at a time"
            cells = ((cell, f"not admissible: {why}" if cell.key in too_many else told) for cell, told in plan.cells)
            told = f"{len(too_many)} of {plural(len(mine), 'cell')} left out: {why}, and each job needs its own."
            plan = replace(plan, cells=tuple(cells))
            session.go_on_with(plan, f"{told} For more in flight use --numjobs {served} and a larger --iodepth.")


LAYOUT_SHARES = (0.1, 0.15)
"""Of a budget, what writing the files may take at first, and what they are made to take where that was not enough:
with what is left over when the second is not enough either, less than a third.
"""


def _laid_out_in_time(
    journal: Journal, plan: Plan, procedure: Procedure, environment: Environment
) -> tuple[Plan, Sites]:
    """The plan, with smaller files where its first session has no time to write them; and its sites, laid out where
    that was tried.
    """
    budget, sites = plan.spec.budget_seconds, sites_of(journal, plan, environment)
    if journal.sessions() or budget is None or not procedure.may_shrink(plan):
        return plan, sites
    for share, next_share in zip(LAYOUT_SHARES, (*LAYOUT_SHARES[1:], LAYOUT_SHARES[0] / 2), strict=True):
        before = len(journal.kept(LaidOuts).files)
        try:
            complete = sites.prepare(plan.target_use(procedure.odd_sizes), share * budget)
        except BaseException:
            sites.clean()
            raise
        if complete:
            break
        # What is seen last is what lasts; over all, it is less than was hoped for, or all would be there.
        seen = journal.kept(LaidOuts).files[before:]
        rate = min(min(one.last_bytes_per_s, one.mean_bytes_per_s) for one in seen)
        begun = len(plan.targets) * sites.begun_bytes()
        made = procedure.with_less_to_write(plan, begun or next_share * budget * rate, rate)
        if keeps := made.prepared_bytes <= begun:
            sites.shrink(cell for cell, _ in made.cells)
        else:
            sites.clean()
        if made is not plan:
            _replace_plan(journal, procedure, made, made.remarks[len(plan.remarks) :], environment.emit)
        plan, sites = made, sites if keeps else sites_of(journal, made, environment)
    return plan, sites


def _replace_plan(journal: Journal, procedure: Procedure, plan: Plan, remarks: Iterable[str], emit: Emit) -> None:
    """Another plan, before anything was measured."""
    with journal.together():
        journal.replace_cells(plan.cells)
        journal.set_plan(plan_record(plan))
        procedure.begin(journal, plan)
        for text in remarks:
            journal.add_remark(RemarkKind.LEFT_OUT, text)
    for text in remarks:
        emit(Event("remark", {"text": text}))
