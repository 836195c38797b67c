# SPDX-License-Identifier: Apache-2.0
"""Kernel counters against claims: caches proven, foreign load named, small batches left alone."""

from ioatlas.analysis.counters import BatchCount, counter_findings

MIB = 1 << 20


def codes(*counts):
    return [(finding.code, finding.sentence) for finding in counter_findings("sda", counts)]


def test_equal_counts_say_that_no_cache_is_in_between():
    ((code, sentence),) = codes(*[BatchCount("read", 1000 * MIB, 1001 * MIB, 20.0)] * 3)
    assert code == "counters"
    assert "100.1%" in sentence
    assert "no cache" in sentence


def test_a_shortfall_proves_a_cache():
    ((code, sentence),) = codes(BatchCount("read", 1000 * MIB, 1000 * MIB, 20.0), BatchCount("read", 1000 * MIB, 100 * MIB, 20.0))
    assert code == "cache"
    assert "In 1 of 2 batches sda saw only 10.0%" in sentence
    assert "900 MiB" in sentence


def test_an_excess_is_another_load():
    ((code, sentence),) = codes(BatchCount("write", 1000 * MIB, 1300 * MIB, 20.0))
    assert code == "counters"
    assert "another load" in sentence


def test_small_or_short_batches_are_not_judged():
    assert codes(BatchCount("read", MIB, 0, 20.0)) == []
    ((code, _),) = codes(BatchCount("read", 1000 * MIB, 0, 1.0))
    assert code == "counters", "below two seconds the gate passes"
