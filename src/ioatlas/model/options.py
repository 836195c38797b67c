# SPDX-License-Identifier: Apache-2.0
"""What a campaign may set: words to choose between, which stand in campaign files, on the command line and in journals;
and fio's options: an allow-list of what shapes I/O, and what is refused by name and why.

Options that name a path, a device, a command or a library are ours alone, from whatever file they come: a job file
found on the web must not be able to write elsewhere or to run something.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from ioatlas.model.cell import OptionValue
from ioatlas.model.errors import UsageError
from ioatlas.model.units import parse_size_bytes, words


class Sharing(StrEnum):
    """Whether all jobs work on one file, or each on a file of its own."""

    SHARED = "shared"
    PRIVATE = "private"


class Preparation(StrEnum):
    """State of files and devices before the load; what is written for it stands in `target.preparation`."""

    LAID_OUT = "laid-out"
    FRESH = "fresh"
    FILLED = "filled"
    PRECONDITIONED = "preconditioned"
    FILLED_TWICE = "filled-twice"


class Purge(StrEnum):
    """What is done to a target before the fill of a SNIA test; AUTO discards where a block device can."""

    AUTO = "auto"
    DISCARD = "discard"
    NVME_FORMAT = "nvme-format"
    PUNCH_HOLE = "punch-hole"
    BY_HAND = "by-hand"
    NONE = "none"


class GradeName(StrEnum):
    """Rule that gives a cell its interval: Student's t on logarithms, or order statistics of the median."""

    MAP = "map"
    CERTIFIED = "certified"


class SniaTest(StrEnum):
    """Tests of the SNIA Solid State Storage Performance Test Specification."""

    IOPS = "iops"
    THROUGHPUT = "throughput"
    LATENCY = "latency"
    SATURATION = "saturation"


class ClientRange(StrEnum):
    """What each client of a fleet works on."""

    AUTO = "auto"
    """A file of its own in a directory; the same range of anything else."""
    OWN = "own"
    SAME = "same"


class OnLostClient(StrEnum):
    """What becomes of a campaign when a client is lost and does not come back."""

    STOP = "stop"
    CONTINUE = "continue"


RW_VALUES = words("read write randread randwrite rw readwrite randrw trim randtrim trimwrite randtrimwrite")
SYNCHRONOUS_ENGINES = frozenset({"sync", "psync", "vsync", "pvsync", "pvsync2", "mmap"})
ASYNCHRONOUS_ENGINES = frozenset({"libaio", "io_uring", "posixaio", "nbd", "rbd", "gfapi_async", "windowsaio"})
LARGEST = 2**63 - 1
LONGEST_VALUE = 4000
"""Characters of a value; fio cuts a line after 4,095."""
GROWING = ("file_append", "nrfiles", "zonerange")
"""Options with which fio leaves the range of the one file it was given: for directories only."""
ENGINES = (*sorted(SYNCHRONOUS_ENGINES), *sorted(ASYNCHRONOUS_ENGINES), "null")


@dataclass(frozen=True)
class Option:
    """One allowed option. `read` turns what a person wrote into the normal form, raising UsageError with `where`."""

    name: str
    read: Callable[[object, str], OptionValue]
    summary: str


def _bad(value: object, where: str, expected: str) -> UsageError:
    said = repr(value)[:60]
    return UsageError(f"{said} is not {expected}", where=where, remedy=f"write {expected}")


def _integer(low: int, high: int | None = None) -> Callable[[object, str], OptionValue]:
    def read(value: object, where: str) -> OptionValue:
        try:
            if isinstance(value, bool) or (isinstance(value, float) and value != int(value)):
                raise ValueError
            number = int(value) if isinstance(value, float) else int(str(value).strip())
        except (ValueError, OverflowError) as error:
            raise _bad(value, where, "a whole number") from error
        if number < low or number > (high if high is not None else LARGEST):
            allowed = f"from {low} to {high}" if high is not None else f"of at least {low}"
            raise UsageError(f"{number} is out of range", where=where, remedy=f"write a whole number {allowed}")
        return number

    return read


def _size(value: object, where: str) -> OptionValue:
    if not isinstance(value, (str, int)):
        raise _bad(value, where, "a size such as 4k or 4096")
    return parse_size_bytes(value, where=where)


def _positive_size(value: object, where: str) -> OptionValue:
    size = _size(value, where)
    if int(size) <= 0:
        raise _bad(value, where, "a size of at least 1 byte")
    return size


def _sizes(value: object, where: str) -> OptionValue:
    """`bs`: one size, or read,write,trim sizes."""
    if isinstance(value, int) and not isinstance(value, bool):
        return _positive_size(value, where)
    parts = str(value).split(",")
    if not parts[0].strip() or len(parts) > 3:
        raise _bad(value, where, "a size such as 4k, or read,write,trim sizes such as 4k,8k")
    sizes = [str(_positive_size(part, where)) if part else "" for part in parts]
    return int(sizes[0]) if len(sizes) == 1 else ",".join(sizes)


def _choice(*values: str) -> Callable[[object, str], OptionValue]:
    def read(value: object, where: str) -> OptionValue:
        text = str(value).strip()
        if text not in values:
            raise _bad(value, where, "one of " + ", ".join(values))
        return text

    return read


def _flag(value: object, where: str) -> OptionValue:
    if value in (0, 1, True, False, "0", "1"):
        return int(value)
    raise _bad(value, where, "0 or 1")


def _rw(value: object, where: str) -> OptionValue:
    """A mode, optionally with fio's postfix: `randread:8` (offsets per draw) or `read:-8k`, `write:4k` (skip)."""
    mode, _, postfix = str(value).strip().partition(":")
    if mode not in RW_VALUES:
        raise _bad(value, where, "one of " + ", ".join(RW_VALUES))
    if not postfix:
        return mode
    sign = "-" if postfix.startswith("-") else ""
    return f"{mode}:{sign}{parse_size_bytes(postfix.removeprefix('-'), where=where)}"


def _bssplit(value: object, where: str) -> OptionValue:
    """`4k/40:8k/60`, with `,` between directions; percentages may be left out, and a direction without a split (it has
    `bs`) is empty, as in fio.
    """
    directions = []
    for direction in str(value).split(","):
        entries: list[str] = []
        if not direction.strip() and str(value).strip(", "):
            directions.append("")
            continue
        for entry in direction.split(":"):
            size, slash, percent = entry.partition("/")
            if percent and not (percent.isascii() and percent.isdigit() and int(percent) <= 100):
                raise _bad(value, where, "a mix such as 4k/40:64k/60")
            entries.append(f"{parse_size_bytes(size, where=where)}{slash}{percent}")
        directions.append(":".join(entries))
    return ",".join(directions)


_PATTERN = re.compile(r"^[A-Za-z0-9_.,:/%+\-]+$")


def _token(value: object, where: str) -> OptionValue:
    """A value passed to fio as it stands; letters, digits and _ . , : / % + - only, so it cannot start a new line or
    option.
    """
    text = str(value).strip()
    if not _PATTERN.match(text):
        raise _bad(value, where, "a plain word or number")
    return text


def _sync_file_range(value: object, where: str) -> OptionValue:
    """`write:8`: which of wait_before, write, wait_after, and after how many writes."""
    text = str(value).strip()
    if not re.fullmatch(r"(wait_before|write|wait_after)(,(wait_before|write|wait_after)){0,2}:[1-9]\d{0,8}", text):
        raise _bad(value, where, "what to wait for and a number of writes, such as write:8")
    return text


def _buffer_pattern(value: object, where: str) -> OptionValue:
    """A literal pattern: 0x..., a number or a quoted string; fio's 'FILE' in single quotes is refused."""
    text = str(value).strip()
    if not re.match(r'^(0x[0-9a-fA-F]+|-?\d+|"[A-Za-z0-9 ]*")$', text):
        raise _bad(value, where, "a pattern such as 0xdeadbeef (reading the pattern from a file is not allowed)")
    return text


_READERS: dict[str, Callable[[object, str], OptionValue]] = {
    "flag": _flag,
    "count": _integer(0),
    "positive": _integer(1),
    "percent": _integer(0, 100),
    "size": _size,
    "positive size": _positive_size,
    "sizes": _sizes,
    "word": _token,
    "rw": _rw,
    "bssplit": _bssplit,
    "pattern": _buffer_pattern,
    "sync_file_range": _sync_file_range,
    "engine": _choice(*ENGINES),
}


def _option(line: str) -> Option:
    """A line of `options.txt`."""
    name, takes, summary = (part.strip() for part in line.split(" | "))
    if takes.startswith("one of "):
        return Option(name, _choice(*takes.split()[2:]), summary)
    if takes.startswith("from "):
        _, low, _, high = takes.split()
        return Option(name, _integer(int(low), int(high)), summary)
    return Option(name, _READERS[takes], summary)


def _refused(paragraph: str) -> dict[str, str]:
    """Why, then names."""
    why, _, names = paragraph.partition("\n")
    return dict.fromkeys(names.split(), why.removeprefix("not taken: "))


_TAKEN, *_NOT = Path(__file__).with_name("options.txt").read_text(encoding="utf-8").split("\n\n")
ALLOWED = {option.name: option for option in map(_option, _TAKEN.splitlines())}
"""Every option a campaign may set or sweep."""
REFUSED = {name: why for paragraph in _NOT for name, why in _refused(paragraph).items()}
"""Options that are refused by name, and why."""
SIZE_OPTIONS = frozenset(name for name, option in ALLOWED.items() if option.read in (_size, _positive_size, _sizes))
"""Options that hold bytes; `rate` holds bytes per second."""

ALIASES = {
    "readwrite": "rw",
    "blocksize": "bs",
    "io_limit": "io_size",
    "ba": "blockalign",
    "fill_device": "fill_fs",
    "sync_io": "sync",
}


def read_option(name: str, value: object, *, where: str = "") -> tuple[str, OptionValue]:
    """The normal name and value of an option as a person wrote it.

    Raises UsageError when the option is refused or unknown, or its value is not one it takes.
    """
    name = ALIASES.get(name.strip(), name.strip())
    where = where or name
    if isinstance(value, str) and len(value) > LONGEST_VALUE:
        raise UsageError(f"it has {len(value)} characters, fio takes {LONGEST_VALUE}", where=where, remedy="write less")
    if name in REFUSED:
        raise UsageError(f"option {name!r} is not taken: {REFUSED[name]}", where=where, remedy="remove it")
    option = ALLOWED.get(name)
    if option is None:
        close = difflib.get_close_matches(name, ALLOWED, n=1)
        hint = f"did you mean {close[0]!r}?" if close else "docs/reference/campaign.md lists the options there are"
        raise UsageError(f"option {name!r} is not supported", where=where, remedy=hint)
    return name, option.read(value, where)


def check_option(name: str, value: object, *, where: str = "") -> None:
    """An option as it was kept: one that a person could have set, in its normal form. Raises UsageError."""
    known, normal = read_option(name, value, where=where)
    if known != name or isinstance(value, bool) or str(normal) != str(value):
        raise UsageError(f"option {name!r} is not in its normal form", where=where, remedy="write it as fio names it")


JobValue = int | float | str | tuple[str, ...] | None
"""What an option may be set to: None writes the bare name (`stonewall`); a tuple is a list of paths, each escaped."""

_PATH_LISTS = frozenset({"filename", "directory"})
_PATHS = _PATH_LISTS.union(
    words("""
        uri read_iolog write_iolog replay_redirect write_bw_log write_lat_log write_iops_log write_hist_log include
        description
    """)
)
_SIZES = frozenset(
    words("""
        bs bsrange bssplit blockalign ba size filesize io_size offset offset_align offset_increment zonesize zonerange
        zoneskip rate rate_min buffer_compress_chunk number_ios rate_iops
    """)
)
_BARE_SIZES = re.compile(r"^[0-9%,:/\-]+$")
CONTROL = re.compile(r"[\x00-\x1f\x7f]")
KEYWORD = re.compile(r"\$\{|\$pagesize|\$mb_memory|\$ncpus")


def escape_path(path: str) -> str:
    """A path as `filename` and `directory` take it: each `:` gets a backslash."""
    return path.replace(":", "\\:")


def bad_value(what: str, where: str, remedy: str) -> UsageError:
    """The error of an option's value that fio would read as something else. where: the option's name."""
    return UsageError(what, where=where, remedy=remedy)


def _checked_text(name: str, text: str) -> str:
    if CONTROL.search(text):
        raise bad_value("a value may not hold a line break or control character", name, "write it on one line")
    if not text or text != text.strip():
        raise bad_value(
            f"{text!r} is empty, or begins or ends with a blank, which fio drops", name, "write it without outer blanks"
        )
    for mark in ";#":
        if mark in text:
            raise bad_value(
                f"fio ends the line at {mark!r}, also inside a value: {text!r}", name, f"use a value without {mark!r}"
            )
    if KEYWORD.search(text):
        raise bad_value(
            f"fio replaces part of {text!r} from its environment", name, "use a value without `${...}` and fio keywords"
        )
    if name not in _PATHS and ("[" in text or "]" in text):
        raise bad_value(f"brackets belong to section headers: {text!r}", name, "use a value without brackets")
    if name in _SIZES and not _BARE_SIZES.match(text):
        raise bad_value(
            f"{text!r} is not written in bare bytes",
            name,
            "give the size as an integer of bytes: fio's suffixes depend on kb_base",
        )
    return text


def _paths(name: str, paths: tuple[str, ...]) -> list[str]:
    return [escape_path(_checked_text(name, path)) for path in paths]


def render_value(name: str, value: JobValue) -> str | None:
    """The text after `name=`, or None for a bare option. Raises UsageError for what fio would read differently."""
    if value is None:
        return None
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise bad_value(f"{value!r} is not a finite number", name, "write a finite number")
        return str(int(value)) if value == int(value) else f"{value:.12f}".rstrip("0")
    if isinstance(value, tuple):
        if name not in _PATH_LISTS:
            raise bad_value("only filename and directory take a list of paths", name, "give one value")
        return ":".join(_paths(name, value))
    text = _checked_text(name, value)
    return escape_path(text) if name in _PATH_LISTS else text
