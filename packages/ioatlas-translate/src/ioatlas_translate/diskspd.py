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
from dataclasses import replace

from ioatlas.model.cell import OptionValue
from ioatlas.model.errors import UsageError
from ioatlas.model.workload import Address, Arrival, Stream, Workload
from ioatlas_translate.command import Source, command_line, located
from ioatlas_translate.diskspd_command import TOLD, Span, Spec, read_command, read_profile
from ioatlas_translate.translation import Translation, from_workloads, safe_name

_DEFAULT_PATTERN = "0x" + bytes(range(256)).hex()


def _address(spec: Spec, region: int | None) -> Address:
    if spec.random:
        if spec.ranges:
            zones = _zones(spec, region)
            if zones:
                return Address("zoned", align_bytes=spec.align, zones=zones, zones_are_bytes=spec.distribution == "abs")
            spec.notes.tell(TOLD["absolute-ranges"])
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


_DATA: dict[str, dict[str, OptionValue]] = {
    "sequential": {"buffer_pattern": _DEFAULT_PATTERN},
    "zero": {"zero_buffers": 1},
    "per-io": {"refill_buffers": 1},
    "random": {},
}


def _caching(spec: Spec, depth: int, *, writes: bool) -> None:
    notes = spec.notes
    if spec.mapped and depth == 1:
        notes.same("caching", "-Sm: fio's mmap engine")
    elif spec.mapped:
        notes.tell(TOLD["mapped-queue"], depth=depth)
    elif spec.remote_only:
        notes.lost("caching", "-Sr: no local cache but the server's; Linux has no such mode, so I/O is direct")
    else:
        notes.same("caching", f"the client's page cache is {'bypassed' if spec.unbuffered else 'in use'}")
    if spec.write_through and writes:
        notes.append(TOLD["write-through"])
    elif spec.write_through:
        notes.same("write-through", "no effect on reads")


def _arrival(spec: Spec, threads: int) -> Arrival:
    arrival = Arrival()
    if spec.throughput and spec.throughput_is_iops:
        arrival = Arrival("constant", rate_iops=float(spec.throughput * threads))
    elif spec.throughput:
        arrival = Arrival("constant", rate_bytes_per_s=1000.0 * spec.throughput * threads)
    if spec.burst and spec.think_ms:
        return replace(arrival, think_us=spec.think_ms * 1000, think_blocks=spec.burst)
    if spec.burst or spec.think_ms:
        spec.notes.same("think time", "-i and -j act only together: no pause")
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


def _stream(spec: Spec, span: Span, index: int) -> Stream:
    threads, depth, notes = spec.threads, spec.outstanding, span.notes
    if span.total_threads:
        threads = span.total_threads
        if span.per_thread_requests:
            depth = span.per_thread_requests
    elif span.per_thread_requests:
        notes.same("outstanding I/O", f"-O{span.per_thread_requests}: it counts with -F only")
    if spec.random and (spec.parallel or spec.thread_stride):
        notes.same("address", "-p and -T are of sequential I/O: a random position follows from neither")
    writes = spec.write_percent > 0
    region = _region(spec)
    address = _address(spec, region)
    if spec.parallel and not spec.random and depth > 1:
        notes.tell(TOLD["parallel"], jobs=threads * depth, threads=threads, depth=depth)
        threads, depth = threads * depth, 1
    options = dict(spec.options)
    if writes:
        options |= _DATA[spec.pattern]
        notes.append(TOLD[f"{spec.pattern}-data"])
    _caching(spec, depth, writes=writes)
    if spec.mapped:
        depth = 1
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
        notes.tell(TOLD["thread-stride"], size=size)
    return Stream(
        name=safe_name(f"target{index}"),
        read_percent=100 - spec.write_percent,
        address=address,
        sizes=((spec.block, 100.0),),
        arrival=_arrival(spec, threads),
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


def _workload(span: Span, index: int) -> Workload:
    notes = span.notes
    streams = [_stream(spec, span, number) for number, spec in enumerate(span.targets, 1)]
    if span.total_threads and (n := len(streams)) > 1:
        total = span.total_threads
        notes.tell(TOLD["all-targets"], threads=total, targets=n, jobs=total * n)
        if span.per_thread_requests:
            depth = max(1, span.per_thread_requests // n)
            streams = [replace(stream, depth=depth) for stream in streams]
    if span.cooldown:
        notes.lost("cool-down", f"-C{span.cooldown}: fio stops all jobs when the window ends")
    if span.seed is not None:
        if span.seed >= 0:
            streams = [replace(stream, options={**stream.options, "randseed": span.seed}) for stream in streams]
        notes.append(TOLD["seed"])
    if span.affinity:
        bound = {"cpus_allowed": span.affinity, "cpus_allowed_policy": "split"}
        streams = [replace(stream, options={**stream.options, **bound}) for stream in streams]
        notes.same("processor affinity", f"-a: jobs go round-robin to processors {span.affinity}")
    if span.completion_routines:
        notes.same("completion", "-x: how completions are collected does not change the load")
    return Workload(f"span{index}", tuple(streams), runtime_seconds=span.duration, warmup_seconds=span.warmup)


def translate(source: Source, tool: str) -> Translation:
    """A command line, or an XML profile."""
    if re.match(r"\s*<[?!A-Za-z]", source.text):
        spans = read_profile(source.text, ())
    else:
        words = command_line(source, ("diskspd",), windows=True)
        span, profile, targets = read_command(words)
        spans = [span]
        if profile:
            text = source.include(profile, depth=1).text
            with located(profile):
                spans = read_profile(text, targets)
        given = {word[1] for word in words if word.startswith("-")}
        for timed in spans:
            for letter, name in (("d", "duration"), ("W", "warmup"), ("C", "cooldown"), ("z", "seed")):
                if letter in given:
                    setattr(timed, name, getattr(span, name))
    workloads = [_workload(span, index) for index, span in enumerate(spans, 1)]
    return from_workloads(tool, source.where, workloads, [note for span in spans for note in span.notes])
