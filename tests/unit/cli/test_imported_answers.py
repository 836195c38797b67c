# SPDX-License-Identifier: Apache-2.0
"""What `import` and `show` say of other tools' results: folders are sets, and loads that make no map are a list."""

import json

import pytest

from tests.command_line import call
from tests.unit.samples import SAMPLES

MDTEST = """mdtest-4.0.0 was launched with 4 total task(s) on 1 node(s)

SUMMARY rate (in ops/sec): (of 1 iterations)
   Operation                     Max            Min           Mean        Std Dev
   File creation             {rate}       {rate}       {rate}          0.000
   File stat                  90000.0        90000.0        90000.0          0.000
"""
IOR = """IOR-4.0.0: MPI Coordinated Test of Parallel I/O
tasks               : 4
access    bw(MiB/s)  IOPS       Latency(s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s)   total(s)   iter
write     {rate}     1600       0.0005      1024.00    256.00     0.000229   0.002019   0.000006   0.002254   0
"""


@pytest.fixture
def imported(tmp_path):
    """Imports texts by path, and shows what became of them."""

    def shown(texts, *options):
        for name, text in texts.items():
            file = tmp_path / "results" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        done = call("import", tmp_path / "results", "-o", tmp_path / "kept", *options, COLUMNS="120")
        assert done.returncode == 0, done.stderr
        return call("show", tmp_path / "kept", COLUMNS="120").stdout

    return shown


def test_sets_of_many_kinds_have_a_line_each_with_its_quantity(imported):
    said = imported({"a.txt": MDTEST.format(rate="1234.0"), "b.txt": IOR.format(rate="400.00")})
    lines = [line.split() for line in said.splitlines()]
    assert ["mdtest", "4.0.0", "90", "k/s", "file", "stat"] in lines
    assert ["Best", "write", "400", "MiB/s"] in [line[:4] for line in lines]
    assert "no value" not in said


def test_folders_tell_sets_apart_and_their_files_are_readings_of_one_load(imported):
    texts = {f"{folder}/run{n}.txt": MDTEST.format(rate=f"{rate + n}.0") for n in range(5) for folder, rate in RATES}
    said = imported(texts)
    lines = [" ".join(line.split()) for line in said.splitlines()]
    assert "File creation 702 ops/s 4 jobs on usb" in lines
    assert all(f"{folder} 90 k/s file stat" in lines for folder in ("hdd", "ssd", "usb"))
    assert "run3" not in said


RATES = (("hdd", 100), ("ssd", 500), ("usb", 700))


def test_repeats_are_those_of_a_folder_where_each_folder_has_some(imported):
    texts = {f"{folder}/run{n}.txt": MDTEST.format(rate=f"{rate + n}.0") for n in range(3) for folder, rate in RATES}
    lines = [" ".join(line.split()) for line in imported(texts, "--repeats").splitlines()]
    assert "File creation 701 ops/s 4 jobs on kept, usb" in lines
    assert all(f"kept, {folder} 90 k/s file stat" in lines for folder in ("hdd", "ssd", "usb"))


def test_a_folder_for_each_repeat_tells_no_sets_apart(imported):
    texts = {f"run{n}/out.txt": MDTEST.format(rate=f"{100 + n}.0") for n in range(3)}
    lines = [" ".join(line.split()) for line in imported(texts, "--repeats").splitlines()]
    assert "file creation, 4 jobs 101/s file creation" in lines


def test_a_few_files_in_folders_are_sets_of_their_own(imported):
    said = imported({f"{folder}/{name}.txt": MDTEST.format(rate="5.0") for folder in "ab" for name in ("x", "y")})
    assert all(f"\n{name} " in said for name in ("a/x.txt", "a/y.txt", "b/x.txt", "b/y.txt"))


def fio(rw, bs, depth, iops, direct="1"):
    side = {
        "io_bytes": iops * bs, "bw_bytes": iops * bs, "bw": iops * bs // 1024, "iops": iops, "runtime": 1000,
        "clat_ns": {"mean": 1e9 * depth / iops, "N": iops, "percentile": {"99.000000": 2e9 * depth / iops}},
    }  # fmt: skip
    options = {"rw": rw, "bs": str(bs), "iodepth": str(depth), "numjobs": "1", "size": "1g", "direct": direct}
    side_name = "write" if "write" in rw else "read"
    job = {"jobname": "a", "groupid": 0, "error": 0, "job options": options, side_name: side}
    return json.dumps({"fio version": "fio-3.33", "timestamp": 100, "jobs": [job]}, indent=1)


def test_an_import_ends_in_an_answer(tmp_path):
    loads = {
        "read.json": fio("read", 1 << 20, 8, 900),
        "write.json": fio("write", 1 << 20, 8, 400),
        "r1.json": fio("randread", 4096, 1, 7000),
        "r32.json": fio("randread", 4096, 32, 90_000),
        "w1.json": fio("randwrite", 4096, 1, 3000),
    }
    for name, text in loads.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "notes.txt").write_text("nothing here\n")
    done = call("import", tmp_path, COLUMNS="100")
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    assert lines[0][0] == tmp_path.name
    assert done.stdout.splitlines()[0].endswith("TRUST: AS IMPORTED")
    assert ["Best", "read", "900", "MiB/s"] in [line[:4] for line in lines]
    assert ["Best", "write", "400", "MiB/s"] in [line[:4] for line in lines]
    small = next(line for line in lines if line[:4] == ["4", "KiB", "random", "read"])
    assert " ".join(small[4:]).startswith("90 k IOPS, 32 in flight; alone ")
    assert "completion" in next(line for line in done.stdout.splitlines() if line.startswith("Latency"))
    assert "5 files" in next(line for line in done.stdout.splitlines() if line.startswith("Sources"))
    assert "1 file of no known format" in done.stdout
    assert len(lines) <= 25
    kept = call("import", tmp_path, "-o", tmp_path / "kept", COLUMNS="100").stdout.splitlines()
    shown = call("show", tmp_path / "kept", COLUMNS="100").stdout.splitlines()
    assert kept == shown, "the same screen as show's"


def test_sets_are_folders_before_they_are_jobs(tmp_path):
    for folder, rate in (("hdd", 100), ("ssd", 900)):
        (tmp_path / folder).mkdir()
        for n in range(4):
            text = fio("read", 4096 << n, 1, rate).replace('"jobname": "a"', f'"jobname": "{folder}-{n}"')
            (tmp_path / folder / f"{n}.json").write_text(text)
    first = [line.partition(" ")[0] for line in call("import", tmp_path).stdout.splitlines()]
    assert [first.count(name) for name in ("hdd", "ssd", "hdd-0", "ssd-0")] == [1, 1, 0, 0]


def test_many_folders_of_many_files_are_sets(tmp_path):
    """Five hosts with four drives each: 20 sets of six loads, whatever the jobs are called."""
    for host in range(5):
        for drive in ("hdd", "ssd", "nvme", "nas"):
            (tmp_path / f"h{host}" / drive).mkdir(parents=True)
            for n in range(6):
                text = fio("read", 4096, 1 << n, 1000 * (n + 1)).replace('"jobname": "a"', f'"jobname": "{drive}-{n}"')
                (tmp_path / f"h{host}" / drive / f"depth-{n}.json").write_text(text)
    said = " ".join(call("import", tmp_path).stdout.split())
    assert "120 imported readings in 20 sets from 120 files" in said


def test_a_cache_outranks_nothing(tmp_path):
    (tmp_path / "direct.json").write_text(fio("read", 1 << 20, 8, 900))
    (tmp_path / "buffered.json").write_text(fio("read", 1 << 20, 8, 9000, direct="0"))
    done = call("import", tmp_path)
    assert "Best read    900 MiB/s" in done.stdout
    assert "1 faster not ranked" in done.stdout


def test_remarks_are_counted_by_kind(tmp_path):
    for number in range(30):
        (tmp_path / f"{number}.json").write_text(fio("read", 1 << 20, 8, 900 + number)[:-8])
    done = call("import", tmp_path)
    assert done.returncode == 4
    assert "30 × " in done.stderr
    assert len(done.stderr.splitlines()) < 8
    assert len(call("import", tmp_path, "-v").stderr.splitlines()) > 30


FOLDERS = ["fio/json", "fio/text", "fio/logs", "iozone", "vdbench", "io500", "elbencho", "diskspd", "xdd", "bonnie"]


@pytest.mark.parametrize(
    "folder", [*FOLDERS, "crystaldiskmark", "fio", pytest.param(".", marks=pytest.mark.long("results", "translate"))]
)
def test_each_folder_of_real_results_ends_in_an_answer(folder):
    if not (SAMPLES / folder).is_dir():
        pytest.skip("no samples here")
    done = call("import", SAMPLES / folder, COLUMNS="100")
    lines = done.stdout.splitlines()
    assert done.returncode in (0, 4), done.stderr
    assert lines[0].endswith("TRUST: AS IMPORTED")
    assert any(line.startswith(("Best read", "Best write")) for line in lines)
    assert all(any(line.startswith(label) for line in lines) for label in ("Sources", "Latency", "Not known", "Next"))
    assert len(lines) <= 25
    assert len(done.stderr.splitlines()) <= 10


def test_where_nothing_is_readable_the_next_step_is_told(tmp_path):
    (tmp_path / "job.txt").write_text("sd=sd1,lun=/dev/sdx,threads=32\n")
    done = call("import", tmp_path / "job.txt")
    assert done.returncode == 1
    assert "no known result format" in done.stderr
    assert "what to do: name what a benchmark printed" in " ".join(done.stderr.split())
