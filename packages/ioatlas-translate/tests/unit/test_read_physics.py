# SPDX-License-Identifier: Apache-2.0
"""Arithmetic that every measurement obeys, on imported readings."""

from dataclasses import replace

import pytest

from ioatlas.answer.analysis.imported import imported_map
from ioatlas.model.imported_reading import ImportedReading, Labelled
from ioatlas_translate.read.physics import doubts

SOUND = ImportedReading(
    "a.json",
    7,
    "fio",
    direction="read",
    rw="randread",
    bs_bytes=4096,
    numjobs=4,
    iodepth=8,
    iops=32_000.0,
    bw_bytes_per_s=32_000.0 * 4096,
    lat_mean_ns=1e6,
    lat_p99_ns=3e6,
    runtime_seconds=30.0,
    io_bytes=32_000 * 4096 * 30,
)


def test_a_sound_reading_has_no_doubts():
    assert doubts(SOUND) == ()
    assert doubts(ImportedReading("a", 1, "fio")) == ()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"lat_mean_ns": 8.7 * 86400 * 1e9, "iodepth": None}, "mean latency"),
        ({"lat_p99_ns": 40e9}, "99th percentile latency"),
        ({"io_bytes": 4096}, "were moved"),
        ({"bs_bytes": 8192}, "make"),
        ({"tool": "ior", "bs_bytes": 2048}, "make"),
        ({"lat_mean_ns": 5e6}, "at most 32"),
        ({"details": {"total_ios": 32_000 * 20}}, "were made"),
        ({"details": {"lat_percentiles_ns": {"50": 900, "9": 1000, "99": 800}}}, "50%"),
        ({"details": {"lat_max_ns": 2e6}}, "99th percentile"),
        ({"details": {"clat_min_ns": 10, "clat_mean_ns": 40, "clat_max_ns": 30}}, "clat mean"),
        ({"details": {"lat_min_ns": 2e6}}, "below the least"),
        ({"lat_mean_ns": 0.2e6}, "The queue was not full"),
        ({"errors": 5}, "5 errors"),
        ({"errors": 28, "notes": ("errors is fio's error code 28, not a count",)}, "error 28"),
    ],
)
def test_each_contradiction_is_told(change, told):
    (sentence,) = doubts(replace(SOUND, **change))
    assert told in sentence


@pytest.mark.parametrize(
    "change",
    [
        {"lat_mean_ns": 0.2e6, "details": {"rate_iops": "100"}},  # paced: the queue need not be full
        {"lat_mean_ns": 0.2e6, "rw": "randrw"},  # the writes are another reading
        {"lat_mean_ns": 5e6, "notes": ("numjobs is vdbench threads: concurrent I/Os of each SD or FWD",)},
        {"iops": 33_000.0},  # rounded by the tool
        {"bw_bytes_per_s": 2**28, "io_bytes": None, "details": {"bw_half_digit_bytes_per_s": 2**27}},
        {"details": {"total_ios": 32_000 * 30, "lat_percentiles_ns": {"50": 1e6, "99": 3e6, "99.9": 2.99e6}}},
        {"lat_p99_kind": "completion", "details": {"lat_max_ns": 2e6, "buckets_ms": [[0, 1, 5]]}},
        {"tool": "ior", "bs_bytes": 8192},  # its bandwidth holds opening and closing, its I/Os do not
    ],
)
def test_what_may_be_is_not_told(change):
    assert doubts(replace(SOUND, **change)) == ()


@pytest.mark.parametrize(("rate", "sure"), [(3.98, True), (3.0, True), (2.1, True), (4.3, False)])
def test_a_count_without_its_fraction_may_be_almost_one_more(rate, sure):
    """`IOPS=3` of fio may be 3.98 of 64 MiB."""
    slow = replace(SOUND, bs_bytes=64 << 20, iops=3.0, bw_bytes_per_s=rate * (64 << 20), io_bytes=None)
    slow = replace(slow, lat_mean_ns=None, lat_p99_ns=None)
    assert (doubts(slow) == ()) is sure


def test_a_doubt_stands_once_at_the_reading_of_a_map():
    wrong = replace(SOUND, io_bytes=4096)
    kept = replace(wrong, notes=doubts(wrong))
    (estimate,) = imported_map([Labelled("", kept)]).estimates
    assert sum("were moved" in note for note in estimate.notes) == 1


def test_a_direction_without_a_pattern_is_still_named():
    names = [replace(SOUND, rw=None), replace(SOUND, rw=None, operation="stat", direction=None, line=8)]
    found = imported_map([Labelled("", one) for one in names])
    assert [one.cell.option["operation"] for one in found.estimates] == ["read, pattern not told", "stat"]
