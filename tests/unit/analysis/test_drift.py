# SPDX-License-Identifier: Apache-2.0
import math

import numpy as np
import pytest

from ioatlas.analysis.drift import block_states
from ioatlas.model.cell import Cell
from ioatlas.model.histogram import Histogram
from ioatlas.model.visit import Part, Series, Visit

CELLS = {cell.key: cell for cell in (Cell.of("t", {"rw": "randread", "bs": 4096 * (i + 1)}) for i in range(30))}


def campaign(effects, *, discarded=(), step=0.0, sd=0.05):
    rng = np.random.default_rng(1)
    visits = []
    for block, effect in enumerate(effects):
        keys = [list(CELLS)[i] for i in rng.permutation(len(CELLS))]
        for place, key in enumerate(keys):
            level = effect + sd * rng.normal() + (step if block == 1 and place >= 15 else 0.0)
            part = Part("read", int(1e8 * math.exp(level)), 1000, 1000, 1e6, Histogram(), Series(20))
            number = len(visits)
            visits.append(
                Visit(
                    number,
                    key,
                    block,
                    place,
                    block,
                    1,
                    float(number),
                    (part,),
                    discarded="bytes: wrong" if (block, place) in discarded else "",
                )
            )
    return visits


def test_block_effects_are_found_and_a_quiet_campaign_stands():
    states = block_states(CELLS, campaign([0.05, 0.0, -0.05]))
    assert [state.block for state in states] == [0, 1, 2]
    assert [state.effect for state in states] == pytest.approx([0.05, 0.0, -0.05], abs=0.03)
    assert all(state.voided == () and state.shift == "" for state in states)
    assert "level +" in states[0].sentence


def test_a_block_out_of_line_is_voided():
    states = block_states(CELLS, campaign([0.0, -0.4, 0.0, 0.02]))
    assert [bool(state.voided) for state in states] == [False, True, False, False]


def test_discards_above_five_percent_void_a_block():
    states = block_states(CELLS, campaign([0.0, 0.0], discarded={(1, 0), (1, 1), (1, 2)}))
    assert [bool(state.voided) for state in states] == [False, True]
    assert states[1].n_discarded == 3


def test_a_change_inside_a_block_is_reported():
    states = block_states(CELLS, campaign([0.0, 0.0, 0.0, 0.0], step=-0.5))
    assert states[1].shift
    assert not states[0].shift


def test_nothing_is_said_of_one_block_or_of_blocks_without_a_common_cell():
    assert block_states(CELLS, campaign([0.0])) == ()
    assert block_states(CELLS, []) == ()
    keys = list(CELLS)
    visits = [visit for visit in campaign([0.0, 0.0]) if (visit.cell_key in keys[:10]) == (visit.block == 0)]
    assert block_states(CELLS, visits) == ()
