# SPDX-License-Identifier: Apache-2.0
"""Bundles of every format there was: each was written by the version that brought its format, and stays."""

import json
import re
from pathlib import Path

import pytest

from ioatlas.bundle import opening, statement
from ioatlas.bundle.verify import verify
from ioatlas.measure.campaign import load_result
from ioatlas.report.export.to_json import document

FOLDER = Path(__file__).parent / "formats"
BUNDLES = sorted(FOLDER.iterdir())
NOTED = {"values", "descriptors", "rules", "what ran"}
"""What a version with other methods or descriptors says of an older bundle without refusing it."""


def test_there_is_one_of_every_format():
    assert {path.name.partition("-")[0] for path in BUNDLES} == {str(n + 1) for n in range(statement.FORMAT)}


@pytest.mark.parametrize("path", BUNDLES, ids=lambda path: path.name.partition(".ioatlas")[0])
def test_it_is_read_and_made_again_from_its_raw_output(path):
    found = verify(path)
    assert not found.refused, found.checks
    noted = {check.name for check in found.checks if check.state not in ("passed", "told")}
    assert noted <= NOTED
    assert found.verified == (not noted)
    assert f"-of-{found.packed_with}." in path.name
    for told in re.findall(r" is (.*), by its counters (.*)", "\n".join(check.text for check in found.checks)):
        assert told[0] != told[1]
    directory = opening.opened_directory(path)
    with opening.open_bundle(path).container as opened:
        kept = json.loads(opened.read(statement.RESULT))
    made = json.loads(json.dumps(document(load_result(directory))))
    # A law may tell a value from more than its own load.
    pairs = [(one["iops"], other["iops"]) for one, other in zip(made["rows"], kept["rows"], strict=True)]
    known = [(one, was) for one, was in pairs if was is not None]
    assert known
    assert [one for one, _ in known] == pytest.approx([was for _, was in known], rel=0.25)
