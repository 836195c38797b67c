# SPDX-License-Identifier: Apache-2.0
"""Baseline visits stand in the middle of the map, at regular places, and stay below their share."""

import pytest

from ioatlas.design.exhaustive import SHARE, choose_baseline_cell, places_for, spacing
from ioatlas.model.cell import Cell


def cells(**more):
    return [
        Cell.of("t", {"rw": rw, "bs": bs << 10, "numjobs": jobs, "size": 1 << 28, **more})
        for rw in ("read", "randwrite")
        for bs in (4, 16, 64, 256, 1024)
        for jobs in (1, 2, 4, 8, 16)
    ]


def test_the_baseline_cell_reads_in_the_middle_of_the_map():
    cell = choose_baseline_cell(cells())
    assert cell is not None
    assert (cell.rw, cell.bs_bytes, cell.numjobs) == ("read", 64 << 10, 4)
    assert choose_baseline_cell([cell for cell in cells() if cell.rw == "randwrite"]).rw == "randwrite"
    assert choose_baseline_cell(cells(io_size=1 << 20)) is None
    assert choose_baseline_cell([]) is None


@pytest.mark.parametrize("visits", [80, 96, 100, 257, 600, 5000])
def test_baseline_visits_stand_at_both_ends_and_cost_at_most_their_share(visits):
    step = spacing(visits)
    # The last one comes after the sweep.
    count = len(places_for(0, 0, range(visits), step)) + 1
    assert 4 <= count <= SHARE * visits
    assert places_for(0, 0, range(visits), step)[0] == 0


def test_a_short_sweep_goes_without():
    assert spacing(48) is None
    assert spacing(79) is None


def test_places_go_on_from_batch_to_batch():
    step, whole = 25, places_for(0, 0, range(200), 25)
    found, done, made = [], 0, 0
    for size in (10, 3, 60, 27, 100):
        here = places_for(done, made, range(size), step)
        found += [done + place for place in here]
        done, made = done + size, made + len(here)
    assert found == whole == list(range(0, 200, 25))
    # One that was due and not made stands before the next visit.
    assert places_for(60, 1, range(10), 25)[0] == 0
