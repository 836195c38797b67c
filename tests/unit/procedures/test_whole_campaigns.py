# SPDX-License-Identifier: Apache-2.0
"""Campaigns of every procedure from their start to their end on a simulated target, and what may come in between."""

from functools import cache

import pytest

from ioatlas.errors import IoAtlasError, PartialResultError
from tests.simulate.clock import BEGIN_SECONDS
from tests.simulate.faults import Fault, FaultKind
from tests.unit.procedures.cases import EVERY, LONG, make_world

pytestmark = pytest.mark.usefixtures("no_law")


def names(later):
    """Those of every campaign; the long run alone has these."""
    marks = [pytest.mark.long("procedures", "run")]
    return [pytest.param(name, marks=marks if name in later else []) for name in EVERY]


DISTURBED = pytest.mark.parametrize("name", names({*LONG, "fit", "rounds", "trees", "tune"}), indirect=True)
"""Faults are met where loads are run, for all in the same place."""


@pytest.fixture(params=names(LONG))
def name(request):
    return request.param


@pytest.fixture
def world(tmp_path, name):
    return make_world(tmp_path, name)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """Of a campaign's name: (world, summary) when nothing came in between; only read."""

    @cache
    def made(name):
        world = make_world(tmp_path_factory.mktemp("undisturbed"), name)
        return world, world.session()

    return made


@pytest.fixture
def whole_seconds(undisturbed, name):
    """How long the campaign lasts, in its virtual time, when nothing comes in between."""
    return undisturbed(name)[1].seconds


def statuses(world, where="1"):
    return {status for (status,) in world.rows(f"select distinct status from visit where {where}")}


def test_it_is_made_to_its_end(undisturbed, name):
    world, summary = undisturbed(name)
    world.check()
    assert summary.complete
    assert summary.visits == len(
        world.rows("select 1 from visit where status = 'done' and purpose not in ('probe', 'search')")
    )
    # Files may be laid out before, to see how many of them there is time for.
    assert next(event.name for event in world.events if event.name != "layout") == "campaign"
    assert {event.name for event in world.events} >= {"campaign", "progress", "visit"}
    assert summary.seconds == pytest.approx(world.clock.monotonic(), abs=0.01)


def test_the_journal_is_stamped_in_the_time_of_the_loads(undisturbed, name):
    world, _ = undisturbed(name)
    stamps = [
        stamp
        for table, column in (
            ("campaign", "created_at"),
            ("session", "started_at"),
            ("session", "ended_at"),
            ("batch", "started_at"),
            ("file_made", "created_at"),
            ("file_made", "removed_at"),
            ("ledger", "at"),
            ("remark", "at"),
        )
        for (stamp,) in world.rows(f"select {column} from {table}")
    ]
    assert len(stamps) > 4
    assert min(stamps) == BEGIN_SECONDS
    assert max(stamps) == world.clock.time() > BEGIN_SECONDS


@DISTURBED
def test_stopped_or_hung_it_cleans_keeps_what_is_finished_and_goes_on(world, whole_seconds):
    end = world.clock.monotonic() + 0.3 * whole_seconds
    with pytest.raises(PartialResultError, match="stopped") as error:
        world.session(lambda: world.clock.monotonic() >= end)
    assert "ioatlas resume" in error.value.remedy
    assert world.clock.monotonic() < end + 1.0
    world.check(complete=False)
    stopped = world.finished()
    world.fail(Fault(FaultKind.HANG, from_seconds=world.clock.monotonic() + whole_seconds / 3))
    with pytest.raises(PartialResultError, match="did not end in time"):
        world.session()
    world.check(complete=False)
    hung = world.finished()
    assert {key: hung[key] for key in stopped} == stopped
    world.fail()
    assert world.session().complete
    world.check()
    after = world.finished()
    assert {key: after[key] for key in hung} == hung


@DISTURBED
def test_what_fails_from_the_start_is_said_leaves_nothing_and_the_campaign_is_made_later(world, name):
    """A load that cannot be killed, a job that fio refuses, a full file system."""
    world.fail(Fault(FaultKind.UNKILLABLE))
    runs = world.executor.runs
    with pytest.raises(IoAtlasError, match="does not end, even when killed"):
        world.session()
    assert world.executor.runs == runs + 1, "nothing is started beside it"
    world.fail(Fault(FaultKind.EXIT, text="fio: pid=0, err=22/file:init.c, error=Invalid argument"))
    with pytest.raises(IoAtlasError, match=r"Invalid argument|cannot be run"):
        world.session()
    world.check(complete=False)
    world.fail(Fault(FaultKind.NO_SPACE))
    error = world.tried()
    world.check(complete=False)
    if name == "iozone":  # its own tool goes on
        return
    assert error is not None
    assert "No space left" in str(error) or "free some space" in error.remedy
    world.fail()
    assert world.session().complete
    world.check()


@DISTURBED
def test_half_an_output_is_none(world):
    world.fail(Fault(FaultKind.CUT_OUTPUT, from_seconds=1.0, times=1))
    if world.tried() is not None:  # of a lay-out, or of one load in a row
        world.check(complete=False)
        world.session()
    world.check()


@DISTURBED
def test_errors_of_the_target_leave_no_value(world, name):
    world.fail(
        Fault(FaultKind.IO_ERROR, jobs={"bs": "65536"} | ({} if name == "fixed work" else {"ioengine": "libaio"}))
    )
    error = world.tried()
    assert error is None or "nput/output" in str(error)
    world.check(complete=error is None)
    assert world.rows("select error from visit where status = 'done' and error != 0") == []
