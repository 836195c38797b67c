# SPDX-License-Identifier: Apache-2.0
"""Where result files by others lie, when they are there, and how tests read text."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from ioatlas.interop.read.importer import read_source
from ioatlas.interop.read.source import Source
from ioatlas.model.imported_reading import ImportedReading

SAMPLES = Path(os.environ.get("IOATLAS_SAMPLES", Path(__file__).resolve().parents[4] / "shared" / "samples"))


def sample(name: str) -> Path:
    path = SAMPLES / name
    if not path.exists():
        pytest.skip(f"needs {name} of other tools' results: IOATLAS_SAMPLES names their folder")
    return path


def read_path(path: Path) -> tuple[list[ImportedReading], list[str]]:
    """Readings and problems of one file."""
    source = Source.of(path)
    readings = list(read_source(source))
    return readings, [str(problem) for problem in source.problems]


def read_bytes(raw: bytes, name: str = "result") -> tuple[list[ImportedReading], list[str]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(raw)
        return read_path(path)


def read_text(text: str, name: str = "result") -> tuple[list[ImportedReading], list[str]]:
    return read_bytes(text.encode(), name)


def one(text: str, name: str = "result") -> ImportedReading:
    readings, problems = read_text(text, name)
    assert len(readings) == 1, (readings, problems)
    return readings[0]
