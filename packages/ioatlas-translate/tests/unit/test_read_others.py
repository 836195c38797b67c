# SPDX-License-Identifier: Apache-2.0
"""xdd, ORION, elbencho, bonnie++, CrystalDiskMark, KDiskMark, IO500, IOR, mdtest."""

import json

import pytest
from read_samples import one, read_path, read_text
from tests.facts import has
from tests.unit.samples import sample

from ioatlas_translate.read.physics import doubts

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


def test_xdd_samples():
    four = one(sample("xdd/xdd-7.0.0rc18-four-passes.log").read_text())
    has(four, direction="write", rw="write", bs_bytes=4 * MIB, iodepth=4, statistic="mean of 4", n=4)
    assert four.bw_bytes_per_s == 20_748_000  # 400000000 bytes in 19.279 s: MBytes are 10^6
    assert four.io_bytes / four.runtime_seconds == pytest.approx(four.bw_bytes_per_s, rel=1e-4)
    source = read_path(sample("xdd/xdd-7.0.0rc6-e2e-source.out"))[0]
    assert [(r.direction, r.bw_bytes_per_s, r.lat_mean_ns, r.line) for r in source] == [
        ("write", 7_749_000, 16_915_000, 73),
        ("read", 844_824_000, 19_559_000, 185),
    ]
    destination = read_path(sample("xdd/xdd-7.0.0rc6-e2e-destination.out"))[0]
    assert [(r.details["row"], r.iops) for r in destination] == [("COMBINED", 0.45)]


ORION = """\
ORION VERSION 11.2.0.3.0

Command line:
-run simple -testname t

This maps to this test:
Test: t
Small IO size: 8 KB
Large IO size: 1024 KB
IO Types: Small Random IOs, Large Random IOs
Write: 0%

Maximum Large MBPS=32.5 @ Small=0 and Large=2
Maximum Small IOPS=9899 @ Small=17 and Large=0
Small Read Latency: avg=1711 us, min=791 us, max=12316 us, std dev=454 us @ Small=17 and Large=0
Minimum Small Latency=123.58 usecs @ Small=1 and Large=0
"""


def test_a_row_of_a_wide_orion_matrix_is_whole():
    many = range(1, 801)
    text = "\n".join(["Large/Small, " + ", ".join(map(str, many)), "0, " + ", ".join(f"{n}.25" for n in many), ""])
    readings = read_text(text, "t_iops.csv")[0]
    assert [(one.iodepth, one.iops) for one in readings] == [(n, n + 0.25) for n in many]


def test_orion_summary():
    large, small, latency = read_text(ORION)[0]
    assert (large.rw, large.bs_bytes, large.iodepth, large.bw_bytes_per_s) == ("randread", MIB, 2, 32.5 * MIB)
    assert (small.iops, small.bs_bytes, small.iodepth, small.lat_mean_ns) == (9899, 8 * KIB, 17, 1_711_000)
    assert (latency.lat_mean_ns, latency.iodepth, latency.direction) == (123_580, 1, "read")
    old = read_text("RION VERSION 11.1.0.7.0\nMinimum Small Latency=0.26 @ Small=5 and Large=0\n")[0]
    assert (old[0].lat_mean_ns, old[0].direction) == (260_000, None)
    assert any("milliseconds" in note for note in old[0].notes)


def test_orion_matrices():
    text = "Large/Small,      0,      1,      2\n      0,       ,  100.5,  180.25\n      1,   90.0,   80.0,       \n"
    readings, problems = read_text(text, "t_20260101_iops.csv")
    assert problems == []
    assert [(r.iops, r.iodepth, r.details["outstanding_large"]) for r in readings] == [
        (100.5, 1, 0),
        (180.25, 2, 0),
        (90.0, 0, 1),
        (80.0, 1, 1),
    ]
    assert read_text(text, "t_mbps.csv")[0][0].bw_bytes_per_s == 100.5 * MIB
    assert read_text(text, "t_lat.csv")[0][0].lat_mean_ns == 100_500_000
    micro = "This file contains the average latency sustained by small I/Os in microseconds.\n" + text
    assert read_text(micro, "anything")[0][0].lat_mean_ns == 100_500
    readings, problems = read_text(text, "unnamed.csv")
    assert readings == []
    assert "neither" in problems[0]


def test_elbencho_text_with_mix_and_latency():
    text = (
        'COMMAND LINE: "elbencho" "-t" "4" "-b" "4k" "-s" "1g" "--rand" "--iodepth=8" "/dev/x" \n\n'
        "OPERATION RESULT TYPE         FIRST DONE  LAST DONE\n"
        "========= ================    ==========  =========\n"
        "RWMIX70   Elapsed time     :    1.000s   1m2.500s\n"
        "          IOPS write       :       3000       2900\n"
        "          IOPS read        :       7000       6900\n"
        "          IOPS total       :      10000       9800\n"
        "          MiB/s write      :         11         12\n"
        "          MiB/s read       :         27         26\n"
        "          IO wr lat        : [ min=10us avg=20us max=30ms ]\n"
        "---\n"
    )
    write, read = read_text(text)[0]
    has(write, direction="write", iops=2900, bw_bytes_per_s=12 * MIB, lat_mean_ns=20_000, rw="randrw")
    has(read, direction="read", iops=6900, bw_bytes_per_s=26 * MIB, numjobs=4, bs_bytes=4096, iodepth=8)
    assert read.runtime_seconds == pytest.approx(62.5)


def test_elbencho_json_has_numbers_as_strings():
    record = {
        "phase_type": "READ",
        "config": {
            "threads": "4",
            "hosts": "2",
            "block_size": "4096",
            "file_size": "1048576",
            "random_offsets": "true",
            "io_depth": "16",
            "version": "3.0-1",
        },
        "first_done": {"elapsed_time_ms": "900", "iops": "9"},
        "last_done": {
            "elapsed_time_ms": "1000",
            "iops": "10",
            "bytes/s": "40960",
            "bytes": "40960",
            "latency": {"IO": {"avg_us": "7"}},
        },
    }
    for text in (json.dumps(record).replace("/", "\\/"), json.dumps(record, indent=4)):
        reading = one(text + "\n")
        has(reading, rw="randread", numjobs=8, iodepth=16, iops=10, bw_bytes_per_s=40960, lat_mean_ns=7000)


def test_elbencho_samples():
    rows = read_path(sample("elbencho/elbencho-2.1-write-16threads.csv"))[0]
    assert [(r.operation, r.rw, r.iops, r.bw_bytes_per_s, r.lat_mean_ns) for r in rows] == [
        ("mkdirs", None, 14479, None, 257_000),
        (None, "write", 5092, pytest.approx(483386 * MIB / 94.917), 5_989_000),
    ]
    has(rows[1], numjobs=64, bs_bytes=MIB, size_bytes=1 << 40, runtime_seconds=94.917)
    text = read_path(sample("elbencho/elbencho-2.1-write-16threads.out"))[0]
    assert [(r.iops, r.bw_bytes_per_s, r.numjobs) for r in text] == [
        (14479, None, 64),
        (5092, rows[1].bw_bytes_per_s, 64),
    ]
    live, problems = read_path(sample("elbencho/elbencho-2.1-write-16threads.live.csv"))
    assert (live, len(problems)) == ([], 1)
    sweep = read_path(sample("elbencho/storage_sweep-large.txt"))[0]
    assert (len(sweep), sweep[0].bw_bytes_per_s) == (11, pytest.approx(1048576 * MIB / 99.973))


def test_bonnie_samples():
    lines = read_path(sample("bonnie/bonnie.csv"))[0]
    first = {r.operation or r.rw: r for r in lines if r.line == 1}
    assert (first["write"].bw_bytes_per_s, first["rewrite"].bw_bytes_per_s, first["random seeks"].iops) == (
        110033 * KIB,
        48154 * KIB,
        228.2,
    )
    assert first["write"].details["lat_max_ns"] == 226_000_000
    assert "sequential stat" not in first, "+++++ is not measured"
    last = {r.operation or r.rw: r for r in lines if r.host == "host7"}
    assert (last["write"].bw_bytes_per_s, last["write"].tool_version, last["random seeks"].iops) == (
        36403 * KIB,
        "1.03",
        330.6,
    )


def test_bonnie_table_with_blank_columns():
    text = (
        "Version  1.96       ------Sequential Output------ --Sequential Input- --Random-\n"
        "Concurrency   1     -Per Chr- --Block-- -Rewrite- -Per Chr- --Block-- --Seeks--\n"
        "Machine        Size K/sec %CP K/sec %CP K/sec %CP K/sec %CP K/sec %CP  /sec %CP\n"
        "box           4018M           56561  10 32386  12           88826  16 110.1   3\n"
        "Latency                        5549ms     228ms             43102us     430ms\n"
    )
    found = {r.operation or r.rw: r for r in read_text(text)[0]}
    assert {name: r.bw_bytes_per_s or r.iops for name, r in found.items()} == {
        "write": 56561 * KIB,
        "rewrite": 32386 * KIB,
        "read": 88826 * KIB,
        "random seeks": 110.1,
    }
    assert (found["write"].size_bytes, found["write"].host) == (4018 * MIB, "box")


CDM3 = """\
-----------------------------------------------------------------------
CrystalDiskMark 3.0.1 x64 (C) 2007-2010 hiyohiyo
* MB/s = 1,000,000 byte/s [SATA/300 = 300,000,000 byte/s]

           Sequential Read :   505.825 MB/s
         Random Read 512KB :   381.142 MB/s
   Random Write 4KB (QD=32) :   174.695 MB/s [ 42650.1 IOPS]

  Test : 1000 MB [C: 33.0% (39.3/119.1 GB)] (x5)
"""


def test_old_crystaldiskmark():
    sequential, random, deep = read_text(CDM3)[0]
    has(sequential, rw="read", bs_bytes=None, bw_bytes_per_s=505_825_000, statistic="best of 5", n=5)
    assert (random.rw, random.bs_bytes, random.iodepth) == ("randread", 512 * KIB, None)
    has(deep, rw="randwrite", direction="write", bs_bytes=4096, iodepth=32, iops=42650.1)
    # 4KB is 4096 bytes there: I/Os times size is the bandwidth
    assert deep.iops * deep.bs_bytes == pytest.approx(deep.bw_bytes_per_s, rel=1e-4)
    assert deep.size_bytes == 1000 * MIB


def test_crystaldiskmark_5_and_kdiskmark():
    five = one(
        "CrystalDiskMark 5.1.0 x64\n    Random Read 4KiB (Q= 32,T= 2)  :   281.610 MB/s [ 68752.4 IOPS]\n  Test : 1024 "
        "MiB [I: 1% (1/2 GiB)] (x1)  [Interval=5 sec]\n"
    )
    assert (five.iodepth, five.numjobs, five.statistic) == (32, 2, "single")
    text = (
        "                KDiskMark (3.1.4): https://github.com/JonMagon/KDiskMark\n[Read]\n"
        "Sequential   1 MiB (Q=  8, T= 1):  3500.123 MB/s [   3417.9 IOPS] <  2330.10 us>\n[Mix] Read 70%/Write 30%\n"
        "    Random   4 KiB (Q= 32, T=16):   100.000 MB/s [  25000.0 IOPS] <    20.50 us>\n\nProfile: Default\n   "
        "Test: 1 GiB (x5) [Measure: 5 sec / Interval: 5 sec]\n"
    )
    read, mix = read_text(text)[0]
    has(
        read,
        tool="kdiskmark",
        rw="read",
        iodepth=8,
        bw_bytes_per_s=3_500_123_000,
        lat_mean_ns=2_330_100,
        statistic="mean of 5",
        size_bytes=GIB,
    )
    assert (mix.direction, mix.rw, mix.rwmixread, mix.numjobs) == ("mixed", "randrw", 70, 16)
    assert any("1.024" in note for note in read.notes), "3417.9 I/Os of 1 MiB are 3584 MB, not 3500"
    peak = read_text(text.replace("Profile: Default", "Profile: Peak Performance"))[0]
    assert peak[0].statistic == "best of 5"


def test_crystaldiskmark_samples():
    rows = read_path(sample("crystaldiskmark/CrystalDiskMark_WD_Blue_3D_1TB.txt"))[0]
    assert len(rows) == 8
    fourth, last = rows[3], rows[7]
    has(fourth, rw="randread", bs_bytes=4096, iodepth=1, bw_bytes_per_s=41_375_000, iops=10101.3, lat_mean_ns=98_750)
    assert (last.rw, last.label, last.size_bytes, last.statistic) == ("randwrite", "WD Blue 3D 1TB", GIB, "best of 5")


def test_io500_samples():
    summary, problems = read_path(sample("io500/result_summary.txt"))
    full, _ = read_path(sample("io500/result.txt"))
    assert (problems, len(full)) == ([], 12)
    for a, b in zip(summary, full, strict=True):
        assert (a.label, a.bw_bytes_per_s, a.iops) == (b.label, b.bw_bytes_per_s, b.iops)
    assert full[0].bw_bytes_per_s == pytest.approx(352.803032 * GIB)
    assert (full[0].rw, full[0].bs_bytes, full[0].numjobs) == ("write", 2 * MIB, 640)
    has(full[1], operation="mdtest-easy-write", iops=pytest.approx(119_113.15), direction=None)
    assert (full[2].operation, full[2].bs_bytes) == ("ior-hard-write", 47008)
    ior = one(sample("io500/ior-easy-write.txt").read_text())
    assert (ior.bw_bytes_per_s, ior.iops, ior.numjobs, ior.bs_bytes) == (361270 * MIB, 180641, 640, 2 * MIB)
    assert read_path(sample("io500/config.ini"))[0] == []
    folder = sample("io500/result.txt").parent
    assert [file.name for file in folder.iterdir() if read_path(file, str(folder))[0]] == ["result.txt"]


IOR = """\
IOR-4.0.0: MPI Coordinated Test of Parallel I/O
Options:
access              : single-shared-file
segments            : 2
ordering in a file  : random offsets
tasks               : 4
repetitions         : 2
xfersize            : 262144 bytes

access    bw(MiB/s)  IOPS       Latency(s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s)   total(s)   iter
------    ---------  ----       ----------  ---------- ---------  --------   --------   --------   --------   ----
write     400.00     1600       0.0005      1024.00    256.00     0.000229   0.002019   0.000006   0.002254   0
write     600.00     2400       0.0004      1024.00    256.00     0.000229   0.002019   0.000006   0.002254   1
remove    -          -          -           -          -          -          -          -          3.20       0
Max Write: 600.00 MiB/sec (629.15 MB/sec)

Summary of all tests:
Operation   Max(MiB)   Min(MiB)  Mean(MiB)     StdDev   Max(OPs)   Min(OPs)  Mean(OPs)     StdDev    Mean(s)\
 Stonewall(s) Stonewall(MiB) Test# #Tasks tPN reps fPP
write         600.00     400.00     500.00     100.00    2400.00    1600.00    2000.00     400.00    0.00225\
         NA            NA     0      4   4    2   0
"""


def test_ior_iterations_and_their_mean():
    first, second, mean = read_text(IOR)[0]
    assert [r.bw_bytes_per_s for r in (first, second, mean)] == [400 * MIB, 600 * MIB, 500 * MIB]
    assert (first.statistic, mean.statistic, mean.n, mean.spread) == ("single", "mean of 2", 2, 100 * MIB)
    has(first, rw="randwrite", size_bytes=8 * MIB, bs_bytes=262144, numjobs=4, lat_mean_ns=500_000)


def test_mdtest_whose_iterations_have_no_deviation_behind_those_of_its_ranks():
    """A version of late 2020: the fourth figure from behind is the ranks' deviation, not the iterations' largest."""
    (creation,), problems = read_text(
        "mdtest-3.4.0+dev was launched with 10 total task(s) on 1 node(s)\nSUMMARY rate: (of 3 iterations)\n"
        "   Operation   per Rank:  Max   Min   Mean   Std Dev   per Iteration: Max   Min   Mean\n"
        "   File creation   :   900.5   100.5   500.5   250.5   440.0   360.0   400.0\n"
    )
    assert problems == []
    assert (creation.iops, creation.spread, creation.spread_of) == (400.0, None, None)
    assert creation.details == {"max": 440.0, "min": 360.0}


def test_mdtest_summary():
    text = (
        "mdtest-3.4.0 was launched with 10 total task(s) on 2 node(s)\n\nSUMMARY rate: (of 3 iterations)\n"
        "   Operation                      Max            Min           Mean        Std Dev\n"
        "   File creation             :        439.763        404.632        422.661         14.357\n"
        "   File read                 :          0.000          0.000          0.000          0.000\n"
        "   Tree removal                        96.927         84.924         91.069          4.904\n"
    )
    creation, removal = read_text(text)[0]
    has(creation, operation="file creation", iops=422.661, statistic="mean of 3", n=3, spread=14.357, numjobs=10)
    assert (removal.operation, removal.direction) == ("tree removal", None)


@pytest.mark.parametrize("unit", ["", " (in ms/op)", " (in ops/sec)"])
def test_mdtest_times_are_seconds_of_a_phase_whatever_their_head_says(unit):
    def table(what, stat):
        return f"""
SUMMARY {what}: (of 1 iterations)
   Operation                     Max            Min           Mean        Std Dev
   File stat                  {stat}     {stat}     {stat}          0.000
   File read                       0.000          0.000          0.000          0.000
"""

    head = "mdtest-4.1.0+dev was launched with 8 total task(s) on 1 node(s)\n"
    (both,), problems = read_text(head + table("rate (in ops/sec)", "5000.000") + table(f"time{unit}", "20.000"))
    assert problems == []
    assert (both.iops, both.runtime_seconds, both.lat_mean_ns, both.line) == (5000, 20, None, 5)
    alone = one(head + table(f"time{unit}", "20.000"))
    assert (alone.operation, alone.iops, alone.runtime_seconds, alone.lat_mean_ns) == ("file stat", None, 20, None)


def test_ior_sizes_are_those_of_its_options_and_its_latency_is_checked():
    options = "xfersize : 47008 bytes\nblocksize : 47008 bytes\napi : POSIX"
    text = IOR.replace("xfersize            : 262144 bytes", options)
    first = read_text(text.replace("1024.00    256.00", "45.91      45.91").replace("0.0005", "319.08"))[0][0]
    assert (first.bs_bytes, first.size_bytes, first.numjobs, first.iodepth) == (47008, 8 * 47008, 4, 1)
    assert any("contradiction (Little's law)" in sentence for sentence in doubts(first))
    other = read_text(text)[0][0]  # the table tells another size than the options: it is what was done
    assert other.bs_bytes == 262144


ORION_MIX = """\
$ ./orion -run oltp -write 50 -testname four -num_disks 4
ORION: ORacle IO Numbers -- Version 12.2.0.1.0
four_20180913_0034
Maximum Small IOPS=918 @ Small=68 and Large=0
Small Read Latency: avg=74069.660 us, min=62642.274 us, max=180620.254 us, std dev=12263.553 us @ Small=68 and Large=0
Small Write Latency: avg=73935.104 us, min=62631.574 us, max=187240.852 us, std dev=12174.669 us @ Small=68 and Large=0

Minimum Small Latency=4409.929 usecs @ Small=4 and Large=0
Small Read Latency: avg=4455.933 us, min=2947.072 us, max=126228.454 us, std dev=2760.667 us @ Small=4 and Large=0
"""


def test_orion_command_line_tells_the_load_and_a_mix_keeps_its_latencies_apart():
    readings, problems = read_text(ORION_MIX)
    assert problems == []
    assert {(r.rw, r.bs_bytes, r.rwmixread, r.label) for r in readings} == {("randrw", 8192, 50, "four")}
    both = next(r for r in readings if r.iops is not None)
    assert (both.direction, both.iops, both.lat_mean_ns) == ("mixed", 918, None)
    assert {(r.direction, r.lat_mean_ns) for r in readings if r.iodepth == 68 and r is not both} == {
        ("read", 74069660.0),
        ("write", 73935104.0),
    }


def test_orion_without_a_command_line_takes_a_lone_latency_for_that_of_its_figure():
    readings, _ = read_text("\n".join(ORION_MIX.splitlines()[1:5]))
    (only,) = readings
    assert (only.direction, only.bs_bytes, only.iops, only.lat_mean_ns) == (None, None, 918, 74069660.0)
    apart, _ = read_text("\n".join(ORION_MIX.splitlines()[1:6]))
    assert [(r.direction, r.iops) for r in sorted(apart, key=lambda r: r.line)] == [
        (None, 918),
        ("read", None),
        ("write", None),
    ]


def test_xdd_and_disk_mark_texts_without_end_are_bounded_and_say_so():
    marks, problems = read_text(
        "CrystalDiskMark 8.0.1 x64\n[Read]\n"
        + "  RND    4KiB (Q=  1, T= 1):    41.375 MB/s [  10101.3 IOPS] <    98.75 us>\n" * 10_001
    )
    assert len(marks) == 10_000
    assert any("more than 10000" in problem for problem in problems)


def test_programs_and_archives_are_no_results(tmp_path):
    for magic in (b"\x7fELF", b"PK\x03\x04", b"SQLite format 3\0"):
        (tmp_path / "file").write_bytes(magic + b"\n\tIozone: Performance Test of File I/O\nError in setsockopt\n")
        readings, problems = read_path(tmp_path / "file")
        assert readings == []
        assert any("no known result format" in problem for problem in problems)


def test_ior_header_with_another_first_word_is_still_a_table():
    (reading,), _ = read_text("access    bw(MiB/s)\naccessX    bw(MiB/s)  IOPS\nwrite     12.5   100\n")
    assert (reading.direction, reading.bw_bytes_per_s) == ("write", 12.5 * (1 << 20))


def test_ior_csv():
    readings, problems = read_text(
        "access,bw(MiB/s),IOPS,Latency,block(KiB),xfer(KiB),open(s),wr/rd(s),close(s),total(s),numTasks,iter\n"
        "write,1024.5000,2049.1000,0.0312,1048576.0000,512.0000,0.0010,1.9990,0.0002,2.0010,16,0\n"
        "read,2048.2500,4096.5000,0.0156,1048576.0000,512.0000,0.0008,0.9990,0.0001,1.0010,16,0\n"
    )
    assert problems == []
    figures = [
        (r.direction, r.bw_bytes_per_s, r.iops, r.lat_mean_ns, r.bs_bytes, r.numjobs, r.runtime_seconds)
        for r in readings
    ]
    assert figures == [
        ("write", 1024.5 * 2**20, 2049.1, 31_200_000, 524288, 16, 2.001),
        ("read", 2048.25 * 2**20, 4096.5, 15_600_000, 524288, 16, 1.001),
    ]


def test_xdd_csvout():
    """The columns of xdd 7 with the commas that -csvout puts between them."""
    readings, problems = read_text(
        " What               ,Pass ,Target  ,Queue     ,Bytes_Xfered         ,Ops     ,Elapsed  ,Bandwidth       ,IOPS "
        "  ,Latency   ,Pct_CPU  ,Op_Type    ,Xfer_Size \n"
        "COMBINED            ,    1,       1,       4,        400000000,          96,      19.279,     20.748,      "
        "4.979,    50.203,     1.089,    write,      4194304 \n"
    )
    assert problems == []
    assert [(r.direction, r.bw_bytes_per_s, r.iops, r.lat_mean_ns, r.bs_bytes) for r in readings] == [
        ("write", 20.748e6, 4.979, 50_203_000, 4194304)
    ]


XDD6 = """IOIOIOIOI XDD version 6.5.013007.0001
Passes, 2
                     T  Q       Bytes      Ops    Time      Rate      IOPS   Latency     %CPU  OP_Type    ReqSize\
     OpenTime_usec
\rTARGET   PASS0001    0  4    1073741824      256     2.145   500.578     119.35    0.0084    12.05   write\
     4194304         12 
\rTARGET   PASS0002    0  4    1073741824      256     2.147   500.112     119.24    0.0084    12.05   write\
     4194304         12 
\rTARGET   Average     0  4    2147483648      512     4.292   500.345     119.29    0.0084    12.05   write\
     4194304         12 
"""  # noqa: W291 - xdd 6 ends its lines so


def test_xdd_6():
    """Lines begin with a carriage return, latency is in seconds, and its CSV has the same figures between commas."""
    passes, problems = read_text(XDD6)
    assert problems == []
    assert [(r.line, r.direction, r.iops, r.lat_mean_ns, r.iodepth, r.statistic) for r in passes] == [
        (4, "write", 119.35, 8.4e6, 4, "single"),
        (5, "write", 119.24, 8.4e6, 4, "single"),
        (6, "write", 119.29, 8.4e6, 4, "mean of 2"),
    ]
    assert {(r.tool_version, r.bs_bytes) for r in passes} == {("6.5.013007.0001", 4 << 20)}
    assert [r.details["pass"] for r in passes[:2]] == [1, 2]
    header = ",Target,Q,Bytes,Ops,Time,Avg Rate,IOPS,Latency,Percent CPU,OP_Type,ReqSize\n"
    row = one(
        header + "TARGET   Average ,   1, 8,  1073741824,   256,  2.145,500.578,119.35, 0.0084,12.05,mixed,   4194304\n"
    )
    assert (row.direction, row.bw_bytes_per_s, row.lat_mean_ns, row.iodepth) == ("mixed", 500_578_000, 8.4e6, 8)


BONNIE_CSV2TXT = """Version  1.02b      ------Sequential Output------ --Sequential Input- --Random-
                    -Per Chr- --Block-- -Rewrite- -Per Chr- --Block-- --Seeks--
Machine        Size K/sec %CP K/sec %CP K/sec %CP K/sec %CP K/sec %CP  /sec %CP
box          1G:32k           20000  41 10000  13           25000  16 145.5   3
box          1G:32k           20500  42  9500  12           25900  17 146.4   3
                    ------Sequential Create------ --------Random Create--------
                    -Create-- --Read--- -Delete-- -Create-- --Read--- -Delete--
files:max:min        /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP
box              16   300  97 +++++ +++ 16000  79   310  97 +++++ +++  1800  96
box              16   260  77 +++++ +++ 12000  62   240  69 +++++ +++  1300  69
"""


def test_bonnie_file_rows_that_name_their_machine():
    """bon_csv2txt writes all rows of data first, then all rows of files, each with the machine before it."""
    readings, problems = read_text(BONNIE_CSV2TXT)
    assert problems == []
    creates = [(r.line, r.label, r.iops) for r in readings if r.operation == "sequential create"]
    assert creates == [(9, "box", 300.0), (10, "box", 260.0)]
    assert [r.iops for r in readings if r.operation == "random delete"] == [1800.0, 1300.0]
    only_files = BONNIE_CSV2TXT.split("\n")
    readings, problems = read_text(
        "\n".join(
            [
                "Version  1.96       " + only_files[5].strip(),
                "box                 " + only_files[6].strip(),
                *only_files[7:9],
                "",
            ]
        )
    )
    assert [(r.operation, r.label, r.tool_version, r.iops) for r in readings][:2] == [
        ("sequential create", "box", "1.96", 300.0),
        ("sequential delete", "box", "1.96", 16000.0),
    ]


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


def test_a_rate_printed_as_zero_beside_another_is_no_rate():
    run = one(
        "OPERATION   RESULT TYPE         FIRST DONE   LAST DONE\n"
        "WRITE       Elapsed time      :         1s          1s\n"
        "            IOPS              :        232         232\n"
        "            Throughput MiB/s  :          0           0\n"
        "---\n"
    )
    assert (run.iops, run.bw_bytes_per_s) == (232, None)
