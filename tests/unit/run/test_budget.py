# SPDX-License-Identifier: Apache-2.0
import pytest

from ioatlas.run.budget import USUAL_SLOWDOWN, Budget
from tests.unit.simulated import World

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


def test_the_slowdown_is_what_batches_took_over_what_was_planned():
    budget = Budget(lambda: 50.0, 100.0, 20.0)
    assert (budget.elapsed, budget.left, budget.slowdown) == (30.0, 70.0, USUAL_SLOWDOWN)
    budget.book(4, planned=10.0, spent=25.0)
    assert budget.slowdown == 2.5
    budget.book(4, planned=10.0, spent=5.0)
    assert budget.slowdown == 1.5
    budget.book(4, planned=100.0, spent=50.0)
    assert budget.slowdown == 1.0, "a budget is never stretched by what went fast"
    assert budget.seconds_per_visit(9.0) == pytest.approx(80 / 12)
    assert Budget(lambda: 0.0, None, 0.0).left is None
    assert Budget(lambda: 0.0, None, 0.0).seconds_per_visit(9.0) == 9.0


@pytest.mark.parametrize("start_seconds", [0.15, 4.0, 9.0])
def test_a_budget_is_kept_on_a_machine_on_which_everything_takes_longer(tmp_path, start_seconds):
    world = World(tmp_path, start_seconds=start_seconds)
    summary = world.run(MAP)
    world.check()
    assert summary.seconds <= 60
    assert summary.seconds > 40 or start_seconds > 1
