# SPDX-License-Identifier: Apache-2.0
"""Two processes of their own, under limits, in a working directory that holds what they write.

`python -m ioatlas_atlas.derive BUNDLE LIMITS` makes what pages show of a bundle: `export.json.gz` and
`explorer.html.gz`, where `doubts.json` says what speaks against single loads. Values are computed from the raw output
again: nothing of an upload is passed on as it is. With OTHER, a second bundle, behind them, it writes into
`outcome.json` whether that came to the same.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import sys
from pathlib import Path

from ioatlas_atlas.extract import DISK_FULL, confine

EXPORT, EXPLORER, DOUBTS, OUTCOME = "export.json.gz", "explorer.html.gz", "doubts.json", "outcome.json"
QUANTITY, TOLERANCE = "bw", 0.1
MOST_REASONS, MOST_REASON = 4, 400
MOST_LETTERS = 64 << 20
"""Of a page: what is larger is left to the download of the bundle."""


def main(arguments: list[str]) -> int:
    """0 with all files written."""
    bundle, limits, other = arguments  # which is empty where there is none
    confine(json.loads(limits))
    return _compared(Path(bundle), Path(other)) if other else _shown(Path(bundle))


def _shown(bundle: Path) -> int:
    from ioatlas.answer.analysis.best import mark_of
    from ioatlas.answer.analysis.wording import plural
    from ioatlas.bundle.opening import opened_directory
    from ioatlas.measure.campaign import load_result
    from ioatlas.report.export.to_json import document
    from ioatlas.report.page import report_html
    from ioatlas.report.table import entries

    doubts = {(key, direction): why for key, direction, why in json.loads(Path(DOUBTS).read_text(encoding="utf-8"))}
    result = load_result(opened_directory(bundle)).doubted(doubts)
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


def _compared(bundle: Path, other: Path) -> int:
    from ioatlas.bundle.opening import opened_directory
    from ioatlas.bundle.reproduce import Outcome, judge

    first, second = opened_directory(bundle), opened_directory(other)
    if _outputs(first) & _outputs(second):
        outcome, text = Outcome.NOT_COMPARABLE, "both hold the same raw output: nothing was measured again"
    else:
        said = judge(first, second, QUANTITY, TOLERANCE)
        outcome, text = said.outcome, "; ".join(said.reasons[:MOST_REASONS])
    plain = "".join(letter if letter.isprintable() else " " for letter in text)[:MOST_REASON]
    Path(OUTCOME).write_text(json.dumps({"outcome": str(outcome), "text": plain}), encoding="utf-8")
    return 0


def _outputs(directory: Path) -> set[str]:
    """Digest of each batch's output. It holds times: no other run gives the same bytes."""
    return {hashlib.sha256(path.read_bytes()).hexdigest() for path in directory.glob("batches/*/fio.json")}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
