# SPDX-License-Identifier: Apache-2.0
"""From fio's files of a batch to visits: what counts as finished, and what else became of a section."""

import json

import pytest

from ioatlas.load.fio.batch import Section
from ioatlas.load.fio.collect import read_batch, run_job
from ioatlas.load.fio.process import ProcessOutcome
from ioatlas.model.cell import Cell
from ioatlas.model.visit import Purpose, SectionState

CELL = Cell.of("t", {"rw": "randread", "bs": 4096, "size": 1 << 20, "iodepth": 1, "ioengine": "psync"})
WORK = Cell.of("t", {"rw": "write", "bs": 4096, "size": 1 << 20, "io_size": 1 << 20, "ioengine": "psync"})
START = 1_700_000_000_000
ASKED_MS, GAP_MS = 1000, 50


def section(number, cell=CELL):
    return Section(number, cell, 70 + number, ASKED_MS, GAP_MS, (("filename", "/x"),))


def job(number, ran_ms=ASKED_MS, ios=100, *, direction="read", **more):
    figures = {
        "io_bytes": ios * 4096,
        "bw_bytes": ios * 4096,
        "iops": ios,
        "runtime": ran_ms,
        "total_ios": ios,
        "short_ios": 2,
        "drop_ios": 3,
        "lat_ns": {"min": 1, "max": 9, "mean": 5.0, "N": ios, "bins": {"5": ios}},
        "clat_ns": {"min": 1, "max": 9, "mean": 4.0, "N": ios, "bins": {"4": ios}},
        **more.pop("figures", {}),
    }
    return {
        "jobname": f"v{number}",
        "error": 0,
        "usr_cpu": 10.0,
        "sys_cpu": 5.5,
        "job_runtime": ran_ms,
        direction: figures,
        **more,
    }


def batch(directory, jobs, starts, sections=None, cut=None):
    """What is read of a batch whose load of section n began `starts[n]` ms after START and had an I/O each 20 ms."""
    text = json.dumps({"fio version": "fio-3.33", "jobs": jobs}, indent=1)
    (directory / "fio.json").write_text(text[:cut])
    for number, begin in starts.items():
        times = range(begin + 20, begin + 101, 20)
        for name in ("bw", "lat"):
            lines = [f"{START + at}, 100, 0, 4096, 0, 0" for at in times]
            (directory / f"v{number}_{name}.log").write_text("\n".join(lines) + "\n")
    wanted = tuple(sections or [section(number) for number in starts])
    return read_batch(directory, wanted, 9, {1: 4}, {1: Purpose.FRESH})


def test_a_visit_is_what_fio_says_of_it(tmp_path):
    (result,) = batch(tmp_path, [job(1)], {1: 0})
    visit = result.visit
    assert (result.state, result.reason, result.overlap_ms, result.overloaded) == (SectionState.FINISHED, "", 0, "")
    assert (visit.visit_id, visit.cell_key, visit.batch_id, visit.section) == (1, CELL.key, 9, 0)
    assert (visit.replicate, visit.purpose, visit.seed, visit.error) == (4, Purpose.FRESH, 71, 0)
    assert visit.started_at == START / 1000
    assert visit.cpu_percent == 15.5
    (part,) = visit.parts
    assert (part.direction, part.io_bytes, part.total_ios, part.runtime_ms) == ("read", 409600, 100, 1000)
    assert (part.lat_mean_ns, part.lat_kind, part.histogram.bins) == (5.0, "total", ((5, 100),))
    assert (part.short_ios, part.drop_ios, part.stream) == (2, 3, "")
    assert part.series.interval_ms == 20
    assert len(part.series.bw_bytes_per_s) == 50


def test_what_the_journal_does_not_say_is_a_first_sweep(tmp_path):
    (result,) = batch(tmp_path, [job(2)], {2: 0})
    assert (result.visit.replicate, result.visit.purpose) == (0, Purpose.SWEEP)


def test_without_a_total_latency_that_of_completion_is_told_as_such(tmp_path):
    (result,) = batch(tmp_path, [job(1, figures={"lat_ns": {"mean": 0.0, "N": 0}})], {1: 0})
    (part,) = result.visit.parts
    assert (part.lat_mean_ns, part.lat_kind, part.histogram.bins) == (4.0, "completion", ((4, 100),))
    (result,) = batch(tmp_path, [job(1, figures={"lat_ns": None, "clat_ns": None})], {1: 0})
    (part,) = result.visit.parts
    assert (part.lat_mean_ns, part.histogram.count) == (None, 0)


def test_directions_without_an_io_are_no_part(tmp_path):
    silent = {"io_bytes": 0, "total_ios": 0, "runtime": 0, "iops": 0}
    (result,) = batch(tmp_path, [job(1, write=silent, trim=silent)], {1: 0})
    assert [part.direction for part in result.visit.parts] == ["read"]


def test_half_an_output_and_none_are_no_results(tmp_path):
    assert batch(tmp_path, [job(1)], {1: 0}, cut=-30) == []
    (tmp_path / "fio.json").unlink()
    assert read_batch(tmp_path, (section(1),), 9, {}, {}) == []


def test_a_section_that_fio_left_out_failed_and_the_others_stand(tmp_path):
    first, second = batch(tmp_path, [job(2)], {1: 0, 2: 1050})
    assert (first.state, first.visit, first.reason) == (SectionState.FAILED, None, "fio reported nothing for it")
    assert (second.state, second.visit.section) == (SectionState.FINISHED, 1)


@pytest.mark.parametrize(("error", "meaning"), [(5, "Input/output error"), (2**32 - 1, "unknown")])
def test_an_error_of_fio_fails_the_section_and_keeps_its_figures(tmp_path, error, meaning):
    (result,) = batch(tmp_path, [job(1, error=error)], {1: 0})
    assert (result.state, result.visit.error) == (SectionState.FAILED, error)
    assert result.reason == f"fio reported error {error} ({meaning})"
    assert result.visit.parts


@pytest.mark.parametrize(
    ("ran_ms", "state", "reason"),
    [
        (979, SectionState.CUT_SHORT, "its load ran 979 of 1000 ms"),
        (980, SectionState.FINISHED, ""),
        (1150, SectionState.FINISHED, ""),
        (1151, SectionState.OVER_RUN, "ran longer than asked: 1151 ms instead of 1000"),
    ],
)
def test_a_load_runs_as_long_as_it_was_asked_to(tmp_path, ran_ms, state, reason):
    (result,) = batch(tmp_path, [job(1, ran_ms)], {1: 0})
    assert (result.state, result.reason) == (state, reason)


@pytest.mark.parametrize(("numjobs", "second_ms", "failed"), [(2, 1500, True), (2, 480, False), (1, 1500, False)])
def test_jobs_that_did_not_work_at_the_same_time_have_no_common_rate(tmp_path, numjobs, second_ms, failed):
    load = [section(1, Cell.of("t", {**CELL.option, "numjobs": numjobs}))]
    batch(tmp_path, [job(1)], {1: 0})
    for log in tmp_path.glob("v1_*.log"):
        log.write_text(log.read_text() + f"{START + second_ms + 20}, 100, 0, 4096, 0, 0\n")
    (result,) = read_batch(tmp_path, tuple(load), 9, {}, {})
    assert result.state is (SectionState.FAILED if failed else SectionState.FINISHED)
    assert ("serves fewer than 2 at a time; use --numjobs 1" in result.reason) is failed


@pytest.mark.parametrize(("ran_ms", "ios", "done"), [(999, 5, True), (1000, 5, False), (10, 0, False)])
def test_work_is_done_within_its_cap_or_not_at_all(tmp_path, ran_ms, ios, done):
    work = [section(1, WORK)]
    (result,) = batch(tmp_path, [job(1, ran_ms, ios, direction="write")], {1: 0}, work)
    assert result.state is (SectionState.FINISHED if done else SectionState.FAILED)
    assert result.reason == ("" if done else "the work was not done within its time cap")


def test_a_window_without_an_io_failed_and_a_short_one_was_cut(tmp_path):
    (result,) = batch(tmp_path, [job(1, 1000, 0)], {1: 0})
    assert result.state is SectionState.FAILED
    assert result.reason == "no I/O completed"
    (result,) = batch(tmp_path, [job(1, 500, 0)], {1: 0})
    assert result.state is SectionState.CUT_SHORT


@pytest.mark.parametrize(("second_at", "overlap_ms"), [(1000, 0), (960, 0), (959, 41), (700, 300)])
def test_neighbours_that_overlap_disturb_each_other(tmp_path, second_at, overlap_ms):
    """Two intervals of 20 ms are allowed for; the third section follows in time."""
    jobs = [job(number) for number in (1, 2, 3)]
    results = batch(tmp_path, jobs, {1: 0, 2: second_at, 3: 2100})
    assert [one.overlap_ms for one in results] == [overlap_ms, overlap_ms, 0]
    wanted = SectionState.OVER_RUN if overlap_ms else SectionState.FINISHED
    assert [one.state for one in results] == [wanted, wanted, SectionState.FINISHED]
    reason = f"overlapped its neighbour by {overlap_ms} ms" if overlap_ms else ""
    assert [one.reason for one in results] == [reason, reason, ""]


def test_a_long_load_may_overlap_by_a_fiftieth(tmp_path):
    for second_at, state in ((940, SectionState.FINISHED), (939, SectionState.OVER_RUN)):
        first, _ = batch(tmp_path, [job(1), job(2, 3000)], {1: 0, 2: second_at})
        assert first.state is state


def test_streams_of_one_visit_begin_with_the_first_of_them(tmp_path):
    options = tuple(sorted({"rw": "randread", "bs": 4096, "size": 1 << 20}.items()))
    cell = Cell("t", (), streams=(("a", options), ("b", options)))
    jobs = [job("1-1", usr_cpu=30.0), job("1-2", 1100, 60)]
    for first, second in ((0, 40), (40, 0)):
        (result,) = batch(tmp_path, jobs, {"1-1": first, "1-2": second}, [section(1, cell)])
        assert result.visit.started_at == START / 1000
        assert result.visit.cpu_percent == 35.5
        assert [(part.stream, part.total_ios) for part in result.visit.parts] == [("a", 100), ("b", 60)]


class Fio:
    def __init__(self, text):
        self.text, self.load, self.job = text, None, ""

    def run(self, load, _minder):
        self.load, self.job = load, (load.directory / "job.fio").read_text()
        if self.text:
            (load.directory / "fio.json").write_text(self.text)
        return ProcessOutcome(0, 1.0, "", "")


def test_the_job_lies_in_its_directory_and_the_output_is_read_back(tmp_path):
    fio = Fio('{"fio version": "fio-3.40", "jobs": [{"jobname": "a", "read": {"io_bytes": 7}}]}')
    _, output = run_job(fio, "[a]\n", tmp_path / "new", expected_seconds=10, options=("--readonly",))
    assert fio.job == "[a]\n"
    assert fio.load.arguments[0] == "--readonly"
    assert fio.load.limit_seconds == 45
    assert output.jobs[0].directions["read"].io_bytes == 7


def test_the_output_of_an_earlier_run_is_never_taken_for_this_one(tmp_path):
    (tmp_path / "fio.json").write_text(
        '{"fio version": "fio-3.40", "jobs": [{"jobname": "a", "read": {"io_bytes": 7}}]}'
    )
    _, output = run_job(Fio(""), "[a]\n", tmp_path, expected_seconds=1)
    assert output is None


def test_the_logs_of_an_earlier_run_are_gone_for_fio_appends_to_them(tmp_path):
    (tmp_path / "layout0_bw.log").write_text("1795731508940, 85333, 1, 0, 0\n")
    run_job(Fio(""), "[a]\n", tmp_path, expected_seconds=1)
    assert list(tmp_path.glob("*.log")) == []
