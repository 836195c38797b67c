# SPDX-License-Identifier: Apache-2.0
"""The descriptors that other programs read: RO-Crate 1.3 with its Process Run Crate profile, and Data Package 2.0."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from ioatlas.bundle import statement
from ioatlas.model.result import CampaignResult
from ioatlas.model.units import utc_text
from ioatlas.report.table import Meaning, Value, meaning

CRATE_VERSION = "https://w3id.org/ro/crate/1.3"
PACKAGE_PROFILE = "https://datapackage.org/profiles/2.0/datapackage.json"
RUN_PROFILE = "https://w3id.org/ro/wfrun/process/0.5"
MEDIA_TYPES = {
    ".json": "application/json",
    ".jsonl": "application/jsonl",
    ".csv": "text/csv",
    ".zip": "application/zip",
    ".toml": "application/toml",
}
ROLES = {
    "job.fio": "job file; fio runs it as it stands",
    "fio.json": "output of fio",
    "fio.err": "messages of fio",
    "logs.zip": "logs of fio, one or two for each visit",
    "telemetry.jsonl": "counters of the client, read while the load ran",
}


def media_type(name: str) -> str:
    return next((kind for ending, kind in MEDIA_TYPES.items() if name.endswith(ending)), "text/plain")


def campaign_facts(result: CampaignResult) -> dict[str, Any]:
    """What an index says of its campaign, as the journal has it."""
    told = {name: getattr(result, name) for name in ("name", "created_at", "complete", "tool_version")}
    return {"id": result.campaign_id, **told, "targets": [target.name for target in result.targets]}


def ro_crate(result: CampaignResult, files: Mapping[str, bytes], index: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata document. files: all but the descriptors and the statement."""
    fio = next((session["fio"] for session in result.sessions if session.get("fio")), "fio")
    outputs = [{"@id": name} for name in files if name.startswith(("campaign/batches/", "data/", "journal/"))]
    licence = index["licence"]
    root = {
        "@id": "./",
        "@type": "Dataset",
        "name": index["campaign"]["name"],
        "description": "A campaign of I/O Atlas: raw output of the load generator, journal, and what follows from it.",
        "datePublished": utc_text(result.created_at),
        "conformsTo": {"@id": RUN_PROFILE},
        "hasPart": [{"@id": name} for name in files],
        "mentions": {"@id": "#run"},
    }
    if licence:
        root["license"] = {"@id": f"https://spdx.org/licenses/{licence}"}
    graph: list[dict[str, Any]] = [
        {"@id": statement.CRATE, "@type": "CreativeWork", "conformsTo": {"@id": CRATE_VERSION}, "about": {"@id": "./"}},
        root,
        {"@id": RUN_PROFILE, "@type": "CreativeWork", "name": "Process Run Crate", "version": "0.5"},
        {
            "@id": "#run",
            "@type": "CreateAction",
            "name": f"{index['campaign']['procedure']} of {', '.join(target.name for target in result.targets)}",
            "startTime": utc_text(result.created_at),
            "instrument": [{"@id": "#ioatlas"}, {"@id": "#fio"}],
            "object": [{"@id": "campaign/campaign.toml"}] if "campaign/campaign.toml" in files else [],
            "result": outputs,
            "actionStatus": {"@id": f"http://schema.org/{'Completed' if result.complete else 'Active'}ActionStatus"},
        },
        {"@id": "#ioatlas", "@type": "SoftwareApplication", "name": "I/O Atlas", "version": result.tool_version},
        {"@id": "#fio", "@type": "SoftwareApplication", "name": fio, "version": fio.removeprefix("fio-")},
    ]
    if licence:
        graph.append({"@id": f"https://spdx.org/licenses/{licence}", "@type": "CreativeWork", "name": licence})
    graph += [_entity(name, data) for name, data in files.items()]
    return {"@context": f"{CRATE_VERSION}/context", "@graph": graph}


def _entity(name: str, data: bytes) -> dict[str, Any]:
    told = {
        "@id": name,
        "@type": "File",
        "encodingFormat": media_type(name),
        "contentSize": str(len(data)),
        "sha256": hashlib.sha256(data).hexdigest(),
    }
    role = ROLES.get(name.rpartition("/")[2])
    return {**told, "description": role} if role else told


def data_package(
    result: CampaignResult,
    files: Mapping[str, bytes],
    index: Mapping[str, Any],
    names: Sequence[str],
    rows: Sequence[Mapping[str, Value]],
) -> dict[str, Any]:
    """The descriptor. names, rows: of the table in data/cells.csv."""
    table = {
        "type": "table",
        "dialect": {"delimiter": ",", "lineTerminator": "\n"},
        "schema": {"fields": [_field(name, meaning(name, rows)) for name in names], "missingValues": [""]},
    }
    journal = {name: f"journal-{table.replace('_', '-')}" for name, table in statement.TABLES.items()}
    return {
        "$schema": PACKAGE_PROFILE,
        "name": "ioatlas-results",
        "title": index["campaign"]["name"],
        "created": utc_text(result.created_at),
        "resources": [
            {**_resource("cells", statement.CELLS, files[statement.CELLS]), **table},
            *(_resource(journal[name], name, data) for name, data in files.items() if name in journal),
        ],
        **({"licenses": [{"name": index["licence"]}]} if index["licence"] else {}),
    }


def _resource(name: str, place: str, data: bytes) -> dict[str, Any]:
    return {
        "name": name,
        "path": place,
        "format": place.rpartition(".")[2],
        "mediatype": media_type(place),
        "encoding": "utf-8",
        "bytes": len(data),
        "hash": f"sha256:{hashlib.sha256(data).hexdigest()}",
    }


def _field(name: str, told: Meaning) -> dict[str, Any]:
    field: dict[str, Any] = {"name": name, "type": told.kind, "description": told.text}
    return {**field, "unit": told.unit} if told.unit else field
