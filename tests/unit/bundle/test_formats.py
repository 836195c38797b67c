# SPDX-License-Identifier: Apache-2.0
"""Bundles of every format there was: each was written by the version that brought its format, and stays."""

import json
from pathlib import Path

import pytest

from ioatlas.bundle import opening, statement
from ioatlas.bundle.verify import verify
from ioatlas.campaign import load_result
from ioatlas.report.export.to_json import document

FOLDER = Path(__file__).parent / "formats"
NOTED = {"values", "descriptors", "rules"}
"""What a version with other methods or descriptors says of an older bundle without refusing it."""


def test_there_is_one_of_every_format():
    assert sorted(path.name for path in FOLDER.iterdir()) == [
        f"{number}.ioatlas.zip" for number in range(1, statement.FORMAT + 1)
    ]


@pytest.mark.parametrize("number", range(1, statement.FORMAT + 1))
def test_it_is_read_and_verified(number):
    path = FOLDER / f"{number}.ioatlas.zip"
    found = verify(path)
    assert not found.refused, found.checks
    noted = {check.name for check in found.checks if check.state not in ("passed", "told")}
    assert noted <= NOTED
    assert found.verified == (not noted)
    directory = opening.opened_directory(path)
    with opening.open_bundle(path).container as opened:
        kept = json.loads(opened.read(statement.RESULT))
    made = json.loads(json.dumps(document(load_result(directory))))
    assert [row["iops"] for row in made["rows"]] == pytest.approx([row["iops"] for row in kept["rows"]], rel=0.05)
