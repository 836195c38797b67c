# SPDX-License-Identifier: Apache-2.0
"""A campaign's facts file: what is typed in, and what is to be measured alone."""

import tomllib

import pytest

from ioatlas.load.machine.typed_in import facts_text, read_measure
from ioatlas.model.errors import UsageError


def test_what_is_measured_alone_is_written_below_the_facts(tmp_path):
    source, drive = tmp_path / "bed.toml", tmp_path / 'a "drive"'
    source.write_text('[facts]\n"nic.speed" = "1 Gb/s"')
    drive.write_bytes(b"x")
    kept = tmp_path / "testbed.toml"
    kept.write_text(facts_text(source, {"iperf": "nas", "drive": str(drive)}))
    assert tomllib.loads(kept.read_text())["facts"] == {"nic.speed": "1 Gb/s"}
    assert read_measure(kept) == {"iperf": "nas", "drive": str(drive)}


@pytest.mark.parametrize("table", ['[measure]\niperf = "nas"\n', "[measure]\n"])
def test_it_is_named_in_one_place(tmp_path, table):
    source = tmp_path / "bed.toml"
    source.write_text(table)
    assert facts_text(source, {"iperf": None}) == source.read_text()
    with pytest.raises(UsageError, match=r"bed\.toml has a table \[measure\] already"):
        facts_text(source, {"iperf": "other"})


@pytest.mark.parametrize(
    ("measure", "words"),
    [({"drive": "/"}, "neither a block device nor a file"), ({"iperf": "no host"}, "is not a host")],
)
def test_what_cannot_be_measured_is_refused(measure, words):
    with pytest.raises(UsageError, match=words):
        facts_text(None, measure)


def test_an_unknown_key_is_refused(tmp_path):
    source = tmp_path / "bed.toml"
    source.write_text('[measure]\ndisk = "/dev/sdx"\n')
    with pytest.raises(UsageError, match="there is no key 'disk'"):
        read_measure(source)
