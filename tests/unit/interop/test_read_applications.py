# SPDX-License-Identifier: Apache-2.0
"""Results of pgbench, mdtest, dbench and db_bench as readings.

Those in `results` are of the real programs.
"""

from pathlib import Path

import pytest

from tests.facts import has
from tests.unit.interop.read_samples import one, read_path, read_text

RESULTS = Path(__file__).parent / "results"


def result(name):
    return read_path(RESULTS / name)


def test_pgbench_run_and_its_scripts():
    (run, first, second), problems = result("pgbench-15-scripts.txt")
    assert problems == []
    assert (run.tool, run.tool_version, run.operation, run.numjobs) == ("pgbench", "15.18", "multiple scripts", 2)
    assert (run.iops, run.lat_mean_ns, run.errors, run.line) == (2258.100937, 886_000, 0, 14)
    assert run.details["transactions"] == 100
    has(first, label="script 1", operation="TPC-B (sort of)", iops=270.972112, lat_mean_ns=4_387_000)
    assert (second.operation, second.iops, second.line) == ("select only", 1987.128825, 33)


def test_pgbench_latency_limit_is_in_nanoseconds():
    (run,), _ = result("pgbench-15-rate.txt")
    assert run.iops == 46.562045
    assert run.details["latency_limit_ns"] == 20_000_000
    assert run.details["above_latency_limit"] == 1
    assert run.details["lag_max_ns"] == 4_536_000


OLD_PGBENCH = """starting vacuum...end.
transaction type: TPC-B (sort of)
scaling factor: 10
query mode: simple
number of clients: 10
number of threads: 1
number of transactions per client: 1000
number of transactions actually processed: 10000/10000
latency average: 0.5 ms
tps = 85.184871 (including connections establishing)
tps = 85.296346 (excluding connections establishing)
"""


def test_old_pgbench_rate_is_the_one_without_connecting():
    run = one(OLD_PGBENCH)
    assert (run.iops, run.line, run.lat_mean_ns) == (85.296346, 11, 500_000)
    assert run.details["tps_with_connecting"] == 85.184871
    assert run.tool_version is None


def test_pgbench_not_finished_is_refused_in_one_sentence():
    readings, problems = read_text(
        "pgbench (16.2)\nstarting vacuum...end.\nprogress: 1.0 s, 1759.2 tps, lat 0.161 ms stddev 0.3\n"
    )
    assert readings == []
    assert problems == [
        "line 3: a pgbench run without its final `tps =` line: not finished or cut off; nothing of it was used"
    ]


def test_pgbench_aborted_run_is_said():
    text = OLD_PGBENCH.replace("10000/10000", "812/10000")
    assert any("aborted" in note for note in one(text).notes)


def test_dbench_throughput_and_operations():
    (run, *operations), problems = result("dbench-4.00.txt")
    assert problems == []
    assert (run.tool, run.tool_version, run.numjobs, run.direction) == ("dbench", "4.00", 2, "mixed")
    assert run.bw_bytes_per_s == 151_056_000
    assert run.details["lat_max_ns"] == 26_557_000
    assert len(operations) == 16
    flush = operations[-1]
    assert (flush.operation, flush.lat_mean_ns, flush.details["count"]) == ("flush", 2_950_000, 1530)
    assert flush.iops is None


@pytest.mark.parametrize(
    ("line", "jobs", "rate"),
    [
        ("Throughput 333.925 MB/sec 8 procs\n", 8, 333.925e6),
        ("Throughput 43.5 MB/sec (NB=54.4 MB/sec  435 MBit/sec)  10 procs\n", 10, 43.5e6),
        ("Throughput 12.5 MB/sec (sync open) (sync dirs)  4 clients  2 procs  max_latency=811.2 ms\n", 4, 12.5e6),
    ],
)
def test_dbench_lines_of_other_versions(line, jobs, rate):
    run = one(line)
    assert (run.numjobs, run.bw_bytes_per_s) == (jobs, rate)


def test_dbench_stopped_early():
    text = (RESULTS / "dbench-4.00.txt").read_text()
    readings, problems = read_text(text[: text.index("Throughput")])
    assert readings == []
    assert len(problems) == 1
    assert "without its final `Throughput` line" in problems[0]


def test_db_bench_histogram_joins_its_line():
    (fill, read, *_), problems = result("db_bench-7.8-histograms.txt")
    assert problems == []
    assert (fill.tool_version, fill.label, fill.operation, fill.direction) == ("7.8.3", "RocksDB", "fillseq", "write")
    assert (fill.iops, fill.lat_mean_ns, fill.lat_p99_ns) == (110130, 18059, 10330)
    assert fill.bw_bytes_per_s == pytest.approx(12.2 * 1024**2)
    assert fill.details["value_bytes"] == 100
    assert (read.operation, read.details["found"]) == ("readrandom", 20000)


def test_db_bench_repeats_have_their_mean_once():
    readings, _ = result("db_bench-7.8-repeats.txt")
    assert [reading.statistic for reading in readings if reading.operation == "readrandom"] == [
        "single",
        "single",
        "single",
        "mean of 3",
    ]
    mean = next(reading for reading in readings if reading.n == 3)
    assert (mean.iops, mean.details["interval_half_width_iops"]) == (983570, 58830)


def test_leveldb_and_older_rocksdb():
    leveldb, older = read_text(
        "LevelDB:    version 1.23\n"
        "fillseq      :       1.765 micros/op;   62.7 MB/s\n"
        "readrandom   :       4.215 micros/op 237234 ops/sec;   26.2 MB/s (1000000 of 1000000 found)\n"
    )[0]
    assert (leveldb.label, leveldb.iops, leveldb.lat_mean_ns) == ("LevelDB", None, 1765)
    assert older.iops == 237234
    assert any("several threads" in note for note in older.notes)


def test_a_db_bench_whose_locale_has_decimal_commas():
    (fill, sync), problems = read_text(
        "fillseq      :     2.30419 micros/op;    48,0 MB/s \n"
        "fillsync     :  9396.26333 micros/op;     0,5 MB/s (1000 ops)\n"
    )
    assert problems == []
    assert (fill.bw_bytes_per_s, sync.bw_bytes_per_s) == (48 * 1024**2, 512 * 1024)


def test_db_bench_cut_line():
    readings, problems = read_text("fillseq : 1.5 micros/op 1000 ops/sec;  62.7 MB/s\nreadseq : 1.5 micros/o")
    assert len(readings) == 1
    assert problems == ["line 2: the file ends inside this line, which was not used"]


@pytest.mark.parametrize(
    "head",
    ["SUMMARY: (of 3 iterations)", "SUMMARY rate: (of 3 iterations)", "SUMMARY rate (in ops/sec): (of 3 iterations)"],
)
@pytest.mark.parametrize("colon", [":", "", "         :"])
def test_mdtest_of_every_version(head, colon):
    text = f"""mdtest-3.4.0+dev was launched with 4 total task(s) on 1 node(s)

{head}
   Operation                      Max            Min           Mean        Std Dev
   ---------                      ---            ---           ----        -------
   File creation{colon}     7147.432       6789.531       6990.000        120.500
   Tree removal{colon}        10.000          8.000          9.000          0.500
"""
    creation, removal = read_text(text)[0]
    assert (creation.tool, creation.tool_version, creation.operation) == ("mdtest", "3.4.0+dev", "file creation")
    assert (creation.numjobs, creation.iops, creation.spread, creation.statistic) == (4, 6990, 120.5, "mean of 3")
    assert removal.iops == 9


def test_pgbench_runs_below_one_heading():
    again = OLD_PGBENCH[OLD_PGBENCH.index("number of transactions actually") :]
    shorter = "number of clients: 20\n" + again.replace("85.", "95.").replace("0.5 ms", "0.7 ms")
    rates = "tps = 75.1 (including connections establishing)\ntps = 75.2 (excluding connections establishing)\n"
    readings, problems = read_text(OLD_PGBENCH + shorter + rates)
    assert problems == []
    assert [(run.iops, run.numjobs, run.lat_mean_ns) for run in readings] == [
        (85.296346, 10, 500_000),
        (95.296346, 20, 700_000),
        (75.2, 20, None),
    ]
    assert [run.details["scaling_factor"] for run in readings] == [10, 10, 10]
    assert [run.details.get("transactions") for run in readings] == [10_000, 10_000, None]


def test_a_rate_printed_as_zero_beside_another_is_no_rate():
    run = one("fillrandom   :    4302.811 micros/op 232 ops/sec;    0.0 MB/s\n")
    assert (run.iops, run.bw_bytes_per_s) == (232, None)


RADOS = """hints = 1
Maintaining 16 concurrent writes of 4194304 bytes to objects of size 4194304 for up to 10 seconds or 0 objects
Object prefix: benchmark_data_host_1234
  sec Cur ops   started  finished  avg MB/s  cur MB/s last lat(s)  avg lat(s)
    0       0         0         0         0         0           -           0
    1      16       139       123   491.977       492    0.122456    0.121789
Total time run:         10.1234
Total writes made:      1247
Write size:             4194304
Object size:            4194304
Bandwidth (MB/sec):     492.72
Stddev Bandwidth:       12.3
Max bandwidth (MB/sec): 512
Min bandwidth (MB/sec): 468
Average IOPS:           123
Stddev IOPS:            3
Average Latency(s):     0.129765
Stddev Latency(s):      0.0412
Max latency(s):         0.412
Min latency(s):         0.0211
"""


def test_rados_bench():
    run = one(RADOS)
    assert (run.tool, run.direction, run.rw, run.numjobs, run.iodepth) == ("rados bench", "write", None, 1, 16)
    assert (run.bs_bytes, run.size_bytes, run.runtime_seconds, run.line) == (4 << 20, 4 << 20, 10.1234, 11)
    assert run.iops == pytest.approx(1247 / 10.1234)
    assert run.bw_bytes_per_s == pytest.approx(492.72 * 1024**2, rel=1e-4)
    assert (run.lat_mean_ns, run.lat_kind, run.details["lat_max_ns"]) == (129_765_000, "total", 412_000_000)
    assert one(RADOS.replace("(s): ", ": ")).lat_mean_ns == 129_765_000  # older versions
    read = RADOS.replace("Total writes made", "Total reads made").replace("Write size", "Read size")
    readings, problems = read_text(RADOS + read)
    assert [(run.direction, run.bs_bytes) for run in readings] == [("write", 4 << 20), ("read", 4 << 20)]
    assert problems == []


def test_rados_bench_that_was_stopped_has_no_result():
    readings, problems = read_text(RADOS[: RADOS.index("Total time")])
    assert readings == []
    assert len(problems) == 1
