# SPDX-License-Identifier: Apache-2.0
"""CSV (RFC 4180): one header line, base units, full precision, empty where nothing is known."""

from __future__ import annotations

import csv
from typing import TextIO

from ioatlas.model.result import CampaignResult
from ioatlas.report.table import columns, rows


def write_csv(result: CampaignResult, out: TextIO) -> None:
    """Lists (seeds, notes, evidence) are joined by blanks and semicolons."""
    names = columns(result)
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(names)
    for row in rows(result):
        row["seeds"] = " ".join(str(seed) for seed in _items(row["seeds"]))
        for name in ("notes", "limit_evidence", "client_bw_bytes_per_s", "target_bw_bytes_per_s"):
            row[name] = "; ".join(str(sentence) for sentence in _items(row[name]))
        writer.writerow([row[name] for name in names])


def _items(value: object) -> tuple[object, ...]:
    return value if isinstance(value, tuple) else ()
