# SPDX-License-Identifier: Apache-2.0
"""What shows a cache or a target that compresses: each kind of evidence fires on what shows it, and nothing else."""

import pytest

from ioatlas.answer.analysis.cache import judge_caches
from ioatlas.answer.analysis.reduction import reduction_findings
from ioatlas.model.cell import Cell
from ioatlas.model.estimate import Estimate
from ioatlas.model.verdict import VerdictCode
from ioatlas.model.visit import Histogram, Part, Series, Visit

MIB = 1 << 20


def cell(rw="randread", target="nas", **more):
    base = {"rw": rw, "bs": 65536, "size": 1 << 30, "numjobs": 1, "iodepth": 8, "direct": 1, "ioengine": "libaio"}
    return Cell.of(target, {**base, **more})


def estimate(which, rate, *, width=0.03, **more):
    low, high = (rate * (1 - width), rate * (1 + width)) if width is not None else (None, None)
    fields = {
        "kind": "measured",
        "n_visits": 2,
        "verdict": VerdictCode.STEADY,
        "iops": rate / 65536,
        "lat_mean_ns": 5e5,
        **more,
    }
    return Estimate(which, which.directions[0], bw_bytes_per_s=rate, bw_low=low, bw_high=high, **fields)


def visit(which, rate, number=1, latencies=None, io_bytes=100 * MIB):
    histogram = Histogram.from_counts(latencies or {500_000: 1000})
    part = Part(
        which.directions[0], io_bytes, io_bytes // 65536, round(io_bytes / rate * 1000), 5e5, histogram, Series(0)
    )
    return Visit(number, which.key, 1, 0, number, 1, float(number), (part,))


def only(report):
    (verdict,) = report.verdicts.values()
    return verdict


@pytest.mark.parametrize(
    ("latencies", "word"),
    [
        ({300_000: 990, 900_000: 10}, ""),
        ({20_000: 950, 300_000: 50}, "cached"),
        ({20_000: 200, 300_000: 800}, "suspect"),
        ({20_000: 50, 300_000: 950}, ""),
    ],
)
def test_answers_before_a_packet_could_return(latencies, word):
    which = cell()
    report = judge_caches(
        [estimate(which, 50e6)], [visit(which, 50e6, latencies=latencies)], round_trip_ns={"nas": 200_000.0}
    )
    assert only(report).word == word
    assert "round trip" in only(report).tested


@pytest.mark.parametrize(
    ("quick", "written", "told"),
    [
        (110_000, {20_000_000: 1000}, "a cache of about 768 MiB answered 75% of it; the rest takes 30 ms, alone"),
        (110_000, {110_000: 750, 30_000_000: 250}, ""),  # writes look alike
        (900_000, {20_000_000: 1000}, ""),  # the quick ones wait for others: no cache
    ],
)
def test_random_reads_of_which_a_cache_answered_a_part_are_low(quick, written, told):
    cells = (cell(iodepth=1), cell(), cell(rw="randwrite"))
    latencies = ({100_000: 750, 2_000_000: 250}, {quick: 750, 30_000_000: 250}, written)
    estimates = [estimate(which, 50e6) for which in cells]
    visits = [visit(which, 50e6, latencies=each) for which, each in zip(cells, latencies, strict=True)]
    _, many, writes = judge_caches(estimates, visits).mark(estimates)
    assert (many.grade_reason.removesuffix(" 267 IOPS"), writes.grade_reason) == (told, "")
    assert (many.grade == "low") == bool(told)


@pytest.mark.parametrize(("seen", "word"), [(1.02, ""), (0.95, ""), (0.7, "suspect"), (0.01, "cached")])
def test_bytes_that_nobody_saw(seen, word):
    which = cell(direct=0)
    visits = [visit(which, 90e6, number) for number in (1, 2)]
    report = judge_caches([estimate(which, 90e6)], visits, counted_bytes={v.visit_id: seen * 100 * MIB for v in visits})
    assert only(report).word == word


def test_few_bytes_prove_nothing():
    which = cell()
    report = judge_caches([estimate(which, 90e6)], [visit(which, 90e6, io_bytes=MIB)], counted_bytes={1: 0.0})
    assert only(report).withheld


def footprints(rates, **more):
    return [estimate(cell(size=MIB << (2 * index), **more), rate * 1e6) for index, rate in enumerate(rates)]


def test_a_cliff_along_the_footprint():
    report = judge_caches(footprints([2000, 2000, 1900, 110, 100]))
    assert [verdict.word for verdict in report.verdicts.values()] == ["cached"] * 3 + [""] * 2
    (bracket,) = report.brackets
    assert (bracket.below_bytes, bracket.above_bytes) == (16 * MIB, 64 * MIB)
    answered, ends = report.findings()
    assert (answered.values["n_cached"], answered.values["n_values"]) == (3, 5)
    assert (ends.values["below_bytes"], ends.values["above_bytes"]) == (16 * MIB, 64 * MIB)


@pytest.mark.parametrize(
    "rates",
    [
        [100, 100, 100, 100],
        [100, 95, 70, 65],
        [100, 100, 20, 100],  # a notch that recovers
        [20, 60, 100, 100],
    ],
)
def test_no_cliff(rates):
    report = judge_caches(footprints(rates))
    assert not any(verdict.word for verdict in report.verdicts.values())
    assert report.withheld == 0


def test_a_small_fall_is_suspect_and_two_sizes_are_no_line():
    assert judge_caches(footprints([300, 300, 100, 100])).count("suspect") == 2
    assert judge_caches(footprints([2000, 100])).withheld == 2


def test_a_fall_without_intervals_proves_nothing():
    rows = [estimate(e.cell, e.bw_bytes_per_s, width=None) for e in footprints([2000, 2000, 100, 100])]
    assert judge_caches(rows).count("cached") == 0


@pytest.mark.parametrize(
    ("fast", "word"),
    [
        ((69, 1830, 480, 250), "cached"),
        ((28, 1830, 480, 250), "cached"),  # the first run filled the cache
        ((69, 1830, 28, 250), ""),
        ((1830, 28, 25), ""),
    ],
)
def test_a_cliff_of_runs_that_disagree(fast, word):
    """As a busy client gave them: the interval of a cache's answers reached down to those of the drive."""
    slow = footprints([28, 29, 30])
    runs = [(slow[0].cell, fast), *((e.cell, (27, 28, 30, 29)) for e in slow[1:])]
    visits = [visit(which, rate * 1e6, n) for which, rates in runs for n, rate in enumerate(rates, start=1)]
    small = estimate(slow[0].cell, sum(fast) / len(fast) * 1e6, width=1, verdict=VerdictCode.RUNS_DISAGREE)
    verdict = judge_caches([small, *slow[1:]], visits).verdicts[small.cell.key, "read"]
    assert verdict.word == word
    assert judge_caches([small, *slow[1:]], visits).count("cached") == (word == "cached")


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({}, ""),
        ({"direct": 0}, "suspect"),
        ({"direct": 0, "rw": "write", "end_fsync": 1}, ""),
        ({"zero_buffers": 1}, "suspect"),
        ({"buffer_compress_percentage": 80}, "suspect"),
        ({"buffer_compress_percentage": 20}, ""),
        ({"buffer_pattern": "0xdeadbeef"}, "suspect"),
    ],
)
def test_what_the_load_itself_says(options, word):
    assert only(judge_caches([estimate(cell(**options), 50e6)])).word == word


def test_files_with_holes():
    assert only(judge_caches([estimate(cell(), 50e6)], holes=["nas"])).word == "hole"
    assert only(judge_caches([estimate(cell("randwrite"), 50e6)], holes=["nas"])).word == ""


def test_what_cannot_be_judged_is_counted():
    report = judge_caches([estimate(cell(), 50e6), estimate(cell("randwrite"), 40e6)])
    assert report.withheld == 2
    (finding,) = report.findings()
    assert finding.values == {"n_checked": 0, "n_unchecked": 2}
    assert finding.in_order


def test_marking_keeps_everything_else():
    rows = [estimate(cell(), 125e6), estimate(cell(bs=4096), 50e6, verdict=VerdictCode.DRIFTING)]
    visits = [visit(rows[0].cell, 125e6)]
    marked = judge_caches(rows, visits, counted_bytes={1: 0.0}).mark(rows)
    assert [e.verdict for e in marked] == ["cached", "drifting"]
    assert "not seen at the device" in marked[0].notes[-1]
    assert marked[1] == rows[1]
    assert list(judge_caches([]).findings()) == []


def compressed(compress, rate, latency_ns, bs=4096, width=0.02, verdict=VerdictCode.STEADY):
    cell = Cell.of("nas", {"rw": "randwrite", "bs": bs, "buffer_compress_percentage": compress})
    low, high = rate * (1 - width), rate * (1 + width)
    return Estimate(cell, "write", "measured", 3, rate, low, high, rate / bs, lat_mean_ns=latency_ns, verdict=verdict)


def test_a_target_that_compresses_is_named():
    (finding,) = reduction_findings(
        [
            compressed(0, 1e6, 2e6),
            compressed(50, 2e6, 1e6),
            compressed(0, 1e6, 2e6, 65536),
            compressed(50, 1.9e6, 1e6, 65536),
        ]
    )
    assert finding.code == "data-reduction"
    assert (finding.target, finding.values["n_faster"], finding.values["n_loads"]) == ("nas", 2, 2)
    assert len(finding.cells) == 2


def test_a_client_that_makes_compressible_data_faster_is_not_the_target():
    (finding,) = reduction_findings([compressed(0, 1e6, 2e6), compressed(50, 1.5e6, 2e6)])
    assert finding.code == "no-data-reduction"


def test_overlapping_intervals_and_suspect_values_say_nothing():
    (apart,) = reduction_findings([compressed(0, 1e6, 2e6, width=0.5), compressed(50, 1.4e6, 1e6, width=0.5)])
    assert apart.code == "no-data-reduction"
    limited = compressed(0, 1e6, 2e6, verdict=VerdictCode.CLIENT_LIMITED)
    assert reduction_findings([limited, compressed(50, 2e6, 1e6)]) == ()
    assert reduction_findings([compressed(0, 1e6, 2e6)]) == ()
