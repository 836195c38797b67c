# SPDX-License-Identifier: Apache-2.0
import json
import subprocess
from shutil import which

import pytest
from read_samples import one, read_path, read_text
from tests.facts import has
from tests.unit.samples import sample

KIB, MIB = 1024, 1 << 20

JOB = {
    "jobname": "a",
    "groupid": 0,
    "error": 0,
    "job options": {"rw": "randrw", "bs": "4k,8k", "size": "1g", "iodepth": "4", "rwmixread": "70"},
    "read": {
        "io_bytes": 4096,
        "io_kbytes": 4,
        "bw_bytes": 4096,
        "bw": 4,
        "iops": 1.0,
        "runtime": 1000,
        "total_ios": 1,
        "lat_ns": {"mean": 5.0, "max": 5, "N": 1},
        "clat_ns": {"mean": 4.0, "max": 4, "N": 1, "percentile": {"99.000000": 4}},
    },
    "write": {
        "io_bytes": 8192,
        "io_kbytes": 8,
        "bw_bytes": 8192,
        "bw": 8,
        "iops": 1.0,
        "runtime": 1000,
        "total_ios": 1,
    },
}


def document(**fields):
    return json.dumps({"fio version": "fio-3.33", "timestamp": 100, "jobs": [JOB], **fields}, indent=1)


def test_mixed_load_gives_read_and_write_apart():
    readings, problems = read_text(document())
    assert problems == []
    read, write = readings
    has(read, direction="read", rw="randrw", bs_bytes=4096, size_bytes=1 << 30, iodepth=4, rwmixread=70.0)
    assert (write.direction, write.bs_bytes, write.bw_bytes_per_s) == ("write", 8192, 8192.0)
    assert (read.lat_mean_ns, read.lat_kind, read.lat_p99_ns, read.lat_p99_kind) == (5.0, "total", 4.0, "completion")
    assert read.numjobs is None, "not said, not guessed"
    assert write.lat_mean_ns is None
    assert read.as_dict()["kind"] == "imported"
    assert read.as_dict()["source"].endswith(f":{read.line}")


def test_kib_written_out_is_decimal_in_fio():
    # fio 3.33 reads 4KiB as 4000 and 4ki as 4096 with its default kb_base
    for text, value in (("4KiB", 4000), ("4ki", 4096), ("4k", 4096), ("4kb", 4096), ("4096", 4096)):
        job = {**JOB, "job options": {"rw": "read", "bs": text}}
        assert read_text(document(jobs=[job]))[0][0].bs_bytes == value


@pytest.mark.parametrize("options", [{"bsrange": "4k-16k"}, {"bssplit": "4k/50:8k/50"}])
def test_no_single_block_size(options):
    assert read_text(document(jobs=[{**JOB, "job options": {"rw": "read", **options}}]))[0][0].bs_bytes is None


def test_status_interval_documents_give_the_last_one():
    parts = []
    for second in (1, 2, 3):
        read = {**JOB["read"], "io_bytes": 4096 * second, "runtime": 1000 * second}
        parts.append(document(timestamp=100 + second, jobs=[{**JOB, "read": read, "job_start": 99_000}]))
    readings, problems = read_text("\n".join(parts))
    assert [reading.io_bytes for reading in readings if reading.direction == "read"] == [4096 * 3]
    assert "2 interim" in problems[0]


def test_two_runs_one_after_the_other_are_both_kept():
    readings, problems = read_text(document(timestamp=100) + "\n" + document(timestamp=500))
    assert len(readings) == 4
    assert problems == []


def test_failed_job_keeps_its_error_code():
    reading = one(
        document(
            jobs=[
                {
                    "jobname": "x",
                    "error": 5,
                    "read": {"io_bytes": 0, "total_ios": 0},
                    "write": {"io_bytes": 0, "total_ios": 0},
                }
            ]
        )
    )
    assert reading.errors == 5
    assert reading.iops is None
    assert any("code" in note for note in reading.notes)


def test_global_options_as_a_list():
    text = json.dumps(
        {"fio version": "fio-3.1", "global options": [{"rw": "read", "bs": "8k"}], "jobs": [{**JOB, "job options": {}}]}
    )
    assert read_text(text)[0][0].bs_bytes == 8192


def test_documents_inside_other_json():
    first, second = json.loads(document()), json.loads(document(timestamp=500))
    for text in (
        json.dumps([first, second]),
        json.dumps({"runs": [{"result": first}, {"result": second}], "x": 1}, indent=2),
    ):
        assert len(read_text(text)[0]) == 4


TEXT = """\
job1: (g=0): rw=randread, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=libaio, iodepth=16
fio-3.19
Starting 2 threads

job1: (groupid=0, jobs=2): err= 5 (file:io_u.c:1803, func=io_u error, error=Input/output error): pid=1: \
Sat Nov 21 00:00:00 2026
  read: IOPS=12.3k, BW=48.2MiB/s (50.5MB/s)(482MiB/10001msec)
    slat (nsec): min=900, max=12.3k, avg=1500.25, stdev=10.00
    clat (usec): min=10, max=2000, avg=100.50, stdev=5.00
     lat (msec): min=1, max=3, avg= 2.50, stdev= 0.10
    clat percentiles (usec):
     |  1.00th=[   20], 99.00th=[  300], 99.99th=[ 1990]
   bw (  KiB/s): min= 1000, max=90000, per=99.80%, avg=50000.00, stdev=3960.05, samples=20
  cpu          : usr=3.28%, sys=7.99%, ctx=60641, majf=0, minf=200
     issued rwts: total=123000,0,0,0 short=0,0,0,0 dropped=0,0,0,0

Run status group 0 (all jobs):
   READ: bw=48.2MiB/s (50.5MB/s), 48.2MiB/s-48.2MiB/s (50.5MB/s-50.5MB/s), io=482MiB (505MB), run=10001-10001msec
"""


def test_normal_text():
    reading = one(TEXT)
    has(reading, rw="randread", bs_bytes=4096, numjobs=2, iodepth=16, errors=5)
    assert reading.iops == pytest.approx(123_000 / 10.001)
    assert reading.bw_bytes_per_s == pytest.approx(48.2 * MIB, rel=1e-3)
    assert (reading.lat_mean_ns, reading.lat_kind) == (2.5e6, "total")
    assert (reading.lat_p99_ns, reading.lat_p99_kind) == (300_000, "completion")
    assert reading.details["slat_max_ns"] == 12_300
    assert reading.runtime_seconds == pytest.approx(10.001)


@pytest.mark.parametrize(("issued", "iops"), [(80, 80 / 20.102), (61, 61 / 20.102), (90, 3), (0, 3)])
def test_a_count_of_few_ios_gets_its_fraction_back(issued, iops):
    """`IOPS=3` is cut, not rounded: 80 I/Os in 20.1 s are 3.98. Other counts are not of the same I/Os."""
    text = (
        "job: (groupid=0, jobs=1): err= 0: pid=7: Tue Aug 11 21:30:00 2020\n"
        "   read: IOPS=3, BW=255MiB/s (267MB/s)(5120MiB/20102msec)\n"
        f"     issued rwts: total={issued},0,0,0 short=0,0,0,0 dropped=0,0,0,0\n"
    )
    assert one(text).iops == pytest.approx(iops)


def test_old_text_has_binary_kb():
    old = (
        "j: (g=0): rw=write, bs=4K-4K/4K-4K, ioengine=sync, iodepth=1\nfio 1.59\n\n"
        "j: (groupid=0, jobs=1): err= 0: pid=9\n"
        "  write: io=1024.0MB, bw=81920KB/s, iops=20480 , runt= 12800msec\n"
        "    clat (usec): min=0 , max=12K, avg= 9.50, stdev= 3.20\n"
        "  issued r/w/d: total=0/262144/0, short=0/0/0\n"
    )
    reading = one(old)
    assert reading.bw_bytes_per_s == 81920 * KIB
    assert reading.io_bytes == 1 << 30
    assert reading.lat_mean_ns == 9500
    assert reading.tool_version == "1.59"
    assert reading.bs_bytes == 4096


def terse(version: int, directions: int, width: int) -> str:
    part = ["4096", "2048", "512", "2000", "1", "9", "2.0", "0.1", "10", "90", "20.5", "1.0"]
    part += (
        ["99.000000%=80"]
        + ["0%=0"] * 19
        + ["11", "99", "22.5", "1.0", "1", "2", "50.0%", "2.0", "0.1"]
        + ["5"] * (width - 41)
    )
    idle = ["0"] * 12 + ["0%=0"] * 20 + ["0"] * (width - 32)
    head = [str(version), "fio-3.33", "t", "0", "0"] if version != 2 else ["2", "t", "0", "0"]
    return ";".join(head + part + idle * (directions - 1) + ["1.0%", "2.0%", "3", "0", "0"] + ["0.0%"] * 29)


@pytest.mark.parametrize(("version", "directions", "width"), [(2, 3, 41), (3, 2, 41), (4, 3, 41), (5, 3, 47)])
def test_terse_versions(version, directions, width):
    reading = one(terse(version, directions, width) + "\n")
    has(reading, direction="read", bw_bytes_per_s=2048 * KIB, iops=512.0, io_bytes=4096 * KIB)
    assert (reading.lat_mean_ns, reading.lat_kind, reading.lat_p99_ns) == (22_500, "total", 80_000)


@pytest.mark.needs("fio")
@pytest.mark.parametrize("form", ["terse", "normal", "json", "json+", "normal,terse", "json,normal"])
def test_every_layout_of_real_fio_agrees(tmp_path, form):
    out = tmp_path / "out"
    options = f"--size=16m --rw=randread --bs=4k --iodepth=2 --output-format={form} --output={out}"
    command = ["fio", "--name=n", "--ioengine=null", *options.split()]
    for version in (2, 3, 4, 5) if "terse" in form else (3,):
        subprocess.run([*command, f"--terse-version={version}"], check=True, capture_output=True, timeout=300)
        readings, problems = read_path(out)
        assert problems == []
        assert len(readings) == 1, form
        reading = readings[0]
        assert reading.io_bytes == 16 * MIB
        assert reading.direction == "read"
        assert reading.bw_bytes_per_s == pytest.approx(reading.io_bytes / reading.runtime_seconds, rel=0.02)
        if form != "terse":
            assert (reading.rw, reading.iodepth) == ("randread", 2)


@pytest.mark.needs("fio")
def test_real_logs(tmp_path):
    load = f"--size=8m --rw=randread --bs=4k --write_lat_log={tmp_path}/l --write_bw_log={tmp_path}/b"
    command = ["fio", "--name=n", "--ioengine=null", *load.split(), f"--output={tmp_path}/o.json"]
    subprocess.run([*command, "--output-format=json"], check=True, capture_output=True, timeout=300)
    truth = read_path(tmp_path / "o.json")[0][0]
    lat = read_path(tmp_path / "l_clat.1.log")[0][0]
    assert (lat.details["rows"], lat.bs_bytes, lat.lat_kind) == (2048, 4096, "completion")
    assert lat.lat_mean_ns == pytest.approx(truth.details["clat_mean_ns"], rel=0.02)
    assert read_path(tmp_path / "b_bw.1.log")[0][0].io_bytes == 8 * MIB


@pytest.mark.parametrize(
    ("version", "unit"), [("fio-2.16", 1000), ("fio-2.1.11", 1000), ("fio-3.12", 1), ("fio-3.33-5-g1234", 1)]
)
@pytest.mark.parametrize("place", ["", "logs/"])
def test_latencies_of_a_log_have_the_unit_of_the_version_beside_it(tmp_path, version, unit, place):
    (tmp_path / "logs").mkdir()
    (tmp_path / "result.out").write_text(f"a: (g=0): rw=read\n{version}\nStarting 1 process\n")
    log = tmp_path / f"{place}a_lat.1.log"
    log.write_text("10, 800, 0, 4096\n20, 800, 0, 4096\n30, 800, 0, 4096\n")
    (reading,), problems = read_path(log)
    assert problems == []
    assert (reading.lat_mean_ns, reading.details["lat_max_ns"]) == (800 * unit, 800 * unit)
    assert reading.lat_p99_ns == pytest.approx(800 * unit, rel=0.02)


def test_results_of_old_and_new_versions_beside_a_log_tell_nothing(tmp_path):
    (tmp_path / "old.out").write_text("fio-2.16\n")
    (tmp_path / "new.json").write_text('{"fio version" : "fio-3.12", "jobs": []}')
    log = tmp_path / "a_slat.1.log"
    log.write_text("10, 800, 0, 4096\n20, 800, 0, 4096\n30, 800, 0, 4096\n")
    (reading,), problems = read_path(log)
    assert reading.details["mean_of_unknown_unit"] == 800
    assert len(problems) == 1


@pytest.mark.parametrize(
    ("rows", "beside", "mean_ns"),
    [
        # one I/O at a time: 5 ms each
        ("5, 5000, 0, 4096\n10, 5000, 0, 4096\n15, 5000, 0, 4096\n", "", 5_000_000),
        ("5, 5000000, 0, 4096\n10, 5000000, 0, 4096\n15, 5000000, 0, 4096\n", "", 5_000_000),
        ("1000, 5000, 0, 4096, 0x0000\n2000, 5000, 0, 4096, 0x0000\n3000, 5000, 0, 4096, 0x0000\n", "", 5000),
        # means of windows
        ("1000, 5000, 0, 0\n2000, 5000, 0, 0\n3000, 5000, 0, 0\n", "1000, 200, 0, 0\n" * 3, 5_000_000),
        ("1000, 5000, 0, 0\n2000, 5000, 0, 0\n3000, 5000, 0, 0\n", "1000, 190000, 0, 0\n" * 3, 5000),
        ("1000, 5000, 0, 0\n2000, 5000, 0, 0\n3000, 5000, 0, 0\n", "", None),
        ("1000, 800, 0, 4096\n2000, 800, 0, 4096\n3000, 800, 0, 4096\n", "", None),
    ],
)
def test_the_unit_of_a_latency_log_without_a_version_is_that_of_a_busy_target(tmp_path, rows, beside, mean_ns):
    log = tmp_path / "a_clat.1.log"
    log.write_text(rows)
    if beside:
        (tmp_path / "a_iops.1.log").write_text(beside)
    (reading,), problems = read_path(log)
    assert reading.lat_mean_ns == mean_ns
    assert len(problems) == (mean_ns is None)


def test_what_else_shaped_a_load_is_told():
    also = {"percentage_random": "85", "random_distribution": "zipf:1.2", "fsync": "0"}
    options = {**JOB["job options"], **also, "norandommap": "", "zonemode": "none"}
    read = read_text(document(jobs=[{**JOB, "job options": options}]))[0][0]
    assert read.notes[-1] == "the load had also percentage_random=85, random_distribution=zipf:1.2, norandommap"
    assert read.details["percentage_random"] == "85"
    assert one(document(jobs=[{**JOB, "write": {}}])).notes == ()


def test_log_without_a_telling_name_has_no_unit():
    (reading,), problems = read_text(LOG, "values.txt")
    assert (reading.bw_bytes_per_s, reading.iops) == (None, None)
    assert "does not say" in problems[0]
    assert one(LOG, "x_bw.1.log").bw_bytes_per_s == 6 * KIB


LOG = "100, 5, 0, 0\n200, 7, 0, 0\n300, 6, 0, 0\n"


def test_processes_of_a_job_are_one_reading_and_logs_beside_it_none(tmp_path):
    job = {**JOB, "write": {}}
    share = {**job, "job options": {**JOB["job options"], "numjobs": "2"}}
    both, alone = one(document(jobs=[share, share])), one(document(jobs=[job]))
    assert (both.iops, both.lat_mean_ns, both.lat_p99_ns) == (2 * alone.iops, alone.lat_mean_ns, alone.lat_p99_ns)
    assert len(read_text(document(jobs=[job, job]))[0]) == 2, "nothing says how many ran"
    (tmp_path / "clients" / "a").mkdir(parents=True)
    (tmp_path / "fio.out").write_text(document(jobs=[share, share]))
    (log := tmp_path / "clients" / "a" / "x_bw.1.log").write_text(LOG)
    assert [len(read_path(log, str(root))[0]) for root in (tmp_path, log.parent)] == [0, 1]


def test_samples():
    readings, _ = read_path(sample("fio/text/fio-2.2.10-normal-five-runs.log"))
    assert [reading.iops for reading in readings] == [152764, 125562, 148124, 135439, 165547]
    assert readings[0].bw_bytes_per_s == 611058 * KIB
    assert readings[0].lat_p99_ns == 3_216_000
    both, problems = read_path(sample("fio/text/fio-3.28-terse-v3-and-normal.txt"))
    assert problems == []
    assert len(both) == 8, "terse and text of one run are one reading"
    assert (both[0].bw_bytes_per_s, both[0].bs_bytes, both[0].iodepth) == (84733 * KIB, MIB, 8)
    clients, _ = read_path(sample("fio/json/fio-3.7-client-server.txt"))
    assert {reading.host: round(reading.iops) for reading in clients} == {"perf36": 39759, "perf84": 53545}
    assert read_path(sample("fio/logs/fio-2.17_clat_hist.1.log"))[0] == []
    log, _ = read_path(sample("fio/logs/randrw-iodepth-4-numjobs-4_bw.1.log"))
    for reading, direction in zip(log, ("read", "write"), strict=True):
        has(reading, direction=direction, rw="randrw", iodepth=4, numjobs=4)


STATUS = """\
one: (groupid=0, jobs=1): err= 0: pid={pid}: Tue May  6 01:46:{second:02d} 2025
  read: IOPS={iops}, BW=1024KiB/s (1049kB/s)({second}MiB/{second}000msec)
     issued rwts: total=5,0,0,0 short=0,0,0,0 dropped=0,0,0,0
Run status group 0 (all jobs):
"""


def test_interim_reports_in_text_are_left_out():
    text = "fio-3.36\n" + "".join(STATUS.format(pid=7, second=second, iops=100 + second) for second in (1, 2, 3))
    readings, problems = read_text(text)
    assert [(reading.iops, reading.runtime_seconds) for reading in readings] == [(103, 3)]
    assert ["interim status reports" in problem for problem in problems] == [True]


def test_clones_in_text_are_kept():
    text = "fio-3.36\n" + "".join(STATUS.format(pid=pid, second=3, iops=100 + pid) for pid in (1, 2, 3))
    assert [reading.iops for reading in read_text(text)[0]] == [101, 102, 103]


def test_block_sizes_of_the_set_up_line():
    line = (
        "one: (g=0): rw=randrw, bs=(R) {0}-{0}, (W) 4096B-64.0KiB, (T) {0}-{0}, ioengine=libaio, iodepth=4\nfio-3.36\n"
    )
    for printed, size in (
        ("4096B", 4096),
        ("4608B", 4608),
        ("16.0KiB", 16 * KIB),
        ("12.5KiB", 12800),
        ("1024KiB", MIB),
        ("4096KiB", 4 * MIB),
    ):
        text = line.format(printed) + STATUS.format(pid=1, second=1, iops=5)
        assert [reading.bs_bytes for reading in read_text(text)[0]] == [size], printed


def test_terse_percentile_below_a_microsecond_is_not_a_figure(tmp_path):
    if which("fio") is None:
        pytest.skip("fio is not installed")
    command = ["fio", "--name=n", "--ioengine=null", "--size=16m", "--rw=read", "--bs=4k", "--minimal"]
    done = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
    readings, _ = read_text(done.stdout)
    assert [reading.lat_p99_ns for reading in readings if reading.lat_p99_ns == 0] == []


def test_only_the_sums_of_a_group():
    readings, problems = read_text(
        "2023/03/07 11:40 local\n"
        "   READ: bw=200KiB/s (204kB/s), 200KiB/s-200KiB/s (204kB/s-204kB/s), io=58.5MiB (61.3MB), "
        "run=299990-299990msec\n"
        "  WRITE: bw=52.3MiB/s (54.9MB/s), 52.3MiB/s-52.3MiB/s (54.9MB/s-54.9MB/s), io=524MiB (549MB), "
        "run=10001-10002msec\n"
        "\nRun status group 0 (all jobs):\n"
        "  WRITE: io=3200.0MB, aggrb=13095KB/s, minb=3273KB/s, maxb=3284KB/s, mint=249447msec, maxt=250214msec\n"
    )
    assert problems == []
    assert [(reading.direction, reading.bw_bytes_per_s, reading.runtime_seconds) for reading in readings] == [
        ("read", pytest.approx(58.5 * MIB / 299.99, rel=1e-3), 299.99),
        ("write", pytest.approx(52.3 * MIB, rel=2e-3), 10.002),
        ("write", pytest.approx(13095 * KIB, rel=1e-3), 250.214),
    ]
    moved = (58.5 * MIB, 524 * MIB, 3200 * MIB)
    assert [reading.io_bytes for reading in readings] == [pytest.approx(one, rel=1e-3) for one in moved]


def test_sums_beside_jobs_are_not_given_again():
    text = (
        "fio-3.36\n"
        + STATUS.format(pid=1, second=1, iops=5)
        + "  READ: bw=5KiB/s (5kB/s), io=1MiB (1MB), run=1000-1000msec\n"
    )
    assert len(read_text(text)[0]) == 1


def fio_line(line: str, issued: int = 0, before: str = "") -> str:
    return (
        f"{before}job: (groupid=0, jobs=1): err= 0: pid=7: Tue Aug 11 21:30:00 2020\n{line}\n"
        f"     issued rwts: total={issued},0,0,0 short=0,0,0,0 dropped=0,0,0,0\n"
    )


@pytest.mark.parametrize(
    ("line", "truth"),
    [
        # 17.96 without its carry, and 18.0 with it; the carry may be lost in the bytes too
        ("  read: IOPS=4598, BW=17.0MiB/s (18.8MB/s)(1079MiB/60022msec)", 18.84e6),
        ("  read: IOPS=4596, BW=18.0MiB/s (18.8MB/s)(35.9MiB/2001msec)", 18.83e6),
        ("  read: IOPS=46.7k, BW=182MiB/s (191MB/s)(10.0GiB/61500msec)", 191.3e6),
        ("  read: IOPS=11, BW=44.6KiB/s (45.7kB/s)(2680KiB/60022msec)", 45.7e3),
        ("  read : io=10.0GB, bw=186970KB/s, iops=46742, runt= 61411msec", 191.457e6),
    ],
)
def test_the_most_precise_figure_of_a_line_is_taken(line, truth):
    readings, problems = read_text(fio_line(line))
    assert problems == []
    assert readings[0].bw_bytes_per_s == pytest.approx(truth, rel=2e-3)
    assert readings[0].details["bw_half_digit_bytes_per_s"] < 3e-3 * truth


def test_a_line_that_contradicts_itself_is_told():
    readings, problems = read_text(fio_line("  read: IOPS=10, BW=40.0MiB/s (41.9MB/s)(100MiB/10000msec)"))
    assert readings[0].bw_bytes_per_s == pytest.approx(40 * MIB, rel=2e-3)
    assert len(problems) == 1
    assert any("contradict" in note for note in readings[0].notes)


@pytest.mark.parametrize(
    ("text", "iops", "bw"),
    [
        ("  read: IOPS=500, BW=8000KiB/s (8192kB/s)(78.1MiB/10000msec)\n", 500, 8_192_000),
        ("  read : io=80000KB, bw=8000KB/s, iops=500 , runt= 10000msec\n", 500, 8_192_000),
        ("  write: io=512MB, bw=52428KB/s, runt= 10000msec\n", None, 52428 * KIB),
    ],
)
@pytest.mark.parametrize(
    "sums", ["", "\nRun status group 0 (all jobs):\n   READ: io=80000KB, aggrb=8000KB/s, maxt=10000msec\n"]
)
def test_a_direction_without_the_line_of_its_job(text, iops, bw, sums):
    reading = one(text + sums)
    assert (reading.iops, reading.label, reading.bw_bytes_per_s) == (iops, None, pytest.approx(bw, rel=1e-3))
    cut, problems = read_text(text[: text.index("msec") + 2])
    assert cut == []
    assert problems


def test_lines_of_several_hosts_among_each_other():
    text = "".join(
        [
            *(f"<{host}> one: (groupid=0, jobs=1): err= 0: pid={pid}\n" for host, pid in (("a", 1), ("b", 2))),
            *(
                f"<{host}>   read: IOPS={iops}, BW=8000KiB/s (8192kB/s)(78.1MiB/10000msec)\n"
                for host, iops in (("a", 500), ("b", 501))
            ),
        ]
    )
    readings, problems = read_text(text + "All clients: (groupid=0, jobs=2): err= 0\n")
    assert [(reading.host, reading.iops) for reading in readings] == [("a", 500), ("b", 501)]
    assert not any("no figures" in problem for problem in problems)


@pytest.mark.parametrize("set_up", [True, False])
def test_two_runs_of_one_process_number_are_two_results(set_up):
    """Containers give their processes the same numbers again."""
    first, second = (
        f"one: (groupid=0, jobs=1): err= 0: pid=15: Tue May  6 01:4{minute}:30 2025\n"
        f"  read: IOPS={iops}, BW=8000KiB/s (8192kB/s)(78.1MiB/1000{minute}msec)\n"
        "     issued rwts: total=0,0,0,0 short=0,0,0,0 dropped=0,0,0,0\n"
        for minute, iops in ((1, 500), (2, 490))
    )
    set_up_line = "one: (g=0): rw=read, bs=16K-16K/16K-16K, ioengine=sync, iodepth=1\n" if set_up else ""
    if set_up:  # older versions print no time
        first, second = (
            text.replace(": Tue May  6 01:41:30 2025", "").replace(": Tue May  6 01:42:30 2025", "")
            for text in (first, second)
        )
    readings, problems = read_text(set_up_line + first + set_up_line + second)
    assert [reading.iops for reading in readings] == [500, 490]
    assert problems == []
