# SPDX-License-Identifier: Apache-2.0
"""Which file, or which range of a device, a cell works on: cells whose data compress or repeat differently never share
one.

A read says nothing of compressible data when what lies there is not compressible, so each kind of data gets a place of
its own, laid out with the same data options as its cells write.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from ioatlas.load.fleet.sharing import file_of
from ioatlas.model.cell import Cell, OptionValue

_DATA = """
    buffer_compress_percentage buffer_compress_chunk dedupe_percentage dedupe_mode dedupe_working_set_percentage
    buffer_pattern zero_buffers
"""
DATA_OPTIONS = tuple(_DATA.split())
SHARED_FILE = "shared.dat"
PRIVATE_FILE = "private.{job}"
ALIGNMENT = 1 << 20

Data = tuple[tuple[str, OptionValue], ...]


def data_of(cell: Cell) -> Data:
    """The options of a cell that say what its data look like; empty for data that neither compress nor repeat."""
    option = cell.members[0].option
    return tuple((name, option[name]) for name in DATA_OPTIONS if option.get(name, 0) not in (0, "0"))


class Places:
    """The places of a campaign's cells.

    Every cell of the campaign must be given, measured or not, so that places never change.
    """

    def __init__(self, cells: Iterable[Cell]) -> None:
        self._kinds: dict[str, dict[Data, int]] = {}
        self._stride: dict[str, int] = {}
        self._clients: dict[str, int] = {}
        for cell in cells:
            if cell.own_ranges:
                self._clients[cell.target] = max(self._clients.get(cell.target, 1), cell.clients)
            known = self._kinds.setdefault(cell.target, {})
            known.setdefault(data_of(cell), len(known))
            self._stride[cell.target] = max(
                self._stride.get(cell.target, 0), -(-cell.end_bytes // ALIGNMENT) * ALIGNMENT
            )

    def _number(self, cell: Cell) -> int:
        """0 for the only or first kind of data on the target."""
        return self._kinds.get(cell.target, {}).get(data_of(cell), 0)

    def kinds(self, target: str) -> int:
        """How many kinds of data the target is to hold."""
        return len(self._kinds.get(target, {}))

    def offset_bytes(self, cell: Cell) -> int:
        """Where on a file, device or URI the range of the cell's kind of data begins."""
        return self._number(cell) * self._stride.get(cell.target, 0) if self.kinds(cell.target) > 1 else 0

    def file_name(self, cell: Cell, job: int | str = "") -> str:
        """The file in a directory: the shared one, or that of a job."""
        name = SHARED_FILE if cell.sharing == "shared" else PRIVATE_FILE.format(job=job)
        if self.kinds(cell.target) < 2:
            return name
        stem, dot, rest = name.partition(".")
        return f"{stem}-{self._number(cell)}{dot}{rest}"

    def clients(self, target: str) -> int:
        """How many clients have files or ranges of their own on the target; 1 where all work on the same."""
        return self._clients.get(target, 1)

    def client_stride_bytes(self, target: str) -> int:
        """How far apart the ranges of two clients begin on what is no directory; 0 where all work on the same."""
        return self._stride.get(target, 0) * max(1, self.kinds(target)) if self.clients(target) > 1 else 0

    def footprint(self, cell: Cell) -> tuple[str, str, int]:
        """What two cells have in common that work on the same bytes: target, sharing, kind of data."""
        return cell.target, cell.sharing, self._number(cell)


@dataclass(frozen=True)
class Extent:
    """A file, or a range from `offset_bytes` on, to be laid out. smallest_block_bytes: of its cells;
    repeated data repeat in such blocks.
    """

    size_bytes: int
    data: Data = ()
    offset_bytes: int = 0
    smallest_block_bytes: int = ALIGNMENT

    @property
    def end_bytes(self) -> int:
        return self.offset_bytes + self.size_bytes

    @property
    def holds(self) -> tuple[Data, int]:
        """What the data look like, wherever they lie."""
        return self.data, self.smallest_block_bytes


def joined(wanted: Mapping[str, Extent]) -> dict[str, Extent]:
    """Ranges of one file, device or export, those that touch and hold the same data as one: ten clients with ranges of
    their own are written in one go.
    """
    found: dict[str, Extent] = {}
    last = ""
    for name, extent in sorted(wanted.items(), key=lambda item: item[1].offset_bytes):
        before = found.get(last)
        if before is None or before.end_bytes < extent.offset_bytes or before.holds != extent.holds:
            found[name], last = extent, name
        else:
            end = max(before.end_bytes, extent.end_bytes)
            found[last] = replace(before, size_bytes=end - before.offset_bytes)
    return found


def extents(cells: Iterable[Cell], places: Places, *, directory: bool) -> dict[str, Extent]:
    """What is to be laid out on one target for `cells`, by name.

    In a directory names are those of files; elsewhere they name ranges of the one file, device or export ('' when there
    is one only).
    """
    found: dict[str, Extent] = {}
    for cell in cells:
        size = cell.size_bytes if directory and cell.sharing == "private" else cell.end_bytes
        smallest = min(cell.block_sizes)
        for name, offset in _places_of(cell, places, directory=directory).items():
            known = found.get(name)
            if known is None or known.size_bytes < size or known.smallest_block_bytes > smallest:
                known = known or Extent(0, data_of(cell), offset)
                found[name] = replace(
                    known,
                    size_bytes=max(size, known.size_bytes),
                    smallest_block_bytes=min(smallest, known.smallest_block_bytes),
                )
    return found


def _places_of(cell: Cell, places: Places, *, directory: bool) -> dict[str, int]:
    """Where a cell works: names of files, each at offset 0, or of ranges with their offsets."""
    clients = places.clients(cell.target) if cell.own_ranges else 1
    if not directory:
        stride, begin = places.client_stride_bytes(cell.target), places.offset_bytes(cell)
        starts = [begin + client * stride for client in range(clients)]
        several = places.kinds(cell.target) > 1 or clients > 1
        return {f"at {start}" if several else "": start for start in starts}
    names = [places.file_name(cell)]
    if cell.sharing == "private":
        names = [places.file_name(cell, job) for job in range(cell.numjobs)]
    if cell.own_ranges:
        names = [file_of(name, client) for name in names for client in range(clients)]
    return dict.fromkeys(names, 0)
