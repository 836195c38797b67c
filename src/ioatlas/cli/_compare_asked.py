# SPDX-License-Identifier: Apache-2.0
"""How the answer of a comparison is wanted."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Asked:
    """output, junit, markdown: files to write; None for none. gate: end with 3 when something got worse."""

    output: Path | None
    all_cells: bool
    verbose: bool
    gate: bool
    as_json: bool
    junit: Path | None
    markdown: Path | None
