# SPDX-License-Identifier: Apache-2.0
"""Burst credit told from a sweep: loads that fall once, or again and again, to one rate; and what is not credit."""

import pytest

from ioatlas.analysis.burst import BurstUnit
from ioatlas.analysis.late_burst import find_late_burst
from ioatlas.model.cell import Cell
from ioatlas.model.histogram import Histogram
from ioatlas.model.visit import Part, Series, Visit

MB = 1e6
CELLS = {cell.key: cell for jobs in (1, 4, 16) for bs in (4096, 1 << 20)
         for cell in [Cell.of("nas", {"rw": "read", "bs": bs, "numjobs": jobs})]}  # fmt: skip


def visit(number, key, first, second, at, seconds=1.0):
    """Rates of its halves in MB/s."""
    rates = (first * MB,) * 25 + (second * MB,) * 25
    moved = round((first + second) / 2 * MB * seconds)
    step = round(1000 * seconds / 50)
    series = Series(step, tuple(range(step, 51 * step, step)), rates, (1e6,) * 50)
    part = Part("read", moved, moved // CELLS[key].bs_bytes, round(1000 * seconds), 1e6, Histogram(), series)
    return Visit(number, key, 1, 0, 0, 1, 1000.0 + at, (part,))


def sweep(rates):
    """Every cell once for each of these pairs of halves, by the number of the visit."""
    keys = list(CELLS)
    return [visit(n, keys[n % len(keys)], *rates(n, keys[n % len(keys)]), at=1.5 * n) for n in range(3 * len(keys))]


def found(visits):
    return find_late_burst("nas", "read", CELLS, visits)


def test_loads_that_fall_once_to_one_rate_had_credit():
    late = found(sweep(lambda n, _: (80, 80) if n < 5 else (10, 10)))
    assert late.burst.sustained_bytes_per_s == pytest.approx(10 * MB)
    assert late.burst.credit_bytes == pytest.approx(5 * 80 * MB - 10 * MB * (4 * 1.5 + 1))
    assert [one.visit_id for one in late.before] == [0, 1, 2, 3, 4]


def test_loads_that_fall_in_each_window_to_one_rate_have_credit_that_comes_back():
    late = found(sweep(lambda n, _: (50 + n, 20)))
    assert late.burst.sustained_bytes_per_s == pytest.approx(20 * MB)
    assert len(late.before) == 3 * len(CELLS)


def test_credit_of_i_os_is_counted_in_i_os():
    def rates(n, key):
        iops = 5000 if n < 6 else 1000
        return (iops * CELLS[key].bs_bytes / MB,) * 2

    late = found(sweep(rates))
    assert late.burst.unit is BurstUnit.IOS
    assert late.burst.sustained_bytes_per_s == pytest.approx(1000, rel=0.01)


@pytest.mark.parametrize(
    "rates",
    [
        lambda _n, key: (CELLS[key].numjobs * 5,) * 2,  # each cell has its own rate
        lambda n, key: (
            (CELLS[key].numjobs * (10 if n < 6 else 5),) * 2
        ),  # half as fast from one moment on, each its own
        lambda n, _: (80, 80) if n % 2 else (10, 10),  # no single change
        lambda n, _: (10, 10) if n < 6 else (80, 80),  # faster later
        lambda n, key: (80, 80) if n == 0 else (10, 10),  # one visit alone
        lambda n, key: (50, CELLS[key].numjobs * 2),  # each falls to a rate of its own
    ],
)
def test_what_is_no_credit(rates):
    assert found(sweep(rates)) is None
