# SPDX-License-Identifier: Apache-2.0
"""The functions for Python on a campaign that was measured."""

import json

import pytest

from ioatlas import api
from ioatlas.model.errors import IoAtlasError
from tests.unit.simulated import World

MAP = """
budget = "10s"
[target]
path = "TARGET"
[sweep]
rw = ["read", "write"]
size = "32m"
bs = ["4k", "1m"]
"""


def test_a_result_is_exported_as_its_suffix_says(tmp_path):
    world = World(tmp_path)
    world.run(MAP)
    result = api.load(world.directory)
    for kind in ("csv", "json", "md", "svg", "pdf", "html"):
        assert [*api.export(result, tmp_path / f"nas.{kind}", "iops")] == [tmp_path / f"nas.{kind}"]
    assert len(api.export(api.load(world.directory, ["bs=4k"]), tmp_path / "lines.svg", style="lines", x="bs")) == 1
    (best, *_) = api.headlines(result)
    told = json.loads((tmp_path / "nas.json").read_text())
    assert told["summary"]["headlines"][0]["value"] == best.value
    assert (tmp_path / "nas.csv").read_text().count("\n") == len(told["rows"]) + 1
    assert (tmp_path / "nas.pdf").read_bytes().startswith(b"%PDF")
    for wrong in (tmp_path / "nas.docx", tmp_path / "absent" / "nas.csv"):
        with pytest.raises(IoAtlasError, match=wrong.parent.name):
            api.export(result, wrong)
