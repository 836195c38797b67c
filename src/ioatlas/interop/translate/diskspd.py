# SPDX-License-Identifier: Apache-2.0
"""DiskSpd command lines and XML profiles (facts: its usage text, schema and wiki, version 2.2).

What differs from fio and is easily missed: `-t` counts threads for each target and `-o` I/Os for each thread and
target; without `-t` and `-o` it is 1 thread with 2 outstanding of 64 KiB, sequential, read, cached, 10 s after 5 s of
warm-up; `-h` and `-Sh` mean no software cache *and* write-through; random offsets are drawn independently; sequential
threads all begin at the same offset unless `-T` or `-si` is given; written data repeats the bytes 0 to 255 unless `-Z`
says otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from ioatlas.errors import UsageError
from ioatlas.interop.command import Source, command_lines, whole_number
from ioatlas.interop.fidelity import Fidelity, approximate, exact, not_expressible
from ioatlas.interop.options import Action, both, fixed, lost, put, same, whole
from ioatlas.interop.translation import Translation, from_workloads, safe_name
from ioatlas.model.cell import OptionValue
from ioatlas.model.workload import Address, Arrival, Stream, Workload

_FACTOR = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_DEFAULT_PATTERN = "0x" + bytes(range(256)).hex()
REPORTING = "changes what is reported, not the load"


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
    notes: list[Fidelity] = field(default_factory=list)
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
    notes: list[Fidelity] = field(default_factory=list)


def size_of(text: str, option: str, where: str, block: int) -> int:
    """DiskSpd sizes: whole numbers with K, M, G, T (binary) or b (blocks); nothing may follow."""
    match = re.fullmatch(r"(\d+)([KMGTB]?)", text, re.IGNORECASE)
    if match is None:
        raise UsageError(
            f"{option} takes a size with K, M, G, T or b, not {text!r}",
            where=where,
            remedy=f"write for example {option}64K",
        )
    letter = match.group(2).upper()
    size = int(match.group(1)) * (block if letter == "B" else _FACTOR[letter])
    if size >= 1 << 63:
        raise UsageError(f"{option} {text!r} is larger than a file can be", where=where, remedy="write a smaller size")
    return size


def _ranges(kind: str, text: str, where: str, block: int) -> tuple[tuple[int, int], ...]:
    ranges = []
    for part in text.split(":"):
        share, slash, extent = part.partition("/")
        if not slash:
            raise UsageError(
                f"-rd{kind} takes IO%/extent pairs, not {part!r}",
                where=where,
                remedy="write for example -rdpct90/10:10/90",
            )
        percent = whole_number(share, "-rd IO%", where, high=100)
        ranges.append(
            (
                percent,
                whole_number(extent, "-rdpct target%", where, low=1, high=100)
                if kind == "pct"
                else size_of(extent, "-rdabs", where, block),
            )
        )
    if sum(share for share, _ in ranges) > 100 or (kind == "pct" and sum(extent for _, extent in ranges) > 100):
        raise UsageError("the shares of -rd exceed 100%", where=where, remedy="let both sums be at most 100")
    return tuple(ranges)


def _cache(spec: Spec, _option: str, letters: str, where: str) -> None:
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
            raise UsageError(
                f"-S does not know {letter!r}", where=where, remedy="use letters out of " + ", ".join(meanings)
            )
        for name in meanings[letter]:
            setattr(spec, name, True)
    if spec.unbuffered and spec.mapped:
        raise UsageError("memory-mapped I/O cannot be unbuffered", where=where, remedy="use -Sm without u or h")


def _affinity(span: Span, _option: str, text: str, where: str) -> None:
    if text in ("", "g"):
        return
    if not re.fullmatch(r"g?\d+(,g?\d+)*", text):
        raise UsageError(f"-a takes processor numbers, not {text!r}", where=where, remedy="write for example -a0,1,2")
    groups = [part for part in text.split(",") if part.startswith("g")]
    processors = [part for part in text.split(",") if not part.startswith("g")]
    if any(group != "g0" for group in groups):
        span.notes.append(not_expressible("processor affinity", f"-a{text}: processor groups exist on Windows only"))
        return
    span.affinity = ",".join(filter(None, [span.affinity, *processors]))


def _size(attribute: str) -> Action:
    return lambda spec, option, value, where: setattr(spec, attribute, size_of(value, option, where, spec.block))


def _throughput(spec: Spec, option: str, value: str, where: str) -> None:
    spec.throughput_is_iops = value.endswith("i")
    spec.throughput = whole_number(value.removesuffix("i"), option, where, low=1)


def _random(spec: Spec, option: str, value: str, where: str) -> None:
    spec.random = True
    if value.startswith("s"):
        spec.random_percent = whole_number(value[1:], "-rs", where, low=1, high=100)
    elif value[:4] in ("dpct", "dabs"):
        spec.distribution = value[1:4]
        spec.ranges = _ranges(value[1:4], value[4:], where, spec.block)
    elif value:
        spec.align = size_of(value, option, where, spec.block)


def _stride(spec: Spec, option: str, value: str, where: str) -> None:
    spec.interlocked = spec.interlocked or value.startswith("i")
    rest = value.removeprefix("i")
    if rest:
        spec.align = size_of(rest, option, where, spec.block)


def _base(spec: Spec, option: str, value: str, where: str) -> None:
    base, _, length = value.partition(":")
    spec.base = size_of(base, option, where, spec.block)
    if length:
        spec.limit = spec.base + size_of(length, option, where, spec.block)


def _limit_or_hint(spec: Spec, option: str, value: str, where: str) -> None:
    if re.fullmatch(r"[rst]+", value):
        spec.notes += _hints(spec, value)
    else:
        spec.limit = size_of(value, option, where, spec.block)


def set_priority(spec: Spec, priority: int, source: str) -> None:
    """Windows' hints 1 (very low) and 2 (low); 3 is normal."""
    if priority in (1, 2):
        spec.options |= {"prioclass": 3} if priority == 1 else {"prioclass": 2, "prio": 7}
        reason = f"{source} a Windows hint; the nearest Linux class is set".strip()
        spec.notes.append(approximate("I/O priority", reason, "a scheduler may ignore either"))


def _priority(spec: Spec, option: str, value: str, where: str) -> None:
    set_priority(spec, whole_number(value, option, where, low=1, high=3), f"-I{value.strip()} is")


def _one_of(pattern: str, complaint: str, remedy: str) -> Action:
    def act(_plan: object, _option: str, value: str, where: str) -> None:
        if not re.fullmatch(pattern, value):
            raise UsageError(complaint.format(value=value), where=where, remedy=remedy)

    return act


def _seed(text: str, option: str, where: str) -> int:
    return whole_number(text, option, where) if text else -1


def _share(text: str, option: str, where: str) -> int:
    return whole_number(text, option, where, high=100) if text else 0


def _hints(spec: Spec, letters: str) -> Iterator[Fidelity]:
    for letter in letters:
        if letter == "t":
            yield not_expressible("file attribute", "-ft: FILE_ATTRIBUTE_TEMPORARY exists on Windows only")
        else:
            spec.options["fadvise_hint"] = "random" if letter == "r" else "sequential"
            yield exact("access hint", f"-f{letter}: the same hint by posix_fadvise")


def _buffers(spec: Spec, option: str, value: str, where: str) -> None:
    if value in ("", "r"):
        spec.pattern = "per-io" if value else "zero"
        return
    size, comma, _ = value.partition(",")
    size_of(size, option, where, spec.block)
    spec.pattern = "random"
    if comma:
        spec.notes.append(
            not_expressible(
                "write data", "-Z<size>,<file>: data out of a named file is not taken; random data stands in"
            )
        )


def _help(_span: Span, _option: str, _value: str, where: str) -> None:
    raise UsageError("-? asks for help; there is no load in it", where=where, remedy="give the options of a run")


_MOST = 1 << 31
_REPORTED = same("reporting", "{option}{value} " + REPORTING)
_SPAN_ACTIONS: dict[str, Action] = {
    "d": put("duration", whole(1, _MOST)),
    "W": put("warmup", whole(0, _MOST)),
    "C": put("cooldown", whole(0, _MOST)),
    "F": put("total_threads", whole(1, 4096)),
    "O": put("per_thread_requests", whole(1, 65536)),
    "x": fixed(completion_routines=True),
    "z": put("seed", _seed),
    "a": _affinity,
    "n": same("processor affinity", "{option}: threads run where the system puts them, as in fio"),
    "l": lost(
        "buffer memory", "{option}: large pages for I/O buffers are an option that names memory, which is not taken"
    ),
    "N": both(
        _one_of("[vni]", "-N does not know {value!r}", "use -Nv, -Nn or -Ni"),
        lost(
            "flush of mapped writes",
            "{option}{value}: the Windows flush calls have no counterpart in fio's mmap engine",
        ),
    ),
    "e": lost("event tracing", "{option}{value}: Windows event tracing"),
    "y": lost("synchronisation events", "{option}{value}: Windows events start or stop the run"),
    "R": both(_one_of("p?(text|xml)|p", "-R does not know the format {value!r}", "use -Rtext or -Rxml"), _REPORTED),
    **dict.fromkeys("LDvP:A", _REPORTED),  # -A is CrystalDiskMark's own addition
    "?": _help,
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
    "w": put("write_percent", _share),
    "S": _cache,
    "h": lambda spec, option, _, where: _cache(spec, option, "h", where),
    "i": put("burst", whole(1, _MOST)),
    "j": put("think_ms", whole(0, _MOST)),
    "g": _throughput,
    "Z": _buffers,
    "I": _priority,
}


def _apply(span: Span, spec: Spec, letter: str, value: str, where: str) -> None:
    """One switch. `spec` holds what all targets share."""
    if letter in _SPAN_ACTIONS:
        _SPAN_ACTIONS[letter](span, f"-{letter}", value, where)
    elif letter in _SPEC_ACTIONS:
        _SPEC_ACTIONS[letter](spec, f"-{letter}", value, where)
    else:
        raise UsageError(
            f"DiskSpd has no option -{letter}{value}",
            where=where,
            remedy="remove it, or correct its spelling (options are case-sensitive)",
        )


def _switches(words: list[str], where: str) -> tuple[list[tuple[str, str]], list[str]]:
    """(letter, value) of the switches, and the targets behind them."""
    switches: list[tuple[str, str]] = []
    targets: list[str] = []
    for word in words:
        dos = re.match(r"^/[A-Za-z:?]", word) and "/" not in word[1:] and "." not in word and not targets
        if not word.startswith("-") and not dos:
            targets.append(word)
        elif targets:
            raise UsageError(
                f"the option {word!r} stands after a target", where=where, remedy="put all options before the targets"
            )
        elif len(word) < 2:
            raise UsageError("a lone dash is not an option", where=where, remedy="remove it")
        else:
            switches.append((word[1], word[2:]))
    return switches, targets


def _words(words: list[str], where: str) -> tuple[Span, str, list[str]]:
    """A command line as a span without targets yet, the path of its XML profile if any, and its targets."""
    switches, targets = _switches(words, where)
    letters = {letter for letter, _ in switches}
    if {"t", "F"} <= letters:
        raise UsageError("-t and -F exclude each other", where=where, remedy="use one of them")
    span = Span()
    spec, profile = Spec(notes=span.notes), ""
    for _, value in (switch for switch in switches if switch[0] == "b"):  # first: the suffix b of other sizes counts it
        spec.block = size_of(value, "-b", where, 65536)
        if not 0 < spec.block < 1 << 32:
            raise UsageError("-b must be at least 1 byte and below 4 GiB", where=where, remedy="write another size")
    for letter, value in switches:
        if letter == "X":
            profile = value
        elif letter != "b":
            _apply(span, spec, letter, value, where)
    if spec.interlocked and (spec.parallel or spec.random_percent < 100 or spec.thread_stride):
        raise UsageError("-si conflicts with -p, -rs and -T", where=where, remedy="use one of them")
    if spec.random and "s" in letters:
        span.notes.append(exact("address", "-r overrides -s"))
        spec.interlocked = False
    if profile and letters - set("XWdCRvz"):
        raise UsageError(
            "only -W -d -C -R -v -z may stand beside an XML profile", where=where, remedy="change the profile instead"
        )
    if not targets and not profile:
        span.notes.append(exact("target", "the command names none: one is taken"))
        targets = ["target"]
    span.targets = [replace(spec, path=path, options=dict(spec.options)) for path in targets]
    return span, profile, targets


def _address(spec: Spec, region: int | None, notes: list[Fidelity]) -> Address:
    if spec.random:
        if spec.ranges:
            zones = _zones(spec, region)
            if zones:
                return Address("zoned", align_bytes=spec.align, zones=zones, zones_are_bytes=spec.distribution == "abs")
            notes.append(
                not_expressible(
                    "address", "-rdabs needs the target's size for the rest of its I/O; uniform offsets stand in"
                )
            )
        if spec.random_percent < 100:
            return Address("part-random", align_bytes=spec.align, random_percent=spec.random_percent)
        return Address("random", align_bytes=spec.align)
    if spec.interlocked:
        return Address("shared-sequential", align_bytes=spec.align)
    return Address("sequential", align_bytes=spec.align)


def _zones(spec: Spec, region: int | None) -> tuple[tuple[float, float], ...]:
    """The ranges and, for what they leave open, one more zone; none where that needs a size nobody states."""
    rest = 100 - sum(share for share, _ in spec.ranges)
    total = 100 if spec.distribution == "pct" else region
    if total is None:
        return tuple((float(a), float(b)) for a, b in spec.ranges) if rest == 0 else ()
    zones, used = [], 0
    for share, extent in spec.ranges:
        room = min(extent, total - used)
        if room > 0:
            zones.append((float(share), float(room)))
        used += max(room, 0)
    if used < total:
        zones.append((float(rest), float(total - used)))
    scale = sum(share for share, _ in zones)
    return tuple((share * 100 / scale, extent) for share, extent in zones)


_DATA: dict[str, tuple[dict[str, OptionValue], Fidelity]] = {
    "sequential": (
        {"buffer_pattern": _DEFAULT_PATTERN},
        exact("write data", "the bytes 0 to 255 repeated, DiskSpd's default: compressible and the same in every block"),
    ),
    "zero": ({"zero_buffers": 1}, exact("write data", "zeroes")),
    "per-io": ({"refill_buffers": 1}, exact("write data", "new random data for every write")),
    "random": (
        {},
        approximate(
            "write data",
            "-Z: DiskSpd draws writes out of one random buffer, fio scrambles its own",
            "incompressible in both",
        ),
    ),
}


def _written(spec: Spec, notes: list[Fidelity]) -> dict[str, OptionValue]:
    options, note = _DATA[spec.pattern]
    notes.append(note)
    return options


def _caching(spec: Spec, depth: int, notes: list[Fidelity], *, writes: bool) -> None:
    if spec.mapped and depth == 1:
        notes.append(exact("caching", "-Sm: fio's mmap engine"))
    elif spec.mapped:
        error = f"one I/O at a time for each thread instead of {depth}"
        notes.append(approximate("caching", "-Sm: fio's mmap engine is synchronous", error))
    elif spec.remote_only:
        reason = "-Sr: no local cache but the server's; Linux has no such mode, so I/O is direct"
        notes.append(not_expressible("caching", reason))
    else:
        notes.append(exact("caching", f"the client's page cache is {'bypassed' if spec.unbuffered else 'in use'}"))
    if spec.write_through and writes:
        notes.append(
            approximate(
                "write-through",
                "-Sw/-Sh: Windows asks for forced unit access on every write; O_DSYNC asks Linux for the same",
                "where the device has no forced unit access, Linux flushes its cache instead",
            )
        )
    elif spec.write_through:
        notes.append(exact("write-through", "no effect on reads"))


def _arrival(spec: Spec, threads: int, notes: list[Fidelity]) -> Arrival:
    arrival = Arrival()
    if spec.throughput and spec.throughput_is_iops:
        arrival = Arrival("constant", rate_iops=float(spec.throughput * threads))
    elif spec.throughput:
        arrival = Arrival("constant", rate_bytes_per_s=1000.0 * spec.throughput * threads)
    if spec.burst and spec.think_ms:
        return replace(arrival, think_us=spec.think_ms * 1000, think_blocks=spec.burst)
    if spec.burst or spec.think_ms:
        notes.append(exact("think time", "-i and -j act only together: no pause"))
    return arrival


def _region(spec: Spec) -> int | None:
    """Bytes of the target that are used, None where nobody says."""
    ends = [end for end in (spec.file_size, spec.limit) if end is not None]
    if not spec.file_size and not spec.limit:
        return None
    region = min(ends) - spec.base
    if region < spec.block:
        raise UsageError(
            "the range of the target is smaller than one block", where=spec.path, remedy="check -c, -f, -B and -b"
        )
    return region


def _stream(spec: Spec, span: Span, index: int) -> tuple[Stream, list[Fidelity]]:
    notes: list[Fidelity] = []
    threads, depth = spec.threads, spec.outstanding
    if span.total_threads:
        threads = span.total_threads
        if span.per_thread_requests:
            depth = span.per_thread_requests
    writes = spec.write_percent > 0
    region = _region(spec)
    address = _address(spec, region, notes)
    if spec.parallel and not spec.random and depth > 1:
        notes.append(
            approximate(
                "outstanding I/O",
                "-p: each outstanding I/O keeps its own position from the same start; in fio each becomes a job",
                f"{threads * depth} jobs of depth 1 instead of {threads} threads of depth {depth}",
            )
        )
        threads, depth = threads * depth, 1
    options = {**spec.options, **(_written(spec, notes) if writes else {})}
    _caching(spec, depth, notes, writes=writes)
    if spec.mapped:
        depth = 1
    arrival = _arrival(spec, threads, notes)
    stride = spec.thread_stride if threads > 1 and not spec.random and not spec.interlocked else 0
    size = region
    if stride and region is not None:
        size = region - stride * (threads - 1)
        if size < spec.block:
            raise UsageError(
                "-T puts threads behind the end of the target",
                where=spec.path,
                remedy="use a smaller -T or a larger target",
            )
        notes.append(
            approximate(
                "start of each thread",
                "-T: fio's jobs end where the last one ends and wrap to "
                "their own start, DiskSpd's to the start of the target",
                f"after a whole pass only, {size} bytes into the run of a thread",
            )
        )
    stream = Stream(
        name=safe_name(f"target{index}"),
        read_percent=100 - spec.write_percent,
        address=address,
        sizes=((spec.block, 100.0),),
        arrival=arrival,
        jobs=threads,
        depth=depth,
        size_bytes=size,
        offset_bytes=spec.base,
        offset_increment_bytes=stride,
        target=index,
        origin=spec.path,
        direct=spec.unbuffered or spec.remote_only,
        sync="dsync" if spec.write_through and writes else "",
        engine="mmap" if spec.mapped else "",
        options=options,
    )
    return stream, notes


def _workload(span: Span, index: int) -> tuple[Workload, list[Fidelity]]:
    notes = list(span.notes)
    streams = []
    targets = span.targets
    for number, spec in enumerate(targets, 1):
        stream, entries = _stream(spec, span, number)
        streams.append(stream)
        notes += entries
    if span.total_threads and len(targets) > 1:
        n = len(targets)
        notes.append(
            approximate(
                "threads",
                f"-F{span.total_threads}: each thread serves all {n} targets; in fio "
                f"every target has {span.total_threads} jobs of its own",
                f"outstanding I/O for each target kept, {span.total_threads * n} jobs instead of "
                f"{span.total_threads} threads",
            )
        )
        if span.per_thread_requests:
            depth = max(1, span.per_thread_requests // n)
            streams = [replace(stream, depth=depth) for stream in streams]
    if span.cooldown:
        notes.append(not_expressible("cool-down", f"-C{span.cooldown}: fio stops all jobs when the window ends"))
    if span.seed is not None:
        if span.seed >= 0:
            streams = [replace(stream, options={**stream.options, "randseed": span.seed}) for stream in streams]
        notes.append(
            approximate(
                "seed", "-z: the load is repeatable, but another generator draws it", "other offsets, same distribution"
            )
        )
    if span.affinity:
        streams = [
            replace(stream, options={**stream.options, "cpus_allowed": span.affinity, "cpus_allowed_policy": "split"})
            for stream in streams
        ]
        notes.append(exact("processor affinity", f"-a: jobs go round-robin to processors {span.affinity}"))
    if span.completion_routines:
        notes.append(exact("completion", "-x: how completions are collected does not change the load"))
    name = f"span{index}"
    return Workload(name, tuple(streams), runtime_seconds=span.duration, warmup_seconds=span.warmup), notes


def translate(source: Source, tool: str) -> Translation:
    """A command line, a script of them, or an XML profile."""
    from ioatlas.interop.translate.diskspd_xml import read_profile

    if re.match(r"\s*<[?!A-Za-z]", source.text):
        spans = read_profile(source.text, source.where, ())
    else:
        spans = []
        for where, words in command_lines(source, ("diskspd",), windows=True):
            span, profile, targets = _words(words, where)
            if not profile:
                spans.append(span)
                continue
            given = {word[1] for word in words if word.startswith("-")}
            for timed in read_profile(source.include(profile, depth=1).text, profile, targets):
                for letter, name in (("d", "duration"), ("W", "warmup"), ("C", "cooldown"), ("z", "seed")):
                    if letter in given:
                        setattr(timed, name, getattr(span, name))
                spans.append(timed)
    pairs = [_workload(span, index) for index, span in enumerate(spans, 1)]
    return from_workloads(tool, source.where, [w for w, _ in pairs], [note for _, notes in pairs for note in notes])
