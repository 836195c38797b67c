# SPDX-License-Identifier: Apache-2.0
"""What one command that measures takes, the others take: habits carry over."""

import json
import os
import subprocess
import sys
from unittest.mock import Mock

import click
import pytest

from ioatlas.cli import ioatlas
from ioatlas.cli.shakedown import _times
from ioatlas.model.errors import UsageError
from tests.command_line import call

MEASURING = {
    "map": {"-o", "--budget", "--yes", "--json", "--dry-run", "-q", "-v", "--open", "--clients", "--facts"},
    "tune": {"-o", "--budget", "--yes", "--json", "--dry-run", "-q", "-v", "--open", "--clients", "--facts"},
    "resume": {"--yes", "--json", "-q", "-v", "--open", "--clients"},
    "reproduce": {"-o", "--yes", "--json", "--dry-run", "-q", "-v"},
    "shakedown": {"-o", "--budget", "--yes", "--json", "-q", "-v", "--facts", "--read-only"},
    "watch": {"-o", "--yes", "--json", "--dry-run"},
    "plan": {"-o", "--budget", "--yes", "--json", "--dry-run", "-q", "-v", "--open", "--clients", "--facts"},
}


@pytest.mark.parametrize(("name", "wanted"), MEASURING.items())
def test_commands_that_measure_take_the_same_options(name, wanted):
    command = ioatlas.get_command(click.Context(ioatlas), name)
    assert wanted <= {flag for param in command.params for flag in param.opts}


def test_the_budget_of_a_look_shortens_and_lengthens_its_parts():
    assert _times(None, False) == 1
    assert _times("5s", False) == 0.5
    assert _times("1h", True) == 6
    with pytest.raises(UsageError, match="5 s at least"):
        _times("2s", False)


@pytest.mark.parametrize("arguments", [["--help"], ["profiles", "--json"], ["list"]])
def test_an_output_that_is_full_is_one_line_and_no_traceback(arguments, tmp_path):
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "ioatlas", *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            cwd=tmp_path,
            env={**os.environ, "XDG_DATA_HOME": str(tmp_path)},
        )
    assert done.returncode == 1
    assert done.stderr == "ioatlas: the output cannot be written: No space left on device\n"


@pytest.mark.parametrize("name", ["map", "plan"])
def test_a_campaign_file_in_the_place_of_a_target_is_told_from_one(name, tmp_path):
    file = tmp_path / "nas.toml"
    file.write_text('[target]\npath = "/mnt/nas"\n')
    with pytest.raises(UsageError, match="campaign file, not a target") as refused:
        ioatlas.main([name, str(file)], standalone_mode=False)
    assert f"--campaign {file}" in refused.value.remedy


@pytest.mark.parametrize("command", ["show", "report", "compare"])
def test_results_of_others_have_to_be_imported_first(tmp_path, command):
    theirs = tmp_path / "fio.json"
    theirs.write_text('{"fio version": "fio-3.33", "jobs": []}')
    result = call(command, theirs, *([theirs] if command == "compare" else []))
    assert result.returncode != 0
    assert "`ioatlas import " in " ".join(result.stderr.split())


def test_a_path_is_no_command(tmp_path):
    job = tmp_path / "job.fio"
    job.write_text("[a]\nrw=read\n")
    result = call(job)
    assert result.returncode != 0
    assert "`ioatlas translate fio` reads a job file" in " ".join(result.stderr.split())


@pytest.mark.parametrize("name", ["map", "plan"])
def test_a_job_file_is_no_target(tmp_path, name):
    job = tmp_path / "job.fio"
    job.write_text("[global]\nbs=4k\n[a]\nrw=read\n")
    result = call(name, job)
    assert result.returncode == 2
    assert "ioatlas translate fio" in " ".join(result.stderr.split())
    disk = tmp_path / "disk.fio"
    disk.write_bytes(bytes(1 << 20))
    assert call("plan", disk, "--size", "1m", "--read-only").returncode == 0


@pytest.mark.parametrize(("typed", "told"), [("--runtime", "--budget 5m"), ("--fsync", "[sweep] of a campaign file")])
def test_options_of_fio_that_the_command_line_has_not(tmp_path, typed, told):
    result = call("map", tmp_path, typed, "10")
    assert result.returncode == 2
    assert told in " ".join(result.stderr.split())


def test_levels_of_the_sweep_take_the_place_of_the_profiles(tmp_path):
    asked = ["--rw", "randread,randwrite", "--bs", "4k..16k", "--iodepth", "1,32", "--numjobs", "2", "--size", "8m"]
    plan = json.loads(call("plan", tmp_path, *asked, "--json").stdout)
    sizes = [4096, 8192, 16384]
    assert plan["axes"] | {"size": None} == {
        "rw": ["randread", "randwrite"], "size": None, "bs": sizes, "iodepth": [1, 32],
    }  # fmt: skip
    assert plan["cells"] == 12
    assert "numjobs      2\n" in call("plan", tmp_path, *asked).stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--bs", "4k,,8k"], "--bs: '' is not a size"),
        (["--rw", "sideways"], "--rw: 'sideways' is not one of read"),
        (["--profile", "metadata", "--bs", "4k"], "--bs: this profile or campaign file says itself what is loaded"),
    ],
)
def test_levels_that_cannot_be_are_refused(tmp_path, words, said):
    result = call("plan", tmp_path, *words)
    assert result.returncode == 2
    assert said in " ".join(result.stderr.split())


def test_a_plan_tells_why_cells_are_left_out(tmp_path):
    (tmp_path / "small").write_bytes(bytes(3000))
    told = " ".join(call("plan", tmp_path / "small", "--bs", "512,4k", "--rw", "read", "--numjobs", "1").stdout.split())
    assert "left out 1 x not admissible: the block (4 KiB) is larger than the file (3000 B)" in told


@pytest.mark.parametrize(
    ("words", "where", "told"),
    [
        (["map", "--bugdet", "5m", "."], "--bugdet", "--budget"),
        (["compare"], "", "`ioatlas compare --help`"),
        (["show", "--quantity", "speed"], "", "lat_p99"),
        (["--loud"], "--loud", "`ioatlas --help`"),
        (["map", "/srv/none/such"], "/srv/none/such", "mounted first"),
    ],
)
def test_every_fault_says_what_where_and_what_to_do(words, where, told):
    done = call(*words)
    assert done.returncode == 2
    said = " ".join(done.stderr.split())
    assert said.startswith(f"ioatlas: {where}")
    assert "what to do: " in said
    assert told in said
    assert "Usage:" not in said


def test_a_user_without_a_home_has_the_root(tmp_path, monkeypatch):
    """As login gives it: settings and keys ask for one."""
    monkeypatch.delenv("HOME")
    monkeypatch.setattr("pwd.getpwuid", Mock(side_effect=KeyError))
    assert call("list", cwd=tmp_path).returncode in (0, 1, 2)


@pytest.mark.parametrize(
    ("line", "instead"),
    [
        ("merge a b -o c", "--visits"),
        ("plan a --like b", "compare"),
        ("lab truth", "bench/truth"),
        ("export a --format gnuplot", "--format csv"),
        ("translate elbencho a", "import"),
        ("plan a --profile apps", "fit"),
    ],
)
def test_what_is_gone_names_what_serves_in_its_place(line, instead):
    done = call(*line.split())
    assert done.returncode == 2
    assert instead in done.stderr.partition("what to do: ")[2]
