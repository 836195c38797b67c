# SPDX-License-Identifier: Apache-2.0
"""Streams become fio sections, and every attribute says how exactly it got there."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from ioatlas.errors import UsageError
from ioatlas.fio.jobfile import JobSection, JobValue
from ioatlas.interop.fidelity import Fidelity, approximate, exact
from ioatlas.model.workload import Address, Stream, Workload

# Without a sleep, streams that are ahead spin: 3,100 I/Os per second of a cached file in all against 113,500 with 10 us
# and 390,000 without flow.
_FLOW_SLEEP_US = 10
_FLOW_NOTE = approximate(
    "outstanding I/O",
    "flow makes a stream that is ahead of its share finish what it has in flight before it waits",
    "fewer I/Os in flight than stated while a stream waits. Very fast targets are held down (to 29% on a cached file)",
)
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


def _direction(stream: Stream) -> tuple[str, list[Fidelity]]:
    random = stream.address.law in _RANDOM
    if stream.trims:
        return ("randtrim" if random else "trim"), [exact("direction", "all trims")]
    if stream.read_percent >= 100:
        return ("randread" if random else "read"), [exact("direction", "all reads")]
    if stream.read_percent <= 0:
        return ("randwrite" if random else "write"), [exact("direction", "all writes")]
    whole = round(stream.read_percent)
    if abs(whole - stream.read_percent) < 1e-9:
        note = exact("direction", f"rwmixread={whole}: the direction of each I/O is drawn on its own")
    else:
        note = approximate(
            "direction",
            "rwmixread takes whole per cents",
            f"{whole - stream.read_percent:+.3g} points of {stream.read_percent:g}% reads",
        )
    return ("randrw" if random else "rw"), [note]


def _whole_percents(values: Sequence[float]) -> list[int]:
    """Whole per cents that sum to 100 as the values do, by largest remainders."""
    low = [math.floor(v + 1e-9) for v in values]
    for i in sorted(range(len(values)), key=lambda k: values[k] - low[k], reverse=True)[: 100 - sum(low)]:
        low[i] += 1
    return low


def _zones(address: Address) -> tuple[str, Fidelity]:
    """The zones as fio takes them, and how near they come."""
    access, extent = [io for io, _ in address.zones], [part for _, part in address.zones]
    if address.zones_are_bytes:
        shares = _whole_percents(access)
        text = "zoned_abs:" + ":".join(f"{a}/{int(e)}" for a, e in zip(shares, extent, strict=True))
        worst = max(abs(a - b) for a, b in zip(access, shares, strict=True))
        if worst < 1e-6:
            return text, exact("address", "uniform inside each zone, zones with their shares of the I/O")
        return text, approximate(
            "address", "fio's zones take whole per cents of the I/O", f"up to {worst:.2g} points in a zone's share"
        )
    whole_access, whole_extent = _whole_percents(access), _whole_percents(extent)
    worst = max(
        [abs(a - b) for a, b in zip(access, whole_access, strict=True)]
        + [abs(a - b) for a, b in zip(extent, whole_extent, strict=True)]
    )
    if any(e == 0 < a for a, e in zip(whole_access, whole_extent, strict=True)):
        raise UsageError(
            "a zone is smaller than one per cent of the region, which fio's zoned distribution cannot hold",
            where="address",
            remedy="use wider zones",
        )
    text = "zoned:" + ":".join(f"{a}/{e}" for a, e in zip(whole_access, whole_extent, strict=True) if e)
    if worst < 1e-6:
        return text, exact("address", "uniform inside each zone, zones with their shares of the I/O")
    return text, approximate(
        "address", "fio's zones take whole per cents", f"up to {worst:.2g} points in a zone's share or extent"
    )


def _part_random(stream: Stream, options: dict[str, JobValue]) -> list[Fidelity]:
    whole = round(stream.address.random_percent)
    options["percentage_random"] = whole
    if abs(whole - stream.address.random_percent) > 1e-9:
        error = f"{whole - stream.address.random_percent:+.3g} points"
        return [approximate("address", "percentage_random takes whole per cents", error)]
    if stream.reads and stream.writes:
        return [
            approximate(
                "address",
                "fio draws the direction of each I/O and keeps a position for each direction: a sequential run is not "
                "all reads or all writes",
                "share of random I/O kept; run lengths of the mix differ",
            )
        ]
    return [exact("address", f"{whole}% of the I/O random, the rest continues where the last one ended")]


def _uniform(stream: Stream, _options: dict[str, JobValue]) -> list[Fidelity]:
    how = "each block once a pass" if stream.address.once else "independent draws"
    return [exact("address", f"uniform over the region, {how}")]


def _zoned(stream: Stream, options: dict[str, JobValue]) -> list[Fidelity]:
    options["random_distribution"], note = _zones(stream.address)
    return [note]


def _distribution(stream: Stream, options: dict[str, JobValue]) -> list[Fidelity]:
    law = stream.address.law
    options["random_distribution"] = f"{law}:{stream.address.parameter:g}"
    return [exact("address", f"fio's own {law} distribution")]


def _strided(stream: Stream, options: dict[str, JobValue]) -> list[Fidelity]:
    block = stream.sizes[0][0]
    step = stream.address.skip_bytes + block
    options["rw"] = f"{options['rw']}:{stream.address.skip_bytes}"
    return [
        approximate(
            "address",
            f"one block in every {step} bytes. At the end fio begins again with the first block; the tool shifts by "
            "one",
            f"after a pass over 1/{step / block:g} of the blocks the same ones come again: a cache would show it",
        )
    ]


def _backward(stream: Stream, options: dict[str, JobValue]) -> list[Fidelity]:
    block = stream.sizes[0][0]
    options["rw"] = f"{options['rw']}:-{2 * block}"
    return [
        approximate(
            "address",
            "each I/O ends where the one before began; fio sends the region's first block first",
            f"1 of {stream.size_bytes // block} I/Os" if stream.size_bytes else "1 I/O a pass",
        )
    ]


def _shared_sequential(stream: Stream, options: dict[str, JobValue]) -> list[Fidelity]:
    if stream.jobs == 1:
        return [exact("address", "one job, one position")]
    block = stream.sizes[0][0]
    step = stream.address.align_bytes or block
    hole = stream.jobs * step - block
    options["rw"] = f"{options['rw']}:{hole}" if hole else options["rw"]
    options["offset_increment"] = step
    return [
        approximate(
            "address",
            "fio's jobs cannot advance one common position: job k takes blocks k, k+n, k+2n, ... so that together "
            "they pass over the region once",
            "order within the jobs' drift from each other; every block still once a pass",
        )
    ]


_LAWS: dict[str, Callable[[Stream, dict[str, JobValue]], list[Fidelity]]] = {
    "random": _uniform,
    "part-random": _part_random,
    "zoned": _zoned,
    **dict.fromkeys(("zipf", "pareto", "normal"), _distribution),
    "strided": _strided,
    "backward": _backward,
    "fixed": lambda *_: [exact("address", "a region of one block, passed again and again")],
    "shared-sequential": _shared_sequential,
    "sequential": lambda *_: [exact("address", "each job sequential from its own position")],
}


def _address(stream: Stream, workload: Workload, rw: str, options: dict[str, JobValue]) -> list[Fidelity]:
    address, law = stream.address, stream.address.law
    if law not in _LAWS:
        raise UsageError(f"no fio option has the address law {law!r}", where=stream.name, remedy="use a timed trace")
    aligned = address.align_bytes if address.align_bytes != stream.sizes[0][0] else None
    options["rw"] = rw
    if law in _RANDOM:
        if aligned is not None:
            options["blockalign"] = aligned
        if aligned is not None or not (address.once or stream.trims):
            options["norandommap"] = 1
    if law == "strided" and workload.runtime_seconds is None:
        options.setdefault("io_size", stream.size_bytes)
    notes = _LAWS[law](stream, options)
    if stream.reads and stream.writes and law in ("sequential", "shared-sequential", "strided", "backward"):
        notes.append(
            approximate(
                "mixed sequential order",
                "fio keeps one position for reads and another for writes, the tool one for both",
                "direction mix and sizes kept; reads and writes each pass over the region on their own",
            )
        )
    shared = law == "shared-sequential" and stream.jobs > 1
    if law not in _RANDOM and not shared and aligned is not None:
        options["rw"] = f"{rw}:{aligned - stream.sizes[0][0]}"
        notes.append(exact("stride", f"steps of {aligned} bytes from block to block"))
    return notes


def _sizes(stream: Stream, options: dict[str, JobValue]) -> list[Fidelity]:
    def split(sizes: Sequence[tuple[int, float]]) -> tuple[str, float]:
        total = sum(p for _, p in sizes)
        raw = [100 * p / total for _, p in sizes]
        low = _whole_percents(raw)
        worst = max(abs(a - b) for a, b in zip(raw, low, strict=True))
        return ":".join(f"{size}/{percent}" for (size, _), percent in zip(sizes, low, strict=True) if percent), worst

    reads, writes = stream.sizes, stream.write_sizes or stream.sizes
    if len(reads) == 1 and len(writes) == 1:
        options["bs"] = reads[0][0] if reads == writes else f"{reads[0][0]},{writes[0][0]}"
        return [exact("block size", f"{options['bs']} bytes")]
    read_text, read_worst = split(reads)
    write_text, write_worst = split(writes)
    options["bssplit"] = read_text if read_text == write_text else f"{read_text},{write_text}"
    worst = max(read_worst, write_worst)
    if worst < 1e-6:
        return [exact("block size", "bssplit draws each size with its share of the I/O")]
    return [approximate("block size", "bssplit takes whole per cents", f"up to {worst:.2g} points in a size's share")]


def _per_direction(rate: float, stream: Stream) -> tuple[int | str, float]:
    """A rate split by direction as fio wants it, and the relative error of rounding to whole numbers."""
    if not (stream.reads and stream.writes):
        whole = max(1, round(rate))
        return whole, whole / rate - 1
    read, write = rate * round(stream.read_percent) / 100, rate * (100 - round(stream.read_percent)) / 100
    parts = max(1, round(read)), max(1, round(write))
    return f"{parts[0]},{parts[1]}", sum(parts) / rate - 1


def _rate_note(rate: str, error: float) -> Fidelity:
    if abs(error) < 1e-9:
        return exact("arrival", rate)
    rounded = "; fio takes whole numbers for each job and direction"
    return approximate("arrival", rate + rounded, f"{100 * error:+.3g}% of the rate")


def _arrival(stream: Stream, options: dict[str, JobValue]) -> list[Fidelity]:
    arrival, notes = stream.arrival, []
    if arrival.rate_iops:
        options["rate_iops"], error = _per_direction(arrival.rate_iops / stream.jobs, stream)
        if arrival.law == "poisson":
            options["rate_process"] = "poisson"
        spacing = "exponential gaps" if arrival.law == "poisson" else "even gaps"
        notes.append(_rate_note(f"{arrival.rate_iops:g} I/Os per second over {stream.jobs} jobs, {spacing}", error))
    if arrival.rate_bytes_per_s:
        options["rate"], error = _per_direction(arrival.rate_bytes_per_s / stream.jobs, stream)
        notes.append(_rate_note(f"{arrival.rate_bytes_per_s:g} bytes per second over {stream.jobs} jobs", error))
    if arrival.think_us:
        options["thinktime"] = arrival.think_us
        if arrival.think_blocks > 1:
            options["thinktime_blocks"] = arrival.think_blocks
        notes.append(
            exact("think time", f"{arrival.think_us} us after {arrival.think_blocks} I/Os")
            if stream.depth == 1
            else approximate(
                "think time",
                "fio stops submitting and drains the queue for the pause",
                "the pause begins after the queue is empty",
            )
        )
    if not notes:
        notes.append(exact("arrival", "closed loop: the next I/O is sent when one ends"))
    return notes


def _engine(stream: Stream, options: dict[str, JobValue]) -> list[Fidelity]:
    if stream.engine:
        engine = stream.engine
    elif stream.depth == 1:
        engine = "psync"
    else:
        engine = "libaio" if stream.direct else "io_uring"
    options |= {"ioengine": engine, "iodepth": stream.depth, "numjobs": stream.jobs, "direct": int(stream.direct)}
    if not stream.direct:
        options["invalidate"] = 0  # other tools open the file and go on; fio would drop its cached pages first
    if stream.sync:
        options["sync"] = stream.sync
    return [exact("outstanding I/O", f"{stream.jobs} jobs x {stream.depth} in flight, by {engine}")]


def _region_percent(low: float, high: float, options: dict[str, JobValue]) -> Fidelity:
    start, length = round(low), max(1, round(high - low))
    options |= {"offset": f"{start}%", "size": f"{length}%"}
    worst = max(abs(start - low), abs(length - (high - low)))
    if worst > 1e-9:
        error = f"up to {worst:.2g} points of the target"
        return approximate("region", "fio takes whole per cents of a target of unknown size", error)
    return exact("region", f"{low:g}% to {high:g}% of the target")


def _files(stream: Stream, options: dict[str, JobValue]) -> None:
    """The names of the files. Jobs that share several have a list of them: of a pattern without a number of the job,
    only the first job gets the files, and the others move nothing (seen with fio 3.33).
    """
    target = f"ioatlas-target-{stream.target}"
    if stream.private:
        options["filename_format"], options["nrfiles"] = f"{target}.$jobnum.$filenum", stream.files
    elif stream.files == 1:
        options["filename"] = target
    elif stream.jobs == 1:
        options["filename_format"], options["nrfiles"] = f"{target}.$filenum", stream.files
    else:
        options["filename"] = tuple(f"{target}.{number}" for number in range(stream.files))


def _fewer_files(stream: Stream) -> tuple[Stream, list[Fidelity]]:
    """The stream with no more files than fio can hold, all jobs together."""
    most = max(1, _FILE_ENTRIES // stream.jobs)
    if stream.files <= most:
        return stream, []
    note = approximate(
        "files",
        f"fio holds about {_FILE_ENTRIES:,} files, counted for each job: {most:,} of {stream.files:,} are used",
        f"{100 * most / stream.files:.2g}% of the footprint",
    )
    size = stream.size_bytes and stream.size_bytes * most // stream.files
    return replace(stream, files=most, size_bytes=size), [note]


def _region(stream: Stream, workload: Workload, options: dict[str, JobValue]) -> list[Fidelity]:
    _files(stream, options)
    notes = [
        exact(
            "target",
            "no path is carried over: the target is named when the load is run; number and sharing of its files are "
            "kept",
        )
    ]
    size = stream.size_bytes
    if stream.address.law == "fixed":
        size = stream.sizes[0][0]
    if size is None and stream.region_percent is None:
        notes.append(exact("size", "the source leaves it to the target: all of it, so the target must exist"))
    elif size is not None:
        options["size"] = size
    if stream.offset_bytes:
        options["offset"] = stream.offset_bytes
    if stream.region_percent is not None:
        notes.append(_region_percent(*stream.region_percent, options))
    if stream.offset_increment_bytes:
        options["offset_increment"] = stream.offset_increment_bytes
    return [*notes, _duration(stream, workload, options)]


def _duration(stream: Stream, workload: Workload, options: dict[str, JobValue]) -> Fidelity:
    if workload.runtime_seconds is not None:
        options |= {"time_based": 1, "runtime": seconds_option(workload.runtime_seconds)}
        if workload.warmup_seconds:
            options["ramp_time"] = seconds_option(workload.warmup_seconds)
        return exact("duration", f"{workload.runtime_seconds:g} s after {workload.warmup_seconds:g} s of warm-up")
    if stream.work_bytes is not None:
        options["io_size"] = stream.work_bytes
    if workload.passes > 1:
        options["loops"] = workload.passes
    return exact("duration", "bounded by the work, not by time")


def compile_stream(stream: Stream, workload: Workload) -> tuple[JobSection, list[Fidelity]]:
    options: dict[str, JobValue] = {}
    stream, fewer = _fewer_files(stream)
    rw, notes = _direction(stream)
    notes += fewer
    notes += _sizes(stream, options)
    notes += _address(stream, workload, rw, options)
    notes += _arrival(stream, options)
    notes += _engine(stream, options)
    notes += _region(stream, workload, options)
    if "rw" in str(options["rw"]).split(":", 1)[0]:
        options["rwmixread"] = round(stream.read_percent)
    options |= dict(stream.options)
    return JobSection(stream.name, options), notes


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


def _flow(workload: Workload) -> tuple[dict[str, int], list[Fidelity]]:
    """Weights of the free-running streams, and how near they come to the shares."""
    running = [stream for stream in workload.streams if stream.share and not stream.arrival.rate_iops]
    shares = {stream.name: stream.share or 0.0 for stream in running}
    jobs = {stream.name: stream.jobs for stream in running}
    weights = share_weights(shares, jobs)
    if not weights:
        return {}, []
    worst = _worst_share(weights, {name: share / jobs[name] for name, share in shares.items()})
    if worst < 1e-9:
        note = exact("share of streams", "flow keeps the streams' I/Os in the ratio of their shares")
    else:
        note = approximate(
            "share of streams", "flow takes whole numbers", f"up to {100 * worst:.2g}% of a stream's share"
        )
    return weights, [note]


def compile_workload(workload: Workload) -> Compiled:
    """Sections that start together. Raises UsageError for a law fio has no option for."""
    workload = replace(workload, streams=tuple(_unique(workload.streams)))
    sections, notes = [], []
    weights, shares = _flow(workload)
    for stream in workload.streams:
        section, entries = compile_stream(stream, workload)
        if stream.name in weights:
            section = JobSection(
                section.name,
                {**section.options, "flow": weights[stream.name], "flow_id": 1, "flow_sleep": _FLOW_SLEEP_US},
            )
            entries = [*entries, *shares, _FLOW_NOTE]
        sections.append(section)
        notes.append(tuple(entries))
    return Compiled(tuple(sections), tuple(notes))


def _unique(streams: Sequence[Stream]) -> list[Stream]:
    """The same streams with section names that differ."""
    seen: dict[str, int] = {}
    named = []
    for stream in streams:
        seen[stream.name] = seen.get(stream.name, 0) + 1
        named.append(stream if seen[stream.name] == 1 else replace(stream, name=f"{stream.name}-{seen[stream.name]}"))
    return named
