# SPDX-License-Identifier: Apache-2.0
"""What can be held against others: campaigns, single targets, exported tables and documents."""

import json
import shutil
from dataclasses import replace
from math import sqrt
from pathlib import Path
from statistics import mean, stdev

import pytest

from ioatlas.answer.results.imported import load_imported
from ioatlas.answer.results.sides import Side, align, read_sides, set_aside
from ioatlas.model.cell import Cell
from ioatlas.model.errors import UsageError
from tests.simulate.law import Law, Way
from tests.unit.cli.test_compare_many_simulated import SWEEP as MANY
from tests.unit.simulated import Shell

pytestmark = pytest.mark.usefixtures("no_law")

SWEEP = MANY.replace("DIRECT", "1").replace("randwrite", "randrw").replace("16k", "32k").replace("[1, 4]", "[1, 2]")
WAY = Way(10e-6, 1e6, 100e6)
ioatlas = Shell(Law(read=WAY, write=WAY, noise=0.02))


@pytest.fixture(scope="module")
def two(tmp_path_factory) -> Path:
    scratch = tmp_path_factory.mktemp("sides")
    text = SWEEP
    for name in ("one", "two"):
        (scratch / name).mkdir()
        text = text.replace(name.upper(), str(scratch / name))
    (scratch / "both.toml").write_text(text)
    done = ioatlas("map", "--campaign", scratch / "both.toml", "-o", scratch / "both", "--yes")
    assert done.returncode == 0, done.stderr
    for kind in ("csv", "json"):
        assert ioatlas("export", scratch / "both", "--format", kind, "-o", scratch / f"both.{kind}").returncode == 0
    return scratch


@pytest.mark.long("results")
def test_a_target_of_a_campaign_is_a_side(two: Path) -> None:
    (side,) = read_sides([Path(f"{two / 'both'}:two")])
    assert (side.name, side.targets) == ("two", ("two",))
    assert {row.cell.target for row in side.rows.values()} == {"two"}
    assert all(len(values) == 3 for values in side.readings.values())
    assert side.facts["page cache"] == "direct"


def test_all_targets_of_a_campaign_are_sides(two: Path) -> None:
    sides = read_sides([two / "both"], by_target=True)
    assert [side.name for side in sides] == ["one", "two"]
    found = align(sides)
    assert not found.by_target
    assert found.readings[0].keys() == found.readings[1].keys() == found.rows.keys()
    assert len(found.rows) == 2 * 2 * 3


def test_sides_called_the_same_get_names_of_their_own(two: Path) -> None:
    place = two / "both"
    others = [two / "again" / "both", two / "other"]
    for other in others:
        shutil.copytree(place, other)
    assert [side.name for side in read_sides([place, others[0], Path(f"{place}:one")])] == [
        str(place),
        str(others[0]),
        "one",
    ]
    assert [side.name for side in read_sides([place, others[1]])] == ["both", "other"]
    sides = read_sides([place, others[1]], by_target=True)
    assert [side.name for side in sides] == ["both:one", "both:two", "other:one", "other:two"]


def test_a_target_that_is_not_there_is_told_with_those_that_are(two: Path) -> None:
    with pytest.raises(UsageError, match="no target 'three'") as told:
        read_sides([Path(f"{two / 'both'}:three")])
    assert "one, two" in told.value.remedy


def test_what_was_exported_is_imported_first_and_then_matched(two: Path, tmp_path: Path) -> None:
    exported = two / "both.json"
    with pytest.raises(UsageError) as told:
        read_sides([two / "both", exported])
    assert "ioatlas import" in told.value.remedy
    assert ioatlas("import", exported, "-o", tmp_path / "kept").returncode == 0
    found = align(read_sides([two / "both", tmp_path / "kept"]))
    assert found.readings[0].keys() == found.readings[1].keys() == found.rows.keys()


def test_a_table_is_named_and_what_to_import_instead(two: Path) -> None:
    done = ioatlas("import", two / "both.csv", "--json")
    assert (done.returncode, done.stdout) == (1, "")
    assert "--format json" in done.stderr


def test_exports_and_campaigns_are_repeats_of_their_cells(two: Path, tmp_path: Path) -> None:
    record = json.loads((two / "both.json").read_text())
    for number, share in enumerate((0.9, 1.2)):
        made = [{**row, "bw_bytes_per_s": row["bw_bytes_per_s"] * share} for row in record["rows"]]
        (tmp_path / f"{number}.json").write_text(json.dumps({**record, "rows": made}))
    shutil.copytree(two / "both", tmp_path / "folder" / "both")
    sources = (tmp_path / "0.json", tmp_path / "1.json", tmp_path / "folder")
    done = ioatlas("import", *sources, "-o", tmp_path / "all", "--label", "three")
    assert done.returncode == 0, done.stderr
    found = load_imported(tmp_path / "all").estimates
    assert len(found) == len(record["rows"])
    e = next(e for e in found if e.direction == "read")
    (value,) = {
        row["bw_bytes_per_s"]
        for row in record["rows"]
        if row["target"] == e.cell.target.rpartition(", ")[2]
        and row["direction"] == "read"
        and (row["rw"], row["bs_bytes"], row["numjobs"])
        == tuple(e.cell.option[name] for name in ("rw", "bs", "numjobs"))
    }
    repeats = [value * share for share in (0.9, 1.2, 1.0)]
    assert e.n_repeats == 3
    assert e.bw_bytes_per_s == pytest.approx(mean(repeats))
    assert e.bw_sd == pytest.approx(stdev(repeats))
    half = 4.302653 * stdev(repeats) / sqrt(3)
    assert (e.bw_low, e.bw_high) == pytest.approx((mean(repeats) - half, mean(repeats) + half), rel=1e-5)


def reached_by(side: Side, *engines: str) -> Side:
    """The side as if its loads had been made by these engines in turn."""
    rows = {}
    for number, (place, row) in enumerate(side.rows.items()):
        engine = engines[number % len(engines)]
        rows[place] = replace(row, cell=Cell.of(row.cell.target, {**row.cell.option, "ioengine": engine}))
    return replace(side, rows=rows)


@pytest.mark.parametrize(("engine", "common"), [("gfapi_async", 12), ("nbd", 12), ("io_uring", 0)])
def test_a_protocol_is_held_against_a_mount(two: Path, engine: str, common: int) -> None:
    mount, other = read_sides([two / "both"], by_target=True)
    found = align([reached_by(mount, "libaio"), reached_by(other, engine)])
    assert len(found.readings[0].keys() & found.readings[1].keys()) == common


def sized(side: Side, *sizes: int) -> Side:
    """The side as if its loads had been made on files of these sizes in turn."""
    rows = {
        place: replace(row, cell=Cell.of(row.cell.target, {**row.cell.option, "size": sizes[number % len(sizes)]}))
        for number, (place, row) in enumerate(side.rows.items())
    }
    return replace(side, rows=rows)


def test_a_size_that_a_budget_left_room_for_is_no_part_of_a_load_and_a_swept_one_is(two: Path) -> None:
    first, second = read_sides([two / "both"], by_target=True)
    for mine, theirs, common in (((100,), (200,), 12), ((100,), (200, 300), 0), ((100, 200), (300, 400), 0)):
        found = align([sized(first, *mine), sized(second, *theirs)])
        assert len(found.readings[0].keys() & found.readings[1].keys()) == common


def test_loads_that_only_the_engine_tells_apart_stay_apart(two: Path) -> None:
    mount, other = read_sides([two / "both"], by_target=True)
    (place, row), *_ = mount.rows.items()
    twice = replace(mount, rows={place: row, ("copy", place[1]): row})
    assert set_aside([reached_by(twice, "libaio", "psync"), reached_by(other, "nbd")], by_target=False) == frozenset()
