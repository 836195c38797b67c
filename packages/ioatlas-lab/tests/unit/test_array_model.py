# SPDX-License-Identifier: Apache-2.0
"""The model of an array against the textbook's arithmetic, and as a disk over NBD."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time

import pytest

from ioatlas.answer.product.figures import figures
from ioatlas.answer.product.sheet_file import read_sheet
from ioatlas.model.errors import UsageError
from ioatlas_lab.array_model import SSD, Array, Layout, cached_iops, random_iops, stream_bytes_per_s
from ioatlas_lab.catalog_arrays import array_sheet, layout_of
from ioatlas_lab.running import filled, find

BLOCK = 4096


def layout(level, drives, missing=0, **more):
    return Layout(level=level, drives=drives, missing=missing, **more)


@pytest.mark.parametrize("drives", range(4, 12))
def test_rates_are_those_of_the_textbook(drives):
    """In drives: streams get the units of data, random reads all, random writes pay 4 or 6 I/Os for parity."""
    one = 1 / (0.008 + BLOCK / 20e6)
    expected = {
        "raid0": (drives, drives, drives),
        "raid1": (1, drives, 1),
        "raid5": (drives - 1, drives, drives / 4),
        "raid6": (drives - 2, drives, drives / 6),
    }
    if drives % 2 == 0:
        expected["raid10"] = (drives / 2, drives, drives / 2)
    for level, (stream, reads, writes) in expected.items():
        array = layout(level, drives)
        assert stream_bytes_per_s(array, write=False) == pytest.approx(stream * 20e6)
        assert stream_bytes_per_s(array, write=True) == pytest.approx(stream * 20e6)
        assert random_iops(array, BLOCK, write=False) == pytest.approx(reads * one)
        assert random_iops(array, BLOCK, write=True) == pytest.approx(writes * one)


@pytest.mark.parametrize("drives", range(3, 12))
def test_a_missing_drive_costs_what_the_textbook_says(drives):
    """Of raid5: half of the random reads; writes whose data, parity or neither is lost take N-1, 1 and 4 I/Os."""
    one, array = 1 / (0.008 + BLOCK / 20e6), layout("raid5", drives, 1)
    assert random_iops(array, BLOCK, write=False) == pytest.approx(drives / 2 * one)
    assert random_iops(array, BLOCK, write=True) == pytest.approx((drives - 1) * drives / (5 * drives - 8) * one)
    assert stream_bytes_per_s(array, write=False) == pytest.approx((drives - 1) * 20e6)


def test_two_missing_drives_of_raid6_and_mirrors():
    one = 1 / (0.008 + BLOCK / 20e6)
    # Of 6 drives 4 are left: 4 reads of 6 are served by one, the others by all four.
    assert random_iops(layout("raid6", 6, 2), BLOCK, write=False) == pytest.approx(2 * one)
    # The mirror of a missing drive takes all of the pair's reads.
    assert random_iops(layout("raid10", 6, 1), BLOCK, write=False) == pytest.approx(3 * one)
    assert random_iops(layout("raid1", 3, 1), BLOCK, write=False) == pytest.approx(2 * one)


def test_nothing_is_done_by_a_drive_that_is_missing():
    for level, drives, missing in (("raid5", 5, 1), ("raid6", 6, 2), ("raid10", 6, 3), ("raid1", 3, 2)):
        array = Array(layout(level, drives, missing))
        for number in range(400):
            # Every third goes on where the last ended.
            offset = number // 3 * 7 * 65536 + number % 3 * 65536
            work = array.work(offset % (200 << 20), 65536, write=number % 2 == 1)
            assert not array.layout.gone & work.keys()
            assert sum(work.values()) > 0


def test_a_rebuild_takes_its_share_of_each_drive():
    with_it = layout("raid5", 5, 1, rebuild_share=0.25)
    assert stream_bytes_per_s(with_it, write=False) == pytest.approx(0.75 * 4 * 20e6)


def test_a_whole_stripe_is_written_without_reading():
    work = Array(layout("raid5", 5)).of_one(0, 4 * 65536, write=True)
    assert work == dict.fromkeys(range(5), pytest.approx(0.008 + 65536 / 20e6))


def test_a_request_of_many_stripes_seeks_once_a_drive():
    assert Array(layout("raid0", 1)).of_one(0, 1 << 20, write=False) == {0: pytest.approx(0.008 + (1 << 20) / 20e6)}
    work = Array(layout("raid1", 2)).of_one(0, 1 << 20, write=False)
    assert list(work.values()) == [pytest.approx(0.008 + (1 << 20) / 20e6)]


def test_what_begins_where_something_ended_is_a_stream_and_single_blocks_are_not():
    array = Array(layout("raid0", 4))
    assert len(array.work(0, 65536, write=False)) == 1
    assert array.work(65536, 65536, write=False) == dict.fromkeys(range(4), pytest.approx(65536 / 4 / 20e6))
    assert len(array.work(100 << 20, BLOCK, write=False)) == 1


def test_two_streams_of_mirrors_use_both_copies():
    array = Array(layout("raid1", 2))
    for place in range(4):
        here = array.work(place * 65536, 65536, write=False)
        there = array.work((64 << 20) + place * 65536, 65536, write=False)
    assert set(here) != set(there)


def test_the_inner_half_of_a_drive_has_a_rate_of_its_own():
    array = Array(layout("raid0", 1, bw_bytes_per_s=40e6, inner_bytes_per_s=20e6))
    assert array.of_stream(0, 1 << 20, 0, write=False)[0] == pytest.approx((1 << 20) / 40e6)
    assert array.of_stream(128 << 20, 1 << 20, 0, write=False)[0] == pytest.approx((1 << 20) / 20e6)


def test_the_cache_holds_what_was_read_and_no_more():
    array = Array(layout("raid5", 5, cache_bytes=4 * 65536))
    assert len(array.work(0, BLOCK, write=False)) == 2
    assert array.work(8192, BLOCK, write=False) == {SSD: 1 / 4000}
    for number in range(10, 18, 2):
        array.work(number * 65536, BLOCK, write=False)
    assert len(array.work(0, BLOCK, write=False)) == 2
    held = layout("raid5", 5, cache_bytes=64 << 20)
    assert cached_iops(held, 32 << 20) == 4000
    assert cached_iops(held, 256 << 20) == pytest.approx(random_iops(held, 65536, write=False) / 0.75)


@pytest.mark.parametrize(
    "given",
    [
        {"level": "raid7"},
        {"level": "raid10", "drives": 5},
        {"level": "raid6", "drives": 3},
        {"level": "raid0", "degraded": 1},
        {"level": "raid0", "rebuilding": 1},
        {"level": "raid5", "degraded": 2},
        {"ssd_cache": 2},
        {"rebuild_percent": 100},
    ],
)
def test_arrays_that_cannot_be_are_refused(given):
    with pytest.raises(UsageError):
        layout_of(filled(find("array-model"), given))


@pytest.mark.parametrize(("level", "drives"), [("raid0", 3), ("raid1", 3), ("raid5", 5), ("raid6", 8), ("raid10", 6)])
def test_the_product_sheet_gives_the_size_of_the_disk_and_what_a_drive_does(level, drives):
    array = layout(level, drives, size_bytes=240 << 20)
    product = read_sheet(array_sheet("array-model", array).text, "product.toml")
    assert figures(product).capacity.usable_bytes == 240 << 20
    assert product.drives[0].read_bytes_per_s == 20e6


def test_the_link_or_the_array_limits():
    scenario = find("array-link")
    for rate, limit in ((20_000_000, 80e6), (50_000_000, 119.55e6)):
        truth = scenario.build(filled(scenario, {"bw_bytes_per_s": rate})).truth
        assert truth["read_bytes_per_s"].value == pytest.approx(limit, rel=1e-4)


def test_the_disk_keeps_what_is_written_and_takes_the_time_of_its_drives(tmp_path):
    """One drive, 20 ms an I/O: a write and a read of it take two."""
    nbd = shutil.which("nbdcopy")
    if nbd is None:
        pytest.skip("needs nbdcopy (libnbd-bin)")
    path, data = tmp_path / "s", tmp_path / "data"
    data.write_bytes(os.urandom(1 << 20))
    words = ["level=raid0", "drives=1", "seek_s=0.02", "size_bytes=1048576"]
    server = subprocess.Popen([sys.executable, "-m", "ioatlas_lab.array_server", f"unix:{path}", *words])
    try:
        with socket.socket(socket.AF_UNIX) as tried:
            while tried.connect_ex(str(path)):  # its name is there a moment before it takes connections
                time.sleep(0.01)
        uri, begin = f"nbd+unix:///?socket={path}", time.monotonic()
        subprocess.run([nbd, data, uri], check=True)
        subprocess.run([nbd, uri, tmp_path / "back"], check=True)
        assert time.monotonic() - begin >= 2 * (0.02 + (1 << 20) / 20e6)
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait()
    assert (tmp_path / "back").read_bytes() == data.read_bytes()
