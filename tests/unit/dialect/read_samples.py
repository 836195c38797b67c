# SPDX-License-Identifier: Apache-2.0
"""Where result files by others lie, when they are there, and how tests read text."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from ioatlas.dialect.read.importer import read_source
from ioatlas.dialect.read.source import Source
from ioatlas.model.foreign import ForeignReading

SAMPLES = Path(os.environ.get("IOATLAS_SAMPLES", Path(__file__).resolve().parents[4] / "shared" / "samples"))


def sample(name: str) -> Path:
    path = SAMPLES / name
    if not path.exists():
        pytest.skip(f"no sample {name}")
    return path


def read_path(path: Path) -> tuple[list[ForeignReading], list[str]]:
    """Readings and problems of one file."""
    source = Source.of(path)
    readings = list(read_source(source))
    return readings, [str(problem) for problem in source.problems]


def read_bytes(raw: bytes, name: str = "result") -> tuple[list[ForeignReading], list[str]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(raw)
        return read_path(path)


def read_text(text: str, name: str = "result") -> tuple[list[ForeignReading], list[str]]:
    return read_bytes(text.encode(), name)


def one(text: str, name: str = "result") -> ForeignReading:
    readings, problems = read_text(text, name)
    assert len(readings) == 1, (readings, problems)
    return readings[0]
