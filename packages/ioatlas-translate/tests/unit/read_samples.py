# SPDX-License-Identifier: Apache-2.0
"""How tests read text, and look at what a command was translated to."""

import tempfile
from pathlib import Path

from ioatlas.model.imported_reading import ImportedReading
from ioatlas_translate import translate
from ioatlas_translate.read.importer import read_source
from ioatlas_translate.read.source import Source
from ioatlas_translate.translation import Translation, job_to_dict


def read_path(path: Path, root: str = "") -> tuple[list[ImportedReading], list[str]]:
    """Readings and problems of one file, found in `root`."""
    source = Source.of(path, root=root)
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


def jobs(tool: str, command: str) -> list[dict]:
    return [job_to_dict(job) for job in translate(tool, command).jobs]


def levels(translation: Translation, attribute: str) -> set[str]:
    return {entry.level for entry in translation.fidelity if entry.attribute == attribute}
