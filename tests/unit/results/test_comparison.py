# SPDX-License-Identifier: Apache-2.0
"""What differs in the conditions of sides, and loads that only a model tells."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from ioatlas.answer.analysis.compare import Reading
from ioatlas.answer.analysis.many import compare_many
from ioatlas.answer.results import comparison
from ioatlas.answer.results.comparison import SidesComparison, compare_sides, conditions_apart
from ioatlas.answer.results.sides import Row, Side
from ioatlas.cli._comparison import answer
from ioatlas.model.cell import Cell


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
