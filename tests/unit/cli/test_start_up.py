# SPDX-License-Identifier: Apache-2.0
"""The command line answers at once: help and plans import none of the heavy libraries."""

import json
import subprocess
import sys

import pytest

HEAVY = ("scipy", "sklearn", "matplotlib", "ruptures", "pandas")
LOOK = """
import json, sys
from ioatlas.cli import ioatlas
try:
    ioatlas.main(args=json.loads(sys.argv[1]), prog_name="ioatlas")
finally:
    print(json.dumps(sorted({name.split(".")[0] for name in sys.modules})), file=sys.stderr)
"""


def _imported(*arguments):
    done = subprocess.run(
        [sys.executable, "-c", LOOK, json.dumps(arguments)], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stderr.strip().splitlines()[-1]))


def test_the_list_of_commands_loads_no_database_and_no_statistics():
    assert not _imported("--help") & {*HEAVY, "sqlalchemy"}


@pytest.mark.parametrize("command", ["map", "tune"])
def test_help_loads_no_database_and_no_statistics(command):
    assert not _imported(command, "--help") & {*HEAVY, "sqlalchemy", "numpy", "pydantic", "tomlkit"}


def test_a_plan_loads_no_statistics(tmp_path):
    assert not _imported("plan", str(tmp_path), "--profile", "seed2021") & set(HEAVY)
