# SPDX-License-Identifier: Apache-2.0
"""Campaigns and bundles that tests share: each is made once a process, and never changed."""

import json
import os
import tempfile
from collections import Counter
from functools import cache
from pathlib import Path

from ioatlas.bundle import descriptors, keys, statement
from ioatlas.bundle.opening import lay_out
from ioatlas.bundle.pack import pack
from ioatlas.bundle.redaction import RedactPlan
from ioatlas.bundle.statement import pretty
from ioatlas.measure.campaign import load_result
from ioatlas.report.export.to_json import document
from ioatlas.report.table import csv_text, joint_table
from ioatlas.store import archive
from ioatlas.store.journal import export
from tests.unit.procedures.cases import make_world

_PLACE = tempfile.TemporaryDirectory(prefix="ioatlas-bundles-")


@cache
def campaign(name):
    """The directory of a simulated campaign of a procedure, run to its end."""
    place = Path(_PLACE.name) / name.replace(" ", "-")
    place.mkdir()
    world = make_world(place, name)
    world.session()
    return world.directory


@cache
def key():
    path = Path(_PLACE.name) / "key"
    keys.make_key(path)
    return keys.load_key(path)


@cache
def packed(name):
    return pack(campaign(name), plan=RedactPlan(), key=key())


def bundle_file(place, data):
    path = place / f"{os.urandom(4).hex()}.ioatlas.zip"
    path.write_bytes(data)
    return path


def changed(members, name, change):
    """Members of which one was changed as a JSON value; its statement is as it was."""
    value = json.loads(members[name])
    change(value)
    return {**members, name: (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode()}


def resigned(members, signer=None):
    """The statement made anew over members as they are now: what somebody can do who has a key of their own."""
    files = {name: data for name, data in members.items() if name != statement.FILE_NAME}
    index = json.loads(files["bundle.json"])
    with_statement = {**files, statement.FILE_NAME: b""}
    opened = archive.of_bytes(archive.as_bytes(with_statement), "")
    predicate = {
        "format": index["format"],
        "campaign": index["campaign"],
        "redaction": index["redaction"],
        "signer": signer.public.line if signer else None,
        "container_sha256": opened.digest(without=statement.FILE_NAME),
    }
    payload = statement.statement(files, predicate, index["format"])
    return {**files, statement.FILE_NAME: statement.envelope(payload, signer)}


def rederived(members, signer, keep=()):
    """Everything that pack derives from the journal and raw output made anew over members as they are now, but for
    `keep`, and signed: what a forger does who has our program and a key of their own.
    """
    made = (*statement.DERIVED, statement.FILE_NAME)
    files = {name: data for name, data in members.items() if name not in made}
    index = json.loads(members[statement.INDEX])
    with tempfile.TemporaryDirectory(prefix="ioatlas-forged-") as place:
        directory = Path(place) / "campaign"
        directory.mkdir()
        lay_out(directory, files, files.__getitem__, index["journal_format"], "forged")
        result = load_result(directory)
        _, tables = export(directory)
    statuses = Counter(visit["status"] for visit in tables["visit"])
    index["campaign"] |= {
        "id": result.campaign_id,
        "name": result.name,
        "created_at": result.created_at,
        "complete": result.complete,
        "tool_version": result.tool_version,
    }
    index["counts"] = {
        "cells": len(tables["cell"]),
        "batches": len(tables["batch"]),
        "visits": dict(sorted(statuses.items())),
        "discard_reasons": result.discard_reasons,
    }
    names, rows = joint_table([result])
    files[statement.INDEX] = pretty(index)
    files[statement.CELLS] = csv_text(names, rows).encode()
    files[statement.RESULT] = pretty(document(result))
    files |= {name: members[name] for name in keep if name in files}
    index = json.loads(files[statement.INDEX])
    described = {name: data for name, data in sorted(files.items()) if name not in (statement.CRATE, statement.PACKAGE)}
    files[statement.CRATE] = pretty(descriptors.ro_crate(result, described, index))
    files[statement.PACKAGE] = pretty(descriptors.data_package(result, described, index, names, rows))
    return resigned({**files, **{name: members[name] for name in keep}}, signer)
