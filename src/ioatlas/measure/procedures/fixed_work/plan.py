# SPDX-License-Identifier: Apache-2.0
"""Fixed-work sequences: operations on one new file, in order, never bounded by time; by fio, by IOzone or by both in
turns. The plan has one for each file size, record size and tool.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ioatlas.load.machine.host import memory_bytes
from ioatlas.load.streams.compile import compile_workload
from ioatlas.load.streams.fixed_work import round_of
from ioatlas.measure.procedures.fixed_work.options import FixedWorkOptions
from ioatlas.measure.run.plan import Plan, check_whole_blocks, only_directories
from ioatlas.model.cell import Cell, OptionValue
from ioatlas.model.errors import UsageError
from ioatlas.model.fixed_work import FIO, IOZONE, WorkSequence, sequence_cell
from ioatlas.model.target import Target
from ioatlas.model.testbed import Fact
from ioatlas.model.units import format_size, format_size_rounded
from ioatlas.model.workload import Workload
from ioatlas.plan.spec import CampaignSpec
from ioatlas.target.opening import NOT_YET
from ioatlas.target.place import usable_bytes

FILE = "ordered.dat"
SERVER_MEMORY = "server.ram"
_OURS = frozenset({"bs", "size", "direct"})
_NOT_OPTIONS = frozenset({"filename", "unlink", "filename_format", "nrfiles"})


def work_bytes(cells: Sequence[Cell]) -> int:
    """What a visit of each of these operations moves."""
    return sum(cell.members[0].integer("io_size", 0) for cell in cells)


def build_sequence_plan(
    spec: CampaignSpec, targets: tuple[Target, ...], *, read_only: bool = False, facts: Sequence[Fact] = ()
) -> Plan:
    """All cells of a fixed-work study on all targets. facts: typed in. Raises UsageError for what the study cannot
    do.
    """
    _check(spec, targets, read_only=read_only)
    remarks = [*spec.remarks, *_remarks(spec)]
    direct, engines = bool(spec.constants.get("direct", 1)), spec.of(FixedWorkOptions).engines
    records = [int(value) for value in _values(spec, "bs")]
    for target in targets if direct else ():
        check_whole_blocks(target, records, "[sweep] bs")
    cells: list[tuple[Cell, str]] = []
    sizes: list[int] = []
    for target in targets:
        local, reasons, notes = _sizes(spec, target, facts)
        remarks += notes
        sizes += local
        for size in local:
            for record in records:
                reason = reasons.get(size, "")
                if record > size:
                    reason = (
                        f"not admissible: the record ({format_size(record)}) is larger than the file "
                        f"({format_size(size)})"
                    )
                for tool in engines:
                    made = sequence_cells(spec, WorkSequence(target.name, tool, size, record))
                    cells += [(cell, reason) for cell in made]
    axes: dict[str, tuple[OptionValue, ...]] = {
        "operation": tuple(dict.fromkeys(str(cell.option["operation"]) for cell, _ in cells)),
        "tool": engines,
        "bs": tuple(records),
        "size": tuple(sorted(set(sizes))),
    }
    axes = {name: values for name, values in axes.items() if len(values) > 1 or name != "tool"}
    files = {
        target.name: {
            FILE: max((cell.end_bytes for cell, why in cells if cell.target == target.name and not why), default=0)
        }
        for target in targets
    }
    planned = replace(spec, axes=axes, constants={"direct": int(direct)})
    return Plan(planned, targets, tuple(cells), tuple(dict.fromkeys(remarks)), files)


def _remarks(spec: CampaignSpec) -> list[str]:
    """How the time is taken, in words."""
    flushed = spec.of(FixedWorkOptions).ordered == "iozone2017"
    told = [
        "fio's clock holds the opening of the file and the flush after a write (end_fsync), never the close. "
        "IOzone's holds flush and close of both and no opening. One opening and one closing of the file are timed "
        "right after each operation. The one is taken out, the other added."
        if flushed
        else "fio's clock runs from the opening of the file to the last I/O; neither flush nor close is in it.",
        (
            "fio counts whole milliseconds, rounded up: a run of so few that this matters is timed by the sum of its "
            "I/Os "
            "instead."
        ),
    ]
    if IOZONE in spec.of(FixedWorkOptions).engines:
        told.append("IOzone's clock also holds its seeks, and its look at each page of a record that it has read.")
    return told


def sequence_cells(spec: CampaignSpec, one: WorkSequence) -> list[Cell]:
    """The operations of one sequence of the study in their order, as cells."""
    study, direct = spec.of(FixedWorkOptions).ordered, bool(spec.constants.get("direct", 1))
    inside = max(one.size_bytes, one.record_bytes)  # a record larger than the file is shown, never run
    return [
        sequence_cell(one, workload.streams[0].operation, _options(workload, inside, one), direct=direct)
        for workload in round_of(study, inside, one.record_bytes, direct=direct)
    ]


def _options(workload: Workload, size_bytes: int, one: WorkSequence) -> dict[str, OptionValue]:
    """Fio's options of one operation. Every one states its work, so that none can be taken for a load bounded by
    time.
    """
    (stream,) = workload.streams
    (section,) = compile_workload(workload).sections
    options = {
        name: value
        for name, value in section.options.items()
        if name not in _NOT_OPTIONS and isinstance(value, (int, float, str))
    }
    options["io_size"] = size_bytes // one.record_bytes * one.record_bytes
    options["size"] = size_bytes
    if stream.address.law == "fixed":
        # A hole as long as the record, backwards: fio stays at the first record and the file keeps its size.
        options["rw"] = f"{options['rw']}:-{one.record_bytes}"
    if one.tool != FIO:
        options["ioengine"] = one.tool
    return options


def _values(spec: CampaignSpec, name: str) -> tuple[OptionValue, ...]:
    return spec.axes.get(name) or ((spec.constants[name],) if name in spec.constants else ())


def _check(spec: CampaignSpec, targets: Sequence[Target], *, read_only: bool) -> None:
    taken = sorted((spec.axes.keys() | spec.constants.keys()) - _OURS)
    if taken or spec.patterns:
        raise UsageError(
            f"{taken[0] if taken else 'pattern'} is decided by the study {spec.of(FixedWorkOptions).ordered}: its "
            "operations and their order are fixed",
            where="[sweep]",
            remedy="set size, bs and direct only, or use another profile",
        )
    if "direct" in spec.axes:
        raise UsageError(
            "direct is one value for the whole study", where="[sweep] direct", remedy="write direct = 0 or direct = 1"
        )
    if read_only:
        raise UsageError(
            "the study writes the file that it reads",
            where="--read-only",
            remedy="leave it out, or use another profile",
        )
    spec.leaves_out("cells error prepare", "a fixed-work study, which makes its own files")
    if spec.wanted.precision is not None and spec.wanted.cap < 3:
        raise UsageError(
            "an interval takes three visits",
            where="max_visits",
            remedy="allow 3 or more, or ask for a fixed number with `visits`",
        )
    only_directories(targets, "a study that begins with a new file takes")
    if IOZONE in spec.of(FixedWorkOptions).engines and spec.of(FixedWorkOptions).ordered != "iozone2017":
        raise UsageError(
            "IOzone as a second engine is for the profile iozone2017", where="engine", remedy="leave it out"
        )


def _sizes(spec: CampaignSpec, target: Target, facts: Sequence[Fact]) -> tuple[list[int], dict[int, str], list[str]]:
    """File sizes for one target, those that do not fit with the reason, and what is to be said about them."""
    sizes = [int(value) for value in _values(spec, "size")]
    notes: list[str] = []
    if not sizes:
        sizes, notes = _beyond_memory(facts)
    if target.identity == NOT_YET:  # it is set up later: whether the files fit is seen then
        return sizes, {}, notes
    usable = usable_bytes(target)
    reasons = {
        size: f"not admissible: the file does not fit the free space ({format_size_rounded(usable)} usable)"
        for size in sizes
        if size > usable
    }
    if len(reasons) == len(sizes):
        raise UsageError(
            f"the smallest file, {format_size(min(sizes))}, does not fit: {format_size_rounded(usable)} are usable",
            where=target.location,
            remedy="set a smaller size in [sweep], or free some space",
        )
    if reasons and notes:
        notes.append(
            f"{target.name}: files over {format_size(max(s for s in sizes if s <= usable))} do not fit its free "
            "space, so memory is not exceeded there."
        )
    return sizes, reasons, notes


def _beyond_memory(facts: Sequence[Fact]) -> tuple[list[int], list[str]]:
    """Doubling sizes until the largest is beyond the memory of client and server, as far as they are known."""
    memories = known_memory(facts)
    top = max([1 << 30, *memories.values()])
    size = 64 << 10
    sizes = [size]
    while size <= top:
        size *= 2
        sizes.append(size)
    told = " and ".join(f"{format_size_rounded(value)} of the {name}" for name, value in memories.items())
    note = f"The largest file, {format_size(size)}, is the first doubling beyond the memory known: {told or 'none'}."
    if "server" not in memories:
        note += (
            f' The server\'s memory is not known: write {SERVER_MEMORY} = "4 GiB" under [facts] in testbed.toml or the '
            "file of --facts, or set `size`."
        )
    return sizes, [note]


def known_memory(facts: Sequence[Fact]) -> dict[str, int]:
    """Bytes of memory of client (read) and server (typed in), where known."""
    server = next(
        (int(fact.value) for fact in facts if fact.name == SERVER_MEMORY and isinstance(fact.value, (int, float))), 0
    )
    return {name: value for name, value in (("client", memory_bytes()), ("server", server)) if value}


def fewer(plan: Plan, sizes: Sequence[int], records: Sequence[int], reason: str) -> Plan:
    """The plan with every sequence of other sizes or records left out."""

    def judged(cell: Cell, why: str) -> str:
        return why or ("" if int(cell.option["size"]) in sizes and int(cell.option["bs"]) in records else reason)

    return replace(plan, cells=tuple((cell, judged(cell, why)) for cell, why in plan.cells))


def with_size(plan: Plan, size_bytes: int, reason: str) -> Plan:
    """The plan on a smaller file: its cells are added, those of every other size left out."""
    new = list(_resized(plan, size_bytes))
    axes = {**plan.spec.axes, "size": tuple(sorted({*(int(v) for v in plan.spec.axes["size"]), size_bytes}))}
    left = fewer(plan, [size_bytes], [int(value) for value in plan.spec.axes["bs"]], reason)
    known = {cell.key for cell, _ in left.cells}
    cells = (*left.cells, *((cell, "") for cell in new if cell.key not in known))
    return replace(left, spec=replace(plan.spec, axes=axes), cells=cells)


def _resized(plan: Plan, size_bytes: int) -> Iterator[Cell]:
    for target in plan.targets:
        for record in plan.spec.axes["bs"]:
            if int(record) <= size_bytes:
                for tool in plan.spec.of(FixedWorkOptions).engines:
                    yield from sequence_cells(plan.spec, WorkSequence(target.name, tool, size_bytes, int(record)))
