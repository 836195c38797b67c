# SPDX-License-Identifier: Apache-2.0
"""What a search leaves behind: the answer on one screen, the report with the curve, a job that runs by hand."""

import json
import subprocess

import pytest

from ioatlas.measure.campaign import load_result
from tests.simulate.law import Burst, Law, Way
from tests.unit.simulated import Shell

CAPACITY = 4_000
SLOW = Law(random_read=Way(2e-3, CAPACITY, 400e6), random_write=Way(2e-3, CAPACITY, 400e6), noise=0.03)
ON_A_FILE = ["--size", "4m", "--set", "direct=0", "--set", "ioengine=libaio"]
LIMIT_NS = 10e6


@pytest.fixture(scope="module")
def shell():
    return Shell(SLOW)


@pytest.fixture(scope="module")
def found(shell, tmp_path_factory):
    place = tmp_path_factory.mktemp("answer")
    (place / "t").mkdir()
    directory = place / "d"
    done = shell("tune", place / "t", *ON_A_FILE, "--p99", "10ms", "--max-jobs", "4", "-o", directory)
    assert done.returncode == 0, done.stderr
    return done.stdout, directory, json.loads((directory / "tune.json").read_text())


def test_the_answer_is_the_first_screen_between_what_was_asked_and_the_job(shell, found):
    told, directory, _ = found
    asked, *screen, job = told.splitlines()
    assert asked == "4 KiB random read, 99% within 10 ms"
    assert job == f"fio job: {directory / 'best.fio'}"
    assert screen == shell("show", directory).stdout.splitlines()


def test_the_fixed_rate_stands_below_the_closed_loop_one(found):
    told, _, result = found
    safe = result["sizing"]["safe_iops"]
    assert 0.5 * CAPACITY < safe < 1.01 * result["best"]["iops"]
    assert f"safe to {safe:.0f} IOPS" in told
    assert f"size applications for {safe:.0f} IOPS" in told
    by_rate = {point["offered"]: point for point in result["curve"]}
    assert all(p["state"] == "within" and p["high_ns"] <= LIMIT_NS for rate, p in by_rate.items() if rate <= safe)
    over = result["sizing"]["over_iops"]
    assert over is None or all(p["overloaded"] or p["low_ns"] > LIMIT_NS for r, p in by_rate.items() if r >= over)


def test_the_rates_that_decide_are_measured_again(found):
    _, _, result = found
    visits = {point["percent"]: point["n_visits"] for point in result["curve"]}
    assert set(visits) >= set(range(10, 101, 10))
    assert visits[10] == 1
    assert max(visits.values()) == 3
    assert 2 <= sum(n == 3 for n in visits.values()) <= 5 + 2


def test_steps_between_the_safe_rate_and_the_next_are_tried(found):
    """The safe rate is a tenth of the capacity below the next one at first, a fortieth in the end."""
    _, _, result = found
    safe = result["sizing"]["safe_iops"]
    steps = [point["percent"] for point in result["curve"]]
    above = [point for point in result["curve"] if point["offered"] > safe]
    if above:
        below = max(point["percent"] for point in result["curve"] if point["offered"] <= safe)
        assert min(point["percent"] for point in above) - below <= 5
        assert len(steps) > 10


def test_the_result_has_the_curve_and_the_trials(found):
    _, directory, found_json = found
    result = load_result(directory)
    (curve,) = result.records["load_curves"]
    assert curve["limit_ns"] == LIMIT_NS
    assert curve["quantity"] == "p99"
    assert curve["sizing"]["safe_iops"] == found_json["sizing"]["safe_iops"]
    closed, *paced = curve["points"]
    assert closed["loop"] == "closed"
    assert closed["achieved_iops"] == found_json["best"]["iops"]
    assert all(point["seconds"] >= 0.2 for point in curve["points"])
    assert [point["offered_iops"] for point in paced] == [point["offered"] for point in found_json["curve"]]
    assert {(e.cell.numjobs, e.cell.iodepth) for e in result.estimates} == {
        (trial["numjobs"], trial["iodepth"]) for trial in found_json["trials"]
    }


def test_show_report_and_resume_know_it(shell, found):
    _, directory, result = found
    shown = shell("show", directory)
    assert shown.returncode == 0, shown.stderr
    assert len(shown.stdout.splitlines()) <= 25
    assert "Best setting" in shown.stdout
    assert f"safe to {result['sizing']['safe_iops']:.0f} IOPS" in shown.stdout
    all_of_it = shell("show", "-v", directory)
    assert "fixed request rate" in all_of_it.stdout
    assert "Open loop" in all_of_it.stdout
    assert "Throughput in MiB/s" in all_of_it.stdout  # the trials as a map
    by_iops = shell("show", directory, "--quantity", "iops").stdout
    assert "I/Os per second in IOPS" in by_iops
    assert "open loop" not in by_iops
    (directory / "report.html").unlink()
    assert shell("report", directory).returncode == 0
    assert (directory / "report.html").stat().st_size > 10_000
    again = shell("resume", directory, "--json")
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["curve"] == result["curve"]  # nothing was left to do


@pytest.mark.needs("fio")
def test_the_job_runs_by_hand(found):
    _, directory, result = found
    job = directory / "best.fio"
    checked = subprocess.run(["fio", "--parse-only", job], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
    lines = job.read_text().splitlines()
    best = result["best"]
    assert {"rw=randread", "bs=4096", f"numjobs={best['numjobs']}", f"iodepth={best['iodepth']}"} <= set(lines)
    assert f"filename={directory.parent / 't' / 'ioatlas-by-hand'}" in lines
    assert any("delete it afterwards" in line for line in lines if line.startswith(";"))


def test_a_limit_that_nothing_meets_leaves_a_report_and_no_job(shell, tmp_path):
    (tmp_path / "t").mkdir()
    directory = tmp_path / "d"
    done = shell("tune", tmp_path / "t", *ON_A_FILE, "--mean", "1ms", "-o", directory)
    assert done.returncode == 3
    assert "No setting found for mean latency within 1 ms: even one I/O at a time exceeds it." in done.stdout
    assert (directory / "report.html").exists()
    assert not (directory / "best.fio").exists()
    assert json.loads((directory / "tune.json").read_text())["sizing"] is None
    assert shell("show", directory).returncode == 0


@pytest.mark.parametrize("goal", [pytest.param([], marks=pytest.mark.long("procedures")), ["--max-throughput"]])
def test_without_a_limit_a_rate_is_safe_when_it_is_carried(shell, tmp_path, goal):
    (tmp_path / "t").mkdir()
    found = shell("tune", tmp_path / "t", *ON_A_FILE, *goal, "--max-jobs", "1", "-o", tmp_path / "d")
    assert found.returncode == 0, found.stderr
    assert found.stdout.startswith("4 KiB random read, most IOPS, no latency limit\n")
    result = json.loads((tmp_path / "d" / "tune.json").read_text())
    carried = [point["offered"] for point in result["curve"] if not point["n_overloaded"]]
    assert result["sizing"]["safe_iops"] in carried


@pytest.mark.long("cli", "procedures")
def test_the_job_of_a_writing_load_says_so(shell, tmp_path):
    file = tmp_path / "disk.img"
    file.write_bytes(bytes(4 << 20))
    words = f"{file} {file.stat().st_size}"
    done = shell(
        "tune", file, *ON_A_FILE, "--rw", "randwrite", "--p99", "10ms", "--max-jobs", "1", "--overwrite", words,
        "-o", tmp_path / "d",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "d" / "best.fio").read_text()
    assert "OVERWRITES" in text
    assert f"filename={file}" in text
    assert "allow_file_create=0" in text


@pytest.mark.long("cli", "procedures")
def test_a_rate_that_is_too_slow_though_a_higher_one_is_not_runs_at_another_time(tmp_path):
    (tmp_path / "t").mkdir()
    way = Way(0.002, 2_000, 3e9)
    shell = Shell(Law(read=way, write=way, stall_every_seconds=3.3, stall_seconds=0.3))
    found = shell("tune", tmp_path / "t", *ON_A_FILE, "--p99", "10ms", "--max-jobs", "1", "-o", tmp_path / "d")
    assert found.returncode == 0, found.stderr
    curve = json.loads((tmp_path / "d" / "tune.json").read_text())["curve"]
    top = max(point["offered"] for point in curve if point["state"] == "within")
    # One that is borderline now may have been within when it was decided what runs again.
    slow = [point["n_visits"] for point in curve if point["offered"] < top and point["state"] == "over"]
    assert slow
    assert set(slow) == {6}


@pytest.mark.long("cli", "procedures")
def test_a_search_on_a_token_bucket_finds_what_it_sustains(tmp_path):
    (tmp_path / "t").mkdir()
    way = Way(0.0002, 100_000, 10e6)
    shell = Shell(Law(read=way, write=way, burst=Burst(20e6, 8, 10e6)), start_seconds=0.4)
    found = shell("tune", tmp_path / "t", *ON_A_FILE, "--max-jobs", "4", "-o", tmp_path / "d")
    assert found.returncode == 0, found.stderr
    result = json.loads((tmp_path / "d" / "tune.json").read_text())
    sustained = 10e6 / 4096
    assert result["best"]["iops"] == pytest.approx(sustained, rel=0.1)
    assert 0.7 * sustained <= result["sizing"]["safe_iops"] <= 1.05 * sustained
    assert any(finding.code == "burst" for finding in load_result(tmp_path / "d").findings)
