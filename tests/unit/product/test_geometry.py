# SPDX-License-Identifier: Apache-2.0
"""Stripes and what writes cost the drives."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioatlas.product.geometry import geometry, write_cost
from ioatlas.product.layout import Layout, LayoutKind

KIB = 1 << 10


@pytest.mark.parametrize(
    ("parity", "reads", "writes"),
    [(1, 2, 2), (2, 3, 3)],
)
def test_the_small_write_is_that_of_the_literature(parity, reads, writes):
    cost = write_cost(4 * KIB, data=8, parity=parity, unit_bytes=64 * KIB)
    assert (cost.reads, cost.writes) == (reads, writes)


def test_sixteen_and_two_fill_a_mebibyte():
    found = geometry(Layout(LayoutKind.RAID6, stripe_unit_bytes=64 * KIB), 18)
    assert found.full_stripe_bytes == 1 << 20
    assert found.share == pytest.approx(16 / 18)
    cost = next(one for one in found.writes if one.size_bytes == 1 << 20)
    assert (cost.full_stripes, cost.partial_bytes, cost.reads, cost.writes) == (1, 0, 0, 18)
    assert any("fill whole stripes" in sentence for sentence in found.sentences)


def test_six_and_two_never_fill_with_powers_of_two():
    found = geometry(Layout(LayoutKind.RAID6, stripe_unit_bytes=64 * KIB), 8)
    assert found.full_stripe_bytes == 384 * KIB
    assert all(one.partial_bytes for one in found.writes)
    assert any("no power of two" in sentence for sentence in found.sentences)


def test_most_of_a_stripe_is_reconstructed_from_what_is_left():
    cost = write_cost(7 * 64 * KIB, data=8, parity=2, unit_bytes=64 * KIB)
    assert (cost.reads, cost.writes) == (1, 9)


@given(st.integers(1, 64), st.integers(2, 20), st.integers(1, 2), st.sampled_from([16 * KIB, 64 * KIB]))
def test_a_write_writes_all_its_data_and_parity_and_reads_no_more_than_a_stripe(n, data, parity, unit):
    cost = write_cost(n * 4 * KIB, data=data, parity=parity, unit_bytes=unit)
    assert cost.full_stripes * data * unit + cost.partial_bytes == n * 4 * KIB
    assert cost.writes * unit >= n * 4 * KIB
    assert cost.reads <= data
    assert (cost.reads == 0) == (cost.partial_bytes == 0)


def test_an_unknown_stripe_unit_is_asked_for():
    found = geometry(Layout(LayoutKind.RAID5), 6)
    assert found.full_stripe_bytes is None
    assert any("stripe_unit" in sentence for sentence in found.sentences)


def test_mirrors_have_no_stripe_of_parity():
    assert geometry(Layout(LayoutKind.RAID10), 4) is None


def test_raidz_tells_what_records_take():
    found = geometry(Layout(LayoutKind.RAIDZ2), 7)
    assert any("192 KiB" in sentence for sentence in found.sentences)
