# SPDX-License-Identifier: Apache-2.0
import pytest
from bench.translate.reuse import calibrate, reuse_distances

from ioatlas.load.streams.compile import compile_workload
from ioatlas.load.streams.fixed_work import round_of
from ioatlas.load.streams.standards import NAMES, folded_share, hot_band, reuse_theta, study
from ioatlas.model.errors import UsageError

GIB = 1 << 30


@pytest.mark.parametrize("name", NAMES)
def test_every_study_compiles_and_says_what_differs(name):
    made = study(name, GIB)
    assert made.remarks
    assert all(compile_workload(workload).sections for workload in made.workloads)


def test_iozones_round_is_nine_operations_on_one_file():
    streams = [
        stream for workload in round_of("iozone2017", 4 * GIB, 1 << 16, direct=True) for stream in workload.streams
    ]
    assert len(streams) == 9
    assert {stream.size_bytes for stream in streams if stream.operation == "read"} == {4 * GIB}


def test_a_record_that_does_not_fit_into_its_file_is_refused():
    with pytest.raises(UsageError):
        round_of("iozone2017", 1 << 16, 1 << 17, direct=True)


def test_spc1_like_has_the_published_shares():
    """39.4% reads; parts 59.6, 12.3 and 28.1% of the I/O."""
    full = study("spc1-like", 4 * GIB).workloads[0]
    rates = {stream.name: stream.arrival.rate_iops for stream in full.streams}
    assert sum(rates.values()) == pytest.approx(500)
    assert sum(rate for name, rate in rates.items() if name.endswith("read")) == pytest.approx(0.394 * 500, rel=0.002)
    for part, share in (("asu1", 0.596), ("asu2", 0.123), ("asu3", 0.281)):
        assert sum(rate for name, rate in rates.items() if name.startswith(part)) == pytest.approx(share * 500)


def test_reuse_distances_by_hand():
    assert reuse_distances([1, 2, 3, 1, 1, 2]) == [2, 0, 2]


def test_calibration_reports_its_error():
    theta, error = calibrate(1024, 8000)
    assert theta == reuse_theta(1024)
    assert 0 < error < 0.14


def test_hot_band_zones_follow_the_curve():
    assert folded_share(1000.0, 1000.0) == pytest.approx(1.0)
    size = 8 * GIB
    address, note = hot_band(size, 4096, 100.0)
    assert note.level == "approximate"
    assert sum(share for share, _ in address.zones) == pytest.approx(100)
    assert sum(extent for _, extent in address.zones) == size
    done = share = 0.0
    for part, extent in address.zones:
        done, share = done + extent, share + part
        assert folded_share(done / 1e6, size / 1e6) == pytest.approx(share / 100, abs=0.02)
    # Biased to the start of the band: its first tenth has more than twice its share.
    assert folded_share(size / 1e7, size / 1e6) > 0.2


def test_unknown_study():
    with pytest.raises(UsageError):
        study("nosuch", GIB)
