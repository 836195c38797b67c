# SPDX-License-Identifier: Apache-2.0
import json
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioatlas.load.fio.figures import bucket_value
from ioatlas.load.fio.output import parse_fio_json
from tests.examples import examples
from tests.facts import has
from tests.unit.samples import SAMPLES, sample

NEW = {
    "fio version": "fio-3.33",
    "timestamp": 1700000000,
    "timestamp_ms": 1700000000123,
    "global options": {"rw": "randrw", "bs": "4096"},
    "jobs": [
        {
            "jobname": "a",
            "groupid": 0,
            "error": 0,
            "job options": {"name": "a", "iodepth": "4"},
            "read": {
                "io_bytes": 8192,
                "io_kbytes": 8,
                "bw_bytes": 4096,
                "bw": 4,
                "iops": 1.0,
                "runtime": 2000,
                "total_ios": 2,
                "short_ios": 0,
                "drop_ios": 0,
                "slat_ns": {"min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0},
                "clat_ns": {
                    "min": 100,
                    "max": 300,
                    "mean": 200.0,
                    "stddev": 1.0,
                    "N": 2,
                    "percentile": {"99.000000": 300},
                    "bins": {"100": 1, "300": 1},
                },
                "lat_ns": {"min": 110, "max": 310, "mean": 210.0, "stddev": 1.0, "N": 2},
            },
            "write": {"io_bytes": 0, "bw": 0, "iops": 0.0, "runtime": 0, "total_ios": 0},
        }
    ],
    "disk_util": [{"name": "sda", "util": 12.5}],
}


DEEP = ('{"a":' * 100_000, "[" * 100_000, '{"' * 20_000)


def one(text: str):
    reading = parse_fio_json(text)
    assert len(reading.outputs) == 1, reading.problems
    return reading.outputs[0], reading.problems


def test_new_layout_in_base_units():
    output, problems = one(json.dumps(NEW, indent=2))
    assert problems == ()
    assert output.timestamp_seconds == pytest.approx(1700000000.123)
    job = output.jobs[0]
    assert output.options_of(job) == {"rw": "randrw", "bs": "4096", "name": "a", "iodepth": "4"}
    read = job.directions["read"]
    has(read, io_bytes=8192, bw_bytes_per_s=4096.0, iops=1.0, runtime_ms=2000, total_ios=2)
    assert read.slat is None, "no samples: not measured"
    assert read.clat.percentile_ns(99) == 300
    assert read.clat.histogram.bins == ((100, 1), (300, 1))
    assert read.lat.mean_ns == 210
    assert not job.directions["write"].measured


def test_text_before_between_and_after():
    text = f"fio: 5 processes\n<vm> connected {{really}}\n{json.dumps(NEW, indent=1)}\nnoise\n{json.dumps(NEW)}\nbye"
    reading = parse_fio_json(text)
    assert [output.version for output in reading.outputs] == ["fio-3.33", "fio-3.33"]
    assert reading.outputs[0].line == 3


def test_log_lines_inside_the_json():
    lines = json.dumps(NEW, indent=1).splitlines()
    lines.insert(12, "fio: pid=77, err=5/file:io_u.c:1803, func=io_u error, error=Input/output error")
    output, problems = one("\n".join(lines))
    assert output.complete
    assert output.jobs[0].directions["read"].io_bytes == 8192
    assert problems[0].line == 13
    assert "Input/output" in problems[0].what


def test_a_cut_number_is_never_used():
    text = json.dumps(NEW, indent=1)
    cut = text[: text.index('"bw_bytes": 4096') + len('"bw_bytes": 40')]
    output, problems = one(cut)
    read = output.jobs[0].directions["read"]
    assert read.io_bytes == 8192
    assert read.bw_bytes_per_s is None
    assert not output.complete
    assert not output.jobs[0].complete
    assert problems[-1].line == cut.count("\n") + 1


def test_jobs_after_a_break_are_found_again():
    text = json.dumps({**NEW, "jobs": NEW["jobs"] * 3}, indent=1)
    at = text.index('"runtime": 2000')
    reading = parse_fio_json(text[:at] + '"run@@@ : {{ 2' + text[at + 15 :])
    names = [job.name for output in reading.outputs for job in output.jobs]
    assert names == ["a", "a", "a"]
    assert reading.problems


def test_duplicate_keys():
    text = (
        '{"fio version": "fio-3.33", "global options": {"bs": "4k", "bs": "8k", "rw": "read", "rw": "read"}, '
        '"jobs": [{"jobname": "a", "read": {"io_bytes": 1}}]}'
    )
    output, problems = one(text)
    assert output.global_options == {"bs": "8k", "rw": "read"}
    assert len(problems) == 1
    assert not problems[0].lost
    doubled = (
        '{"jobs": [{"jobname": "a", "read": {"io_bytes": 1, "io_bytes": 2}}], '
        '"jobs": [{"jobname": "b", "read": {"io_bytes": 1}}]}'
    )
    output, problems = one(doubled)
    assert [job.name for job in output.jobs] == ["a", "b"]
    assert problems[0].lost


def test_old_layout_kib_and_microseconds():
    clat = {"min": 2, "max": 9, "mean": 4.5, "stddev": 1.0}
    clat["percentile"] = {"99.000000": 9, "0.00": 0, "0.000000": 0}
    clat["bins"] = {"0": 0, "127": 1, "128": 3, "FIO_IO_U_PLAT_BITS": 6}
    part = {"io_bytes": 361984, "bw": 68118, "iops": 133.5, "runtime": 5314, "clat": clat}
    output, _ = one(json.dumps({"fio version": "fio-2.14", "jobs": [{"jobname": "x", "read": part}]}))
    read = output.jobs[0].directions["read"]
    assert read.io_bytes == 361984 * 1024
    assert read.bw_bytes_per_s == pytest.approx(68118 * 1024, rel=1e-3)
    assert read.io_bytes / (read.runtime_ms / 1000) == read.bw_bytes_per_s
    assert read.clat.mean_ns == 4500
    assert read.clat.percentiles == ((99.0, 9000.0),)
    assert read.clat.histogram.bins == ((127_000, 1), (129_000, 3))
    assert len(output.notes) == 3


def test_version_2_21_has_bytes_and_microseconds():
    part = {"io_bytes": 4096, "io_kbytes": 4, "bw": 4, "runtime": 1000, "lat": {"mean": 2.0, "max": 3}}
    record = {"fio version": "fio-2.21", "jobs": [{"jobname": "x", "write": part}]}
    write = one(json.dumps(record))[0].jobs[0].directions["write"]
    assert (write.io_bytes, write.bw_bytes_per_s, write.lat.mean_ns) == (4096, 4096.0, 2000.0)


def test_client_server_sums_entries_and_leaves_all_clients_out():
    entry = NEW["jobs"][0]
    clients = [
        {**entry, "hostname": "h1"},
        {**entry, "hostname": "h2"},
        {**entry, "jobname": "All clients", "hostname": "h2"},
    ]
    record = {"fio version": "fio-3.33", "client_stats": clients}
    output, _ = one("\n" + json.dumps(record))
    assert [job.hostname for job in output.jobs] == ["h1", "h2"]
    assert [(part.io_bytes, part.total_ios) for part in (job.directions["read"] for job in output.jobs)] == [
        (8192, 2)
    ] * 2


def test_bucket_values_follow_fio():
    # fio 3.33 prints these bucket middles in json+ bins; indices worked out by hand from stat.h's figure of the
    # buckets.
    middles = {0: 0, 63: 63, 64: 64, 127: 127, 128: 129, 129: 131, 191: 255, 192: 258, 1215: 16_711_680}
    assert {index: bucket_value(index) for index in middles} == middles


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", "null", '{"jobs": 3}', '{"jobs": [1, null]}', *DEEP])
def test_junk_gives_no_output_and_no_exception(text):
    assert not any(output.jobs for output in parse_fio_json(text).outputs)


@pytest.mark.parametrize("value", [10**400, -1, 1e308, "nan", True, None, [], {}, "12"])
def test_odd_values(value):
    clat = {"mean": value, "max": value, "bins": {"5": value}}
    read = {"io_bytes": value, "bw": value, "iops": value, "clat_ns": clat}
    text = json.dumps({"jobs": [{"jobname": "x", "error": value, "read": read}]})
    parse_fio_json(text.replace('"nan"', "NaN"))


@examples(150)
@given(st.data())
def test_every_truncation_keeps_only_true_figures(data):
    text = json.dumps({**NEW, "jobs": NEW["jobs"] * 2}, indent=1)
    cut = data.draw(st.integers(0, len(text)))
    for output in parse_fio_json(text[:cut]).outputs:
        for job in output.jobs:
            read = job.directions.get("read")
            if read is not None:
                assert read.io_bytes in (None, 8192)
                assert read.bw_bytes_per_s in (None, 4096.0)
                assert read.iops in (None, 1.0)


@pytest.mark.needs("fio")
def test_real_fio_agrees_with_itself(tmp_path):
    out = tmp_path / "o.json"
    options = f"--size=8m --rw=randrw --bs=4k --lat_percentiles=1 --output-format=json+ --output={out}"
    subprocess.run(
        ["fio", "--name=n", "--ioengine=null", *options.split()], check=True, capture_output=True, timeout=300
    )
    output, problems = one(out.read_text())
    assert problems == ()
    read, write = (output.jobs[0].directions[name] for name in ("read", "write"))
    assert read.io_bytes + write.io_bytes == 8 << 20
    for part in (read, write):
        assert part.lat.histogram.count == part.total_ios == part.lat.samples
        assert part.lat.percentile_ns(99) == dict(part.lat.percentiles)[99.0]
        # nearest-rank on the bins is the percentile fio prints
        assert part.lat.histogram.percentile_ns(99) == pytest.approx(part.lat.percentile_ns(99), rel=0.02)


def test_sample_2_1_4():
    output, problems = one(sample("fio/json/fio-2.1.4-five-jobs.json").read_text())
    assert problems == ()
    assert [job.name for job in output.jobs][:2] == ["sequential_write", "sequential_read"]
    write = output.jobs[0].directions["write"]
    assert write.io_bytes == 361984 * 1024
    assert write.clat.percentile_ns(99) == 823_296_000
    assert write.lat.mean_ns == pytest.approx(478_737_470)


def test_sample_client_server():
    output, problems = one(sample("fio/json/fio-3.7-client-server.txt").read_text())
    assert problems == ()
    assert output.line == 28
    assert len(output.jobs) == 10
    assert (
        sum(job.directions["read"].io_bytes for job in output.jobs) == 5_740_351_488
    )  # what its "All clients" record says
    assert sum(job.directions["read"].iops for job in output.jobs) == pytest.approx(93_198.15, rel=2e-3)


def test_sample_error_and_preamble():
    output, _ = one(sample("fio/json/fio-3.13-error-with-preamble.txt").read_text())
    assert output.line == 3
    assert output.jobs[0].error == 42
    assert output.jobs[0].directions["read"].bw_bytes_per_s == 202249835


def test_sample_truncated():
    output, problems = one(sample("fio/json/derived-truncated-in-write-section.json").read_text())
    job = output.jobs[0]
    assert job.directions["read"].lat.mean_ns == pytest.approx(76352539.600213)
    assert job.directions["write"].io_bytes == 333447168
    assert job.directions["write"].lat is None
    assert any(problem.lost and problem.line in (120, 121) for problem in problems)


def test_every_json_sample_is_read():
    for path in (SAMPLES / "fio" / "json").glob("*"):
        assert parse_fio_json(path.read_text()).outputs, path


def test_lines_are_told_as_they_stand_in_the_file():
    """Two lines of a log inside the first document, and a second document: each is named by its line in the text."""
    lines = json.dumps(NEW, indent=1).splitlines()
    first, second = "fio: one has failed", "fio: another has failed"
    lines.insert(5, first)
    lines.insert(14, second)
    length = len(lines)
    lines += json.dumps(NEW, indent=1).splitlines()
    reading = parse_fio_json("\n".join(lines), first_line=101)
    told = {problem.what.partition(": ")[2].strip("'"): problem.line for problem in reading.problems}
    assert told == {first: 106, second: 115}
    assert [output.line for output in reading.outputs] == [101, 101 + length]
    assert [output.jobs[0].name for output in reading.outputs] == ["a", "a"]


def test_jobs_after_a_break_are_added_to_those_before_it():
    text = json.dumps(NEW, indent=1)
    whole = json.dumps({**NEW, "jobs": NEW["jobs"] * 2}, indent=1)
    at = whole.index('"runtime": 2000')
    reading = parse_fio_json(text + "\n" + whole[:at] + "@@@ {{" + whole[at + 15 :])
    assert sum(len(output.jobs) for output in reading.outputs) == 3
