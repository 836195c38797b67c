# SPDX-License-Identifier: Apache-2.0
"""Fixed-work sequences on a simulated target: their order, a kill and a stop in the middle, a small budget, exports."""

import csv
import io
import json

import pytest

from ioatlas.model.errors import PartialResultError
from tests.load_points import rows, study
from tests.simulate.iozone import COLUMNS
from tests.unit.simulated import Shell, World, killed, moments

NINE = list(COLUMNS)
MIB = 1 << 20


def operations(found):
    """(operation, tool, record, replicate) of rows of options and replicate."""
    labels = [(dict(json.loads(text)), replicate) for text, replicate in found]
    return [(label["operation"], label["tool"], label["bs"], replicate) for label, replicate in labels]


FINISHED = "select c.options_json, v.block from visit v join cell c using (cell_key) where v.status = 'done' order by "


def mapped(directory, *arguments, shell=None):
    """A finished campaign, and the events that it told."""
    done = (shell or Shell())("map", *arguments, "-o", directory, "--json")
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def table(directory):
    return list(csv.DictReader(io.StringIO(Shell()("export", directory, "--format", "csv").stdout)))


def test_nine_operations_in_order_of_a_fixed_amount_of_work(target, tmp_path):
    mapped(tmp_path / "c", "--campaign", study(tmp_path, target, visits=2))
    assert list(target.iterdir()) == []
    made = operations(rows(tmp_path / "c", FINISHED + "v.visit_id"))
    assert len(made) == 2 * 2 * 9
    for first in range(0, len(made), 9):
        one = made[first : first + 9]
        assert [operation for operation, *_ in one] == NINE
        assert len({tuple(rest) for _, *rest in one}) == 1, "the operations of a sequence belong together"
    assert (
        {record for _, _, record, replicate in made if replicate == 0}
        == {record for _, _, record, replicate in made if replicate == 1}
        == {65536, 262144}
    )
    jobs = [path.read_text() for path in sorted((tmp_path / "c" / "batches").glob("*/job.fio"))]
    assert jobs
    assert not any("time_based" in job for job in jobs)
    found = table(tmp_path / "c")
    assert len(found) == 18
    assert {row["verdict"] for row in found} <= {"work-bounded", "cached", "suspect"}
    assert all("work-bounded" in row["notes"] for row in found)
    assert all(int(row["size_bytes"]) == MIB and int(row["n_visits"]) == 2 for row in found)
    moved = rows(
        tmp_path / "c", "select distinct p.io_bytes from part p join visit v using (visit_id) where v.purpose='sweep'"
    )
    assert moved == [(MIB,)]


IN_STEPS = """
profile = "iozone2017"
visits = 1
[target]
path = "TARGET"
[sweep]
size = "1m"
bs = ["64k", "256k"]
"""


@pytest.mark.long("cli", "procedures")
def test_a_sequence_that_was_killed_begins_again_with_its_first_operation(tmp_path):
    """No visit is lost, and the rest of the sequence is not read from a file that is gone."""
    world = World(tmp_path)
    world.start(IN_STEPS)
    world.keep()
    total = moments(world)
    world.restore()
    assert killed(world, total // 2)
    before = operations(world.rows(FINISHED + "v.visit_id"))
    assert before
    assert world.session().complete
    after = operations(world.rows(FINISHED + "v.visit_id"))
    assert set(before) <= set(after)
    assert {operation for operation, *_ in after} == set(NINE)
    # In the order in which they ran, every operation but the first stands behind the one it needs.
    order = operations(world.rows(FINISHED + "v.batch_id, v.section"))
    resumed_from = next(at for at in range(len(before) - 1, len(order)) if order[at][0] == "write")
    for one, other in zip(order[resumed_from:], order[resumed_from + 1 :], strict=False):
        if other[0] != "write":
            assert NINE.index(other[0]) == NINE.index(one[0]) + 1
            assert other[2] == one[2]
    assert world.left_on_target() == []


def test_stopping_keeps_finished_operations(tmp_path):
    world = World(tmp_path)
    world.start(IN_STEPS)
    world.keep()
    whole = world.session().seconds
    world.restore()
    end = world.clock.monotonic() + whole / 2
    with pytest.raises(PartialResultError, match="stopped"):
        world.session(lambda: world.clock.monotonic() >= end)
    assert world.left_on_target() == []
    kept = world.rows("select p.io_bytes from part p join visit v using (visit_id) where v.status='done'")
    assert kept
    assert set(kept) == {(MIB,)}, "an operation that was cut short is no result"


@pytest.mark.long("cli", "procedures")
def test_a_small_budget_shrinks_the_file_and_says_so(target, tmp_path):
    events = mapped(tmp_path / "c", target, "--profile", "iozone2017", "--budget", "10s")
    told = [event["text"] for event in events if event["event"] == "remark"]
    assert any("the budget leaves" in text for text in told), told
    found = table(tmp_path / "c")
    measured = [row for row in found if row["kind"] == "measured"]
    assert measured
    assert all(int(row["size_bytes"]) < 4 << 30 for row in measured)
    left = [row for row in found if row["kind"] != "measured"]
    assert any("left out" in row["verdict"] and row["size_bytes"] == str(4 << 30) for row in left)
    assert not any("first look" in row["verdict"] for row in found)


def test_nascharts_goes_over_file_sizes_through_the_page_cache(target, tmp_path):
    file = study(tmp_path, target, profile="nascharts2008", size='"64k..256k"', bs='"64k"')
    mapped(tmp_path / "c", "--campaign", file)
    found = table(tmp_path / "c")
    assert {(row["operation"], int(row["size_bytes"])) for row in found} == {
        (o, 65536 << k) for o in ("write", "read") for k in range(3)
    }
    assert all("direct=0" in path.read_text() for path in (tmp_path / "c" / "batches").glob("*/job.fio"))
    figure = Shell()("export", tmp_path / "c", "--format", "svg", "-o", tmp_path / "figure.svg")
    assert figure.returncode == 0, figure.stderr
    assert "against file size" in (tmp_path / "figure.svg").read_text()


def test_only_a_directory_gets_a_new_file_and_the_study_keeps_its_loads(target, tmp_path):
    file = target / "file"
    file.write_bytes(bytes(MIB))
    refused = Shell()("plan", file, "--profile", "iozone2017")
    assert refused.returncode == 2
    assert "new file" in refused.stderr
    for name, words in (("rw", 'rw = ["read"]'), ("numjobs", "numjobs = 4")):
        path = study(tmp_path, target)
        path.write_text(path.read_text() + words + "\n")
        refused = Shell()("plan", "--campaign", path)
        assert refused.returncode == 2
        assert name in refused.stderr


def test_reference_lines_that_are_typed_in_are_drawn(target, tmp_path):
    file = study(tmp_path, target, profile="nascharts2008", size='"64k..256k"', bs='"64k"')
    mapped(tmp_path / "c", "--campaign", file)
    lines = '[lines]\n"100 Mb/s Ethernet" = "12.5 MB/s"\n"wall plug" = "8 Mb/s"\n'
    (tmp_path / "c" / "testbed.toml").write_text(lines)
    chart = json.loads(Shell()("export", tmp_path / "c", "--format", "json").stdout)["charts"][0]
    known = {level["name"]: level["value"] for level in chart["limits"]}
    assert (known["100 Mb/s Ethernet"], known["wall plug"]) == (12.5e6, 1e6)
    Shell()("export", tmp_path / "c", "--format", "svg", "-o", tmp_path / "figure.svg")
    assert "100 Mb/s Ethernet" in (tmp_path / "figure.svg").read_text()
