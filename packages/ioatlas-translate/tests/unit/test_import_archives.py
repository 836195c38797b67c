# SPDX-License-Identifier: Apache-2.0
"""Archives are walked as folders are: each member is a file of its own, wherever its name points."""

import io
import json
import tarfile
import zipfile

import pytest
from tests.command_line import call


def fio(version, name, bw):
    side = {
        "io_bytes": bw,
        "bw_bytes": bw,
        "bw": bw // 1024,
        "iops": bw / 4096,
        "runtime": 1000,
        "total_ios": bw // 4096,
    }
    job = {"jobname": name, "groupid": 0, "error": 0, "job options": {"rw": "read", "bs": "4k"}, "read": side}
    return json.dumps({"fio version": version, "timestamp": 100, "jobs": [job]}, indent=1)


FILES = {"hdd/run.json": fio("fio-3.33", "a", 4096 * 100), "ssd/run.json": fio("fio-3.33", "a", 4096 * 900)}


def packed(path, files):
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as pack:
            for name, text in files.items():
                pack.writestr(name, text)
        return path
    with tarfile.open(path, {".gz": "w:gz", ".xz": "w:xz", ".bz2": "w:bz2"}.get(path.suffix, "w")) as tar:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text.encode())
            tar.addfile(member, io.BytesIO(text.encode()))
    return path


@pytest.mark.parametrize("name", ["all.zip", "all.tar", "all.tar.gz", "all.tar.xz", "all.tar.bz2", "all.tgz.gz"])
def test_each_member_is_a_file(tmp_path, name):
    archive = packed(tmp_path / name, FILES)
    result = call("import", archive, "--json")
    assert result.returncode == 0, result.stderr
    readings = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(reading["source"], reading["iops"]) for reading in readings] == [
        (f"{archive}/hdd/run.json:5", 100.0),
        (f"{archive}/ssd/run.json:5", 900.0),
    ]
    assert "from 2 of 2 files" in result.stderr


@pytest.mark.parametrize("name", ["all.zip", "all.tar"])
def test_a_member_lies_nowhere_else(tmp_path, name):
    outside = {"../../outside.json": FILES["hdd/run.json"], str(tmp_path / "there.json"): FILES["ssd/run.json"]}
    (tmp_path / "in" / "deep").mkdir(parents=True)
    result = call("import", packed(tmp_path / "in" / "deep" / name, outside))
    assert result.returncode == 0, result.stderr
    assert "2 readings" in result.stderr
    assert [path.name for path in tmp_path.rglob("*.json")] == []


def test_a_cut_archive_is_told_and_keeps_what_it_gave(tmp_path):
    archive = packed(tmp_path / "all.tar", {**FILES, "last.txt": "x" * 100_000})
    archive.write_bytes(archive.read_bytes()[:50_000])
    result = call("import", archive)
    assert result.returncode == 4, result.stderr
    assert "2 readings" in result.stderr
    assert "cannot be unpacked whole" in result.stderr


def test_what_is_packed_otherwise_says_so(tmp_path):
    (tmp_path / "run.json.zst").write_bytes(b"\x28\xb5\x2f\xfd" + bytes(range(100)))
    result = call("import", tmp_path / "run.json.zst")
    assert result.returncode == 1
    assert "packed by zstd" in result.stderr
    assert "unpack it first" in result.stderr
