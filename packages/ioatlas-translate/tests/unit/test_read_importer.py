# SPDX-License-Identifier: Apache-2.0
"""Recognition by content, encodings, mixed and damaged files, and the command."""

import gzip
import importlib
import io
import json
import re
import sqlite3
import tarfile
import zipfile
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner
from read_samples import read_bytes, read_path, read_text
from tests.command_line import call
from tests.unit.samples import SAMPLES

from ioatlas.load.fio.loose_json import whole_document
from ioatlas.model.units import words
from ioatlas_translate.import_ import command
from ioatlas_translate.read.formats import FORMATS, LOGS, TOOLS
from ioatlas_translate.read.kit import figure, num, size_bytes, whole
from ioatlas_translate.read.source import LINE_LIMIT, Source

FIO = json.dumps(
    {
        "fio version": "fio-3.33",
        "jobs": [
            {
                "jobname": "a",
                "error": 0,
                "read": {"io_bytes": 4096, "io_kbytes": 4, "bw_bytes": 10, "bw": 0, "iops": 2.5, "runtime": 1},
            }
        ],
    },
    indent=1,
)
MDTEST = (
    "SUMMARY rate: (of 1 iterations)\n"
    "   File creation             :        439.763        404.632        422.661         14.357\n"
)
CDM = "CrystalDiskMark 8.0.1 x64\n[Read]\n  RND    4KiB (Q=  1, T= 1):    41.375 MB/s [  10101.3 IOPS] <    98.75 us>\n"


@pytest.mark.parametrize("change", ["crlf", "bom", "utf-16", "utf-16-le", "utf-16-be", "gzip", "latin", "cr"])
@pytest.mark.parametrize("text", [FIO, MDTEST, CDM])
def test_encodings(text, change):
    raw = {
        "crlf": text.replace("\n", "\r\n").encode(),
        "bom": b"\xef\xbb\xbf" + text.encode(),
        "utf-16": text.replace("\n", "\r\n").encode("utf-16"),
        "utf-16-le": text.encode("utf-16-le"),
        "utf-16-be": b"\xfe\xff" + text.encode("utf-16-be"),
        "gzip": gzip.compress(text.encode()),
        "latin": text.encode() + b"\n\xb5s \xe9\n",
        "cr": text.replace("\n", "\r").encode(),
    }[change]
    plain, other = read_text(text)[0], read_bytes(raw)[0]
    assert [(r.bw_bytes_per_s, r.iops, r.operation) for r in other] == [
        (r.bw_bytes_per_s, r.iops, r.operation) for r in plain
    ]


def test_several_tools_in_one_file():
    readings, problems = read_text("evening log\n" + FIO + "\n$ mdtest\n" + MDTEST + "\nand then\n" + CDM)
    assert {r.tool for r in readings} == {"fio", "crystaldiskmark", "mdtest"}
    assert problems == []


def test_names_do_not_matter():
    for name in ("x.csv", "fio.txt", "totals.html", "data"):
        assert read_text(CDM, name)[0][0].tool == "crystaldiskmark"


@pytest.mark.parametrize(
    "raw",
    [
        *(b"", b"\0" * 5000, b"\xff" * 5000, b"hello\n", b"{}", b"<Results>"),
        b"PK\x03\x04" + b"\x00" * 100,
        b"\x1f\x8b\x08broken",
        b"\x09\x00\x04\x00",
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"x" * 600,
    ],
)
def test_nothing_readable_is_one_line_not_a_traceback(raw):
    readings, problems = read_bytes(raw)
    assert readings == []
    assert problems


def test_endless_line_is_cut(tmp_path):
    path = tmp_path / "long"
    path.write_bytes(b"x" * (3 * LINE_LIMIT) + b"\nlast\n")
    source = Source.of(path)
    lines = list(source.lines())
    assert [(number, len(line)) for number, line in lines] == [(1, LINE_LIMIT), (2, 4)]
    assert "longer than" in source.problems[0].what


def test_problems_are_bounded(tmp_path):
    path = tmp_path / "x"
    path.write_text("")
    source = Source.of(path)
    for number in range(10_000):
        source.problem(number, "bad")
    assert (len(source.problems), source.unlisted) == (50, 9950)


def test_whole_document_refuses_what_needs_a_second_look():
    assert whole_document(b'{"a":1,"a":2}') is None
    assert whole_document(b'{"a" : 1, "a":2}') is None
    assert whole_document(b'{"a" : 1} x') is None
    assert whole_document(b"[" * 100_000) is None
    assert whole_document(b'{"a" : {"b": [{"c":1}]}}') == {"a": {"b": [{"c": 1}]}}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1.5", 1.5),
        ("1,5", 1.5),
        ("1,500", 1500),
        ("1,234,567", 1234567),
        ("1.234,5", 1234.5),
        ("1,234.5", 1234.5),
        ("1e5", 1e5),
        ("50%", 50),
        *(
            (text, None)
            for text in ("+++++", "n/a", "-nan", "1e999", "", "9" * 100, "12abc", "0x10", "１２", "-1.#IND")
        ),
    ],
)
def test_figures(text, value):
    assert num(text) == value


def test_comma_is_a_point_where_no_thousands_are_printed():
    assert figure("4,000") == 4.0
    assert size_bytes("64k") == size_bytes("64 KiB") == 65536
    assert whole("1.5") is None
    assert whole("-1") is None


def run(*arguments: str):
    return CliRunner().invoke(command, list(arguments))


def test_command_exit_codes_and_output(tmp_path: Path):
    good, cut, junk = tmp_path / "good.json", tmp_path / "cut.json", tmp_path / "junk"
    good.write_text(FIO)
    cut.write_text(FIO[: FIO.index('"iops"')])
    junk.write_text("nothing here\n")
    done = run(str(good), "--json")
    assert done.exit_code == 0
    record = json.loads(done.stdout)
    assert record["source"] == f"{good}:4"
    assert (record["kind"], record["tool"], record["tool_version"], record["iops"], record["lat_mean_ns"]) == (
        "imported",
        "fio",
        "3.33",
        2.5,
        None,
    )
    names = {
        *words(
            "source line tool tool_version label rw bs_bytes size_bytes numjobs iodepth rwmixread iops "
            "bw_bytes_per_s lat_mean_ns lat_p99_ns lat_kind errors direction operation statistic n spread kind "
            "notes"
        )
    }
    assert names <= set(record)
    partly = run(str(cut), "--json")
    assert partly.exit_code == 4
    assert json.loads(partly.stdout)["bw_bytes_per_s"] == 10
    assert f"{cut}:" in partly.stderr
    assert run(str(junk)).exit_code == 1
    assert run(str(good), str(junk)).exit_code == 4
    assert run(str(tmp_path)).exit_code == 4
    (tmp_path / "cut.json").unlink()
    folder = run(str(tmp_path))
    assert folder.exit_code == 0, "files of no known format inside a folder are not named"
    assert "1 file: fio 3.33" in folder.stdout
    missing = CliRunner().invoke(command, [str(tmp_path / "absent")])
    assert missing.exit_code != 0


UNREAD = {
    "sysbench fileio": "File operations:\n    reads/s:                      11525.79\n    writes/s:   7683.86\n",
    "sysbench": "sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)\n\nCPU speed:\n    events per second:  1000.00\n",
    "filebench": "11.164: Per-Operation Breakdown\nread1    1000ops      100ops/s   1.5mb/s    5.0ms/op\n",
    "fs_mark": "FSUse%        Count         Size    Files/sec     App Overhead\n     5   10000  4096  500.0\n",
    "SPECstorage (SFS)": "SPEC SFS2014_swbuild Result\n  50  0.2  25001  323\n",
    "ioping": "--- . (ext4 /dev/vda 252.0 GiB) ioping statistics ---\n4 requests completed in 14.1 ms\n",
    "hdparm": "/dev/sda:\n Timing buffered disk reads: 300 MB in  3.00 seconds = 100.00 MB/sec\n",
    "dd": "64+0 records in\n64+0 records out\n67108864 bytes (67 MB, 64 MiB) copied, 0.187084 s, 359 MB/s\n",
    "YCSB": "[OVERALL], RunTime(ms), 10110\n[OVERALL], Throughput(ops/sec), 98.9\n",
    "s3-benchmark": "Loop 1: PUT time 60.1 secs, objects = 5484, speed = 91.3MB/sec, 91.3 operations/sec.\n",
    "COSBench": "Stage,Op-Name,Op-Type,Op-Count,Byte-Count,Avg-ResTime\ns3-main,read,read,9000,589824000,10.52\n",
    "sibench": "Total Write    bandwidth: 3.5 Gb/s,  ok:  13500,  fail:      2,  res-min:    12 ms\n",
    "pgbench": "transaction type: TPC-B\nnumber of transactions actually processed: 10/10\ntps = 85.2\n",
    "db_bench": "fillseq      :       1.765 micros/op;   62.7 MB/s\n",
    "dbench": "dbench version 4.00 - Copyright Andrew Tridgell 1999-2004\nThroughput 333.925 MB/sec 8 procs\n",
    "rados bench": "Total time run:         10.1234\nTotal writes made:      1247\n",
    "iperf": "[ ID] Interval           Transfer     Bitrate         Retr  Cwnd\n[  5]   0.00-1.00   sec  1.00 GBytes\n",
}


@pytest.mark.parametrize("tool", UNREAD)
def test_a_known_tool_that_is_not_read_is_told_once_with_what_to_do(tmp_path: Path, tool):
    (tmp_path / "theirs.txt").write_text(UNREAD[tool])
    told = run(str(tmp_path / "theirs.txt"))
    assert told.exit_code == 1
    assert f"a result of {tool}, which is not read. " in " ".join(told.stderr.split())
    assert "what to do: name" not in told.stderr, "one remedy, not two"
    assert "a result of " in run(str(tmp_path)).stderr, "also inside a folder"
    (tmp_path / "good.json").write_text(FIO)
    beside = run(str(tmp_path))
    assert (beside.exit_code, f"a result of {tool}" in " ".join(beside.stderr.split())) == (0, True)


def test_command_keeps_readings_once(tmp_path: Path):
    good = tmp_path / "good.json"
    good.write_text(FIO)
    out = tmp_path / "campaign"
    for _ in range(2):
        assert run(str(good), "-o", str(out), "--json").exit_code == 0
    with closing(sqlite3.connect(out / "imported.sqlite")) as link:
        assert link.execute("SELECT iops, source, json_extract(record, '$.kind') FROM reading").fetchall() == [
            (2.5, f"{good}:4", "imported")
        ]


def test_many_files_are_read_by_several_processes(tmp_path: Path):
    for number in range(130):
        (tmp_path / f"{number:03}.json").write_text(FIO.replace('"iops": 2.5', f'"iops": {number}.5'))
    done = run(str(tmp_path), "--json")
    assert done.exit_code == 0
    assert [json.loads(line)["iops"] for line in done.stdout.splitlines()] == [number + 0.5 for number in range(130)]


def test_symbolic_links_in_folders_are_not_followed(tmp_path: Path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a.json").write_text(FIO)
    (tmp_path / "real" / "loop").symlink_to(tmp_path)
    (tmp_path / "real" / "b.json").symlink_to(tmp_path / "real" / "a.json")
    assert len(run(str(tmp_path), "--json").stdout.splitlines()) == 1


def test_every_sample_gives_readings_or_says_why():
    known = {"fio", "iozone", "diskspd", "vdbench", "xdd", "elbencho", "bonnie++", "crystaldiskmark", "io500", "ior"}
    seen = set()
    for path in (path for path in SAMPLES.rglob("*") if path.is_file()):
        readings, problems = read_path(path)
        assert readings or problems, path
        assert not any("gave up" in problem for problem in problems), (path, problems)
        seen |= {reading.tool for reading in readings}
    assert not SAMPLES.exists() or known <= seen


def test_every_entry_of_the_registry_can_be_read_and_is_named_in_the_help():
    assert len({item.name for item in (*FORMATS, *LOGS)}) == len(FORMATS) + len(LOGS)
    for item in (*FORMATS, *LOGS):
        module = importlib.import_module(f"ioatlas_translate.read.{item.module}")
        assert item.signature
        assert not re.search("|".join(item.signature), "", re.MULTILINE)
        assert callable(getattr(module, getattr(item, "reader", "read")))
    shown = CliRunner().invoke(command, ["--help"]).output
    assert all(tool in shown for tool in TOOLS)
    assert all(item.tools or item.module.startswith(("fio_", "diskspd_", "vdbench", "ioatlas_")) for item in FORMATS)


def fio(version, name, bw):
    side = {
        "io_bytes": bw,
        "bw_bytes": bw,
        "bw": bw // 1024,
        "iops": bw / 4096,
        "runtime": 1000,
        "total_ios": bw // 4096,
    }
    job = {"jobname": name, "groupid": 0, "error": 0, "job options": {"rw": "read", "bs": "4k"}, "read": side}
    return json.dumps({"fio version": version, "timestamp": 100, "jobs": [job]}, indent=1)


FILES = {"hdd/run.json": fio("fio-3.33", "a", 4096 * 100), "ssd/run.json": fio("fio-3.33", "a", 4096 * 900)}


def packed(path, files):
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as pack:
            for name, text in files.items():
                pack.writestr(name, text)
        return path
    with tarfile.open(path, {".gz": "w:gz", ".xz": "w:xz", ".bz2": "w:bz2"}.get(path.suffix, "w")) as tar:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text.encode())
            tar.addfile(member, io.BytesIO(text.encode()))
    return path


@pytest.mark.parametrize("name", ["all.zip", "all.tar", "all.tar.gz", "all.tar.xz", "all.tar.bz2", "all.tgz.gz"])
def test_each_member_is_a_file(tmp_path, name):
    archive = packed(tmp_path / name, FILES)
    result = call("import", archive, "--json")
    assert result.returncode == 0, result.stderr
    readings = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(reading["source"], reading["iops"]) for reading in readings] == [
        (f"{archive}/hdd/run.json:5", 100.0),
        (f"{archive}/ssd/run.json:5", 900.0),
    ]
    assert "from 2 of 2 files" in result.stderr


@pytest.mark.parametrize("name", ["all.zip", "all.tar"])
def test_a_member_lies_nowhere_else(tmp_path, name):
    outside = {"../../outside.json": FILES["hdd/run.json"], str(tmp_path / "there.json"): FILES["ssd/run.json"]}
    (tmp_path / "in" / "deep").mkdir(parents=True)
    result = call("import", packed(tmp_path / "in" / "deep" / name, outside))
    assert result.returncode == 0, result.stderr
    assert "2 readings" in result.stderr
    assert [path.name for path in tmp_path.rglob("*.json")] == []


def test_a_cut_archive_is_told_and_keeps_what_it_gave(tmp_path):
    archive = packed(tmp_path / "all.tar", {**FILES, "last.txt": "x" * 100_000})
    archive.write_bytes(archive.read_bytes()[:50_000])
    result = call("import", archive)
    assert result.returncode == 4, result.stderr
    assert "2 readings" in result.stderr
    assert "cannot be unpacked whole" in result.stderr


def test_what_is_packed_otherwise_says_so(tmp_path):
    (tmp_path / "run.json.zst").write_bytes(b"\x28\xb5\x2f\xfd" + bytes(range(100)))
    result = call("import", tmp_path / "run.json.zst")
    assert result.returncode == 1
    assert "packed by zstd" in result.stderr
    assert "unpack it first" in result.stderr
