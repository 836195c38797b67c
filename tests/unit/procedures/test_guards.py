# SPDX-License-Identifier: Apache-2.0
"""What a plan may not do, nor a trace's, and what a session looks at before it goes on."""

import pytest

from ioatlas.load.fio.batch import Section
from ioatlas.load.fio.replay import LEAD_MS, cap_ms
from ioatlas.measure import campaign
from ioatlas.measure.procedures.options import TRACE_FILE, TraceOptions, read_campaign
from ioatlas.measure.procedures.trace import summed_up
from ioatlas.measure.procedures.tune.procedure import Tune
from ioatlas.measure.run.plan import default_pace, expected_seconds
from ioatlas.model.cell import Cell
from ioatlas.model.errors import IoAtlasError, UsageError
from ioatlas.plan.latency_search import Goal
from ioatlas.plan.spec import CampaignSpec
from tests.unit.procedures.cases import EVERY, FIXED_WORK, TRACE, TUNE
from tests.unit.simulated import SMALL_TRACE, World

WRITING = {**EVERY, "tune": TUNE.replace('"randread"', '"randwrite"')}


def planned(place, text, *, read_only=False, tune=False):
    (place / "target").mkdir(exist_ok=True)
    (place / "small.iolog").write_text(SMALL_TRACE)
    text = text.replace("TARGET", str(place / "target")).replace("TRACE", str(place / "small.iolog"))
    procedure = Tune(Goal("p99", 20e6, 2, 16)) if tune else None
    return campaign.open_plan(read_campaign(text), read_only=read_only, procedure=procedure)


@pytest.mark.parametrize("name", [name for name in WRITING if name != "few cells"])
def test_a_plan_that_may_only_read_has_no_cell_that_writes(tmp_path, name):
    tune = name == "tune"
    assert any(cell.writes for cell in planned(tmp_path, WRITING[name], tune=tune).to_measure)
    try:
        plan = planned(tmp_path, WRITING[name], read_only=True, tune=tune)
    except UsageError:
        return
    assert plan.to_measure
    assert not any(cell.writes for cell in plan.to_measure)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda path: path.write_text(SMALL_TRACE.replace("4096", "8192")), "not the trace that was planned"),
        (lambda path: path.unlink(), "cannot be read"),
    ],
)
def test_a_trace_that_is_another_now_is_not_replayed(tmp_path, change, said):
    world = World(tmp_path)
    world.start(TRACE)
    change(world.directory / TRACE_FILE)
    with pytest.raises(IoAtlasError, match=said):
        world.session()
    assert world.executor.runs == 0
    assert world.left_on_target() == []


def test_the_file_of_fixed_work_is_as_long_as_its_largest_cell(tmp_path):
    plan = planned(tmp_path, FIXED_WORK.replace('size = "1m"', 'size = ["1m", "4m"]'))
    assert [list(files.values()) for files in plan.files.values()] == [[4 << 20]]


def test_a_search_begins_with_one_io_in_flight(tmp_path):
    plan = planned(tmp_path, TUNE, tune=True)
    (cell,) = plan.to_measure
    assert (cell.numjobs, cell.iodepth) == (1, 1)
    assert {"numjobs": 1, "iodepth": 1}.items() <= plan.spec.constants.items()
    for option in ("numjobs", "iodepth"):
        with pytest.raises(UsageError, match=f"{option} is what the search decides on"):
            planned(tmp_path, f"{TUNE}{option} = 4\n", tune=True)


@pytest.mark.parametrize(("name", "visits"), [("dense", 3), ("trace", 2)])
def test_every_cell_is_planned_in_each_replicate_in_another_order(tmp_path, name, visits):
    world = World(tmp_path)
    world.start(EVERY[name])
    rows = world.rows("select block, cell_key from visit where status = 'planned' order by visit_id")
    cells = {key for (key,) in world.rows("select cell_key from cell where reason = ''")}
    replicates = [[key for block, key in rows if block == number] for number in range(visits)]
    assert len(rows) == visits * len(cells)
    assert all(set(keys) == cells for keys in replicates)
    if len(cells) > 1:
        assert len({tuple(keys) for keys in replicates}) == visits


@pytest.fixture
def three_ios(tmp_path):
    path = tmp_path / "t.iolog"
    path.write_text("fio version 3 iolog\n" + "".join(f"{1000 * k} f read {4096 * k} 4096\n" for k in range(3)))
    return str(path)


def test_every_lane_has_an_io(three_ios):
    assert summed_up(CampaignSpec().having(TraceOptions(three_ios)), ()).constants["numjobs"] == 3
    assert summed_up(CampaignSpec(axes={"numjobs": (1, 3)}).having(TraceOptions(three_ios)), ()).axes == {
        "numjobs": (1, 3)
    }
    for spec in (
        CampaignSpec(constants={"numjobs": 4}).having(TraceOptions(three_ios)),
        CampaignSpec(axes={"numjobs": (1, 4)}).having(TraceOptions(three_ios)),
    ):
        with pytest.raises(UsageError, match="4 I/Os in flight are more than the 3"):
            summed_up(spec, ())


def test_what_is_summed_up_sums_up_to_the_same_again(three_ios):
    once = summed_up(CampaignSpec().having(TraceOptions(three_ios)), ())
    assert summed_up(once, ()) == once
    with pytest.raises(UsageError, match="'bs' is settled by the trace"):
        summed_up(CampaignSpec(constants={"bs": 4096}).having(TraceOptions(three_ios)), ())


def test_a_budget_counts_a_traces_own_time_not_its_cap():
    cell = Cell.of(
        "t", {"trace": "x", "trace_seconds": 20.0, "rw": "randread", "bs": 4096, "size": 1 << 20, "numjobs": 4}
    )
    section = Section(1, cell, 1, cap_ms(cell), 10, ())
    pace = default_pace(CampaignSpec())
    assert expected_seconds([section], pace) == pytest.approx(20 + LEAD_MS / 1000, rel=0.01)
    pace.learn(cell, 60.0)  # few I/Os in a long time are no slow target
    assert expected_seconds([section], pace) == pytest.approx(20 + LEAD_MS / 1000, rel=0.01)
    assert section.turns * 0.1 > 80
