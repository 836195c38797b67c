# SPDX-License-Identifier: Apache-2.0
import math
from dataclasses import replace

import numpy as np
import pytest

from ioatlas.answer.analysis.drift import drift_findings, in_doubt, replicate_rows, shifts, to_repeat, wanders
from ioatlas.model.cell import Cell
from ioatlas.model.outcomes import VoidedReplicate
from ioatlas.model.verdict import read_reasons
from ioatlas.model.visit import Histogram, Part, Series, Visit

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
            why = read_reasons("bytes: wrong") if (block, place) in discarded else ()
            visits.append(Visit(number, key, block, place, block, 1, float(number), (part,), discarded=why))
    return visits


def test_levels_of_replicates_are_found_and_a_quiet_campaign_stands():
    rows = replicate_rows(CELLS, campaign([0.05, 0.0, -0.05]))
    assert [row.replicate for row in rows] == [0, 1, 2]
    assert [row.effect for row in rows] == pytest.approx([0.05, 0.0, -0.05], abs=0.03)
    assert not any(row.note for row in rows)
    assert shifts(rows, ()) == []


def test_cells_lost_in_one_block_void_it_and_in_all_blocks_do_not():
    lost = {(1, place) for place in range(8)}
    rows = replicate_rows(CELLS, campaign([0.0, 0.0, 0.0], discarded=lost))
    assert [bool(row.note) for row in rows] == [False, True, False]
    assert rows[1].n_discarded == 8
    everywhere = {(block, place) for block in range(3) for place in range(8)}
    assert not any(row.note for row in replicate_rows(CELLS, campaign([0.0, 0.0, 0.0], discarded=everywhere)))


def test_the_odd_block_out_is_repeated_and_of_two_a_third_decides():
    rows = replicate_rows(CELLS, campaign([0.0, -0.4, 0.0, 0.02]))
    assert [row.replicate for row in to_repeat(rows)["t"]] == [1]
    assert in_doubt(rows) == {}
    pair = replicate_rows(CELLS, campaign([0.0, -0.4]))
    assert to_repeat(pair) == {}
    assert "differ by -3" in in_doubt(pair)["t"].note
    assert in_doubt(replicate_rows(CELLS, campaign([0.0, -0.05]))) == {}


def test_when_most_blocks_move_none_is_repeated():
    assert to_repeat(replicate_rows(CELLS, campaign([0.0, -0.5, 0.5, -1.0, 1.0]))) == {}


def test_a_voided_block_is_out_of_the_count_and_in_the_table():
    visits = [
        replace(visit, discarded=read_reasons("block voided: level -33%")) if visit.replicate == 1 else visit
        for visit in campaign([0.0, -0.4, 0.0, 0.02])
    ]
    rows = replicate_rows(CELLS, visits, [VoidedReplicate("t", 1, 4, "level -33%", 30, 0, -0.33, 0.01)])
    assert [row.replicate for row in rows] == [0, 1, 2, 3]
    assert rows[1].note == "voided and repeated as replicate 5: level -33%"
    assert shifts(rows, ()) == [], "it is in no value"
    (finding,) = drift_findings(rows)
    assert finding.values["voided"] == [{"target": "t", "replicate": "2", "note": rows[1].note}]


def test_a_change_inside_a_block_is_reported():
    rows = replicate_rows(CELLS, campaign([0.0, 0.0, 0.0, 0.0], step=-0.5))
    assert rows[1].note
    assert not rows[0].note


def test_nothing_is_said_of_one_block_or_of_blocks_without_a_common_cell():
    assert replicate_rows(CELLS, campaign([0.0])) == ()
    assert replicate_rows(CELLS, []) == ()
    keys = list(CELLS)
    visits = [visit for visit in campaign([0.0, 0.0]) if (visit.cell_key in keys[:10]) == (visit.replicate == 0)]
    assert replicate_rows(CELLS, visits) == ()


def test_a_target_that_moves_inside_replicates_as_much_as_between_them_drifted():
    """No replicate is out of line."""
    few = dict(list(CELLS.items())[:8])
    rng = np.random.default_rng(7)
    visits = []
    for block in range(8):
        for key in [list(few)[place] for place in rng.permutation(8)]:
            number = len(visits)
            level = math.log(1 - 0.9 * (1 - abs(1 - number % 60 / 30))) + 0.05 * rng.normal()
            part = Part("read", int(1e8 * math.exp(level)), 1000, 1000, 1e6, Histogram(), Series(20))
            visits.append(Visit(number, key, block, 0, block, 1, float(number), (part,)))
    found = wanders(few, visits)
    (one,) = found
    assert abs(one.change) > 0.5
    assert list(drift_findings(())) == []
    (finding,) = drift_findings((), found)
    assert finding.code == "drift"
    assert f"by {abs(one.change):.0%} from " in finding.values["moved"][0]["shift"]
    # Once is enough: what the replicates say of a target stands by itself.
    moved = replicate_rows(CELLS, campaign([0.0, -0.4, 0.0, 0.02]))
    ((share, words, target),) = shifts(moved, [replace(one, target="t")])
    assert (target, share) == ("t", pytest.approx(0.3, abs=0.05))
    assert "replicate 2" in words
    assert len(list(drift_findings(moved, [replace(one, target="t")]))) == 1
