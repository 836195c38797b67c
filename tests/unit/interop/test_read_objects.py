# SPDX-License-Identifier: Apache-2.0
"""Results of warp, s3-benchmark, COSBench and sibench, and of fio run by kubestr, as readings."""

import json

import pytest

from tests.unit.interop.read_samples import one, read_text

MIB = 1024**2
OLD_WARP = """warp: Benchmark data written to "warp-get-2020-08-18[190338]-6Nha.csv.zst"
----------------------------------------
Operation: PUT (330). Ran 32s. Size: 10485760 bytes. Concurrency: 20.

Requests considered: 330:
 * Avg: 1.274s, 50%: 417ms, 90%: 4.385s, 99%: 5.202s, Fastest: 279ms, Slowest: 1m5.5s, StdDev: 1.548s

Throughput:
* Average: 152.59 MiB/s, 15.26 obj/s

Throughput, split into 29 x 1s:
 * Fastest: 812.4MiB/s, 81.24 obj/s
 * 50% Median: 102.6MiB/s, 10.26 obj/s
 * Slowest: 87.0MiB/s, 8.70 obj/s
----------------------------------------
Operation: DELETE. Concurrency: 20
Errors: 3
* Average: 78.91 obj/s
"""
NEW_WARP = """Report: GET (78188 reqs). Ran Duration: 29.9s, starting 19:03:41 CEST
 * Objects per request: 1. Size: 1048576 bytes. Concurrency: 32.
 * Average: 2604.96 MiB/s, 2604.96 obj/s, 2 errors (30s)
 * Errors: 2
 * Reqs: Avg: 12.1ms, 50%: 11.0ms, 90%: 15.2ms, 99%: 31.4ms, Fastest: 1.0ms, Slowest: 150.4ms, StdDev: 4.0ms
 * TTFB: Avg: 3ms, Best: 1ms, 25th: 2ms, Median: 2ms, 75th: 3ms, 90th: 4ms, 99th: 9ms, Worst: 40ms StdDev: 1ms

Throughput, split into 29 x 1s:
 * Fastest: 2812.4MiB/s, 2711.62 obj/s

──────────────────────────────────

Report: Total. Concurrency: 32. Ran: 29.9s
 * Average: 9999.00 MiB/s, 9999.00 obj/s
"""


def test_warp_text_of_older_versions():
    (put, delete), problems = read_text(OLD_WARP)
    assert problems == []
    assert (put.tool, put.operation, put.direction, put.size_bytes, put.numjobs) == (
        "warp",
        "put",
        "write",
        10485760,
        20,
    )
    assert (put.iops, put.line) == (15.26, 9)
    assert put.bw_bytes_per_s == pytest.approx(152.59 * MIB)
    assert (put.lat_mean_ns, put.lat_p99_ns, put.details["lat_max_ns"]) == (1.274e9, 5.202e9, 65.5e9)
    assert (delete.operation, delete.direction, delete.iops, delete.errors) == ("delete", None, 78.91, 3)


def test_warp_text_of_newer_versions_without_its_total():
    get = one(NEW_WARP)
    assert (get.operation, get.direction, get.numjobs, get.size_bytes, get.errors) == ("get", "read", 32, 1048576, 2)
    assert (get.iops, get.lat_p99_ns, get.details["ttfb_mean_ns"]) == (2604.96, 31.4e6, 3e6)


def test_warp_mixed():
    text = """Mixed operations.

Operation: GET
 * 632.28 MiB/s, 354.78 obj/s (59.993s, starting 07:44:05 PST) (45.0% of operations)

Operation: STAT, 30%, Concurrency: 20, Ran 59s.
 * Throughput: 236.38 obj/s

Cluster Total: 838.37 MiB/s, 788.24 obj/s over 1m0s.
"""
    get, stat = read_text(text)[0]
    assert (get.iops, get.runtime_seconds, get.direction) == (354.78, 59.993, "read")
    assert (stat.iops, stat.bw_bytes_per_s, stat.numjobs) == (236.38, None, 20)


def throughput(**more):
    return {"measure_duration_millis": 2000, "bytes": 4.0 * MIB, "objects": 8.0, "ops": 8, "errors": 0, **more}


def test_warp_json_of_both_kinds():
    requests = {
        "dur_avg_millis": 12.5,
        "dur_median_millis": 11,
        "dur_90_millis": 15,
        "dur_99_millis": 30,
        "obj_size": 524288,
    }
    old = {
        "type": "single",
        "mixed": False,
        "operations": [
            {
                "type": "PUT",
                "throughput": throughput(),
                "single_sized_requests": requests,
                "concurrency": 4,
                "errors": 0,
            }
        ],
    }
    (put,), problems = read_text(json.dumps(old, indent=2))
    assert problems == []
    assert (put.operation, put.iops, put.bw_bytes_per_s, put.lat_p99_ns, put.size_bytes) == (
        "put",
        4,
        2 * MIB,
        30e6,
        524288,
    )
    merged = {name: 3 * value for name, value in requests.items()} | {"merged_entries": 3}
    item = {"total_bytes": 4 * MIB, "total_objects": 8, "total_errors": 1, "concurrency": 4, "throughput": throughput()}
    item["requests_by_client"] = {"a": [{"single_sized_requests": merged}]}
    new = {"v": 2, "commandline": "warp get", "final": True, "total": item, "by_op_type": {"GET": item}}
    (get,), problems = read_text(json.dumps(new, indent=2))
    assert problems == []
    assert (get.operation, get.direction, get.iops, get.lat_mean_ns, get.errors) == ("get", "read", 4, 12.5e6, 1)


def test_warp_cut_off_and_warp_request_lists():
    readings, problems = read_text(OLD_WARP[: OLD_WARP.index("* Average: 152")] + "* Average: 152.5")
    assert readings == []
    assert problems[-1] == "line 3: warp's PUT has no average: too few samples, or the file was cut off"
    readings, problems = read_text("idx\tthread\top\tclient_id\tn_objects\tbytes\n0\t1\tGET\tx\t1\t100\n")
    assert readings == []
    assert "warp analyze" in problems[0]


def test_warp_text_of_2020_calls_mib_mb_and_has_its_average_behind_the_requests():
    mixed = """Mixed operations.

Operation: GET
 * 250.00 MB/s, 125.00 obj/s (1m59.5s, starting 05:25:19 PST) (45.0% of operations)

Throughput by host:
 * http://10.0.0.1:9000: Avg: 125.00 MB/s, 62.50 obj/s (1m59.8s)
"""
    ((get,), problems) = read_text(mixed)
    assert problems == []
    assert (get.operation, get.iops, get.line, get.runtime_seconds) == ("get", 125.0, 4, 119.5)
    assert get.bw_bytes_per_s == 250 * MIB
    single = """Operation: GET. Concurrency: 12. Hosts: 1.

Requests considered: 1970. Multiple sizes, average 2097152 bytes:

Request size 100B -> 100KB. Requests - 274:
 * Throughput: Average: 9.5MB/s, 50%: 8.8MB/s, 90%: 1494.8KB/s, 99%: 167.3KB/s, Fastest: 95.8MB/s, Slowest: 154.8KB/s

Throughput:
* Average: 1000.00 MB/s, 500.00 obj/s (28.885s, starting 02:42:27 PST)
"""
    ((get,), problems) = read_text(single)
    assert problems == []
    assert (get.iops, get.bw_bytes_per_s, get.numjobs, get.runtime_seconds) == (500.0, 1000 * MIB, 12, 28.885)


def test_s3_benchmark_loops():
    text = """Wed, 08 Aug 2018 10:54:25 GMT: Wasabi benchmark program v2.0
Wed, 08 Aug 2018 10:54:25 GMT: Parameters: url=http://s3.local, bucket=b, region=us-east-1, duration=60, threads=10, loops=1, size=1M
Wed, 08 Aug 2018 10:55:25 GMT: Loop 1: PUT time 60.1 secs, objects = 5484, speed = 91.3MB/sec, 91.3 operations/sec. Slowdowns = 7
Loop 1: GET time 60.1 secs, objects = 5483, speed = 1.5GB/sec, 91.3 operations/sec.
Loop 1: DELETE time 1.9 secs, 2923.4 deletes/sec. Slowdowns = 0
"""
    (put, get, delete), problems = read_text(text)
    assert problems == []
    assert (put.tool, put.tool_version, put.label, put.numjobs, put.size_bytes) == (
        "s3-benchmark",
        "2.0",
        "http://s3.local",
        10,
        MIB,
    )
    assert (put.bw_bytes_per_s, put.iops, put.errors, put.direction) == (pytest.approx(91.3 * MIB), 91.3, 7, "write")
    assert get.bw_bytes_per_s == 1.5 * 1024**3
    assert (delete.iops, delete.direction, delete.bw_bytes_per_s, delete.errors) == (2923.4, None, None, 0)


@pytest.mark.parametrize(
    ("program", "parameters", "put"),
    [
        (
            "Wasabi benchmark program v2.1",
            "Parameters { url=http://h, bucket=b, region=r, duration=60, threads=50, loops=2, size=1M }",
            "Loop 1: PUT time=68.5 secs, objects 301, speed 4.4M B/sec, 4.4 operations/sec., Slowdowns=3",
        ),
        (
            "Wasabi benchmark program v2.0",
            "Parameters: url=http://h, bucket=b, duration=60, threads=50, num_ios=100, op_type=1, loops=2, size=1M",
            "Loop 1: PUT time 68.5 secs, objects = 301, speed = 4.4MB/sec, 4.4 operations/sec. Slowdowns = 3",
        ),
        (
            "H3 benchmark program v1.0",
            "Parameters: storage_uri=http://h, bucket=b, duration=60, threads=50, loops=2, size=1M",
            "Loop 1: PUT time 68.5 secs, objects = 301, speed = 4.4MB/sec, 4.4 operations/sec. Slowdowns = 3",
        ),
    ],
)
def test_s3_benchmark_of_forks(program, parameters, put):
    (found,), problems = read_text(f"{program}\n{parameters}\n{put}\n")
    assert problems == []
    assert found.tool_version == program.rpartition("v")[2]
    assert (found.label, found.size_bytes, found.numjobs, found.errors) == ("http://h", 1 << 20, 50, 3)
    assert (found.iops, found.bw_bytes_per_s, found.runtime_seconds) == (4.4, 4.4 * (1 << 20), 68.5)
    assert found.details == {"loop": 1, "objects": 301}


def test_s3_benchmark_whose_first_two_lines_a_page_has_joined():
    (put,), problems = read_text(
        "Wasabi benchmark program v2.0Parameters: url=<http://h:9000>, bucket=b, duration=60, threads=100, loops=1, size=1M\n"
        "Loop 1: PUT time 38.9 secs, objects = 10000, speed = 2.5GB/sec, 257.1 operations/sec. Slowdowns = 0\n"
    )
    assert problems == []
    assert (put.tool_version, put.numjobs, put.size_bytes, put.iops) == ("2.0", 100, MIB, 257.1)


def test_s3_benchmark_tables():
    text = """
Download performance with \x1b[1;33m256 KB\x1b[0m objects (c5.4xlarge)
                           +-------------------------------------------------------------------------------------------------+
                           |            Time to First Byte (ms)             |            Time to Last Byte (ms)              |
+---------+----------------+------------------------------------------------+------------------------------------------------+
| Threads |     Throughput |  avg   min   p25   p50   p75   p90   p99   max |  avg   min   p25   p50   p75   p90   p99   max |
+---------+----------------+------------------------------------------------+------------------------------------------------+
|       8 | \x1b[1;31m     61.5 MB/s\x1b[0m |   30    20    24    27    33    40    70   101 |   32    21    25    29    35    42    75   110 |
+---------+----------------+------------------------------------------------+------------------------------------------------+
"""
    row = one(text)
    assert (row.numjobs, row.size_bytes, row.label, row.line) == (8, 256 * 1024, "c5.4xlarge", 8)
    assert (row.bw_bytes_per_s, row.lat_mean_ns, row.lat_p99_ns) == (61.5 * MIB, 32e6, 75e6)
    assert row.details["ttfb_p99_ns"] == 70e6


COSBENCH = """Stage,Op-Name,Op-Type,Op-Count,Byte-Count,Avg-ResTime,Avg-ProcTime,60%-ResTime,80%-ResTime,90%-ResTime,95%-ResTime,99%-ResTime,100%-ResTime,Throughput,Bandwidth,Succ-Ratio,Status,Detailed Status
s1-init,init,init,0,0,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,0,0,N/A,completed,completed @ 2020-01-01 10:00:00
s3-main,read,read,9000,589824000,10.52,9.8,10,20,20,30,40,250,300.15,19670630.4,100%,completed,launching @ x,running @ y
s3-main,write,write,1000,65536000,25,24,30,40,50,60,80,500,33.3,2182348.8,99.5%,terminated,
s4-cleanup,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,completed,
"""


def test_cosbench_workload():
    (read, write), problems = read_text(COSBENCH)
    assert problems == []
    assert (read.tool, read.label, read.operation, read.direction, read.line) == (
        "cosbench",
        "s3-main",
        "read",
        "read",
        3,
    )
    assert (read.iops, read.bw_bytes_per_s, read.lat_mean_ns, read.lat_p99_ns) == (300.15, 19670630.4, 10.52e6, 40e6)
    assert read.io_bytes == 589824000
    assert any("99.5%" in note for note in write.notes)
    assert any("terminated" in note for note in write.notes)


def test_cosbench_matrix_and_time_line():
    matrix = "Id,Op-Name,Op-Count,Byte-Count,Worker-Count,Avg-ResTime,Avg-ProcTime,60%-ResTime,80%-ResTime,90%-ResTime,95%-ResTime,99%-ResTime,100%-ResTime,Throughput,Bandwidth,Succ-Ratio,Config-Info\nw1-s3-1,read,10,1000,16,2.5,2,10,10,10,10,10,10,5,500,100%,100% c(1)\n"
    row = one(matrix)
    assert (row.label, row.numjobs, row.iops, row.bw_bytes_per_s) == ("w1-s3-1", 16, 5, 500)
    line = "Timestamp,Op-Count,,Byte-Count,,Avg-ResTime,,Avg-ProcTime,,Throughput,,Bandwidth,,Succ-Ratio,,Version-Info,,\n,read,\n10:00:05,1,1,1\n"
    readings, problems = read_text(line)
    assert readings == []
    assert "wN-NAME.csv" in problems[0]


def test_cosbench_with_decimal_commas_gives_no_shifted_figures():
    head = "Stage,Op-Name,Op-Type,Op-Count,Byte-Count,Avg-ResTime,Avg-ProcTime,Throughput,Bandwidth,Succ-Ratio,Status\n"
    readings, problems = read_text(head + "s1-main,read,read,2000,4096000,24,5,6,25,66,7,136602,1,100%,completed\n")
    assert readings == []
    assert "decimal commas" in problems[0]
    assert "-Duser.language=en" in problems[0]
    workers = "Op-Type,Sample-Type,Op-Count,Byte-Count,Avg-ResTime,Avg-ProcTime,Throughput,Bandwidth,Succ-Ratio\n"
    readings, problems = read_text(workers + "write,write,2,20000000,24162,2628,0.04,413864,100%\n")
    assert readings == []
    assert "wN-NAME.csv" in problems[0]


def test_cosbench_cut_row_is_not_used():
    readings, problems = read_text(COSBENCH[: COSBENCH.index("2182348.8") + 4])
    assert [reading.operation for reading in readings] == ["read"]
    assert problems == ["line 4: the file ends inside this row, which was not used"]


def test_sibench_text_is_bits_or_bytes():
    text = """Target[10.0.0.1] Write      bandwidth: 3.5 Gb/s,  ok:  13500,  fail:      0,  res-min:    12 ms,  res-max:  1045 ms,  res-95:    158 ms, res-avg:    77 ms
================
Total Write                    bandwidth: 3.5 Gb/s,  ok:  13500,  fail:      2,  res-min:    12 ms,  res-max:  1045 ms,  res-95:    158 ms, res-avg:    77 ms
Total Read                     bandwidth: 512.0 MB/s,  ok:  15360,  fail:      0,  res-min:     3 ms,  res-max:   104 ms,  res-95:     58 ms, res-avg:    21 ms
"""
    (write, read, target), problems = read_text(text)
    assert problems == []
    assert (write.operation, read.operation) == ("write", "read")  # whole objects: no mode of fio's
    assert (write.tool, write.label, write.direction, write.errors) == ("sibench", "Total Write", "write", 2)
    assert write.bw_bytes_per_s == pytest.approx(3.5 * 1024**3 / 8)
    assert (write.lat_mean_ns, write.details["lat_p95_ns"]) == (77e6, 158e6)
    assert read.bw_bytes_per_s == 512 * MIB
    assert "one part of the total" in target.notes


def test_sibench_of_an_early_version_counts_successes():
    text = """Target[10.0.0.1] Write         bandwidth:   3.5 Gb/s,  successes:   13500,  failures:      4,  res-min:    12 ms,  res-max:  1045 ms,  res-95:    158 ms
Total Write                    bandwidth:   3.5 Gb/s,  successes:   13500,  failures:      4,  res-min:    12 ms,  res-max:  1045 ms,  res-95:    158 ms
"""
    (total, _), problems = read_text(text)
    assert problems == []
    assert (total.label, total.errors, total.details["operations"]) == ("Total Write", 4, 13500)
    assert total.bw_bytes_per_s == pytest.approx(3.5 * 1024**3 / 8)


def test_sibench_json_times_are_microseconds_and_no_key_is_kept():
    analysis = {
        "Name": "Total Read",
        "Phase": "Read",
        "IsTotal": True,
        "ResTimeMin": 2500,
        "ResTimeMax": 90000,
        "ResTime95": 40000,
        "ResTimeAvg": 21000,
        "Bandwidth": 8 * 512 * MIB,
        "BandwidthBytes": 512 * MIB,
        "Successes": 15360,
        "Failures": 1,
    }
    report = {
        "Arguments": {"ObjectSize": "1M", "RunTime": 30, "Workers": 1.0, "S3SecretKey": "very-secret"},
        "Stats": [],
        "Errors": None,
        "Analyses": [analysis],
    }
    text = json.dumps(report, indent=2)
    read = one(text)
    assert (read.bw_bytes_per_s, read.iops, read.size_bytes) == (512 * MIB, 512, MIB)
    assert (read.lat_mean_ns, read.errors, read.runtime_seconds) == (21e6, 1, 30)
    assert text.splitlines()[read.line - 1].strip() == '"Name": "Total Read",'
    assert "very-secret" not in repr(read)


def test_sibench_not_finished():
    readings, problems = read_text('{\n  "Arguments": {"ObjectSize": "1M"},\n  "Stats": [\n')
    assert readings == []
    assert any("without its Analyses" in problem for problem in problems)


KUBESTR = """PVC created kubestr-fio-pvc-abc
Pod created kubestr-fio-pod-xyz
Running FIO test (default-fio) on StorageClass (fast) with a PVC of Size (100Gi)
Elapsed time- 25.4s
FIO test results:
  FIO version - fio-3.36
Global options - ioengine=libaio verify=0 direct=1 gtod_reduce=1

JobName: read_iops
  blocksize=4K filesize=2G iodepth=64 rw=randread
read:
  IOPS=982.050781 BW(KiB/s)=3944
  iops: min=479 max=1916 avg=998.566650
  bw(KiB/s): min=1919 max=7664 avg=3995.000000

JobName: write_bw
  blocksize=128K filesize=2G iodepth=64 rw=randwrite
write:
  IOPS=700.000000 BW(KiB/s)=89600
  iops: min=479 max=1916 avg=700.000000
  bw(KiB/s): min=1919 max=7664 avg=89600.000000

Disk stats (read/write):
  rbd4: ios=30022/11982 merge=0/313 ticks=1028675/1022768 in_queue=2063740, util=99.670000%
  -  OK
"""


def test_kubestr_text():
    (read, write), problems = read_text(KUBESTR)
    assert problems == []
    assert (read.tool, read.label, read.direction, read.rw, read.line) == (
        "kubestr",
        "read_iops",
        "read",
        "randread",
        12,
    )
    assert (read.bs_bytes, read.size_bytes, read.iodepth) == (4096, 2 << 30, 64)
    assert (read.iops, read.bw_bytes_per_s) == (982.050781, 3944 * 1024)
    assert (write.direction, write.bw_bytes_per_s) == ("write", 89600 * 1024)
    assert read.details == {"fio_version": "3.36", "storage_class": "fast"}


def test_kubestr_text_with_somebodys_bold_words():
    bold = KUBESTR.replace("read:", "**read**:").replace(" avg=", " **avg=")
    assert bold != KUBESTR
    assert len(read_text(bold)[0]) == len(read_text(KUBESTR)[0])


def test_kubestr_json_is_read_once():
    job = {
        "jobname": "read_iops",
        "groupid": 0,
        "error": 0,
        "job options": {"bs": "4K", "rw": "randread", "iodepth": "64"},
        "read": {
            "io_bytes": 61886464,
            "bw_bytes": 4039322,
            "bw": 3944,
            "iops": 982.05,
            "runtime": 15321,
            "total_ios": 15046,
        },
    }
    result = {"fio version": "fio-3.36", "global options": {"ioengine": "libaio", "direct": "1"}, "jobs": [job]}
    output = [
        {
            "TestName": "FIO test results",
            "Status": [{"StatusCode": "OK", "StatusMessage": "\n" + KUBESTR}],
            "Raw": {
                "size": "100Gi",
                "storageClass": {"metadata": {"name": "fast"}},
                "fioConfig": "[global]\nbs=4k",
                "result": result,
            },
        }
    ]
    text = json.dumps(output, indent=4)
    (read,), problems = read_text(text)
    assert problems == []
    assert (read.tool, read.iops, read.bw_bytes_per_s, read.iodepth) == ("kubestr", 982.05, 4039322, 64)
    assert text.splitlines()[read.line - 1].strip().startswith('"jobname"')
    assert read.details["storage_class"] == "fast"


def test_kubestr_failure_is_told():
    readings, problems = read_text("FIO test results:\n  Failed to create the PVC: no StorageClass  -  Error\n")
    assert readings == []
    assert problems == ["line 2: kubestr's run failed: Failed to create the PVC: no StorageClass"]
