# SPDX-License-Identifier: Apache-2.0
import math

import numpy as np
import pytest
import scipy.stats

from ioatlas.model.errors import UsageError
from ioatlas.stats.drift import ReplicateFit, fit_replicates, lost_cells, replicate_shift, shift_within


def campaign(seed, effects, cells=60, sd=0.12):
    rng = np.random.default_rng(seed)
    cell = np.tile(np.arange(cells), len(effects))
    block = np.repeat(np.arange(len(effects)), cells)
    level = 3 * rng.normal(size=cells)
    values = np.exp(level[cell] + np.asarray(effects)[block] + sd * rng.normal(size=cell.size))
    return [f"c{i}" for i in cell], [int(b) for b in block], values.tolist()


def test_block_effects_of_a_full_table_are_least_squares():
    cells, blocks, values = campaign(0, [0.1, -0.1, 0.0], sd=0.01)
    fit = fit_replicates(cells, blocks, values)
    table = np.log(values).reshape(3, 60)
    expected = table.mean(axis=1) - table.mean()
    # Huber's weights move them by a fraction of their error.
    assert [fit.effects[b] for b in range(3)] == pytest.approx(expected, abs=0.002)


def test_block_effects_do_not_mind_wild_visits():
    cells, blocks, values = campaign(1, [0.0, 0.05, -0.05], sd=0.02)
    for index in range(0, 12, 2):
        values[index] *= 20
    fit = fit_replicates(cells, blocks, values)
    assert fit.effects[0] == pytest.approx(0.0, abs=0.02)


def test_standard_errors_of_block_effects_are_about_right():
    scores = []
    for seed in range(150):
        fit = fit_replicates(*campaign(seed, [0.03, -0.03, 0.0, 0.0]))
        scores += [(fit.effects[b] - e) / fit.errors[b] for b, e in enumerate([0.03, -0.03, 0.0, 0.0])]
    assert 0.75 <= np.std(scores) <= 1.15


def test_an_unbalanced_campaign_keeps_its_levels():
    cells, blocks, values = campaign(2, [0.0, 0.2], cells=40, sd=0.001)
    keep = [i for i in range(80) if i < 40 or i % 3]
    fit = fit_replicates([cells[i] for i in keep], [blocks[i] for i in keep], [values[i] for i in keep])
    assert fit.effects[1] - fit.effects[0] == pytest.approx(0.2, abs=0.002)


def linked(shared, own, *, effect=0.1, sd=0.0, seed=0, blocks=4):
    """Blocks in a row; each shares some cells with the next one and has others that nobody else visited."""
    draws, rows = np.random.default_rng(seed), []
    for block in range(blocks):
        names = [("own", block, at) for at in range(own)]
        names += [("link", block + end, at) for end in (0, 1) for at in range(shared)]
        for name in names * 2:
            rows.append((name, block, float(np.exp(effect * block + name[2] % 5 + sd * draws.normal()))))
    return fit_replicates(*zip(*rows, strict=True))


@pytest.mark.parametrize(("shared", "own"), [(1, 10), (1, 100), (10, 100)])
def test_blocks_are_told_apart_by_however_few_cells_they_share(shared, own):
    fit = linked(shared, own)
    assert [fit.effects[block] - fit.effects[0] for block in range(4)] == pytest.approx([0.0, 0.1, 0.2, 0.3], abs=1e-9)


def test_errors_of_differences_grow_with_what_lies_between():
    fits = [linked(1, 10, sd=0.03, seed=seed) for seed in range(150)]
    for first, second in ((0, 1), (1, 2), (0, 3)):
        gaps = [fit.effects[second] - fit.effects[first] - 0.1 * (second - first) for fit in fits]
        scores = np.array(gaps) / [fit.apart[first, second] for fit in fits]
        assert 0.8 <= np.std(scores) <= 1.25
        assert abs(np.mean(scores)) < 0.3


def test_blocks_that_share_no_cell_are_refused():
    with pytest.raises(UsageError, match="common cell"):
        fit_replicates(["a", "b", "c", "d"], [0, 0, 1, 1], [1, 2, 3, 4])
    with pytest.raises(UsageError):
        fit_replicates(["a"], [0], [0.0])
    with pytest.raises(UsageError):
        fit_replicates([], [], [])


def test_a_shifted_block_is_named_and_a_quiet_campaign_is_not():
    fit = fit_replicates(*campaign(3, [0.0, 0.02, -0.35, -0.01]))
    assert [bool(replicate_shift(fit, b)) for b in range(4)] == [False, False, True, False]
    assert "-2" in replicate_shift(fit, 2) or "-3" in replicate_shift(fit, 2)
    false = sum(
        bool(replicate_shift(fit_replicates(*campaign(100 + s, 0.04 * np.random.default_rng(s).normal(size=4))), b))
        for s in range(50)
        for b in range(4)
    )
    assert false <= 4


def test_of_two_blocks_nobody_knows_which_moved():
    fit = fit_replicates(*campaign(4, [0.0, -0.5]))
    assert replicate_shift(fit, 1) == ""


def test_a_block_is_voided_for_lost_cells_only_when_chance_and_the_other_blocks_do_not_explain_them():
    assert "12 of 60" in lost_cells(12, 60, 1, 120)
    assert lost_cells(12, 60, 0, 0), "alone, 5% is what it is held against"
    assert lost_cells(12, 60, 24, 120) == "", "the other blocks lose as many: it is the target, not the block"
    assert lost_cells(6, 60, 0, 120) == "", "six of sixty happen by chance at 5%"
    assert lost_cells(3, 60, 0, 120) == ""
    assert lost_cells(1, 2, 0, 2) == ""
    assert lost_cells(0, 0, 0, 0) == ""


def test_a_shift_inside_a_block_is_placed():
    rng = np.random.default_rng(2)
    found = [shift_within(0.1 * rng.normal(size=60) - 0.3 * (np.arange(60) >= 36)) for _ in range(50)]
    assert sum(f is not None and abs(f[0] - 36) <= 4 for f in found) >= 45
    assert sum(shift_within(0.12 * rng.normal(size=60)) is not None for _ in range(200)) <= 4
    assert shift_within([0.0] * 5) is None


def moved(effects, errors=0.01):
    apart = np.sqrt(2) * errors * (1 - np.eye(len(effects)))
    return ReplicateFit(dict(enumerate(effects)), np.zeros(0), apart)


@pytest.mark.parametrize(
    ("effects", "errors", "reason"),
    [
        ([0.0, 0.01, -0.01, 0.3], 0.01, "level +35% against the other replicates"),
        ([0.0, 0.01, -0.01, -0.3], 0.01, "level -26% against the other replicates"),
        ([0.0, 0.1, -0.1, 0.3], 0.01, ""),  # four times the usual spread of the blocks is 0.59
        ([0.0, 0.1, -0.1, 0.3], 0.0, ""),
        ([0.0, 0.01, -0.01, 0.3], 0.08, ""),  # four standard errors are 0.32
        ([0.0, 0.01, -0.01, 0.3], 0.07, "level +35% against the other replicates"),
        ([0.0, 0.0, 0.0, 0.05], 0.0001, ""),  # significant, not relevant
        ([0.2, -0.2, 0.3], 0.01, "level +35% against the other replicates"),  # two others have no usual spread
        ([0.0, 0.3], 0.01, ""),
    ],
)
def test_a_block_moved_when_it_left_the_others_by_more_than_their_spread(effects, errors, reason):
    assert replicate_shift(moved(effects, errors), len(effects) - 1) == reason


def test_lost_cells_are_judged_by_the_exact_tests():
    for lost in range(31):
        p = scipy.stats.binomtest(lost, 100, 0.05, alternative="greater").pvalue
        assert bool(lost_cells(lost, 100, 0, 0)) == (lost > 5 and p < 0.001)
        fisher = scipy.stats.fisher_exact([[lost, 100 - lost], [6, 194]], alternative="greater").pvalue
        assert bool(lost_cells(lost, 100, 6, 200)) == (lost > 5 and p < 0.001 and fisher < 0.001)
    assert lost_cells(2, 2, 0, 0) == ""
    assert lost_cells(3, 3, 0, 0) == "3 of 3 cells lost, limit 5%"
    assert lost_cells(0, 0, 5, 5) == ""
    assert lost_cells(1, 1, 0, 0) == ""


@pytest.mark.parametrize(
    ("n", "at", "step"), [(12, 6, 0.5), (12, 6, -0.5), (40, 8, 0.5), (40, 32, -0.5), (30, 15, 0.2)]
)
def test_a_level_is_placed_where_it_changes(n, at, step):
    series = np.where(np.arange(n) < at, 0.0, step) + 0.01 * np.tile([1.0, -1.0], n // 2)
    assert shift_within(series) == (at, f"level {math.expm1(step):+.0%} from visit {at + 1} of the replicate on")
    assert shift_within(series[: n // 2]) is None or n == 40


def test_few_odd_visits_at_an_end_are_no_level():
    quiet = 0.01 * np.tile([1.0, -1.0], 20)
    for at in (4, 7, 33, 36):
        assert shift_within(np.where(np.arange(40) < at, 0.0, 0.5) + quiet) is None
    assert shift_within(np.where(np.arange(40) < 20, 0.0, 0.02) + 0.1 * quiet) is None, "2% is not relevant"
