# SPDX-License-Identifier: Apache-2.0
"""Imported sets of many kinds become one list, not dozens of pages with a cell each."""

import pytest

from ioatlas.model.cell import Cell
from ioatlas.model.estimate import Estimate
from ioatlas.model.result import CampaignResult
from ioatlas.model.target import Target
from ioatlas.report.export.grid import lay_out

AXES = ("bs", "size", "numjobs", "iodepth")
NAMES = [f"tool {n}" for n in range(8)]


def result(kind, names=NAMES, sizes=1):
    estimates = []
    for number, name in enumerate(names):
        for k in range(sizes):
            rw = ("read", "write")[k % 2]
            options = {"rw": rw, "bs": 4096 << (number + k) % 5, "numjobs": 1 + (number + 2 * k) % 3}
            options |= {"size": (1 << 30) << (number * k) % 3, "iodepth": 1 + (3 * number + k // 2) % 4}
            estimates.append(Estimate(Cell.of(name, options), rw, kind, 1, 1e6 * (number + 1)))
    axes = {axis: tuple(dict.fromkeys(e.cell.option[axis] for e in estimates)) for axis in AXES}
    targets = tuple(Target(name, "imported", name) for name in names)
    return CampaignResult("id", "old", 0.0, "0", targets, axes=axes, constants={}, estimates=tuple(estimates))


def cells(layout):
    return [entry.estimate for page in layout.pages for tile in page.tiles for entry in tile.cells.values()]


def test_many_imported_sets_stand_in_one_list():
    layout = lay_out(result("imported", sizes=2))
    assert len(layout.pages) == 1
    assert len(layout.pages[0].tiles) == 1
    assert sorted(e.bw_bytes_per_s for e in cells(layout)) == sorted([1e6 * n for n in range(1, 9)] * 2)
    assert len(layout.y.levels) == 16
    assert any("tool 3" in str(level) and "iodepth" in str(level) for level in layout.y.levels)


@pytest.mark.parametrize(
    ("found", "tiles"),
    [
        (result("measured", sizes=2), ()),
        (result("imported", NAMES[:3], sizes=2), ()),
        (result("imported", sizes=9), ()),
    ],
)
def test_what_fills_its_pages_keeps_them(found, tiles):
    layout = lay_out(found, tiles=tiles)
    assert layout.y.name != "load"
    assert len(cells(layout)) == len(found.estimates)
