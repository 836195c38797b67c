# SPDX-License-Identifier: Apache-2.0
"""Results for tests, put into a database as the process that reads uploads would hand them over."""

import hashlib
import tempfile
from functools import cache
from pathlib import Path

import sqlalchemy as sa
from tests.unit.bundle.made import packed

from ioatlas_atlas import audit, best, tables
from ioatlas_atlas.extracted import Found
from ioatlas_atlas.fairness import Declaration
from ioatlas_atlas.uploads import Wish

OLD_BUNDLE = Path(__file__).parents[4] / "tests" / "unit" / "bundle" / "formats" / "1-of-0.2.0.ioatlas.zip"
"""A campaign that fio made, small, packed by an earlier version."""
_PLACE = tempfile.TemporaryDirectory(prefix="ioatlas-atlas-")


@cache
def bundle_of_today():
    """One that this version packed, of a simulated campaign: one of an earlier version is never recomputed in full."""
    path = Path(_PLACE.name) / "today.ioatlas.zip"
    path.write_bytes(packed("dense").data())
    return path


_VALUES = ("iops", "bw_bytes_per_s", "lat_mean_ns", "lat_p99_ns")
_BOUNDS = {
    "iops": ("iops_low", "iops_high"),
    "bw_bytes_per_s": ("bw_low", "bw_high"),
    "lat_mean_ns": ("lat_mean_low_ns", "lat_mean_high_ns"),
    "lat_p99_ns": ("lat_p99_low_ns", "lat_p99_high_ns"),
}


def cell(rw="randread", bs_bytes=4096, iops=10_000.0, p99_ns=4e6, **other):
    """Values with an interval of 10 per cent to each side."""
    values = {"iops": iops, "bw_bytes_per_s": iops * bs_bytes, "lat_mean_ns": p99_ns / 2, "lat_p99_ns": p99_ns}
    for name, (low, high) in _BOUNDS.items():
        values |= {low: values[name] * 0.9, high: values[name] * 1.1}
    fixed = {
        "target": "target", "cell_key": "0" * 16, "direction": "read" if "read" in rw else "write", "rw": rw,
        "bs_bytes": bs_bytes, "iodepth": 1, "numjobs": 1, "footprint_bytes": 1 << 30, "streams": "", "loop": "closed",
        "options": {}, "n_visits": 3, "verdict": "steady", "cached": False, "usable": True,
    }  # fmt: skip
    return {**fixed, **values, **other}


def found(title="nas", cells=None, **other):
    """What was read of an upload."""
    fixed = {
        "verified": True, "signature": "unknown", "signer": "SHA256:x", "checks": [], "campaign_id": "",
        "title": title,
        "procedure": "dense_map", "measured_at": 1.7e9, "method_version": "gates/1", "tool_version": "0.2.0",
        "licence": "CC-BY-4.0", "has_sheet": True, "vendor": "Contoso", "model": "N100", "licence_says": "yes",
        "licence_permission": "", "protocol": "NFS", "link": "1000 Mb/s", "drive": "8 x 8 TB (WD80)",
        "price_per_tib": 100.0, "currency": "USD", "grade": "B", "conditions": [], "summary": {},
        "cells": [cell()] if cells is None else cells,
    }  # fmt: skip
    return Found(**{**fixed, **other})


def reproduce_all(database):
    """Every result as if another had measured it again."""
    with database.writing() as link:
        link.execute(sa.update(tables.result).values(reproduced=1))
        best.refresh(link)
        audit.note(link, "", "reproduced", "all")


def put(desk, of, what, *, declared=None, private=False):
    """A result in the database, its bundle a few bytes of its own; its campaign too, unless one is named."""
    if not what.campaign_id:
        what = what.model_copy(update={"campaign_id": f"{of.name} {what.title}"})
    with desk.blobs.incoming(1 << 20) as incoming:
        incoming.write(hashlib.sha256(repr((of.name, what)).encode()).digest())
        desk.blobs.keep(incoming)
        return desk._note(incoming, of, Wish(declared or Declaration(), private=private), what).result_id
