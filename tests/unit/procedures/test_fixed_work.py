# SPDX-License-Identifier: Apache-2.0
import itertools
from dataclasses import replace

import pytest

from ioatlas.load.fio.batch import Batch, Section, job_text
from ioatlas.load.streams.fixed_work import IozoneTable
from ioatlas.measure.campaign import open_plan
from ioatlas.measure.procedures.fixed_work.options import FixedWorkOptions
from ioatlas.measure.procedures.fixed_work.plan import FILE, build_sequence_plan, fewer, with_size
from ioatlas.measure.procedures.fixed_work.procedure import also_moved, iozone_results
from ioatlas.measure.procedures.options import campaign_toml, find_profile, read_campaign
from ioatlas.measure.run.plan import plan_record
from ioatlas.model.errors import UsageError
from ioatlas.model.fixed_work import WorkSequence, operation_of, sequences_of, tool_of
from ioatlas.model.target import Target
from ioatlas.model.visit import Purpose
from ioatlas.plan.spec import CampaignSpec
from ioatlas.store.journal import PlannedVisit
from tests.simulate.iozone import COLUMNS

KIB, MIB = 1 << 10, 1 << 20
NINE = list(COLUMNS)


@pytest.fixture
def target(tmp_path):
    return Target("nas", "directory", str(tmp_path))


def spec_of(text, profile="iozone2017"):
    return read_campaign(f'profile = "{profile}"\n{text}\n[target]\npath = "/x"\n')


def plan_of(text, target, profile="iozone2017"):
    return build_sequence_plan(spec_of(text, profile), (target,))


def test_rounds_hold_the_operations_in_order_and_no_load_is_bounded_by_time(target, tmp_path):
    plan = plan_of('[sweep]\nsize = "2m"\nbs = ["64k", "1m"]', target)
    rounds = sequences_of(plan.to_measure)
    assert [operation_of(cell) for cells in rounds.values() for cell in cells] == NINE * 2
    assert len({cell.key for cell in plan.to_measure}) == 18
    assert plan.files == {"nas": {FILE: 2 * MIB}}
    for number, cell in enumerate(plan.to_measure):
        assert cell.work_bounded
        assert cell.members[0].integer("io_size", 0) == 2 * MIB
        assert cell.end_bytes == 2 * MIB
        text = job_text(Batch(1, tmp_path, (Section(number, cell, 1, 1000, 0, (("filename", "/x/f"),)),)))
        assert "time_based" not in text
        assert "io_size=2097152" in text
        assert "operation" not in text
        assert "tool" not in text
    rewrite = next(cell for cell in plan.to_measure if operation_of(cell) == "record rewrite" and cell.bs_bytes == MIB)
    assert rewrite.members[0].rw == f"write:-{MIB}"
    assert rewrite.members[0].size_bytes == 2 * MIB


def test_a_record_larger_than_the_file_is_shown_and_never_run(target):
    plan = plan_of('[sweep]\nsize = "128k"\nbs = ["64k", "256k"]', target)
    assert len(plan.to_measure) == 9
    left = [reason for cell, reason in plan.cells if int(cell.option["bs"]) == 256 * KIB]
    assert len(left) == 9
    assert all(reason.startswith("not admissible: the record") for reason in left)


def test_what_the_study_decides_cannot_be_set(target):
    for text, word in (
        ('[sweep]\nrw = "read"', "rw"),
        ("[sweep]\niodepth = 4", "iodepth"),
        ("cells = 20", "cells"),
        ('max_visits = 2\nprecision = "5%"', "takes three"),
        ('prepare = "filled"', "has no meaning"),
        ('[sweep]\nbs = "512"', "4 KiB"),
    ):
        with pytest.raises(UsageError, match=word):
            plan_of(text, target)
    with pytest.raises(UsageError, match="new file"):
        build_sequence_plan(spec_of(""), (replace(target, kind="block", size_bytes=1 << 40),))
    with pytest.raises(UsageError, match="writes the file that it reads"):
        build_sequence_plan(spec_of('[sweep]\nsize = "1m"\nbs = "4k"'), (target,), read_only=True)


def test_visits_that_are_asked_for_take_the_place_of_the_stop_rule():
    assert spec_of("").precision == 0.05
    assert spec_of("visits = 40").precision is None
    both = spec_of('visits = 4\nprecision = "10%"')
    assert (both.visits, both.precision) == (4, 0.1)


def test_the_campaign_file_written_out_reads_back_to_the_same(target):
    plan = plan_of('visits = 40\nengine = "fio"\n[sweep]\nsize = "2m"\nbs = ["64k", "1m"]', target)
    again = build_sequence_plan(read_campaign(campaign_toml(plan.spec)), (target,))
    assert [cell.key for cell, _ in again.cells] == [cell.key for cell, _ in plan.cells]
    assert (again.spec.visits, again.spec.precision, again.spec.of(FixedWorkOptions).engines) == (40, None, ("fio",))
    assert CampaignSpec.from_record(plan_record(plan)["spec"]).axes == plan.spec.axes


def test_sizes_of_the_nas_charts_go_beyond_the_memory(target, monkeypatch):
    monkeypatch.setattr("ioatlas.measure.procedures.fixed_work.plan.memory_bytes", lambda: 5 << 30)
    monkeypatch.setattr("ioatlas.measure.procedures.fixed_work.plan.usable_bytes", lambda _target: 1 << 40)
    plan = plan_of("", target, "nascharts2008")
    sizes = sorted({int(cell.option["size"]) for cell in plan.to_measure})
    assert sizes == [64 * KIB << k for k in range(len(sizes))]
    assert sizes[-2] <= 5 << 30 < sizes[-1]
    assert {operation_of(cell) for cell in plan.to_measure} == {"write", "read"}
    assert all(cell.integer("direct", 1) == 0 and cell.members[0].integer("direct", 1) == 0 for cell in plan.to_measure)
    assert any("server.ram" in remark for remark in plan.remarks)
    monkeypatch.setattr("ioatlas.measure.procedures.fixed_work.plan.usable_bytes", lambda _target: 1 << 30)
    short = plan_of("", target, "nascharts2008")
    assert max(int(cell.option["size"]) for cell in short.to_measure) == 1 << 30
    assert any("do not fit" in remark for remark in short.remarks)


@pytest.mark.parametrize("named", [None, "elsewhere.toml"])
def test_the_servers_memory_may_be_typed_in(named, target, monkeypatch, tmp_path):
    (tmp_path / (named or "testbed.toml")).write_text('[facts]\n"server.ram" = "12 GiB"\n')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("ioatlas.measure.procedures.fixed_work.plan.memory_bytes", lambda: 5 << 30)
    monkeypatch.setattr("ioatlas.measure.procedures.fixed_work.plan.usable_bytes", lambda _target: 1 << 40)
    spec = replace(find_profile("nascharts2008"), targets=(("", target.location),))
    plan = open_plan(spec, facts=tmp_path / named if named else None)
    assert max(int(cell.option["size"]) for cell in plan.to_measure) == 16 << 30
    assert not any("is not known" in remark for remark in plan.remarks)


def test_a_facts_file_that_is_not_there_is_told(target, tmp_path):
    spec = replace(find_profile("nascharts2008"), targets=(("", target.location),))
    with pytest.raises(UsageError, match=r"no\.toml"):
        open_plan(spec, facts=tmp_path / "no.toml")


def test_a_smaller_file_is_added_and_the_other_left_out(target):
    plan = plan_of('[sweep]\nsize = "8m"\nbs = ["64k", "1m"]', target)
    small = with_size(plan, 2 * MIB, "left out: budget")
    assert {int(cell.option["size"]) for cell in small.to_measure} == {2 * MIB}
    assert sum(reason == "left out: budget" for _, reason in small.cells) == 18
    assert small.spec.axes["size"] == (2 * MIB, 8 * MIB)
    thin = fewer(small, [2 * MIB], [MIB], "left out: budget")
    assert {WorkSequence.of(cell) for cell in thin.to_measure} == {WorkSequence("nas", "fio", 2 * MIB, MIB)}


def table(size=1024, record=64, skip=()):
    rates = {name: float(100 * MIB + place) for place, name in enumerate(NINE) if name not in skip}
    return IozoneTable(size * KIB, record * KIB, rates)


@pytest.fixture
def run(target, tmp_path, monkeypatch):
    """Sections of one run of IOzone, as a batch and the rows of the journal."""
    plan = plan_of('engine = "iozone"\n[sweep]\nsize = "1m"\nbs = "64k"', target)
    assert {tool_of(cell) for cell in plan.to_measure} == {"iozone"}
    sections = tuple(Section(number, cell, 5, 1000, 0, ()) for number, cell in enumerate(plan.to_measure))
    planned = {s.visit_id: PlannedVisit(s.cell.key, 3, 5, Purpose.SWEEP, True, visit_id=s.visit_id) for s in sections}
    return Batch(7, tmp_path, sections), planned


def test_iozones_table_becomes_visits_of_its_own_cells(run):
    batch, planned = run
    results = iozone_results(table(), batch, planned, 1000.0)
    assert [result.state for result in results] == ["finished"] * 9
    for place, result in enumerate(results):
        visit = result.visit
        (part,) = visit.parts
        assert part.io_bytes == MIB
        assert part.total_ios == 16
        assert part.io_bytes / part.runtime_ms * 1000 == pytest.approx(100 * MIB + place)
        assert part.lat_mean_ns is None
        assert visit.replicate == 3
        assert part.direction == ("write" if "write" in NINE[place] else "read")
    assert all(a.visit.started_at < b.visit.started_at for a, b in itertools.pairwise(results))


def test_what_iozone_moves_without_a_word_is_known(run):
    batch, _ = run
    cells = [section.cell for section in batch.sections]
    assert also_moved(cells) == {"read": MIB + 2 * 64 * KIB}
    assert also_moved(cells[:2]) == {"read": 0}


def test_a_table_that_is_not_this_runs_or_lacks_an_operation_is_no_result(run):
    batch, planned = run
    assert iozone_results(None, batch, planned, 0.0) == []
    other = iozone_results(table(size=2048), batch, planned, 0.0)
    assert {result.state for result in other} == {"failed"}
    lacking = iozone_results(table(skip=("strided read",)), batch, planned, 0.0)
    assert [result.state for result in lacking] == ["finished"] * 8 + ["failed"]
    assert "nothing" in lacking[-1].reason
