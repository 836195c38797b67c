# SPDX-License-Identifier: Apache-2.0
"""Whole campaigns on a simulated target: no fio, no counters, virtual time; a directory of pytest's takes the files."""

import os
import random
import shutil
import sqlite3
import subprocess
import sys
import traceback
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from ioatlas import __version__
from ioatlas.answer.law.kept import _digest
from ioatlas.answer.results import by_law
from ioatlas.load.machine.power import PowerLog
from ioatlas.load.machine.telemetry import Sample, Watched
from ioatlas.measure import campaign
from ioatlas.measure.procedures.options import read_campaign
from ioatlas.measure.run.environment import Environment
from ioatlas.measure.run.procedure import Procedure
from ioatlas.measure.run.set_up import Consent
from ioatlas.measure.run.telemetry import Seen
from ioatlas.model.errors import IoAtlasError
from ioatlas.store import database
from ioatlas.store.database import Database
from ioatlas.store.journal import Journal
from tests.command_line import call
from tests.simulate.executor import SimulatedExecutor
from tests.simulate.faults import Fault, Faults
from tests.simulate.law import Law, Way
from tests.simulate.output import VERSION

KIB, MIB = 1 << 10, 1 << 20
LAW = Law(
    read=Way(80e-6, 120_000, 3e9),
    write=Way(40e-6, 60_000, 1.5e9),
    random_read=Way(100e-6, 90_000, 2e9),
    random_write=Way(50e-6, 40_000, 1e9),
    noise=0.01,
)
SMALL_TRACE = "fio version 3 iolog\n" + "".join(
    f"{n * 2000} d {'write' if n % 3 == 0 else 'read'} {n * 4096} 4096\n" for n in range(100)
)
KILLED = 77


# A campaign of a test survives the death of its process, not that of the machine.
database.PRAGMAS += ("synchronous=OFF",)


def _once(fitted):
    """A law is a function of its loads alone: those of one campaign are fitted once, whoever reads it again."""
    known = {}

    def found(courses):
        key = _digest(courses), *((one.interval, one.fits) for one in courses)
        if key not in known:
            known[key] = fitted(courses)
        return known[key]

    return found


fitted_once = by_law.fitted = _once(by_law.fitted)


def new_journal(directory: Path) -> Journal:
    """One without a campaign."""
    with Journal.making(directory) as journal:
        return journal


class NoTelemetry:
    """Nothing is read beside a batch but the virtual time."""

    def __init__(self, clock) -> None:
        self._clock = clock
        self._log = PowerLog(())

    def _sample(self) -> Sample:
        return Sample(self._clock.time(), self._clock.monotonic(), {})

    def start(self, _sections) -> None:
        self._first = self._sample()

    def watch(self, pid: int) -> None:
        """There is no such process."""

    def stop(self, _directory=None) -> Seen:
        return Seen((self._first, self._sample()), (), 0.0, self._log)


def environment(executor: SimulatedExecutor) -> Environment:
    """A simulated target in the place of this machine."""
    return Environment(
        executor,
        telemetry=lambda _watched, _meters: NoTelemetry(executor.clock),
        watched=lambda _location: Watched((), (), ""),
        meters=lambda _directory: [],
        background=lambda _watched, _seconds: None,
        check_hosts=lambda *_: None,
        conditions=lambda _executor, _targets, _directory, **_: {"ioatlas": __version__, "fio": VERSION, "targets": {}},
    )


class World:
    """A directory target and a campaign on it."""

    def __init__(self, place: Path, law: Law = LAW, faults=(), **executor) -> None:
        self.place = place
        self.target = place / "target"
        self.target.mkdir()
        self.directory = place / "campaign"
        self.executor = SimulatedExecutor(law, faults=faults, **executor)
        self.events = []

    def start(self, text: str, procedure: Procedure | None = None, **options) -> None:
        """A new campaign from a campaign file; TARGET and TRACE in it stand for the directory and for a small trace."""
        (self.place / "small.iolog").write_text(SMALL_TRACE)
        text = text.replace("TARGET", str(self.target)).replace("TRACE", str(self.place / "small.iolog"))
        spec = read_campaign(text)
        plan = campaign.open_plan(spec, procedure=procedure)
        campaign.start(plan, self.directory, executor=self.executor, **options).close()

    def tried(self, stop_asked: Callable[[], bool] = lambda: False, **options) -> IoAtlasError | None:
        """One session, and the message with which it ended early."""
        try:
            self.session(stop_asked, **options)
        except IoAtlasError as error:
            return error
        return None

    def session(self, stop_asked: Callable[[], bool] = lambda: False, consent: Consent | None = None, **options):
        """One session, from the journal as it is on the disk."""
        journal = campaign.reopen(self.directory, executor=self.executor, **options)
        try:
            return campaign.run(
                journal,
                emit=self.events.append,
                stop_asked=stop_asked,
                environment=environment(self.executor),
                consent=consent,
            )
        finally:
            journal.close()

    def fail(self, *faults: Fault) -> None:
        """What goes wrong from now on."""
        self.executor.faults = Faults(faults)

    def run(self, text: str, **options):
        """A new campaign, run to its end."""
        self.start(text, **options)
        return self.session()

    @property
    def clock(self):
        return self.executor.clock

    def journal(self) -> Journal:
        return Journal.open(self.directory)

    def rows(self, query: str) -> list[tuple]:
        """Rows of the journal, read from outside by the plain driver."""
        link = sqlite3.connect(self.directory / "journal.sqlite")
        try:
            return link.execute(query).fetchall()
        finally:
            link.close()

    def finished(self) -> dict[int, tuple]:
        """{visit_id: (status, bytes and I/Os by direction)} of every finished visit."""
        found: dict[int, list] = {}
        for visit_id, *part in self.rows(
            "select v.visit_id, p.stream, p.direction, p.io_bytes, p.total_ios from visit v join part p using "
            "(visit_id)"
            " where v.status in ('done', 'discarded') order by 1, 2, 3"
        ):
            found.setdefault(visit_id, []).append(tuple(part))
        return {visit_id: tuple(parts) for visit_id, parts in found.items()}

    def made(self) -> list[tuple]:
        """What the campaign came to: of visits that count cell, place, seed and figures; the cells left out."""
        visits = self.rows(
            "select v.cell_key, v.block, v.purpose, v.seed, v.verdict, v.window_start_ms, v.runtime_ms, p.stream, "
            "p.direction,"
            " p.io_bytes, p.total_ios, p.lat_mean_ns from visit v join part p using (visit_id)"
            " where v.status = 'done' and v.purpose != 'probe' order by 1, 2, 3, 4, 8, 9"
        )
        return visits + self.rows("select cell_key, reason from cell order by cell_key")

    def keep(self) -> None:
        """Remember the campaign as it is on the disk now."""
        shutil.copytree(self.directory, self.place / "kept")

    def restore(self) -> None:
        """Back to what was remembered; the target is as a dead process left it, as in life."""
        shutil.rmtree(self.directory)
        shutil.copytree(self.place / "kept", self.directory)

    def left_on_target(self) -> list[str]:
        return sorted(str(path.relative_to(self.target)) for path in self.target.rglob("*"))

    def check(self, *, complete: bool = True, stuck: bool = False) -> None:
        """What holds after every session that ended by itself. stuck: its load could not be killed and runs on."""
        assert self.left_on_target() == []
        assert self.rows("select path from file_made where removed_at is null") == []
        assert len(self.rows("select batch_id from batch where status = 'running'")) <= stuck
        assert (
            self.rows(
                "select 1 from session where ended_at is null and session_id = (select max(session_id) from session)"
            )
            == []
        )
        assert (
            self.rows(
                "select visit_id from visit where status = 'done' and visit_id not in (select visit_id from part)"
            )
            == []
        )
        assert (
            self.rows("select visit_id from visit where status in ('failed', 'discarded', 'dropped') and reason = ''")
            == []
        )
        assert self.rows("select p.visit_id from part p join visit v using (visit_id) where v.status = 'planned'") == []
        if complete:
            assert self.rows("select complete from campaign") == [(1,)]
            assert self.rows("select visit_id from visit where status = 'planned'") == []
            neither = (
                "select cell_key from cell where reason = '' and cell_key not in (select cell_key from visit "
                "where status = 'done')"
            )
            without = self.rows(neither)
            told = {key for (key,) in self.rows("select cell_key from visit where reason != ''")}
            neither_told = {key for (key,) in without} - told
            if neither_told:  # the law may foretell them
                neither_told -= {e.cell.key for e in campaign.load_result(self.directory).estimates}
            assert not neither_told


_CHANGES = frozenset({"os.remove", "os.mkdir", "os.rmdir", "os.rename", "os.truncate"})


def around_transactions(begin: Callable[[], None], end: Callable[[], None]) -> mock._patch:
    """From now on: before each transaction of a journal begins, and before it is committed."""
    whole = Database.together

    @contextmanager
    def together(self):
        if self._link.in_transaction:
            yield
            return
        begin()
        with whole(self):
            yield
            end()

    patch = mock.patch.object(Database, "together", together)
    patch.start()
    return patch


def _apart(world: World, what: Callable[[World], object], step: Callable[[], None], told: Callable[[], int]) -> int:
    """Run `what` in a process of its own; `step` is called at each moment. Its exit code, or what `told` says at
    the end.

    Moments are the steps of the executor, the begin and the end of every transaction, and everything that changes
    files.
    """
    read, write = os.pipe()
    pid = os.fork()
    if pid:
        os.close(write)
        with os.fdopen(read) as pipe:
            said = pipe.read()
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        assert code in (0, KILLED), f"the campaign ended with {code}: {said}"
        return KILLED if code else int(said)

    def audit(event: str, arguments: tuple) -> None:
        writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)
        if writes or event in _CHANGES:
            step()

    try:
        world.executor._moment = lambda _what: step()
        around_transactions(step, step)
        sys.addaudithook(audit)
        what(world)
        os.write(write, str(told()).encode())
        os._exit(0)
    except BaseException:  # noqa: BLE001 - told to the parent
        os.write(write, traceback.format_exc().encode())
        os._exit(1)


def killed(world: World, moment: int, what: Callable[[World], object] = World.session) -> bool:
    """Let a process of its own die at its n-th moment, as by SIGKILL. False when it ended before."""
    left = [moment]

    def step() -> None:
        left[0] -= 1
        if left[0] < 0:
            os._exit(KILLED)

    return _apart(world, what, step, lambda: 0) == KILLED


def moments(world: World, what: Callable[[World], object] = World.session) -> int:
    """How many moments it has undisturbed."""
    count = [0]

    def step() -> None:
        count[0] += 1

    return _apart(world, what, step, lambda: count[0])


def spread(count: int, total: int, seed: int = 1) -> list[int]:
    """So many moments of `total`, one drawn from each of equal parts; all of them where there are no more."""
    if count >= total:
        return list(range(total))
    generator = random.Random(seed)
    return [generator.randrange(total * n // count, total * (n + 1) // count) for n in range(count)]


class Shell:
    """The command line in this process, on a simulated target: call it as `ioatlas(*arguments)`."""

    def __init__(self, law: Law = LAW, faults=(), **executor) -> None:
        self.executor = SimulatedExecutor(law, faults=faults, **executor)

    def __call__(self, *arguments: object, **variables: str) -> subprocess.CompletedProcess[str]:
        with (
            mock.patch("ioatlas.measure.run.environment.system_environment", return_value=environment(self.executor)),
            mock.patch("ioatlas.measure.campaign.system_environment", return_value=environment(self.executor)),
            mock.patch("ioatlas.measure.campaign.SystemExecutor", return_value=self.executor),
        ):
            return call(*arguments, **{"COLUMNS": "100", **variables})
