# SPDX-License-Identifier: Apache-2.0
"""The drive with a head in virtual time: what it costs against the arithmetic that the catalogue promises."""

import math
import random

import pytest

from ioatlas.model.errors import UsageError
from ioatlas_lab.catalog_spindle import SIGMAS, spindle
from ioatlas_lab.running import filled, find
from ioatlas_lab.spindle_disk import _SETTINGS, BLOCK, RESERVE, SEGMENT, TRACK, Log, _stretches, make

SIZE = 16 << 20


def served(size=SIZE, **given):
    """The plugin's drive or log, and the same drive by the catalogue's formulas."""
    settings = dict(find("in-place").settings, size_bytes=size)
    names = {"size_bytes": "size", "bw_bytes_per_s": "rate"}
    same = {names.get(key, key): float(value) for key, value in settings.items()}
    assert same.keys() <= _SETTINGS.keys()
    return make({**_SETTINGS, **same, **given}), spindle(settings)


def test_random_accesses_take_what_the_formula_says():
    drive, formula = served()
    chance, count = random.Random(3), 4000
    mean, deviation = formula.access_s(BLOCK, SIZE)
    taken = sum(drive.write(chance.randrange(SIZE // BLOCK) * BLOCK, BLOCK) for _ in range(count)) / count
    # Each place ends one distance and begins the next: a sixth more than independent distances would give.
    assert taken == pytest.approx(mean, abs=SIGMAS * math.sqrt(7 / 6) * deviation / math.sqrt(count))


def test_within_a_track_there_is_only_transfer():
    drive, _ = served()
    drive.read(0, BLOCK)
    assert drive.read(BLOCK, 65536) == 65536 / drive.rate
    assert drive.read(drive.head + TRACK, BLOCK) == BLOCK / drive.rate
    assert drive.read(drive.head + TRACK + 1, BLOCK) > BLOCK / drive.rate + drive.settle


def test_a_log_with_room_writes_at_the_sequential_rate():
    log, formula = served(log=1)
    order = list(range(SIZE // BLOCK // 4))
    random.Random(4).shuffle(order)
    log.write(0, BLOCK)
    seconds = sum(log.write(block * BLOCK, BLOCK) for block in order)
    assert len(order) * BLOCK / seconds == pytest.approx(formula.bw_bytes_per_s)
    assert log.told()["write_amplification"] == 1
    # What lay side by side is scattered now: a seek for nearly each block.
    region = len(order) * BLOCK
    mean, deviation = formula.access_s(BLOCK, region)
    taken = sum(log.read(offset, 65536) for offset in range(0, region, 65536)) / len(order)
    assert taken == pytest.approx(mean, abs=SIGMAS * math.sqrt(7 / 6) * deviation / math.sqrt(len(order)))


def test_cleaning_costs_what_the_formula_says():
    size = 4 * SIZE
    log, formula = served(size, log=1, aged=1)
    chance, count = random.Random(5), 8 * size // BLOCK
    seconds = sum(log.write(chance.randrange(size // BLOCK) * BLOCK, BLOCK) for _ in range(count))
    amplification, rate = formula.cleaning()
    # What the formula does not know is whole segments: where the log begins anew, and how many are free just then.
    whole = 2 * SEGMENT / log.drive.size
    assert log.told()["write_amplification"] == pytest.approx(amplification, rel=whole)
    assert count * BLOCK / seconds == pytest.approx(rate, rel=whole)


def test_every_block_lies_in_one_place_of_its_own():
    log, _ = served(log=1)
    chance = random.Random(6)
    for _ in range(3000):
        length = chance.randrange(1, 40) * BLOCK
        log.write(chance.randrange(0, SIZE - length, BLOCK), length)
    assert isinstance(log, Log)
    assert all(log._owner[place] == block for block, place in enumerate(log._place))
    assert sum(owner >= 0 for owner in log._owner) == log.blocks
    assert sum(log._live) == log.blocks
    assert len(log._free) >= RESERVE
    assert log.moved_blocks > 0


def test_neighbours_are_one_stretch():
    assert list(_stretches([5, 6, 7, 2, 9, 10])) == [(5 * BLOCK, 3 * BLOCK), (2 * BLOCK, BLOCK), (9 * BLOCK, 2 * BLOCK)]
    assert list(_stretches([])) == []


@pytest.mark.parametrize("given", [{"size_bytes": 4 << 20}, {"size_bytes": 100_000_001}, {"spare_percent": 1}])
def test_a_log_that_could_not_be_cleaned_is_refused(given):
    scenario = find("log-structured-full")
    with pytest.raises(UsageError):
        scenario.build(filled(scenario, given))
