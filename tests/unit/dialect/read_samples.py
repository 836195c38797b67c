# SPDX-License-Identifier: Apache-2.0
"""Where result files by others lie, when they are there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

SAMPLES = Path(os.environ.get("IOATLAS_SAMPLES", Path(__file__).resolve().parents[4] / "shared" / "samples"))


def sample(name: str) -> Path:
    path = SAMPLES / name
    if not path.exists():
        pytest.skip(f"no sample {name}")
    return path
