# SPDX-License-Identifier: Apache-2.0
"""Kill simulated campaigns at many moments: `python bench/crash/simulated.py [--moments 200] [--seed 1] [NAME ...]`.

Each campaign of tests/unit/procedures/cases.py runs in a process of its own, which ends as by SIGKILL at a moment:
a step of the executor, the begin or the end of a transaction, a change of a file. It is resumed and compared with
one that nobody disturbed. Where a campaign has fewer moments than are asked for, it dies at each of them, and for the
rest of the deaths the session that resumes it dies too.
"""

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.unit.procedures.cases import EVERY, make_world
from tests.unit.procedures.test_ended_anywhere import BEGUN_AGAIN, assert_alike, swept
from tests.unit.simulated import killed, moments, spread


def deaths(count, total, seed):
    """So many deaths: moments of a session of `total`, and of the one that resumes it."""
    first = [(moment,) for moment in spread(count, total, seed)]
    draws = random.Random(seed)
    return first + [(draws.randrange(total), draws.randrange(total)) for _ in range(count - len(first))]


def trial(name, count, seed):
    """Of one kind of campaign: (moments that it has, sessions that died, finished visits lost, resumed campaigns that
    ended otherwise).
    """
    with tempfile.TemporaryDirectory() as place:
        world = make_world(Path(place), name)
        world.keep()
        total = moments(world)
        reference = world.made()
        died, lost, others = 0, 0, 0
        for moments_of_death in deaths(count, total, seed):
            world.restore()
            before = {}
            for moment in moments_of_death:
                died += killed(world, moment)
                lost += sum(world.finished().get(key) != value for key, value in before.items())
                before = world.finished()
            world.session()
            world.check()
            after = world.finished()
            lost += sum(after.get(key) != value for key, value in before.items())
            try:
                if name in BEGUN_AGAIN:
                    assert_alike(world.made(), reference)
                else:
                    assert swept(world.made()) == swept(reference)
            except AssertionError:
                others += 1
    return total, died, lost, others


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(EVERY))
    parser.add_argument("--moments", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    bad = 0
    for name in options.names:
        begun = time.monotonic()
        total, died, lost, others = trial(name, options.moments, options.seed)
        bad += lost + others
        seconds = time.monotonic() - begun
        print(
            f"{name}: {options.moments} campaigns of {total} moments, killed {died} times,"
            f" {lost} finished visits lost or changed, {others} ended otherwise ({seconds:.0f} s)",
            flush=True,
        )
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
