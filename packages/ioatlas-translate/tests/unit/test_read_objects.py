# SPDX-License-Identifier: Apache-2.0
"""Results of tools for objects and clusters: told not to be read, but for the fio JSON that kubestr's holds."""

import json

import pytest
from read_samples import read_text


@pytest.mark.parametrize(
    ("tool", "text"),
    [
        ("warp", "Operation: PUT (330). Ran 32s. Size: 10485760 bytes. Concurrency: 20.\n* Average: 152.59 MiB/s\n"),
        ("warp", "Report: GET (78188 reqs). Ran Duration: 29.9s, starting 19:03:41 CEST\n * Average: 2604 MiB/s\n"),
        ("warp", json.dumps({"v": 2, "commandline": "warp get", "by_op_type": {"GET": {}}}, indent=2)),
        ("kubestr", "FIO test results:\n  FIO version - fio-3.36\n\nJobName: read_iops\n  blocksize=4K filesize=2G\n"),
        ("smallfile", "host = gprfc032, thread = 00, elapsed sec. = 2.5, total files = 1000, status = ok\n"),
    ],
)
def test_a_tool_that_is_not_read_is_named(tool, text):
    readings, problems = read_text(text)
    assert readings == []
    assert f"a result of {tool}, which is not read" in problems[0]


def test_the_fio_json_within_kubestrs_is_read():
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
            "Status": [{"StatusCode": "OK", "StatusMessage": ""}],
            "Raw": {
                "size": "100Gi",
                "storageClass": {"metadata": {"name": "fast"}},
                "fioConfig": "[global]\nbs=4k",
                "result": result,
            },
        }
    ]
    (read,), problems = read_text(json.dumps(output, indent=4))
    assert problems == []
    assert (read.tool, read.iops, read.bw_bytes_per_s, read.iodepth) == ("fio", 982.05, 4039322, 64)
