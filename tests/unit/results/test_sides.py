# SPDX-License-Identifier: Apache-2.0
"""What can be held against others: campaigns, single targets, exported tables and documents."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from ioatlas.errors import IoAtlasError, UsageError
from ioatlas.model.cell import Cell
from ioatlas.results.sides import Side, align, engine_aside, read_sides
from ioatlas.simulate.law import Law, Way
from tests.unit.simulated import Shell

SWEEP = """
visits = 3
window = "300ms"
[[target]]
name = "one"
path = "ONE"
[[target]]
name = "two"
path = "TWO"
[sweep]
rw = ["randread", "randrw"]
bs = ["32k", "64k"]
size = ["1m"]
numjobs = [1, 2]
direct = 1
"""
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


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_what_was_exported_is_matched_with_what_was_measured(two: Path, kind: str) -> None:
    sides = read_sides([Path(f"{two / 'both'}:one"), Path(f"{two / f'both.{kind}'}:one")])
    assert [side.kind for side in sides] == ["measured", "exported"]
    found = align(sides)
    assert len(found.rows) == 12
    assert found.readings[0].keys() == found.readings[1].keys()
    assert found.told_apart == 0


@pytest.mark.parametrize(
    ("name", "text", "what"),
    [
        ("a.csv", "a,b\n1,2\n", "no column target"),
        ("a.json", "{}", "no export of ioatlas"),
        ("b.json", "{", "no JSON"),
    ],
)
def test_another_file_is_refused_with_its_name(tmp_path: Path, name: str, text: str, what: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(IoAtlasError, match=what) as told:
        read_sides([tmp_path / name])
    assert name in told.value.where


@pytest.mark.parametrize(
    ("column", "value"), [("bw_bytes_per_s", -1.0), ("direction", "up"), ("iops", "many"), ("lat_p99_ns", [1])]
)
def test_a_damaged_row_is_told_with_its_number(two: Path, tmp_path: Path, column: str, value: object) -> None:
    record = json.loads((two / "both.json").read_text())
    record["rows"][2][column] = value
    (tmp_path / "x.json").write_text(json.dumps(record))
    with pytest.raises(IoAtlasError) as told:
        read_sides([tmp_path / "x.json"])
    assert "row 3" in told.value.where


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


def test_loads_that_only_the_engine_tells_apart_stay_apart(two: Path) -> None:
    mount, other = read_sides([two / "both"], by_target=True)
    (place, row), *_ = mount.rows.items()
    twice = replace(mount, rows={place: row, ("copy", place[1]): row})
    assert (
        engine_aside([reached_by(twice, "libaio", "psync"), reached_by(other, "nbd")], by_target=False) == frozenset()
    )
