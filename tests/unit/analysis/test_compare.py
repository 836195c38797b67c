# SPDX-License-Identifier: Apache-2.0
"""Comparison of two sides; loads by their names, and what is the same load of two tools, or cannot be known to be."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ioatlas.answer.analysis.compare import Reading, between_campaigns, compare
from ioatlas.answer.analysis.imported import counterparts, load_of, told_by_one
from ioatlas.answer.analysis.wording import Namer
from ioatlas.model.cell import Cell
from ioatlas.model.errors import UsageError
from tests.examples import examples


def differing(found):
    return tuple(cell for cell in found.cells if cell.outcome in ("higher", "lower"))


def campaign(seed, levels, visits=3, cv=0.05, drift=0.0):
    rng = np.random.default_rng(seed)
    order = np.concatenate([rng.permutation(len(levels)) for _ in range(visits)])
    noise = rng.normal(size=order.size) * cv + np.linspace(-drift / 2, drift / 2, order.size)
    return [
        Reading(f"c{cell}", float(levels[cell] * math.exp(e)), float(when))
        for when, (cell, e) in enumerate(zip(order, noise, strict=True))
    ]


def scaled(readings, factor, cells=None):
    return [Reading(r.cell, r.value * (factor if cells is None or r.cell in cells else 1.0), r.time) for r in readings]


LEVELS = np.exp(np.random.default_rng(99).normal(size=60))


def test_a_campaign_against_itself_is_the_same():
    found = compare(campaign(0, LEVELS, cv=0.005), campaign(0, LEVELS, cv=0.005))
    assert found.whole.ratio == pytest.approx(1.0)
    assert found.whole.outcome == "same"
    assert differing(found) == ()
    assert {cell.outcome for cell in found.cells} == {"same"}


def test_the_maps_ratio_is_the_geometric_mean_of_the_cells():
    found = compare(campaign(1, LEVELS), scaled(campaign(2, LEVELS), 0.8))
    assert found.whole.ratio == pytest.approx(stats.gmean([cell.ratio for cell in found.cells]), rel=0.003)
    assert found.whole.low < 0.8 < found.whole.high
    assert found.whole.outcome == "lower"


def test_one_slow_cell_is_found_and_the_map_is_not_called_slower():
    found = compare(campaign(3, LEVELS, cv=0.02), scaled(campaign(4, LEVELS, cv=0.02), 0.7, {"c7"}))
    assert [cell.cell for cell in differing(found)] == ["c7"]
    assert found.whole.outcome in ("same", "not different")


def test_welch_is_exact_without_a_pool():
    first = [Reading("a", v, i) for i, v in enumerate((100.0, 105.0, 98.0))]
    second = [Reading("a", v, i) for i, v in enumerate((80.0, 83.0, 78.0, 81.0))]
    found = compare(first, second, tolerance=0.0)
    expected = stats.ttest_ind(np.log([80, 83, 78, 81]), np.log([100, 105, 98]), equal_var=False)
    (cell,) = found.cells
    assert cell.p == pytest.approx(expected.pvalue, rel=1e-6)
    interval = expected.confidence_interval(0.95)
    assert (cell.low, cell.high) == pytest.approx((math.exp(interval.low), math.exp(interval.high)))
    assert found.whole is None


def test_many_cells_are_controlled_as_benjamini_and_hochberg_do():
    first, second = campaign(5, LEVELS), scaled(campaign(6, LEVELS), 0.75, {f"c{i}" for i in range(15)})
    found = compare(first, second)
    adjusted = stats.false_discovery_control([cell.p for cell in found.cells])
    assert {cell.cell for cell in differing(found)} == {
        cell.cell for cell, q in zip(found.cells, adjusted, strict=True) if q <= 0.05
    }
    assert len(differing(found)) >= 10


@pytest.mark.long("analysis", "stats")
def test_a_against_a_calls_few_cells_and_few_maps_different():
    maps = cells = 0
    for seed in range(60):
        found = compare(campaign(1000 + seed, LEVELS, cv=0.12), campaign(5000 + seed, LEVELS, cv=0.12))
        maps += found.whole.outcome in ("higher", "lower")
        cells += len(differing(found))
    assert maps <= 4
    assert cells <= 0.02 * 60 * 60


@pytest.mark.parametrize("seeds", [range(2), pytest.param(range(2, 10), marks=pytest.mark.long("analysis", "stats"))])
def test_ten_percent_slower_is_found_on_a_limited_target_in_every_cell(seeds):
    hits = 0
    for seed in seeds:
        found = compare(campaign(seed, LEVELS, cv=0.01), scaled(campaign(500 + seed, LEVELS, cv=0.01), 0.9))
        hits += found.whole.outcome == "lower" and len(differing(found)) == 60
    assert hits == len(seeds)


def test_drift_inside_the_campaigns_widens_the_maps_interval():
    quiet = compare(campaign(8, LEVELS, cv=0.02), campaign(9, LEVELS, cv=0.02)).whole
    moving = compare(campaign(8, LEVELS, cv=0.02, drift=0.3), campaign(9, LEVELS, cv=0.02, drift=0.3)).whole
    assert moving.high / moving.low > 1.1
    assert moving.high / moving.low > quiet.high / quiet.low


def test_a_stalled_visit_hides_no_change_of_the_map():
    first, second = (
        campaign(30, LEVELS[:12], visits=2, cv=0.01),
        scaled(campaign(31, LEVELS[:12], visits=2, cv=0.01), 0.9),
    )
    wild = [Reading(r.cell, r.value * (0.4 if i in (3, 17) else 1.0), r.time) for i, r in enumerate(second)]
    found = compare(first, wild).whole
    assert found.outcome == "lower"
    assert found.ratio == pytest.approx(0.9, abs=0.02)


def test_known_differences_between_campaigns_count():
    first, second = campaign(10, LEVELS, cv=0.01), scaled(campaign(11, LEVELS, cv=0.01), 0.93)
    assert compare(first, second).whole.outcome == "lower"
    repeats = [scaled(campaign(20 + i, LEVELS, cv=0.01), f) for i, f in enumerate((1.0, 1.06, 0.95))]
    sd, dof = between_campaigns(repeats)
    assert sd == pytest.approx(np.std(np.log([1.0, 1.06, 0.95]), ddof=1), rel=0.1)
    assert dof == 2
    assert compare(first, second, campaign_sd=sd, campaign_dof=dof).whole.outcome == "not different"
    with pytest.raises(UsageError):
        between_campaigns(repeats[:2])


def test_single_visits_can_be_compared_when_there_are_enough_cells():
    found = compare(campaign(12, LEVELS, visits=1), scaled(campaign(13, LEVELS, visits=1), 0.5, {"c3"}))
    assert "c3" in [cell.cell for cell in differing(found)]
    few = compare([Reading("a", 1.0, 0.0)], [Reading("a", 2.0, 0.0)])
    assert few.cells[0].outcome == "not comparable"
    assert "measured once" in few.cells[0].reason


def test_stalls_are_named_and_left_out_of_the_mean():
    first, second = campaign(14, LEVELS), campaign(15, LEVELS)
    second = [Reading(r.cell, 0.0 if r.cell == "c1" else r.value, r.time) for r in second]
    found = compare(first, second)
    (stalled,) = (cell for cell in found.cells if cell.cell == "c1")
    assert stalled.outcome == "not comparable"
    assert "0 of 3 and 3 of 3" in stalled.reason
    assert found.whole is not None


def test_operations_that_were_over_at_once_on_both_sides_are_compared_with_nothing():
    first, second = campaign(14, LEVELS), scaled(campaign(15, LEVELS), 0.2)
    brief = [replace(r, brief=r.cell == "c1") for r in first]
    both = compare(brief, [replace(r, brief=r.cell == "c1") for r in second])
    (cell,) = (cell for cell in both.cells if cell.cell == "c1")
    assert (cell.outcome, cell.ratio, cell.n_first) == ("not comparable", None, 3)
    assert "20 ms" in cell.reason
    # One that takes long on one side has become slower.
    (cell,) = (cell for cell in compare(brief, second).cells if cell.cell == "c1")
    assert cell.outcome == "lower"


def test_cells_of_one_campaign_only_are_left_out():
    found = compare(campaign(16, LEVELS[:10]), campaign(17, LEVELS[:12]))
    assert len(found.cells) == 10
    assert compare([], []).cells == ()


def test_what_a_law_tells_is_held_against_visits():
    visits = campaign(31, LEVELS, cv=0.02)
    law = [
        Reading(cell, 0.9 * level, 0.0, error=0.01, visits=2)
        for cell, level in zip((f"c{n}" for n in range(60)), LEVELS, strict=True)
    ]
    whole = compare(visits, law).whole
    assert whole.outcome == "lower"
    assert whole.low < 0.9 < whole.high


def test_bad_values_and_settings_are_refused():
    with pytest.raises(UsageError):
        compare([Reading("a", math.nan, 0.0)], [Reading("a", 1.0, 0.0)])
    with pytest.raises(UsageError):
        compare([], [], tolerance=1.2)


@pytest.mark.long("analysis", "stats")
def test_what_is_called_detectable_is_found_eight_times_in_ten():
    hits = 0
    for seed in range(60):
        first, second = (campaign(one, LEVELS[:20], visits=2, cv=0.1) for one in (seed, 900 + seed))
        least = compare(first, second).whole.detectable
        hits += compare(first, scaled(second, 1 - least)).whole.outcome == "lower"
    # The stated share errs upward: Student's t shifted is wider than what is drawn.
    assert 0.7 <= hits / 60 <= 1


@examples(12)
@given(st.integers(0, 10_000), st.floats(1e-3, 1e3))
def test_exchanging_the_campaigns_inverts_the_ratios(seed, factor):
    first, second = campaign(seed, LEVELS[:12]), scaled(campaign(seed + 1, LEVELS[:12]), factor)
    one, other = compare(first, second), compare(second, first)
    assert one.whole.ratio * other.whole.ratio == pytest.approx(1.0)
    mirrored = {cell.cell: cell for cell in other.cells}
    for cell in one.cells:
        assert cell.low * mirrored[cell.cell].high == pytest.approx(1.0)
        assert cell.p == pytest.approx(mirrored[cell.cell].p, rel=1e-6, abs=1e-12)


def load(direction="read", **options):
    return load_of(Cell.of("t", options), direction)


def test_equal_loads_are_counterparts():
    ours = load(rw="read", bs=4096)
    assert counterparts([ours], [ours, load(rw="read", bs=8192)]) == ([(ours, ours)], 0)


def test_what_one_side_does_not_tell_fits_if_only_one_load_does():
    ours, theirs = load(rw="read", bs=4096, iodepth=1, numjobs=1), load(rw="read", bs=4096, numjobs=1)
    assert counterparts([ours], [theirs]) == ([(ours, theirs)], 0)
    assert told_by_one(ours, theirs) == ("iodepth",)
    assert counterparts([ours, load(rw="read", bs=4096, iodepth=8, numjobs=1)], [theirs]) == ([], 2)


@pytest.mark.parametrize(
    "other",
    [
        {"rw": "write", "bs": 4096, "direction": "write"},
        {"rw": "read", "bs": 8192},
        {"rw": "read"},
        {"operation": "reread", "bs": 4096},
        {"rw": "randrw", "bs": 4096, "rwmixread": 70},
    ],
)
def test_other_loads_are_no_counterparts(other):
    assert counterparts([load(rw="read", bs=4096)], [load(**other)]) == ([], 0)


def test_a_mix_counts_only_for_mixed_loads():
    assert told_by_one(load(rw="read", bs=4096, rwmixread=50), load(rw="read", bs=4096)) == ()
    assert counterparts([load(rw="randrw", bs=1, rwmixread=50)], [load(rw="randrw", bs=1, rwmixread=70)]) == ([], 0)


def short(options, state="laid-out"):
    cell = Cell.of("t", options, state=state)
    return Namer([cell], ["t"]).short(cell)


def test_what_another_tool_does_not_say_is_not_told():
    assert short({"rw": "read"}) == "4 KiB, 1 job"
    assert short({"rw": "read"}, "unknown") == "load not told"
    assert short({"rw": "randread", "numjobs": 4}, "unknown") == "random, 4 jobs"
    assert short({"rw": "randread", "bs": 8192}, "unknown") == "8 KiB random"
    assert short({"rw": "randrw", "bssplit": "4k/50:8k/50", "iodepth": 8}, "unknown") == "mixed sizes randrw, iodepth 8"


def test_a_load_of_our_own_has_all_its_parts():
    assert short({"rw": "randrw", "bs": 65536, "numjobs": 16}) == "64 KiB randrw, 16 jobs"
