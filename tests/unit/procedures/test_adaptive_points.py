# SPDX-License-Identifier: Apache-2.0
"""What the adaptive design is told of a campaign's cells, and what people are told of its map."""

import itertools

import pytest

from ioatlas.model.cell import Cell
from ioatlas.model.map_model import Maps
from ioatlas.procedures.adaptive_map.maps import _points
from ioatlas.results.predicted import map_findings, predicted_estimates
from ioatlas.store.journal import Prediction
from ioatlas.surrogate.space import Space


def cells(**axes):
    return [
        Cell.of("t", {"rw": "randrw", "bs": 4096, "size": 1 << 20, **dict(zip(axes, levels, strict=True))})
        for levels in itertools.product(*axes.values())
    ]


def test_an_engine_is_an_axis_unless_it_follows_from_the_depth():
    varied = cells(
        ioengine=["libaio", "io_uring"], iodepth=[1, 8], offset=[0, 4096], buffer_compress_percentage=[0, 50]
    )
    space = Space.of(_points(varied))
    assert {axis.name for axis in space.axes if not axis.derived} == {
        "ioengine",
        "iodepth",
        "offset",
        "buffer_compress_percentage",
    }
    implied = [
        cell
        for cell in cells(ioengine=["psync", "libaio"], iodepth=[1, 8])
        if (cell.option["ioengine"] == "psync") == (cell.option["iodepth"] == 1)
    ]
    assert [axis.name for axis in Space.of(_points(implied)).axes] == ["iodepth"]


@pytest.mark.parametrize(("share", "directions"), [(0, ["write"]), (30, ["read", "write"]), (100, ["read"])])
def test_a_mix_predicts_the_directions_it_has(share, directions):
    (cell,) = cells(rwmixread=[share])
    made = [Prediction(cell.key, 100.0, 80.0, 125.0, None, None, None, "m")]
    found = list(predicted_estimates({cell.key: cell}, made))
    assert [estimate.direction for estimate in found] == directions
    assert sum(estimate.iops for estimate in found) == pytest.approx(100.0)


def test_what_was_done_about_a_failing_regime_is_told():
    weak = {"name": "rw=randwrite", "cells": 40, "median_error": 0.6, "failing": False}
    stated = {"median": None, "n": 0}
    regimes = [
        {**weak, "measured": 40, "dense": 30},
        {**weak, "measured": 35, "dense": 25, "failing": True},
        {**weak, "measured": 20, "dense": 9},
        {**weak, "measured": 5, "dense": 0, "failing": True},
    ]
    outcome = {
        "stated_error": stated,
        "measured": 60,
        "cells": 200,
        "edges": [],
        "parameters": [],
        "weak_regimes": regimes,
    }
    told = [
        finding.sentence for finding in map_findings(Maps.of_content({"t": outcome})) if finding.code == "weak-regime"
    ]
    assert "60% off; 30 more cells were measured there, so that none is estimated" in told[0]
    assert "25 more cells were measured there, 35 of its 40 cells are measured. Measure the others" in told[1]
    assert "they now pass: 20 of its 40 cells are measured" in told[2]
    assert "60% off; 5 of its 40 cells are measured" in told[3]
    old = {**outcome, "weak_regimes": [{"name": "rw=read", "cells": 7, "median_error": 0.4, "measured_share": 0.1}]}
    assert "rw=read were 40% off" in next(
        f.sentence for f in map_findings(Maps.of_content({"t": old})) if f.code == "weak-regime"
    )
