# SPDX-License-Identifier: Apache-2.0
"""Which campaigns a history is of, their timelines, and these as JSON."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ioatlas.cli._arguments import WORDS
from ioatlas.config.user import library_folders
from ioatlas.errors import UsageError
from ioatlas.results.library import Entry, directories, entry, stamp

if TYPE_CHECKING:
    from ioatlas.analysis.timeline import Timeline


@dataclass(frozen=True)
class History:
    """title: the target, or the folder. skipped: campaigns that could not be taken in, each with its reason."""

    title: str
    quantity: str
    timelines: tuple[Timeline, ...]
    skipped: tuple[str, ...]


def read_history(
    places: Sequence[str], folder: Path | None, quantity: str, *, tolerance: str, false_alarms: str, recent: int
) -> History:
    """The timelines of a target in the library, or of the campaigns named. Raises UsageError where there is none."""
    from ioatlas.analysis.timeline import follow
    from ioatlas.model.units import parse_percent
    from ioatlas.results.moments import past_of
    from ioatlas.results.sides import LOWER_IS_BETTER

    entries, title, target = _meant(places, folder)
    chance = parse_percent(false_alarms, where="--false-alarms")
    if not 0 < chance < 0.5:
        raise UsageError("the chance is between 0 and 50%", where="--false-alarms", remedy="write 1%")
    past = past_of(entries, target, quantity)
    if not past.moments:
        raise UsageError(
            f"no campaign of it has a value of {WORDS[quantity]}",
            where=title,
            remedy="; ".join(past.skipped[:3]) or "choose another --quantity",
        )
    timelines = follow(
        past.moments,
        higher_is_better=quantity not in LOWER_IS_BETTER,
        tolerance=parse_percent(tolerance, where="--tolerance"),
        false_alarms=chance,
        recent=recent,
    )
    return History(title, quantity, timelines, past.skipped)


def targets_known(folder: Path | None) -> list[dict[str, Any]]:
    """Every target of the library with its number of campaigns and when they were made."""
    found: dict[str, dict[str, Any]] = {}
    for each in _entries(folder):
        for target in each.targets:
            place = target.location or target.name
            told = found.setdefault(
                place, {"target": place, "name": target.name, "campaigns": 0, "first": None, "last": None}
            )
            told["campaigns"] += 1
            if (made := each.created) is not None:
                told |= {"first": min(made, told["first"] or made), "last": max(made, told["last"] or made)}
    return sorted(found.values(), key=lambda told: -(told["last"] or 0.0))


def document(history: History) -> dict[str, Any]:
    """The history as JSON."""
    from ioatlas.analysis.timeline import METHOD

    return {
        "title": history.title,
        "quantity": history.quantity,
        "method": METHOD,
        "parts": [_part(timeline) for timeline in history.timelines],
        "skipped": list(history.skipped),
    }


def _part(timeline: Timeline) -> dict[str, Any]:
    told = asdict(timeline)
    return {
        "part": timeline.part,
        "verdict": timeline.verdict,
        "false_alarms": timeline.false_alarms,
        "between_campaigns_sd": timeline.sd,
        "smallest_drop_found": timeline.smallest,
        "left_out": list(timeline.left_out),
        "campaigns": [{"directory": one.pop("name"), **one} for one in told["points"]],
        "changes": [{"campaign": timeline.points[one.pop("at")].name, **one} for one in told["changes"]],
    }


def shortener() -> Callable[[str], str]:
    """Names a campaign's directory as short as it can be named here."""
    bases = [base.resolve() for base in (Path(), *library_folders())]

    def short(directory: str) -> str:
        place = Path(directory).resolve()
        base = next((base for base in bases if place.is_relative_to(base)), None)
        return directory if base is None else str(place.relative_to(base))

    return short


def _entries(folder: Path | None) -> list[Entry]:
    return [entry(path) for path in directories([folder] if folder else library_folders())]


def _meant(places: Sequence[str], folder: Path | None) -> tuple[list[Entry], str, str]:
    """(entries, title, target): of one target, of directories that were named, or of the only target there is."""
    from ioatlas.results.moments import entries_of

    folders = (folder,) if folder else library_folders()
    directories_of = {place: _directory(place, folders) for place in places}
    named = [path for path in directories_of.values() if path is not None]
    if named and len(named) == len(places):
        return entries_of(named), ", ".join(places) if len(places) < 4 else f"{len(places)} campaigns", ""
    if len(places) > 1:
        other = next(place for place, path in directories_of.items() if path is None)
        raise UsageError(
            f"{other} is no campaign", where="DIR...", remedy="name one target, or directories of campaigns"
        )
    entries = [each for each in _entries(folder) if each.readable]
    if not places:
        known = {target.location or target.name for each in entries for target in each.targets}
        if len(known) != 1:
            raise UsageError(
                "say which target" if known else "there is no campaign yet",
                where="TARGET",
                remedy="`ioatlas history` lists them" if known else "make one: `ioatlas map DIRECTORY`",
            )
        places = tuple(known)
    wanted = places[0]
    found = [each for each in entries if each.is_of(wanted)]
    if not found:
        raise UsageError(
            f"no campaign of {wanted} was found", where="TARGET", remedy="`ioatlas history` lists the targets there are"
        )
    return found, wanted, wanted


def _directory(place: str, folders: Sequence[Path]) -> Path | None:
    """The campaign's directory that a text names: as a path, or in a folder of the library."""
    here = Path(place)
    for path in (here, *(base / here for base in folders)):
        if not (here.is_absolute() and path != here) and path.is_dir() and stamp(path) is not None:
            return path
    return None
