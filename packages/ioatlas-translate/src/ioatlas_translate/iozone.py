# SPDX-License-Identifier: Apache-2.0
"""IOzone command lines (facts: its usage text, manual and behaviour, versions 3.4xx).

IOzone times a fixed amount of work once: nothing here is bounded by time. Numbers without a suffix are kilobytes of
1024 bytes. Auto mode crosses files of 64 KB to 512 MB with records of 4 KB to 16 MB, and leaves records under 64 KB out
for files above 16 MB unless `-z` or a size or record option is given. Write makes a new file, rewrite and the reads
need it; nothing is dropped from the cache between them unless `-U` remounts.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from ioatlas.load.streams.fidelity import Fidelity, Notes, notes_in
from ioatlas.load.streams.fixed_work import TESTS, WRITERS, operation
from ioatlas.model.cell import OptionValue
from ioatlas.model.errors import UsageError
from ioatlas.model.units import words
from ioatlas.model.workload import Arrival, Stream, Workload
from ioatlas_translate.command import (
    Action,
    Source,
    append,
    as_it_is,
    asks_for_help,
    both,
    command_line,
    fixed,
    lost,
    noting,
    put,
    puts,
    same,
    sets,
    sized,
    whole,
    whole_number,
)
from ioatlas_translate.translation import Translation, from_workloads

_TOLD = notes_in("ioatlas_translate", "iozone")
RECORD_MAX_BYTES = 16 << 20
_TAKES = frozenset("JjkVrtsfdluUSLHPibXYgnyq") | {f"+{letter}" for letter in "mxpqAwyCSWHPbicIsfh"}
_FLAGS = frozenset("ZQNIBDGCTOMREWovAxamwphcezK") | {f"+{letter}" for letter in "udrtnklLBDNVXZEFJKzUTeoOvaRY"}


@dataclass
class Plan:
    """What a command line asks for."""

    auto: bool = False
    extended: bool = False
    no_crossover: bool = False
    tests: list[int] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    records: list[int] = field(default_factory=list)
    low_size: int | None = None
    high_size: int | None = None
    low_record: int | None = None
    high_record: int | None = None
    children: list[int] = field(default_factory=list)
    lower: int = 0
    upper: int = 0
    multiplier: int = 2
    threads: bool = False
    depth: int = 1
    direct: bool = False
    sync: str = ""
    fsync: bool = False
    close: bool = False
    mapped: bool = False
    stride: int = 17
    compute_ms: int = 0
    retest: bool = True
    aggregate: bool = False
    keep: bool = False
    remount: bool = False
    read_percent: int | None = None
    sequential_mix: bool = False
    shared_file: bool = False
    name: str = ""
    options: dict[str, OptionValue] = field(default_factory=dict)
    notes: Notes = field(default_factory=Notes)
    diagnosis: bool = False

    @property
    def own_data(self) -> bool:
        """Whether IOzone writes the data it writes unless told otherwise."""
        return not self.diagnosis and not {"buffer_pattern", "dedupe_percentage"} & self.options.keys()


def kilobytes(text: str, option: str) -> int:
    """Bytes of a size as IOzone reads it: whole kilobytes, or with k, m, g (binary)."""
    size = sized(text, option, {"": 1 << 10, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}, f"{option} 64k")
    if not 0 < size < 1 << 62 or "." in text:
        raise UsageError(f"{option} {text!r} is no size of a file", remedy="write a size of whole kilobytes")
    return int(size)


def _words(given: list[str]) -> Iterator[tuple[str, str]]:
    """(letter, argument) pairs by getopt's rules: clusters of letters, arguments attached or in the next word."""
    left = deque(given)
    while left:
        word = left.popleft()
        if not word.startswith("-") or word == "-":
            yield "word", word
            continue
        rest = word[1:]
        while rest:
            name, rest = rest[0], rest[1:]
            if name == "+":
                rest = rest or (left.popleft() if left else "")
                name, rest = f"+{rest[:1]}", rest[1:]
            if name in _FLAGS:
                yield name, ""
            elif name == "F":
                names = [rest] if rest else []
                while left and not left[0].startswith("-"):
                    names.append(left.popleft())
                yield "F", " ".join(names)
                break
            elif name not in _TAKES:
                raise UsageError(f"IOzone has no option -{name}", remedy="remove it, or correct its spelling")
            elif not rest and not left:
                raise UsageError(f"-{name} takes a value", remedy="add it")
            else:
                yield name, rest or left.popleft()
                break


def read_command(given: list[str]) -> Plan:
    """The plan of one command line. Raises UsageError for what IOzone does not know or cannot run."""
    plan = Plan()
    for letter, value in _words(given):
        _ACTIONS.get(letter, _OTHER)(plan, f"-{letter}", value)
    if plan.records and max(plan.records) > RECORD_MAX_BYTES:
        raise UsageError("IOzone's largest record is 16 MB", remedy="use -r 16m or less")
    return plan


def _pattern(plan: Plan, option: str, value: str) -> None:
    byte = whole_number(value, option, high=255) or 0xA5
    plan.options["buffer_pattern"] = f"0x{byte:02x}"
    plan.notes.lost("verification", "-V: the pattern is written, but checked by `ioatlas --verify` only")


def _access_hint(plan: Plan, option: str, value: str) -> None:
    hint = {"0": "0", "1": "random", "2": "sequential"}.get(value)
    if hint is None:
        plan.notes.lost("access hint", f"{option} {value}: this madvise value has no counterpart in fadvise_hint")
    else:
        plan.options["fadvise_hint"] = hint
        plan.notes.same("access hint", f"{option} {value}")


def _duplicates(plan: Plan, option: str, value: str) -> None:
    plan.options["dedupe_percentage"] = whole_number(value, option, high=100)
    plan.notes.nearly("deduplication", "-+w: share of identical blocks", "which blocks repeat is drawn differently")


_OTHER = lost("option {option}", "IOzone takes it, fio has nothing like it")
_ACTIONS: dict[str, Action] = {
    "word": same("command line", "{value!r} follows no option: IOzone passes over it too"),
    # What is run
    "A": fixed(auto=True, no_crossover=True),
    "i": append("tests", whole(high=12)),
    "s": append("sizes", kilobytes),
    "r": append("records", kilobytes),
    **puts(kilobytes, "n=low_size g=high_size y=low_record q=high_record"),
    "t": append("children", whole(1, 4096)),
    **puts(whole(1, 4096), "l=lower u=upper"),
    **sets("a=auto E=extended z=no_crossover T=threads"),
    "+n": fixed(retest=False),
    "+x": put("multiplier", whole(2, 1024)),
    # How it is run
    "j": put("stride", whole(1, 1 << 20)),
    **puts(whole(1, 65536), "H=depth k=depth"),
    **sets("I=direct B=mapped e=fsync c=close w=keep +k=aggregate +B=sequential_mix +V=shared_file"),
    "o": fixed(sync="sync"),
    "+D": fixed(sync="dsync"),
    "+r": both(
        fixed(sync="sync"),
        lost("synchronous reads", "{option}: O_RSYNC; Linux treats it as O_SYNC, which acts on writes only"),
    ),
    "J": put("compute_ms", whole(high=1 << 22)),
    **puts(as_it_is, "f=name F=name"),
    "U": both(fixed(remount=True), noting(_TOLD["remount"])),
    "+p": put("read_percent", whole(1, 100)),
    "V": _pattern,
    "+w": _duplicates,
    "+A": _access_hint,
    "+d": both(fixed(diagnosis=True), lost("diagnosis", "{option}: diagnostic mode checks the data")),
    # What fio has nothing like, and what to do instead
    "P": lost("processor affinity", "{option}: one processor for each child; name them with cpus_allowed"),
    "+m": lost("cluster", "{option}: clients named in a file; name hosts to `ioatlas map` instead"),
    **dict.fromkeys(words("C M N O R Q b v S L +u +z x"), same("reporting", "{option}: not part of the load")),
    "h": asks_for_help,
}


_CROSSOVER = 16 << 20
_THROUGHPUT_ORDER = (
    *(op for test in (0, 1, 3, 5) for op in TESTS[test]),
    *("random read", "mixed workload", "random write"),
    *(op for test in (9, 10, 11, 12, 6, 7) for op in TESTS[test]),
)


def grid(plan: Plan) -> list[tuple[int, int]]:
    """(file bytes, record bytes) in IOzone's order: files outside, records inside."""

    def doubling(low: int, high: int) -> list[int]:
        values = []
        while low <= high:
            values.append(low)
            low *= plan.multiplier
        return values

    ranged = plan.auto or plan.low_size is not None or plan.high_size is not None
    if plan.sizes:
        sizes = plan.sizes
    elif ranged:
        sizes = doubling(plan.low_size or 64 << 10, plan.high_size or 512 << 20)
    else:
        sizes = [512 << 10]
    free = not (plan.records or plan.sizes or plan.low_record or plan.high_record)
    if plan.records:
        records = plan.records
    elif plan.auto or plan.low_record or plan.high_record:
        records = doubling(plan.low_record or 4 << 10, min(plan.high_record or RECORD_MAX_BYTES, RECORD_MAX_BYTES))
    else:
        records = [4 << 10]
    points = []
    for size in sizes:
        for record in records:
            if record > size or (free and not plan.no_crossover and size > _CROSSOVER and record < 64 << 10):
                continue
            points.append((size, record))
    return points


def _operations(plan: Plan, *, throughput: bool) -> list[str]:
    tests = sorted(set(plan.tests))
    if not tests:
        tests = [*range(8), *([9, 10, 11, 12] if plan.extended else [])]
    if throughput:
        tests = tests if plan.tests else [t for t in range(9) if t != 4]
        chosen = {op for t in tests for op in TESTS[t]}
        ops = [op for op in _THROUGHPUT_ORDER if op in chosen]
    else:
        ops = [op for t in tests if t != 8 for op in TESTS[t]]
    if not plan.retest:
        ops = [op for op in ops if not op.startswith("re") or op == "read"]
        ops = [op for op in ops if op not in ("frewrite", "freread")]
    return ops


def _stream(op: str, size: int, record: int, plan: Plan, jobs: int, target: int) -> Stream:
    base = operation(
        op,
        size,
        record,
        plan.options,
        direct=plan.direct,
        own_data=plan.own_data,
        dropped=plan.remount,
        flushed=plan.fsync or plan.close,
        stride=plan.stride,
    )
    engine = "mmap" if plan.mapped else ("posixaio" if plan.depth > 1 else "psync")
    if op.endswith("v") and engine == "psync":
        engine = "pvsync"
    return replace(
        base,
        name=base.name + (f".t{jobs}" if plan.children or plan.upper else ""),
        arrival=Arrival(think_us=plan.compute_ms * 1000),
        jobs=jobs,
        depth=1 if plan.mapped else plan.depth,
        target=target,
        private=jobs > 1 and not plan.shared_file,
        origin=plan.name,
        sync=plan.sync if op in WRITERS else "",
        engine=engine,
        options={**base.options, **({"thinktime_spin": plan.compute_ms * 1000} if plan.compute_ms else {})},
    )


def _mixed(size: int, record: int, plan: Plan, jobs: int, target: int) -> Workload:
    readers = max(1, jobs * plan.read_percent // 100) if plan.read_percent else (jobs + 1) // 2
    readers = min(readers, jobs)
    law = "sequential" if plan.sequential_mix else "random"
    streams = []
    for op, count in (("read", readers), ("write", jobs - readers)):
        if count:
            name = op if law == "sequential" else f"random {op}"
            base = _stream(name, size, record, plan, count, target + (op == "write") * 100_000)
            named = f"mixed-{op}{base.name[len(name) :]}"
            streams.append(replace(base, name=named, operation="mixed", private=True))
    return Workload(f"mixed.s{size >> 10}k.r{record >> 10}k.t{jobs}", tuple(streams))


def _workloads(plan: Plan) -> Iterator[Workload]:
    throughput = bool(plan.children or plan.lower or plan.upper)
    counts = plan.children or [1]
    if plan.lower or plan.upper:
        counts = list(range(plan.lower or 1, (plan.upper or plan.lower) + 1))
    ops = _operations(plan, throughput=throughput)
    target = 0
    for jobs in counts:
        for size, record in grid(plan):
            target += 1
            each = max(record, size // jobs // record * record) if plan.aggregate else size
            for position, op in enumerate(ops):
                if op == "mixed workload":
                    yield _mixed(each, record, plan, jobs, target)
                    continue
                stream = _stream(op, each, record, plan, jobs, target)
                if position == len(ops) - 1 and not plan.keep:
                    stream = replace(stream, options={**stream.options, "unlink": 1})
                yield Workload(stream.name, (stream,))


def _notes(plan: Plan) -> Iterator[Fidelity]:
    throughput = bool(plan.children or plan.lower or plan.upper)
    ops = _operations(plan, throughput=throughput)
    writes = any(op in WRITERS or op == "mixed workload" for op in ops)
    applies = {
        "state": True,
        "direct": plan.direct,
        "buffered": not plan.direct and not plan.mapped,
        "fsync": plan.fsync,
        "close": plan.close,
        "stdio": any(op.startswith(("fwrite", "fread", "frewrite", "freread")) for op in ops),
        "vectored": any(op.endswith("v") for op in ops),
        "own-data": writes and plan.own_data,
        "diagnosis-data": writes and plan.diagnosis,
        "pattern-data": writes and not plan.diagnosis and "buffer_pattern" in plan.options,
        "reading": any(op not in WRITERS for op in ops),
        "throughput": throughput,
        "no-mix": 8 in plan.tests and not throughput,
        "no-record-rewrite": throughput and 4 in plan.tests,
        "mix": "mixed workload" in ops,
        "asynchronous": plan.depth > 1,
        "old-file": 0 not in plan.tests and plan.tests and not {6, 9, 11} & set(plan.tests),
    }
    yield from _idle(plan, ops)
    yield from (_TOLD[code].filled(depth=plan.depth) for code, does in applies.items() if does)


def _idle(plan: Plan, ops: Sequence[str]) -> Iterator[Fidelity]:
    """Options that change nothing of this load, in IOzone either."""
    doubles = not plan.sizes and (plan.auto or plan.low_size or plan.high_size)
    doubles = doubles or (not plan.records and (plan.auto or plan.low_record or plan.high_record))
    for option, given, counts, why in (
        ("-n", plan.low_size, not plan.sizes, "-s names the sizes"),
        ("-g", plan.high_size, not plan.sizes, "-s names the sizes"),
        ("-y", plan.low_record, not plan.records, "-r names the records"),
        ("-q", plan.high_record, not plan.records, "-r names the records"),
        ("-+x", plan.multiplier != 2, doubles, "sizes and records are named"),
        ("-j", plan.stride != 17, "strided read" in ops, "-i 5 is not run"),
        ("-+p", plan.read_percent, "mixed workload" in ops, "-i 8 is not run"),
    ):
        if given and not counts:
            yield Fidelity(option, "exact", f"it changes nothing here: {why}")


def translate(source: Source, tool: str) -> Translation:
    """A command line."""
    words = command_line(source, ("iozone",))
    plan = read_command(words)
    workloads = list(_workloads(plan))
    if not workloads:
        raise UsageError("no record fits into a file", remedy="check -s, -r, -n, -g, -y and -q, or the tests of -i")
    return from_workloads(tool, source.where, workloads, [*plan.notes, *_notes(plan)])
