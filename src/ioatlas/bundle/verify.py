# SPDX-License-Identifier: Apache-2.0
"""Whether a bundle is to be believed: its bytes, its signature, and everything in it that follows from raw output."""

from __future__ import annotations

import csv
import io
import json
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from ioatlas import __version__
from ioatlas.answer.analysis.wording import plural
from ioatlas.bundle import descriptors, statement
from ioatlas.bundle.keys import trusted
from ioatlas.bundle.opening import Bundle, NotABundleError, open_bundle, unpack
from ioatlas.bundle.remade import (
    EMPTY,
    FITTED,
    FITTED_TOLERANCE,
    NOT_RECORDED,
    TOLERANCE,
    remake,
    same,
    unlike,
)
from ioatlas.bundle.statement import parse, pretty
from ioatlas.measure.campaign import load_result
from ioatlas.model.errors import IoAtlasError
from ioatlas.model.result import CampaignResult
from ioatlas.model.visit import Visit
from ioatlas.report.export.to_json import document
from ioatlas.report.table import csv_text, joint_table
from ioatlas.store.journal import Journal

UNFIT = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, AssertionError, RecursionError)
"""What computing ends with on rows that are well formed and fit nothing: a bundle may be anybody's."""
CLOCK_SECONDS = 2.0
"""How far a visit's own clock may be off that of its batch."""
MOST_NAMED = 5
TOLD = (
    "testbed, product, plan, dates and remarks are taken as told. So are how long batches took, the order of visits "
    "and how files were prepared. So is what fio prints beside I/Os, bytes, times and latencies"
)
"""What no raw output shows. Whoever signed the bundle answers for it."""


class Signature(StrEnum):
    """Whose it is."""

    TRUSTED = "trusted"
    UNKNOWN = "unknown"
    NONE = "none"
    BAD = "bad"


@dataclass(frozen=True)
class Check:
    """One thing that was looked at. state: 'passed', 'failed', 'note', or 'told': nothing here can show it. differs: in
    how many places.
    """

    name: str
    state: str
    text: str
    differs: int = 0


@dataclass
class Verification:
    """What came of it. signer: name and fingerprint of the key; empty without one. packed_with: the version of ioatlas,
    as the bundle tells. since: the other version that measured or packed it; empty where both were this one. result: as
    it was computed.
    """

    checks: list[Check] = field(default_factory=list)
    signature: Signature = Signature.BAD
    signer: str = ""
    fingerprint: str = ""
    packed_with: str = ""
    since: str = ""
    result: CampaignResult | None = None

    @property
    def refused(self) -> bool:
        return self.signature is Signature.BAD or any(one.state == "failed" for one in self.checks)

    @property
    def verified(self) -> bool:
        """In full. Who says that another version packed it gets notes in place of refusals, and no more for it."""
        return not self.refused and all(one.state != "note" for one in self.checks)

    def add(self, name: str, faults: list[str], passed: str, *, note: bool = False) -> None:
        """One check: its faults, or the sentence for when there is none."""
        if not faults:
            self.checks.append(Check(name, "passed", passed))
            return
        if note:  # other rules differ everywhere
            differ = [one for one in faults if not one.endswith(NOT_RECORDED)]
            where, more = plural(len(differ), "place"), plural(len(faults) - len(differ), "key")
            since = f"its methods changed since {self.since or 'the version that packed it'}"
            text = f"computed anew by this version, and different in {where}, because {since}; first: "
            text = text + differ[0] if differ else f"the same in all that the bundle holds; {more} came later"
            self.checks.append(Check(name, "note", text, len(differ)))
            return
        more = f"; and {len(faults) - MOST_NAMED} more" if len(faults) > MOST_NAMED else ""
        self.checks.append(Check(name, "failed", "; ".join(faults[:MOST_NAMED]) + more, len(faults)))


def verify(path: Path) -> Verification:
    """Everything that can be checked without the target. Raises NotABundleError for a file that is none."""
    found = Verification()
    try:
        bundle = open_bundle(path)
    except NotABundleError:
        raise
    except IoAtlasError as error:
        found.checks.append(Check("files", "failed", f"{error.where}: {error.what}".removeprefix(": ")))
        return found
    with bundle, tempfile.TemporaryDirectory(prefix="ioatlas-verify-") as place:
        _tell_signature(found, bundle)
        count = len(bundle.attestation.subjects)
        found.add("files", [], f"{plural(count, 'file')} have the hashes of the statement")
        try:
            _check_content(found, bundle, Path(place) / "campaign")
        except IoAtlasError as error:
            found.checks.append(Check("journal", "failed", error.what))
        except UNFIT as error:
            found.checks.append(Check("journal", "failed", f"nothing can be computed from it ({type(error).__name__})"))
    return found


def _tell_signature(found: Verification, bundle: Bundle) -> None:
    key = bundle.attestation.key
    if key is None:
        found.signature = Signature.NONE
        return
    found.fingerprint = key.fingerprint
    known = next((one for one in trusted() if one.raw == key.raw), None)
    found.signature = Signature.TRUSTED if known else Signature.UNKNOWN
    found.signer = known.name if known else ""


def _check_content(found: Verification, bundle: Bundle, directory: Path) -> None:
    directory.mkdir()
    unpack(bundle, directory)
    found.result = result = load_result(directory)
    found.packed_with = _version(str(bundle.index.get("packed_with")).removeprefix("ioatlas "))
    made_with = (_version(result.tool_version), found.packed_with)
    same_version = made_with == (__version__, __version__)
    found.since = next((one for one in made_with if one not in ("", __version__)), "")
    _check_index(found, bundle, directory, result)
    _check_values(found, bundle, result, same_version=same_version)
    _check_descriptors(found, bundle, result, same_version=same_version)
    _check_times(found, directory)
    remade = remake(directory)
    made = plural(remade.visits, "visit")
    found.add("raw output", [*remade.missing, *remade.unlike], f"{made} made again from raw output, each the same")
    found.add(
        "what ran",
        remade.otherwise,
        "job files ask for what the journal says, and its counters are those of their lines",
        note=not same_version,
    )
    found.add(
        "rules",
        remade.misjudged,
        f"errors, bytes, Little's law, ceilings, counters and steadiness judge {made} as the journal does",
        note=not same_version,
    )
    found.checks.append(Check("as told", "told", TOLD))


def _version(text: str) -> str:
    return text if re.fullmatch(r"[0-9][0-9A-Za-z.+-]{,40}", text) else ""


# -- what the index says -------------------------------------------------------------------------------------


def _check_index(found: Verification, bundle: Bundle, directory: Path, result: CampaignResult) -> None:
    """The index, the predicate and the journal tell of the same campaign, and its batches are all there."""
    index, predicate = bundle.index, bundle.attestation.predicate
    with closing(Journal.open(directory)) as journal:
        batches = [row.batch_id for row in journal.batches()]
        cells = journal.count_cells()
        statuses = Counter(journal.statuses().values())
    told = descriptors.campaign_facts(result)
    faults = []
    if {name: index["campaign"].get(name) for name in told} != told:
        faults.append("bundle.json and the journal name different campaigns")
    if any(predicate.get(name) != index.get(name) for name in ("format", "campaign", "redaction")):
        faults.append("the statement and bundle.json name different campaigns")
    counts = {
        "cells": cells,
        "batches": len(batches),
        "visits": {str(status): count for status, count in statuses.items()},
        "discard_reasons": result.discard_reasons,
    }
    if index.get("counts") != counts:
        faults.append("bundle.json counts other cells, visits or discards than the journal")
    if batches != list(range(1, len(batches) + 1)):
        faults.append("a batch was taken out")
    found.add(
        "journal", faults, f"{plural(len(batches), 'batch', 'batches')} follow one another, and are counted right"
    )
    reasons = ", ".join(f"{reason} {count}" for reason, count in sorted(result.discard_reasons.items()))
    total = result.n_visits + result.n_discarded
    text = f"{result.n_discarded} of {plural(total, 'visit')} were discarded{f': {reasons}' if reasons else ''}"
    found.checks.append(Check("discards", "passed", text))


# -- values --------------------------------------------------------------------------------------------------


def _check_values(found: Verification, bundle: Bundle, result: CampaignResult, *, same_version: bool) -> None:
    opened = bundle.container
    kept = parse(opened.read(statement.RESULT), statement.RESULT)
    made = json.loads(pretty(document(result)))
    faults = [f"{statement.RESULT}: {fault}" for fault in unlike(kept, made, "")]
    names, rows, lacking = _columns(bundle, result)
    table = _unlike_rows(opened.read(statement.CELLS).decode(errors="replace"), csv_text(names, rows))
    faults += [f"{statement.CELLS}: {fault}" for fault in (*table, *lacking)]
    count = plural(len(result.estimates), "value")
    found.add("values", faults, f"{count} computed again from the visits, each the same", note=not same_version)


def _columns(bundle: Bundle, result: CampaignResult) -> tuple[list[str], list[Any], list[str]]:
    """Names of the columns that the table has, the rows as computed, and what other columns there would be. One that
    came later, and holds nothing here, is not asked for.
    """
    header = bundle.container.read(statement.CELLS).decode(errors="replace").partition("\n")[0].strip().split(",")
    names, rows = joint_table([result])
    told = [one for one in names if one not in header and any(row.get(one) not in EMPTY for row in rows)]
    return [one for one in names if one in header], list(rows), [f"{one} {NOT_RECORDED}" for one in told]


def _unlike_rows(kept: str, made: str) -> Iterator[str]:
    if kept == made:
        return
    one, other = (list(csv.reader(io.StringIO(text))) for text in (kept, made))
    if len(one) != len(other) or one[:1] != other[:1]:
        yield "it has other rows or columns than were computed"
        return
    told_by = [position for position, name in enumerate(other[0]) if name in ("kind", "method")]
    for number, (row, again) in enumerate(zip(one, other, strict=True), start=1):
        loose = any(again[position] in FITTED for position in told_by)
        tolerance = FITTED_TOLERANCE if loose else TOLERANCE
        if len(row) != len(again) or not all(_same_text(a, b, tolerance) for a, b in zip(row, again, strict=True)):
            yield f"line {number} is not what was computed"


def _same_text(one: str, other: str, tolerance: float) -> bool:
    if one == other:
        return True
    try:
        return same(float(one), float(other), tolerance)
    except ValueError:
        return False


# -- descriptors and times -----------------------------------------------------------------------------------


def _check_descriptors(found: Verification, bundle: Bundle, result: CampaignResult, *, same_version: bool) -> None:
    opened = bundle.container
    files = {
        name: opened.read(name)
        for name in sorted(bundle.attestation.subjects)
        if name not in (statement.CRATE, statement.PACKAGE)
    }
    names, rows, _ = _columns(bundle, result)
    again = {
        statement.CRATE: descriptors.ro_crate(result, files, bundle.index),
        statement.PACKAGE: descriptors.data_package(result, files, bundle.index, names, rows),
    }
    held = {name: parse(opened.read(name), name) for name in again}
    made = {name: json.loads(pretty(described)) for name, described in again.items()}
    if not same_version:  # another version says the same of a column in other words
        _take_words(held[statement.PACKAGE], made[statement.PACKAGE])
    faults = [f"{name} does not describe these files" for name in again if held[name] != made[name]]
    found.add("descriptors", faults, "RO-Crate and Data Package describe these files", note=not same_version)


def _take_words(*packages: Any) -> None:
    """Leave out what a Data Package says of its columns in sentences."""
    for package in packages:
        for resource in package["resources"]:
            for column in resource.get("schema", {}).get("fields", []):
                column.pop("description", None)


def _check_times(found: Verification, directory: Path) -> None:
    """Visits lie within their batches, batches follow one another, and what was written is in the ledger."""
    with closing(Journal.open(directory)) as journal:
        visits = journal.visits()
        spans = {batch_id: (began, seconds) for batch_id, began, seconds in journal.batch_spans()}
        starts = [one.started_at for one in journal.sessions()]
        ledger = Counter[tuple[str, str]]()
        for _, target, what, count in journal.ledger():
            ledger[target, what] += count
        cells = {cell.key: cell for cell, _ in journal.cells()}
    # When fixed work began is known by the time of a file, which is not shared.
    timed = [visit for visit in visits if not cells[visit.cell_key].work_bounded]
    faults = [fault for visit in timed if (fault := _out_of_time(visit, *spans[visit.batch_id]))]
    faults += _overlaps(spans, starts)
    written = Counter[tuple[str, str]]()
    for visit in visits:
        for target, direction, io_bytes in visit.moved(cells[visit.cell_key].target):
            if direction != "read":
                written[target, f"{direction} load"] += io_bytes
    faults += [
        f"visits wrote {count} bytes to {target}, the ledger has {ledger[target, what]}"
        for (target, what), count in written.items()
        if count > ledger[target, what]
    ]
    found.add("times", faults, "visits lie within their batches, and all they wrote is in the ledger")


def _out_of_time(visit: Visit, began: float, seconds: float | None) -> str:
    if seconds is None or not visit.started_at:
        return ""
    last = max((part.runtime_ms for part in visit.parts), default=0) / 1000
    begins, ends = visit.started_at - began, visit.started_at + last - began
    if begins >= -CLOCK_SECONDS and ends <= seconds + CLOCK_SECONDS:
        return ""
    return f"visit {visit.visit_id} ran from {begins:.1f} to {ends:.1f} s of a batch that took {seconds:.1f} s"


def _overlaps(spans: Mapping[int, tuple[float, float | None]], sessions: list[float]) -> list[str]:
    """Batches of one session that began before the one before them had ended: between sessions a clock may be set."""
    faults = []
    for batch_id, (began, _) in spans.items():
        before, took = spans.get(batch_id - 1, (0.0, None))
        if took is None or any(before < start <= began for start in sessions):
            continue
        if began < before + took - CLOCK_SECONDS:
            faults.append(f"batch {batch_id} began before batch {batch_id - 1} had ended")
    return faults
