# SPDX-License-Identifier: Apache-2.0
"""What is read back from a journal: only what could have been asked for, within bounds, each fault in one sentence."""

import json
import re
import sqlite3
import zlib

import pytest

from ioatlas.measure.campaign import load_result
from ioatlas.measure.procedures.options import CAMPAIGN
from ioatlas.measure.run.plan import recorded_plan
from ioatlas.model.errors import IoAtlasError
from ioatlas.store.journal import Journal
from ioatlas.store.rules import RULES
from ioatlas.store.visits import LARGEST_UNPACKED
from tests.unit.procedures.cases import DENSE, make_world
from tests.unit.simulated import World

pytestmark = pytest.mark.usefixtures("no_law")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A campaign that was made to its end, and one of streams that was begun."""
    dense, points = World(tmp_path_factory.mktemp("dense")), make_world(tmp_path_factory.mktemp("points"), "points")
    dense.run(DENSE.replace("visits = 3", "visits = 1"))
    dense.keep()
    points.keep()
    return {"dense": dense, "points": points}


@pytest.fixture
def dense(made):
    made["dense"].restore()
    return made["dense"]


def sql(world, *statements):
    link = sqlite3.connect(world.directory / "journal.sqlite", isolation_level=None)
    try:
        for statement in statements:
            link.execute(*statement if isinstance(statement, tuple) else (statement,))
    finally:
        link.close()


def with_option(world, name, value, column="options_json"):
    """Every cell's options with one more, its key as it was."""
    for key, text in world.rows(f"select cell_key, {column} from cell"):
        options = json.loads(text)
        mine = [[name, value]]
        changed = (
            [*[one for one in options if one[0] != name], *mine]
            if column == "options_json"
            else [[stream, [*[one for one in each if one[0] != name], *mine]] for stream, each in options]
        )
        sql(world, (f"update cell set {column} = ? where cell_key = ?", (json.dumps(changed), key)))


def refused(world) -> str:
    """The one sentence with which reading ends; it names the file, and says what to do."""
    with pytest.raises(IoAtlasError) as error:  # noqa: PT012 - the journal is closed, too
        journal = Journal.open(world.directory)
        try:
            recorded_plan(journal, CAMPAIGN.tables)
            journal.visits(with_series=True)
        finally:
            journal.close()
    assert error.value.where.startswith(str(world.directory / "journal.sqlite"))
    assert error.value.remedy
    assert len(str(error.value)) < 700
    return str(error.value)


OPTIONS = [
    ("exec_prerun", "touch x", "names a path, device, command or library"),
    ("filename", "/etc/passwd", "names a path, device, command or library"),
    ("ioengine", "external:/tmp/x.so", "is not one of"),
    ("write_iolog", "/tmp/x", "names a path, device, command or library"),
    ("no_such_option", 1, "is not supported"),
    ("numjobs", 10**6, "is out of range"),
    ("bs", "4k", "not in its normal form"),
    ("rw", "read\nexec_prerun=x", "is not one of"),
    ("direct", True, "normal form"),
    ("rate_iops", "1;2", "a plain word or number"),
    ("buffer_pattern", "'/etc/passwd'", "a pattern"),
    ("size", None, "is no option"),
    ("iodepth", [1], "is no option"),
]


@pytest.mark.parametrize(("name", "value", "told"), OPTIONS)
def test_options_of_a_cell_pass_the_list_of_the_command_line(dense, name, value, told):
    with_option(dense, name, value)
    message = refused(dense)
    assert told in message
    assert re.search(r": cell '\w{16}', options_json: ", message)


@pytest.mark.parametrize(("name", "value", "told"), OPTIONS)
def test_so_do_options_of_streams(made, name, value, told):
    world = made["points"]
    world.restore()
    with_option(world, name, value, "streams_json")
    assert told in refused(world)


def test_a_cell_whose_options_were_changed_within_the_list_is_not_that_cell(dense):
    with_option(dense, "rw", "write")
    assert "not those of its key" in refused(dense)


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        (
            "insert into target select '../../../x', kind, location, identity_json, null, 512, null from target",
            "cannot name",
        ),
        ("update target set name = char(27) || '[2J'", "none of the values"),
        ("update target set location = 'relative'", "no full path"),
        ("update target set location = '/a/../etc'", "no full path"),
        ("update target set location = '/a;b'", "ends the line"),
        ("update target set ioengine = 'external:/tmp/x.so'", "not the engine"),
        ("update target set kind = 'uri', location = 'http://x', size_bytes = 1", "cannot measure"),
        ("update target set kind = 'imported'", "none of the values"),
        ("update target set identity_json = '[[1, 2]]'", "no facts"),
        ("update target set identity_json = '" + "[" * 5000 + "'", "no JSON"),
        ("update target set identity_json = '" + "[" * 60 + "]" * 60 + "'", "levels"),
        ("update cell set sharing = 'x'", "none of the values"),
        ("update cell set target = 'x'", "a target that is not there"),
        ("update cell set cell_key = 'x' || position", "not there"),
        ("update batch set directory = '../../home'", "not that of its number"),
        ("update visit set block = 1e300", "none of the values"),
        ("update visit set block = 1000000000", "none of the values"),
        ("update visit set runtime_ms = 9e17", "none of the values"),
        ("update visit set batch_id = 77", "a batch that is not there"),
        ("update visit set batch_id = null", "in no batch"),
        ("update visit set status = 'planned' where visit_id = 1; ", None),
        ("update part set visit_id = visit_id + 1000000", "a visit that is not there"),
        ("update part set io_bytes = 'x'", "none of the values"),
        ("update part set lat_mean_ns = 9e999", "none of the values"),
        ("update part set histogram = x'00'", "is cut off"),
        ("update visit set reason = printf('%.*c', 100000, 'x')", "none of the values"),
        ("update campaign set campaign_id = '../x'", "cannot name a campaign"),
        ("update campaign set plan_json = '[]'", "no plan"),
        ('update campaign set plan_json = \'{"spec": {"visits": "many"}}\'', "another type: visits"),
        ("insert into campaign select 'x', name, 0, '', plan_json, 0 from campaign", "more than 1 rows"),
        ("delete from target", "not there"),
        ("delete from campaign", "exactly one"),
        ("create trigger t after update on visit begin delete from cell; end", "trigger"),
        ("create view v as select 1", "view"),
        ("alter table visit add column more integer as (1) virtual", "'AS'"),
        ("pragma journal_mode = wal", "beside it"),
    ],
)
def test_a_value_that_no_campaign_writes_is_told_with_its_row(dense, statement, told):
    sql(dense, "pragma foreign_keys=off", statement)
    if told is None:
        load_result(dense.directory)
    else:
        assert told in refused(dense)


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("window_seconds", 1e9, "window"),
        ("visits", 10**9, "visits"),
        ("sharing", "x", "sharing"),
        ("axes", {"exec_prerun": ["x"]}, "names a path"),
        ("axes", {"iodepth": list(range(1, 3000)), "numjobs": list(range(1, 3000))}, "more than"),
        ("constants", {"filename": "/etc/passwd"}, "names a path"),
        ("patterns", [{"exec_prerun": "x"}], "names a path"),
        ("snia", "x", "another type"),
        ("engines", ["rm"], "engine"),
        ("axes", {"iodepth": list(range(1, 900)), "nice": list(range(19))}, "more combinations"),
    ],
)
def test_the_plan_passes_it_too(dense, key, value, told):
    ((text,),) = dense.rows("select plan_json from campaign")
    plan = json.loads(text)
    plan["spec"][key] = value
    sql(dense, ("update campaign set plan_json = ?", (json.dumps(plan),)))
    assert told in refused(dense)


@pytest.mark.parametrize("name", ["../x", "a/b", "", "x" * 300])
def test_files_of_a_plan_are_named_as_ours(dense, name):
    ((text,),) = dense.rows("select plan_json from campaign")
    plan = json.loads(text)
    plan["files"]["target"] = {name: 1 << 70 if not name else 1}
    sql(dense, ("update campaign set plan_json = ?", (json.dumps(plan),)))
    message = refused(dense)
    assert "no file of ioatlas" in message or "larger than any number" in message


@pytest.mark.parametrize(
    ("begin", "filling", "end"),
    [
        (b"[", b"[1,1],", b"[1,1]]"),
        (b"", b" ", b"[[1,1]]"),
        *((one, b"", b"") for one in (b'[["a", 1]]', b"[[1]]", b"{}", b"[[1,-1]]")),
    ],
)
def test_a_packed_column_does_not_unpack_to_more_than_there_can_be(dense, begin, filling, end):
    many = LARGEST_UNPACKED // max(len(filling), 1)  # a little more than there can be, for it is filled
    sql(dense, ("update part set histogram = ?", (zlib.compress(begin + filling * many + end),)))
    assert "part" in refused(dense)


def test_a_rollback_journal_cannot_have_another_file_deleted(dense):
    """SQLite deletes the file that a hot journal names as its master when that lists no journal of its own."""
    victim = dense.place / "victim"
    victim.write_text("kept")
    name = str(victim).encode()
    tail = name + len(name).to_bytes(4, "big") + sum(name).to_bytes(4, "big") + bytes.fromhex("d9d505f920a163d7")
    head = bytes.fromhex("d9d505f920a163d7") + bytes(20)
    (dense.directory / "journal.sqlite-journal").write_bytes(head + bytes(512) + tail)
    with pytest.raises(IoAtlasError, match="would be deleted"):
        load_result(dense.directory)
    assert victim.read_text() == "kept"
    (dense.directory / "journal.sqlite-journal").unlink()


def test_replicates_below_0_are_those_of_initial_reads():
    assert RULES["block"].low == -2
