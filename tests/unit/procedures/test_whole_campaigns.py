# SPDX-License-Identifier: Apache-2.0
"""Campaigns of every procedure on a simulated target: plans, what may come in between, results; budgets, precision."""

from functools import cache

import pytest

from ioatlas.measure import campaign
from ioatlas.measure.procedures.options import CAMPAIGN, read_campaign
from ioatlas.measure.procedures.registry import procedure_of, procedure_of_journal
from ioatlas.measure.run.plan import recorded_plan
from ioatlas.model.errors import IoAtlasError, PartialResultError, UsageError
from ioatlas.model.finding import FindingCode
from ioatlas.model.outcomes import Voided
from ioatlas.model.visit import RemarkKind
from tests.simulate.clock import BEGIN_SECONDS
from tests.simulate.faults import Fault, FaultKind
from tests.simulate.law import Law, Way
from tests.unit.procedures.cases import DENSE, EVERY, FIXED_WORK, HIGHEST, LONG, POINTS, ROUNDS, make_world
from tests.unit.simulated import World

pytestmark = pytest.mark.usefixtures("no_law")


def names(later):
    """Those of every campaign; the long run alone has these."""
    marks = [pytest.mark.long("procedures", "run")]
    return [pytest.param(name, marks=marks if name in later else []) for name in EVERY]


DISTURBED = pytest.mark.parametrize("name", names({*LONG, "fit", "rounds", "trees", "tune"}), indirect=True)
"""Faults are met where loads are run, for all in the same place."""


ALL = pytest.mark.parametrize("name", names(()), indirect=True)


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


@pytest.fixture(scope="module")
def results(undisturbed):
    """Of a campaign's name: its result, when nothing came in between."""
    return cache(lambda name: campaign.load_result(undisturbed(name)[0].directory))


@pytest.fixture
def made(undisturbed, results, name):
    """A campaign made to its end: its name, its world and its result."""
    return name, undisturbed(name)[0], results(name)


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


# -- plans before and results after ----------------------------------------------------------------------------------


@ALL
def test_a_plan_is_told_in_figures_and_in_words(made, monkeypatch):
    name, world, _ = made
    monkeypatch.chdir(world.directory)  # the file names its trace beside it
    plan = campaign.open_plan(read_campaign((world.directory / "campaign.toml").read_text()))
    procedure = procedure_of(plan.spec)
    summary = procedure.summary(plan)
    assert summary["cells"] == len(summary.get("load_points", plan.to_measure))  # those of a search are not yet known
    assert 0 < procedure.seconds(plan) < 24 * 3600
    text = procedure.text(plan, summary)
    assert name != "rounds" or any("SNIA" in line for line in text.cost)
    assert name not in ("fixed work", "iozone") or text.prepare == "a new file for every sequence"


@ALL
def test_a_plan_that_was_recorded_is_told_as_well(made):
    """It holds cells and files, and nothing of what was reckoned before."""
    _, world, _ = made
    journal = world.journal()
    plan, procedure = recorded_plan(journal, CAMPAIGN.tables), procedure_of_journal(journal)
    journal.close()
    summary = procedure.summary(plan)
    assert summary["cells"] == len(summary.get("load_points", plan.to_measure))  # those of a search are not yet known
    assert summary["seconds"] > 0
    assert summary["bytes_written"] >= plan.layout_bytes
    procedure.text(plan, summary)


@ALL
def test_the_result_has_every_cell_that_was_visited(made):
    name, world, result = made
    visited = world.rows("select distinct cell_key from visit where status = 'done' and purpose = 'sweep'")
    found = {estimate.cell.key for estimate in result.estimates}
    assert visited or name == "tune"
    # Of streams, each is told by itself, and beside them their sum.
    if name == "fit":
        assert len(found) == 4
        assert len({key for (key,) in visited} & found) == 1
        return
    assert result.priced if name in ("points", "highest") else {key for (key,) in visited} <= found
    assert all((estimate.bw_bytes_per_s or estimate.iops) > 0 for estimate in result.estimates if estimate.n_visits)


@ALL
def test_rounds_end_with_their_window_and_say_what_was_not_as_the_specification_has_it(made):
    name, _, result = made
    if name != "rounds":
        assert "rounds" not in result.records
        return
    (rounds,) = result.records["rounds"]
    assert rounds["met"]
    first, last = rounds["window"]
    assert last - first == 4
    assert rounds["average"] == pytest.approx(sum(rounds["values"][first - 1 : last]) / 5)
    assert rounds["deviations"]
    assert FindingCode.ROUNDS in {finding.code for finding in result.findings}


@ALL
def test_fixed_work_has_a_chart_for_each_operation_and_is_held_against_iozone(made):
    name, _, result = made
    charts = result.charts
    if name not in ("fixed work", "iozone"):
        assert not [chart for chart in charts if chart.title.lower() == "backward read"]
        return
    assert len(charts) == 9
    for chart in charts:
        assert {dot.n for line in chart.series for dot in line.dots} == {2}
        assert len({line.name for line in chart.series}) >= (2 if name == "iozone" else 1)
    assert len(result.tables) == (name == "iozone"), "one tool has nothing to be held against"
    assert all(len(table.rows) == 9 for table in result.tables)


STEADY = Law(read=Way(100e-6, 50_000, 1e9), write=Way(200e-6, 20_000, 5e8), noise=0.01)


@pytest.fixture
def at_work(tmp_path):
    return World(tmp_path, STEADY)


def result_of(at_work):
    return campaign.load_result(at_work.directory)


def remarks(at_work):
    return [text for (text,) in at_work.rows(f"select text from remark where kind = '{RemarkKind.LEFT_OUT}'")]


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ('purge = "punch-hole"', "punched in files"),
        ('purge = "discard"', "only a block device can be discarded"),
        ('purge = "nvme-format"', "only a block device can be formatted"),
        ("visits = 3", "repeats its round"),
        ("precision = 0.05", "repeats its round"),
        ('prepare = "fresh"', "one range from its fill"),
    ],
)
def test_what_rounds_leave_no_room_for_is_refused(at_work, text, part):
    with pytest.raises(UsageError, match=part) as error:
        at_work.start(f"{text}\n{ROUNDS}")
    assert error.value.remedy
    assert not at_work.directory.exists()


def test_a_second_axis_is_refused_in_rounds(at_work):
    with pytest.raises(UsageError, match="iodepth cannot vary"):
        at_work.start(ROUNDS.replace("[sweep]", "[sweep]\niodepth = [1, 2]"))


# -- a budget, precision -------------------------------------------------------------------------------------


@pytest.mark.long("procedures")
def test_fixed_work_shrinks_its_file_to_the_budget_and_says_so(tmp_path):
    at_work = World(tmp_path, Law(read=Way(1e-3, 2_000, 50e6), write=Way(1e-3, 2_000, 50e6)))
    text = FIXED_WORK.replace('size = "1m"', 'size = "512m"')
    summary = at_work.run(f'budget = "60s"\n{text}')
    at_work.check()
    (told,) = remarks(at_work)
    assert "the budget leaves" in told
    sizes = {cell.size_bytes for cell, reason in at_work.journal().cells() if not reason}
    assert max(sizes) < 512 << 20
    assert summary.complete
    assert all(estimate.cell.size_bytes < 512 << 20 for estimate in result_of(at_work).estimates)


@pytest.mark.parametrize("text", [POINTS, HIGHEST], ids=["points", "highest"])
def test_load_points_are_made_shorter_or_fewer_for_a_budget(tmp_path, text):
    at_work = World(tmp_path, STEADY, start_seconds=0.3)
    summary = at_work.run(f'budget = "9s"\n{text.replace("300ms", "4s")}')
    at_work.check()
    assert any("load points" in told for told in remarks(at_work))
    assert summary.seconds < 25
    asked = {ms for (ms,) in at_work.rows("select runtime_ms from visit where purpose = 'sweep' and status = 'done'")}
    assert asked
    assert max(asked) < 4000


@pytest.mark.long("procedures", "plan")
def test_precision_goes_on_until_every_cell_has_it(tmp_path):
    at_work = World(tmp_path, Law(read=Way(100e-6, 50_000, 1e9), write=Way(200e-6, 20_000, 5e8), noise=0.15))
    at_work.run(f"precision = 0.05\n{DENSE.replace('visits = 3', 'visits = 2')}")
    at_work.check()
    counts = [
        n
        for (n,) in at_work.rows("select count(*) from visit where status='done' and purpose='sweep' group by cell_key")
    ]
    assert min(counts) >= 2
    assert max(counts) > 2, "a spread of 15% needs more visits than two"
    told = [event.fields for event in at_work.events if event.name == "precision"]
    assert told
    assert all(each["cells_waiting"] > 0 for each in told)


@pytest.mark.long("procedures", "run")
def test_a_replicate_that_another_load_slowed_is_voided_and_made_again(at_work):
    blocks = ", ".join(f'"{4 << power}k"' for power in range(8))
    at_work.start(DENSE.replace("visits = 3", "visits = 4").replace('"4k", "64k"', blocks))
    per_replicate = at_work.rows("select count(*) from visit where block = 1")[0][0]
    quick, slow = STEADY, Law(read=Way(400e-6, 12_000, 2e8), write=Way(800e-6, 5_000, 1e8), noise=0.01)

    def other_load():
        made = at_work.rows("select count(*) from visit where status = 'done' and purpose = 'sweep'")[0][0]
        again = at_work.rows("select count(*) from visit where block > 3 and purpose = 'sweep'")[0][0]
        at_work.executor._device.law = slow if not again and made >= 3 * per_replicate else quick
        return False

    assert at_work.session(other_load).complete
    at_work.check()
    journal = at_work.journal()
    voided = journal.kept(Voided).replicates
    journal.close()
    assert [one.replicate for one in voided] == [3]
    discarded = at_work.rows(
        "select count(*) from visit where status = 'discarded' and block = 3 and purpose = 'sweep'"
    )
    assert discarded[0][0] >= per_replicate
    assert at_work.rows("select count(*) from visit where status='done' and block=4 and purpose='sweep'") == [
        (per_replicate,)
    ]
    assert all(estimate.n_visits >= 4 for estimate in result_of(at_work).estimates)
