# SPDX-License-Identifier: Apache-2.0
"""Lab targets are started for real: they hold what they promise, and leave nothing behind."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests import lab_check
from tests.real.conftest import ioatlas, needs
from tests.real.pauses import Pauses

import ioatlas_lab as lab
from ioatlas.load.fio.process import start_time_ticks
from ioatlas.model.errors import IoAtlasError, UsageError
from ioatlas_lab import instance
from ioatlas_lab.scenario import Check

pytestmark = [pytest.mark.unmeasured, pytest.mark.usefixtures("own_lab")]


def namespaces():
    return os.listdir("/run/netns") if os.path.isdir("/run/netns") else []


IN_SHORT = ("memory", "page-cache", "array", "san-link", "nas-nfs", "stalling", "slow-nic")
"""One of each way to make a target."""


def short_or_long(names):
    return [name if name in IN_SHORT else pytest.param(name, marks=pytest.mark.long("lab")) for name in names]


@pytest.mark.parametrize("name", short_or_long(lab.scenarios()))
def test_starts_and_leaves_nothing(name):
    needs(name)
    with lab.start(name) as target:
        directory = target.directory
        assert target.truth
        assert "{" not in target.location
        assert all(value.value is not None and value.unit for value in target.truth.values())
        if target.kind == "uri":
            assert list(instance.processes_of(directory))
    assert not directory.exists()
    assert list(instance.processes_of(directory)) == []
    assert instance.loops_below(directory) == []
    assert not [name for name in namespaces() if name.startswith(instance.namespace_of(directory))]
    assert not (instance.MEMORY / instance.namespace_of(directory)).exists()


@pytest.mark.parametrize(("command", "said"), [("no-such", "no such program"), ("./bad", "cannot be run")])
def test_a_command_that_cannot_be_run_is_told_and_the_target_taken_down(command, said, tmp_path):
    needs("failing")
    (tmp_path / "bad").write_bytes(b"\0")
    (tmp_path / "bad").chmod(0o755)
    done = ioatlas("lab", "run", "failing", "--", command, "{}", cwd=tmp_path)
    assert done.returncode == 2
    assert f"{command}: {said}" in done.stderr
    assert "Traceback" not in done.stderr
    assert not instance.instances()


def test_the_tool_itself_is_found_where_path_has_none(monkeypatch, capfd):
    needs("failing")
    monkeypatch.setenv("PATH", "/usr/bin:/bin:/usr/sbin:/sbin")
    assert ioatlas("lab", "run", "failing", "--", "ioatlas", "--version").returncode == 0
    assert capfd.readouterr().out.startswith("ioatlas")


@pytest.mark.long("lab", "target")
@pytest.mark.parametrize("name", ["page-cache", "drive", "array", "memory"])
def test_what_was_made_for_one_command_needs_no_confirmation(name, tmp_path):
    needs(name)
    sweep = ("--rw", "randwrite", "--bs", "4k", "--numjobs", "1", "--size", "1m", "--budget", "5s")
    done = ioatlas("lab", "run", name, "--", "ioatlas", "map", "{}", *sweep, "-q", "--yes", "-o", tmp_path / "c")
    assert done.returncode == 0, done.stderr
    refused = ioatlas(
        "lab", "run", name, "--", "ioatlas", "map", "{}", *sweep, "--overwrite", "no", "-o", tmp_path / "d"
    )
    assert (refused.returncode == 0) == (name == "array"), "what was typed is not replaced"


@pytest.mark.long("lab")
@pytest.mark.parametrize("name", ["corrupting", "failing", "sector-4k"])
def test_holds_its_truth(name):
    needs(name)
    outcomes = list(lab_check.check(name))
    assert outcomes
    assert [one for one in outcomes if not one.ok] == []


@pytest.mark.long("lab")
def test_a_delay_is_never_shorter_than_configured():
    """How much longer it is depends on who else uses the processors: `make truth` says it, a test cannot."""
    needs("single-queue")
    with lab.start("single-queue") as target:
        mean_ms = lab_check._mean_latency_ms(target.location, target.checks[2])
        rate, _ = lab_check._steady_rate(target, target.checks[1])
    assert mean_ms >= 8
    assert 20 < rate <= 125.5


@pytest.mark.long("lab")
@pytest.mark.parametrize("name", ["in-place", "log-structured-full"])
def test_what_is_written_is_read_back(name):
    needs(name)
    # Twice as much as the spare: the log is cleaned meanwhile.
    fast = {"bw_bytes_per_s": 200_000_000, "settle_ms": 0, "stroke_ms": 0, "rpm": 600_000}
    with lab.start(name, size_bytes=8 << 20, spare_percent=50, **fast) as target:
        options = ("rw=randwrite", "bs=4k", "iodepth=8", "size=8m", "verify=crc32c", "do_verify=1")
        job, status = lab_check._fio(target.location, Check("", options), 0)
    assert (status, job["error"]) == (0, 0)
    assert job["write"]["io_bytes"] == job["read"]["io_bytes"] == 8 << 20


@pytest.mark.long("lab")
@pytest.mark.parametrize("reads", ["one", "both"])
def test_a_pair_loses_a_box_and_no_block(reads):
    needs("pair")
    fast = {"bw_bytes_per_s": 200_000_000, "settle_ms": 0, "stroke_ms": 0, "rpm": 600_000, "size_bytes": 8 << 20}
    links = {"rate_bits_per_s": 10**9, "replication_bits_per_s": 10**9}
    with lab.start("pair", reads=reads, away_after_seconds=1.0, **fast, **links) as target:
        second = int((target.directory / "disk2.pid").read_text().split()[0])
        options = ("rw=randwrite", "bs=4k", "iodepth=8", "size=8m", "rate_iops=1000", "verify=crc32c", "do_verify=1")
        job, status = lab_check._fio(target.location, Check("", options), 0)
        assert start_time_ticks(second) is None
    assert (status, job["error"]) == (0, 0)
    assert job["write"]["io_bytes"] == job["read"]["io_bytes"] == 8 << 20


@pytest.mark.long("lab")
def test_a_setting_changes_the_target():
    needs("bandwidth")
    with lab.start("bandwidth", bw_bytes_per_s=10_000_000, burst_seconds=0.5) as target, Pauses() as pauses:
        assert target.value("bw_bytes_per_s") == 10_000_000
        rate, _ = lab_check._steady_rate(target, target.checks[0])
    # Half of what it is without the setting, and that to a percent where the machine does nothing else.
    assert rate == pytest.approx(10_000_000, rel=0.05 + 2 * pauses.share)


@pytest.mark.parametrize("name", short_or_long(["stalling", "array", "san-drive", "pair", "nas-nfs", "cluster"]))
def test_an_owner_that_is_killed_leaves_a_target_that_the_next_start_sweeps(name):
    needs(name)
    program = (
        f"import time; import ioatlas_lab as lab\nwith lab.start({name!r}) as t: print(t.directory, "
        "flush=True); time.sleep(60)"
    )
    owner = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    directory = Path(owner.stdout.readline().strip())
    assert directory.is_dir()
    os.kill(owner.pid, signal.SIGKILL)
    owner.wait()
    needs("memory")
    with lab.start("memory"):
        assert not directory.exists()
    assert list(instance.processes_of(directory)) == []
    assert instance.loops_below(directory) == []
    assert not [name for name in namespaces() if name.startswith(instance.namespace_of(directory))]


@pytest.mark.parametrize(("name", "steps"), [("array-link", 1), ("array-link", 2), ("slow-nic", 2), ("array", 7)])
def test_an_owner_that_is_killed_while_it_starts_leaves_nothing_after_the_next_sweep(name, steps):
    needs(name)
    program = f"""
import os, signal
import ioatlas_lab as lab
from ioatlas_lab import running
carry_out, done = running._carry_out, []
def counted(step, context):
    carry_out(step, context)
    done.append(step)
    if len(done) == {steps}:
        print(context["dir"], flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
running._carry_out = counted
lab.up({name!r}, owned=True)
"""
    owner = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, check=False)
    directory = Path(owner.stdout.strip())
    assert owner.returncode == -signal.SIGKILL
    assert directory.is_dir()
    assert instance.sweep() == [directory.name]
    assert not directory.exists()
    assert list(instance.processes_of(directory)) == []
    assert instance.loops_below(directory) == []
    assert not os.path.exists(f"/run/netns/{instance.namespace_of(directory)}")


@pytest.mark.parametrize("name", short_or_long(["array-model", "drive-zones", "slow-nic", "array-link"]))
def test_two_at_once_are_two(name):
    needs(name)
    with lab.start(name) as one, lab.start(name) as other:
        assert one.location != other.location
        ours = {pid for pid, _ in instance.processes_of(one.directory)}
        assert ours
        assert ours.isdisjoint({pid for pid, _ in instance.processes_of(other.directory)})
    assert instance.instances() == []


def test_an_array_keeps_what_is_written_on_every_connection():
    needs("array-model")
    words = ["--rw=randwrite", "--bs=16k", "--iodepth=16", "--size=1m", "--numjobs=2", "--offset_increment=8m"]
    with lab.start("array-model", level="raid6", degraded=1, seek_ms=1) as target:
        fio = ["fio", "--name=v", "--ioengine=nbd", f"--uri={target.location}", "--verify=crc32c", "--do_verify=1"]
        done = subprocess.run([*fio, "--verify_state_save=0", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_server_that_dies_at_the_start_is_one_error_and_leaves_nothing():
    needs("memory")
    with pytest.raises(IoAtlasError, match="ended with status"), lab.start("failing", error_percent=1000):
        pass
    assert instance.instances() == []


def test_links_started_at_once_get_networks_of_their_own():
    needs("link-1g")
    program = "import ioatlas_lab as lab\nwith lab.start('link-1g') as t: print(t.location, flush=True); input()"
    owners = [
        subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    locations = {owner.stdout.readline().strip() for owner in owners}
    for owner in owners:
        owner.communicate("\n")
        assert owner.returncode == 0
    assert len(locations) == 4


@pytest.mark.parametrize("name", short_or_long(["pair", "nas-nfs"]))
def test_two_of_a_kind_run_at_once(name):
    """Their servers want the same ports, and some the same files of the system."""
    needs(name)
    with lab.start(name) as one, lab.start(name) as other:
        assert one.location != other.location
        for target in (one, other):
            job, status = lab_check._fio(target.location, Check("", ("rw=read", "bs=64k", "size=1m")), 0)
            assert (status, job["read"]["io_bytes"]) == (0, 1 << 20)


def test_unknown_names_and_settings_are_refused():
    with pytest.raises(UsageError, match="no lab scenario"), lab.start("nonsense"):
        pass
    with pytest.raises(UsageError, match="not a setting"), lab.start("memory", colour=1):
        pass
    with pytest.raises(UsageError, match="cannot be"), lab.start("latency", lat_ms=0.5):
        pass
    with pytest.raises(UsageError, match="above 0"), lab.start("bandwidth", bw_bytes_per_s=0):
        pass


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setattr("ioatlas_lab.running._search_path", lambda: "/nonexistent")
    with pytest.raises(IoAtlasError) as raised:
        lab.up("link-1g")
    assert "apt-get install nbdkit iperf3 iproute2" in str(raised.value)


def test_up_and_down_from_the_command_line():
    needs("memory")
    run = [sys.executable, "-c", "from ioatlas.cli import main; main()", "lab"]
    shown = json.loads(
        subprocess.run([*run, "up", "memory", "--json"], capture_output=True, text=True, check=True).stdout
    )
    assert shown["location"].startswith("nbd+unix://")
    time.sleep(0.1)
    read = ["fio", "--name=j", "--ioengine=nbd", f"--uri={shown['location']}", "--rw=read", "--bs=64k", "--size=1m"]
    assert subprocess.run(read, capture_output=True, check=False).returncode == 0
    stopped = json.loads(subprocess.run([*run, "down", "--json"], capture_output=True, text=True, check=True).stdout)
    assert stopped == [shown["id"]]
    assert instance.instances() == []


def test_a_directory_of_somebody_else_is_refused(tmp_path, monkeypatch):
    open_to_all = tmp_path / "lab"
    open_to_all.mkdir(mode=0o777)
    open_to_all.chmod(0o777)
    monkeypatch.setenv("IOATLAS_LAB_DIR", str(open_to_all))
    with pytest.raises(IoAtlasError, match="not private"):
        instance.root_directory()
    monkeypatch.setenv("IOATLAS_LAB_DIR", str(tmp_path / "other"))
