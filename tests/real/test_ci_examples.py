# SPDX-License-Identifier: Apache-2.0
"""examples/ci as a runner would execute it, over two directories of one disk, and the script in examples/python."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.real.conftest import disk_directory

pytestmark = pytest.mark.unmeasured
EXAMPLES = Path(__file__).parents[2] / "examples" / "ci"
COMMANDS = {"github": r"^ +run: (?!pipx)(.*)$", "gitlab": r"^ +- ((?:ioatlas) .*)$"}


def steps_of(name):
    return re.findall(COMMANDS[name], (EXAMPLES / f"{name}.yml").read_text(), re.MULTILINE)


def test_both_runners_do_the_same():
    plain = [re.sub(r" --markdown \S+", "", step) for step in steps_of("github") if step.startswith("ioatlas")]
    assert steps_of("gitlab") == plain


@pytest.mark.long("cli", "run", "results")
@pytest.mark.needs("fio")
def test_the_steps_run_as_they_stand_and_what_did_not_change_is_not_slower(tmp_path):
    steps = steps_of("github")
    assert {step.split()[1] for step in steps if step.startswith("ioatlas")} == {"map", "compare", "fit"}
    with disk_directory() as place:
        for side in ("before", "after"):
            (place / side).mkdir()
        shutil.copytree(EXAMPLES, tmp_path / "examples" / "ci")
        campaign = tmp_path / "examples" / "ci" / "before-after.toml"
        # Shorter than a build's; every other word is the example's own.
        short = {"visits = 40": "visits = 2", '"0.9s"': '"200ms"', '"256m"': '"8m"', "/mnt": str(place)}
        text = campaign.read_text()
        for one, other in short.items():
            assert one in text
            text = text.replace(one, other)
        campaign.write_text(text)
        ended = {}
        for step in steps:
            command = step.replace("/mnt", str(place)).replace("--for etcd", "--for etcd --budget 15s")
            done = subprocess.run(
                ["bash", "-ec", command],
                cwd=tmp_path,
                env=os.environ | {"GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md")},
                capture_output=True,
                text=True,
                check=False,
            )
            ended[step.split()[1]] = done.returncode
            assert "Traceback" not in done.stderr
        assert ended.pop("fit") in {0, 3, 5}, "it fits, does not, or is undecided"
        assert set(ended.values()) == {0}
        assert not [one.name for side in ("before", "after") for one in (place / side).iterdir()]
    assert {"slower.xml", "fit.xml"} <= {one.name for one in tmp_path.iterdir()}
    assert "etcd" in (tmp_path / "summary.md").read_text()


@pytest.mark.needs("fio")
def test_a_script_measures_tells_compares_and_draws(disk_dir, tmp_path):
    script = EXAMPLES.parent / "python" / "compare.py"
    done = subprocess.run(
        [sys.executable, script, disk_dir, tmp_path], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    told = [line.split(", ") for line in done.stdout.splitlines()]
    values = {words[0]: float(words[1]) for words in told}
    assert {"Best read", "Best write"} <= values.keys()
    assert min(values.values()) > 0
    assert told[-1][0] == "second over first"
    assert (tmp_path / "map.png").read_bytes().startswith(b"\x89PNG")
    assert not list(disk_dir.iterdir())
