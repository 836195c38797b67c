# SPDX-License-Identifier: Apache-2.0
"""Whole campaigns that load several targets together, in virtual time: one device serves them all."""

import json
import sqlite3

import pytest

from ioatlas.measure import campaign
from ioatlas.measure.campaign import load_result
from ioatlas.measure.procedures.options import read_campaign
from ioatlas.model.errors import IoAtlasError, UsageError
from ioatlas.model.finding import FindingCode
from ioatlas.report.export.to_json import document
from ioatlas.store.journal import export, rebuild
from ioatlas.target import sites
from tests.simulate.faults import Fault, FaultKind
from tests.unit.fleet.fleets import FakeClient, FleetWorld
from tests.unit.simulated import Shell, World

pytestmark = pytest.mark.usefixtures("no_law")

TEXT = """
together = true
visits = 2
{more}
[[target]]
path = "TARGET/a/"
[[target]]
path = "TARGET/b/"
[[target]]
path = "TARGET/c/"
[sweep]
rw = "randread"
bs = 4096
size = "16m"
{sweep}
"""


def text(more="", sweep="iodepth = 1"):
    return TEXT.format(more=more, sweep=sweep)


def with_targets(world):
    for name in "abc":
        (world.target / name).mkdir()
    return world


@pytest.fixture
def world(tmp_path):
    return with_targets(World(tmp_path))


def sections(world, batch):
    """{job: its file} of a batch."""
    found, name = {}, ""
    for line in (world.directory / f"batches/{batch:05d}/job.fio").read_text().splitlines():
        name = line.strip("[]") if line.startswith("[") else name
        if line.startswith("filename="):
            found[name] = line.split("=")[1]
    return found


def by_count(world):
    return {e.cell.n_targets: e for e in load_result(world.directory).estimates}


def test_the_value_is_the_sum_and_each_target_has_its_share(world):
    world.run(text())
    (e,) = load_result(world.directory).estimates
    assert e.cell.n_targets == 3
    assert e.cell.outstanding == 3
    assert [one.name for one in e.targets.parts] == ["a", "b", "c"]
    assert sum(one.bw_bytes_per_s for one in e.targets.parts) == pytest.approx(e.bw_bytes_per_s, rel=0.01)
    assert sum(one.share for one in e.targets.parts) == pytest.approx(1)
    assert e.targets.jain_index == pytest.approx(1, abs=0.01)
    assert e.shares is None, "one client made it"


def test_all_of_them_start_in_one_process_each_on_its_own_file(world):
    world.run(text())
    files = sections(world, len(world.journal().batches()))
    starts = {name.split("-")[0] for name in files}
    assert all(len([name for name in files if name.startswith(f"{start}-")]) == 3 for start in starts)
    assert {path.split("/")[-3] for path in files.values()} == {"a", "b", "c"}


def test_every_target_is_cleaned(world):
    world.run(text())
    assert world.left_on_target() == ["a", "b", "c"]
    assert world.rows("select path from file_made where removed_at is null") == []
    assert {target for (target,) in world.rows("select distinct target from ledger")} == {"a", "b", "c"}


def test_what_targets_share_is_the_limit_where_more_of_them_give_no_more(world):
    world.run(text(sweep='iodepth = 64\ntargets = "1..3"').replace("visits = 2", "visits = 4"))
    found = by_count(world)
    assert sorted(found) == [1, 2, 3]
    assert found[3].bw_bytes_per_s == pytest.approx(found[1].bw_bytes_per_s, rel=0.1), "the device is full with one"
    (told,) = [one for one in load_result(world.directory).findings if one.code is FindingCode.TOGETHER]
    assert told.values["limit"] == "shared"
    assert found[3].limit.resource == "what the targets share"


def test_targets_add_up_where_what_they_share_has_room(world):
    world.run(text(sweep="iodepth = 1\ntargets = [1, 3]").replace("visits = 2", "visits = 4"))
    found = by_count(world)
    assert found[3].bw_bytes_per_s == pytest.approx(3 * found[1].bw_bytes_per_s, rel=0.1)
    (told,) = [one for one in load_result(world.directory).findings if one.code is FindingCode.TOGETHER]
    assert told.values["limit"] == "own"


def test_which_targets_take_part_is_drawn_anew_and_the_same_again_after_a_crash(world):
    world.run(text(sweep="iodepth = 1\ntargets = [1, 2]").replace("visits = 2", "visits = 6"))
    drawn = [tuple(sorted(part.name for part in visit.targets)) for visit in world.journal().visits() if visit.targets]
    assert {len(names) for names in drawn} == {1, 2}
    assert len(set(drawn)) > 2
    for visit in world.journal().visits():
        names = {path.split("/")[-3] for name, path in sections(world, visit.batch_id).items()}
        assert {part.name for part in visit.targets} <= names


def test_a_target_that_fails_is_named_and_its_visits_are_made_again(world):
    world.start(text())
    place = str(next(iter(world.rows("select location from target where name = 'b'")))[0])
    name = f"{place}/.ioatlas-{world.rows('select campaign_id from campaign')[0][0]}/shared.dat"
    world.fail(Fault(FaultKind.IO_ERROR, jobs={"filename": name}, from_seconds=1.0, times=3))
    world.tried()
    reasons = [reason for (reason,) in world.rows("select reason from visit where status = 'failed'")]
    assert reasons
    assert all(reason.startswith("b: fio reported error 5") for reason in reasons)
    assert world.left_on_target() == ["a", "b", "c"]


def test_a_target_that_stays_dead_ends_the_campaign_with_its_name(world):
    world.start(text())
    (world.target / "b").rmdir()
    error = world.tried()
    assert error is not None
    assert error.where.endswith("/b")


def test_a_target_that_hangs_is_named(world, monkeypatch):
    """A job that waits is not told by fio; the guard of the target that it waits for does."""
    world.start(text())
    world.fail(Fault(FaultKind.HANG, jobs={"rw": "randread"}))

    def asked(target, *, writes):
        if target.name == "b" and world.journal().batches():
            raise IoAtlasError("it does not answer within 10 s", where=target.location)
        looked(target, writes=writes)

    looked = sites.check_before_start
    monkeypatch.setattr(sites, "check_before_start", asked)
    error = world.tried()
    assert error.where.endswith("/b")
    assert "does not answer" in error.what
    assert "fio did not end in time" in error.what
    monkeypatch.undo()
    world.fail(Fault(FaultKind.HANG, jobs={"rw": "randread"}))
    assert "one of a, b, c does not answer" in world.tried().what


def test_clients_and_targets_together_have_a_share_each(tmp_path, monkeypatch):
    monkeypatch.setattr("ioatlas.load.fleet.executor.open_client", lambda host, fio, **_: FakeClient(host, fio))
    world = with_targets(FleetWorld(tmp_path))
    world.run(text(more='clients = "x,y"'))
    (e,) = load_result(world.directory).estimates
    assert [one.name for one in e.shares.parts] == ["x", "y"]
    assert [one.name for one in e.targets.parts] == ["a", "b", "c"]
    for parts in (e.shares.parts, e.targets.parts):
        assert sum(one.bw_bytes_per_s for one in parts) == pytest.approx(e.bw_bytes_per_s, rel=0.02)
    jobs = [
        (world.directory / f"batches/{row.batch_id:05d}/clients/{name}/job.fio").read_text()
        for row in world.journal().batches()
        for name in "xy"
    ]
    assert all(f"/{name}/" in job for job in jobs for name in "abc")
    assert "client2" in jobs[1], "files of its own on each target"


def test_table_and_json_tell_what_each_target_got(world):
    world.run(text(sweep="iodepth = 1\ntargets = [1, 3]"))
    rows = json.loads(json.dumps(document(load_result(world.directory))))["rows"]
    last = next(row for row in rows if row["n_targets"] == 3)
    assert [one.split("=")[0] for one in last["target_bw_bytes_per_s"]] == ["a", "b", "c"]
    assert last["target_low_bytes_per_s"] <= last["target_high_bytes_per_s"]
    assert {last["target_first_done"], last["target_last_done"]} <= set("abc")
    (table,) = [one for one in load_result(world.directory).tables if one.title == "What each target got"]
    assert {row[1] for row in table.rows} == set("abc")


def test_the_journal_as_text_holds_the_shares(world, tmp_path):
    world.run(text())
    version, told = export(world.directory)
    assert {row["target"] for row in told["target_part"]} == {"a", "b", "c"}
    again = tmp_path / "again"
    again.mkdir()
    rebuild(again, version, told, "here")
    (e,) = load_result(again).estimates
    assert [one.name for one in e.targets.parts] == ["a", "b", "c"]


def test_a_journal_whose_cell_loads_more_targets_than_there_are_is_refused(world):
    world.start(text(sweep="iodepth = 1\ntargets = [1, 3]"))
    link = sqlite3.connect(world.directory / "journal.sqlite")
    link.execute("""update campaign set plan_json = replace(plan_json, '"together": true', '"together": false')""")
    link.commit()
    link.close()
    with pytest.raises(IoAtlasError):
        world.session()


@pytest.mark.parametrize(
    ("more", "sweep", "what"),
    [
        ("", "targets = [1, 4]", "4 targets are to be loaded at once, and 3 stand together"),
        ("", "rate_iops = 100", "rate_iops with targets that are loaded together"),
        ("together = false", "targets = 2", "none are loaded together"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_runs(world, more, sweep, what):
    asked = text(more, sweep).replace("TARGET", str(world.target))
    if more:
        asked = asked.replace("together = true\n", "")
    with pytest.raises(UsageError, match=what):
        campaign.open_plan(read_campaign(asked))


def test_configurations_may_be_groups(world):
    world.run("""
visits = 2
[[configuration]]
name = "box"
factors = {kind = "central"}
target = [{path = "TARGET/a/", name = "lun1"}, {path = "TARGET/b/", name = "lun2"}]
[[configuration]]
name = "node"
path = "TARGET/c/"
factors = {kind = "node"}
[sweep]
rw = "randread"
bs = 4096
size = "16m"
targets = [1, 2]
""")
    found = {(e.cell.target, e.cell.n_targets): e for e in load_result(world.directory).estimates}
    assert sorted(found) == [("box", 1), ("box", 2), ("node", 1)]
    assert [one.name for one in found["box", 2].targets.parts] == ["lun1", "lun2"]
    missing = load_result(world.directory).unmeasured
    assert [(one.cell.target, one.cell.n_targets) for one in missing] == [("node", 2)]


@pytest.mark.long("run", "cli")
def test_several_targets_on_the_command_line_need_the_word(world):
    shell = Shell()
    places = [world.target / name for name in "abc"]
    refused = shell("map", *places, "--size", "16m")
    assert refused.returncode == 2
    assert "add --together" in refused.stderr
    done = shell("map", *places, "--together", "--size", "16m", "--budget", "60s", "-o", world.directory)
    assert done.returncode == 0, done.stderr
    assert all(e.cell.n_targets == 3 for e in load_result(world.directory).estimates if e.kind == "measured")
