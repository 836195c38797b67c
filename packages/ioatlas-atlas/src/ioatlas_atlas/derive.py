# SPDX-License-Identifier: Apache-2.0
"""Makes what pages show of one bundle, in a process of its own, under limits: `python -m ioatlas_atlas.derive BUNDLE
LIMITS` writes `export.json.gz` and `explorer.html.gz` into its working directory.

Values are computed from the raw output again: nothing of an upload is passed on as it is.
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

from ioatlas_atlas.extract import DISK_FULL, confine

EXPORT, EXPLORER = "export.json.gz", "explorer.html.gz"
MOST_LETTERS = 64 << 20
"""Of a page: what is larger is left to the download of the bundle."""


def main(arguments: list[str]) -> int:
    """0 with both files written."""
    confine(json.loads(arguments[1]))
    from ioatlas.analysis.best import mark_of
    from ioatlas.bundle.opening import opened_directory
    from ioatlas.campaign import load_result
    from ioatlas.report.export.to_json import document
    from ioatlas.report.page import report_html
    from ioatlas.report.table import entries

    result = load_result(opened_directory(Path(arguments[0])))
    told = document(result)
    for row, entry in zip(told["rows"], entries(result), strict=True):
        row["mark"] = mark_of(entry.estimate) if entry.estimate else ""
    pages = ((EXPORT, json.dumps(told, allow_nan=False)), (EXPLORER, report_html(result)))
    if any(len(content) > MOST_LETTERS for _, content in pages):
        return 1
    for name, content in pages:
        try:
            Path(name).write_bytes(gzip.compress(content.encode(), 6, mtime=0))
        except OSError:
            return DISK_FULL
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
