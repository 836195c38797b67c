# SPDX-License-Identifier: Apache-2.0
"""What differs in the conditions of sides, by its values, and loads that only a law or model tells."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from ioatlas.answer.analysis.compare import Reading
from ioatlas.answer.analysis.many import compare_many
from ioatlas.answer.results import comparison
from ioatlas.answer.results.comparison import SidesComparison, compare_sides, conditions_apart, options_apart
from ioatlas.answer.results.sides import Row, Side, read_campaign
from ioatlas.cli._comparison import answer
from ioatlas.measure import campaign
from ioatlas.model.cell import Cell
from tests.simulate.law import Burst, Law, Way
from tests.unit.simulated import World


def side(name: str, *, speed: float = 1.0, measured=range(10), predicted=(), seed: int = 0, **facts: str) -> Side:
    rng = np.random.default_rng(seed)
    cells = {n: Cell.of("disk", {"rw": "randread", "bs": 4096 << n}) for n in range(20)}
    readings, rows, guesses = {}, {}, {}
    for n in measured:
        place = (cells[n].key, "read")
        values = 1e6 * (n + 1) * speed * np.exp(0.01 * rng.normal(size=3))
        times = rng.permutation(3) * 100.0 + n
        readings[place] = tuple(Reading("", float(v), float(t)) for v, t in zip(values, times, strict=True))
        rows[place] = Row(cells[n], "read")
    for n in predicted:
        value = 1e6 * (n + 1) * speed
        guesses[cells[n].key, "read"] = (Row(cells[n], "read"), Reading("", value, 0.0, error=0.03, visits=0))
    told = {name.replace("__", "."): value for name, value in facts.items()}
    return Side(name, name, Path(name), ("disk",), "measured", readings, rows, {}, told, guesses)


@pytest.fixture
def compared(monkeypatch):
    def compared(*sides: Side, **options):
        monkeypatch.setattr(comparison, "read_sides", lambda *_arguments, **_options: list(sides))
        return compare_sides([Path(one.name) for one in sides], **options)

    return compared


def test_what_one_side_only_predicts_is_tested_by_its_error_and_not_in_the_map(compared):
    found = compared(
        side("a", predicted=range(10, 20)), side("b", speed=1.3, measured=range(5, 15), predicted=range(5), seed=1)
    )
    (pair,) = found.result.pairs
    assert found.result.n_common == pair.map_cells == 5
    guessed = [cell for cell in pair.cells if cell.predicted]
    assert len(guessed) == len(pair.cells) - 5 == 10
    for cell in guessed:
        assert cell.low < 1.3 < cell.high
        assert cell.high / cell.low > 1.1
        assert cell.outcome == "higher"


def test_maps_that_are_ranked_are_over_what_all_sides_measured(compared):
    made = [range(first, first + 14) for first in (0, 2, 4)]
    sides = [
        side(name, measured=own, predicted=sorted({*range(20)} - {*own}), seed=seed)
        for seed, (name, own) in enumerate(zip("abc", made, strict=True))
    ]
    found = compared(*sides)
    assert found.result.n_common == 10
    assert [pair.map_cells for pair in found.result.pairs] == [10, 10, 10]
    assert not any("few are in all sides" in line for line in answer(found))


def test_a_cell_that_cannot_be_tested_is_no_sign_that_few_are_in_all_sides(compared):
    stalled = side("b", seed=1)
    place = next(iter(stalled.readings))
    still = tuple(replace(one, value=0.0) for one in stalled.readings[place])
    found = compared(side("a"), replace(stalled, readings={**stalled.readings, place: still}))
    assert found.result.n_common == 10
    assert not any("few are in all sides" in line for line in answer(found))


def test_what_no_side_measured_is_not_compared(compared):
    found = compared(side("a", predicted=range(10, 20)), side("b", predicted=range(10, 20), seed=1))
    assert len(found.result.pairs[0].cells) == 10


def test_maps_are_over_shared_cells_where_few_are_in_all(compared):
    found = compared(
        side("a", measured=range(16)), side("b", measured=range(16), seed=1), side("c", measured=range(14, 20), seed=2)
    )
    assert found.result.n_common == 2
    pair = found.result.pair(0, 1)
    assert pair.map_cells == 16
    assert pair.whole is not None


def test_what_was_measured_otherwise_comes_before_versions_and_testbed():
    sides = [
        side("a", **{"nic__mtu": "1500", "page cache": "direct", "fio": "fio-3.33"}),
        side("b", **{"nic__mtu": "9000", "page cache": "buffered", "fio": "fio-3.36"}),
        side("c", **{"nic__mtu": "1500", "page cache": "direct", "fio": "fio-3.33"}),
    ]
    found = conditions_apart(sides)
    assert [(one.group, one.name) for one in found] == [
        ("method", "page cache"),
        ("version", "fio"),
        ("testbed", "nic.mtu"),
    ]
    assert found[0].sentence("abc") == "page cache: direct (a, c), buffered (b)"


def test_a_fact_that_one_client_cannot_read_is_no_difference():
    sides = [side("a", nic__mtu="1500"), side("b")]
    assert conditions_apart(sides) == ()
    (found,) = conditions_apart([side("a", preparation="laid-out"), side("b")])
    assert (found.group, found.name) == ("unknown", "preparation")


def test_firmware_is_compared_whatever_the_device_is_called():
    sides = [side("a", device__sda__firmware="1.2"), side("b", device__nvme0n1__firmware="1.3")]
    (found,) = conditions_apart(sides)
    assert (found.group, found.name, found.values) == ("version", "device.firmware", ("1.2", "1.3"))


@pytest.mark.long("results", "analysis", "stats")
def test_a_gate_over_sides_that_do_not_differ_fails_once_in_a_thousand():
    rng = np.random.default_rng(24)
    told = failed = 0
    for _ in range(60):
        sides = [
            {
                f"c{cell}": [Reading(f"c{cell}", value, 24 * turn + cell) for turn, value in enumerate(values)]
                for cell, values in enumerate(rng.lognormal(0, 0.05, (8, 5)))
            }
            for _ in range(2)
        ]
        result = compare_many(sides, visits=[True, True], tolerance=0.0)
        found = SidesComparison("bw", SimpleNamespace(sides=("a", "b")), result, ())
        (pair,) = result.pairs
        tests = [pair.whole, *pair.cells]
        told += any(test.outcome == "lower" for test in tests)
        failed += any(map(found.fails, tests))
    assert told >= 2, "the answer tells differences at 5%"
    assert failed == 0


def test_a_gate_fails_on_one_cell_that_is_much_slower_and_names_no_other():
    rng = np.random.default_rng(21)
    slower = np.where(np.arange(24) == 7, 0.7, 1.0)
    sides = [
        {
            f"c{cell}": [Reading(f"c{cell}", value * factor[cell], 24 * turn + cell) for turn, value in enumerate(row)]
            for cell, row in enumerate(rng.lognormal(0, 0.03, (24, 5)))
        }
        for factor in (np.ones(24), slower)
    ]
    result = compare_many(sides, visits=[True, True])
    found = SidesComparison("bw", SimpleNamespace(sides=("a", "b")), result, ())
    assert [cell.cell for cell in result.pairs[0].cells if found.fails(cell)] == ["c7"]


def cells(**options):
    return [Cell.of("t", {"rw": rw, "bs": bs, **options}) for rw in ("read", "write") for bs in (4096, 1 << 20)]


def test_options_without_a_common_value_are_named_with_their_values():
    assert options_apart(cells(size=256 << 20), cells(size=64 << 20)) == ["size 256 MiB and 64 MiB"]
    assert options_apart(cells(iodepth=1), cells(iodepth=8)) == ["iodepth 1 and 8"]


def test_equal_or_overlapping_options_are_not():
    assert options_apart(cells(), cells()) == []
    assert options_apart(cells(), cells()[:2]) == []


WAY = Way(0.001, 800, 20e6)
LAW = Law(read=WAY, write=WAY, noise=0.01)
MAP = """
budget = "60s"
[target]
path = "TARGET"
[sweep]
rw = ["read", "write", "randread", "randwrite"]
size = "32m"
bs = ["4k", "1m"]
numjobs = [1, 4, 16]
"""


def measured(place, law, seed, seconds):
    place.mkdir()
    world = World(place, replace(law, seed=seed))
    world.run(MAP.replace("60s", f"{seconds}s"))
    return world.directory


@pytest.fixture
def sides(tmp_path):
    def made(*laws, seconds=(60, 60)):
        asked = enumerate(zip(laws, seconds, strict=True))
        return [measured(tmp_path / f"side-{at}", law, at + 1, budget) for at, (law, budget) in asked]

    return made


def test_it_holds_what_each_map_tells_against_the_other(sides):
    places = sides(LAW, LAW)
    found = compare_sides(places)
    told = [
        {
            (e.cell.key, e.direction): e.bw_bytes_per_s
            for e in campaign.load_result(place).estimates
            if e.kind == "measured"
        }
        for place in places
    ]
    pair = found.result.pairs[0]
    ratios = {name: cell.ratio for name in found.loads.rows for cell in pair.cells if cell.cell == name}
    by_place = {(row.cell.key, row.direction): name for name, row in found.loads.rows.items()}
    both = told[0].keys() & told[1].keys()
    assert len(both) >= 5
    for place in both:
        assert ratios[by_place[place]] == pytest.approx(told[1][place] / told[0][place])
    assert not any(cell.outcome in ("higher", "lower", "not comparable") for cell in pair.cells)
    assert pair.whole.low < 1 < pair.whole.high


@pytest.mark.long("results", "law")
def test_credit_is_no_speed(sides):
    """One of them gives three times its rate until 60 MB were moved, and again after a rest."""
    bursting = replace(LAW, burst=Burst(60e6, 3.0, 20e6))
    found = compare_sides(sides(LAW, bursting))
    large = [cell for cell in found.result.pairs[0].cells if found.loads.rows[cell.cell].cell.bs_bytes == 1 << 20]
    assert len(large) >= 2
    for cell in large:
        assert cell.outcome not in ("higher", "lower")
        assert 0.5 < cell.low < 1.03  # of several intervals one may miss by a little
        assert 0.97 < cell.high < 2
        assert cell.ratio == pytest.approx(1, abs=0.2)


@pytest.mark.long("results", "law")
def test_a_slower_one_is_found_by_loads_that_only_one_of_them_made(sides):
    slower = Way(0.001, 800, 15e6)
    found = compare_sides(sides(LAW, replace(LAW, read=slower, write=slower), seconds=(90, 45)))
    large = [cell for cell in found.result.pairs[0].cells if found.loads.rows[cell.cell].cell.bs_bytes == 1 << 20]
    assert {"read", "write"} <= {found.loads.rows[cell.cell].direction for cell in large}
    assert any(0 in (cell.n_first, cell.n_second) for cell in found.result.pairs[0].cells)
    assert {cell.outcome for cell in large} <= {"lower", "not different"}
    assert any(cell.outcome == "lower" for cell in large)
    for cell in large:
        assert cell.low < 0.75 < cell.high


def test_the_visits_themselves_can_be_asked_for(sides):
    (place,) = sides(LAW, seconds=(60,))
    told, visits = (read_campaign(place, "bw", lawful=lawful).readings for lawful in (True, False))
    assert told.keys() == visits.keys()
    assert {len(values) for values in told.values()} == {1}
    assert max(len(values) for values in visits.values()) > 1
    assert not any(one.by_law for values in visits.values() for one in values)
