# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

import pytest

from ioatlas.answer.analysis.small_files import cache_doubt, described, plain, rates_table, tree_findings
from ioatlas.load.fio.batch import Batch, Section, job_text
from ioatlas.measure.campaign import load_result, open_plan
from ioatlas.measure.procedures.metadata.plan import build_tree_plan
from ioatlas.measure.procedures.metadata.procedure import TreeSteps
from ioatlas.measure.procedures.options import campaign_toml, read_campaign
from ioatlas.model.errors import IoAtlasError, UsageError
from ioatlas.model.estimate import Estimate
from ioatlas.model.finding import FindingCode
from ioatlas.model.target import Target
from ioatlas.model.tree import Operation, Tree, tree_cell, tree_operation, trees_of
from ioatlas.report.plan import described as plan_lines
from tests.simulate.faults import Fault, FaultKind
from tests.unit.procedures.cases import TREES
from tests.unit.simulated import World

EMPTY = ["create", "stat", "open", "list", "rename", "delete"]
FULL = ["write", "stat", "open", "read", "list", "rename", "delete"]


def spec_of(head='file_sizes = "0,4k"', sweep=""):
    return read_campaign(f'{head}\n[target]\npath = "/x"\n[sweep]\n{sweep}\n')


def plan_of(tmp_path, head='file_sizes = "0,4k"', sweep="", **options):
    target = Target("nas", "directory", str(tmp_path))
    return build_tree_plan(spec_of(head, sweep), (target,), read_only=options.get("read_only", False))


def test_each_tree_has_its_operations_in_order_and_empty_files_are_neither_read_nor_flushed(tmp_path):
    plan = plan_of(tmp_path, sweep="nrfiles = [10, 20]\nfsync_on_close = [0, 1]")
    trees = trees_of(plan.to_measure)
    found = {tree: [str(tree_operation(cell)) for cell in cells] for tree, cells in trees.items()}
    assert [names for tree, names in found.items() if not tree.size_bytes] == [EMPTY, EMPTY]
    assert [names for tree, names in found.items() if tree.size_bytes] == [FULL] * 4
    assert len({cell.key for cell in plan.to_measure}) == 2 * 6 + 4 * 7
    assert all(cell.work_bounded for cell in plan.to_measure)


def test_the_plan_tells_inodes_time_and_cleaning_before_anything_runs(tmp_path):
    head = 'file_sizes = "4k"\nsharing = "private"\nvisits = 3\ndirectory_depth = "2"'
    path = tmp_path / "c.toml"
    path.write_text(f'{head}\n[target]\npath = "{tmp_path}"\n[sweep]\nnrfiles = 250\nnumjobs = 4\n')
    from ioatlas.measure.procedures.options import read_campaign_file

    plan = open_plan(read_campaign_file(path))
    told = "\n".join(plan_lines(plan))
    assert "1,009 at once; 3,000 files are made in all" in told  # 4 x 250 files, 2 levels for each job, the tree
    assert "up to 1,000 files" in told
    assert "also after a kill" in told
    assert "each job makes its own in its own directory" in told


@pytest.mark.parametrize(
    ("head", "sweep", "what"),
    [
        ('file_sizes = "0"', 'rw = "read"', "rw has no place here"),
        ('file_sizes = "0"\ncells = 10', "", "has no meaning"),
        ('file_sizes = "1g"', "", "a size that no small file has"),
        ('file_sizes = "0,"', "", "is no list"),
        ('file_sizes = "0"\ndirectory_depth = "x"', "", "is no depth"),
    ],
)
def test_what_has_no_place_is_refused_with_what_to_do(tmp_path, head, sweep, what):
    with pytest.raises(UsageError, match=what) as caught:
        plan_of(tmp_path, head, sweep)
    assert caught.value.remedy


def test_read_only_and_targets_without_names_are_refused(tmp_path):
    with pytest.raises(UsageError, match="the files are made first"):
        plan_of(tmp_path, read_only=True)
    with pytest.raises(UsageError, match="small files take a directory"):
        build_tree_plan(spec_of(), (Target("disk", "block", "/dev/sdx"),), read_only=False)


def test_too_many_files_are_shown_and_never_made(tmp_path):
    plan = plan_of(tmp_path, 'file_sizes = "0"', "nrfiles = [100, 20000000]")
    left = [reason for cell, reason in plan.cells if cell.option["nrfiles"] == 20_000_000]
    assert len(plan.to_measure) == 6
    assert all(reason.startswith("not admissible: 20,000,000 files") for reason in left)


def test_a_campaign_file_is_written_as_it_was_asked_for(tmp_path):
    head = 'file_sizes = "0,4k"\ndirectory_depth = "1,8"'
    spec = plan_of(tmp_path, head, "nrfiles = [5, 10]\nnumjobs = 2").spec
    again = read_campaign(campaign_toml(spec))
    assert plan_of(tmp_path, head, "nrfiles = [5, 10]\nnumjobs = 2").spec.axes == spec.axes
    assert again.axes == {"nrfiles": (5, 10)}
    assert again.constants == {"numjobs": 2}


class Place:
    """Where the trees of a test lie."""

    def file_path(self, _target, name):
        return f"/mnt/nas/.ioatlas-1/{name}"


def section_of(cell):
    steps = TreeSteps.__new__(TreeSteps)
    steps.session = type("Session", (), {"sites": Place()})()
    return Section(1, cell, 1, 1000, 0, steps.location(cell))


@pytest.mark.parametrize(
    ("operation", "engine", "has", "lacks"),
    [
        (Operation.CREATE, "filecreate", "disable_clat=0", "fsync_on_close"),
        (Operation.STAT, "filestat", "create_on_open=1", "time_based"),
        (Operation.DELETE, "filedelete", "all/level.2/r.$jobnum.$filenum", "f.$jobnum"),
        (Operation.WRITE, "psync", "fsync_on_close=1", "disable_clat=0"),
        (Operation.READ, "psync", "allow_file_create=0", "create_on_open"),
    ],
)
def test_the_job_file_names_the_tree_and_the_engine(tmp_path, operation, engine, has, lacks):
    size = 4096 if operation in (Operation.WRITE, Operation.READ) else 0
    tree = Tree("nas", size, 100, 2, 2, flushed=size > 0, shared=True)
    cell = tree_cell(tree, operation)
    text = job_text(Batch(1, tmp_path, (section_of(cell),)))
    assert f"ioengine={engine}" in text
    assert "directory=/mnt/nas/.ioatlas-1/tree" in text
    assert "nrfiles=100" in text
    own = text.partition("\n[v")[2]
    assert has in own
    assert lacks not in own


def test_a_whole_campaign_leaves_nothing_and_counts_every_call(tmp_path):
    world = World(tmp_path)
    world.run(TREES)
    assert list(world.target.iterdir()) == []
    result = load_result(world.directory)
    assert result.complete
    assert len(result.estimates) == 2 * (6 + 7)
    assert all(one.iops and one.n_visits == 2 and one.verdict == "work-bounded" for one in result.estimates)
    assert set(result.axes) == {"operation", "size", "nrfiles"}
    made = dict(world.rows("select cell_key, sum(total_ios) from visit join part using (visit_id) group by cell_key"))
    for one in result.estimates:
        assert made[one.cell.key] == 2 * Tree.of(one.cell).calls(tree_operation(one.cell))
    table = result.tables[0]
    assert len(table.rows) == len(result.estimates)
    doubts = {(row[2], row[7]) for row in table.rows}
    assert ("stat", "may be cached") in doubts
    assert ("rename", "") in doubts
    assert {one.code for one in result.findings} >= {FindingCode.CACHE, FindingCode.WORK_BOUNDED}
    assert [chart.title for chart in result.charts][:2] == ["Create", "Write"]
    assert all(0 < dot.low <= dot.value for chart in result.charts for line in chart.series for dot in line.dots)


def test_an_operation_that_fails_ends_its_tree_which_is_made_once_more(tmp_path):
    world = World(tmp_path)
    world.start(TREES)
    world.fail(Fault(FaultKind.IO_ERROR, jobs={"ioengine": "filedelete"}, times=1))
    world.session()
    assert list(world.target.iterdir()) == []
    result = load_result(world.directory)
    assert all(one.n_visits >= 2 for one in result.estimates)
    assert world.rows("select count(*) from visit where status = 'failed'") == [(1,)]


def test_what_somebody_else_put_into_the_tree_stops_it_and_stays(tmp_path):
    world = World(tmp_path)
    world.start(TREES)

    def stop_with_a_foreign_file():
        trees = list(world.target.glob(".ioatlas-*/tree/job.0"))
        if trees and not (trees[0] / "thesis.odt").exists():
            (trees[0] / "thesis.odt").write_text("mine")
        return False

    error = world.tried(stop_with_a_foreign_file)
    assert isinstance(error, IoAtlasError)
    assert "thesis.odt" in str(error)
    (left,) = world.target.rglob("thesis.odt")
    assert left.read_text() == "mine"
    assert len([path for path in world.target.rglob("[fr].*.*") if path.is_file()]) == 0


def estimate(operation, lat_mean_ns, iops=1000.0, size=4096, seconds=1.0, flushed=False):
    cell = tree_cell(Tree("nas", size, 100, 1, 1, flushed, shared=False), operation)
    value = Estimate(
        cell, cell.directions[0], "measured", 3, iops, iops * 0.9, iops * 1.1, iops, iops * 0.9, iops * 1.1
    )
    return replace(value, lat_mean_ns=lat_mean_ns, window_seconds=seconds)


def test_a_call_quicker_than_any_server_is_said_to_come_from_the_client():
    assert cache_doubt(estimate(Operation.STAT, 3000)) == "answered by the client"
    assert cache_doubt(estimate(Operation.STAT, 300_000)) == "may be cached"
    assert cache_doubt(estimate(Operation.DELETE, 3000)) == ""
    assert cache_doubt(estimate(Operation.WRITE, 3000)) == "not flushed"
    assert cache_doubt(estimate(Operation.WRITE, 3000, flushed=True)) == ""
    (cached,) = [one for one in tree_findings([estimate(Operation.STAT, 3000)]) if one.code is FindingCode.CACHE]
    assert (cached.values["n_sure"], cached.values["lat_mean_ns"]) == (1, 3000)


def test_findings_tell_what_flushing_costs_and_what_was_over_too_soon():
    slow = estimate(Operation.WRITE, 1e6, iops=100.0, flushed=True)
    quick = estimate(Operation.WRITE, 1e5, iops=1000.0, seconds=0.004)
    flushing, short = (one.values for one in tree_findings([quick, slow]) if one.code is FindingCode.METHOD)
    assert flushing["ratio"] == pytest.approx(10)
    assert (short["n_cells"], short["operations"]) == (1, ["write"])
    assert len(rates_table([quick, slow]).rows) == 2


def test_numbers_and_trees_in_words():
    assert plain(12_345) == "12,300"
    assert plain(7.123) == "7.12"
    assert described(estimate(Operation.STAT, 1).cell) == "1 job, 100 files of 4 KiB each"
