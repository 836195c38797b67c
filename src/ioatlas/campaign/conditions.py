# SPDX-License-Identifier: Apache-2.0
"""The conditions of a session: the testbed with what a person typed in, and what was measured of client and path before the first load.

`testbed.toml` in a campaign's directory is a copy of the facts file that was named at its start. It may be corrected by hand later: a session reads
it when it begins, a report whenever it is made.
"""

from __future__ import annotations

import json
import time
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ioatlas import __version__
from ioatlas.engine.batch import Section
from ioatlas.engine.process import Fio
from ioatlas.errors import IoAtlasError, UsageError
from ioatlas.model.target import Target
from ioatlas.model.testbed import Fact, Testbed
from ioatlas.probe import testbed
from ioatlas.probe.measured import Memory, Rate, client_and_stack, client_rate, network_rate, target_rate
from ioatlas.probe.power import Meter, MeterError, TypedMeter, open_meters
from ioatlas.probe.power_log import PowerLog, mean_watts
from ioatlas.probe.round_trip import has_holes, round_trip_seconds
from ioatlas.probe.typed_in import MEASURED, corrected, host_and_port, read_facts, read_measure, read_power
from ioatlas.store.journal import Journal

FACTS_FILE = "testbed.toml"
CLIENT_SECONDS = 0.06
"""Of each of the four loads that measure the client; fio takes 0.2 s more for each, whatever its length."""
MEMORY_SIZES_BYTES = (4 << 10, 64 << 10, 1 << 20)
DRIVE_SECONDS = 2.0
IDLE_SECONDS = 3.0


def facts_text(facts: Path | None, measure: Mapping[str, str | None]) -> str:
    """Text of a new campaign's facts file: that of the file named, else of `./testbed.toml`, and what is to be measured alone. Raises UsageError."""
    source = facts if facts is not None else Path(FACTS_FILE) if Path(FACTS_FILE).is_file() else None
    text = ""
    if source is not None:
        read_facts(source)
        open_meters(read_power(source), where=str(source))
        text = source.read_text(encoding="utf-8")
    has_table = "measure" in tomllib.loads(text)
    lines = []
    for key, value in measure.items():
        if value is not None:
            if has_table:
                raise UsageError(f"{source} has a table [measure] already", where=f"--{key}", remedy=f"write {key} below [measure] there")
            lines.append(f"{key} = {json.dumps(MEASURED[key](value, f'--{key}'))}")
    if lines:
        text += "\n".join(["", "[measure]", *lines, ""])
    return text


def typed_facts(directory: Path) -> tuple[Fact, ...]:
    """What the campaign's facts file says now; nothing without one."""
    path = directory / FACTS_FILE
    return read_facts(path) if path.is_file() else ()


def with_typed(beds: Mapping[str, Testbed], directory: Path) -> dict[str, Testbed]:
    """Recorded testbeds with the facts file as it is now: what was corrected after the run counts."""
    typed = typed_facts(directory)
    if not typed:
        return dict(beds)
    return {name: replace(bed, facts=corrected([f for f in bed.facts if f.kind != "typed in"], typed)) for name, bed in beds.items()}


def conditions(fio: Fio, targets: Sequence[Target], directory: Path, *, measure: bool = True) -> dict[str, Any]:
    """Of one session, for the journal: facts for each target, with those typed in; what was measured stands under 'measured.'."""
    path = directory / FACTS_FILE
    facts_file = path if path.is_file() else None
    alone = read_measure(path) if facts_file and measure else {}
    named = [*(_network(alone["iperf"]) if "iperf" in alone else ()), *(_drive(alone["drive"]) if "drive" in alone else ())]
    client = {kind: _client(kind) for kind in {_memory_of(target) for target in targets}} if measure else {}
    beds = {}
    for target in targets:
        bed = testbed(target.location, facts_file)
        own = [*client[_memory_of(target)], *named, *_round_trip(bed)] if measure else []
        # What a person typed in stands before what was measured here.
        typed = {fact.name for fact in bed.facts}
        beds[target.name] = replace(bed, facts=(*bed.facts, *(fact for fact in own if fact.name not in typed))).as_json()
    return {"ioatlas": __version__, "fio": fio.version, "targets": beds}


def _client(kind: Memory | None) -> list[Fact]:
    """What one job of fio makes here: of I/Os that cost nothing, and of targets of this kind in memory, whose path is all that they cost.

    kind: None where no such target is known.
    """
    found = []
    if kind is not None:
        try:
            null, carried = client_and_stack(kind, MEMORY_SIZES_BYTES, seconds=CLIENT_SECONDS)
            return [_client_fact(null), *(Fact(f"measured.memory_job_iops.{size}", round(rate.iops), "1/s", "known", f"fio {rate.how}") for size, rate in carried.items())]
        except IoAtlasError as error:
            found.append(Fact("measured.memory_job_iops", None, "", "absent", "a target in memory", note=error.what))
    try:
        return [*found, _client_fact(client_rate(MEMORY_SIZES_BYTES[0], seconds=CLIENT_SECONDS))]
    except IoAtlasError as error:
        return [*found, Fact("measured.client_job_iops", None, "", "unknown", "fio ioengine=null", note=error.what)]


def _client_fact(null: Rate) -> Fact:
    return Fact("measured.client_job_iops", round(null.iops), "1/s", "known", f"fio {null.how}")


def _memory_of(target: Target) -> Memory | None:
    """The kind of target in memory that has this target's path."""
    if target.kind in ("directory", "file", "block"):
        return "file"
    return "nbd" if target.location.startswith("nbd") else None


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


def _drive(path: str) -> list[Fact]:
    """What a drive that the user named gives alone, read from its beginning in large blocks."""
    try:
        rate = target_rate(path, "read", 1 << 20, seconds=DRIVE_SECONDS)
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
        return [Fact("path.round_trip", None, "", "unknown", how, note="the server answers neither ping nor a connection")]
    return [Fact("path.round_trip", round(seconds, 9), "s", "known", how)]


class Hollow:
    """Finds holes in files before they are read, once a file; the targets that have one stand in the journal."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._seen: set[str] = set()
        self._targets: set[str] = set(journal.outcomes().get("hollow", []))

    def look(self, sections: Iterable[Section]) -> None:
        """Look at the files of those sections that read."""
        found = set(self._targets)
        for section in sections:
            place = dict(section.location)
            path = str(place.get("filename", ""))
            if "directory" in place:
                path = f"{place['directory']}/{place['filename_format']}".replace("$jobnum", "0")
            if not path or path in self._seen or "read" not in section.cell.directions:
                continue
            self._seen.add(path)
            if has_holes(path):
                found.add(section.cell.target)
        if found != self._targets:
            self._targets = found
            self._journal.set_outcome("hollow", sorted(found))


def meters_of(directory: Path) -> list[Meter]:
    """The meters of the campaign's facts file."""
    path = directory / FACTS_FILE
    return open_meters(read_power(path), where=str(path)) if path.is_file() else []


def note_power(journal: Journal, meters: Sequence[Meter], stop_asked: Callable[[], bool]) -> None:
    """Once a campaign, before the first load: which meters there are, and what they say at rest."""
    if not meters or "idle_watts" in journal.outcomes():
        return
    told = [
        {
            "name": meter.name,
            "of": meter.of,
            "source": meter.source,
            "loaded_watts": meter.loaded_watts if isinstance(meter, TypedMeter) else None,
        }
        for meter in meters
    ]
    journal.set_outcome("meters", told)
    journal.set_outcome("idle_watts", idle_watts(meters, stop_asked))


def idle_watts(meters: Sequence[Meter], stop_asked: Callable[[], bool], seconds: float = IDLE_SECONDS) -> dict[str, float]:
    """Watts of each meter while nothing of ours runs; what was typed in stands as it is."""
    typed = {meter.name: meter.idle_watts for meter in meters if meter.idle_watts is not None}
    live = [meter for meter in meters if meter.name not in typed and meter.source != "typed in"]
    if not live:
        return {name: watts for name, watts in typed.items() if watts is not None}
    log = PowerLog(live)
    log.start()
    end = time.monotonic() + seconds
    while time.monotonic() < end and not stop_asked():
        time.sleep(0.1)
    found = mean_watts(log.stop())
    if not found and log.failures:
        raise MeterError(
            "; ".join(f"{name}: {what}" for name, what in log.failures.items()), remedy="correct [power] in testbed.toml, or leave it out"
        )
    return {**found, **{name: watts for name, watts in typed.items() if watts is not None}}
