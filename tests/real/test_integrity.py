# SPDX-License-Identifier: Apache-2.0
"""Written blocks read back: a sound target passes, a corrupting one is named before anything else."""

import json
import re
import shutil
import subprocess

import pytest

import ioatlas_lab as lab
from ioatlas.target.opening import open_target
from ioatlas_lab.running import missing
from tests import lab_check
from tests.real.conftest import ioatlas

pytestmark = [
    pytest.mark.unmeasured,
    pytest.mark.skipif(
        shutil.which("nbdkit") is None or shutil.which("fio") is None, reason="nbdkit and fio are needed"
    ),
]


def verified(tmp_path, uri, size):
    kind = "uri" if "://" in uri else "path"
    (tmp_path / "c.toml").write_text(
        f'verify = true\nvisits = 1\nwindow = "200ms"\n[target]\nname = "disk"\n{kind} = "{uri}"\n[sweep]\nrw = '
        '["write"]\nbs = "4k"\nsize = "16m"\n'
    )
    process = ioatlas("map", "--campaign", tmp_path / "c.toml", "-o", tmp_path / "c", "--overwrite", f"{uri} {size}")
    assert process.returncode == 0, process.stderr
    return json.loads(ioatlas("export", tmp_path / "c", "--format", "json").stdout)["findings"]


def mixes_up_parallel_writes():
    """Known of QEMU 7; a newer one is tried, and may look right by chance."""
    said = subprocess.run(["qemu-storage-daemon", "--version"], capture_output=True, text=True, check=True).stdout
    major = int(re.search(r"version (\d+)", said)[1])
    return major <= 7 or next(lab_check.check("corrupting-parallel")).measured == 1


@pytest.mark.parametrize(
    ("scenario", "code"), [("memory", "integrity"), ("corrupting", "corruption"), ("corrupting-parallel", "corruption")]
)
def test_a_corrupting_target_is_found_and_a_sound_one_passes(tmp_path, scenario, code):
    lacking = missing(lab.scenarios()[scenario])
    if lacking:
        pytest.skip(f"{scenario} needs {lacking}")
    with lab.start(scenario) as target:
        if scenario == "corrupting-parallel" and not mixes_up_parallel_writes():
            pytest.skip("this QEMU stores parallel writes right")
        findings = verified(tmp_path, target.location, open_target(target.location).size_bytes)
    told = [finding["code"] for finding in findings]
    assert code in told, findings
    assert told.count("corruption") == (code == "corruption")
    assert code != "corruption" or told[0] == "corruption", "above all others"
