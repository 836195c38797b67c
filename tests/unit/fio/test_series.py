# SPDX-License-Identifier: Apache-2.0
"""fio's interval logs as series, value by value."""

from itertools import pairwise

import numpy as np
import pytest

from ioatlas.load.fio.series import Moved, read_series

KIB = 1024
START = 1_000_000


def written(directory, bandwidth, latency):
    """Logs from rows of (ms since the start, value, direction)."""
    for name, rows in (("bw", bandwidth), ("lat", latency)):
        lines = [f"{START + at}, {value}, {way}, 4096, 0, 0x0000" for at, value, way in rows]
        (directory / f"v1_{name}.log").write_text("\n".join(lines) + "\n")


def read(directory, runtime_ms):
    return read_series(directory, "v1", interval_ms=10, runtime_ms=runtime_ms)


def test_after_its_last_sample_a_job_goes_on_at_that_rate_for_one_interval(tmp_path):
    written(tmp_path, [(10, 100, 0), (20, 100, 0), (30, 300, 0)], [(10, 5, 0), (20, 6, 0), (30, 7, 0)])
    for runtime_ms, after in ((30, []), (40, [300]), (60, [300, 0, 0])):
        rates = read(tmp_path, runtime_ms).by_direction["read"].bw_bytes_per_s
        assert rates == pytest.approx([KIB * rate for rate in (100, 100, 300, *after)])


def test_a_last_sample_inside_an_interval_goes_on_from_there(tmp_path):
    """The mean of its last 5 ms holds for the 10 ms after it, and no longer."""
    written(tmp_path, [(10, 100, 0), (15, 200, 0)], [(10, 5, 0), (20, 6, 0)])
    rates = read(tmp_path, 40).by_direction["read"].bw_bytes_per_s
    assert rates == pytest.approx([KIB * rate for rate in (100, 200, 100, 0)])


def test_samples_at_one_time_are_one_place(tmp_path):
    written(tmp_path, [(10, 100, 0), (20, 100, 0), (20, 900, 0)], [(10, 5, 0), (20, 6, 0)])
    rates = read(tmp_path, 30).by_direction["read"].bw_bytes_per_s
    assert rates == pytest.approx([KIB * 100, KIB * 100, 0])


def test_an_interval_without_a_latency_has_none_and_two_jobs_count_alike(tmp_path):
    written(tmp_path, [(10, 1, 0)], [(10, 100, 0), (30, 400, 0), (10, 300, 0)])
    found = read(tmp_path, 50)
    assert found.by_direction["read"].lat_mean_ns == (200, 0, 400, 0, 0)
    assert found.by_direction["read"].end_ms == (10, 20, 30, 40, 50)
    assert (found.start_ms, found.end_ms) == (START, START + 30)


def test_what_comes_after_the_runtime_belongs_to_the_last_interval(tmp_path):
    written(tmp_path, [(10, 1, 0)], [(10, 100, 0), (20, 200, 0), (35, 400, 0)])
    assert read(tmp_path, 20).by_direction["read"].lat_mean_ns == (100, 300)


def test_each_direction_has_its_own_rows(tmp_path):
    written(
        tmp_path,
        [(10, 100, 0), (10, 50, 1), (20, 100, 0), (20, 70, 1)],
        [(10, 5, 0), (10, 8, 1), (20, 6, 0), (20, 9, 1)],
    )
    found = read(tmp_path, 20).by_direction
    assert list(found) == ["read", "write"]
    assert found["write"].bw_bytes_per_s == pytest.approx([50 * KIB, 70 * KIB])
    assert found["write"].lat_mean_ns == (8, 9)


def test_of_slow_io_a_sample_is_the_mean_of_one_interval_and_none_lies_between(tmp_path):
    """Of 1 MiB I/Os of 50 ms fio 3.33 logs 1024 KiB in an interval of 10 ms, then nothing for 40."""
    rows = [(at, 102_400, 0) for at in (50, 100, 150)]
    written(tmp_path, rows, [(at, 50_000_000, 0) for at in (50, 100, 150)])
    found = read_series(tmp_path, "v1", interval_ms=10, runtime_ms=150, moved={"read": Moved(3 << 20, 3)})
    rates = np.array(found.by_direction["read"].bw_bytes_per_s)
    assert found.start_ms == START, "what a first sample holds took 50 ms"
    assert rates.sum() * 0.01 == pytest.approx(3 << 20)
    assert np.nonzero(rates)[0].tolist() == [4, 9, 14]


def test_slow_ios_with_a_latency_each_are_where_these_came_back_the_last_one_too(tmp_path):
    """Rows of fio 3.33: of 1 MiB I/Os of 165 ms its log of rates comes late, and has no row of the last."""
    ends = [45, 203, 366, 531, 696, 860, 1025]
    bandwidth = [(at, rate, 0) for at, rate in zip((146, 226, 376, 552, 701, 876), (7062, *[40_960] * 5), strict=True)]
    written(tmp_path, bandwidth, [(at, 1_000_000 * (at - last), 0) for last, at in pairwise([0, *ends])])
    found = read_series(tmp_path, "v1", interval_ms=25, runtime_ms=1025, moved={"read": Moved(7 << 20, 7)})
    rates = np.array(found.by_direction["read"].bw_bytes_per_s)
    assert found.start_ms == START
    assert np.flatnonzero(rates).tolist() == [(at - 1) // 25 for at in ends]
    assert rates[rates > 0] * 0.025 == pytest.approx([1 << 20] * 7)


def test_of_slow_ios_of_many_jobs_the_last_of_each_has_no_row_and_moves_none_before_it(tmp_path):
    """Eight jobs that take turns, 120 ms an I/O: what is in flight when the time is up came after it."""
    ends = [[15 * job + 120 * n for n in range(1, 9)] for job in range(8)]
    written(
        tmp_path, [(at, 20_480, 0) for job in ends for at in job], [(at, 120_000_000, 0) for job in ends for at in job]
    )
    found = read_series(tmp_path, "v1", interval_ms=50, runtime_ms=1185, moved={"read": Moved(72 << 20, 72)})
    done = np.cumsum(found.by_direction["read"].bw_bytes_per_s) * 0.05 / 2**20
    assert (done[19] - done[3]) / 0.8 == pytest.approx(8 / 0.12, rel=0.02)


def test_what_fio_logged_nothing_of_is_at_both_ends_at_the_same_rate_and_else_everywhere(tmp_path):
    """Six I/Os more than the log has: two in the 100 ms without a sample, one before the first, and three unplaced."""
    rows = [(at, 102_400, 0) for at in (50, 100, 150, 200, 250)]
    written(tmp_path, rows, [(at, 50_000_000, 0) for at in (50, 100, 150, 200, 250)])
    moved = {"read": Moved(11 << 20, 11)}
    found = read_series(tmp_path, "v1", interval_ms=10, runtime_ms=350, moved=moved)
    rates = np.array(found.by_direction["read"].bw_bytes_per_s)
    assert rates.sum() * 0.01 == pytest.approx(11 << 20)
    assert rates[25:].sum() / rates.sum() == pytest.approx(100 / 350)
    assert np.nonzero(rates[4:25])[0].tolist() == [0, 5, 10, 15, 20]
    assert 0 < rates[:4].sum() < rates[4]


def test_where_the_first_samples_are_missing_the_load_was_as_fast_as_later(tmp_path):
    """The log of rates may begin 140 ms after that of latencies: fio 3.33."""
    rows = [(at, 1000, 0) for at in range(150, 210, 10)]
    written(tmp_path, rows, [(at, 4_300_000, 0) for at in range(10, 210, 10)])
    moved = {"read": Moved(50 * 4096, 50)}
    found = read_series(tmp_path, "v1", interval_ms=10, runtime_ms=200, moved=moved)
    done = np.cumsum(found.by_direction["read"].bw_bytes_per_s) * 0.01
    assert done[9] == pytest.approx(done[-1] / 2, rel=0.1)


def test_a_late_sample_of_slow_io_holds_whole_ios_over_a_longer_time(tmp_path):
    """Rows of one or two I/Os of 1 MiB over 50 to 98 ms, where 50 ms were asked for; none is made up at the start."""
    late = [(200, 20_480), (400, 12_337), (600, 10_448), (800, 16_516), (1000, 12_337), (1200, 24_674)]
    written(tmp_path, [(at, rate, 0) for at, rate in late], [(at, 200_000_000, 0) for at, _ in late])
    found = read_series(tmp_path, "v1", interval_ms=50, runtime_ms=1200, moved={"read": Moved(7 << 20, 7)})
    done = np.cumsum(found.by_direction["read"].bw_bytes_per_s) * 0.05
    assert done[-1] == pytest.approx(7 << 20)
    assert done[3] == pytest.approx(1 << 20, rel=0.05)
    assert done[15] == pytest.approx(4 << 20, rel=0.05)


def test_where_fio_was_late_a_sample_holds_for_the_whole_gap(tmp_path):
    rows = [(10, 100, 0), (40, 100, 0), (50, 100, 0)]
    written(tmp_path, rows, [(at, 5, 0) for at in (10, 40, 50)])
    moved = {"read": Moved(100 * KIB * 50 // 1000, 500)}
    found = read_series(tmp_path, "v1", interval_ms=10, runtime_ms=50, moved=moved)
    assert found.by_direction["read"].bw_bytes_per_s == pytest.approx([100 * KIB] * 5)


def test_a_row_that_no_io_made_is_left_out(tmp_path):
    begin = 1_795_456_536_000
    whole = [f"{begin + 100 * n}, 150, 0, 0, 0" for n in range(1, 11)]
    for stray in ("195, 0, 160224448, 158526343, 0", "195, 0, 0, 0, 0", f"{begin}, 7, 160224448, 0, 0"):
        (tmp_path / "v_bw.log").write_text("\n".join([*whole, stray]) + "\n")
        (tmp_path / "v_lat.log").write_text("\n".join([*whole, stray]) + "\n")
        found = read_series(tmp_path, "v", interval_ms=100, runtime_ms=1000)
        assert found.start_ms == begin, stray
        assert set(found.by_direction) == {"read"}


def test_where_io_passes_in_slices_nothing_came_back_between_them(tmp_path):
    """31 I/Os in 10 ms of every 100 ms: drawn over the gaps they would be ten times as many as were moved."""
    rate = 31 * 4 * 100  # KiB/s
    slices = [(10 + 100 * k, rate, 0) for k in range(10)]
    written(tmp_path, slices, [(at, 5_000_000, 0) for at, _, _ in slices])
    found = read_series(tmp_path, "v1", interval_ms=10, runtime_ms=1000, moved={"read": Moved(310 * 4096, 310)})
    rates = np.array(found.by_direction["read"].bw_bytes_per_s)
    assert rates.sum() / 100 == pytest.approx(310 * 4096)
    assert rates[10:].reshape(9, 10).sum(axis=1) == pytest.approx(31 * 4096 * 100)
    assert (rates > 0).sum() == 10


def test_of_several_jobs_each_tells_when_fio_looked_at_all(tmp_path):
    """Four jobs make 2 I/Os of 1 MiB each in 100 ms, then one every 400 ms in turn; fio looks at some moments late."""
    counts = {100: 2, 280: 4, 380: 2, 550: 3}
    fast = list(zip(counts, np.diff([0, *counts]), counts.values(), strict=True))
    ticks = [650, 750, 920, 1020, 1120, 1290, *range(1390, 3000, 100)]
    bandwidth, latency = [], []
    for job in range(4):
        rows = [(at, KIB * ios * 1000 // seconds, 0) for at, seconds, ios in fast]
        before = [550, *ticks]
        rows += [(at, KIB * 1000 // (at - before[n]), 0) for n, at in enumerate(ticks) if n % 4 == job]
        bandwidth += rows
        latency += [(at, 50_000_000, 0) for at, _, _ in rows]
    written(tmp_path, bandwidth, latency)
    total = 4 * sum(counts.values()) + len(ticks)
    moved = {"read": Moved(total << 20, total)}
    found = read_series(tmp_path, "v1", interval_ms=100, runtime_ms=3000, moved=moved)
    done = np.cumsum(found.by_direction["read"].bw_bytes_per_s) * 0.1 / 2**20
    assert done[[0, 4, 9, 12]] == pytest.approx([8, 44 - 12 * 50 / 170, 44 + 3.8, 44 + 6.1], abs=0.3)
    assert done[-1] == pytest.approx(total, rel=0.02)


@pytest.mark.parametrize("took", [48, 72, 145, 180])
def test_what_was_in_flight_at_the_end_is_in_no_interval_before(tmp_path, took):
    """16 jobs begin 5 ms after each other; fio samples a job when an I/O of it comes back 100 ms after the last one."""
    bandwidth, latency, ios, last = [], [], 0, 0
    for job in range(16):
        sampled = held = 0
        for at in range(5 * job + took, 2800 + took, took):
            ios, held, last = ios + 1, held + 1, max(last, at)
            if at - (sampled or 5 * job) >= 100:
                bandwidth.append((at, held * KIB * 1000 // (at - (sampled or 5 * job)), 0))
                latency.append((at, took * 1_000_000, 0))
                sampled, held = at, 0
    written(tmp_path, bandwidth, latency)
    moved = {"read": Moved(ios << 20, ios)}
    found = read_series(tmp_path, "v1", interval_ms=100, runtime_ms=last, moved=moved).by_direction["read"]
    assert np.mean(found.bw_bytes_per_s[8:28]) == pytest.approx(16 * 1000 / took * 2**20, rel=0.015)
