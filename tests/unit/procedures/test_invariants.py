# SPDX-License-Identifier: Apache-2.0
"""What holds of a map on any target, whatever comes in between."""

import tempfile
from pathlib import Path

from hypothesis import HealthCheck, example, given
from hypothesis import strategies as st

from tests.examples import examples
from tests.simulate.faults import Fault, FaultKind
from tests.simulate.law import Burst, Cache, Law, Way
from tests.unit.simulated import World

MAP = """
visits = 2
window = "200ms"
{budget}
[target]
path = "TARGET"
[sweep]
rw = ["randread", "randwrite"]
bs = ["4k", "64k"]
size = "1m"
direct = 0
ioengine = "libaio"
"""
SHORT = examples(6, suppress_health_check=list(HealthCheck))
WAYS = st.builds(Way, st.floats(5e-6, 30e-3), st.floats(50, 500_000), st.floats(1e6, 5e9))
LAWS = st.builds(
    Law,
    read=WAYS,
    write=WAYS,
    random_read=st.none() | WAYS,
    caches=st.just(()) | st.builds(lambda size, way: (Cache(size, way),), st.floats(1e5, 1e7), WAYS),
    burst=st.none() | st.builds(Burst, st.floats(1e6, 1e9), st.floats(1.5, 10), st.floats(0, 1e8)),
    noise=st.floats(0, 0.3),
    jitter=st.floats(0, 0.3),
    drift_per_hour=st.floats(-5, 5),
    ramp_share=st.floats(0, 0.9),
    stall_every_seconds=st.sampled_from([0.0, 0.7, 3.0]),
    stall_seconds=st.floats(0, 0.5),
    seed=st.integers(0, 9),
)
DISTURBANCES = st.lists(st.tuples(st.sampled_from(["stop", *FaultKind]), st.floats(0, 12)), max_size=3)


def disturbed(world, what, seconds):
    """One session in which something happens after so many seconds."""
    at = world.clock.monotonic() + seconds
    world.fail(*([] if what == "stop" else [Fault(what, from_seconds=at)]))
    error = world.tried(lambda: what == "stop" and world.clock.monotonic() >= at)
    assert error is None or (error.what and error.remedy)


@SHORT
@example(law=Law(read=Way(1e-4, 1e5, 1e9), write=Way(1e-4, 1e5, 1e9)), disturbances=[(FaultKind.UNKILLABLE, 2.0)])
@given(law=LAWS, disturbances=DISTURBANCES)
def test_nothing_is_lost_nothing_is_left_and_every_cell_ends_measured_or_with_a_reason(law, disturbances):
    with tempfile.TemporaryDirectory() as place:
        world = World(Path(place), law)
        world.start(MAP.format(budget=""))
        known = {}
        for what, seconds in disturbances:
            disturbed(world, what, seconds)
            world.check(complete=False, stuck=what is FaultKind.UNKILLABLE)
            found = world.finished()
            assert {key: found.get(key) for key in known} == known
            known = found
        world.fail()
        assert world.session().complete
        world.check()
        found = world.finished()
        assert {key: found.get(key) for key in known} == known


@SHORT
@given(law=LAWS, budget=st.floats(5, 60), start_seconds=st.floats(0.1, 5))
def test_a_budget_is_kept_whatever_the_target_and_the_machine(law, budget, start_seconds):
    with tempfile.TemporaryDirectory() as place:
        world = World(Path(place), law, start_seconds=start_seconds)
        summary = world.run(MAP.format(budget=f'budget = "{budget:.1f}s"'))
        world.check()
        made = world.rows("select seconds from batch order by batch_id")
        longest = max(seconds for (seconds,) in made)
        # However small a budget, the files, two looks at the pace and one batch are made.
        assert summary.seconds <= max(budget, 0) + 3 * (longest + start_seconds) + 1
