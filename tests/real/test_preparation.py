# SPDX-License-Identifier: Apache-2.0
"""What a target holds before the load is what was chosen, and every result says so; rounds purge a drive once named."""

import json
import os
import subprocess
import threading
import time
from pathlib import Path

import pytest

import ioatlas_lab as lab
from ioatlas.load.fio.collect import run_job
from ioatlas.load.fio.executor import SystemExecutor
from ioatlas.load.fio.series import read_series
from ioatlas.target.holes import hole_bytes
from ioatlas_lab.running import missing
from tests.real.conftest import ioatlas
from tests.real.target_lab import Bench

pytestmark = pytest.mark.needs("fio")
SIZE = 8 << 20


def campaign(directory, *lines, window="200ms", **sweep):
    path = directory / "c.toml"
    options = "\n".join(f"{name} = {value}" for name, value in {"size": SIZE, **sweep}.items())
    path.write_text("\n".join([f'window = "{window}"', *lines, "[sweep]", options, ""]))
    return path


def measured(target, file, output, *arguments):
    done = ioatlas("map", target, "--campaign", file, "-o", output, *arguments)
    assert done.returncode == 0, done.stderr
    done = ioatlas("export", output, "--format", "json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


class Watch(threading.Thread):
    """Looks at the files below a directory while a campaign runs: the fewest bytes in holes that a whole file had."""

    def __init__(self, directory):
        super().__init__(daemon=True)
        self.directory, self.fewest, self.most, self.going = Path(directory), SIZE, 0, True

    def run(self):
        while self.going:
            for path in self.directory.glob(".ioatlas-*/*.dat"):
                try:
                    if path.stat().st_size == SIZE:
                        holes = hole_bytes(str(path), SIZE)
                        self.fewest, self.most = min(self.fewest, holes), max(self.most, holes)
                except Exception:  # noqa: BLE001 - the file may go at any moment
                    continue
            time.sleep(0.01)


@pytest.mark.unmeasured
def test_a_second_writing_is_seen_by_itself(tmp_path):
    job = f"""[global]
per_job_logs=0
log_unix_epoch=1
log_avg_msec=50
[layout0]
filename={tmp_path / "data"}
rw=write
bs=4k
size=1m
rate=2m
write_bw_log=layout0
write_lat_log=layout0
"""
    begun = []
    for _ in range(2):
        outcome, _ = run_job(SystemExecutor(), job, tmp_path / "lay-out", expected_seconds=1)
        assert outcome.exit_code == 0, outcome.stderr
        begun.append(read_series(tmp_path / "lay-out", "layout0", interval_ms=50, runtime_ms=500).start_ms)
    assert begun[1] - begun[0] >= 450


@pytest.mark.unmeasured
def test_holes_are_seen(disk_dir):
    path = disk_dir / "f"
    path.write_bytes(os.urandom(1 << 20))
    assert hole_bytes(str(path), 1 << 20) == 0
    assert hole_bytes(str(path), 2 << 20) == 1 << 20  # what is not there is a hole
    os.truncate(path, 3 << 20)
    assert hole_bytes(str(path), 3 << 20) == 2 << 20
    subprocess.run(["fallocate", "--punch-hole", "--offset", "65536", "--length", "131072", path], check=True)
    assert hole_bytes(str(path), 3 << 20) == (2 << 20) + 131072


@pytest.mark.long("target", "run")
@pytest.mark.unmeasured
def test_preconditioned_is_filled_and_overwritten_twice_at_random(tmp_path, disk_dir):
    size = 2 << 20
    file = campaign(tmp_path, 'prepare = "preconditioned"', "visits = 1", size=size, rw='["randread"]', bs='["4k"]')
    result = measured(disk_dir, file, tmp_path / "o")
    assert {row["state"] for row in result["rows"]} == {"preconditioned"}
    assert result["settings"]["bytes of lay-out"] == str(size)
    assert result["settings"]["bytes of random overwrite"] == str(2 * size)
    (step,) = (tmp_path / "o/layout").glob("*/random-overwrite/fio.json")
    job = json.loads(step.read_text())["jobs"][0]
    assert job["write"]["total_ios"] == 2 * size // 4096
    assert "overwritten twice" in result["settings"]["preparation"]


@pytest.mark.unmeasured
def test_filled_files_have_no_holes_and_fresh_ones_nothing_else(tmp_path, disk_dir):
    for state in ("filled", "fresh"):
        (tmp_path / state).mkdir()
        file = campaign(
            tmp_path / state, f'prepare = "{state}"', "visits = 1", rw='["randread", "write"]', bs='["64k"]'
        )
        watch = Watch(disk_dir)
        watch.start()
        result = measured(disk_dir, file, tmp_path / state / "o")
        watch.going = False
        watch.join()
        rows = {row["rw"]: row for row in result["rows"]}
        assert {row["state"] for row in rows.values()} == {state}
        assert list(disk_dir.iterdir()) == []
        if state == "filled":
            assert watch.fewest == 0
            assert rows["randread"]["verdict"] != "hole"
            continue
        assert watch.most == SIZE  # a new file without data for every visit
        assert rows["randread"]["verdict"] == "hole"
        assert any("without data" in note for note in rows["randread"]["notes"])
        assert any("first writes" in note for note in rows["write"]["notes"])
        assert not [
            finding for finding in result["findings"] if finding["code"] == "knee" and finding["direction"] == "read"
        ]
        # Every visit of the sweep ran in a fio of its own, on a file of its own.
        jobs = [path.read_text() for path in (tmp_path / state / "o/batches").glob("*/job.fio")]
        assert sum(text.count("\n[v") for text in jobs if "runtime=" in text) >= 2


@pytest.mark.unmeasured
@pytest.mark.needs("root")
def test_fresh_on_a_block_device_discards_it_before_every_visit(tmp_path):
    bench = Bench(tmp_path)
    try:
        image = bench.image(SIZE)
        image.write_bytes(os.urandom(SIZE))
        device = bench.loop(image)
        file = campaign(tmp_path, 'prepare = "fresh"', "visits = 1", rw='["randread"]', bs='["64k"]')
        refused = ioatlas("map", device, "--campaign", file, "-o", tmp_path / "no")
        assert refused.returncode == 2  # only reads are swept, but the preparation destroys
        assert hole_bytes(str(image), SIZE) == 0
        result = measured(device, file, tmp_path / "o", "--destroy", str(SIZE))
        assert hole_bytes(str(image), SIZE) == SIZE
    finally:
        bench.clear()
    assert {row["verdict"] for row in result["rows"]} == {"hole"}


@pytest.mark.unmeasured
def test_only_reads_on_a_file_leave_it_as_found(tmp_path, disk_dir):
    path = disk_dir / "data"
    path.write_bytes(os.urandom(SIZE))
    before = path.read_bytes()
    file = campaign(tmp_path, "visits = 1", rw='["randread"]', bs='["64k"]')
    result = measured(path, file, tmp_path / "o")
    assert path.read_bytes() == before
    assert {row["state"] for row in result["rows"]} == {"as-found"}
    refused = ioatlas("plan", path, "--campaign", file, "--read-only", "--prepare", "filled")
    assert refused.returncode == 2
    assert "--read-only forbids" in refused.stderr


@pytest.mark.unmeasured
def test_reads_carry_what_was_written_to_their_bytes(tmp_path, disk_dir):
    file = campaign(tmp_path, "visits = 2", rw='["read", "randwrite"]', bs='["64k"]')
    result = measured(disk_dir, file, tmp_path / "o")
    rows = {row["rw"]: row for row in result["rows"]}
    written = int(result["settings"]["bytes of write load"])
    assert 0 < rows["read"]["written_before_bytes"] <= written
    note = next(note for note in rows["read"]["notes"] if note.startswith("read after"))
    assert "100% of them random" in note


@pytest.mark.long("target")
@pytest.mark.unmeasured
def test_a_target_that_reduces_data_is_found_out_by_reads_and_writes(tmp_path, own_lab):
    scenario = lab.scenarios()["reducing"]
    if lacking := missing(scenario):
        pytest.skip(f"not installed: {', '.join(need.program for need in lacking)}")
    with lab.start("reducing") as target:
        swept = {
            "rw": '["randread", "randwrite"]',
            "bs": '["16k"]',
            "buffer_compress_percentage": "[0, 50]",
            "dedupe_percentage": "[0, 50]",
        }
        file = campaign(tmp_path, "visits = 3", size=4 << 20, iodepth=4, **swept)
        result = measured(target.location, file, tmp_path / "o", "--overwrite", f"{target.location} {64 << 20}")
    jobs = next((tmp_path / "o/layout").glob("*/lay-out/job.fio")).read_text()
    assert jobs.count("[layout") == 4  # each kind of data has a range of its own, laid out with such data
    assert jobs.count("dedupe_percentage=50") == jobs.count("buffer_compress_percentage=50") == 2
    assert sorted(line for line in jobs.splitlines() if line.startswith("offset=")) == sorted(
        f"offset={n * (4 << 20)}" for n in (1, 2, 3)
    )
    found = [finding for finding in result["findings"] if finding["code"] == "data-reduction"]
    assert [one["values"]["option"] for one in found] == ["buffer_compress_percentage", "dedupe_percentage"]
    rates = {
        (row["direction"], row["buffer_compress_percentage"], row["dedupe_percentage"]): row["bw_bytes_per_s"]
        for row in result["rows"]
    }
    for direction in ("read", "write"):
        assert rates[direction, 50, 0] > 1.3 * rates[direction, 0, 0]
        assert rates[direction, 0, 50] > 1.3 * rates[direction, 0, 0]
    assert max(rates["read", 0, 0], rates["write", 0, 0]) < 1.15 * 8e6
    # The fastest cells are suspect and not named.
    assert len([finding for finding in result["findings"] if finding["code"] == "knee"]) == 2


@pytest.mark.unmeasured
def test_too_many_kinds_of_data_for_a_device_are_refused(tmp_path, disk_dir):
    path = disk_dir / "data"
    path.write_bytes(os.urandom(SIZE))
    file = campaign(tmp_path, rw='["randread", "randwrite"]', bs='["4k"]', buffer_compress_percentage="[0, 50]")
    refused = ioatlas("plan", path, "--campaign", file)
    assert refused.returncode == 2
    assert "side by side" in refused.stderr
    assert "4 MiB" in refused.stderr


def rounds(directory, profile="snia-pts", window="200ms", more="", **sweep):
    path = directory / "c.toml"
    lines = "\n".join(f"{name} = {value}" for name, value in {"size": SIZE, **sweep}.items())
    path.write_text(f'profile = "{profile}"\nwindow = "{window}"\n{more}\n[sweep]\n{lines}\n')
    return path


def exported(directory):
    done = ioatlas("export", directory, "--format", "json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.unmeasured
@pytest.mark.needs("root")
def test_a_block_device_is_purged_only_once_it_is_named(tmp_path):
    bench = Bench(tmp_path)
    try:
        image = bench.image(SIZE)
        image.write_bytes(os.urandom(SIZE))
        before = image.read_bytes()
        device = bench.loop(image)
        file = rounds(tmp_path, rwmixread="[0]", bs='["4k"]')
        refused = ioatlas("map", device, "--campaign", file, "-o", tmp_path / "no")
        assert refused.returncode == 2
        assert "not confirmed" in refused.stderr
        assert image.read_bytes() == before
        file = rounds(tmp_path, rwmixread="[0]", bs='["4k"]', more='budget = "4s"')
        done = ioatlas("map", device, "--campaign", file, "-o", tmp_path / "o", "--destroy", str(SIZE))
        assert done.returncode == 0, done.stderr
    finally:
        bench.clear()
    (test,) = exported(tmp_path / "o")["rounds"]
    assert "BLKDISCARD" in test["purge"]
    assert not any("active range" in text for text in test["deviations"])  # the whole device
