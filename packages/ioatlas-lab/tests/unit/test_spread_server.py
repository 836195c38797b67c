# SPDX-License-Identifier: Apache-2.0
"""Disks in virtual time or spread over others: what they keep, and what they cost against the arithmetic."""

import math
import os
import random
import socket
import threading

import pytest

from ioatlas.model.errors import UsageError
from ioatlas_lab.array_model import Layout
from ioatlas_lab.array_server import READ, REPLY, REQUEST, REQUEST_MAGIC, WRITE, Disk, receive
from ioatlas_lab.array_server import serve as serve_array
from ioatlas_lab.catalog_spindle import SIGMAS, spindle
from ioatlas_lab.running import filled, find
from ioatlas_lab.spindle_disk import _SETTINGS, BLOCK, RESERVE, SEGMENT, TRACK, Log, _stretches, make
from ioatlas_lab.spread_server import reach, serve

UNIT = 4096
LAYOUT = Layout("raid0", 1, bw_bytes_per_s=1e9, seek_s=0.0, size_bytes=8 * UNIT)


def listening(answer):
    """(place of an export, what ends it and all its connections)."""
    listener, connections = socket.create_server(("127.0.0.1", 0)), []

    def accept():
        while True:
            try:
                connections.append(listener.accept()[0])
            except OSError:
                return
            threading.Thread(target=answer, args=(connections[-1],), daemon=True).start()

    def end():
        for one in (listener, *connections):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue
            finally:
                one.close()

    threading.Thread(target=accept, daemon=True).start()
    return f"127.0.0.1:{listener.getsockname()[1]}/", end


@pytest.fixture
def places():
    """Two exports of one disk, and two of disks of their own."""
    shared = Disk(LAYOUT)
    made = [
        listening(lambda c, disk=disk: serve_array(c, disk)) for disk in (shared, shared, Disk(LAYOUT), Disk(LAYOUT))
    ]
    yield made
    for _, end in made:
        end()


def ask(connection, kind, offset, length, data=b""):
    """(error, bytes) of one request."""
    connection.sendall(REQUEST.pack(REQUEST_MAGIC, 0, kind, 7, offset, length) + data)
    _, error, cookie = REPLY.unpack(receive(connection, REPLY.size))
    assert cookie == 7
    return error, receive(connection, length) if kind == READ and not error else b""


def opened(unit, names):
    place, end = listening(lambda connection: serve(connection, unit, names))
    way, size = reach(place)
    return way.connection, size, end


def test_stripes_read_back_what_was_written_and_fail_without_a_disk(places):
    (_, _), (_, _), (first, end_first), (second, _) = places
    connection, size, end = opened(UNIT, [first, second])
    data = os.urandom(5 * UNIT + 100)
    assert size == 2 * LAYOUT.size_bytes
    assert ask(connection, WRITE, 300, len(data), data) == (0, b"")
    assert ask(connection, READ, 300, len(data)) == (0, data)
    end_first()
    assert ask(connection, READ, 300, len(data))[0] != 0
    end()


def test_two_ways_lead_to_one_disk_and_either_is_enough(places):
    (first, end_first), (second, end_second), *_ = places
    connection, size, end = opened(0, [first, second])
    data = os.urandom(2 * UNIT)
    assert size == LAYOUT.size_bytes
    assert ask(connection, WRITE, UNIT, len(data), data) == (0, b"")
    end_first()
    for _ in range(4):
        assert ask(connection, READ, UNIT, len(data)) == (0, data)
    end_second()
    assert ask(connection, READ, UNIT, len(data))[0] != 0
    end()


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
    assert log.counts()["write_amplification"] == 1
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
    assert log.counts()["write_amplification"] == pytest.approx(amplification, rel=whole)
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
