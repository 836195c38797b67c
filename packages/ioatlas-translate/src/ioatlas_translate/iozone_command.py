# SPDX-License-Identifier: Apache-2.0
"""The options of an IOzone command line (facts: its usage text and manual, versions 3.4xx). Numbers without a suffix
are kilobytes of 1024 bytes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from ioatlas.errors import UsageError
from ioatlas.interop.fidelity import Notes
from ioatlas.model.cell import OptionValue
from ioatlas.model.units import words
from ioatlas_translate.command import Action, append, both, fixed, lost, nearly, put, same, sized, whole, whole_number

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


def _text(text: str, _option: str) -> str:
    return text


def _help(_plan: Plan, _option: str, _value: str) -> None:
    raise UsageError("-h asks for help; there is no load in it", remedy="give the options of a run")


_OTHER = lost("option {option}", "IOzone takes it, fio has nothing like it")
_ACTIONS: dict[str, Action] = {
    "word": same("command line", "{value!r} follows no option: IOzone passes over it too"),
    # What is run
    "a": fixed(auto=True),
    "A": fixed(auto=True, no_crossover=True),
    "E": fixed(extended=True),
    "z": fixed(no_crossover=True),
    "i": append("tests", whole(high=12)),
    "s": append("sizes", kilobytes),
    "r": append("records", kilobytes),
    "n": put("low_size", kilobytes),
    "g": put("high_size", kilobytes),
    "y": put("low_record", kilobytes),
    "q": put("high_record", kilobytes),
    "t": append("children", whole(1, 4096)),
    "l": put("lower", whole(1, 4096)),
    "u": put("upper", whole(1, 4096)),
    "T": fixed(threads=True),
    "+n": fixed(retest=False),
    "+x": put("multiplier", whole(2, 1024)),
    # How it is run
    "j": put("stride", whole(1, 1 << 20)),
    "H": put("depth", whole(1, 65536)),
    "k": put("depth", whole(1, 65536)),
    "I": fixed(direct=True),
    "B": fixed(mapped=True),
    "e": fixed(fsync=True),
    "c": fixed(close=True),
    "o": fixed(sync="sync"),
    "+D": fixed(sync="dsync"),
    "+r": both(
        fixed(sync="sync"),
        lost("synchronous reads", "{option}: O_RSYNC; Linux treats it as O_SYNC, which acts on writes only"),
    ),
    "J": put("compute_ms", whole(high=1 << 22)),
    "f": put("name", _text),
    "F": put("name", _text),
    "w": fixed(keep=True),
    "U": both(
        fixed(remount=True),
        nearly(
            "cache between operations",
            "{option}: IOzone remounts the file system; fio drops the pages of its files before each read",
            "the client's data cache is dropped, its metadata and the server's caches are not",
        ),
    ),
    "+k": fixed(aggregate=True),
    "+B": fixed(sequential_mix=True),
    "+V": fixed(shared_file=True),
    "+p": put("read_percent", whole(1, 100)),
    "V": _pattern,
    "+w": _duplicates,
    "+A": _access_hint,
    "+d": both(fixed(diagnosis=True), lost("diagnosis", "{option}: diagnostic mode checks the data")),
    # What fio has nothing like, and what to do instead
    "P": lost("processor affinity", "{option}: one processor for each child; name them with cpus_allowed"),
    "+m": lost("cluster", "{option}: clients named in a file; name hosts to `ioatlas map` instead"),
    **dict.fromkeys(words("C M N O R Q b v S L +u +z x"), same("reporting", "{option}: not part of the load")),
    "h": _help,
}
