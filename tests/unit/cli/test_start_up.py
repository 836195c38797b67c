# SPDX-License-Identifier: Apache-2.0
"""The command line answers at once: help and plans import none of the heavy libraries."""

import json
import subprocess
import sys

import pytest

from tests.unit.simulated import World

QUICK = """
profile = "quick"
visits = 2
[target]
path = "TARGET"
"""
HEAVY = ("scipy", "sklearn", "matplotlib", "pandas", "sqlalchemy")
LOOK = """
import json, sys
from ioatlas.cli import ioatlas
try:
    ioatlas.main(args=json.loads(sys.argv[1]), prog_name="ioatlas")
finally:
    print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""
UNASKED = {
    "ioatlas.answer.product.kept",
    "ioatlas.answer.product.cost",
    "urllib.request",
    "http.client",
    "ioatlas.measure.campaign",
}
"""What only a product's price, a meter of power and measuring need."""
SHOWS = {"answer", "cli", "model", "plan", "store"}
"""Rooms that the command itself needs; what reads a campaign is imported once there is one."""


def _imported(*arguments):
    return {name.split(".")[0] for name in _modules(*arguments)}


def _modules(*arguments):
    done = subprocess.run(
        [sys.executable, "-c", LOOK, json.dumps(arguments)], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stderr.strip().splitlines()[-1]))


def test_the_list_of_commands_loads_no_database_and_no_statistics():
    assert not _imported("--help") & {*HEAVY, "sqlite3"}


@pytest.mark.parametrize("command", ["map", "tune"])
def test_help_loads_no_database_and_no_statistics(command):
    assert not _imported(command, "--help") & {*HEAVY, "sqlite3", "numpy", "pydantic", "tomlkit"}


def test_what_shows_a_campaign_imports_no_libraries_of_its_own():
    look = "import sys; import ioatlas.cli.show; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True, timeout=300)
    modules = done.stdout.split()
    assert {name.split(".")[1] for name in modules if name.startswith("ioatlas.")} <= SHOWS
    assert not {name.split(".")[0] for name in modules} & {*HEAVY, "sqlite3", "numpy", "pydantic", "rich", "tomlkit"}


def test_a_campaign_is_shown_without_the_slow_libraries(tmp_path):
    """24 cells, and a law of the target that was kept with them."""
    world = World(tmp_path)
    world.run(QUICK)
    modules = _modules("show", str(world.directory))
    assert "ioatlas.answer.law.told" in modules, "or no law was told"
    assert not modules & UNASKED
    assert not {name.split(".")[0] for name in modules} & set(HEAVY)


def test_a_plan_loads_no_statistics(tmp_path):
    assert not _imported("plan", str(tmp_path), "--profile", "exhaustive") & set(HEAVY)
