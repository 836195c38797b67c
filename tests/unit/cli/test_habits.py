# SPDX-License-Identifier: Apache-2.0
"""What one command that measures takes, the others take: habits carry over."""

import click
import pytest

from ioatlas.cli import ioatlas
from ioatlas.cli.shakedown import _times
from ioatlas.errors import UsageError

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


@pytest.mark.parametrize("name", ["map", "plan"])
def test_a_campaign_file_in_the_place_of_a_target_is_told_from_one(name, tmp_path):
    file = tmp_path / "nas.toml"
    file.write_text('[target]\npath = "/mnt/nas"\n')
    with pytest.raises(UsageError, match="campaign file, not a target") as refused:
        ioatlas.main([name, str(file)], standalone_mode=False)
    assert f"--campaign {file}" in refused.value.remedy
