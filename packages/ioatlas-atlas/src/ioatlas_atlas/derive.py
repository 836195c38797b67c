# SPDX-License-Identifier: Apache-2.0
"""Makes what pages show of one bundle, in a process of its own, under limits: `python -m ioatlas_atlas.derive BUNDLE
LIMITS` writes `export.json.gz` and `explorer.html.gz` into its working directory, where `doubts.json` says what speaks
against single loads.

Values are computed from the raw output again: nothing of an upload is passed on as it is.
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

from ioatlas_atlas.extract import DISK_FULL, confine

EXPORT, EXPLORER, DOUBTS = "export.json.gz", "explorer.html.gz", "doubts.json"
MOST_LETTERS = 64 << 20
"""Of a page: what is larger is left to the download of the bundle."""


def main(arguments: list[str]) -> int:
    """0 with both files written."""
    confine(json.loads(arguments[1]))
    from ioatlas.answer.analysis.best import mark_of
    from ioatlas.answer.analysis.wording import plural
    from ioatlas.bundle.opening import opened_directory
    from ioatlas.measure.campaign import load_result
    from ioatlas.report.export.to_json import document
    from ioatlas.report.page import report_html
    from ioatlas.report.table import entries

    doubts = {(key, direction): why for key, direction, why in json.loads(Path(DOUBTS).read_text(encoding="utf-8"))}
    result = load_result(opened_directory(Path(arguments[0]))).doubted(doubts)
    told = document(result)
    for row, entry in zip(told["rows"], entries(result), strict=True):
        row["mark"] = mark_of(entry.estimate) if entry.estimate else ""
        row["doubt"] = doubts.get((entry.cell.key, entry.direction), "")
    said = f"{plural(len(doubts), 'value')} of this map {'are' if len(doubts) > 1 else 'is'} doubted, and not ranked"
    page = report_html(result, before=f'<p class="site-nav flag">{said}.</p>\n' if doubts else "")
    pages = ((EXPORT, json.dumps(told, allow_nan=False)), (EXPLORER, page))
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
