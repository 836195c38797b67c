# SPDX-License-Identifier: Apache-2.0
"""What is asked of `nvme` and what is refused.

No NVMe drive is here: a program of that name stands in, answering as nvme-cli 2.3 does.
"""

import json
import os

import pytest

from ioatlas.model.errors import IoAtlasError, UsageError
from ioatlas.target import preparation

SIZE = 1 << 20


@pytest.fixture
def drive(tmp_path, monkeypatch):
    """(path of the namespace, what the stand-in answers by verb, calls it got)."""
    device = tmp_path / "nvme0n1"
    device.write_bytes(b"x" * SIZE)
    monkeypatch.setattr(preparation, "_NAMESPACE", preparation.re.compile(rf"^{tmp_path}/nvme\d+n\d+$"))
    answers = {
        "id-ctrl": {"oacs": 6, "fna": 0},
        "id-ns": {"flbas": 0x21, "dps": 0},
        "list-ns": {"nsid_list": [{"nsid": 1}]},
    }
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "nvme").write_text(
        f'#!/bin/sh\necho "$@" >> {tmp_path}/calls\n'
        f'[ -e {tmp_path}/fail-$1 ] && {{ echo "NVMe status: $1"; '
        'echo "Use the force [--force] option to ignore that."; } >&2 && exit 1\n'
        f"cat {tmp_path}/$1.json 2>/dev/null || true\n"
    )
    (programs / "nvme").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")

    def format_it():
        for verb, answer in answers.items():
            (tmp_path / f"{verb}.json").write_text(json.dumps(answer))
        return preparation.format_namespace(str(device), SIZE)

    return format_it, answers, tmp_path


def calls(folder):
    return [line.split()[0] for line in (folder / "calls").read_text().splitlines()]


def test_one_namespace_is_formatted_with_its_own_lba_format(drive):
    format_it, _, folder = drive
    assert "formatted" in format_it()
    # FLBAS 0x21: index 1, upper bits 1.
    assert (folder / "calls").read_text().splitlines()[-1] == f"format {folder}/nvme0n1 --ses=1 --lbaf=17"


@pytest.mark.parametrize("fna", [1, 2, 3])
def test_a_format_that_reaches_all_namespaces_needs_to_find_only_one(drive, fna):
    format_it, answers, folder = drive
    answers["id-ctrl"]["fna"] = fna
    for listed in ({"nsid_list": [{"nsid": 1}, {"nsid": 2}]}, {"nsid_list": []}, {}):
        answers["list-ns"] = listed
        with pytest.raises(UsageError, match="every namespace"):
            format_it()
    assert "format" not in calls(folder)
    answers["list-ns"] = {"nsid_list": [{"nsid": 1}]}
    format_it()
    assert calls(folder)[-1] == "format"


def test_what_cannot_be_told_is_refused_before_anything_starts(drive):
    format_it, answers, folder = drive
    answers["id-ctrl"] = {"oacs": 4, "fna": 0}
    with pytest.raises(UsageError, match="does not support format"):
        format_it()
    for namespace in ({"flbas": 0x10, "dps": 0}, {"flbas": 0, "dps": 1}):
        answers["id-ctrl"], answers["id-ns"] = {"oacs": 6, "fna": 0}, namespace
        with pytest.raises(UsageError, match="protection information"):
            format_it()
    answers["id-ctrl"] = {"oacs": 6}
    with pytest.raises(IoAtlasError, match="does not tell fna"):
        format_it()
    (folder / "fail-id-ctrl").touch()
    with pytest.raises(IoAtlasError, match="NVMe status: id-ctrl"):
        format_it()
    assert "format" not in calls(folder)


def test_a_failed_format_and_another_size_afterwards_are_errors(drive):
    format_it, _, folder = drive
    (folder / "fail-format").touch()
    with pytest.raises(IoAtlasError, match="`nvme format` failed: NVMe status: format") as refused:
        format_it()
    assert "force" not in str(refused.value)
    (folder / "fail-format").unlink()
    (folder / "nvme0n1").write_bytes(b"x" * (SIZE // 2))
    with pytest.raises(IoAtlasError, match="after its format"):
        format_it()
    (folder / "nvme0n1").unlink()
    with pytest.raises(IoAtlasError, match="cannot be opened after its format"):
        format_it()


@pytest.mark.parametrize("path", ["/dev/sda", "/dev/nvme0", "/dev/nvme0n1p1", "/dev/loop0"])
def test_only_whole_namespaces(path):
    with pytest.raises(UsageError, match="whole NVMe namespace"):
        preparation.format_namespace(path, SIZE)
