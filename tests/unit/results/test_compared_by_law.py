# SPDX-License-Identifier: Apache-2.0
"""Maps within a budget are compared by what the law says of their cells: their loads are no repeats of each other."""

from dataclasses import replace

import pytest

from ioatlas.answer.results.comparison import compare_sides
from ioatlas.answer.results.sides import read_campaign
from ioatlas.measure import campaign
from tests.simulate.law import Burst, Law, Way
from tests.unit.simulated import World

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
