# SPDX-License-Identifier: Apache-2.0
"""xdd command lines (facts: its option table and users' guide, version 7).

A request is `-reqsize` blocks of `-blocksize` bytes (128 blocks of 1,024 by default). A pass is `-numreqs` requests, or
`-bytes`, `-kbytes` or `-mbytes`, bounded by the work; `-timelimit` caps a pass, `-runtime` the whole run. The queue
depth counts the threads of one target, which share one list of positions. Random positions cover `-seek range` blocks,
1,048,576 by default. Data is zero bytes.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from ioatlas.load.streams.compile import seconds_option
from ioatlas.load.streams.fidelity import Notes, notes_in
from ioatlas.model.cell import OptionValue
from ioatlas.model.errors import UsageError
from ioatlas.model.units import pairs, words
from ioatlas.model.workload import Address, Arrival, Stream, Workload
from ioatlas.store.toml import shipped
from ioatlas_translate.command import (
    Action,
    Read,
    Source,
    command_line,
    lost,
    one_of,
    put,
    puts,
    same,
    sets,
    whole,
    whole_number,
)
from ioatlas_translate.translation import Translation, from_workloads

_TOLD = notes_in("ioatlas_translate", "xdd")
_NAMES = shipped("ioatlas_translate", "options.toml")["xdd"]
_ALIASES, _SILENT, _LOST = (pairs(_NAMES[name]) for name in ("aliases", "silent", "lost"))
"""Of options without influence on the load, and of those that fio has nothing like, how many words follow."""
_PER_TARGET = frozenset(words(_NAMES["per_target"]))
_OWN = pairs("throttle=2 directio=0 deletefile=0 randomize=0 syncwrite=0")
_FOLLOWED = {name: words(followed) for name, followed in _NAMES["followed"].items()}


@dataclass
class Target:
    name: str = ""
    blocksize: int = 1024
    reqsize: int = 128
    numreqs: int = 0
    total: int = 0
    operation: str = "read"
    read_percent: float | None = None
    law: str = "sequential"
    span_blocks: int = 1 << 20
    stride_blocks: int = 0
    seed: int | None = None
    depth: int = 1
    direct: bool = False
    sync: bool = False
    flush: int = 0
    pattern: dict[str, OptionValue] = field(default_factory=lambda: {"zero_buffers": 1})
    rate_iops: float = 0.0
    rate_bytes: float = 0.0
    delay_seconds: float = 0.0
    start_blocks: int = 0
    start_delay: float = 0.0
    time_limit: float = 0.0
    delete: bool = False
    notes: Notes = field(default_factory=Notes, compare=False)
    """Those of its plan."""


@dataclass
class Plan:
    settings: list[tuple[str, int | None, list[str]]] = field(default_factory=list)
    targets: list[Target] = field(default_factory=list)
    passes: int = 1
    runtime: float = 0.0
    offset_blocks: int = 0
    start_step: float = 0.0
    notes: Notes = field(default_factory=Notes)


def _real(text: str, option: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e15:
        raise UsageError(f"{option} takes a number, not {text!r}", remedy=f"write {option} with a number of at least 0")
    return value


def _arguments(name: str, left: Sequence[str]) -> int:
    """How many words belong to an option, after `target N`."""
    if name == "seek" and not left:
        raise UsageError("-seek takes a word", remedy="write -seek random, sequential, range N, ...")
    if name in _FOLLOWED:
        return 1 + (bool(left) and left[0] in _FOLLOWED[name])
    return int({**_LOST, **_SILENT, **_OWN}.get(name, "1"))


def _ratio(text: str, option: str) -> float:
    ratio = _real(text, option)
    if ratio > 100:
        raise UsageError("-rwratio is a per cent of reads, 0 to 100", remedy="correct it")
    return ratio


def _bytes(unit: int) -> Read:
    return lambda text, option: whole_number(text, option, low=1) * unit


def _pass_delay(plan: Plan, option: str, value: str) -> None:
    rest = _real(value, option)
    plan.notes.lost(option, f"{rest:g} s of rest between passes: fio's loops follow each other at once")


def _operation_delay(plan: Plan, option: str, value: str) -> None:
    for target in plan.targets:
        target.delay_seconds = _real(value, option)


_OF_PLAN: dict[str, Action] = {
    **dict.fromkeys((*_SILENT, "heartbeat", "timestamps"), same("reporting", "{option}: not part of the load")),
    **{name: lost("{option}", _NAMES["instead"].get(name, "xdd has it, fio has nothing like it")) for name in _LOST},
    "setup": lost("{option}", "options out of another file: translate that file"),
    "passes": put("passes", whole(1)),
    "passdelay": _pass_delay,
    "runtime": put("runtime", _real),
    "targetoffset": put("offset_blocks", whole()),
    "targetstartdelay": put("start_step", _real),
    "operationdelay": _operation_delay,
}
_OF_TARGET: dict[str, Action] = {
    **puts(whole(1), "blocksize reqsize numreqs queuedepth=depth flushwrite=flush"),
    **puts(_real, "startdelay=start_delay timelimit=time_limit"),
    "bytes": put("total", _bytes(1)),
    "kbytes": put("total", _bytes(1 << 10)),
    "mbytes": put("total", _bytes(1 << 20)),
    "operation": put("operation", one_of("read", "write", "noop")),
    "rwratio": put("read_percent", _ratio),
    **sets("directio=direct syncwrite=sync deletefile=delete"),
    "randomize": same("address", "{option}: other positions on every pass, as fio draws them"),
    "startoffset": put("start_blocks", whole()),
}


def read_command(given: list[str]) -> Plan:
    """The plan of one command line. Raises UsageError for options xdd does not have and values they cannot take."""
    plan, left = Plan(), deque(given)
    while left:
        word = left.popleft()
        if not word.startswith("-") or len(word) < 2:
            raise UsageError(f"{word!r} stands without an option", remedy="check the number after -targets")
        name = _ALIASES.get(word[1:].lower(), word[1:].lower())
        number: int | None = None
        if name in _PER_TARGET and len(left) > 1 and left[0] == "target" and re.fullmatch(r"\d+", left[1]):
            left.popleft()
            number = int(left.popleft())
        if name in ("target", "targets"):
            _targets(plan, name, left)
        elif name in _OF_PLAN or name in _OF_TARGET or name in _SEVERAL:
            if len(left) < (count := _arguments(name, left)):
                raise UsageError(f"{word} takes {count} value(s)", remedy="add what is missing")
            plan.settings.append((name, number, [left.popleft() for _ in range(count)]))
        elif left and not left[0].startswith("-"):
            raise UsageError(f"xdd has no option {word}", remedy="remove it, or correct its spelling")
        else:
            plan.notes.lost(word, "not an option that xdd's manual names")
    if not plan.targets:
        plan.notes.same("target", "the command names none: one is taken")
        plan.targets.append(Target("target", notes=plan.notes))
    for name, number, values in plan.settings:
        _apply(plan, name, number, values)
    return plan


def _targets(plan: Plan, name: str, left: deque[str]) -> None:
    """-target FILE, -targets N FILE ..., or -targets -N FILE: the same one N times."""
    count = 1
    if name == "targets" and left:
        count = whole_number(left.popleft(), "-targets", low=-4096, high=4096)
    wanted = max(count, 1 if count < 0 else 0)
    names = [left.popleft() for _ in range(min(wanted, len(left)))]
    if len(names) < wanted or (name == "targets" and count > 0 and any(one.startswith("-") for one in names)):
        example = "-target FILE, or -targets 2 FILE FILE"
        raise UsageError(f"-{name} takes more names than follow it", remedy=f"write {example}")
    plan.targets += [Target(one, notes=plan.notes) for one in names * max(1, -count)]


def _apply(plan: Plan, name: str, number: int | None, values: list[str]) -> None:
    if number is not None and number >= len(plan.targets):
        raise UsageError(
            f"-{name} names target {number}, and there are {len(plan.targets)}", remedy="targets count from 0"
        )
    value, option = values[0] if values else "", f"-{name}"
    if name in _OF_PLAN:
        _OF_PLAN[name](plan, option, value)
        return
    for target in plan.targets if number is None else [plan.targets[number]]:
        if name in _OF_TARGET:
            _OF_TARGET[name](target, option, value)
        else:
            _SEVERAL[name](target, values)


def _seek(target: Target, values: list[str]) -> None:
    word = values[0]
    if word in ("sequential", "random", "none"):
        target.law = word
    elif word == "range":
        target.span_blocks = whole_number(values[1], "-seek range", low=1)
    elif word in ("stagger", "interleave"):
        target.law, target.stride_blocks = word, whole_number(values[1], f"-seek {word}")
    elif word == "seed":
        target.seed = whole_number(values[1], "-seek seed")
        target.notes.append(_TOLD["seed"])
    elif word == "load":
        target.notes.lost("-seek load", "positions out of a file; import them as a trace")
    elif word in ("save", "disthist", "seekhist"):
        target.notes.same("reporting", f"-seek {word}: not part of the load")
    else:
        raise UsageError(
            f"-seek does not know {word!r}", remedy="use sequential, random, range, stagger, interleave, none, seed"
        )


def _pattern(target: Target, values: list[str]) -> None:
    word = values[0]
    if word == "random":
        target.pattern = {"refill_buffers": 1}
    elif word == "hex" and re.fullmatch(r"[0-9a-fA-F]{1,512}", values[1]):
        target.pattern = {"buffer_pattern": "0x" + (values[1] if len(values[1]) % 2 == 0 else "0" + values[1])}
    elif word == "ascii" and values[1].isascii():
        target.pattern = {"buffer_pattern": "0x" + values[1].encode().hex()}
    elif len(word) == 1 and word.isascii():
        target.pattern = {"buffer_pattern": f"0x{ord(word):02x}"}
    else:
        target.pattern = {"refill_buffers": 1}
        reason = f"-datapattern {word}: no such pattern in fio; random data stands in"
        target.notes.lost("write data", reason)


def _throttle(target: Target, values: list[str]) -> None:
    word = values[0]
    if word not in ("ops", "bw", "delay", "var"):
        raise UsageError(f"-throttle does not know {word!r}", remedy="use ops, bw, delay or var")
    amount = _real(values[1], "-throttle")
    if word == "ops":
        target.rate_iops = amount
    elif word == "bw":
        target.rate_bytes = amount * 1e6
    elif word == "delay":
        target.delay_seconds = amount
    else:
        target.notes.lost("-throttle var", "variation of the rate")


_SEVERAL = {"seek": _seek, "datapattern": _pattern, "throttle": _throttle}
"""Options of a target that take more than one word."""


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
    plan.notes.append(_TOLD["time-limit-of-passes" if target.time_limit and plan.passes > 1 else "time-limit"])


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
        notes.tell(_TOLD["last-request"], total=total, rest=total % block)
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
        notes.append(_TOLD["queue"])
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
