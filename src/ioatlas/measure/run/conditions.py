# SPDX-License-Identifier: Apache-2.0
"""The conditions of a session: its testbed with what was typed in, and what was measured before the first load."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ioatlas import __version__
from ioatlas.answer.analysis.shakedown import background_checks
from ioatlas.load.fio.batch import Section
from ioatlas.load.fio.executor import Executor
from ioatlas.load.machine.host import testbed
from ioatlas.load.machine.measured import network_rate, target_rate
from ioatlas.load.machine.network import round_trip_seconds
from ioatlas.load.machine.power import IDLE_SECONDS, Meter, idle_watts
from ioatlas.load.machine.typed_in import FACTS_FILE, host_and_port, read_measure
from ioatlas.model.errors import IoAtlasError
from ioatlas.model.options import JobValue
from ioatlas.model.outcomes import HoleCheck, IdleWatts, KeptMeter, Meters
from ioatlas.model.target import Target
from ioatlas.model.testbed import Fact, Testbed, Usage
from ioatlas.model.visit import RemarkKind
from ioatlas.store import confined
from ioatlas.store.journal import Journal
from ioatlas.target.holes import hole_bytes

DRIVE_SECONDS = 2.0


def conditions(
    executor: Executor, targets: Sequence[Target], directory: Path, *, measure: bool = True
) -> dict[str, Any]:
    """Of one session, for the journal: facts for each target, with those typed in.

    What was measured stands under 'measured.'.
    """
    path = directory / FACTS_FILE
    facts_file = path if confined.is_ordinary(path) else None
    alone = read_measure(path) if facts_file and measure else {}
    named = [
        *(_network(alone["iperf"]) if "iperf" in alone else ()),
        *(_drive(executor, alone["drive"]) if "drive" in alone else ()),
    ]
    beds = {}
    for target in targets:
        bed = testbed(target.location, facts_file)
        own = [*named, *_round_trip(bed)] if measure else []
        # What a person typed in stands before what was measured here.
        typed = {fact.name for fact in bed.facts}
        beds[target.name] = replace(
            bed, facts=(*bed.facts, *(fact for fact in own if fact.name not in typed))
        ).as_json()
    return {"ioatlas": __version__, "fio": executor.find("fio").version, "targets": beds}


def _network(host: str) -> list[Fact]:
    """What TCP carries between this client and a host that the user named, in both directions."""
    name, port = host_and_port(host, "iperf")
    found = []
    for fact, reverse in (("measured.network_read", True), ("measured.network_write", False)):
        try:
            rate = network_rate(name, port=port, reverse=reverse, seconds=2)
            found.append(Fact(fact, round(rate.bw_bytes_per_s), "B/s", "known", "iperf3 to the host that was named"))
        except IoAtlasError as error:
            found.append(Fact(fact, None, "", "unknown", "iperf3", note=error.what))
    return found


def _drive(executor: Executor, path: str) -> list[Fact]:
    """What a drive that the user named gives alone, read from its beginning in large blocks."""
    try:
        rate = target_rate(executor, path, "read", 1 << 20, seconds=DRIVE_SECONDS)
    except IoAtlasError as error:
        return [Fact("measured.drive_read", None, "", "unknown", "fio", note=error.what)]
    return [Fact("measured.drive_read", round(rate.bw_bytes_per_s), "B/s", "known", f"fio {rate.how}, {path} alone")]


def _round_trip(bed: Testbed) -> list[Fact]:
    """The smallest round trip to the server, where there is one on the other side of a wire."""
    server, transport = bed.value("server.address"), bed.value("protocol.transport")
    if not server or transport == "unix socket" or bed.value("route.local") is True:
        return []
    port = bed.number("server.port") or bed.number("protocol.port")
    seconds, how = round_trip_seconds(str(server), int(port) if port else None)
    if seconds is None:
        return [Fact("path.round_trip", None, "", "unknown", how, note="it answers neither ping nor a connection")]
    return [Fact("path.round_trip", round(seconds, 9), "s", "known", how)]


def tell_background(usage: Usage | None, remark: Callable[[RemarkKind, str], None]) -> None:
    """Say what else this machine does before the first load, where that is too much to measure beside it."""
    for check in background_checks(usage) if usage is not None else ():
        if check.verdict != "ok":
            told = f"{check.sentence} before the first load: {check.advice}."
            remark(RemarkKind.WARNING, told[0].upper() + told[1:])


class HoleChecks:
    """Finds holes in files before they are read, once a file; the targets that have one stand in the journal."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._seen: set[str] = set()
        self._known = journal.kept(HoleCheck)

    def look(self, sections: Iterable[Section]) -> None:
        """Look at the files of those sections that read."""
        found = self._known.targets | {section.cell.target for section in sections if self._reads_holes(section)}
        if found != self._known.targets:
            self._known = HoleCheck(found)
            self._journal.keep(self._known)

    def _reads_holes(self, section: Section) -> bool:
        """Whether it reads a file with holes that was not looked at before."""
        found = [self._is_new_hole(section, dict(place)) for place in section.locations]
        return any(found)

    def _is_new_hole(self, section: Section, place: Mapping[str, JobValue]) -> bool:
        path = str(place.get("filename", ""))
        if "directory" in place:
            path = f"{place['directory']}/{place['filename_format']}".replace("$jobnum", "0")
        if not path or path in self._seen or "read" not in section.cell.directions:
            return False
        self._seen.add(path)
        return has_holes(path)


def has_holes(path: str) -> bool:
    """Whether a file has holes; False for what is no file, or cannot be read."""
    with contextlib.suppress(IoAtlasError, OSError):
        return Path(path).is_file() and hole_bytes(path, Path(path).stat().st_size) > 0
    return False


def note_power(
    journal: Journal, meters: Sequence[Meter], stop_asked: Callable[[], bool], seconds: float = IDLE_SECONDS
) -> None:
    """Which meters there are and, once a campaign, before the first load, what they say at rest for `seconds`.

    When it is stopped meanwhile, the next session measures at rest again. Raises MeterError when none answers.
    """
    if not meters:
        return
    told = Meters(tuple(KeptMeter(one.name, one.of, one.source, one.loaded_watts) for one in meters))
    if told != journal.kept(Meters):
        journal.keep(told)
    if journal.is_kept(IdleWatts):
        return
    watts = idle_watts(meters, stop_asked, seconds)
    if not stop_asked():
        journal.keep(IdleWatts(watts))
