# SPDX-License-Identifier: Apache-2.0
"""What each field of fio's JSON becomes, by version; jobs outside every document."""

import json

import pytest

from ioatlas.load.fio.figures import direction_of
from ioatlas.load.fio.output import parse_fio_json, parse_whole_fio_json
from tests.facts import has

READ = {"io_bytes": 8, "bw": 4, "iops": 2.0, "runtime": 1000, "total_ios": 2, "short_ios": 3, "drop_ios": 5}
JOB = {
    "jobname": "a",
    "groupid": 7,
    "hostname": "h",
    "error": 42,
    "job options": {"bs": "4k"},
    "usr_cpu": 1.5,
    "sys_cpu": 2.5,
    "job_runtime": 11,
    "job_start": 12,
    "total_err": 13,
    "read": READ,
}
KIB, BW, LAT = (
    "io_bytes of this fio version is KiB: times 1024",
    "bandwidth from bytes and runtime: fio has whole KiB/s",
    "latencies of this fio version are microseconds",
)


def document(version: str | None = "fio-3.33", **more) -> dict:
    return {**({"fio version": version} if version else {}), "jobs": [JOB], **more}


def parsed(value: object):
    reading = parse_fio_json(json.dumps(value))
    assert len(reading.outputs) == 1
    return reading.outputs[0]


def latency(stats: dict, name: str = "lat_ns"):
    return direction_of("read", {**READ, name: stats}, kib_bytes=False).lat


def test_every_field_of_a_job():
    (job,) = parsed(document()).jobs
    assert (job.name, job.groupid, job.hostname, job.error, job.options) == ("a", 7, "h", 42, {"bs": "4k"})
    assert (job.usr_cpu_percent, job.sys_cpu_percent, job.total_errors) == (1.5, 2.5, 13)
    assert (job.job_runtime_ms, job.job_start_ms, job.line, job.complete) == (11, 12, 1, True)
    read = job.directions["read"]
    assert (read.direction, read.io_bytes, read.bw_bytes_per_s, read.iops) == ("read", 8, 4096.0, 2.0)
    assert (read.runtime_ms, read.total_ios, read.short_ios, read.drop_ios) == (1000, 2, 3, 5)
    assert list(job.directions) == ["read"]


@pytest.mark.parametrize(
    ("version", "notes", "io_bytes"),
    [
        (None, (KIB, LAT), 8192),
        ("fio-2.20", (KIB, BW, LAT), 8192),
        ("fio-2.21", (BW, LAT), 8),
        ("fio-2.98", (BW, LAT), 8),
        ("fio-2.99", (BW,), 8),
        ("fio-3.1", (BW,), 8),
        ("fio-3.2", (), 8),
    ],
)
def test_units_of_a_version(version, notes, io_bytes):
    output = parsed(document(version))
    assert (output.version, output.notes) == (version, notes)
    assert output.jobs[0].directions["read"].io_bytes == io_bytes


def test_latency_of_each_unit():
    stats = {"min": 1, "max": 4, "mean": 2.5, "stddev": 0.5, "percentile": {"99.000000": 3, "0.00": 0}}
    for name, factor in (("lat_ns", 1), ("lat_us", 1000), ("lat", 1000), ("lat_ms", 1_000_000)):
        found = latency(stats, name)
        has(found, min_ns=factor, max_ns=4 * factor, mean_ns=2.5 * factor, stddev_ns=0.5 * factor, samples=None)
        assert found.percentiles == ((99.0, 3.0 * factor),)


def test_latency_without_a_sample_is_not_measured():
    assert latency({"min": 0, "max": 0, "mean": 0.0, "N": 5}).samples == 5
    assert latency({"mean": 5.0, "max": 5, "N": 0}) is None
    assert latency({"mean": 0.0, "max": 0}) is None
    assert latency({"mean": 5.0}).mean_ns == 5.0
    assert latency({"max": 5}).max_ns == 5.0
    assert latency({"N": 1}).mean_ns is None


def test_histogram_bins_by_number_and_by_value():
    def bins(found: dict):
        return latency({"mean": 1.0, "bins": found}).histogram.bins

    assert bins({"100": 1, "30": 2, "5": 0, "7": -1, "x": 1, "9": 1.0, "-4": 1}) == ((30, 2), (100, 1))
    assert bins({"9" * 19: 1, "9" * 20: 1}) == ((int("9" * 19), 1),)
    # 8 buckets of each doubling: number 16 is the first that is 2 wide, from 16 on
    assert bins({"FIO_IO_U_PLAT_BITS": 3, "15": 1, "16": 4}) == ((15, 1), (17, 4))
    assert bins({"FIO_IO_U_PLAT_BITS": 0, "127": 1, "128": 1}) == ((127, 1), (129, 1))
    assert len(bins({"FIO_IO_U_PLAT_BITS": 6, str(1 << 14): 1, str((1 << 14) + 1): 1})) == 1
    assert len(bins({"FIO_IO_U_PLAT_BITS": 16, "1": 1})) == 1
    assert bins({"FIO_IO_U_PLAT_BITS": 17, "1": 1}) == ()
    assert latency({"mean": 1.0, "bins": []}).histogram.bins == ()


def test_a_job_alone():
    output = parse_fio_json("x\ny " + json.dumps(JOB), first_line=10).outputs[0]
    assert (output.version, output.line, output.complete, output.global_options) == (None, 11, False, {})
    assert output.jobs[0].line == 11
    assert output.jobs[0].directions["read"].io_bytes == 8192
    newer = parse_fio_json('"fio version" : "fio-3.33"\n' + json.dumps(JOB)).outputs[0]
    assert (newer.version, newer.jobs[0].directions["read"].io_bytes) == ("fio-3.33", 8)


@pytest.mark.parametrize(("version", "io_bytes"), [("fio-2.1.4", 8192), ("fio-3.33", 8)])
def test_jobs_that_a_cut_document_of_another_tool_holds(version, io_bytes):
    jobs = [{**JOB, "jobname": name} for name in ("a", "All clients", "b", "c")]
    lines = [f'"fio version" : "{version}"', '{"mine": [', *(f"{json.dumps(job)}," for job in jobs)]
    text = "\n".join(lines)
    cut = text[: text.rindex('"short_ios"')]
    reading = parse_fio_json(cut, first_line=11)
    (output,) = reading.outputs
    assert (output.version, output.line, output.complete) == (version, 13, False)
    assert [(job.name, job.line, job.complete) for job in output.jobs] == [
        ("a", 13, True),
        ("b", 15, True),
        ("c", 16, False),
    ]
    assert [job.directions["read"].io_bytes for job in output.jobs] == [io_bytes] * 3
    assert all(problem.line == 16 for problem in reading.problems)
    assert reading.problems


def test_a_whole_document_beside_a_cut_one_is_not_given_twice():
    whole = json.dumps({"mine": [document()]})
    reading = parse_fio_json(whole + "\n" + whole[: whole.index('"read"')] + "\n" + json.dumps(document()))
    assert [len(output.jobs) for output in reading.outputs].count(1) >= 2
    starts = [(output.line, job.line) for output in reading.outputs for job in output.jobs]
    assert len(set(starts)) == len(starts)


def test_documents_inside_another_tools_json():
    inside = {"fio version": "fio-3.33", "client_stats": [JOB]}
    assert len(parsed({"a": [{"b": inside}]}).jobs) == 1
    assert len(parsed({"a": {"b": document()}}).jobs) == len(document()["jobs"])
    deep: object = inside
    for _ in range(7):
        deep = [deep]
    assert len(parse_fio_json(json.dumps({"a": deep[0]})).outputs) == 1
    assert parse_fio_json(json.dumps({"a": deep})).outputs == ()
    assert parse_fio_json(json.dumps({"a": {"jobs": [JOB]}, "b": {"fio version": "x"}})).outputs == ()


def test_the_quick_way_reads_the_same():
    text = json.dumps(document(), indent=1)
    assert parse_whole_fio_json(text.encode()) == parse_fio_json(text)
    assert parse_whole_fio_json(text.encode()).outputs[0].jobs[0].line == 4
    assert parse_whole_fio_json(b'{"jobs": []}') is None
    assert parse_whole_fio_json(b'{"x": 1}') is None
    assert parse_whole_fio_json(b"no") is None


def test_spreads_and_submission_latencies_are_kept():
    record = {**READ, "bw_dev": 2.0, "iops_stddev": 0.25, "slat_ns": {"mean": 3.0}, "clat_ns": {"mean": 4.0}}
    found = direction_of("read", record, kib_bytes=False)
    assert (found.bw_stddev_bytes_per_s, found.iops_stddev) == (2048.0, 0.25)
    assert (found.slat.mean_ns, found.clat.mean_ns, found.lat) == (3.0, 4.0, None)


def test_a_direction_without_an_io_has_no_latency():
    leftover = {"lat_ns": {"mean": 5.0}, "clat_ns": {"mean": 5.0}, "slat_ns": {"mean": 5.0}}
    idle = direction_of("write", {"total_ios": 0, "io_bytes": 0, "bw_bytes": 0, **leftover}, kib_bytes=False)
    assert (idle.slat, idle.clat, idle.lat, idle.measured) == (None, None, None, False)
    moved = direction_of("write", {"total_ios": 0, "io_bytes": 9, **leftover}, kib_bytes=False)
    assert (moved.lat.mean_ns, moved.measured) == (5.0, True)


@pytest.mark.parametrize("name", ["io_bytes", "total_ios", "iops", "bw_bytes"])
def test_one_figure_tells_that_something_was_measured(name):
    assert direction_of("read", {name: 1}, kib_bytes=False).measured
    assert not direction_of("read", {name: 0}, kib_bytes=False).measured


def test_a_bucket_that_cannot_be_does_not_end_the_others():
    bins = {"FIO_IO_U_PLAT_BITS": 6, "99999": 3, "10": 5}
    assert latency({"mean": 1.0, "bins": bins}).histogram.bins == ((10, 5),)


def test_figures_that_are_none_are_named():
    parts = {"read": {**READ, "iops": -1, "bw": "n/a", "lat_ns": {"mean": "NaN", "percentile": {"99.0": "x" * 30}}}}
    reading = parse_fio_json(json.dumps({"fio version": "fio-3.33", "jobs": [{**JOB, **parts}]}))
    (problem,) = reading.problems
    assert problem.what == (
        "job 'a': no figures, left out: read.bw is n/a, read.iops is -1, read.lat_ns.mean is NaN,"
        f" read.lat_ns.percentile 99.0 is {'x' * 20}"
    )
    many = {"write": dict.fromkeys(("io_bytes", "bw", "bw_bytes", "iops", "runtime", "total_ios"), "?")}
    (problem,) = parse_fio_json(json.dumps({"jobs": [{"jobname": "b", **many}]})).problems
    assert problem.what.startswith("job 'b': no figures, left out: write.io_bytes is ?, ")
    assert problem.what.endswith(" and 1 more")


def test_a_percentile_that_fio_did_not_print_is_read_off_its_bins():
    found = latency({"mean": 50.0, "percentile": {"99.000000": 77}, "bins": {"10": 90, "60": 10}})
    assert (found.percentile_ns(99), found.percentile_ns(99.0000001)) == (77.0, 77.0)
    assert (found.percentile_ns(50), found.percentile_ns(95)) == (10, 60)
    assert latency({"mean": 50.0}).percentile_ns(99) is None


@pytest.mark.parametrize(
    ("more", "bw"),
    [
        ({"io_bytes": 108_840, "runtime": 10_000, "bw": 10}, 10_884),
        ({"io_bytes": 108_840, "runtime": 10_000, "bw": 10, "bw_bytes": 10_880}, 10_880),
        ({"io_bytes": 5_000_000, "runtime": 10_000, "bw": 10}, 10_240),  # not of the same I/Os
        ({"io_bytes": 4096, "runtime": 100, "bw": 40}, 40_960),
    ],
)
def test_whole_kib_a_second_give_way_to_bytes_and_time(more, bw):
    record = {name: value for name, value in READ.items() if name != "bw_bytes"} | more
    assert direction_of("read", record, kib_bytes=False).bw_bytes_per_s == bw
