# SPDX-License-Identifier: Apache-2.0
"""What one command that measures takes, the others take: habits carry over."""

import os
import subprocess
import sys

import click
import pytest

from ioatlas.cli import ioatlas
from ioatlas.cli.shakedown import _times
from ioatlas.model.errors import UsageError

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
