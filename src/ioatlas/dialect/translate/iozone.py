# SPDX-License-Identifier: Apache-2.0
"""IOzone command lines (facts: its usage text, manual and behaviour, versions 3.4xx).

IOzone times a fixed amount of work once: nothing here is bounded by time. Numbers without a suffix are kilobytes of 1024 bytes. Auto
mode crosses files of 64 KB to 512 MB with records of 4 KB to 16 MB, and leaves records under 64 KB out for files above 16 MB unless `-z`
or a size or record option is given. Write makes a new file, rewrite and the reads need it; nothing is dropped from the cache between
them unless `-U` remounts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from ioatlas.dialect.command import Source, command_lines, whole_number
from ioatlas.dialect.fidelity import Fidelity, approximate, exact, not_expressible
from ioatlas.dialect.translation import Translation, from_workloads
from ioatlas.errors import UsageError
from ioatlas.model.cell import OptionValue
from ioatlas.model.workload import Address, Arrival, Stream, Workload

_TAKES = "JjkVrtsfFdluUSLHPibXYgnyq"
_FLAGS = "ZQNIBDGCTOMREWovAxamwphcezK"
_PLUS_TAKES = frozenset("mxpqAwyCSWHPbicIsfh")
_PLUS_FLAGS = frozenset("udrtnklLBDNVXZEFJKzUTeoOvaRY")
_RECORD_MAX = 16 << 20
_CROSSOVER = 16 << 20
_REPORTING = {
    "C": "bytes of each child", "M": "uname", "N": "microseconds per operation", "O": "operations per second", "R": "Excel report",
    "Q": "offset and latency files", "b": "Excel file", "v": "version", "S": "processor cache size, used by purging only",
    "L": "processor cache line, used by purging only", "+u": "processor use", "+z": "latency histograms", "x": "no stonewalling of the summary",
}  # fmt: skip
_INEXPRESSIBLE = {
    "p": ("processor cache", "purging the processor's cache before each test"),
    "K": ("jitter", "one read in a hundred at a disturbed position"),
    "W": ("file locks", "locking the file around each I/O"),
    "X": ("telemetry", "writing a telemetry file"),
    "m": ("buffers", "several buffers in turn: fio's jobs have one for each I/O in flight"),
    "Z": ("mixed access", "mapped and file I/O on the same file in turn"),
    "+m": ("cluster", "clients named in a file, started by rsh or ssh; name hosts to `ioatlas map` instead"),
    "+d": ("diagnosis", "diagnostic mode checks the data"),
    "+t": ("network test", "a test of the network, not of storage"),
    "+l": ("record locks", "locking each record"),
    "+L": ("record locks", "locking each record of a shared file"),
    "+K": ("test 8", "manual control of test 8"),
    "+X": ("short circuit", "a mode whose results IOzone itself calls invalid"),
    "+b": ("bursts", "bursts by kilobytes with sleeps between"),
    "+H": ("time server", "clock from a PIT server"),
    "+P": ("time server", "port of the PIT server"),
    "+U": ("Windows", "unbuffered Windows calls"),
    "+S": ("deduplication", "sets of files that share data"),
    "+W": ("deduplication", "numbering of children for shared data"),
    "+i": ("cluster", "port of the controlling host"),
    "+h": ("cluster", "name of the controlling host"),
    "+E": ("file", "an existing foreign file, for reading only"),
}
_OWN_DATA = "0x" + "5f" * 8 + "00" * 56
"""IOzone's buffer as near as fio's pattern of at most 512 bytes comes to it: eight bytes of a pattern at the start of each page of 4,096, zeros behind.

IOzone writes the one buffer again and again and touches none of it between two records; with a pattern fio leaves its buffer alone too. Its
default, random data altered before every write, takes about 50 us more for a direct write of 1 MiB (docs/decisions/0114-iozones-data.md).
"""
OPERATIONS = {
    0: ("write", "rewrite"), 1: ("read", "reread"), 2: ("random read", "random write"), 3: ("backward read",), 4: ("record rewrite",),
    5: ("strided read",), 6: ("fwrite", "frewrite"), 7: ("fread", "freread"), 8: ("mixed",), 9: ("pwrite", "repwrite"), 10: ("pread", "repread"),
    11: ("pwritev", "repwritev"), 12: ("preadv", "repreadv"),
}  # fmt: skip
_SINGLE_ORDER = (0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12)
_THROUGHPUT_ORDER = ("write", "rewrite", "read", "reread", "backward read", "strided read", "random read", "mixed", "random write", "pwrite",
                     "repwrite", "pread", "repread", "pwritev", "repwritev", "preadv", "repreadv", "fwrite", "frewrite", "fread", "freread")  # fmt: skip
_WRITERS = frozenset(
    {"write", "rewrite", "random write", "record rewrite", "fwrite", "frewrite", "pwrite", "repwrite", "pwritev", "repwritev"}
)


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
    notes: list[Fidelity] = field(default_factory=list)
    diagnosis: bool = False

    @property
    def own_data(self) -> bool:
        """Whether IOzone writes the data it writes unless told otherwise."""
        return not self.diagnosis and not {"buffer_pattern", "dedupe_percentage"} & self.options.keys()


def kilobytes(text: str, option: str, where: str) -> int:
    """Bytes of a size as IOzone reads it: whole kilobytes, or with k, m, g (binary)."""
    match = re.fullmatch(r"(\d+)([kmg]?)", text, re.IGNORECASE)
    if match is None:
        raise UsageError(
            f"{option} takes kilobytes or a size with k, m or g, not {text!r}", where=where, remedy=f"write for example {option} 64k"
        )
    size = int(match.group(1)) * {"": 1 << 10, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}[match.group(2).lower()]
    if not 0 < size < 1 << 62:
        raise UsageError(f"{option} {text!r} is no size of a file", where=where, remedy="write a size of at least 1k")
    return size


def _words(words: list[str], where: str) -> Iterator[tuple[str, str]]:
    """(letter, argument) pairs by getopt's rules: clusters of letters, arguments attached or in the next word."""
    i = 0
    while i < len(words):
        word = words[i]
        i += 1
        if not word.startswith("-") or word == "-":
            yield "word", word
            continue
        rest = word[1:]
        while rest:
            letter, rest = rest[0], rest[1:]
            if letter == "+":
                if not rest and i < len(words):
                    rest, i = words[i], i + 1
                name, rest = rest[:1], rest[1:]
                if name in _PLUS_TAKES:
                    if not rest and i < len(words):
                        rest, i = words[i], i + 1
                    if not rest:
                        raise UsageError(f"-+{name} takes a value", where=where, remedy="add it")
                    yield f"+{name}", rest
                    rest = ""
                elif name in _PLUS_FLAGS:
                    yield f"+{name}", ""
                else:
                    raise UsageError(f"IOzone has no option -+{name}", where=where, remedy="remove it, or correct its spelling")
            elif letter == "F":
                names = [rest] if rest else []
                while i < len(words) and not words[i].startswith("-"):
                    names.append(words[i])
                    i += 1
                yield "F", "\0".join(names)
                rest = ""
            elif letter in _TAKES:
                if not rest:
                    if i >= len(words):
                        raise UsageError(f"-{letter} takes a value", where=where, remedy="add it")
                    rest, i = words[i], i + 1
                yield letter, rest
                rest = ""
            elif letter in _FLAGS:
                yield letter, ""
            else:
                raise UsageError(f"IOzone has no option -{letter}", where=where, remedy="remove it, or correct its spelling")


def read_command(words: list[str], where: str) -> Plan:
    """The plan of one command line. Raises UsageError for what IOzone does not know or cannot run."""
    plan = Plan()
    for letter, value in _words(words, where):
        _apply(plan, letter, value, where)
    if plan.records and max(plan.records) > _RECORD_MAX:
        raise UsageError("IOzone's largest record is 16 MB", where=where, remedy="use -r 16m or less")
    return plan


def _apply(plan: Plan, letter: str, value: str, where: str) -> None:
    option = f"-{letter}"
    flags = {"E": "extended", "z": "no_crossover", "e": "fsync", "c": "close", "I": "direct", "B": "mapped", "T": "threads", "w": "keep", "+k": "aggregate",
             "+B": "sequential_mix", "+V": "shared_file", "a": "auto"}  # fmt: skip
    sizes = {"g": "high_size", "n": "low_size", "q": "high_record", "y": "low_record"}
    if letter == "word":
        plan.notes.append(exact("command line", f"{value!r} follows no option: IOzone passes over it too"))
    elif letter in flags:
        setattr(plan, flags[letter], True)
    elif letter in sizes:
        setattr(plan, sizes[letter], kilobytes(value, option, where))
    elif letter == "A":
        plan.auto = plan.no_crossover = True
    elif letter == "s":
        plan.sizes.append(kilobytes(value, option, where))
    elif letter == "r":
        plan.records.append(kilobytes(value, option, where))
    elif letter == "i":
        plan.tests.append(whole_number(value, option, where, high=12))
    elif letter == "t":
        plan.children.append(whole_number(value, option, where, low=1, high=4096))
    elif letter == "l":
        plan.lower = whole_number(value, option, where, low=1, high=4096)
    elif letter == "u":
        plan.upper = whole_number(value, option, where, low=1, high=4096)
    elif letter == "j":
        plan.stride = whole_number(value, option, where, low=1, high=1 << 20)
    elif letter in ("H", "k"):
        plan.depth = whole_number(value, option, where, low=1, high=65536)
    elif letter == "o":
        plan.sync = "sync"
    elif letter == "+D":
        plan.sync = "dsync"
    elif letter == "+r":
        plan.sync = "sync"
        plan.notes.append(not_expressible("synchronous reads", "-+r: O_RSYNC; Linux treats it as O_SYNC, which acts on writes only"))
    elif letter in ("f", "F"):
        plan.name = value.replace("\0", " ")
    elif letter == "+n":
        plan.retest = False
    elif letter == "+p":
        plan.read_percent = whole_number(value, option, where, low=1, high=100)
    elif letter == "+x":
        plan.multiplier = whole_number(value, option, where, low=2, high=1024)
    else:
        _apply_rare(plan, letter, value, where)


def _apply_rare(plan: Plan, letter: str, value: str, where: str) -> None:
    option = f"-{letter}"
    if letter == "J":
        plan.compute_ms = whole_number(value, option, where, high=1 << 22)
    elif letter == "d":
        plan.notes.append(not_expressible("start", f"-d {value}: microseconds between the starts of the children"))
    elif letter == "U":
        plan.remount = True
        plan.notes.append(approximate("cache between operations", "-U: IOzone remounts the file system; fio drops the pages of its files before each read",
                                      "the client's data cache is dropped, its metadata and the server's caches are not"))  # fmt: skip
    elif letter in ("D", "G"):
        how = "asynchronously" if letter == "D" else "synchronously"
        plan.notes.append(
            not_expressible("mapped writes", f"{option}: msync {how} after each write; fio's mmap engine syncs at fsync only")
        )
    elif letter == "V":
        byte = whole_number(value, option, where, high=255) or 0xA5
        plan.options["buffer_pattern"] = f"0x{byte:02x}"
        plan.notes.append(not_expressible("verification", "-V: the pattern is written, but checked by `ioatlas --verify` only"))
    elif letter == "P":
        plan.notes.append(
            not_expressible("processor affinity", "-P: one processor for each child from a number on; name them with cpus_allowed")
        )
    elif letter == "Y":
        plan.notes.append(not_expressible("telemetry", "-Y: offsets out of a telemetry file"))
    elif letter == "+A":
        hint = {"0": "0", "1": "random", "2": "sequential"}.get(value)
        if hint is None:
            plan.notes.append(not_expressible("access hint", f"-+A {value}: this madvise value has no counterpart in fadvise_hint"))
        else:
            plan.options["fadvise_hint"] = hint
            plan.notes.append(exact("access hint", f"-+A {value}"))
    elif letter == "+w":
        plan.options["dedupe_percentage"] = whole_number(value, option, where, high=100)
        plan.notes.append(approximate("deduplication", "-+w: share of identical blocks", "which blocks repeat is drawn differently"))
    elif letter in ("+y", "+C"):
        plan.notes.append(not_expressible("deduplication", f"{option}: repetition inside and across files apart"))
    elif letter == "+q":
        plan.notes.append(not_expressible("pauses", f"-+q {value}: rest between tests"))
    elif letter in _REPORTING:
        plan.notes.append(exact("reporting", f"{option}: {_REPORTING[letter]}"))
    elif letter in _INEXPRESSIBLE:
        plan.diagnosis = plan.diagnosis or letter == "+d"
        attribute, reason = _INEXPRESSIBLE[letter]
        plan.notes.append(not_expressible(attribute, f"{option}: {reason}"))
    elif letter == "h":
        raise UsageError("-h asks for help; there is no load in it", where=where, remedy="give the options of a run")
    else:
        plan.notes.append(not_expressible(f"option {option}", "IOzone takes it, fio has nothing like it"))


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
        records = doubling(plan.low_record or 4 << 10, min(plan.high_record or _RECORD_MAX, _RECORD_MAX))
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
        chosen = {op for t in tests for op in OPERATIONS[t]}
        ops = [op for op in _THROUGHPUT_ORDER if op in chosen]
    else:
        ops = [op for t in _SINGLE_ORDER if t in tests for op in OPERATIONS[t]]
    if not plan.retest:
        ops = [op for op in ops if not op.startswith("re") or op == "read"]
        ops = [op for op in ops if op not in ("frewrite", "freread")]
    return ops


def _address(op: str, record: int, plan: Plan) -> Address:
    if op.startswith("random"):
        return Address("random", once=True)
    if op == "backward read":
        return Address("backward")
    if op == "strided read":
        return Address("strided", skip_bytes=(plan.stride - 1) * record) if plan.stride > 1 else Address("sequential")
    if op == "record rewrite":
        return Address("fixed")
    return Address("sequential")


def _stream(op: str, size: int, record: int, plan: Plan, jobs: int, target: int) -> Stream:
    writes = op in _WRITERS
    options: dict[str, OptionValue] = dict(plan.options)
    if plan.own_data:
        options["buffer_pattern"] = _OWN_DATA  # of reads too: a file that fio or a campaign lays out holds the same
    if "buffer_pattern" in options:
        options["refill_buffers"] = 0  # fio 3.33 fills the buffer anew for every write where it reads a pattern before it reads rw=write
    options["invalidate"] = int(plan.remount and not writes)
    if writes:
        options["fallocate"] = "none"
        if plan.fsync or plan.close:
            options["end_fsync"] = 1
    engine = "mmap" if plan.mapped else ("posixaio" if plan.depth > 1 else "psync")
    if op.endswith("v") and engine == "psync":
        engine = "pvsync"
    if plan.compute_ms:
        options["thinktime_spin"] = plan.compute_ms * 1000
    return Stream(
        name=f"{op.replace(' ', '-')}.s{size >> 10}k.r{record >> 10}k" + (f".t{jobs}" if plan.children or plan.upper else ""),
        operation=op,
        read_percent=0.0 if writes else 100.0,
        address=_address(op, record, plan),
        sizes=((record, 100.0),),
        arrival=Arrival(think_us=plan.compute_ms * 1000),
        jobs=jobs,
        depth=1 if plan.mapped else plan.depth,
        size_bytes=size,
        work_bytes=size // record * record if op == "record rewrite" else None,
        target=target,
        private=jobs > 1 and not plan.shared_file,
        origin=plan.name,
        direct=plan.direct,
        sync=plan.sync if writes else "",
        engine=engine,
        options=options,
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
            streams.append(
                Stream(**{**base.__dict__, "name": f"mixed-{op}" + base.name[len(name) :], "operation": "mixed", "private": True})
            )
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
                if op == "mixed":
                    yield _mixed(each, record, plan, jobs, target)
                    continue
                stream = _stream(op, each, record, plan, jobs, target)
                if position == len(ops) - 1 and not plan.keep:
                    stream = Stream(**{**stream.__dict__, "options": {**stream.options, "unlink": 1}})
                yield Workload(stream.name, (stream,))


def _notes(plan: Plan) -> Iterator[Fidelity]:
    throughput = bool(plan.children or plan.lower or plan.upper)
    ops = _operations(plan, throughput=throughput)
    yield exact("state of the file", "write makes a new file; what follows uses it as it was left, cached or not, as IOzone does")
    if plan.direct:
        yield exact("caching", "-I: direct")
    elif not plan.mapped:
        yield exact("caching", "buffered")
    if plan.fsync:
        yield exact("fsync", "-e: the flush at the end of a write is inside the time (end_fsync)")
    if plan.close:
        yield approximate("close", "-c: fio's time ends before the file is closed; what close would flush is flushed by end_fsync",
                          "the close call itself, after a flush")  # fmt: skip
    if any(op.startswith(("fwrite", "fread", "frewrite", "freread")) for op in ops):
        yield approximate(
            "stdio", "fwrite and fread go through the C library's buffer; fio sends the record itself", "one copy in memory an I/O"
        )
    if any(op.endswith("v") for op in ops):
        yield approximate(
            "vectored I/O",
            "pwritev and preadv gather up to 16 pieces of one record each; pvsync sends one piece",
            "system calls: up to 16 to 1",
        )
    if any(op in _WRITERS or op == "mixed" for op in ops):
        yield from _data_notes(plan)
    if any(op not in _WRITERS for op in ops):
        yield approximate("reading", "IOzone looks at each page of a record after reading it, inside its time; fio does not touch what it reads",
                          "one access to memory for each 4 KiB")  # fmt: skip
    if throughput:
        yield approximate("throughput mode", "IOzone's summary counts what was done while all children ran; fio's counts each job to its end",
                          "the tail after the first child ends")  # fmt: skip
    if 8 in plan.tests and not throughput:
        yield not_expressible("mixed workload", "-i 8 runs in throughput mode (-t) only; left out")
    if throughput and 4 in plan.tests:
        yield not_expressible("record rewrite", "-i 4 does not run in throughput mode; left out")
    if "mixed" in ops:
        yield approximate(
            "mixed workload", "readers and writers are two sections with files of their own", "readers' files are laid out by fio first"
        )
    if plan.depth > 1:
        yield exact("asynchronous I/O", f"-H/-k {plan.depth}: POSIX asynchronous I/O")
    if 0 not in plan.tests and plan.tests and not {6, 9, 11} & set(plan.tests):
        yield approximate(
            "state of the file", "without -i 0 IOzone reads a file left by an earlier run with -w; fio lays one out", "the file's age"
        )


def _data_notes(plan: Plan) -> Iterator[Fidelity]:
    if plan.own_data:
        yield approximate(
            "write data",
            "one buffer, the same in every write: eight bytes of a pattern, then zeros, from each page on in IOzone, from each 64 bytes on in fio",
            "compresses and deduplicates to almost nothing in both; 0.2% of its bytes are not zero in IOzone, 12.5% in fio",
        )
    elif plan.diagnosis:
        yield approximate(
            "write data",
            "-+d: IOzone counts up from another random number in each record; fio writes random data",
            "hard to compress in both",
        )
    elif "buffer_pattern" in plan.options:
        yield exact("write data", "-V: every byte is the pattern, in every write")


def translate(source: Source, tool: str) -> Translation:
    """A command line, or a script with several."""
    workloads: list[Workload] = []
    notes: list[Fidelity] = []
    for where, words in command_lines(source, ("iozone",)):
        plan = read_command(words, where)
        made = list(_workloads(plan))
        if not made:
            raise UsageError("no record fits into a file", where=where, remedy="check -s, -r, -n, -g, -y and -q, or the tests of -i")
        workloads += made
        notes += [*plan.notes, *_notes(plan)]
    return from_workloads(tool, source.where, workloads, notes)
