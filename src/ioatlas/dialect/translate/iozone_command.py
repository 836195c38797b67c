# SPDX-License-Identifier: Apache-2.0
"""The options of an IOzone command line (facts: its usage text and manual, versions 3.4xx). Numbers without a suffix are kilobytes of 1024 bytes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from ioatlas.dialect.command import whole_number
from ioatlas.dialect.fidelity import Fidelity, approximate, exact, not_expressible
from ioatlas.errors import UsageError
from ioatlas.model.cell import OptionValue

RECORD_MAX_BYTES = 16 << 20
_TAKES = "JjkVrtsfFdluUSLHPibXYgnyq"
_FLAGS = "ZQNIBDGCTOMREWovAxamwphcezK"
_PLUS_TAKES = frozenset("mxpqAwyCSWHPbicIsfh")
_PLUS_FLAGS = frozenset("udrtnklLBDNVXZEFJKzUTeoOvaRY")
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
    if plan.records and max(plan.records) > RECORD_MAX_BYTES:
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
