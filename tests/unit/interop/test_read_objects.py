# SPDX-License-Identifier: Apache-2.0
"""Results of warp, s3-benchmark, COSBench and sibench, and of fio run by kubestr, as readings."""

import json

import pytest

from tests.facts import has
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
    has(put, tool="warp", operation="put", direction="write", size_bytes=10485760, numjobs=20)
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
    has(put, operation="put", iops=4, bw_bytes_per_s=2 * MIB, lat_p99_ns=30e6, size_bytes=524288)
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
    has(read, tool="kubestr", label="read_iops", direction="read", rw="randread", line=12)
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
