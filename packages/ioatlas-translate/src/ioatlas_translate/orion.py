# SPDX-License-Identifier: Apache-2.0
"""Oracle ORION command lines (facts: Oracle's database performance tuning guide, 11.1 to 19c, and summaries that users
published).

A run expands into points (S small, L large). simple is `-matrix basic`, normal is `-matrix detailed`, oltp is a row
without large I/O, dss a column without small I/O. One disk gives 5 small and 2 large levels in simple (8 points with
the idle one) and 20 small levels in oltp, as published summaries show; the levels of several disks scale with their
number here. Each point runs 60 s unless `-duration` says otherwise.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from ioatlas.load.streams.fidelity import Notes, notes_in
from ioatlas.model.errors import UsageError
from ioatlas.model.units import words
from ioatlas.model.workload import Address, Stream, Workload
from ioatlas_translate.command import (
    Action,
    Source,
    as_it_is,
    command_line,
    lost,
    one_of,
    put,
    puts,
    same,
    whole,
    whole_number,
)
from ioatlas_translate.translation import Translation, from_workloads

_TOLD = notes_in("ioatlas_translate", "orion")
_RUNS = ("simple", "normal", "oltp", "dss", "advanced")
_MATRIX_OF = {"simple": "basic", "normal": "detailed", "oltp": "row", "dss": "col"}
_FLAGS = frozenset({"verbose", "hugenotneeded", "help"})


@dataclass
class Plan:
    run: str = ""
    disks: int = 1
    small_bytes: int = 8 << 10
    large_bytes: int = 1 << 20
    type: str = "rand"
    stream_depth: int = 4
    simulate: str = "concat"
    write_percent: int = 0
    cache_mb: int | None = None
    duration: int = 60
    small: int | None = None
    large: int | None = None
    matrix: str = "basic"
    stripe_mb: int = 1
    name: str = "orion"
    given: set[str] = field(default_factory=set)
    """Names of the options."""
    notes: Notes = field(default_factory=Notes)

    @property
    def sequential(self) -> bool:
        return self.type == "seq"

    @property
    def raid0(self) -> bool:
        return self.simulate == "raid0"


def _kibibytes(text: str, option: str) -> int:
    return whole_number(text, option, low=1, high=1 << 20) << 10


_ACTIONS: dict[str, Action] = {
    "run": put("run", one_of(*_RUNS)),
    "matrix": put("matrix", one_of("basic", "detailed", "point", "col", "row", "max")),
    "type": put("type", one_of("rand", "seq")),
    "simulate": put("simulate", one_of("concat", "raid0")),
    **puts(
        whole(high=1 << 30),
        "num_disks=disks num_streamio=stream_depth cache_size=cache_mb duration num_small=small num_large=large "
        "stripe=stripe_mb",
    ),
    "write": put("write_percent", whole(high=100)),
    **puts(_kibibytes, "size_small=small_bytes size_large=large_bytes"),
    "testname": put("name", as_it_is),
    **dict.fromkeys(
        (*_FLAGS, "storage_type", "storax", "buf_size"),
        same("options", "{option}: which library or memory ORION uses; not part of the load"),
    ),
    **dict.fromkeys(
        words("seed min_small max_small min_large max_large"),
        lost("{option}", "not an option that ORION's manual describes"),
    ),
}


def read_command(given: list[str]) -> Plan:
    """The plan of one command line. Raises UsageError for unknown options and impossible combinations."""
    plan, left = Plan(), deque(given)
    while left:
        word = left.popleft()
        name = word.lstrip("-").lower()
        if not word.startswith("-"):
            raise UsageError(f"{word!r} stands without an option", remedy="every value follows its -option")
        if name not in _ACTIONS:
            raise UsageError(f"ORION has no option {word}", remedy="remove it, or correct its spelling")
        if name not in _FLAGS and not left:
            raise UsageError(f"-{name} takes a value", remedy="add it")
        _ACTIONS[name](plan, f"-{name}", "" if name in _FLAGS else left.popleft())
        plan.given.add(name)
    if not plan.run:
        raise UsageError("-run is missing", remedy="add -run " + "|".join(_RUNS))
    _check_matrix(plan)
    for name, counts, does in (
        ("num_streamio", "-type seq", plan.sequential),
        ("stripe", "-simulate raid0", plan.raid0),
    ):
        if name in plan.given and not does:
            plan.notes.same(f"-{name}", f"it counts with {counts} only")
    return plan


def _check_matrix(plan: Plan) -> None:
    """A run other than the advanced one says what the matrix is."""
    own = _MATRIX_OF.get(plan.run, plan.matrix)
    # A matrix may say what the run is anyway.
    known = ("num_small", "num_large", "type", *(("matrix",) if plan.matrix != own else ()))
    wrong = [name for name in known if name in plan.given]
    if plan.run != "advanced":
        if wrong:
            raise UsageError(
                f"-{wrong[0]} belongs to -run advanced", remedy=f"remove it, or use -run advanced instead of {plan.run}"
            )
        plan.small, plan.large = (0 if plan.run == "dss" else None), (0 if plan.run == "oltp" else None)
    elif plan.matrix == "point" and (plan.small is None or plan.large is None):
        raise UsageError("-matrix point needs -num_small and -num_large", remedy="add them")
    plan.matrix = own
    for name, varied in (("num_small", ("basic", "row")), ("num_large", ("basic", "col"))):
        if plan.run == "advanced" and name in plan.given and plan.matrix in varied:
            reason = f"-matrix {plan.matrix} varies this load by itself, up to a level that follows from -num_disks"
            plan.notes.lost(f"-{name}", reason)


def points(plan: Plan) -> list[tuple[int, int]]:
    """(small, large) outstanding I/Os of each point; the idle point moves no data and is left out."""
    step, counts = (plan.disks, (20, 15)) if plan.run in ("oltp", "dss") else (1, (5 * plan.disks, 2 * plan.disks))
    small, large = (list(range(step, step * count + 1, step)) for count in counts)
    if plan.run == "advanced" and plan.matrix in ("max", "detailed"):
        small = small if plan.small is None else list(range(1, plan.small + 1))
        large = large if plan.large is None else list(range(1, plan.large + 1))
    found = {
        "basic": [*((s, 0) for s in small), *((0, k) for k in large)],
        "point": [(plan.small or 0, plan.large or 0)],
        "row": [(s, plan.large or 0) for s in small],
        "col": [(plan.small or 0, k) for k in large],
    }.get(plan.matrix, ((s, k) for k in [0, *large] for s in [0, *small]))
    return [point for point in dict.fromkeys(found) if point != (0, 0)]


def _workload(plan: Plan, small: int, large: int) -> Workload:
    name, read = f"S{small}-L{large}", 100.0 - plan.write_percent
    parts = [("small", plan.small_bytes, small, read, False), ("large", plan.large_bytes, large, read, plan.sequential)]
    if plan.sequential and 0 < plan.write_percent < 100:  # a sequential stream of ORION is all reads or all writes
        writers = round(large * plan.write_percent / 100)
        parts[1:] = [
            ("large-read", plan.large_bytes, large - writers, 100.0, True),
            ("large-write", plan.large_bytes, writers, 0.0, True),
        ]
    streams = (
        Stream(
            f"{name}-{kind}",
            percent,
            Address("sequential" if sequential else "random"),
            ((size, 100.0),),
            jobs=count if sequential else 1,
            depth=plan.stream_depth if sequential else count,
            origin=plan.name,
            direct=True,
            options={"offset_increment": f"{max(1, 100 // count)}%"} if sequential and count > 1 else {},
        )
        for kind, size, count, percent, sequential in parts
        if count
    )
    return Workload(name, tuple(streams), runtime_seconds=plan.duration)


def _tell(plan: Plan) -> None:
    applies = {
        "disks": "num_disks" not in plan.given,
        "levels": plan.matrix != "point" and plan.disks > 1,
        "streams": plan.sequential,
        "directions": plan.sequential and 0 < plan.write_percent < 100,
        "raid0": plan.raid0,
        "concat": not plan.raid0,
        "warm-up": plan.cache_mb is None,
        "warm-up-of-size": plan.cache_mb,
        "no-warm-up": plan.cache_mb == 0,
        "data": plan.write_percent,
        "caching": True,
    }
    for code in (code for code, does in applies.items() if does):
        plan.notes.tell(_TOLD[code], disks=plan.disks, stripe_mb=plan.stripe_mb, cache_mb=plan.cache_mb)


def translate(source: Source, tool: str) -> Translation:
    """A command line."""
    words = command_line(source, ("orion",))
    plan = read_command(words)
    workloads = [_workload(plan, small, large) for small, large in points(plan)]
    _tell(plan)
    return from_workloads(tool, source.where, workloads, plan.notes)
