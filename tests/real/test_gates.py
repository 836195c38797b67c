# SPDX-License-Identifier: Apache-2.0
"""Every gate fires on a target that is really bad: see the table in docs/method/statistics.md."""

import contextlib
import json
import socket
import subprocess
import tempfile
import threading
from pathlib import Path

import pytest

import ioatlas_lab as lab
from ioatlas.load.fio.output import parse_fio_json
from ioatlas.model.verdict import VerdictCode, sentences
from ioatlas.stats.gates import bytes_gate
from ioatlas.stats.verdict import FEWEST, FEWEST_IOS
from ioatlas.store.journal import Journal
from ioatlas.target.opening import open_target
from tests.real.conftest import ioatlas, needs
from tests.real.target_lab import wait_for

pytestmark = [pytest.mark.needs("fio"), pytest.mark.usefixtures("own_lab")]

SWEEP = """
visits = {visits}
window = "{window}"
[target]
name = "bad"
{target}
[sweep]
{sweep}
"""


def arguments(tmp_path, location, sweep, *, visits=1, window="200ms"):
    kind = "uri" if "://" in str(location) else "path"
    text = SWEEP.format(visits=visits, window=window, target=f'{kind} = "{location}"', sweep=sweep)
    (tmp_path / "c.toml").write_text(text)
    return ["map", "--campaign", tmp_path / "c.toml", "-o", tmp_path / "c"]


def confirmed(location):
    return ["--overwrite", f"{location} {open_target(location).size_bytes}"]


def told(tmp_path):
    """What the report's data say of a finished campaign."""
    return json.loads(ioatlas("show", tmp_path / "c", "--json").stdout)


def reasons(tmp_path):
    journal = Journal.open(tmp_path / "c")
    try:
        return [sentences(visit.discarded) for visit in journal.visits() if visit.discarded]
    finally:
        journal.close()


@pytest.mark.unmeasured
def test_errors_of_the_target_leave_no_value(tmp_path):
    needs("failing")
    with lab.start("failing", error_percent=20.0) as target:
        ioatlas(
            *arguments(tmp_path, target.location, 'rw = ["randread"]\nbs = ["4k", "64k"]\nsize = "16m"'), "--read-only"
        )
    rows = told(tmp_path)["rows"]
    assert rows
    assert all(row["bw_bytes_per_s"] is None for row in rows)
    assert any("error 5" in row["verdict"] for row in rows)


@pytest.mark.unmeasured
def test_failed_ios_that_fio_counts_do_not_pass_for_bytes():
    needs("failing")
    with lab.start("failing", error_percent=5.0) as target:
        words = [
            "--rw=randread",
            "--bs=4k",
            "--size=16m",
            "--ioengine=nbd",
            f"--uri={target.location}",
            "--continue_on_error=io",
        ]
        words += ["--time_based", "--runtime=1s", "--output-format=json"]
        done = subprocess.run(["fio", "--name=j", *words], capture_output=True, text=True, check=False)
    (output,) = parse_fio_json(done.stdout).outputs
    read = output.jobs[0].directions["read"]
    reason = bytes_gate(read.io_bytes, read.total_ios, 4096, short_ios=read.short_ios or 0)
    assert reason.startswith("bytes:"), (read.io_bytes, read.total_ios)


@pytest.mark.unmeasured
def test_a_client_that_cannot_keep_the_load_in_flight_is_labelled(tmp_path):
    """Filling 4 MiB buffers takes longer than moving them to memory, so less than one I/O is in flight on average.

    A busy machine slows the server too, until the client no longer limits: each visit is held against its own figures.
    """
    needs("memory")
    with lab.start("memory") as target:
        done = ioatlas(
            *arguments(tmp_path, target.location, 'rw = ["write"]\nbs = ["4m"]\nsize = "64m"', window="2s"),
            *confirmed(target.location),
        )
    assert done.returncode == 0, done.stderr
    (row,) = told(tmp_path)["rows"]
    journal = Journal.open(tmp_path / "c")
    visits = [visit for visit in journal.visits() if not visit.discarded]
    journal.close()
    assert visits
    labelled = []
    for visit in visits:
        (part,) = visit.parts
        if visit.verdict.code is VerdictCode.TOO_SHORT:
            # A verdict takes 20 groups of 4 I/Os; the ends of the load, cut off, may hold as many again.
            assert part.total_ios < 2 * FEWEST * FEWEST_IOS
            continue
        in_flight = part.total_ios / (part.runtime_ms / 1e3) * part.lat_mean_ns / 1e9
        labelled.append("Little's law" in visit.verdict.text or "load generator" in visit.verdict.text)
        assert labelled[-1] or in_flight > 0.88, visit.verdict.text  # the limit is 0.90, of the window without its ends
    if labelled and all(labelled):
        assert row["verdict"] == "client-limited"


@pytest.mark.unmeasured
@pytest.mark.needs("root")
def test_reads_that_no_device_saw_are_discarded(tmp_path):
    """A file that was never written: the file system answers its holes itself, direct I/O or not."""
    needs("drive")
    with lab.start("drive", size_bytes=256 << 20) as target:
        place = tmp_path / "mnt"
        place.mkdir()
        subprocess.run(["mkfs.ext4", "-q", "-F", target.location], check=True)
        subprocess.run(["mount", target.location, place], check=True)
        try:
            with (place / "sparse").open("wb") as file:
                file.truncate(128 << 20)
            sweep = 'rw = ["randread"]\nbs = ["64k", "256k"]\nsize = "128m"'
            done = ioatlas(*arguments(tmp_path, place / "sparse", sweep), "--read-only")
        finally:
            subprocess.run(["umount", place], check=True)
    assert done.returncode == 1
    assert "nothing was measured: kernel counters" in done.stderr
    assert "more time does not help" in done.stderr
    found = reasons(tmp_path)
    # Both visits of the batch, and each again by itself.
    assert len(found) == 4
    assert all("was answered before it" in reason for reason in found)
    data = told(tmp_path)
    assert data["discard_reasons"] == {"kernel counters": 4}
    assert {row["verdict"] for row in data["rows"]} == {"discarded"}
    assert any(finding["code"] == "cache" for finding in data["findings"])


@pytest.mark.unmeasured
@pytest.mark.needs("root")
def test_another_load_on_the_device_is_noticed(tmp_path):
    needs("drive")
    with lab.start("drive", bw_bytes_per_s=200_000_000, iops=100_000, size_bytes=256 << 20) as target:
        words = [
            "--rw=read",
            "--bs=256k",
            "--direct=1",
            "--ioengine=libaio",
            "--iodepth=4",
            f"--filename={target.location}",
            "--readonly",
        ]
        other = subprocess.Popen(
            ["fio", "--name=other", *words, "--time_based", "--runtime=120s"], stdout=subprocess.DEVNULL
        )
        try:
            sweep = 'rw = ["randread"]\nbs = ["16k", "64k"]\nsize = "64m"'
            done = ioatlas(*arguments(tmp_path, target.location, sweep, window="500ms"), "--read-only")
        finally:
            other.terminate()
            other.wait()
    assert done.returncode == 0, done.stderr
    assert any("another load was on it" in reason for reason in reasons(tmp_path))
    assert any(finding["values"].get("excess_bytes") for finding in told(tmp_path)["findings"])


@contextlib.contextmanager
def pausing(directory, *, works_seconds, stands_seconds):
    """An export of a server of 1 ms that takes connections and answers no request for a while, again and again."""
    export, control = directory / "s", directory / "control"
    words = ["--foreground", "--unix", export, "--filter=pause", "--filter=delay", "memory", "64M", "rdelay=1ms"]
    server = subprocess.Popen(["nbdkit", *words, f"pause-control={control}"])
    over = threading.Event()

    def pause():
        with socket.socket(socket.AF_UNIX) as link:
            link.connect(str(control))
            while not over.wait(works_seconds):
                link.sendall(b"p")
                over.wait(stands_seconds)
                link.sendall(b"r")

    pauser = threading.Thread(target=pause)
    try:
        wait_for(lambda: export.exists() and control.exists())
        pauser.start()
        yield f"nbd+unix:///?socket={export}"
    finally:
        over.set()
        if pauser.ident:
            pauser.join()
        server.terminate()
        server.wait()


@pytest.mark.long("run", "procedures")
@pytest.mark.unmeasured
@pytest.mark.needs("nbdkit")
def test_a_server_that_stands_still_for_a_window_leaves_no_value_of_it(tmp_path):
    """Eight windows in a row take longer than the server works between two pauses, and a pause covers two of them."""
    with (
        tempfile.TemporaryDirectory(prefix="iop", dir="/tmp") as place,  # socket paths are short
        pausing(Path(place), works_seconds=2.1, stands_seconds=0.9) as location,
    ):
        sweep = 'rw = ["randread"]\nbs = ["4k"]\nsize = "16m"\niodepth = 4'
        done = ioatlas(*arguments(tmp_path, location, sweep, visits=8, window="300ms"), "--read-only")
    assert done.returncode == 0, done.stderr
    assert any(reason.startswith("stalled: no I/O completed in ") for reason in reasons(tmp_path))
    (row,) = told(tmp_path)["rows"]
    # 4 in flight, 1 ms each at least; a pause that hits a part of a window is the target's. How many of these a busy
    # machine does, the visits of this run say.
    journal = Journal.open(tmp_path / "c")
    kept = [visit.parts[0] for visit in journal.visits() if not visit.discarded and visit.purpose != "probe"]
    journal.close()
    assert 0.5 * min(part.total_ios / part.runtime_ms * 1000 for part in kept) < row["iops"] < 4000


def linked(tmp_path, speed, status=0):
    """Discard reasons of reads through a link of 1 Gb/s, where a person said that it has `speed`."""
    needs("link-1g")
    tmp_path.mkdir()
    (tmp_path / "testbed.toml").write_text(f'[facts]\n"nic.speed" = "{speed}"\n')
    with lab.start("link-1g", size_bytes=32 << 20) as target:
        sweep = 'rw = ["randread"]\nbs = ["64k"]\nsize = "32m"\niodepth = 8'
        done = ioatlas(*arguments(tmp_path, target.location, sweep), "--read-only", cwd=tmp_path)
    assert done.returncode == status, done.stderr
    return reasons(tmp_path)


@pytest.mark.unmeasured
@pytest.mark.needs("root")
def test_a_value_above_the_ceiling_of_its_path_is_void_and_one_below_is_not(tmp_path):
    assert not [reason for reason in linked(tmp_path / "sound", "2500 Mb/s") if "ceiling: " in reason]
    found = linked(tmp_path / "wrong", "100 Mb/s", status=1)
    assert found
    assert all("ceiling: " in reason and "100 Mb/s link" in reason for reason in found)
    (row,) = told(tmp_path / "wrong")["rows"]
    assert row["verdict"] == "discarded"
