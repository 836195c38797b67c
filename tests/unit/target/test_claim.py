# SPDX-License-Identifier: Apache-2.0
"""One campaign on a target at a time, and what the second one is told of the first."""

import os
import subprocess
import sys

import pytest

from ioatlas.model.errors import RefusedError
from ioatlas.model.target import Identity, Target
from ioatlas.target.marker import claimed
from ioatlas.target.opening import open_target

OTHER = """
import sqlite3, sys
from ioatlas.target.opening import open_target
from ioatlas.target.marker import claimed
journal = sqlite3.connect(sys.argv[2] + "/journal.sqlite")
journal.execute("create table t (x)")
with claimed([open_target(sys.argv[1])]):
    print("up", flush=True)
    input()
"""


@pytest.fixture
def other(tmp_path):
    """Another process with a campaign, which measures what it is told to."""
    campaign = tmp_path / "first"
    campaign.mkdir()
    started = []

    def measuring(place):
        process = subprocess.Popen(
            [sys.executable, "-c", OTHER, place, campaign], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        started.append(process)
        assert process.stdout.readline() == "up\n"
        return process, campaign

    yield measuring
    for process in started:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("kind", ["directory", "file"])
def test_the_second_campaign_is_told_of_the_first_and_a_crash_leaves_nothing(tmp_path, other, kind):
    place = tmp_path / "place"
    place.mkdir() if kind == "directory" else place.write_bytes(bytes(8192))
    target = open_target(str(place))
    first, campaign = other(place)
    with pytest.raises(RefusedError, match=f"process {first.pid} .* in {campaign}"), claimed([target]):
        pass
    first.kill()
    first.wait()
    with claimed([target, target]), pytest.raises(RefusedError, match=f"process {os.getpid()} "), claimed([target]):
        pass
    with claimed([target]):
        assert list(tmp_path.glob("place/*")) == [], "nothing is made on it"


def test_another_name_is_the_same_target_and_other_targets_are_free(tmp_path):
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_bytes(bytes(8192))
    other.hardlink_to(one)
    (tmp_path / "folder").mkdir()
    export = Target("e", "uri", f"nbd+unix:///?socket={tmp_path}", Identity(()))
    with claimed([open_target(str(one)), export]):
        with pytest.raises(RefusedError, match="measured already"), claimed([open_target(str(other))]):
            pass
        with pytest.raises(RefusedError, match="measured already"), claimed([export]):
            pass
        with claimed([open_target(str(tmp_path / "folder"))]):
            pass
