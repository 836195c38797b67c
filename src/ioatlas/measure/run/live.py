# SPDX-License-Identifier: Apache-2.0
"""What a session does right now, for those who look from outside: a small file in memory, renewed once a second;
and what it tells its user: events while it runs, a closing line.

It lies in the user's runtime directory, never on the disk of the campaign, which may be the target's. The journal stays
the only truth: nothing is read from that file but how far the session is, and which process to ask to stop.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ioatlas.answer.analysis.estimates import window_values
from ioatlas.load.fio.batch import Batch
from ioatlas.load.fio.process import start_time_ticks
from ioatlas.measure.run.budget import Budget
from ioatlas.model.cell import Cell
from ioatlas.model.outcomes import Emit, Event
from ioatlas.model.tree import is_tree, tree_operation
from ioatlas.model.visit import Purpose, Visit
from ioatlas.store.journal import Journal

RENEW_SECONDS = 1.0
MOST_BYTES = 64 << 10


@dataclass(frozen=True)
class Live:
    """A session that runs.

    pid, ticks: its process and when that began. progress: the last `progress` or `layout` event. said: the last thing
    it told in words.
    """

    pid: int
    ticks: int
    progress: Mapping[str, Any] = field(default_factory=dict)
    said: str = ""


def place_of(directory: Path) -> str:
    """A short name of a directory, the same for everybody who asks."""
    return hashlib.sha256(os.fsencode(directory.resolve())).hexdigest()[:16]


def _folder() -> Path | None:
    """The user's own folder in memory, or below the directory for temporary files; None where it is not ours alone."""
    base = Path(os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}")
    folder = base / "ioatlas" if base.is_dir() else Path(tempfile.gettempdir()) / f"ioatlas-{os.getuid()}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return None
    ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077
    return folder if ours else None


def log_of(directory: Path) -> Path | None:
    """Where a session that was started in the background writes what it says; None where there is no such place."""
    folder = _folder()
    return None if folder is None else folder / f"{place_of(directory)}.log"


class LiveFile:
    """Listens to a session's events and keeps the file. A file that cannot be written is done without."""

    def __init__(self, directory: Path, then: Emit, now: Callable[[], float] = time.monotonic) -> None:
        self._then = then
        self._now = now
        self._written = float("-inf")
        self._progress: Mapping[str, Any] = {}
        self._said = ""
        folder = _folder()
        self._path = folder / f"{place_of(directory)}.json" if folder is not None else None
        self._write()

    def __call__(self, event: Event) -> None:
        """Pass an event on, and take from it what is shown."""
        self._then(event)
        if event.name in ("progress", "layout"):
            self._progress = event.as_json()
        elif "text" in event.fields:
            self._said = str(event.fields["text"])
        if self._now() - self._written >= RENEW_SECONDS:
            self._write()

    def close(self) -> None:
        """The session is over."""
        if self._path is not None:
            with contextlib.suppress(OSError):
                self._path.unlink()

    def _write(self) -> None:
        self._written = self._now()
        if self._path is None:
            return
        pid = os.getpid()
        told = {"pid": pid, "ticks": start_time_ticks(pid), "progress": self._progress, "said": self._said}
        part = self._path.with_suffix(".part")
        with contextlib.suppress(OSError):
            part.write_text(json.dumps(told, default=str), encoding="utf-8")
            part.replace(self._path)


def live(directory: Path) -> Live | None:
    """The session that runs on a campaign's directory; None when none does, or when that cannot be known."""
    folder = _folder()
    if folder is None:
        return None
    try:
        with (folder / f"{place_of(directory)}.json").open("rb") as file:
            told = json.loads(file.read(MOST_BYTES))
        found = Live(int(told["pid"]), int(told["ticks"]), dict(told["progress"]), str(told["said"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return found if start_time_ticks(found.pid) == found.ticks else None


def progress_event(told: Mapping[str, float | None], batch: Batch, seconds: float) -> Event:
    """How far the session is, and which cell is measured now, so many seconds after the batch began."""
    at, end = 1000 * seconds, 0.0
    section = batch.sections[-1]
    for section in batch.sections:
        end += section.rest_ms + section.runtime_ms + section.gap_ms
        if at < end:
            break
    return Event("progress", {**told, "cell": section.cell.key, **axes_of(section.cell)})


def visit_events(visit: Visit, cell: Cell) -> Iterator[Event]:
    """A visit that counts: an event for each part."""
    for part in visit.parts:
        values = window_values(part, visit.window_start_ms)
        fields = {
            "cell": cell.key,
            **axes_of(cell),
            "direction": part.direction,
            "block": visit.replicate,
            "bw_bytes_per_s": round(values.bw_bytes_per_s, 1),
            "iops": round(values.iops, 2),
            "lat_mean_ns": values.lat_mean_ns,
            "lat_p99_ns": values.lat_p99_ns,
            "lat_kind": part.lat_kind,
            "verdict": visit.verdict.text,
            "purpose": visit.purpose,
        }
        yield Event("visit", fields)


def axes_of(cell: Cell) -> dict[str, object]:
    return {
        "target": cell.target,
        "rw": cell.rw,
        "bs_bytes": cell.bs_bytes,
        "size_bytes": cell.size_bytes,
        "numjobs": cell.numjobs,
        "iodepth": cell.iodepth,
        **({"operation": str(tree_operation(cell))} if is_tree(cell) else {}),
        **({"streams": [axes_of(one) for one in cell.members]} if cell.streams and not is_tree(cell) else {}),
    }


@dataclass(frozen=True)
class Summary:
    """How a session ended."""

    directory: Path
    cells: int
    visits: int
    seconds: float
    complete: bool
    budget_seconds: float | None = None

    @classmethod
    def of(
        cls, journal: Journal, budget: Budget | None, *, complete: bool, counted: frozenset[Purpose] | None = None
    ) -> Summary:
        """What the journal holds now. budget: of the session, None where there was none to be made."""
        kept = [
            visit
            for visit in journal.visits()
            if not visit.discarded and (visit.purpose != Purpose.PROBE if counted is None else visit.purpose in counted)
        ]
        cells = len({visit.cell_key for visit in kept})
        seconds, total = (budget.elapsed, budget.total) if budget is not None else (0.0, None)
        return cls(journal.directory, cells, len(kept), seconds, complete, total)
