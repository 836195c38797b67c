# SPDX-License-Identifier: Apache-2.0
"""Whether one bundle came to the same as another, in a process of its own, under limits: `python -m ioatlas_atlas.again
BUNDLE LIMITS OTHER` writes `outcome.json` into its working directory.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

from ioatlas_atlas.extract import confine

OUTCOME = "outcome.json"
QUANTITY, TOLERANCE = "bw", 0.1
MOST_REASONS, MOST_LETTERS = 4, 400


def main(arguments: list[str]) -> int:
    """0 with the outcome written."""
    confine(json.loads(arguments[1]))
    from ioatlas.bundle.opening import opened_directory
    from ioatlas.bundle.reproduce import Outcome, judge

    first, second = opened_directory(Path(arguments[0])), opened_directory(Path(arguments[2]))
    if _outputs(first) & _outputs(second):
        outcome, text = Outcome.NOT_COMPARABLE, "both hold the same raw output: nothing was measured again"
    else:
        said = judge(first, second, QUANTITY, TOLERANCE)
        outcome, text = said.outcome, "; ".join(said.reasons[:MOST_REASONS])
    plain = "".join(letter if letter.isprintable() else " " for letter in text)[:MOST_LETTERS]
    Path(OUTCOME).write_text(json.dumps({"outcome": str(outcome), "text": plain}), encoding="utf-8")
    return 0


def _outputs(directory: Path) -> set[str]:
    """Digest of each batch's output. It holds times: no other run gives the same bytes."""
    return {hashlib.sha256(path.read_bytes()).hexdigest() for path in directory.glob("batches/*/fio.json")}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
