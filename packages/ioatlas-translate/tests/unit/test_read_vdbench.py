# SPDX-License-Identifier: Apache-2.0
import pytest
from read_samples import read_path, read_text
from tests.facts import has
from tests.unit.samples import sample

MIB = 1 << 20
RAW = """\
13:49:00.011 Starting RD=rd1; I/O rate: Uncontrolled MAX; elapsed=60; For loops: xfersize=8k threads=4

Apr 08, 2026  interval        i/o   MB/sec   bytes   read     resp     read    write     resp     resp queue  cpu%  cpu%
                             rate  1024**2     i/o    pct     time     resp     resp      max   stddev depth sys+u   sys
13:49:01.000         1     100.00     0.78    8192  60.00    2.000    3.000    0.500   10.000    1.000   4.0   1.2   0.2
13:50:00.270  avg_2-60     200.00     1.56    8192  60.00    2.000    3.000    0.500   10.000    1.000   4.0   1.2   0.2
"""


def test_mixed_raw_average():
    readings, problems = read_text(RAW)
    assert problems == []
    read, write, both = readings
    assert (read.iops, read.lat_mean_ns, read.bw_bytes_per_s) == (120.0, 3_000_000, 120 * 8192)
    assert (write.iops, write.lat_mean_ns) == (80.0, 500_000)
    has(both, direction="mixed", iops=200.0, bw_bytes_per_s=200 * 8192, bs_bytes=8192, numjobs=4)


def test_java_prints_in_the_locale():
    comma = RAW.replace(".000  ", ",000  ")
    for text in ("200.00", "1.56", "60.00", "2.000", "3.000", "0.500", "10.000", "1.000", "4.0 ", "1.2 ", "0.2\n"):
        comma = comma.replace(text, text.replace(".", ","))
    plain, other = read_text(RAW)[0], read_text(comma)[0]
    assert [r.lat_mean_ns for r in other] == [r.lat_mean_ns for r in plain]
    assert [r.iops for r in other] == [r.iops for r in plain]


def test_run_without_an_average_is_not_passed_off_as_one():
    readings, problems = read_text(RAW[: RAW.index("13:50:00")])
    assert {reading.statistic for reading in readings} == {"unknown"}
    assert "no average line" in problems[0]


def test_samples():
    totals = read_path(sample("vdbench/raw-two-hosts/totals.html"))[0]
    both = [r for r in totals if r.direction == "mixed"]
    assert [(r.label, r.iops, r.lat_mean_ns, r.line) for r in both] == [
        ("rd1", 50.02, 5_395_000, 15),
        ("rd2", 212.42, 9_400_000, 19),
        ("rd3", 310.05, 6_439_000, 23),
    ]
    flat, problems = read_path(sample("vdbench/raw-two-hosts/flatfile.html"))
    assert problems == []
    assert len(flat) == 9
    read = flat[0]
    has(read, rw="randrw", rwmixread=75.0, bs_bytes=4096, size_bytes=16 << 30, lat_mean_ns=6_943_800)
    assert read.iops == pytest.approx(50.0169 * 0.759065)
    curve = read_path(sample("vdbench/curve/totals.html"))[0]
    assert (len(curve), curve[0].iops, curve[0].bw_bytes_per_s, curve[0].direction) == (
        16,
        780.4,
        pytest.approx(390.2 * MIB),
        "read",
    )
    assert curve[1].label == "lblkseqreadrun_(1%)"
    files = read_path(sample("vdbench/filesystem-fwd/totals.html"))[0]
    assert [(r.direction, r.operation, r.iops) for r in files] == [
        ("read", None, 33891.0),
        (None, "open", 42.8),
        (None, "close", 42.8),
    ]
    assert files[0].bw_bytes_per_s == pytest.approx(132.3 * MIB)
    histogram = read_path(sample("vdbench/raw-two-hosts/histogram.html"))[0]
    assert (histogram[0].details["total_ios"], histogram[0].details["lat_p99_between_ns"]) == (2951, [40e6, 60e6])
    assert histogram[0].lat_p99_ns is None
    for name in ("raw-two-hosts", "filesystem-fwd"):
        summary, problems = read_path(sample(f"vdbench/{name}/summary.html"))
        assert problems == []
        assert [r.iops for r in summary] == [r.iops for r in read_path(sample(f"vdbench/{name}/totals.html"))[0]]


def test_a_mean_transfer_size_that_is_a_power_of_two_is_the_block_size():
    plain = RAW.replace("; For loops: xfersize=8k threads=4", "")
    readings, _ = read_text(plain)
    assert [r.bs_bytes for r in readings] == [8192] * 3
    assert readings[0].bw_bytes_per_s == readings[0].iops * 8192
    assert all("block size is the mean transfer size, a power of two" in r.notes for r in readings)
    assert all(r.runtime_seconds == 60 for r in readings)
    mixed, _ = read_text(plain.replace("    8192  60.00", "    9217  60.00"))
    assert [r.bs_bytes for r in mixed] == [None] * 3


def test_a_histogram_row_without_a_count_is_named():
    text = (
        "Starting RD=rd1;\n   min(ms) < max(ms)  count  %%  cum%%\n"
        "  0.000 <  0.020     ,  1.0  1.0\n  0.020 <  0.040     7  9.0  9.0\n"
    )
    readings, problems = read_text(text)
    assert [r.details["total_ios"] for r in readings] == [7]
    assert any("cannot be read" in problem for problem in problems)


def test_header_of_later_file_system_runs():
    """Vdbench 5.04.06 and later print `.Interval.` with single dots and longer group names."""
    readings, problems = read_text(
        "16:10:00.001 Starting RD=rd1; elapsed=600; fwdrate=max. For loops: None\n"
        "Dec 11, 2020 .Interval. .ReqstdOps... ...cpu%...  read ....read..... ....write.... ..mb/sec... mb/sec .xfer.. "
        "...mkdir.... ...rmdir.... "
        "...create... ....open.... ...close.... ...delete...\n"
        "                          rate   resp total  sys   pct   rate   resp   rate   resp  read write  total    size "
        " rate   resp  rate   resp  "
        "rate   resp  rate   resp  rate   resp  rate   resp\n"
        "16:19:08.066  avg_2-600 3302.5 19.301  28.1 3.70  59.9 1978.1  6.702 1324.4 38.112  1978  1324 3302.5 1048576 "
        "  0.0  0.000   0.0  0.000   "
        "0.0  0.000  13.9  0.048  13.9  0.019   0.0  0.000\n"
    )
    assert problems == []
    figures = [
        (reading.direction or reading.operation, reading.iops, reading.bw_bytes_per_s, reading.lat_mean_ns)
        for reading in readings
    ]
    assert figures == [
        ("read", 1978.1, 1978 * 2**20, 6_702_000),
        ("write", 1324.4, 1324 * 2**20, 38_112_000),
        ("open", 13.9, None, 48_000),
        ("close", 13.9, None, 19_000),
    ]


def test_an_average_of_no_interval_is_not_zero():
    text = RAW.replace("13:50:00.270  avg_2-60     200.00     1.56", "13:50:00.270  avg_2-1        0.00     0.00")
    readings, problems = read_text(text)
    assert {reading.statistic for reading in readings} == {"unknown"}
    assert all(reading.iops for reading in readings)
    assert any("only its last interval" in problem for problem in problems)
