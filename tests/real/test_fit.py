# SPDX-License-Identifier: Apache-2.0
"""Whether real targets fit: an NBD server that answers in 20 ms, and a directory on a disk.

Limits lie so far from what is measured that another load on the machine does not cross them. A watch has to
decide within the time of a round, so it is measured alone.
"""

import contextlib
import json
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from ioatlas.measure.campaign import load_result
from tests.real.conftest import ioatlas, start
from tests.real.target_lab import Bench, run, wait_for

pytestmark = pytest.mark.needs("nbdkit", "fio")
READS = """
title = "{users} readers"
window = "WINDOW"
[parameters.users]
default = 1
help = "readers"
[[load]]
name = "reads"
rw = "randread"
bs = "4k"
numjobs = "{users}"
size = "32m"
[[require]]
read_p99 = "5s"
[[require]]
read_mean = "LIMIT"
change = "a faster server"
"""


@contextlib.contextmanager
def server(*how):
    with tempfile.TemporaryDirectory(prefix="iot", dir="/tmp") as directory:  # socket paths are short
        bench = Bench(directory)
        path = Path(directory) / "s"
        bench.start("nbdkit", "--foreground", "--unix", str(path), *how, stderr=subprocess.DEVNULL)
        wait_for(path.exists)
        yield f"nbd+unix:///?socket={path}"
        bench.clear()


@pytest.fixture(scope="module")
def uri():
    with server("--filter=delay", "memory", "64M", "rdelay=20ms") as found:
        yield found


def use(folder, limit, *options):
    path = folder / "mine.toml"
    text = READS.replace("WINDOW", "300ms").replace("LIMIT", limit)
    path.write_text(text.replace("[[require]]", "\n".join([*options, "[[require]]"]), 1))
    return path


@pytest.mark.unmeasured
def test_a_server_of_20_ms_does_not_fit_a_limit_of_10_and_fits_one_of_200(uri, tmp_path):
    for limit, status, answers in (("10ms", 3, {"pass", "fail"}), ("200ms", 0, {"pass"})):
        files = ["--junit", tmp_path / f"{limit}.xml", "-o", tmp_path / limit]
        done = ioatlas("fit", uri, "--for", use(tmp_path, limit), "--read-only", "--json", *files)
        assert done.returncode == status, done.stderr
        (fit,) = json.loads(done.stdout)["fits"]
        assert {one["answer"] for one in fit["requirements"]} == answers
        mean = fit["requirements"][-1]
        assert 20e6 <= mean["value"] < 200e6
        cases = ET.parse(tmp_path / f"{limit}.xml").getroot().findall(".//testcase")
        assert sum(case.find("failure") is not None for case in cases) == (status == 3)


@pytest.mark.long("procedures")
@pytest.mark.unmeasured
def test_killed_it_goes_on_and_leaves_nothing(disk_dir, tmp_path):
    directory = tmp_path / "c"
    # Each reader rests between its reads, or a fast disk would keep a processor busy for the whole time.
    process = start("fit", disk_dir, "--for", use(tmp_path, "10s", 'thinktime = "5ms"'), "-o", directory, "-q")
    wait_for((directory / "batches" / "00001").is_dir)
    time.sleep(2)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    done = ioatlas("resume", directory, "--json", "-q")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["answer"] == "pass"
    assert list(disk_dir.iterdir()) == []
    assert "PASS" in ioatlas("show", directory).stdout


@pytest.mark.long("fleet", "procedures")
@pytest.mark.unmeasured
@pytest.mark.needs("root")
def test_several_clients_make_one_load_together_each_on_a_file_of_its_own(disk_dir, tmp_path):
    how = ["--budget", "30s", "-o", tmp_path / "c", "--json", "-q"]
    done = ioatlas("fit", disk_dir, "--for", use(tmp_path, "10s", "rate_iops = 20"), "--clients", "local:2", *how)
    (fit,) = json.loads(done.stdout)["fits"]
    asked = next(one for one in fit["requirements"] if "20 I/Os a second" in one["requirement"])
    assert 0.5 < asked["value"] <= 1
    jobs = [path.read_text().splitlines() for path in (tmp_path / "c/batches/00001/clients").glob("*/job.fio")]
    assert len(jobs) == 2
    assert all("rate_iops=10" in job for job in jobs)
    files = [{line for line in job if line.startswith("filename=")} for job in jobs]
    assert not files[0] & files[1]
    assert list(disk_dir.iterdir()) == []


@pytest.mark.unmeasured
@pytest.mark.needs("root")
@pytest.mark.parametrize("barrier", [0, 1])
def test_flushes_that_a_mount_keeps_back_are_named(tmp_path, barrier):
    path = tmp_path / "log.toml"
    path.write_text(
        'title = "a log"\nwindow = "300ms"\n[[load]]\nrw = "write"\nbs = "4k"\nsize = "4m"\ndirect = 0\n'
        'fdatasync = 1\n[[require]]\nflush_p99 = "50s"\n'
    )
    bench = Bench(tmp_path)
    device = bench.loop(bench.image(256 << 20))
    run("mkfs.ext4", "-q", device)
    try:
        place = bench.mount(device, "-o", f"barrier={barrier}")
        done = ioatlas("fit", place, "--for", path, "-o", tmp_path / "c", "-q")
        assert done.returncode == 0, done.stderr
        (found,) = (one for one in load_result(tmp_path / "c").findings if one.code == "flushes")
        assert found.in_order == bool(barrier)
    finally:
        bench.clear()


@pytest.mark.long("procedures")
@pytest.mark.unmeasured
@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="there is no directory in memory")
def test_a_target_that_writes_the_whole_log_in_less_than_a_window_fits():
    with tempfile.TemporaryDirectory(dir="/dev/shm") as place, tempfile.TemporaryDirectory() as folder:
        done = ioatlas("fit", place, "--for", "etcd", "--budget", "60s", "-o", f"{folder}/c", "--json")
        assert json.loads(done.stdout)["answer"] == "pass"
        assert list(Path(place).iterdir()) == []


@pytest.mark.unmeasured
def test_a_log_that_grows_is_cut_back_and_leaves_nothing(disk_dir, tmp_path):
    path = tmp_path / "log.toml"
    path.write_text(
        'title = "a log"\nwindow = "300ms"\n[[load]]\nrw = "write"\nbs = 2300\nsize = "4m"\ndirect = 0\n'
        'fdatasync = 1\nfile_append = 1\n[[require]]\nflush_p99 = "50s"\n'
    )
    process = start("fit", disk_dir, "--for", path, "-o", tmp_path / "c", "-q", "--json")
    sizes = []
    while process.poll() is None:
        for file in disk_dir.glob(".ioatlas-*/*.dat"):
            with contextlib.suppress(FileNotFoundError):
                sizes.append(file.stat().st_size)
        time.sleep(0.02)
    assert json.loads(process.stdout.read())["answer"] == "pass"
    assert max(sizes) > 4 << 20  # each window begins where the last one ended
    assert list(disk_dir.iterdir()) == []


FLUSHES = """
import pathlib, time
API_VERSION = 2
DISK = bytearray(64 << 20)
def open(readonly): return 1
def get_size(handle): return len(DISK)
def can_flush(handle): return True
def flush(handle, flags): time.sleep(float(pathlib.Path("SECONDS").read_text()))
def pread(handle, buf, offset, flags): buf[:] = DISK[offset : offset + len(buf)]
def pwrite(handle, buf, offset, flags): DISK[offset : offset + len(buf)] = buf
"""


@pytest.mark.unmeasured
@pytest.mark.long("watch", "procedures")
def test_a_watch_tells_that_a_server_stops_fitting(tmp_path):
    """Its flushes take 1 ms, then 300: on both sides of a limit that a busy machine does not cross."""
    seconds, plugin, log = tmp_path / "seconds", tmp_path / "plugin.py", tmp_path / "log.toml"
    seconds.write_text("0.001")
    plugin.write_text(FLUSHES.replace("SECONDS", str(seconds)))
    log.write_text(
        'title = "a log"\nwindow = "500ms"\n[[load]]\nrw = "write"\nbs = "4k"\nsize = "4m"\nfdatasync = 1\n'
        '[[require]]\nflush_mean = "150ms"\n'
    )
    with server("python", plugin) as uri:
        words = ["--for", log, "--every", "80s", "--share", "50%", "--once", "--json", "-o", tmp_path / "w"]

        def one_round():
            """At once: the share of the last one is not waited for."""
            for file in (tmp_path / "w").glob("rounds.jsonl"):
                told = [json.loads(line) for line in file.read_text().splitlines()]
                moved = [
                    {**one, **{name: one[name] - 600 for name in ("began", "ended") if name in one}} for one in told
                ]
                file.write_text("".join(json.dumps(one) + "\n" for one in moved))
            done = ioatlas("watch", uri, *words, "--overwrite", f"{uri} {64 << 20}")
            told = [json.loads(line) for line in done.stdout.splitlines()]
            (made,) = [one["fits"][0]["answer"] for one in told if one["event"] == "watched"]
            return made, done.returncode, [one["text"] for one in told if one["event"] == "alarm"]

        assert one_round() == ("pass", 0, [])
        seconds.write_text("0.3")
        assert one_round() == ("fail", 0, [])
        made, status, (alarm,) = one_round()
    assert (made, status) == ("fail", 3)
    assert "does not fit a log" in alarm


@pytest.mark.unmeasured
@pytest.mark.long("procedures")
def test_how_many_a_capped_server_carries(tmp_path):
    """100 I/Os a second, of which each reader needs 60: one, and never two."""
    path = tmp_path / "mine.toml"
    text = READS.replace("WINDOW", "1s").split("[[require]]", maxsplit=1)[0]
    path.write_text(text + '[[require]]\niops = "{users * 60}"\n')
    with server("--filter=rate", "memory", "64M", f"rate={100 * 4096 * 8}", "burstiness=0.1") as capped:
        done = ioatlas("fit", capped, "--for", path, "--max", "--read-only", "--json", "-q", "-o", tmp_path / "c")
    told = json.loads(done.stdout)
    answers = {one["use"]: one["answer"] for one in told["fits"]}
    assert answers.get("mine:users=2") != "pass"  # a starved machine may be undecided, or not carry one
    assert done.returncode == {"pass": 0, "fail": 3, "undecided": 5}[told["answer"]], done.stderr
    assert (told["answer"] == "pass") == (answers.get("mine:users=1") == "pass")
