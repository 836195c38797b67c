# SPDX-License-Identifier: Apache-2.0
import itertools
import math

import pytest

from ioatlas.errors import UsageError
from ioatlas.interop.studies import NAMES, spc1, study
from ioatlas.interop.translate.vdbench_data import folded_share, hot_band
from ioatlas.interop.translation import from_workloads

GIB = 1 << 30


@pytest.mark.parametrize("name", [name for name in NAMES if name != "spc1e-like"])
def test_every_study_compiles_and_says_what_differs(name):
    made = study(name, GIB)
    assert made.remarks
    assert from_workloads(name, name, made.workloads).job_file


def test_iozone2017_is_nine_operations_for_each_record():
    made = study("iozone2017")
    streams = [stream for workload in made.workloads for stream in workload.streams]
    assert len(streams) == 9 * 13
    assert all(workload.runtime_seconds is None for workload in made.workloads)
    assert made.repeats == 40
    assert {stream.size_bytes for stream in streams if stream.operation == "read"} == {4 * GIB}


def test_trace_has_the_published_shares():
    """Derived figures of the load: 39.4% reads, 8.0 KiB a transfer, parts 59.6, 12.3 and 28.1% of the I/O."""
    accesses = list(spc1.trace(4 * GIB, 20, 30.0, seed=7))
    n = len(accesses)
    assert n == pytest.approx(20 * 50 * 30, abs=5 * math.sqrt(30_000))

    def near(count: int, share: float) -> bool:
        return abs(count - n * share) < 5 * math.sqrt(n * share * (1 - share))

    assert near(sum(a.operation == "read" for a in accesses), 0.394)
    edges = (0, 0.45 * 4 * GIB, 0.90 * 4 * GIB, 4 * GIB)
    for (low, high), share in zip(itertools.pairwise(edges), (0.596, 0.123, 0.281), strict=True):
        assert near(sum(low <= a.offset_bytes < high for a in accesses), share)
    for kind in spc1.STREAMS:
        assert near(sum(a.stream == kind.name for a in accesses), kind.share)
    assert sum(a.length_bytes for a in accesses) / n / 1024 == pytest.approx(8.0, rel=0.03)
    assert all(a.at_us <= b.at_us for a, b in itertools.pairwise(accesses))
    assert all(a.offset_bytes % 4096 == 0 and a.offset_bytes + a.length_bytes <= 4 * GIB for a in accesses)
    assert accesses == list(spc1.trace(4 * GIB, 20, 30.0, seed=7))


def test_hot_streams_stay_in_their_regions():
    for access in spc1.trace(4 * GIB, 5, 20.0):
        if access.stream == "asu1-2":
            assert 0.15 - 1e-4 <= access.offset_bytes / (0.45 * 4 * GIB) < 0.20 + 1e-4


def test_reuse_distances_by_hand():
    assert spc1.reuse_distances([1, 2, 3, 1, 1, 2]) == [2, 0, 2]


def test_calibration_reports_its_error():
    theta, error = spc1.calibrate(1024, 5000)
    assert 0 < theta < 2
    assert 0 < error < 0.2


def test_a_target_too_small_for_the_walk_is_refused():
    with pytest.raises(UsageError):
        list(spc1.trace(1 << 20, 1, 1.0))


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
        study("nosuch")
