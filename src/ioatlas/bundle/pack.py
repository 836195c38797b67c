# SPDX-License-Identifier: Apache-2.0
"""A campaign's directory packed into a bundle: gathered, redacted, computed anew, described, signed."""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from math import isclose
from pathlib import Path
from typing import Any

from ioatlas import __version__
from ioatlas.bundle import descriptors, statement
from ioatlas.bundle.keys import SigningKey
from ioatlas.bundle.material import Material, gather
from ioatlas.bundle.opening import lay_out
from ioatlas.bundle.redaction import Redactor, RedactPlan, redact, redactor_of
from ioatlas.bundle.statement import pretty
from ioatlas.measure.campaign import load_result
from ioatlas.measure.procedures.registry import procedure_of_journal
from ioatlas.model.errors import IoAtlasError, UsageError
from ioatlas.model.result import CampaignResult
from ioatlas.report.export.to_json import document
from ioatlas.report.table import PRICES, csv_text, joint_table
from ioatlas.stats.gates import METHOD
from ioatlas.store import archive
from ioatlas.store.journal import Journal, line_of

_LICENCE = re.compile(r"[A-Za-z0-9.+-]{0,64}")


@dataclass(frozen=True)
class Packed:
    """members: every file of the bundle, the statement among them. redactor: what was replaced by what. result: what
    the bundle gives to whoever opens it.
    """

    members: Mapping[str, bytes]
    index: Mapping[str, Any]
    redactor: Redactor
    result: CampaignResult

    def data(self) -> bytes:
        """The bundle."""
        return archive.as_bytes(self.members)


def pack(directory: Path, *, plan: RedactPlan, key: SigningKey | None = None, licence: str = "") -> Packed:
    """The bundle of the campaign in `directory`. The same campaign, plan and key give the same bytes.

    Raises IoAtlasError for a campaign that cannot be read, or whose values would change by what is left out.
    """
    if not _LICENCE.fullmatch(licence):
        raise UsageError(
            "this is no licence's short name", where="--license", remedy="write it as CC-BY-4.0 or CC0-1.0"
        )
    material = gather(directory)
    redactor = redactor_of(material, plan)
    clean = redact(material, redactor, key)
    files = _files(clean)
    with tempfile.TemporaryDirectory(prefix="ioatlas-bundle-") as place:
        made = Path(place) / "campaign"
        made.mkdir()
        lay_out(made, files, files.__getitem__, clean.journal_format, str(directory))
        result = load_result(made)
        procedure = _procedure(made)
    _check_same(document(load_result(directory)), document(result), directory)
    index = _index(clean, result, redactor, procedure, licence)
    names, rows = joint_table([result])
    files[statement.INDEX] = pretty(index)
    files[statement.CELLS] = csv_text(names, rows).encode()
    files[statement.RESULT] = pretty(document(result))
    described = dict(sorted(files.items()))
    files[statement.CRATE] = pretty(descriptors.ro_crate(result, described, index))
    files[statement.PACKAGE] = pretty(descriptors.data_package(result, described, index, names, rows))
    _check_gone(redactor, files, clean)
    predicate = {
        "format": statement.FORMAT,
        "campaign": index["campaign"],
        "redaction": index["redaction"],
        "signer": key.public.line if key else None,
        "container_sha256": _digest(files, directory),
    }
    payload = statement.statement(files, predicate, statement.FORMAT)
    return Packed({**files, statement.FILE_NAME: statement.envelope(payload, key)}, index, redactor, result)


def _digest(files: Mapping[str, bytes], directory: Path) -> str:
    """Of the members as they lie in the container, whose statement is not there yet."""
    with_statement = {**files, statement.FILE_NAME: b""}
    return archive.of_bytes(archive.as_bytes(with_statement), str(directory)).digest(without=statement.FILE_NAME)


def _files(material: Material) -> dict[str, bytes]:
    """Members by their names: the campaign's own files, its logs, and the journal as text."""
    files = {f"{statement.CAMPAIGN}{name}": data for name, data in material.files.items()}
    for name, logs in material.logs.items():
        files[f"{statement.CAMPAIGN}{name}"] = archive.as_bytes(logs)
    for name, table_name in ((name, one) for name, one in statement.TABLES.items() if one in material.tables):
        rows = material.tables[table_name]
        files[name] = "".join(f"{line_of(row)}\n" for row in rows).encode()
    for name in files:
        if not statement.belongs(name):
            raise IoAtlasError(
                "no campaign has such a file, so it is not shared",
                where=str(material.directory / name.removeprefix(statement.CAMPAIGN)),
                remedy="move it away",
            )
    return files


def _procedure(directory: Path) -> str:
    with closing(Journal.open(directory)) as journal:
        return procedure_of_journal(journal).name


def _index(
    material: Material, result: CampaignResult, redactor: Redactor, procedure: str, licence: str
) -> dict[str, Any]:
    statuses = Counter(visit["status"] for visit in material.tables["visit"])
    return {
        "format": statement.FORMAT,
        "journal_format": material.journal_format,
        "packed_with": f"ioatlas {__version__}",
        "campaign": {**descriptors.campaign_facts(result), "procedure": procedure},
        "counts": {
            "cells": len(material.tables["cell"]),
            "batches": len(material.tables["batch"]),
            "visits": dict(sorted(statuses.items())),
            "discard_reasons": result.discard_reasons,
        },
        "methods": {"gates": METHOD},
        "licence": licence,
        "redaction": {
            "kept": sorted(redactor.plan.keep),
            "names": dict(sorted(Counter(kind for kind, _, _ in redactor.table()).items())),
            "places": dict(sorted(redactor.counts.items())),
            "words_of_plan": len(redactor.plan.words),
        },
    }


def _numbers(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [each for one in value.values() for each in _numbers(one)]
    if isinstance(value, list):
        return [each for one in value for each in _numbers(one)]
    return [value] if isinstance(value, (int, float)) else []


def _unpriced(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows without prices: these come from product sheets, which go by names that may be left out."""
    return [{key: value for key, value in row.items() if key not in PRICES} for row in rows]


SAME = 1e-3
"""Relative: the law of a journal that was measured on another processor ends elsewhere here."""


def _check_same(before: dict[str, Any], after: dict[str, Any], directory: Path) -> None:
    """Raises IoAtlasError where a value is another one after redaction; laws are fitted anew there."""
    measured = [row for row in before["rows"] if row.get("kind") != "imported"]
    one, other = _numbers(_unpriced(measured)), _numbers(_unpriced(after["rows"]))
    if len(one) != len(other) or not all(map(partial(isclose, rel_tol=SAME), one, other)):
        raise IoAtlasError(
            "a name that is left out is a word that the results rest on",
            where=str(directory),
            remedy="keep that kind of name, in a plan for --redact",
        )


_OUTCOMES = frozenset(name for name, table_name in statement.TABLES.items() if table_name == "outcome")
_RECORD_OF_PART = re.compile(rb'("name": ?"\w+)@')
"""A record of one configuration has its name behind an @, which is no user at a host."""


def _check_gone(redactor: Redactor, files: Mapping[str, bytes], clean: Material) -> None:
    """Raises IoAtlasError where a name of the site is left: nothing is shared by mistake."""
    logs = {f"{name}/{log}": data for name, each in clean.logs.items() for log, data in each.items()}
    of_parts = {name: _RECORD_OF_PART.sub(rb"\1 ", data) for name, data in files.items() if name in _OUTCOMES}
    for name, data in {**files, **of_parts, **logs}.items():
        left = redactor.left(name, name.encode() + b"\n" + (data if not name.endswith(".zip") else b""))
        if left:
            raise IoAtlasError(f"a name of your site would be left: {left}", remedy="add it to `words` of a plan")


def check_free(path: Path) -> None:
    """Raises UsageError for a file that is there."""
    if path.exists() or path.is_symlink():
        raise UsageError("there is a file already", where=str(path), remedy="name another with -o, or remove it")
