# SPDX-License-Identifier: Apache-2.0
"""One call of `ioatlas watch`: the rounds that are due, what they show, and who is told.

Everything that is known of earlier rounds is read again at the start, so a call goes on where another one was killed.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from ioatlas.answer.analysis.watching import Change, Chart, Round, Rules, Watched
from ioatlas.load.fio.executor import Clock
from ioatlas.measure.campaign import open_plan, reopen, run, start
from ioatlas.measure.run.set_up import Consent
from ioatlas.measure.watch_kept import (
    FIT,
    PREFIX,
    Line,
    Settings,
    add_line,
    add_told,
    fits_of,
    keep,
    levels_of,
    pinned,
    read_log,
    unfinished,
)
from ioatlas.model.errors import IoAtlasError, PartialResultError, RefusedError, UsageError, faults
from ioatlas.model.outcomes import Emit, Event, plain
from ioatlas.model.units import format_duration
from ioatlas.store.journal import Journal

LOCK = ".watch.lock"
NAP_SECONDS = 0.5
FAILED_IN_A_ROW = 3
"""Rounds without a value after which somebody is told."""
UNFIT_IN_A_ROW = 2
"""Rounds in which a target does not fit a use, with none between in which it does, after which somebody is told."""


@dataclass(frozen=True)
class Stopped:
    """That a target stopped fitting a use, or fits it again. text: the newest answer. worse: whether it is an alarm."""

    use: str
    text: str
    worse: bool


@dataclass(frozen=True)
class Alarm:
    """What somebody is told of. changes: of the round; none where the target cannot be measured."""

    text: str
    target: str
    directory: str
    round: str
    changes: tuple[Change | Stopped, ...] = ()


@contextmanager
def only_one(directory: Path) -> Iterator[None]:
    """Hold the directory of a watch. Raises UsageError while another process does."""
    with faults(UsageError, "the watch's directory cannot be used", where=str(directory), remedy="choose another -o"):
        directory.mkdir(parents=True, exist_ok=True)
        file = os.open(directory / LOCK, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise UsageError(
            "another process watches with this directory now", where=str(directory), remedy="wait, or end that one"
        ) from None
    finally:
        os.close(file)


class Session:
    """The rounds of one call. told: of what happens. loads: of what the campaign of a round tells."""

    def __init__(
        self,
        directory: Path,
        settings: Settings,
        rules: Rules,
        share: float,
        clock: Clock,
        *,
        confirmed: Consent,
        told: Emit,
        loads: Emit,
        alarm: Callable[[Alarm], None],
        stop_asked: Callable[[], bool],
    ) -> None:
        self.directory, self.settings, self.rules, self.share, self.clock = directory, settings, rules, share, clock
        self._confirmed, self._told, self._loads, self._alarm = confirmed, told, loads, alarm
        self._stop_asked = stop_asked
        self.alarms = self.made = 0
        log = read_log(directory)
        self._last = log.lines[-1] if log.lines else None
        self._failed = _failed_at_the_end(log.lines)
        self._watched = Watched(rules, settings.charts)
        self._planned = settings.charts
        self._unfit: Counter[str] = Counter()
        newest: list[Change | Stopped] = []
        for line in log.lines:
            newest = self._take(line)
        if self._last is not None and self._last.name not in log.told:  # killed before it was told
            self._tell(self._last, newest)
        for path in unfinished(directory, log)[-1:]:
            self._go_on(path)

    @property
    def charts(self) -> Sequence[Chart]:
        return self._watched.state()

    def due(self) -> float:
        """When the next round may begin, seconds since the epoch: `every` after the last one, and later where that
        took more than its share.
        """
        if self._last is None:
            return self.clock.time()
        return max(self._last.began + self.rules.every_seconds, self.due_by_share())

    def newest(self) -> Path | None:
        """The directory of the newest round that measured something and is still there."""
        measured = self._last is not None and (self._last.levels or self._last.fits)
        directory = self.directory / self._last.name if self._last is not None and measured else None
        return directory if directory is not None and directory.is_dir() else None

    def due_by_share(self) -> float:
        """When the next round keeps to the share."""
        if self._last is None:
            return self.clock.time()
        return self._last.began + (self._last.ended - self._last.began) / self.share

    def rounds(self, *, once: bool, end: float, at_alarm: bool) -> None:
        """Until the end, until somebody asks to stop, or just one where the share allows it."""
        try:
            if once and self.due_by_share() <= self.clock.time():
                self.round()
            while not (once or self._stop_asked() or (at_alarm and self.alarms)) and (due := self.due()) <= end:
                self.wait(due)
                if not self._stop_asked():
                    self.round()
        except PartialResultError:
            if not self._stop_asked():
                raise

    def wait(self, until: float) -> None:
        """Wait for a moment, or until somebody asks to stop."""
        if until > self.clock.time():
            self._told(Event("waiting", {"next_round": until, "seconds": round(until - self.clock.time(), 1)}))
        while not self._stop_asked() and (left := until - self.clock.time()) > 0:
            self.clock.sleep(min(NAP_SECONDS, left))

    def round(self) -> None:
        """Measure once, and tell what that shows. A target that cannot be measured is told of; a guard that refuses
        ends the call: RefusedError.
        """
        began = self.clock.time()
        name = self._free_name(began)
        try:
            spec = replace(self.settings.spec, order_seed=int(began))  # each round in orders of its own
            plan = open_plan(spec, read_only=self.settings.read_only)
            journal = start(
                plan, self.directory / name, destroy=self._confirmed.destroy, overwrite=self._confirmed.overwrite
            )
        except RefusedError:
            raise
        except IoAtlasError as error:
            if isinstance(error, UsageError) and self._last is None:
                raise  # what was asked for cannot be done; later it could, so the target changed
            self._finish(name, began, error)
            return
        self._measure(journal, name, began)

    def _free_name(self, began: float) -> str:
        name = PREFIX + time.strftime("%Y%m%d-%H%M%S", time.gmtime(began))
        number = 1
        while (self.directory / name).exists():
            number += 1
            name = f"{PREFIX}{time.strftime('%Y%m%d-%H%M%S', time.gmtime(began))}-{number}"
        return name

    def _go_on(self, path: Path) -> None:
        """Finish a round that was killed; its target is cleaned at the end."""
        try:
            journal = reopen(path, destroy=self._confirmed.destroy, overwrite=self._confirmed.overwrite)
        except IoAtlasError as error:
            self._finish(path.name, self.clock.time(), error)
            return
        campaign = journal.campaign()
        self._measure(journal, path.name, campaign.created_at if campaign.complete else self.clock.time())

    def _measure(self, journal: Journal, name: str, began: float) -> None:
        error = None
        with closing(journal):
            try:
                run(journal, emit=self._loads, stop_asked=self._stop_asked)
                if self._last is None:
                    self._pin(journal)
            except IoAtlasError as caught:
                if self._stop_asked():
                    raise
                error = caught
        self._finish(name, began, error)

    def _pin(self, journal: Journal) -> None:
        cells = [cell for cell, reason in journal.cells() if not reason]
        self.settings = replace(self.settings, spec=pinned(self.settings.spec, cells))
        keep(self.directory, self.settings)

    def _finish(self, name: str, began: float, error: IoAtlasError | None) -> None:
        levels, fits, failed = {}, {}, error.what if error is not None else ""
        if (self.directory / name).is_dir():
            try:
                if self.settings.quantity == FIT:
                    fits = fits_of(self.directory / name)
                else:
                    levels = levels_of(self.directory / name, self.settings.quantity)
                failed = ""
            except IoAtlasError as missing:
                failed = failed or missing.what
        failed = failed or ("" if levels or fits else "nothing was measured")
        line = Line(name, began, self.clock.time(), levels, failed, fits)
        add_line(self.directory, line)
        self.made += 1
        self._last = line
        self._failed = self._failed + 1 if line.failed else 0
        changes = self._take(line)
        self._tell_round(line)
        self._tell(line, changes)

    def _take(self, line: Line) -> list[Change | Stopped]:
        """What a round shows that somebody is told of."""
        shown: list[Change | Stopped] = [*self._watched.take(Round(line.name, line.began, line.levels))]
        for use, one in line.fits.items():
            before = self._unfit[use]
            self._unfit[use] = {"pass": 0, "fail": before + 1}.get(one["answer"], before)
            worse = self._unfit[use] == UNFIT_IN_A_ROW > before
            if worse or (before >= UNFIT_IN_A_ROW and not self._unfit[use]):
                shown.append(Stopped(use, str(one["sentence"]), worse=worse))
        return shown

    def _tell_round(self, line: Line) -> None:
        fields = {
            "target": self.settings.target,
            "round": line.name,
            "began": line.began,
            "seconds": round(line.ended - line.began, 1),
            "failed": line.failed or None,
            "fits": [*line.fits.values()],
            "cells_without_value": self._planned - len(line.levels),
            "charts": [plain(chart) for chart in self.charts if chart.name in line.levels],
        }
        self._told(Event("watched", fields))

    def _tell(self, line: Line, changes: Sequence[Change | Stopped]) -> None:
        for change in changes:
            if not change.worse:
                self._told(Event("better", {"text": sentence(change), **plain(change)}))
        worse = tuple(change for change in changes if change.worse)
        alarm = None
        if worse:
            lead = "" if line.fits else f"{self.settings.target} got worse. "
            text = lead + " ".join(sentence(change) for change in worse)
            alarm = Alarm(text, self.settings.target, str(self.directory), line.name, worse)
        elif line.failed and self._failed == FAILED_IN_A_ROW:
            text = f"{self.settings.target} could not be measured in {FAILED_IN_A_ROW} rounds: {line.failed}."
            alarm = Alarm(text, self.settings.target, str(self.directory), line.name)
        if alarm is not None:
            self.alarms += 1
            self._told(Event("alarm", plain(alarm)))
            self._alarm(alarm)
        add_told(self.directory, line.name)


def sentence(change: Change | Stopped) -> str:
    """'randread 4 KiB x4 fell by 21% (18% to 24%) from 2026-11-23 10:00 UTC on; found 2 h later.'."""
    if isinstance(change, Stopped):
        return change.text
    word = "fell" if change.ratio < 1 else "rose"
    ends = sorted(abs(1 - ratio) for ratio in (change.low, change.high))
    since = time.strftime("%Y-%m-%d %H:%M", time.gmtime(change.since_time))
    later = change.found_time - change.since_time
    found = f"; found {format_duration(later)} later" if later else ""
    return (
        f"{change.chart} {word} by {abs(1 - change.ratio):.0%} ({ends[0]:.0%} to {ends[1]:.0%}) "
        f"from {since} UTC on{found}."
    )


def _failed_at_the_end(lines: Sequence[Line]) -> int:
    count = 0
    for line in reversed(lines):
        if not line.failed:
            break
        count += 1
    return count


SECONDS = 60.0
"""How long a command may take: the next round does not wait for ever."""


def run_command(command: str, alarm: Alarm) -> str:
    """Run it in /bin/sh with the alarm in its environment and as JSON on its standard input. Why it failed, or ''.

    What it prints goes to standard error.
    """
    told = {
        "IOATLAS_ALARM": alarm.text,
        "IOATLAS_TARGET": alarm.target,
        "IOATLAS_DIRECTORY": alarm.directory,
        "IOATLAS_ROUND": alarm.round,
    }
    with subprocess.Popen(
        ["/bin/sh", "-c", command],
        stdin=subprocess.PIPE,
        stdout=sys.stderr.fileno() if _has_file() else subprocess.DEVNULL,
        env={**os.environ, **told},
        text=True,
        start_new_session=True,
    ) as process:
        try:
            process.communicate(json.dumps(plain(alarm)) + "\n", timeout=SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return f"the command was ended after {SECONDS:.0f} s"
    return f"the command ended with {process.returncode}" if process.returncode else ""


def _has_file() -> bool:
    try:
        return sys.stderr.fileno() >= 0
    except (OSError, ValueError):
        return False
