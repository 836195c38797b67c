# SPDX-License-Identifier: Apache-2.0
"""The budget of a session; a wall clock that somebody sets in mid-run changes no time that is told."""

import pytest

from ioatlas.bundle.pack import pack
from ioatlas.bundle.redaction import RedactPlan
from ioatlas.bundle.verify import verify
from ioatlas.load.fio.executor import BatchClock, SessionTime, read_clock
from ioatlas.measure.campaign import load_result
from ioatlas.measure.run.budget import USUAL_SLOWDOWN, USUAL_START_SECONDS, Budget
from ioatlas.model.finding import FindingCode
from ioatlas.store.journal import Journal
from tests.simulate.clock import VirtualClock
from tests.unit.simulated import LAW, World

pytestmark = pytest.mark.usefixtures("no_law")

DAY = 86_400.0
SWEEP = """
visits = 3
[target]
path = "TARGET"
[sweep]
rw = "randread"
bs = ["4k", "64k"]
size = "1m"
iodepth = [1, 4]
ioengine = "libaio"
"""


class Setter:
    """Sets the wall clock at a step of one run of the load generator."""

    def __init__(self, clock, run, what, by_seconds):
        self.clock, self.run, self.what, self.by_seconds = clock, run, what, by_seconds
        self.runs = 0

    def __call__(self, what):
        self.runs += what == "run"
        if what == self.what and self.runs == self.run:
            self.run = 0
            self.clock.set_wall(self.by_seconds)


def measured(place, run=0, what="tick", by_seconds=0.0):
    place.mkdir()
    clock = VirtualClock()
    world = World(place, LAW, clock=clock, moment=Setter(clock, run, what, by_seconds))
    world.run(SWEEP)
    return world.directory


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """The campaign while nobody sets the clock; only read."""
    return measured(tmp_path_factory.mktemp("clock") / "plain")


@pytest.mark.parametrize(
    ("run", "what", "by_seconds"),
    [
        *((2, "tick", -3 * DAY), (2, "run", 400 * DAY), (3, "ended", -3 * DAY)),
        *(pytest.param(*one, marks=pytest.mark.long("run")) for one in ((2, "tick", 400 * DAY), (2, "run", -5.0))),
    ],
)
def test_a_clock_that_is_set_in_mid_run_changes_no_time(plain, tmp_path, run, what, by_seconds):
    moved = measured(tmp_path / "moved", run, what, by_seconds)
    times = []
    for directory in (plain, moved):
        journal = Journal.open(directory)
        times.append([(one.started_at, one.verdict, one.discarded) for one in journal.visits()])
        journal.close()
    assert [one[1:] for one in times[1]] == [one[1:] for one in times[0]]
    assert [one[0] for one in times[1]] == pytest.approx([one[0] for one in times[0]], abs=0.6)
    results = [load_result(directory) for directory in (plain, moved)]
    assert results[1].seconds == pytest.approx(results[0].seconds, abs=1)
    assert [one.code for one in results[0].findings if one.code is FindingCode.CLOCK] == []
    assert [one.code for one in results[1].findings if one.code is FindingCode.CLOCK] == [FindingCode.CLOCK]
    bundle = tmp_path / "moved.ioatlas.zip"
    bundle.write_bytes(pack(moved, plan=RedactPlan()).data())
    told = verify(bundle)
    assert [(one.name, one) for one in told.checks if one.state == "failed"] == []


def test_session_time_follows_what_passes():
    clock = VirtualClock()
    session, began = SessionTime(clock), clock.time()
    clock.sleep(5)
    clock.set_wall(-DAY)
    clock.sleep(2)
    assert session.now() == pytest.approx(began + 7)
    assert clock.time() - session.now() == pytest.approx(-DAY)


def test_stamps_are_read_by_how_far_the_clock_was_off_then(tmp_path):
    quiet = BatchClock.of([(100.0, 0.0), (130.0, 0.1)])
    assert (quiet, quiet.session(17.0)) == (BatchClock(), 17.0)
    clock = BatchClock.of([(100.0, 0.0), (110.0, 0.0), (111.0, -10.0), (130.0, -10.0)])
    assert clock.steps == ((100.0, 0.0), (111.0, -10.0))
    assert clock.furthest == -10.0
    assert [clock.session(wall) for wall in (105.0, 115.0)] == [105.0, 125.0]
    clock.write(tmp_path)
    assert read_clock(tmp_path) == clock
    (tmp_path / "clock.json").write_text('{"steps": "x"}')
    assert read_clock(tmp_path) == BatchClock()


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
