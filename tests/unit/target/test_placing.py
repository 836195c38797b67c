# SPDX-License-Identifier: Apache-2.0
"""Ranges that are laid out: those that touch and hold the same data are one."""

from ioatlas.model.cell import CLIENTS, Cell
from ioatlas.target.placing import Extent, Places, extents, joined

MIB = 1 << 20
ZEROES = (("zero_buffers", 1),)


def test_ranges_that_touch_are_written_in_one_go():
    ranges = {f"at {n * MIB}": Extent(MIB, offset_bytes=n * MIB) for n in (2, 0, 1)}
    assert joined(ranges) == {"at 0": Extent(3 * MIB)}


def test_other_data_and_ranges_apart_stay_apart():
    apart = {"a": Extent(MIB), "b": Extent(MIB, offset_bytes=3 * MIB)}
    assert joined(apart) == apart
    other = {"a": Extent(MIB), "b": Extent(MIB, ZEROES, offset_bytes=MIB), "c": Extent(MIB, offset_bytes=2 * MIB)}
    assert joined(other) == other


def test_a_range_inside_another_adds_nothing():
    assert joined({"a": Extent(4 * MIB), "b": Extent(MIB, offset_bytes=MIB)}) == {"a": Extent(4 * MIB)}


def test_the_only_client_of_a_fleet_has_the_files_that_its_job_names():
    options = {"rw": "read", "bs": 4096, "size": MIB, CLIENTS: 1, "client_range": "own"}
    cell = Cell("nas", tuple(sorted(options.items())))
    assert list(extents([cell], Places([cell]), directory=True)) == ["shared.client1.dat"]
