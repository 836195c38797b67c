# SPDX-License-Identifier: Apache-2.0
"""The lease of a client's keeper, in the shells that clients have."""

import secrets
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from ioatlas.load.fleet import keeper

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
