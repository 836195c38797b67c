# SPDX-License-Identifier: Apache-2.0
"""What a person types in about a test bed, and what is to be measured alone."""

import configparser
import json
import os
import tomllib

import pytest

from ioatlas.answer.results.evidence import _seen, is_served_here
from ioatlas.load.fio.executor import SystemClock
from ioatlas.load.fio.process import ProcessOutcome
from ioatlas.load.machine import measured, visit_usage
from ioatlas.load.machine.measured import client_rate, stack_rate, target_rate
from ioatlas.load.machine.typed_in import corrected, facts_text, quantity, read_facts, read_measure
from ioatlas.load.machine.visit_usage import Programs, cpu_shares
from ioatlas.measure.run.conditions import tell_background
from ioatlas.model.errors import IoAtlasError, UsageError
from ioatlas.model.testbed import Beside, CpuShares, Fact, Testbed, Usage
from ioatlas.model.visit import RemarkKind, Visit


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


class Answering:
    """Answers every section with its own number of I/Os a second, and keeps what was asked."""

    clock = SystemClock()

    def __init__(self, exit_code=0, said=""):
        self.exit_code, self.said = exit_code, said
        self.loads, self.jobs, self.served = [], [], []

    def run(self, load, _minder):
        self.loads.append(load)
        parser = configparser.RawConfigParser(allow_no_value=True)
        parser.read(load.directory / "job.fio")
        sections = [dict(parser[name]) for name in parser.sections() if name != "global"]
        self.jobs.append(sections)
        self.served += [os.path.exists(one["uri"].partition("socket=")[2]) for one in sections if "uri" in one]
        if not self.exit_code:
            rates = [
                {
                    "jobname": f"ceiling{index}",
                    "read": {"io_bytes": 1, "iops": 100.0 + index, "bw_bytes": 4096 * (100 + index)},
                }
                for index in range(len(sections))
            ]
            (load.directory / "fio.json").write_text(json.dumps({"fio version": "fio-3.40", "jobs": rates}))
        return ProcessOutcome(self.exit_code, 0.1, "", self.said)


def test_the_queue_of_the_null_engine_is_as_asked():
    fio = Answering()
    client_rate(fio, 512, numjobs=3, iodepth=8, seconds=0.1)
    assert {"bs": "512", "numjobs": "3", "iodepth": "8"}.items() <= fio.jobs[0][0].items()


def test_a_target_is_only_ever_read_and_named_by_its_whole_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fio = Answering()
    target_rate(fio, "disk.img", "read", 65536)
    assert "--readonly" in fio.loads[0].arguments
    assert fio.jobs[0][0]["filename"] == str(tmp_path / "disk.img")
    target_rate(fio, "nbd://nas/export", "read", 65536)
    assert (fio.jobs[1][0]["ioengine"], fio.jobs[1][0]["uri"]) == ("nbd", "nbd://nas/export")


@pytest.mark.needs("nbdkit")
def test_a_server_in_memory_is_there_for_as_long_as_it_is_read():
    fio = Answering()
    stack_rate(fio, "nbd", 4096)
    stack_rate(fio, "nbd", 1 << 20)
    assert fio.served == [True, True]
    assert [one["iodepth"] for (one,) in fio.jobs] == ["16", "4"]
    assert not fio.loads[0].directory.exists()


@pytest.mark.needs("nbdkit")
def test_a_server_that_does_not_start_says_why(monkeypatch):
    monkeypatch.setattr(measured, "_MEMORY_BYTES", "no size")
    with pytest.raises(IoAtlasError, match=r"nbdkit does not serve: .*no size"):
        stack_rate(Answering(), "nbd", 4096)


def test_a_load_that_fails_is_named_with_what_fio_said():
    with pytest.raises(IoAtlasError, match="fio ended with status 1: engine not loadable") as failed:
        client_rate(Answering(exit_code=1, said="engine not loadable"), 4096)
    assert "ioengine=null" in failed.value.where


def test_a_program_that_is_missing_is_named(monkeypatch):
    monkeypatch.setattr(measured, "PATH", "/nonexistent")
    with pytest.raises(IoAtlasError, match="nbdkit is not installed"):
        stack_rate(Answering(), "nbd", 4096)


def test_what_others_take_is_the_user_time_of_all_less_ours_and_their_system_time():
    usage = Usage(1.0, (1.0, 1.0), user=0.7)
    assert cpu_shares(usage, (0.2, 0.4), Beside(0.05, 0.1)) == CpuShares(pytest.approx(0.3), pytest.approx(0.65))
    # Ticks are coarse: less than nothing is nothing.
    assert cpu_shares(Usage(1.0, (1.0, 1.0), user=0.1), (0.4, 0.0), Beside(0.0, 0.0)) == CpuShares(0.2, 0.0)


@pytest.mark.parametrize(
    ("usage", "load", "beside"),
    [
        (None, (0.1, 0.1), Beside(0.0, 0.0)),
        (Usage(1.0, (1.0,)), (0.1, 0.1), Beside(0.0, 0.0)),
        (Usage(1.0, (1.0,), user=0.5), None, Beside(0.0, 0.0)),
        (Usage(1.0, (1.0,), user=0.5), (0.1, 0.1), None),
        (Usage(1.0, user=0.5), (0.1, 0.1), Beside(0.0, 0.0)),
    ],
)
def test_nothing_is_said_where_one_of_them_is_not_known(usage, load, beside):
    assert cpu_shares(usage, load, beside) is None


def test_neither_we_nor_the_kernel_are_other_programs():
    told = {pid for pid, _ in visit_usage._system_ticks()}
    assert os.getpid() not in told
    kernel = {pid for pid in (2, 3) if _is_kernel(pid)}
    assert not kernel & told
    assert all(not visit_usage._is_ours(pid, {}) for pid in told)


def _is_kernel(pid):
    try:
        return not os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return True


def test_only_what_came_after_counts(monkeypatch):
    ticks = iter([{(7, "1"): 100, (8, "1"): 50}, {(7, "1"): 100 + 10**9, (8, "9"): 0}])
    monkeypatch.setattr(visit_usage, "_system_ticks", lambda: next(ticks))
    beside = Programs().beside()
    assert beside.others_system == 1.0
    assert 0 <= beside.own_user <= 1


def test_a_busy_client_is_told_before_the_first_load_and_a_quiet_one_is_not():
    told = []
    tell_background(Usage(1.0, (0.95, 0.9)), lambda kind, text: told.append((kind, "9" in text)))
    assert told == [(RemarkKind.WARNING, True)]
    for quiet in (Usage(1.0, (0.05, 0.02)), None):
        tell_background(quiet, lambda *_: pytest.fail("nothing runs"))


@pytest.mark.parametrize(
    ("facts", "here"),
    [
        ({"protocol.transport": "unix socket"}, True),
        ({"server.address": "127.0.0.1", "route.local": True}, True),
        ({"server.address": "10.0.0.9", "nic.name": "eth0"}, False),
        ({}, False),
    ],
)
def test_a_server_on_this_machine_is_one_of_the_other_programs(facts, here):
    bed = Testbed("t", 0.0, tuple(Fact(name, value) for name, value in facts.items()))
    assert is_served_here(bed) is here
    visit = Visit(1, "k", 1, 0, 0, 1, 0.0, ())
    record = {1: {"seconds": 1.0, "core_busy": [1.0], "cpu": {"load": 0.1, "others": 0.8}}}
    seen = _seen([visit], record, {"k"} if here else set())["k"]
    assert seen.others == (0.0 if here else 0.8)
