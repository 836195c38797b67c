# SPDX-License-Identifier: Apache-2.0
"""The switches of a DiskSpd command line: what one asks for, in DiskSpd's terms (facts: its usage, version 2.2); and
its XML profiles (`-X`, and the profile inside an XML result), where each element is a switch.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from xml.etree import ElementTree as ET

from ioatlas.load.streams.fidelity import Notes, notes_in
from ioatlas.model.cell import OptionValue
from ioatlas.model.errors import UsageError, faults
from ioatlas.model.units import pairs, words
from ioatlas_translate.command import (
    BINARY,
    Action,
    asks_for_help,
    both,
    fixed,
    lost,
    noting,
    put,
    puts,
    same,
    sized,
    whole,
    whole_number,
)

TOLD = notes_in("ioatlas_translate", "diskspd")


@dataclass
class Spec:
    """What one target of one time span asks for, in DiskSpd's terms."""

    path: str = ""
    block: int = 65536
    threads: int = 1
    outstanding: int = 2
    random: bool = False
    random_percent: int = 100
    align: int | None = None
    interlocked: bool = False
    parallel: bool = False
    thread_stride: int = 0
    distribution: str = ""
    ranges: tuple[tuple[int, int], ...] = ()
    write_percent: int = 0
    file_size: int | None = None
    base: int = 0
    limit: int | None = None
    unbuffered: bool = False
    write_through: bool = False
    mapped: bool = False
    remote_only: bool = False
    burst: int = 0
    think_ms: int = 0
    throughput: int = 0
    throughput_is_iops: bool = False
    pattern: str = "sequential"
    options: dict[str, OptionValue] = field(default_factory=dict)
    notes: Notes = field(default_factory=Notes)
    """Those of its span."""


@dataclass
class Span:
    """One time span: its targets run together."""

    duration: int = 10
    warmup: int = 5
    cooldown: int = 0
    total_threads: int = 0
    per_thread_requests: int = 0
    completion_routines: bool = False
    seed: int | None = None
    affinity: str = ""
    targets: list[Spec] = field(default_factory=list)
    notes: Notes = field(default_factory=Notes)


def size_of(text: str, option: str, block: int) -> int:
    """DiskSpd sizes: whole numbers with K, M, G, T (binary) or b (blocks); nothing may follow."""
    size = sized(text, option, {**BINARY, "b": block}, f"{option}64K")
    if size >= 1 << 63 or "." in text:
        raise UsageError(f"{option} {text!r} is no size of a file", remedy="write a whole, smaller size")
    return int(size)


def _ranges(kind: str, text: str, block: int) -> tuple[tuple[int, int], ...]:
    ranges = []
    for part in text.split(":"):
        share, slash, extent = part.partition("/")
        if not slash:
            what = f"-rd{kind} takes IO%/extent pairs, not {part!r}"
            raise UsageError(what, remedy="write for example -rdpct90/10:10/90")
        percent = whole_number(share, "-rd IO%", high=100)
        if kind == "pct":
            ranges.append((percent, whole_number(extent, "-rdpct target%", low=1, high=100)))
        else:
            ranges.append((percent, size_of(extent, "-rdabs", block)))
    if sum(share for share, _ in ranges) > 100 or (kind == "pct" and sum(extent for _, extent in ranges) > 100):
        raise UsageError("the shares of -rd exceed 100%", remedy="let both sums be at most 100")
    return tuple(ranges)


def _cache(spec: Spec, _option: str, letters: str) -> None:
    meanings: dict[str, tuple[str, ...]] = {
        "b": (),
        "h": ("unbuffered", "write_through"),
        "m": ("mapped",),
        "r": ("remote_only",),
        "u": ("unbuffered",),
        "w": ("write_through",),
    }
    for letter in letters or "u":
        if letter not in meanings:
            raise UsageError(f"-S does not know {letter!r}", remedy="use letters out of " + ", ".join(meanings))
        for name in meanings[letter]:
            setattr(spec, name, True)
    if spec.unbuffered and spec.mapped:
        raise UsageError("memory-mapped I/O cannot be unbuffered", remedy="use -Sm without u or h")


def _affinity(span: Span, _option: str, text: str) -> None:
    if text in ("", "g"):
        return
    if not re.fullmatch(r"g?\d+(,g?\d+)*", text):
        raise UsageError(f"-a takes processor numbers, not {text!r}", remedy="write for example -a0,1,2")
    groups = [part for part in text.split(",") if part.startswith("g")]
    processors = [part for part in text.split(",") if not part.startswith("g")]
    if any(group != "g0" for group in groups):
        span.notes.lost("processor affinity", f"-a{text}: processor groups exist on Windows only")
        return
    span.affinity = ",".join(filter(None, [span.affinity, *processors]))


def _size(attribute: str) -> Action:
    return lambda spec, option, value: setattr(spec, attribute, size_of(value, option, spec.block))


def _throughput(spec: Spec, option: str, value: str) -> None:
    spec.throughput_is_iops = value.endswith("i")
    spec.throughput = whole_number(value.removesuffix("i"), option, low=1)


def _random(spec: Spec, option: str, value: str) -> None:
    spec.random = True
    if value.startswith("s"):
        spec.random_percent = whole_number(value[1:], "-rs", low=1, high=100)
    elif value[:4] in ("dpct", "dabs"):
        spec.distribution = value[1:4]
        spec.ranges = _ranges(value[1:4], value[4:], spec.block)
    elif value:
        spec.align = size_of(value, option, spec.block)


def _stride(spec: Spec, option: str, value: str) -> None:
    spec.interlocked = spec.interlocked or value.startswith("i")
    rest = value.removeprefix("i")
    if rest:
        spec.align = size_of(rest, option, spec.block)


def _base(spec: Spec, option: str, value: str) -> None:
    base, _, length = value.partition(":")
    spec.base = size_of(base, option, spec.block)
    if length:
        spec.limit = spec.base + size_of(length, option, spec.block)


def _limit_or_hint(spec: Spec, option: str, value: str) -> None:
    if not re.fullmatch(r"[rst]+", value):
        spec.limit = size_of(value, option, spec.block)
        return
    for letter in value:
        if letter == "t":
            spec.notes.lost("file attribute", "-ft: FILE_ATTRIBUTE_TEMPORARY exists on Windows only")
        else:
            spec.options["fadvise_hint"] = "random" if letter == "r" else "sequential"
            spec.notes.same("access hint", f"-f{letter}: the same hint by posix_fadvise")


def _priority(spec: Spec, option: str, value: str) -> None:
    """Windows' hints 1 (very low) and 2 (low); 3 is normal."""
    priority = whole_number(value, option, low=1, high=3)
    if priority < 3:
        spec.options |= {"prioclass": 3} if priority == 1 else {"prioclass": 2, "prio": 7}
        spec.notes.tell(TOLD["priority"], priority=priority)


def _one_of(pattern: str, complaint: str, remedy: str) -> Action:
    def act(_plan: object, _option: str, value: str) -> None:
        if not re.fullmatch(pattern, value):
            raise UsageError(complaint.format(value=value), remedy=remedy)

    return act


def _buffers(spec: Spec, option: str, value: str) -> None:
    if value in ("", "r"):
        spec.pattern = "per-io" if value else "zero"
        return
    size, comma, _ = value.partition(",")
    size_of(size, option, spec.block)
    spec.pattern = "random"
    if comma:
        spec.notes.lost("write data", "-Z<size>,<file>: data out of a named file is not taken; random data stands in")


_MOST = 1 << 31
_REPORTED = same("reporting", "{option}{value} changes what is reported, not the load")
_SPAN_ACTIONS: dict[str, Action] = {
    "d": put("duration", whole(1, _MOST)),
    **puts(whole(0, _MOST), "W=warmup C=cooldown"),
    "F": put("total_threads", whole(1, 4096)),
    "O": put("per_thread_requests", whole(1, 65536)),
    "x": fixed(completion_routines=True),
    "z": put("seed", lambda text, option: whole_number(text, option) if text else -1),
    "a": _affinity,
    "n": same("processor affinity", "{option}: threads run where the system puts them, as in fio"),
    "l": noting(TOLD["large-pages"]),
    "N": both(_one_of("[vni]", "-N does not know {value!r}", "use -Nv, -Nn or -Ni"), noting(TOLD["mapped-flush"])),
    "e": lost("event tracing", "{option}{value}: Windows event tracing"),
    "y": lost("synchronisation events", "{option}{value}: Windows events start or stop the run"),
    "R": both(_one_of("p?(text|xml)|p", "-R does not know the format {value!r}", "use -Rtext or -Rxml"), _REPORTED),
    **dict.fromkeys("LDvP:A", _REPORTED),  # -A is CrystalDiskMark's own addition
    "?": asks_for_help,
}
_SPEC_ACTIONS: dict[str, Action] = {
    "t": put("threads", whole(1, 4096)),
    "o": put("outstanding", whole(1, 65536)),
    "c": _size("file_size"),
    "B": _base,
    "f": _limit_or_hint,
    "r": _random,
    "s": _stride,
    "T": _size("thread_stride"),
    "p": fixed(parallel=True),
    "w": put("write_percent", lambda text, option: whole_number(text, option, high=100) if text else 0),
    "S": _cache,
    "h": lambda spec, option, _: _cache(spec, option, "h"),
    "i": put("burst", whole(1, _MOST)),
    "j": put("think_ms", whole(0, _MOST)),
    "g": _throughput,
    "Z": _buffers,
    "I": _priority,
}


def apply(span: Span, spec: Spec, letter: str, value: str) -> None:
    """One switch, of the span or of what its targets share. Raises UsageError."""
    if letter in _SPAN_ACTIONS:
        _SPAN_ACTIONS[letter](span, f"-{letter}", value)
    elif letter in _SPEC_ACTIONS:
        _SPEC_ACTIONS[letter](spec, f"-{letter}", value)
    else:
        raise UsageError(
            f"DiskSpd has no option -{letter}{value}",
            remedy="remove it, or correct its spelling (options are case-sensitive)",
        )


def _switches(words: list[str]) -> tuple[list[tuple[str, str]], list[str]]:
    """(letter, value) of the switches, and the targets behind them."""
    switches: list[tuple[str, str]] = []
    targets: list[str] = []
    for word in words:
        dos = re.match(r"^/[A-Za-z:?]", word) and "/" not in word[1:] and "." not in word and not targets
        if not word.startswith("-") and not dos:
            targets.append(word)
        elif targets:
            raise UsageError(f"the option {word!r} stands after a target", remedy="put all options before the targets")
        elif len(word) < 2:
            raise UsageError("a lone dash is not an option", remedy="remove it")
        else:
            switches.append((word[1], word[2:]))
    return switches, targets


def read_spec(switches: Sequence[tuple[str, str]], span: Span) -> Spec:
    """What (letter, value) pairs ask of a target; some are of its span. Raises UsageError."""
    spec = Spec(notes=span.notes)
    for _, value in (switch for switch in switches if switch[0] == "b"):  # first: the suffix b of other sizes counts it
        spec.block = size_of(value, "-b", 65536)
        if not 0 < spec.block < 1 << 32:
            raise UsageError("-b must be at least 1 byte and below 4 GiB", remedy="write another size")
    for letter, value in switches:
        if letter != "b":
            apply(span, spec, letter, value)
    if spec.interlocked and (spec.parallel or spec.random_percent < 100 or spec.thread_stride):
        raise UsageError("-si conflicts with -p, -rs and -T", remedy="use one of them")
    if spec.random and any(letter == "s" for letter, _ in switches):
        span.notes.same("address", "-r overrides -s")
        spec.interlocked = False
    return spec


def read_command(words: list[str]) -> tuple[Span, str, list[str]]:
    """A command line as a span without targets yet, the path of its XML profile if any, and its targets."""
    switches, targets = _switches(words)
    letters = {letter for letter, _ in switches}
    if {"t", "F"} <= letters:
        raise UsageError("-t and -F exclude each other", remedy="use one of them")
    span = Span()
    profile = next((value for letter, value in reversed(switches) if letter == "X"), "")
    spec = read_spec([switch for switch in switches if switch[0] != "X"], span)
    if profile and letters - set("XWdCRvz"):
        raise UsageError("only -W -d -C -R -v -z may stand beside an XML profile", remedy="change the profile instead")
    if not targets and not profile:
        span.notes.same("target", "the command names none: one is taken")
        targets = ["target"]
    span.targets = [replace(spec, path=path, options=dict(spec.options)) for path in targets]
    return span, profile, targets


_OF_TARGET = pairs("""
    BlockSize=b ThreadsPerFile=t RequestCount=o FileSize=c BaseFileOffset=B MaxFileSize=f StrideSize=s Random=r
    ThreadStride=T WriteRatio=w BurstSize=i ThinkTime=j IOPriority=I
""")
_TARGET_FLAGS = pairs("""
    InterlockedSequential=si ParallelAsyncIO=p DisableOSCache=Su DisableAllCache=Sh WriteThrough=Sw MemoryMappedIo=Sm
    DisableLocalCache=Sr SequentialScan=fs RandomAccess=fr TemporaryFile=ft UseLargePages=l
""")
_OF_SPAN = pairs("Duration=d Warmup=W Cooldown=C ThreadCount=F RequestCount=O RandSeed=z")
_SPAN_FLAGS = pairs("CompletionRoutines=x MeasureLatency=L CalculateIopsStdDev=D DisableAffinity=n")
_FLUSHES = {"ViewOfFile": "v", "NonVolatileMemory": "n", "NonVolatileMemoryNoDrain": "i"}
_KNOWN = frozenset({*_OF_TARGET, *_TARGET_FLAGS, *_OF_SPAN, *_SPAN_FLAGS}) | frozenset(
    words("""
    Path FlushType WriteBufferContent Throughput RandomRatio Weight ThreadTargets Distribution Targets RandomWriteData
    GroupAffinity Affinity IoBucketDuration
    """)
)

Switch = tuple[str, str]
"""(letter, value)."""


def _text(node: ET.Element, name: str) -> str:
    return (node.findtext(name) or "").strip()


def _set_in(node: ET.Element, letters: Mapping[str, str], flags: Mapping[str, str]) -> Iterator[Switch]:
    """A number of 0 says that nothing was set, but for the warm-up."""
    for name, letter in letters.items():
        if _text(node, name) not in ("", "0" if name != "Warmup" else ""):
            yield letter, _text(node, name)
    for name, switch in flags.items():
        if _text(node, name).lower() in ("true", "1"):
            yield switch[0], switch[1:]


def _of_target(node: ET.Element) -> Iterator[Switch]:
    yield from _set_in(node, _OF_TARGET, _TARGET_FLAGS)
    if node.find("Random") is not None and _text(node, "RandomRatio"):
        yield "r", f"s{_text(node, 'RandomRatio')}"
    for kind, name in (("pct", "Percent"), ("abs", "Absolute")):
        if ranges := [f"{one.get('IO', '')}/{one.text}" for one in node.findall(f"Distribution/{name}/Range")]:
            yield "r", f"d{kind}{':'.join(ranges)}"
    if _text(node, "Throughput") not in ("", "0"):
        in_iops = node.find("Throughput[@unit='IOPS']") is not None
        yield "g", f"{_text(node, 'Throughput')}{'i' if in_iops else ''}"
    source = "WriteBufferContent/RandomDataSource"
    if _text(node, "WriteBufferContent/Pattern") == "zero":
        yield "Z", ""
    elif _text(node, "WriteBufferContent/Pattern") == "random":
        file = _text(node, f"{source}/FilePath")
        yield "Z", f"{_text(node, f'{source}/SizeInBytes') or 1}{f',{file}' if file else ''}"
    if flush := _text(node, "FlushType"):
        yield "N", _FLUSHES.get(flush, flush)


def _of_span(node: ET.Element) -> Iterator[Switch]:
    yield from _set_in(node, _OF_SPAN, _SPAN_FLAGS)
    processors = [
        f"g{one.get('Group', '0')},{one.get('Processor', '')}"
        for one in node.findall("Affinity/AffinityGroupAssignment")
    ]
    processors += [(one.text or "").strip() for one in node.findall("Affinity/AffinityAssignment")]
    if processors:
        yield "a", ",".join(processors)


def _note_unknown(node: ET.Element, span: Span) -> None:
    for child in node:
        if child.tag not in _KNOWN:
            span.notes.lost(f"<{child.tag}>", "not an element of DiskSpd's schema that is known here")


def read_profile(text: str, paths: Sequence[str]) -> list[Span]:
    """The time spans of a profile; `paths` replace the templates *1, *2, ... Raises UsageError for what is not a
    profile.
    """
    if re.search(r"<!(DOCTYPE|ENTITY)", text, re.IGNORECASE):
        raise UsageError("a profile has no business with a document type or entities", remedy="remove the declaration")
    with faults(UsageError, "not well-formed XML", remedy="correct the profile", of=ET.ParseError):
        root = ET.fromstring(re.sub(r"^\s*<\?xml[^>]*\?>", "", text))  # noqa: S314 - entities are refused above
    profile = root if root.tag == "Profile" else root.find(".//Profile")
    nodes = [] if profile is None else profile.findall("TimeSpans/TimeSpan")
    if not nodes:
        raise UsageError("it holds no <Profile> with a <TimeSpan>", remedy="give a DiskSpd profile")
    return [_span(node, paths) for node in nodes]


def _span(node: ET.Element, paths: Sequence[str]) -> Span:
    span = Span()
    for letter, value in _of_span(node):
        apply(span, Spec(), letter, value)
    _note_unknown(node, span)
    more = [("Z", "r")] if _text(node, "RandomWriteData").lower() in ("true", "1") else []
    for target in node.findall("Targets/Target"):
        spec = read_spec([*_of_target(target), *more], span)
        spec.path = _text(target, "Path")
        template = re.fullmatch(r"\*(\d+)", spec.path)
        if template and int(template.group(1)) <= len(paths):
            spec.path = paths[int(template.group(1)) - 1]
        if target.find("Weight") is not None or target.find("ThreadTargets") is not None:
            reason = "<Weight> and <ThreadTargets> give one thread several targets in proportion"
            span.notes.lost("weights of targets", reason)
        _note_unknown(target, span)
        span.targets.append(spec)
    if not span.targets:
        raise UsageError("a <TimeSpan> has no <Target>", remedy="add one")
    return span
