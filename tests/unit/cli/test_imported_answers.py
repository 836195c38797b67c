# SPDX-License-Identifier: Apache-2.0
"""What `show` says of other tools' results: folders are sets, and loads that make no map are a list."""

import pytest

from tests.command_line import call

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


def test_loads_of_many_kinds_are_a_list_with_the_quantity_of_each(imported):
    said = imported({"a.txt": MDTEST.format(rate="1234.0"), "b.txt": IOR.format(rate="400.00")})
    lines = [line.split() for line in said.splitlines()]
    assert ["1234", "ops/s", "file", "creation", "4", "jobs", "mdtest", "4.0.0"] in lines
    assert any(line[:3] == ["400", "MiB/s", "write,"] for line in lines)
    assert "no value" not in said


def test_folders_tell_sets_apart_and_their_files_are_readings_of_one_load(imported):
    texts = {f"{folder}/run{n}.txt": MDTEST.format(rate=f"{rate + n}.0") for n in range(5) for folder, rate in RATES}
    said = imported(texts)
    lines = [" ".join(line.split()) for line in said.splitlines()]
    assert "102 ops/s file creation 4 jobs mdtest 4.0.0, hdd" in lines
    assert "702 ops/s file creation 4 jobs mdtest 4.0.0, usb" in lines
    assert "run3" not in said


RATES = (("hdd", 100), ("ssd", 500), ("usb", 700))


def test_repeats_are_those_of_a_folder_where_each_folder_has_some(imported):
    texts = {f"{folder}/run{n}.txt": MDTEST.format(rate=f"{rate + n}.0") for n in range(3) for folder, rate in RATES}
    lines = [" ".join(line.split()) for line in imported(texts, "--repeats").splitlines()]
    assert "101 ops/s file creation 4 jobs kept, hdd" in lines
    assert "701 ops/s file creation 4 jobs kept, usb" in lines


def test_a_folder_for_each_repeat_tells_no_sets_apart(imported):
    texts = {f"run{n}/out.txt": MDTEST.format(rate=f"{100 + n}.0") for n in range(3)}
    lines = [" ".join(line.split()) for line in imported(texts, "--repeats").splitlines()]
    assert "101 ops/s file creation 4 jobs" in lines


def test_a_few_files_in_folders_are_sets_of_their_own(imported):
    said = imported({f"{folder}/{name}.txt": MDTEST.format(rate="5.0") for folder in "ab" for name in ("x", "y")})
    assert all(f"mdtest 4.0.0, {name}" in said for name in ("a/x.txt", "a/y.txt", "b/x.txt", "b/y.txt"))


def test_where_nothing_is_readable_the_next_step_is_told(tmp_path):
    (tmp_path / "job.txt").write_text("sd=sd1,lun=/dev/sdx,threads=32\n")
    done = call("import", tmp_path / "job.txt")
    assert done.returncode == 1
    assert "no known result format" in done.stderr
    assert "what to do: name what a benchmark printed" in " ".join(done.stderr.split())
