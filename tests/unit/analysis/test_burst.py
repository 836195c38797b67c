# SPDX-License-Identifier: Apache-2.0
"""Credit goes down once and stays there; what comes back in the sweep was a drift."""

from dataclasses import replace

import pytest

from ioatlas.analysis.burst import Burst, Bursts, burst_findings, find_burst, rate_while_fed, standing
from ioatlas.model.cell import Cell
from ioatlas.model.estimate import Estimate
from ioatlas.model.histogram import Histogram
from ioatlas.model.purpose import Purpose
from ioatlas.model.reason import read_reasons
from ioatlas.model.verdict import VerdictCode
from ioatlas.model.visit import Part, Series, Visit

PROBED, OTHER = (Cell.of("t", {"rw": "randread", "bs": bs}) for bs in (65536, 4096))
CELLS = {cell.key: cell for cell in (PROBED, OTHER)}
BURST = Burst("t", "read", 50e6, 40e6, 100e6)


def visits_of(cell, rates, purpose=Purpose.SWEEP, runtime_ms=1000, discarded=""):
    return [
        Visit(
            number,
            cell.key,
            1,
            number,
            number,
            1,
            float(number),
            (Part("read", int(rate * runtime_ms / 1000), 1000, runtime_ms, 1e6, Histogram(), Series(20)),),
            purpose=purpose,
            discarded=read_reasons(discarded),
        )
        for number, rate in enumerate(rates)
    ]


FAST, SUSTAINED = 200e6, 40e6


def fed(rate, ahead_bytes):
    """Whether a visit is taken to be fed by credit that was this far ahead, with a window of this rate."""
    cut_ms, runtime_ms, interval_ms = 500, 1000, 20
    lead_rate = SUSTAINED + (ahead_bytes - (rate - SUSTAINED) * 0.5) / 0.5
    rates = (lead_rate,) * 25 + (rate,) * 25
    ends = tuple(interval_ms * (number + 1) for number in range(50))
    moved = round(sum(rates) * interval_ms / 1000)
    series = Series(interval_ms, ends, rates, (1e6,) * 50)
    one = Part("read", moved, moved // 4096, runtime_ms, 1e6, Histogram(), series)
    visit = Visit(1, OTHER.key, 1, 0, 0, 1, 0.0, (one,), window_start_ms=cut_ms)
    return Bursts((BURST,)).feeds(OTHER, visit)


@pytest.mark.parametrize(
    ("rate", "ahead_bytes", "is_fed"),
    [
        (40e6, 20e6, False),
        (46e6, 20e6, False),  # within what a reading of the sustained rate may be off
        (60e6, 40e6, True),
        (160e6, 60e6, True),
        (160e6, 90e6, False),  # more than credit of 50 MB can give: a cache answers it
    ],
)
def test_a_window_that_is_still_faster_may_be_fed_by_what_credit_can_give(rate, ahead_bytes, is_fed):
    assert fed(rate, ahead_bytes) == is_fed


def test_the_rate_while_credit_lasts_ends_with_it():
    assert rate_while_fed([100.0] * 5 + [21.0, 19.0] * 50, 20.0) == 100.0
    assert rate_while_fed([100.0] * 10, 20.0) == 100.0
    assert rate_while_fed([], 20.0) == 0.0


PROBES = [*visits_of(OTHER, [1e6], Purpose.PROBE, 190), *visits_of(PROBED, [60e6], Purpose.PROBE, 500)]


@pytest.mark.parametrize(
    ("rates", "stands"),
    [
        ([40e6, 41e6, 38e6, 42e6], True),
        ([100e6, 40e6, 40e6, 40e6, 41e6], True),  # credit that a pause gave back, once
        ([40e6, 80e6, 90e6, 30e6], False),
        ([40e6, 20e6, 10e6, 6e6], False),
        ([90e6, 10e6], True),  # too few to say
    ],
)
def test_a_burst_stands_when_the_sweep_stays_at_its_sustained_rate(rates, stands):
    assert standing([BURST], CELLS, PROBES + visits_of(PROBED, rates)) == ((BURST,) if stands else ())


def test_only_counted_visits_of_the_probed_cell_and_direction_tell():
    quiet = PROBES + visits_of(PROBED, [40e6] * 4)
    assert standing([BURST], CELLS, quiet + visits_of(OTHER, [400e6] * 9)) == (BURST,)
    assert standing([BURST], CELLS, quiet + visits_of(PROBED, [400e6] * 9, discarded="bytes: wrong")) == (BURST,)
    assert standing([BURST], CELLS, visits_of(PROBED, [400e6] * 9)) == (BURST,), "nothing says which cell was probed"


def test_only_credit_that_a_probe_found_is_said_to_come_back():
    (found,) = burst_findings([BURST], several=False)
    assert "comes back while nothing runs" in found.sentence
    (late,) = burst_findings([replace(BURST, fast_visits=7)], several=False)
    assert "comes back" not in late.sentence
    assert "7 earlier visits were set aside" in late.sentence
    assert "A target that got slower looks the same: let it rest 1 s" in late.sentence


@pytest.mark.parametrize(("cells", "told"), [(1, "1 value is not sustained."), (7, "7 values are not sustained.")])
def test_the_last_sentence_of_a_late_burst_stands_alone(cells, told):
    [found] = burst_findings([replace(BURST, fast_visits=9, fast_cells=cells)], several=False)
    assert found.sentence.endswith(f". {told}")  # the first screen shows it without the one before


def test_what_a_log_wrote_late_is_no_peak():
    """Bytes of a whole while in one interval of some milliseconds: the burst's rate is that of the while."""
    slow, burst = 50e6, 100e6
    rates = [0.0, 0.0, 0.0, 4 * burst] + [burst] * 16 + [slow] * 30
    series = Series(20, tuple(20 * (number + 1) for number in range(50)), tuple(rates), (1e6,) * 50)
    moved = round(sum(rates) * 0.02)
    probe = Part("read", moved, moved // 65536, 1000, 1e6, Histogram(), series)
    found = find_burst("t", "read", 65536, [Visit(1, PROBED.key, 1, 0, 0, 1, 0.0, (probe,))])
    assert found is not None
    assert found.peak_bytes_per_s == pytest.approx(burst, rel=0.1)


def load_of(visit_id, started_at, rates, interval_ms=10):
    ends = tuple(interval_ms * (number + 1) for number in range(len(rates)))
    series = Series(interval_ms, ends, tuple(rates), (1e6,) * len(rates))
    moved = round(sum(rates) * interval_ms / 1000)
    part = Part("read", moved, moved >> 20, ends[-1], 1e6, Histogram(), series)
    return Visit(visit_id, f"cell{visit_id}", 1, 0, 0, 1, started_at, (part,))


def test_what_drains_slowly_is_no_sustained_rate():
    """A bucket lets 16 I/Os of 1 MiB pass at once, and what is in flight pays for it. A longer load comes later."""
    fast = load_of(1, 0.0, [2.6e9] + [0.0] * 18 + [8e6] * 78)
    settled = load_of(2, 3.0, [20e6] * 50, interval_ms=40)
    found = find_burst("t", "read", 1 << 20, [fast, settled], {1: 190, 2: 2000})
    assert found is not None
    assert found.sustained_bytes_per_s == pytest.approx(20e6)
    assert found.credit_bytes == pytest.approx(26e6, rel=0.1)
    small = replace(settled, parts=(replace(settled.parts[0], total_ios=settled.parts[0].io_bytes >> 12),))
    told = find_burst("t", "read", 1 << 20, [fast, small], {1: 190, 2: 2000})
    assert told is not None
    assert told.sustained_bytes_per_s == pytest.approx(8e6), "4 KiB blocks may be slow for their number"
    faster = load_of(2, 3.0, [2e9] * 50, interval_ms=40)
    assert find_burst("t", "read", 1 << 20, [fast, faster], {1: 190, 2: 2000}) is None, "no load was slowed down"


def test_credit_that_is_gone_at_once_has_no_speed():
    (found,) = burst_findings([replace(BURST, peak_bytes_per_s=2e9)], several=False)
    assert found.sentence.startswith("The first 47.7 MiB of reads come faster, then 38.1 MiB/s. ")


@pytest.mark.parametrize(("rate", "told"), [(45e6, ""), (80e6, " at first; later loads reached 76.3 MiB/s")])
def test_a_best_value_above_the_sustained_rate_is_told_beside_it(rate, told):
    values = [Estimate(PROBED, "read", "measured", 2, rate, verdict=VerdictCode.STEADY)]
    (found,) = burst_findings([BURST], several=False, estimates=values)
    assert f"38.1 MiB/s{told}. " in found.sentence
