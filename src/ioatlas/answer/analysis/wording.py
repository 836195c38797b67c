# SPDX-License-Identifier: Apache-2.0
"""Cells in words: only what tells a cell from the others of its campaign."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from ioatlas.model.cell import TARGETS, Cell, OptionValue
from ioatlas.model.options import SIZE_OPTIONS
from ioatlas.model.units import format_size, format_size_rounded

UNKNOWN_STATE = "unknown"
"""State of cells of other tools, of which only what the source says is told."""
_TIB = 1 << 40
NAMED = ("rw", "bs", "bssplit", "numjobs", "iodepth", "ioengine")
"""Options with a place of their own in a cell's name, or (the engine) that follow from the others."""


def plural(count: int, noun: str, many: str = "") -> str:
    """'1 visit', '2 visits', '1,920 cells'. many: the plural where it is not with an s."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {many or f'{noun}s'}"


class Namer:
    """Names cells of one campaign.

    cells:   every cell of the sweep, measured or not.
    targets: names of its targets; a single one is not repeated in every sentence.
    axes:    swept options, if they are known: others that differ (an engine that depends on the depth) follow from
    them.
    """

    def __init__(self, cells: Iterable[Cell], targets: Sequence[str], axes: Sequence[str] = ()) -> None:
        values: dict[str, set[OptionValue]] = {}
        count: Counter[str] = Counter()
        sharings, states, named = set(), set(), set(targets)
        n_cells = 0
        for cell in cells:
            n_cells += 1
            sharings.add(cell.sharing)
            states.add(cell.state)
            named.add(cell.target)
            for name, value in cell.options:
                values.setdefault(name, set()).add(value)
                count[name] += 1
        self._varied = [
            name
            for name, seen in values.items()
            if (len(seen) > 1 or count[name] < n_cells) and (not axes or name in axes)
        ]
        self._several_targets = len(named) > 1
        self._several_sharings = len(sharings) > 1
        self._several_states = len(states) > 1

    def on(self, target: str) -> str:
        """' on NAME' when there are several targets, else nothing."""
        return f" on {target}" if self._several_targets else ""

    @staticmethod
    def option(name: str, value: OptionValue) -> str:
        """'bs 64 KiB', 'size 1 GiB', '8 jobs', 'iodepth 32', 'rwmixread 70'."""
        if name == "numjobs":
            return plural(int(value), "job")
        if name == TARGETS:
            return plural(int(value), "target")
        if name == "rw":
            return str(value)
        if name in SIZE_OPTIONS:
            return f"{name} {size_text(value)}"
        return f"{name} {value}"

    def cell(self, cell: Cell, *, without: Sequence[str] = (), with_target: bool = False) -> str:
        """'randread, bs 64 KiB, 8 jobs': always rw or the operation, block size and jobs. Then whatever else varies,
        unless in `without`.
        """
        # What another tool calls an operation has no mode of fio's, unless it says so.
        operation = "" if "rw" in cell.option or cell.streams else str(cell.option.get("operation", ""))
        told = (*NAMED, *without, *(["operation"] if operation else []))
        parts = [operation or cell.rw, *self._load(cell, without)]
        parts += [
            self.option(name, cell.option[name]) for name in self._varied if name in cell.option and name not in told
        ]
        if self._several_sharings:
            parts.append("one file for all jobs" if cell.sharing == "shared" else "a file for each job")
        if self._several_states:
            parts.append(f"file {cell.state}")
        text = ", ".join(parts)
        return f"{text}{self.on(cell.target)}" if with_target else text

    def short(self, cell: Cell, *, without: Sequence[str] = ()) -> str:
        """'1 MiB random, 16 jobs': what a line that tells the direction needs, then whatever else varies."""
        size = size_text(cell.option.get("bs", cell.bs_bytes)) if "bssplit" not in cell.option else "mixed sizes"
        size = "" if _is_untold(cell, "bs") and "bssplit" not in cell.option else size
        mixed = cell.rw if len(cell.directions) > 1 else "random" if cell.rw.startswith("rand") else ""
        jobs = "" if _is_untold(cell, "numjobs") else plural(cell.numjobs, "job")
        parts = [part for part in (f"{size} {mixed}".strip(), jobs) if part]
        if cell.iodepth > 1:
            parts.append(f"iodepth {cell.iodepth}")
        parts += [
            self.option(name, cell.option[name])
            for name in self._varied
            if name in cell.option and name not in (*NAMED, *without)
        ]
        if self._several_sharings:
            parts.append("shared file" if cell.sharing == "shared" else "own files")
        return ", ".join(parts) or "load not told"

    def load(self, cell: Cell) -> str:
        """The size of the load only: 'bs 1 MiB, 8 jobs, iodepth 4'."""
        return ", ".join(self._load(cell, ()))

    def _load(self, cell: Cell, without: Sequence[str]) -> list[str]:
        parts = {
            "bs": self.option("bs", cell.option.get("bs", cell.bs_bytes)),
            "numjobs": self.option("numjobs", cell.numjobs),
        }
        if "bssplit" in cell.option:
            parts["bs"] = f"bssplit {cell.option['bssplit']}"
        if "iodepth" in self._varied or cell.iodepth > 1:
            parts["iodepth"] = f"iodepth {cell.iodepth}"
        return [text for name, text in parts.items() if name not in without and not _is_untold(cell, name)]


def _is_untold(cell: Cell, name: str) -> bool:
    """Whether another tool's file does not say it: fio's default holds for fio's own loads only."""
    return cell.state == UNKNOWN_STATE and name not in cell.option and (name != "bs" or "bssplit" not in cell.option)


def size_text(value: OptionValue) -> str:
    """Sizes, also fio's `read,write,trim` form. From 1 TiB on three digits tell a size better than all of them."""
    if isinstance(value, int):
        return format_size_rounded(value) if value >= _TIB else format_size(value)
    return "/".join(format_size(int(part)) if part.isdigit() else part or "default" for part in str(value).split(","))
