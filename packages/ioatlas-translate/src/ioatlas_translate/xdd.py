# SPDX-License-Identifier: Apache-2.0
"""xdd command lines (facts: its option table and users' guide, version 7).

A request is `-reqsize` blocks of `-blocksize` bytes (128 blocks of 1,024 by default). A pass is `-numreqs` requests, or
`-bytes`, `-kbytes` or `-mbytes`, bounded by the work; `-timelimit` caps a pass, `-runtime` the whole run. The queue
depth counts the threads of one target, which share one list of positions. Random positions cover `-seek range` blocks,
1,048,576 by default. Data is zero bytes.
"""

from __future__ import annotations

from ioatlas.errors import UsageError
from ioatlas.interop.compile import seconds_option
from ioatlas.model.cell import OptionValue
from ioatlas.model.workload import Address, Arrival, Stream, Workload
from ioatlas_translate.command import Source, command_line
from ioatlas_translate.translation import Translation, from_workloads
from ioatlas_translate.xdd_command import Plan, Target, read_command


def _lasts(plan: Plan) -> bool:
    """Whether `-runtime` alone bounds the load. Beside an amount of work it is a cap: a pass ends when its work is
    done.
    """
    return plan.runtime > 0 and not any(target.total or target.numreqs for target in plan.targets)


def _positions(target: Target, block: int, total: int) -> tuple[Address, int | None, int | None]:
    """The address law, the bytes it covers, and the bytes of a pass where these are others."""
    span, work = target.span_blocks * target.blocksize, total or None
    if target.law == "random":
        return Address("random"), span, work
    if target.law == "none":
        return Address("fixed"), block, work
    if target.law == "stagger":
        step = target.stride_blocks * target.blocksize
        if not step:
            step = max(block, span // max(1, total // block) // target.blocksize * target.blocksize)
        return Address("strided", skip_bytes=step - block) if step > block else Address("sequential"), span, work
    if target.law == "interleave" and target.stride_blocks > 1:
        step = target.stride_blocks * block
        return Address("strided", skip_bytes=step - block), step * (total // block) if total else None, work
    return Address("sequential"), work, None


def _limit(plan: Plan, target: Target, options: dict[str, OptionValue]) -> None:
    """`-timelimit` caps a pass and `-runtime` beside an amount of work the run: fio has one cap on all of it."""
    limit = min(filter(None, (target.time_limit * plan.passes, plan.runtime)), default=0.0)
    if not limit or _lasts(plan):
        return
    options["runtime"] = seconds_option(limit)
    if target.time_limit and plan.passes > 1:
        error = "passes that end early leave their time to later ones"
        plan.notes.nearly("time limit", "the cap of each pass becomes one cap on all passes", error)
    else:
        plan.notes.same("time limit", "a cap: the load ends when its work is done or the time is up")


def _stream(plan: Plan, target: Target, index: int, jobs: int, number: int) -> Stream:
    notes, block = plan.notes, target.blocksize * target.reqsize
    total = target.total or target.numreqs * block
    if not total and not (plan.runtime > 0 or target.time_limit > 0):
        raise UsageError(
            "nothing says how much to transfer",
            where=target.name,
            remedy="add -numreqs, -bytes, -kbytes, -mbytes or -runtime",
        )
    if total % block:
        notes.nearly(
            "last request",
            f"{total} bytes are not a whole number of requests; fio leaves the rest out",
            f"{total % block} bytes a pass",
        )
    read = target.read_percent if target.read_percent is not None else (0.0 if target.operation == "write" else 100.0)
    address, size, work = _positions(target, block, total)
    options: dict[str, OptionValue] = dict(target.pattern) if read < 100 else {}
    if target.flush and read < 100:
        options["fsync"] = target.flush
        notes.same("flush", f"fsync after every {target.flush} writes")
    if target.seed is not None:
        options["randseed"] = target.seed
    if target.delete:
        options["unlink"] = 1
    delay = target.start_delay + plan.start_step * (number - 1)
    if delay:
        options["startdelay"] = seconds_option(delay)
    _limit(plan, target, options)
    if target.operation == "noop":
        notes.same("operation", "noop: no data is moved (fio's null engine)")
    elif target.depth > 1:
        notes.nearly(
            "queue",
            "xdd's queue is threads that each do one I/O at a time; fio keeps the same number in flight asynchronously",
            "none in what the target sees; the client's processor use differs",
        )
    return Stream(
        name=f"target{index}",
        read_percent=read,
        address=address,
        sizes=((block, 100.0),),
        arrival=Arrival(
            "constant" if target.rate_iops or target.rate_bytes else "closed",
            target.rate_iops * jobs or None,
            target.rate_bytes * jobs or None,
            round(target.delay_seconds * 1e6),
        ),
        jobs=jobs,
        depth=target.depth,
        size_bytes=size,
        work_bytes=work,
        offset_bytes=target.start_blocks * target.blocksize + plan.offset_blocks * target.blocksize * (number - 1),
        offset_increment_bytes=plan.offset_blocks * target.blocksize if jobs > 1 else 0,
        target=index,
        origin=target.name,
        direct=target.direct,
        sync="sync" if target.sync and read < 100 else "",
        engine="null" if target.operation == "noop" else "",
        options=options,
    )


def _workload(plan: Plan) -> Workload:
    groups: list[tuple[Target, int, int]] = []
    for number, target in enumerate(plan.targets, 1):
        if groups and groups[-1][0] == target and not plan.start_step:
            groups[-1] = (target, groups[-1][1] + 1, groups[-1][2])
        else:
            groups.append((target, 1, number))
    names: dict[str, int] = {}
    streams = tuple(
        _stream(plan, target, names.setdefault(target.name, len(names) + 1), jobs, number)
        for target, jobs, number in groups
    )
    direct = any(target.direct for target in plan.targets)
    plan.notes.same("caching", "direct" if direct else "the client's page cache is in use")
    if _lasts(plan):
        return Workload("xdd", streams, runtime_seconds=plan.runtime)
    return Workload("xdd", streams, passes=plan.passes)


def translate(source: Source, tool: str) -> Translation:
    """A command line."""
    words = command_line(source, ("xdd",))
    plan = read_command(words)
    return from_workloads(tool, source.where, [_workload(plan)], plan.notes)
