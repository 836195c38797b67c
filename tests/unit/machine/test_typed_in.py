# SPDX-License-Identifier: Apache-2.0
import pytest

from ioatlas.load.machine.typed_in import corrected, quantity, read_facts
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
