# SPDX-License-Identifier: Apache-2.0
"""The library as pages see it: entries by a short name, none of which is a path that somebody else can choose."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from ioatlas.answer.results.library import Entry, directories, entry, stamp
from ioatlas.measure.campaign import load_result
from ioatlas.measure.run.live import Live, live, place_of
from ioatlas.model.errors import IoAtlasError
from ioatlas.report.numbers import answer_in, answer_of
from ioatlas.report.page import report_html
from ioatlas.report.page_data import report_data

MOST_KEPT = 16
COMPUTE_SECONDS = 3.0
"""What a list may take to compute answers that no report has."""


@dataclass(frozen=True)
class Volume:
    """An entry with its short name. now: the session that measures it, None when none does."""

    id: str
    entry: Entry
    now: Live | None

    @property
    def name(self) -> str:
        return self.entry.directory.name

    @property
    def created(self) -> datetime | None:
        """UTC; None where unknown."""
        return None if self.entry.created is None else datetime.fromtimestamp(self.entry.created, UTC)

    @property
    def state(self) -> str:
        return "running" if self.now else self.entry.state

    @property
    def targets(self) -> str:
        """Names and places."""
        return ", ".join(
            f"{target.name} ({target.location})" if target.location else target.name for target in self.entry.targets
        )

    def fits(self, words: str, state: str) -> bool:
        """Whether all words occur in what is shown of it, and it is in that state ('' for any)."""
        shown = f"{self.entry.name} {self.entry.directory} {self.targets}".lower()
        return all(word in shown for word in words.lower().split()) and state in ("", self.state)


class Shelf:
    """Campaigns and imports in some folders. What was computed for a page is kept until its files change."""

    def __init__(self, folders: Iterable[Path]) -> None:
        self.folders = tuple(folders)
        self._lock = threading.Lock()
        self._places: dict[str, Path] = {}
        self._entries: dict[Path, tuple[float, Entry]] = {}
        self._answers: dict[Path, tuple[float, Mapping[str, str]]] = {}
        self._kept: dict[tuple[Path, str], tuple[float, str]] = {}

    def volumes(self) -> list[Volume]:
        """All, those that run first, then the newest."""
        found = [self._volume(path) for path in directories(self.folders)]
        return sorted(found, key=lambda each: not each.now)

    def find(self, name: str) -> Volume | None:
        """The entry of that short name."""
        known = self._places.get(name)
        # A page that is open asks every second: folders are walked for others.
        if known is None or stamp(known) is None:
            self._places = {place_of(path): path for path in directories(self.folders)}
            known = self._places.get(name)
        return None if known is None else self._volume(known)

    def answers(self, volumes: Iterable[Volume]) -> dict[str, Mapping[str, str]]:
        """By short name what their reports say. What none of them says is computed, while there is time for it."""
        until = time.monotonic() + COMPUTE_SECONDS
        return {volume.id: self._answer(volume, until) for volume in volumes}

    def _answer(self, volume: Volume, until: float) -> Mapping[str, str]:
        directory = volume.entry.directory
        now = stamp(directory) or 0.0
        kept = self._answers.get(directory)
        if kept is not None and kept[0] == now:
            return kept[1]
        told = answer_of(directory, now)
        if "map" not in told and volume.entry.readable:
            if time.monotonic() > until:
                return told
            with suppress(IoAtlasError):
                told = answer_in(self.data(volume))
        self._answers[directory] = (now, told)
        return told

    def page(self, volume: Volume, live_at: str = "") -> str:
        """Its report. live_at: address at which the page finds what is new. Raises IoAtlasError."""
        return self._made(volume, f"page {live_at}", live_at)

    def data(self, volume: Volume) -> str:
        """The report's data as JSON. Raises IoAtlasError."""
        return self._made(volume, "data", "")

    def _made(self, volume: Volume, what: str, live_at: str) -> str:
        directory = volume.entry.directory
        now = stamp(directory) or 0.0
        with self._lock:  # one at a time: a load may be running on this machine
            kept = self._kept.get((directory, what))
            if kept is not None and kept[0] == now:
                return kept[1]
            result = load_result(directory)
            if what == "data":
                made = report_data(result, None, directory).model_dump_json()
            else:
                made = report_html(result, None, directory, live=live_at)
            if len(self._kept) >= MOST_KEPT:
                self._kept.pop(next(iter(self._kept)))
            self._kept[directory, what] = (now, made)
            return made

    def _volume(self, path: Path) -> Volume:
        now = stamp(path) or 0.0
        kept = self._entries.get(path)
        found = kept[1] if kept is not None and kept[0] == now else entry(path)
        self._entries[path] = (now, found)
        return Volume(place_of(path), found, live(path))
