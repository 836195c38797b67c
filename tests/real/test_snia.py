# SPDX-License-Identifier: Apache-2.0
"""Tests in rounds on real targets: a limited one, stopped once, reaches its steady state; a device is purged."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from ioatlas.stats.steadystate import steady_state
from tests.real.conftest import ioatlas, start
from tests.real.target_lab import Bench, needs, root_only, wait_for

pytestmark = [
    pytest.mark.long("procedures"),
    pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed"),
]
SIZE = 8 << 20


def campaign(directory, profile="snia-pts", window="200ms", more="", **sweep):
    path = directory / "c.toml"
    lines = "\n".join(f"{name} = {value}" for name, value in {"size": SIZE, **sweep}.items())
    path.write_text(f'profile = "{profile}"\nwindow = "{window}"\n{more}\n[sweep]\n{lines}\n')
    return path


def exported(directory):
    done = ioatlas("export", directory, "--format", "json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@contextlib.contextmanager
def server():
    """An export in memory with a limited rate."""
    with tempfile.TemporaryDirectory(prefix="ios", dir="/tmp") as directory:  # socket paths are short
        bench = Bench(directory)
        path = Path(directory) / "s"
        words = ("--filter=rate", "memory", str(SIZE), "rate=40M", "burstiness=0.05")
        bench.start("nbdkit", "--foreground", "--unix", str(path), *words, stderr=subprocess.DEVNULL)
        wait_for(path.exists)
        yield f"nbd+unix:///?socket={path}"
        bench.clear()


def stop_in_round(command, number):
    """Start a test and ask it to stop in the round after `number`; what it ended with."""
    process = start(*command, "--json")
    for line in process.stdout:
        event = json.loads(line)
        if event["event"] == "round" and event["round"] == number:
            time.sleep(0.3)
            process.send_signal(signal.SIGTERM)
            break
    process.communicate(timeout=60)
    return process.returncode


@pytest.mark.unmeasured
@needs("nbdkit")
def test_a_limited_target_that_is_stopped_once_reaches_the_steady_state_that_the_definition_says(tmp_path):
    with server() as uri:
        file = campaign(tmp_path, rwmixread="[50, 0]", bs='["4k"]')
        planned = json.loads(ioatlas("plan", uri, "--campaign", file, "--json").stdout)
        confirmed = ["--overwrite", f"{uri} {SIZE}"]
        code = stop_in_round(["map", uri, "--campaign", file, "-o", tmp_path / "o", *confirmed], 2)
        assert code in (-signal.SIGTERM, 4)
        done = ioatlas("resume", tmp_path / "o", *confirmed)
        assert done.returncode == 0, done.stderr
    assert planned["snia"][0]["fill_bytes"] == 2 * SIZE
    assert planned["snia"][0]["cells_per_round"] == 2
    result = exported(tmp_path / "o")
    (test,) = result["rounds"]
    judged = steady_state(test["values"])
    assert (
        test["met"] is judged.met
    )  # on a machine too busy for this it may take 25 rounds and not be met: the definition decides
    assert test["window"] == [judged.round_number - 4, judged.round_number]
    assert test["average"] == pytest.approx(judged.average)
    assert len(test["values"]) == judged.round_number  # nothing is run after it is met
    rate = 40 * 2**20 / 8 / 4096
    assert test["average"] < 1.35 * rate  # what is not used between two cells is left over as burst credit
    rows = {(row["rwmixread"], row["bs_bytes"], row["direction"]): row for row in result["rows"]}
    assert rows[0, 4096, "write"]["iops"] == pytest.approx(judged.average)
    assert {row["verdict"] for row in result["rows"]} == {"steady" if judged.met else "no steady state"}
    assert {row["state"] for row in result["rows"]} == {"filled-twice"}
    assert "not possible" in test["purge"]
    # What nobody but the test changes was not filled again, and its rounds went on.
    assert test["first"] == 1
    assert result["settings"]["bytes of sequential fill"] == str(2 * SIZE)
    assert any("went on without" in text for text in result["settings"].values())


@pytest.mark.unmeasured
@root_only
def test_a_block_device_is_purged_only_once_it_is_named(tmp_path):
    bench = Bench(tmp_path)
    try:
        image = bench.image(SIZE)
        image.write_bytes(os.urandom(SIZE))
        before = image.read_bytes()
        device = bench.loop(image)
        file = campaign(tmp_path, rwmixread="[0]", bs='["4k"]')
        refused = ioatlas("map", device, "--campaign", file, "-o", tmp_path / "no")
        assert refused.returncode == 2
        assert "not confirmed" in refused.stderr
        assert image.read_bytes() == before
        file = campaign(tmp_path, rwmixread="[0]", bs='["4k"]', more='budget = "4s"')
        done = ioatlas("map", device, "--campaign", file, "-o", tmp_path / "o", "--destroy", str(SIZE))
        assert done.returncode == 0, done.stderr
    finally:
        bench.clear()
    (test,) = exported(tmp_path / "o")["rounds"]
    assert "BLKDISCARD" in test["purge"]
    assert not any("active range" in text for text in test["deviations"])  # the whole device
