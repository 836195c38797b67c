# SPDX-License-Identifier: Apache-2.0
"""Streams become fio sections, and every attribute says how exactly it got there."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from ioatlas.load.fio.jobfile import JobSection
from ioatlas.load.streams.fidelity import Fidelity, Notes, notes_in
from ioatlas.model.errors import UsageError
from ioatlas.model.options import JobValue
from ioatlas.model.workload import Stream, Workload

_TOLD = notes_in("ioatlas.load.streams", "compile")
# Without a sleep, streams that are ahead spin: 3,100 I/Os per second of a cached file in all against 113,500 with 10 us
# and 390,000 without flow.
_FLOW_SLEEP_US = 10
_FILE_ENTRIES = 250_000
"""fio 3.33 ends with "smalloc: OOM" at about 320,000."""
_RANDOM = frozenset({"random", "part-random", "zipf", "pareto", "normal", "zoned", "hierarchical-reuse"})


def seconds_option(seconds: float | Fraction) -> int | str:
    """A time as fio reads it: bare whole seconds; what is no whole number of them in milliseconds, with its unit."""
    return int(seconds) if seconds == int(seconds) else f"{round(seconds * 1000)}ms"


@dataclass(frozen=True)
class Compiled:
    """One workload as fio sections, one for each of its streams."""

    sections: tuple[JobSection, ...]
    fidelity: tuple[tuple[Fidelity, ...], ...]


@dataclass
class _Made:
    """A stream on its way into a section: its options so far, and what is to be told of them."""

    stream: Stream
    workload: Workload
    options: dict[str, JobValue] = field(default_factory=dict)
    notes: Notes = field(default_factory=Notes)


def _direction(made: _Made) -> None:
    stream, random = made.stream, "rand" if made.stream.address.law in _RANDOM else ""
    if stream.trims or not 0 < stream.read_percent < 100:
        word = "trim" if stream.trims else "read" if stream.read_percent > 0 else "write"
        made.options["rw"] = random + word
        made.notes.same("direction", f"all {word}s")
        return
    whole = round(stream.read_percent)
    off = whole - stream.read_percent
    made.options["rw"] = f"{random}rw"
    made.notes.rounded(_TOLD, "direction", off, whole=whole, percent=stream.read_percent)


def _whole_percents(values: Sequence[float]) -> list[int]:
    """Whole per cents that sum to 100 as the values do, by largest remainders."""
    low = [math.floor(v + 1e-9) for v in values]
    for i in sorted(range(len(values)), key=lambda k: values[k] - low[k], reverse=True)[: 100 - sum(low)]:
        low[i] += 1
    return low


def _zoned(made: _Made) -> None:
    in_bytes = made.stream.address.zones_are_bytes
    access, extent = [io for io, _ in made.stream.address.zones], [part for _, part in made.stream.address.zones]
    ends = [int(part) for part in extent]
    zones = list(zip(_whole_percents(access), ends if in_bytes else _whole_percents(extent), strict=True))
    if any(part == 0 < io for io, part in zones):
        raise UsageError(
            "a zone is smaller than one per cent of the region, which fio's zoned distribution cannot hold",
            where="address",
            remedy="use wider zones",
        )
    text = ":".join(f"{io}/{part}" for io, part in zones if part)
    made.options["random_distribution"] = f"{'zoned_abs' if in_bytes else 'zoned'}:{text}"
    pairs = zip(zones, access, ends if in_bytes else extent, strict=True)
    worst = max(max(abs(io - asked), abs(part - wide)) for (io, part), asked, wide in pairs)
    made.notes.rounded(_TOLD, "zones", worst)


def _part_random(made: _Made) -> None:
    stream, asked = made.stream, made.stream.address.random_percent
    made.options["percentage_random"] = whole = round(asked)
    if abs(whole - asked) <= 1e-9 and stream.reads and stream.writes:
        made.notes.tell(_TOLD["part-random-mix"])
    else:
        made.notes.rounded(_TOLD, "part-random", whole - asked, whole=whole)


def _uniform(made: _Made) -> None:
    how = "each block once a pass" if made.stream.address.once else "independent draws"
    made.notes.same("address", f"uniform over the region, {how}")


def _distribution(made: _Made) -> None:
    law = made.stream.address.law
    made.options["random_distribution"] = f"{law}:{made.stream.address.parameter:g}"
    made.notes.same("address", f"fio's own {law} distribution")


def _strided(made: _Made) -> None:
    skip, block = made.stream.address.skip_bytes, made.stream.sizes[0][0]
    made.options["rw"] = f"{made.options['rw']}:{skip}"
    made.notes.tell(_TOLD["strided"], every=skip + block, part=(skip + block) / block)


def _backward(made: _Made) -> None:
    block, size = made.stream.sizes[0][0], made.stream.size_bytes
    made.options["rw"] = f"{made.options['rw']}:-{2 * block}"
    made.notes.tell(_TOLD["backward"], share=f"1 of {size // block} I/Os" if size else "1 I/O a pass")


def _shared_sequential(made: _Made) -> None:
    stream, block = made.stream, made.stream.sizes[0][0]
    if stream.jobs == 1:
        made.notes.same("address", "one job, one position")
        return
    step = stream.address.align_bytes or block
    if hole := stream.jobs * step - block:
        made.options["rw"] = f"{made.options['rw']}:{hole}"
    made.options["offset_increment"] = step
    made.notes.tell(_TOLD["shared-sequential"])


_LAWS: dict[str, Callable[[_Made], None]] = {
    "random": _uniform,
    "part-random": _part_random,
    "zoned": _zoned,
    **dict.fromkeys(("zipf", "pareto", "normal"), _distribution),
    "strided": _strided,
    "backward": _backward,
    "fixed": lambda made: made.notes.same("address", "a region of one block, passed again and again"),
    "shared-sequential": _shared_sequential,
    "sequential": lambda made: made.notes.same("address", "each job sequential from its own position"),
}


def _address(made: _Made) -> None:
    stream, address, law = made.stream, made.stream.address, made.stream.address.law
    if law not in _LAWS:
        raise UsageError(f"no fio option has the address law {law!r}", where=stream.name, remedy="use a timed trace")
    rw, block = made.options["rw"], stream.sizes[0][0]
    aligned = address.align_bytes if address.align_bytes != block else None
    if law in _RANDOM:
        if aligned is not None:
            made.options["blockalign"] = aligned
        if aligned is not None or not (address.once or stream.trims):
            made.options["norandommap"] = 1
    if law == "strided" and made.workload.runtime_seconds is None:
        made.options.setdefault("io_size", stream.size_bytes)
    _LAWS[law](made)
    if stream.reads and stream.writes and law in ("sequential", "shared-sequential", "strided", "backward"):
        made.notes.tell(_TOLD["mixed-sequential"])
    shared = law == "shared-sequential" and stream.jobs > 1
    if law not in _RANDOM and not shared and aligned is not None:
        made.options["rw"] = f"{rw}:{aligned - block}"
        made.notes.same("stride", f"steps of {aligned} bytes from block to block")


def _split(sizes: Sequence[tuple[int, float]]) -> tuple[str, float]:
    """A mix of sizes as fio takes it, and by how many points a share is off at most."""
    total = sum(share for _, share in sizes)
    raw = [100 * share / total for _, share in sizes]
    low = _whole_percents(raw)
    worst = max(abs(a - b) for a, b in zip(raw, low, strict=True))
    return ":".join(f"{size}/{percent}" for (size, _), percent in zip(sizes, low, strict=True) if percent), worst


def _sizes(made: _Made) -> None:
    reads, writes = made.stream.sizes, made.stream.write_sizes or made.stream.sizes
    if len(reads) == 1 and len(writes) == 1:
        made.options["bs"] = reads[0][0] if reads == writes else f"{reads[0][0]},{writes[0][0]}"
        made.notes.same("block size", f"{made.options['bs']} bytes")
        return
    (text, read_worst), (write_text, write_worst) = _split(reads), _split(writes)
    made.options["bssplit"] = text if text == write_text else f"{text},{write_text}"
    made.notes.rounded(_TOLD, "sizes", max(read_worst, write_worst))


def _rate(made: _Made, option: str, rate: float, how: str) -> None:
    """A rate of all jobs, split by direction as fio wants it."""
    stream, each, mix = made.stream, rate / made.stream.jobs, round(made.stream.read_percent)
    shares = (mix / 100, (100 - mix) / 100) if stream.reads and stream.writes else (1,)
    parts = [max(1, round(each * share)) for share in shares]
    made.options[option] = parts[0] if len(parts) == 1 else f"{parts[0]},{parts[1]}"
    error = sum(parts) / each - 1
    made.notes.rounded(_TOLD, "rate", error, rate=rate, how=how.format(jobs=stream.jobs), percent=100 * error)


def _arrival(made: _Made) -> None:
    arrival = made.stream.arrival
    if arrival.rate_iops:
        poisson = arrival.law == "poisson"
        gaps = "exponential gaps" if poisson else "even gaps"
        _rate(made, "rate_iops", arrival.rate_iops, f"I/Os per second over {{jobs}} jobs, {gaps}")
        made.options |= {"rate_process": "poisson"} if poisson else {}
    if arrival.rate_bytes_per_s:
        _rate(made, "rate", arrival.rate_bytes_per_s, "bytes per second over {jobs} jobs")
    if arrival.think_us:
        made.options["thinktime"] = arrival.think_us
        if arrival.think_blocks > 1:
            made.options["thinktime_blocks"] = arrival.think_blocks
        if made.stream.depth == 1:
            made.notes.same("think time", f"{arrival.think_us} us after {arrival.think_blocks} I/Os")
        else:
            made.notes.tell(_TOLD["think-time"])
    if not (arrival.rate_iops or arrival.rate_bytes_per_s or arrival.think_us):
        made.notes.same("arrival", "closed loop: the next I/O is sent when one ends")


def _engine(made: _Made) -> None:
    stream = made.stream
    engine = stream.engine or ("psync" if stream.depth == 1 else "libaio" if stream.direct else "io_uring")
    made.options |= {"ioengine": engine, "iodepth": stream.depth, "numjobs": stream.jobs, "direct": int(stream.direct)}
    if not stream.direct:
        made.options["invalidate"] = 0  # other tools open the file and go on; fio would drop its cached pages first
    if stream.sync:
        made.options["sync"] = stream.sync
    made.notes.same("outstanding I/O", f"{stream.jobs} jobs x {stream.depth} in flight, by {engine}")


def _region_percent(made: _Made, low: float, high: float) -> None:
    start, length = round(low), max(1, round(high - low))
    made.options |= {"offset": f"{start}%", "size": f"{length}%"}
    made.notes.rounded(_TOLD, "region", max(abs(start - low), abs(length - (high - low))), low=low, high=high)


def _files(made: _Made) -> None:
    """The names of the files. Jobs that share several have a list of them: of a pattern without a number of the job,
    only the first job gets the files, and the others move nothing (seen with fio 3.33).
    """
    stream, options, target = made.stream, made.options, f"ioatlas-target-{made.stream.target}"
    if stream.private or (stream.files > 1 and stream.jobs == 1):
        options["filename_format"] = f"{target}.$jobnum.$filenum" if stream.private else f"{target}.$filenum"
        options["nrfiles"] = stream.files
    elif stream.files == 1:
        options["filename"] = target
    else:
        options["filename"] = tuple(f"{target}.{number}" for number in range(stream.files))
    made.notes.tell(_TOLD["target"])


def _fewer_files(made: _Made) -> None:
    """No more files than fio can hold, all jobs together."""
    stream, most = made.stream, max(1, _FILE_ENTRIES // made.stream.jobs)
    if stream.files > most:
        percent = 100 * most / stream.files
        made.notes.tell(_TOLD["files"], entries=_FILE_ENTRIES, most=most, files=stream.files, percent=percent)
        size = stream.size_bytes and stream.size_bytes * most // stream.files
        made.stream = replace(stream, files=most, size_bytes=size)


def _region(made: _Made) -> None:
    _files(made)
    stream, options = made.stream, made.options
    size = stream.sizes[0][0] if stream.address.law == "fixed" else stream.size_bytes
    if size is not None:
        options["size"] = size
    elif stream.region_percent is None:
        made.notes.same("size", "the source leaves it to the target: all of it, so the target must exist")
    if stream.offset_bytes:
        options["offset"] = stream.offset_bytes
    if stream.region_percent is not None:
        _region_percent(made, *stream.region_percent)
    if stream.offset_increment_bytes:
        options["offset_increment"] = stream.offset_increment_bytes


def _duration(made: _Made) -> None:
    stream, workload, options = made.stream, made.workload, made.options
    if workload.runtime_seconds is not None:
        options |= {"time_based": 1, "runtime": seconds_option(workload.runtime_seconds)}
        if workload.warmup_seconds:
            options["ramp_time"] = seconds_option(workload.warmup_seconds)
        told = f"{workload.runtime_seconds:g} s after {workload.warmup_seconds:g} s of warm-up"
        made.notes.same("duration", told)
        return
    if stream.work_bytes is not None:
        options["io_size"] = stream.work_bytes
    if workload.passes > 1:
        options["loops"] = workload.passes
    made.notes.same("duration", "bounded by the work, not by time")


def _compiled(stream: Stream, workload: Workload) -> _Made:
    made = _Made(stream, workload)
    for step in (_direction, _fewer_files, _sizes, _address, _arrival, _engine, _region, _duration):
        step(made)
    if "rw" in str(made.options["rw"]).split(":", 1)[0]:
        made.options["rwmixread"] = round(stream.read_percent)
    made.options |= dict(stream.options)
    return made


def share_weights(shares: Mapping[str, float], jobs: Mapping[str, int]) -> dict[str, int]:
    """Weights for fio's `flow`, which counts I/Os, that keep free-running streams in their shares; empty for fewer than
    two.

    shares: of the I/Os by stream, 0 to 1. jobs: of each stream; every job is weighed by itself.
    """
    each = {name: share / jobs[name] for name, share in shares.items()}
    if len(each) < 2:
        return {}
    total = sum(each.values())
    weights: dict[str, int] = {}
    for scale in (100, 1000, 10_000):
        weights = {name: max(1, round(share / total * scale)) for name, share in each.items()}
        if _worst_share(weights, each) < 1e-3:
            break
    divisor = math.gcd(*weights.values())
    return {name: weight // divisor for name, weight in weights.items()}


def _worst_share(weights: Mapping[str, int], shares: Mapping[str, float]) -> float:
    found, total = sum(weights.values()), sum(shares.values())
    return max(abs(weights[name] / found / (share / total) - 1) for name, share in shares.items())


def _flow(workload: Workload) -> tuple[dict[str, int], Notes]:
    """Weights of the free-running streams, and how near they come to the shares."""
    notes = Notes()
    running = [stream for stream in workload.streams if stream.share and not stream.arrival.rate_iops]
    shares = {stream.name: stream.share or 0.0 for stream in running}
    jobs = {stream.name: stream.jobs for stream in running}
    weights = share_weights(shares, jobs)
    if weights:
        worst = _worst_share(weights, {name: share / jobs[name] for name, share in shares.items()})
        notes.rounded(_TOLD, "shares", worst, percent=100 * worst)
        notes.append(_TOLD["flow"])
    return weights, notes


def compile_workload(workload: Workload) -> Compiled:
    """Sections that start together. Raises UsageError for a law fio has no option for."""
    workload = replace(workload, streams=tuple(_unique(workload.streams)))
    sections, notes = [], []
    weights, shares = _flow(workload)
    for stream in workload.streams:
        made = _compiled(stream, workload)
        if stream.name in weights:
            made.options |= {"flow": weights[stream.name], "flow_id": 1, "flow_sleep": _FLOW_SLEEP_US}
            made.notes += shares
        sections.append(JobSection(stream.name, made.options))
        notes.append(tuple(made.notes))
    return Compiled(tuple(sections), tuple(notes))


def _unique(streams: Sequence[Stream]) -> list[Stream]:
    """The same streams with section names that differ."""
    seen: dict[str, int] = {}
    named = []
    for stream in streams:
        seen[stream.name] = seen.get(stream.name, 0) + 1
        named.append(stream if seen[stream.name] == 1 else replace(stream, name=f"{stream.name}-{seen[stream.name]}"))
    return named
