# SPDX-License-Identifier: Apache-2.0
"""What a person types in about a test bed, and what is to be measured alone."""

import tomllib

import pytest

from ioatlas.load.machine.typed_in import corrected, facts_text, quantity, read_facts, read_measure
from ioatlas.model.errors import UsageError
from ioatlas.model.testbed import Fact, Testbed


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 Gb/s", (10**9, "bit/s")),
        ("2.5Gbit/s", (2_500_000_000, "bit/s")),
        ("100 Mbps", (10**8, "bit/s")),
        ("67 MB/s", (67_000_000, "B/s")),
        ("64 MiB/s", (64 << 20, "B/s")),
        ("512 MiB", (512 << 20, "B")),
        ("1,000 MB", (10**9, "B")),
        ("9000 B", (9000, "B")),
        ("7200 rpm", (7200, "rpm")),
        ("8 GT/s", (8, "GT/s")),
        ("8.5 ms", (0.0085, "s")),
        ("Hitachi 7K1000", None),
        ("5 apples", None),
        ("full", None),
    ],
)
def test_quantities(text, expected):
    assert quantity(text) == (pytest.approx(expected[0]), expected[1]) if expected else quantity(text) is None


def test_a_file_adds_and_corrects(tmp_path):
    path = tmp_path / "testbed.toml"
    path.write_text(
        '[facts]\n"nic.speed" = "1 Gb/s"\n"client.bus" = "PCI 32-bit 33 MHz"\nnas.drives = 5\n"host.raid" = "unknown"\n'
    )
    typed = read_facts(path)
    assert {fact.name: (fact.value, fact.unit, fact.kind) for fact in typed} == {
        "nic.speed": (10**9, "bit/s", "typed in"),
        "client.bus": ("PCI 32-bit 33 MHz", "", "typed in"),
        "nas.drives": (5, "", "typed in"),
        "host.raid": (None, "", "unknown"),
    }
    read = (Fact("nic.speed", 10**10, "bit/s", "doubtful", "sysfs"), Fact("nic.mtu", 1500, "B"))
    bed = Testbed("x", 0.0, corrected(read, typed))
    assert bed.number("nic.speed") == 10**9
    assert "10000000000 bit/s (sysfs)" in bed.get("nic.speed").note
    assert bed.value("nic.mtu") == 1500
    assert bed.value("nas.drives") == 5


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("facts = 3", "table"),
        ("[fact]\na.b = 1", "'fact'"),
        ("[facts]\n'nic speed' = 1", "nic speed"),
        ("[facts]\n'nic.speed' = [1]", "not list"),
        ("[facts\n", "TOML"),
    ],
)
def test_a_bad_file_is_one_clear_error(tmp_path, text, words):
    path = tmp_path / "testbed.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=words) as raised:
        read_facts(path)
    assert "testbed.toml" in str(raised.value)


def test_private_facts_do_not_travel():
    facts = (
        Fact("host.name", "nas7", private=True),
        Fact("cpu.threads", 4),
        Fact("device.sda.serial", "X1", private=True),
    )
    shared = Testbed("/mnt/secret", 1.0, facts, {"lsblk": "X1"}).shareable()
    assert [fact.name for fact in shared.facts] == ["cpu.threads"]
    assert "X1" not in str(shared.as_json())
    assert "secret" not in str(shared.as_json())
    # A correction of a private fact stays private.
    [kept] = corrected((Fact("host.serial", "A", private=True),), (Fact("host.serial", "B", kind="typed in"),))
    assert kept.private


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
