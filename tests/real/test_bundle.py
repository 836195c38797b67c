# SPDX-License-Identifier: Apache-2.0
"""A campaign that fio made: packed twice, verified by its raw output, changed and refused, read as a bundle."""

import json
import zipfile

import pytest

from tests.real.conftest import ioatlas

CAMPAIGN = """
budget = "15s"
[target]
path = "{target}"
[sweep]
rw = ["read", "write", "randread", "randwrite"]
bs = "4k"
size = "8m"
numjobs = [1, 4]
"""


@pytest.mark.long("bundle", "results")
@pytest.mark.unmeasured
def test_the_bundle_of_a_real_campaign_follows_from_its_raw_output(disk_dir, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (disk_dir / "target").mkdir()
    file, directory = tmp_path / "campaign.toml", tmp_path / "campaign"
    file.write_text(CAMPAIGN.format(target=disk_dir / "target"))
    assert ioatlas("map", "--campaign", file, "-o", directory, "--yes").returncode == 0
    assert ioatlas("atlas", "key", "new").returncode == 0
    paths = [tmp_path / f"{number}.ioatlas.zip" for number in (1, 2)]
    for path in paths:
        assert ioatlas("bundle", directory, "-o", path).returncode == 0
    data = paths[0].read_bytes()
    assert data == paths[1].read_bytes()
    told = json.loads(ioatlas("verify", paths[0], "--json").stdout)
    assert told["verified"], [one for one in told["checks"] if one["state"] != "passed"]
    assert [check["state"] for check in told["checks"]] == ["passed"] * 9 + ["told"]
    assert told["signature"] == "trusted"
    with zipfile.ZipFile(paths[0]) as archive:
        assert not [name for name in archive.namelist() if str(disk_dir).encode() in archive.read(name)]
    mine, shown = (json.loads(ioatlas("show", one, "--json").stdout) for one in (directory, paths[0]))
    assert shown["rows"] == mine["rows"]
    assert ioatlas("site", tmp_path / "site", directory).returncode == 0
    pages = [path for path in (tmp_path / "site").rglob("*") if path.is_file()]
    assert [path.read_bytes() for path in pages if path.name.endswith(".ioatlas.zip")] != []
    named = (str(disk_dir).encode(), str(tmp_path).encode())
    assert not [path for path in pages if any(name in path.read_bytes() for name in named)]
    changed = bytearray(data)
    changed[len(data) // 3] ^= 1
    paths[1].write_bytes(bytes(changed))
    assert ioatlas("verify", paths[1]).returncode == 3
