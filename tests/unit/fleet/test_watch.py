# SPDX-License-Identifier: Apache-2.0
"""A batch on clients of which one goes away, and the lease of a client's keeper."""

import secrets
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from ioatlas.load.fleet import keeper
from ioatlas.load.fleet.connections import CONNECT_SECONDS, LATE_SECONDS, NAMING_SECONDS, Watch


class Batch:
    """Connections of a controller, and what transports say."""

    def __init__(self, span=30.0) -> None:
        self.open = {5, 6, 7}
        self.why = dict.fromkeys("abc", "")
        self.watch = Watch({name: lambda name=name: self.why[name] for name in "abc"}, span, lambda _pid: self.open)

    def look(self, seconds):
        return self.watch.look(1, seconds)


def test_a_batch_that_runs_is_left_alone():
    batch = Batch()
    assert not any(batch.look(second) for second in range(30))
    batch.open = set()
    assert not batch.look(31)
    assert not batch.watch.lost


def test_what_a_transport_knows_ends_it_at_once():
    batch = Batch()
    batch.look(0)
    batch.why["b"] = "its ssh connection ended"
    assert batch.look(3)
    assert batch.watch.lost == {"b": "its ssh connection ended"}


def test_a_connection_that_closes_too_soon_names_its_client():
    batch = Batch()
    batch.look(0)
    batch.open = {5, 6}
    assert not batch.look(4)
    assert batch.look(4 + NAMING_SECONDS + 0.5)
    assert batch.watch.ended_early == ("a",), "fio connects in reverse order"


def test_at_the_end_connections_close_one_by_one():
    batch = Batch(span=10)
    batch.look(0)
    batch.open = {6}
    assert not batch.look(9.5)
    assert not batch.look(11)


def test_a_client_that_is_still_at_work_long_after_is_lost():
    batch = Batch(span=10)
    batch.look(0)
    batch.open = {6}
    assert batch.look(11 + LATE_SECONDS)
    assert list(batch.watch.lost) == ["b"]


def test_all_late_is_the_targets_doing():
    batch = Batch(span=10)
    batch.look(0)
    assert not batch.look(100)


def test_a_client_that_never_connects_ends_it():
    batch = Batch()
    batch.open = {5, 6}
    assert not batch.look(1)
    assert batch.look(CONNECT_SECONDS + 1)
    assert batch.watch.ended_early == ("1 of 3 clients did not connect",)


SCRIPT = Path(keeper.__file__).with_name("keeper.sh").read_text(encoding="utf-8")
BEGINS = "  trap 'quiet=0' USR1\n"


@pytest.mark.parametrize("shell", ["dash", "bash --posix", "busybox sh"])
def test_a_word_that_comes_before_the_lease_has_begun_does_not_end_it(shell):
    """On a busy host the first beat is faster: the near end then falls silent, and all must end by the lease."""
    words = shlex.split(shell)
    if shutil.which(words[0]) is None:
        pytest.skip(f"there is no {words[0]}")
    assert BEGINS in SCRIPT
    token = secrets.token_hex(16)
    started = subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        slow = SCRIPT.replace(BEGINS, "  sleep 0.5\n" + BEGINS)
        started.stdin.write(f"mark=m token={token} lease=1\n{slow}\n")
        started.stdin.flush()
        place = Path(started.stdout.readline().split()[-1])
        assert token in place.name
        started.stdin.write("beat 1\n")
        started.stdin.flush()
        started.wait(20)  # its input stays open
        assert not place.exists()
    finally:
        started.kill()
        started.wait()
        shutil.rmtree(Path("/tmp") / f"ioatlas-fleet-{token}", ignore_errors=True)
