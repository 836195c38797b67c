# SPDX-License-Identifier: Apache-2.0
"""From uses to cells: one for each phase of a use on each target, laid out as large as the use says and the target
has room for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from ioatlas.measure.procedures.fit.use import Asked, Load, Quantity, Use
from ioatlas.measure.run.plan import Plan, complete_options, files_of
from ioatlas.model.cell import CLIENT_RANGE, CLIENTS, FLUSHES, OF_FLEETS, Cell, OptionValue
from ioatlas.model.errors import UsageError
from ioatlas.model.target import Target
from ioatlas.model.units import format_size_rounded
from ioatlas.plan.spec import CampaignSpec

Options = Mapping[str, OptionValue]
ALIGN = 1 << 20
SHARE_OF_FREE = 4
"""A use takes at most this part of what is free in a directory."""
FEWEST_BLOCKS = 2
"""Of each job of a load, in what it works on."""
APPENDED = 10
"""Times its size that a load which appends takes at most before it is cut off."""
PHASE = "phase"
LONGEST_LABEL = 60


def build_fit_plan(spec: CampaignSpec, uses: tuple[Use, ...], targets: tuple[Target, ...], *, read_only: bool) -> Plan:
    """Raises UsageError for what can be seen to be wrong before anything runs."""
    if not targets:
        raise UsageError("no target is named", remedy="name one: `ioatlas fit DIRECTORY --for etcd`")
    if spec.axes or spec.constants.keys() - OF_FLEETS or spec.patterns or spec.prepare != "laid-out":
        raise UsageError(
            "a use says itself what is loaded",
            where="--for",
            remedy="leave everything else out, or write a use of your own: `ioatlas fit --new`",
        )
    cells: list[Cell] = []
    remarks = list(spec.remarks)
    for target in targets:
        for use in uses:
            for cell, _ in cells_of(use, target, spec.constants):
                if read_only and cell.writes:
                    raise UsageError(f"{use.name} writes", where="--read-only", remedy="leave it out, or that use")
                cells.append(cell)
            remarks += _smaller(use, target, spec.constants)
            remarks += [f"{use.name.partition(':')[0]}: {use.note}"] if use.note else []
    rows = tuple((cell, "") for cell in {cell.key: cell for cell in cells}.values())
    plan = Plan(replace(spec, visits=1), targets, rows, tuple(dict.fromkeys(remarks)))
    return replace(plan, files=files_of(plan))


def cells_of(use: Use, target: Target, shared: Options) -> Iterator[tuple[Cell, tuple[Load, ...]]]:
    """The cell of each phase on a target, with its loads. Loads that run at once have ranges of their own.

    shared: options of every load: how many clients make it together, and whether each has files of its own.
    """
    for number, loads in enumerate(use.phases):
        end, placed = 0, []
        for load in loads:
            size = _size(load, target, loads, shared)
            options = {**load.options, **shared, "size": size, "offset": end}
            if not target.takes_flushes and set(FLUSHES) & set(options):
                raise UsageError(
                    f"{use.name} flushes, and this server takes no flushes: what was written may be lost without power",
                    where=target.location,
                    remedy="have the server take them (of NBD: its export has to offer `flush`)",
                )
            if target.kind == "uri" and "fdatasync" in options:
                options["fsync"] = options.pop("fdatasync")  # engines of the network know one kind of flush
            if target.kind != "directory":
                options.pop("file_append", None)  # nothing grows there
            placed.append((load.name, complete_options(options, target, size)))
            end += -(-size // ALIGN) * ALIGN
        if len(loads) == 1:
            options = dict(placed[0][1])
            options.pop("offset")
            yield Cell.of(target.name, options), loads
            continue
        label = re.sub(r"[^A-Za-z0-9.]+", "-", f"{use.name} {number + 1}" if number else use.name)[-LONGEST_LABEL:]
        streams = tuple((name, tuple(sorted(options.items()))) for name, options in placed)
        yield Cell(target.name, ((PHASE, label.strip("-.")),), streams=streams), loads


def scaled(use: Use, share: float) -> Use:
    """The use on a share of the sizes that it says, each load at least on a few of its blocks."""

    def smaller(load: Load) -> Load:
        return replace(load, size_bytes=min(load.size_bytes, max(_least(load), int(load.size_bytes * share))))

    return replace(use, phases=tuple(tuple(map(smaller, loads)) for loads in use.phases))


def _least(load: Load) -> int:
    """What a load works on at least."""
    blocks = FEWEST_BLOCKS * max(Cell.of("", load.options).block_sizes) * int(load.options.get("numjobs", 1))
    return -(-blocks // ALIGN) * ALIGN


def asked(use: Use, target: Target, shared: Options) -> Asked:
    """A use on a target, with the places of its loads. shared: as of `cells_of`."""
    direct = {load.name for loads in use.phases for load in loads if target.kind == "uri" or load.options.get("direct")}
    requires = tuple(
        replace(one, written=True) if one.quantity is Quantity.FLUSH and one.load in direct else one
        for one in use.requires
    )
    places = {
        load.name: (cell.key, load.name if cell.streams else "")
        for cell, loads in cells_of(use, target, shared)
        for load in loads
    }
    return Asked(replace(use, requires=requires), target.name, places)


def _size(load: Load, target: Target, loads: tuple[Load, ...], shared: Options) -> int:
    """What a load works on: less than it says where there is less room, in whole blocks of it."""
    files = int(shared[CLIENTS]) if shared.get(CLIENT_RANGE) == "own" else 1
    times = [files * (APPENDED if one.options.get("file_append") else 1) for one in loads]
    wanted = sum(one.size_bytes * each for one, each in zip(loads, times, strict=True))
    room = target.size_bytes
    if room is None and target.free_bytes is not None:
        room = target.free_bytes // SHARE_OF_FREE
    size = -(-load.size_bytes // ALIGN) * ALIGN
    if room is not None and wanted + len(loads) * ALIGN > room:
        size = int(size * max(0.0, room - len(loads) * ALIGN) / wanted) // ALIGN * ALIGN
    if size < min(_least(load), load.size_bytes):
        raise UsageError(
            f"there is no room for the load {load.name!r}",
            where=target.location,
            remedy=f"free some space: it works on {format_size_rounded(wanted)}, or a quarter of what is free",
        )
    return size


def _smaller(use: Use, target: Target, shared: Options) -> list[str]:
    """That a use works on less than it says, and so may be answered from a cache."""
    for loads in use.phases:
        wanted, got = sum(one.size_bytes for one in loads), sum(_size(one, target, loads, shared) for one in loads)
        if got < wanted:
            sizes = f"{format_size_rounded(got)} instead of {format_size_rounded(wanted)}"
            return [f"{use.name} works on {sizes}: there is not more room. A cache may hold what is smaller."]
    return []
