# SPDX-License-Identifier: Apache-2.0
"""Time goes where the variance is: longer windows against noise inside visits, visits against noise between them,
within a budget.
"""

import math

import numpy as np
import pytest

from ioatlas.analysis.precision import Grade
from ioatlas.analysis.spend import plan_spending
from ioatlas.model.cell import Cell
from ioatlas.model.histogram import Histogram
from ioatlas.model.visit import Part, Purpose, Series, Visit

CELLS = {cell.key: cell for cell in (Cell.of("t", {"rw": "randread", "bs": 4096 * (i + 1)}) for i in range(6))}
GRADE = Grade("map", 0.05, 40)


def visits(between, within, *, count=4, noisy=None):
    """`count` visits of half a second of every cell; `noisy`: {number of a cell: factor on its noise between
    visits}.
    """
    rng = np.random.default_rng(5)
    made = []
    for number, key in enumerate(CELLS):
        for block in range(count):
            shift = between * (noisy or {}).get(number, 1.0) * rng.normal()
            series = [1e8 * math.exp(shift + within * rng.normal()) for _ in range(50)]
            part = Part(
                "read",
                int(sum(series) * 0.01),
                1000,
                500,
                1e6,
                Histogram(),
                Series(10, tuple(range(10, 510, 10)), tuple(series), (1e6,) * 50),
            )
            made.append(Visit(len(made), key, 0, 0, block, 1, float(len(made)), (part,), purpose=Purpose.SWEEP))
    return made


def plan(found, left=None, grade=GRADE, start=0.3):
    return plan_spending(CELLS, found, grade, seconds_of=lambda _cell: (0.5, start), left_seconds=left)


def test_noise_inside_visits_asks_for_longer_windows_and_noise_between_does_not():
    inside = plan(visits(0.0, 1.5), start=1.0)
    assert 0.6 < inside.window_seconds["t"] <= 2.0
    level = inside.levels["t"]
    assert level.unit_seconds == pytest.approx(0.1)
    assert level.within > 5 * level.between
    assert plan(visits(0.0, 1.5), start=0.02).window_seconds == {}, (
        "where a start costs next to nothing, more visits are as good"
    )
    between = plan(visits(0.2, 0.1), start=1.0)
    assert between.window_seconds == {}
    assert between.levels["t"].between > between.levels["t"].within


def test_without_a_budget_every_undecided_cell_goes_to_its_next_look():
    found = plan(visits(0.3, 0.1))
    assert found.affordable
    assert set(found.visits) == set(CELLS)
    assert set(found.visits.values()) == {1}, "from 4 to 5"
    assert plan(visits(0.0001, 0.0001)).visits == {}


def test_a_budget_that_does_not_do_for_all_goes_to_the_noisiest():
    found = plan(visits(0.1, 0.05, noisy={2: 6.0}), left=4.0)
    assert not found.affordable
    assert sum(found.visits.values()) * 0.8 <= 4.0
    assert list(CELLS)[2] in found.visits
    assert len(found.visits) < len(CELLS)
    assert plan(visits(0.1, 0.05), left=0.0).visits == {}


def test_certified_grade_keeps_its_looks():
    found = plan(visits(0.2, 0.1, count=8), grade=Grade("certified", 0.02, 30))
    assert set(found.visits.values()) == {2}, "from 8 to 10"


def test_series_with_gaps_tell_no_levels():
    bare = [
        Visit(
            v.visit_id,
            v.cell_key,
            0,
            0,
            v.replicate,
            1,
            v.started_at,
            (Part("read", 10**8, 1000, 500, 1e6, Histogram(), Series(10)),),
            purpose=Purpose.SWEEP,
        )
        for v in visits(0.2, 0.1)
    ]
    assert plan(bare).levels == {}
