# SPDX-License-Identifier: Apache-2.0
"""Result files that say what cannot be, in units or layouts of their own, against arithmetic, or that never end."""

import json
import os
from dataclasses import replace

import pytest
from click.testing import CliRunner
from read_samples import one, read_path, read_text
from tests.unit.samples import sample

from ioatlas.answer.analysis.imported import imported_map
from ioatlas.model.errors import UsageError
from ioatlas.model.imported_reading import ImportedReading, Labelled
from ioatlas_translate.import_ import command
from ioatlas_translate.read import fio_json
from ioatlas_translate.read.importer import walk
from ioatlas_translate.read.kit import noted, num
from ioatlas_translate.read.physics import doubts

MIB = 1 << 20
XDD = """IOIOIOIOIOIOIOIOIOIOI XDD version Linux.7.0.0-rc18 IOIOIOIOIOIOIOIOIOIOIOI
Number of Targets, 1
\t\tRequest size, 4096, 1024-byte blocks, 4194304, bytes
\t\tQueue Depth, 4
\t\tSeek pattern, sequential
 What     Pass  Target   Queue     Bytes_Xfered   Ops  Elapsed  Bandwidth  IOPS   Latency  Pct_CPU  Op_Type  Xfer_Size
    UNITS>> Number Number Number          Bytes  #ops  seconds   MBytes/s  Ops/s  millisec percent  text     bytes
 COMBINED    1       1       4        100000000    24    4.820     20.748  4.979    50.203   1.089  write    {last}
"""


def test_the_last_request_of_xdd_is_not_its_request_size():
    reading = one(XDD.format(last=3_527_680))
    assert reading.bs_bytes == 4 * MIB
    assert "the last request was 3527680 bytes; the run was given 4194304" in reading.notes
    assert one(XDD.replace("\t\tRequest size, 4096, 1024-byte blocks, 4194304, bytes\n", "").format(last=65536))
    two = XDD.replace("\t\tQueue", "\t\tRequest size, 64, 1024-byte blocks, 65536, bytes\n\t\tQueue").format(last=65536)
    assert one(two).bs_bytes is None


VDBENCH = """Vdbench distribution: vdbench50406
13:50:02.003 Starting RD=rd2; I/O rate: Uncontrolled MAX run; elapsed=60; For loops: threads=2
Apr 08, 2016  interval        i/o   MB/sec   bytes   read     resp     read    write     resp     resp queue  cpu%  cpu%
                             rate  1024**2     i/o    pct     time     resp     resp      max   stddev depth sys+u   sys
{row}
"""
FIGURES = "212.42     0.83    4096  100.00    9.400    9.400    0.000  209.282   21.505   2.0   1.4   0.5"


def test_an_average_of_zeros_is_no_reading():
    zeros = " ".join(["0.00"] * 12)
    readings, problems = read_text(VDBENCH.format(row=f"13:51:02.241  avg_2-60  {zeros}"))
    assert readings == []
    assert any("an average line of zeros" in problem for problem in problems)


@pytest.mark.parametrize("before", ["13:51:02.241  ", "13:51:02.241 ", "", "   "])
def test_an_average_may_stand_without_its_time(before):
    reading = one(VDBENCH.format(row=f"{before}avg_2-60  {FIGURES}"))
    assert (reading.iops, reading.lat_mean_ns) == (212.42, 9.4e6)


def test_columns_go_by_their_names():
    text = """13:50:02.003 Starting RD=rd2; elapsed=60; For loops: threads=2
Apr 08, 2016  interval   resp   MB/sec     i/o   bytes   read
                         time  1024**2    rate     i/o    pct
13:51:02.241  avg_2-60  9.400     0.83  212.42    4096 100.00
"""
    reading = one(text)
    assert (reading.iops, reading.lat_mean_ns, reading.direction) == (212.42, 9.4e6, "read")


def test_bits_of_fio_are_bytes():
    text = """fio-3.33
Starting 1 process

a: (groupid=0, jobs=1): err= 0: pid=27: Mon Nov 23 00:00:00 2026
  read: IOPS=2560, BW=80.0Mibit/s (83.9Mbit/s)(32.0MiB/3200msec)
    clat (nsec): min=100, max=200, avg=150.00, stdev=10.00

Run status group 0 (all jobs):
   READ: bw=80.0Mibit/s (83.9Mbit/s), 80.0Mibit/s-80.0Mibit/s (83.9Mbit/s-83.9Mbit/s), io=32.0MiB (33.6MB), run=3200-3200msec
"""  # noqa: E501 - as fio printed it
    assert one(text).bw_bytes_per_s == pytest.approx(10 * MIB, rel=1e-3)
    assert one(text[text.index("   READ") :]).bw_bytes_per_s == pytest.approx(10 * MIB, rel=1e-3)
    old = text[: text.index("  read")] + "  read : io=32768KB, bw=81920Kbit/s, iops=2560, runt=  3200msec\n"
    assert one(old).bw_bytes_per_s == 10 * MIB


def fio(**figures) -> str:
    read = {"io_bytes": 40960, "io_kbytes": 40, "bw_bytes": 4096, "bw": 4, "iops": 1.0, "runtime": 10_000} | figures
    return json.dumps({"fio version": "fio-3.33", "jobs": [{"jobname": "a", "error": 0, "read": read}]})


@pytest.mark.parametrize("figure", ["NaN", "Infinity", "-Infinity", "1e999", "-5", '"fast"', "9" * 5000])
def test_what_is_no_figure_is_told(figure):
    text = fio(iops=123456789).replace("123456789", figure)
    readings, problems = read_text(text)
    assert [(reading.iops, reading.bw_bytes_per_s) for reading in readings] == [(None, 4096)]
    assert any("read.iops is" in problem for problem in problems)


def test_latencies_that_are_none_are_told():
    readings, problems = read_text(fio(clat_ns={"min": 1, "max": 2, "mean": -3, "N": 4, "percentile": {"99.0": "x"}}))
    assert readings[0].lat_mean_ns is None
    assert any("read.clat_ns.mean is -3, read.clat_ns.percentile 99.0 is x" in problem for problem in problems)


def test_contradictions_and_failures_are_printed_and_kept(tmp_path):
    path = tmp_path / "a.json"
    path.write_text(fio(lat_ns={"min": 1, "max": 10**15, "mean": 7.5e14, "N": 4}).replace('"error": 0', '"error": 5'))
    done = CliRunner().invoke(command, [str(path), "--json"])
    assert done.exit_code == 0
    assert "a mean latency of" in done.stderr
    assert "in a run of 10 s" in done.stderr
    assert "error 5: the run failed" in done.stderr
    assert any("contradiction" in note for note in json.loads(done.stdout)["notes"])


def test_a_pipe_that_nobody_writes_to_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for endless in (str(tmp_path / "pipe"), "/dev/zero"):
        refused = CliRunner().invoke(command, [endless]).exception
        assert isinstance(refused, UsageError)
        assert "neither a file nor a folder" in refused.what
    (tmp_path / "a.json").write_text(fio())
    done = CliRunner().invoke(command, [str(tmp_path)])  # inside a folder it is passed over
    assert done.exit_code == 0


def test_a_folder_that_cannot_be_read_is_told(tmp_path):
    (tmp_path / "closed").mkdir()
    (tmp_path / "closed" / "a.json").write_text(fio())
    (tmp_path / "closed").chmod(0)
    tmp_path.chmod(0o755)
    out, into = os.pipe()
    child = os.fork()
    if not child:  # as a user without privileges: root may read everything
        try:
            os.chdir(tmp_path)
            if os.geteuid() == 0:
                os.setuid(65534)
            told: list[str] = []
            found = list(walk(["closed"], told))
            os.write(into, json.dumps([found, told]).encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    os.close(into)
    found, told = json.loads(os.read(out, 10_000))
    (tmp_path / "closed").chmod(0o700)
    assert found == []
    assert told == ["closed: cannot be read: Permission denied"]


def test_of_a_file_that_is_too_large_what_is_held_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(fio_json, "MOST_BYTES", 1 << 20)
    document = json.loads(fio(clat_ns={"mean": 5.0, "N": 1, "bins": {str(place): 1 for place in range(100)}}))
    text = json.dumps(document["jobs"][0])
    document["jobs"] = [json.loads(text.replace('"a"', f'"job{number}"')) for number in range(1500)]
    path = tmp_path / "large.json"
    path.write_text(json.dumps(document))
    assert path.stat().st_size > 1 << 20
    readings, problems = read_path(path)
    assert [one.label for one in readings] == [f"job{number}" for number in range(len(readings))]
    assert 500 < len(readings) < 1500
    assert any("only the first 1 MiB" in problem for problem in problems)
    assert {(one.iops, one.lat_mean_ns) for one in readings[:-1]} == {(1.0, 5.0)}


IO500 = "[ior-easy-write]\nscore = 228.2\nt_delta = 30.0\n\n[mdtest-easy-write]\nscore = 11.5\nt_delta = 30.0\n"


@pytest.mark.parametrize("text", ["nan", "-NaN", "inf", "Infinity", "-7.5", "-12", "1e999", "-1.#IND", "1.#INF"])
def test_each_is_noted(text):
    with noted() as found:
        assert num(text) is None
    assert found == [text]


@pytest.mark.parametrize("text", ["", "n/a", "+++++", "-", "228.2", "1e3", "0", "-0", "word", "1,024"])
def test_what_stands_for_no_value_and_figures_are_not(text):
    with noted() as found:
        num(text)
    assert not found


@pytest.mark.parametrize("bad", ["nan", "inf", "-228.2"])
def test_a_figure_that_is_none_is_told_of_a_line_that_is_read_otherwise(bad):
    whole, problems = read_text(IO500)
    assert not any("not taken as figures" in problem for problem in problems)
    less, problems = read_text(IO500.replace("228.2", bad))
    assert len(less) < len(whole)
    assert any(f"not taken as figures (1): {bad}" in problem for problem in problems)


@pytest.mark.parametrize("name", ["xdd/xdd-7.0.0rc18-four-passes.log", "diskspd/diskspd-2.0-mix-70-30.txt"])
def test_files_as_tools_write_them_have_none(name):
    _, problems = read_text(sample(name).read_text(errors="replace"))
    assert not any("not taken as figures" in problem for problem in problems)


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
