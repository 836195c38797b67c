# SPDX-License-Identifier: Apache-2.0
"""Batches as fio job files, and interval logs as series."""

import itertools
from pathlib import Path

import numpy as np
import pytest

from ioatlas.load.fio.batch import Batch, Section, job_text, take_sections
from ioatlas.load.fio.jobfile import JobSection, render_job
from ioatlas.load.fio.series import read_series
from ioatlas.model.cell import Cell
from ioatlas.model.errors import UsageError


def section(visit_id, jobs=1, runtime_ms=490, **options):
    cell = Cell.of(
        "t",
        {"rw": "randread", "bs": 4096, "size": 1 << 20, "numjobs": jobs, "iodepth": 1, "ioengine": "psync", **options},
    )
    return Section(visit_id, cell, 7, runtime_ms, 10, (("filename", "/mnt/a:b/shared.dat"),))


def test_the_job_file_holds_bare_integers_seeds_and_no_ramp():
    text = job_text(Batch(1, Path("/x"), (section(1), section(2))))
    assert "bs=4096" in text
    assert "size=1048576" in text
    assert "randseed=7" in text
    assert "filename=/mnt/a\\:b/shared.dat" in text
    assert "ramp_time" not in text
    assert "clocksource=clock_gettime" in text
    assert text.count("time_based=1") == 2
    assert text.count("startdelay=") == 2


@pytest.mark.parametrize(
    ("runtime_ms", "interval_ms"),
    [(300, 10), (800, 20), (1250, 25), (1800, 50), (4200, 100), (7200, 100), (20000, 400)],
)
def test_intervals_of_a_log_hold_whole_slices_of_a_throttle(runtime_ms, interval_ms):
    assert section(1, runtime_ms=runtime_ms).interval_ms == interval_ms


def test_the_first_section_starts_at_once():
    assert Batch(1, Path("/x"), (section(1),)).start_ms == (0,)
    assert Batch(1, Path("/x"), (section(1), section(2))).start_ms[0] == 0


def test_sections_never_come_closer_than_their_turns():
    batch = Batch(1, Path("/x"), tuple(section(i) for i in range(1, 60)))
    starts = batch.start_ms
    steps = [b - a for a, b in itertools.pairwise(starts)]
    # Half a turn before the turn that is meant: fio's turns may run as far ahead or behind.
    assert 450 <= steps[0] <= 460
    assert min(steps[1:]) >= 502
    assert max(steps[1:]) <= 507
    assert batch.seconds * 1000 == pytest.approx(starts[-1] + 554, abs=5)


@pytest.mark.parametrize("runtime_ms", [490, 990])
@pytest.mark.parametrize(("delay_ms", "share"), [(0.0, 0.0), (1.5, 0.003), (3.5, 0.006)])
def test_hardly_a_section_starts_before_its_neighbour_has_ended(runtime_ms, delay_ms, share):
    """Turns of 100.1 ms, and starts that delay them at random by what was seen on a machine with two cores."""
    batch = Batch(1, Path("/x"), tuple(section(i, runtime_ms=runtime_ms) for i in range(1, 25)))
    steps = []
    for seed in range(40):
        delays = np.random.default_rng(seed).exponential(delay_ms, size=24)
        time_ms, begun = 0.0, []
        for start_ms, delay in zip(batch.start_ms, delays, strict=True):
            while time_ms < start_ms:
                time_ms += 100.1
            begun.append(time_ms)
            time_ms += 200.2 + delay
        steps += np.diff(begun).tolist()
    assert np.mean(np.array(steps) < runtime_ms + 10) <= share
    assert np.mean(steps) <= runtime_ms + 10 + 7


def test_work_bounded_cells_are_not_time_based():
    assert "time_based" not in job_text(Batch(1, Path("/x"), (section(1, io_size=1 << 20),)))


def test_batches_end_at_the_time_the_job_limit_and_lonely_sections():
    sections = [section(i) for i in range(100)]
    assert 30 <= len(take_sections(sections, seconds=20, alone=lambda _s: False)) <= 40
    many = [section(i, jobs=1000) for i in range(10)]
    assert len(take_sections(many, seconds=20, alone=lambda _s: False)) == 4
    lonely = take_sections(sections, seconds=20, alone=lambda s: s.visit_id == 5)
    assert [s.visit_id for s in lonely] == [0, 1, 2, 3, 4]
    assert [s.visit_id for s in take_sections(sections[5:], seconds=20, alone=lambda s: s.visit_id == 5)] == [5]


def write_logs(directory, rates, interval_ms=10, jobs=2, start=1_000_000):
    bw, lat = [], []
    for _ in range(jobs):
        for index, rate in enumerate(rates):
            time_ms = start + (index + 1) * interval_ms
            bw.append(f"{time_ms}, {rate}, 0, 0, 0")
            lat.append(f"{time_ms}, {1000 * (index + 1)}, 0, 0, 0")
    (directory / "v1_bw.log").write_text("\n".join(bw) + "\n")
    (directory / "v1_lat.log").write_text("\n".join(lat) + "\n")


def test_series_are_summed_over_jobs(tmp_path):
    write_logs(tmp_path, [100, 100, 200, 200])
    found = read_series(tmp_path, "v1", interval_ms=10, runtime_ms=40)
    series = found.by_direction["read"]
    assert series.bw_bytes_per_s == pytest.approx([2 * 100 * 1024] * 2 + [2 * 200 * 1024] * 2)
    assert series.lat_mean_ns == pytest.approx([1000, 2000, 3000, 4000])
    assert series.end_ms == (10, 20, 30, 40)
    assert (found.start_ms, found.end_ms) == (1_000_000, 1_000_040)


def test_a_log_cut_off_in_the_middle_of_a_line_still_gives_its_rest(tmp_path):
    write_logs(tmp_path, [100, 100], jobs=1)
    for name in ("v1_bw.log", "v1_lat.log"):
        path = tmp_path / name
        path.write_text(path.read_text() + "10000")
    assert read_series(tmp_path, "v1", interval_ms=10, runtime_ms=20).by_direction[
        "read"
    ].bw_bytes_per_s == pytest.approx([102400, 102400])


def test_missing_logs_give_no_series(tmp_path):
    assert read_series(tmp_path, "v9", interval_ms=10, runtime_ms=100).by_direction == {}


def test_order_does_not_depend_on_the_mapping():
    a = render_job([JobSection("a", {"size": 1 << 20, "rw": "read", "bs": 4096})], {"direct": 1, "ioengine": "psync"})
    b = render_job([JobSection("a", {"bs": 4096, "rw": "read", "size": 1 << 20})], {"ioengine": "psync", "direct": 1})
    assert a == b == "[global]\nioengine=psync\ndirect=1\n\n[a]\nrw=read\nbs=4096\nsize=1048576\n"


def test_values_of_every_kind():
    text = render_job(
        [
            JobSection(
                "x",
                {
                    "stonewall": None,
                    "invalidate": True,
                    "thinktime": 2.5,
                    "filename": ("/a:b", "/c"),
                    "bs": "4096,8192",
                },
            )
        ]
    )
    assert text == "[x]\nfilename=/a\\:b:/c\nbs=4096,8192\ninvalidate=1\nstonewall\nthinktime=2.5\n"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("rw", "read\nexec_prerun=id"),
        ("rw", "read\r"),
        ("rw", "read;x"),
        ("rw", "read # x"),
        ("rw", ""),
        ("rw", " read"),
        ("rw", "[a]"),
        ("filename", "/x/${HOME}"),
        ("filename", "/x/$ncpus"),
        ("bs", "4k"),
        ("size", "1GiB"),
        ("thinktime", float("nan")),
        ("include", "/etc/passwd"),
        ("a b", 1),
        ("[x", 1),
        ("rw=read\nx", 1),
        ("filename", "/" + "a" * 5000),
        ("rw", ("a", "b")),
    ],
)
def test_what_fio_would_read_differently_is_refused(name, value):
    with pytest.raises(UsageError):
        render_job([JobSection("x", {name: value})])


@pytest.mark.parametrize("name", ["", "a]", "[a", "a\nb", "global", "globalx", "a;b", "a#b", "x" * 300, " a"])
def test_section_names_are_checked(name):
    with pytest.raises(UsageError):
        render_job([JobSection(name, {"rw": "read"})])
