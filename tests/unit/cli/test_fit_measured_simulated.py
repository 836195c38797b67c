# SPDX-License-Identifier: Apache-2.0
"""Uses held against a campaign that was measured: no load is made, its law answers, or what to run is said."""

import json

import pytest

from tests.simulate.law import Law, Way
from tests.unit.simulated import Shell

BYTES_PER_S = 200e6
LAW = Law(read=Way(1e-3, 20_000, BYTES_PER_S), write=Way(1e-3, 20_000, BYTES_PER_S), noise=0.01)


@pytest.fixture(scope="module")
def shell():
    return Shell(LAW)


@pytest.fixture(scope="module")
def measured(shell, tmp_path_factory):
    place = tmp_path_factory.mktemp("measured")
    (place / "t").mkdir()
    done = shell("map", place / "t", "--budget", "40s", "-o", place / "d", "-q")
    assert done.returncode == 0, done.stderr
    return place


USE = """
title = "large writes"

[[load]]
name = "data"
rw = "{rw}"
bs = "1m"
iodepth = 16
size = "1g"

[[require]]
rate = {rate}
"""


def asked(shell, measured, rw, rate):
    use = measured / "mine.toml"
    use.write_text(USE.format(rw=rw, rate=rate))
    done = shell("fit", measured / "d", "--for", use, "--json")
    told = json.loads(done.stdout)
    (requirement,) = told["fits"][0]["requirements"]
    assert told["answer"] == requirement["answer"]
    return done.returncode, requirement


@pytest.mark.parametrize(("share", "answer", "status"), [(0.3, "pass", 0), (2.0, "fail", 3)])
def test_a_rate_is_told_by_the_law(shell, measured, share, answer, status):
    code, requirement = asked(shell, measured, "write", share * BYTES_PER_S)
    assert (code, requirement["answer"]) == (status, answer)
    assert requirement["low"] <= BYTES_PER_S <= 1.1 * requirement["high"]
    assert list((measured / "t").iterdir()) == []


def test_a_direction_that_may_have_read_no_drive_tells_nothing(shell, measured):
    """Files of a simulated target have holes."""
    code, requirement = asked(shell, measured, "read", 0.1 * BYTES_PER_S)
    assert (code, requirement["value"]) == (5, None)


def test_what_was_not_measured_names_the_command(shell, measured, tmp_path):
    checks = tmp_path / "checks.xml"
    done = shell("fit", measured / "d", "--for", "etcd", "--junit", checks)
    assert done.returncode == 5, done.stderr
    assert f"ioatlas fit {measured / 't'} --for etcd" in " ".join(done.stdout.split())
    assert "skipped" in checks.read_text()
