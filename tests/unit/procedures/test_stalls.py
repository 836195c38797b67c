# SPDX-License-Identifier: Apache-2.0
"""A target that stands still for whole windows: told from a slow one, tried again, given up in one sentence."""

from dataclasses import replace

import pytest

from ioatlas.measure import campaign
from ioatlas.model.errors import PartialResultError
from ioatlas.model.verdict import ReasonCode
from tests.simulate.faults import Fault, FaultKind
from tests.simulate.law import Law, Way
from tests.unit.procedures.test_invariants import MAP as PLAIN
from tests.unit.simulated import World

pytestmark = pytest.mark.usefixtures("no_law")

MAP = PLAIN.format(budget="").replace("visits = 2", "visits = 3").replace("200ms", "300ms") + "iodepth = 8\n"
QUIET = Law(read=Way(1e-3, 20_000, 1e9), write=Way(1e-3, 10_000, 5e8), noise=0.01)
ONE_STALL = replace(QUIET, stall_every_seconds=5.0, stall_seconds=0.9)
"""It stands still from 4.1 to 5 s: in the sweep."""
NEVER_BACK = replace(QUIET, stall_every_seconds=6.0, stall_seconds=5.95)


def discarded(world):
    journal = world.journal()
    try:
        return [visit for visit in journal.visits() if visit.discarded]
    finally:
        journal.close()


def of(visits, code):
    return [visit for visit in visits if visit.discarded[0].code is code]


def test_a_window_without_an_answer_is_discarded_and_made_again(tmp_path):
    world = World(tmp_path, ONE_STALL)
    assert world.run(MAP).complete
    world.check()
    lost = of(discarded(world), ReasonCode.STALLED)
    assert lost
    for visit in lost:
        (reason,) = visit.discarded
        assert reason.sentence.startswith("stalled: no I/O completed in ")
        assert reason.sentence.endswith(" s")
    # Each was made again, and its cell has all its visits.
    counted = dict(
        world.rows("select cell_key, count(*) from visit where status = 'done' and purpose = 'sweep' group by 1")
    )
    assert len(counted) == 4
    assert min(counted.values()) >= 3
    for estimate in campaign.load_result(world.directory).estimates:
        way = QUIET.read if estimate.direction == "read" else QUIET.write
        expected = min(8 / way.seconds(estimate.cell.bs_bytes), 1 / way.cost_seconds(estimate.cell.bs_bytes))
        assert estimate.iops == pytest.approx(expected, rel=0.1), "no stall is in a value"


def test_a_stall_does_not_make_later_windows_longer(tmp_path):
    worlds = []
    for name, law in (("quiet", QUIET), ("stalling", ONE_STALL)):
        (tmp_path / name).mkdir()
        worlds.append(World(tmp_path / name, law))
        worlds[-1].run(MAP)
    longest = [world.rows("select max(runtime_ms) from visit where purpose = 'sweep'") for world in worlds]
    (((quiet,),), ((stalling,),)) = longest
    assert stalling <= quiet + 100, "room for a start that is late, and no more"


@pytest.mark.long("procedures", "run")
def test_a_stall_that_goes_on_ends_with_one_sentence_and_nothing_is_lost(tmp_path):
    world = World(tmp_path, QUIET)
    world.start(MAP)
    with pytest.raises(PartialResultError, match="stopped"):  # the pace is known, and some visits are made
        world.session(lambda: world.clock.monotonic() > 2.5)
    before = world.finished()
    world.executor.change_law(NEVER_BACK)
    with pytest.raises(PartialResultError) as error:
        world.session()
    assert error.value.what.startswith("the target stands still: no I/O came back in the windows of 3 loads in a row")
    assert "bring it back; then `ioatlas resume" in error.value.remedy
    world.check(complete=False)
    world.executor.change_law(QUIET)
    assert world.session().complete
    world.check()
    after = world.finished()
    assert {key: after[key] for key in before} == before


def test_a_target_that_never_answers_again_is_given_up(tmp_path):
    world = World(tmp_path, QUIET)
    world.start(MAP)
    world.fail(Fault(FaultKind.HANG, from_seconds=world.clock.monotonic() + 3))
    with pytest.raises(PartialResultError, match="the target does not answer: fio did not end in time"):
        world.session()
    world.check(complete=False)
    world.fail()
    assert world.session().complete
    world.check()


@pytest.mark.parametrize("latency", [0.3, 1.0])
def test_a_slow_target_is_no_stall(tmp_path, latency):
    """Its first windows end before its first answer."""
    slow = Way(latency, 1000, 1e9)
    world = World(tmp_path, Law(read=slow, write=slow))
    assert world.run(MAP).complete
    assert of(discarded(world), ReasonCode.STALLED) == []
    for estimate in campaign.load_result(world.directory).estimates:
        assert estimate.iops == pytest.approx(8 / latency, rel=0.15)


def test_what_failed_is_made_when_the_target_was_mended(tmp_path):
    world = World(tmp_path, QUIET)
    world.start(MAP)
    world.fail(Fault(FaultKind.IO_ERROR, from_seconds=world.clock.monotonic() + 2.5))  # the files are laid out by then
    with pytest.raises(PartialResultError, match="the load cannot be run"):
        world.session()
    assert world.rows("select 1 from visit where status = 'failed'")
    world.fail()
    assert world.session().complete
    world.check()
    made = world.rows("select cell_key, block from visit where status = 'done' and purpose = 'sweep' group by 1, 2")
    assert len(made) == 4 * 3, "every cell in every replicate"
