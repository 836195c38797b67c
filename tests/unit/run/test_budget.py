# SPDX-License-Identifier: Apache-2.0
import pytest

from ioatlas.measure.run.budget import USUAL_SLOWDOWN, USUAL_START_SECONDS, Budget
from tests.unit.simulated import World

pytestmark = pytest.mark.usefixtures("no_law")

MAP = """
visits = 40
window = "500ms"
budget = "60s"
precision = "1%"
[target]
path = "TARGET"
[sweep]
rw = ["randread"]
bs = ["4k"]
size = "1m"
direct = 0
iodepth = [1, 2]
ioengine = "libaio"
"""


def test_the_start_of_a_process_is_reckoned_apart_from_how_slow_its_loads_are():
    budget = Budget(lambda: 50.0, 100.0, 20.0)
    assert (budget.elapsed, budget.left, budget.slowdown) == (30.0, 70.0, USUAL_SLOWDOWN)
    assert budget.start_seconds == USUAL_START_SECONDS
    budget.book(4, planned=10.0, spent=14.0, load=10.0)
    assert (budget.slowdown, budget.start_seconds) == (1.0, 4.0), "a slow start makes no load slow"
    assert budget.process_seconds(20.0) == 24.0
    budget.book(4, planned=10.0, spent=31.0, load=30.0)
    assert (budget.slowdown, budget.start_seconds) == (2.0, 4.0), "the slowest of the last starts"
    budget.book(4, planned=100.0, spent=50.0, load=49.0)
    assert budget.slowdown == 1.0, "a budget is never stretched by what went fast"
    assert budget.seconds_per_visit(9.0) == pytest.approx(95 / 12)
    assert Budget(lambda: 0.0, None, 0.0).left is None
    assert Budget(lambda: 0.0, None, 0.0).seconds_per_visit(9.0) == 9.0


def test_a_process_that_left_nothing_tells_only_what_it_cost():
    budget = Budget(lambda: 0.0, 100.0, 0.0)
    budget.book(1, planned=1.0, spent=2.3)
    assert budget.start_seconds == USUAL_START_SECONDS
    assert budget.slowdown == pytest.approx(2.0)


@pytest.mark.long("run", "procedures")
@pytest.mark.parametrize("start_seconds", [0.15, 4.0, 9.0])
def test_a_budget_is_kept_on_a_machine_on_which_everything_takes_longer(tmp_path, start_seconds):
    world = World(tmp_path, start_seconds=start_seconds)
    summary = world.run(MAP)
    world.check()
    assert summary.seconds <= 60
    assert summary.seconds > 40
