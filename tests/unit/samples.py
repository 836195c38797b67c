# SPDX-License-Identifier: Apache-2.0
"""Where result files by others lie, when they are there."""

import os
from pathlib import Path

import pytest

SAMPLES = Path(os.environ.get("IOATLAS_SAMPLES", Path(__file__).resolve().parents[3] / "shared" / "samples"))


def sample(name: str) -> Path:
    path = SAMPLES / name
    if not path.exists():
        pytest.skip(f"needs {name} of other tools' results: IOATLAS_SAMPLES names their folder")
    return path
