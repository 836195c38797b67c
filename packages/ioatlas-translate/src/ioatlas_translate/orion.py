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
from collections.abc import Collection
from dataclasses import dataclass, field

from ioatlas.errors import UsageError
from ioatlas.interop.fidelity import Notes
from ioatlas.model.units import words
from ioatlas.model.workload import Address, Stream, Workload
from ioatlas_translate.command import Source, command_line, whole_number
from ioatlas_translate.translation import Translation, from_workloads

_TAKES = frozenset(
    words("""
    run testname num_disks size_small size_large type num_streamio simulate write cache_size duration num_small
    num_large matrix stripe storage_type storax buf_size seed min_small max_small min_large max_large
    """)
)
_FLAGS = frozenset({"verbose", "hugenotneeded", "help"})
_RUNS = ("simple", "normal", "oltp", "dss", "advanced")
_MATRICES = ("basic", "detailed", "point", "col", "row", "max")


@dataclass
class Plan:
    run: str = "normal"
    disks: int = 1
    disks_given: bool = False
    small_bytes: int = 8 << 10
    large_bytes: int = 1 << 20
    sequential: bool = False
    stream_depth: int = 4
    raid0: bool = False
    write_percent: int = 0
    cache_mb: int | None = None
    duration: int = 60
    small: int | None = None
    large: int | None = None
    matrix: str = "basic"
    stripe_mb: int = 1
    name: str = "orion"
    notes: Notes = field(default_factory=Notes)


_NUMBERS = {
    "num_disks": "disks",
    "num_streamio": "stream_depth",
    "write": "write_percent",
    "cache_size": "cache_mb",
    "duration": "duration",
    "num_small": "small",
    "num_large": "large",
    "stripe": "stripe_mb",
}
_CHOICES = {"run": _RUNS, "matrix": _MATRICES, "type": ("rand", "seq"), "simulate": ("concat", "raid0")}
_MATRIX_OF = {"simple": "basic", "normal": "detailed", "oltp": "row", "dss": "col"}


def _words(words: list[str]) -> dict[str, str]:
    """Values by option. Raises UsageError for words that are none."""
    values: dict[str, str] = {}
    left = deque(words)
    while left:
        word = left.popleft().replace("\u2013", "-").replace("\u2014", "-")
        if not word.startswith("-"):
            raise UsageError(f"{word!r} stands without an option", remedy="every value follows its -option")
        name = word.lstrip("-").lower()
        if name not in _FLAGS and name not in _TAKES:
            raise UsageError(f"ORION has no option {word}", remedy="remove it, or correct its spelling")
        if name in _TAKES and not left:
            raise UsageError(f"-{name} takes a value", remedy="add it")
        values[name] = left.popleft() if name in _TAKES else "1"
    return values


def _set_values(plan: Plan, values: dict[str, str]) -> None:
    for name in (name for name in _NUMBERS if name in values):
        high = 100 if name == "write" else 1 << 30
        setattr(plan, _NUMBERS[name], whole_number(values[name], f"-{name}", high=high))
    for name, attribute in (("size_small", "small_bytes"), ("size_large", "large_bytes")):
        if name in values:
            setattr(plan, attribute, whole_number(values[name], f"-{name}", low=1, high=1 << 20) << 10)
    for name, choices in _CHOICES.items():
        if values.get(name, choices[0]).lower() not in choices:
            raise UsageError(f"-{name} does not know {values[name]!r}", remedy="use " + ", ".join(choices))
    if "run" not in values:
        raise UsageError("-run is missing", remedy="add -run " + "|".join(_RUNS))
    plan.run = values["run"].lower()
    plan.disks_given = "num_disks" in values
    plan.sequential = values.get("type", "rand").lower() == "seq"
    plan.raid0 = values.get("simulate", "concat").lower() == "raid0"
    plan.name = values.get("testname", "orion")
    plan.matrix = _MATRIX_OF.get(plan.run, values.get("matrix", "basic").lower())


def _idle(plan: Plan, values: Collection[str]) -> None:
    """Options that no load follows from."""
    for name, counts, given in (
        ("num_streamio", "-type seq", plan.sequential),
        ("stripe", "-simulate raid0", plan.raid0),
    ):
        if name in values and not given:
            plan.notes.same(f"-{name}", f"it counts with {counts} only")
    for name in ("storage_type", "storax", "verbose", "hugenotneeded", "help", "buf_size"):
        if name in values:
            plan.notes.same("options", f"-{name}: which library or memory ORION uses; not part of the load")
    for name in ("seed", "min_small", "max_small", "min_large", "max_large"):
        if name in values:
            plan.notes.lost(f"-{name}", "not an option that ORION's manual describes")


def read_command(words: list[str]) -> Plan:
    """The plan of one command line. Raises UsageError for unknown options and impossible combinations."""
    values = _words(words)
    plan = Plan()
    _set_values(plan, values)
    if plan.run != "advanced":
        for name in ("matrix", "num_small", "num_large", "type"):
            # A matrix may say what the run is anyway.
            if name in values and not (name == "matrix" and values[name].lower() == plan.matrix):
                raise UsageError(
                    f"-{name} belongs to -run advanced", remedy=f"remove it, or use -run advanced instead of {plan.run}"
                )
        plan.small, plan.large = (0 if plan.run == "dss" else None), (0 if plan.run == "oltp" else None)
    elif plan.matrix == "point" and (plan.small is None or plan.large is None):
        raise UsageError("-matrix point needs -num_small and -num_large", remedy="add them")
    for name, varied in (("num_small", ("basic", "row")), ("num_large", ("basic", "col"))):
        if plan.run == "advanced" and name in values and plan.matrix in varied:
            reason = f"-matrix {plan.matrix} varies this load by itself, up to a level that follows from -num_disks"
            plan.notes.lost(f"-{name}", reason)
    _idle(plan, values)
    return plan


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
    notes = plan.notes
    if not plan.disks_given:
        notes.nearly(
            "load levels",
            "without -num_disks the number of LUNs in the .lun file counts; one is taken",
            "levels scale with the disks",
        )
    if plan.matrix != "point" and plan.disks > 1:
        notes.nearly(
            "load levels",
            f"levels for {plan.disks} disks by the rule that holds for one disk; ORION may skip some of them",
            "which levels between the least and the greatest are run",
        )
    if plan.sequential:
        notes.nearly(
            "address of large I/O",
            "sequential streams start at even distances over the target",
            "ORION draws the starts",
        )
        if 0 < plan.write_percent < 100:
            notes.nearly(
                "direction",
                "each sequential stream only reads or only writes, as in ORION; whole streams",
                "rounded to streams",
            )
    if plan.raid0:
        notes.lost(
            "-simulate raid0", f"LUNs striped by {plan.stripe_mb} MB in ORION itself: stripe them by the volume manager"
        )
    else:
        notes.same("-simulate concat", "LUNs end to end: name one target, or several that fio fills in turn")
    if plan.cache_mb is None:
        notes.lost(
            "cache warm-up",
            "ORION fills the array's cache with random large I/O before a point; run a warm-up load first",
        )
    elif plan.cache_mb:
        notes.lost("cache warm-up", f"-cache_size {plan.cache_mb}: random large I/O over so many MB before each point")
    else:
        notes.same("cache warm-up", "-cache_size 0: none")
    if plan.write_percent:
        notes.nearly(
            "write data",
            "what ORION writes is not described; fio writes random data",
            "how far the data can be compressed",
        )
    notes.same("caching", "direct, asynchronous")


def translate(source: Source, tool: str) -> Translation:
    """A command line."""
    words = command_line(source, ("orion",))
    plan = read_command(words)
    workloads = [_workload(plan, small, large) for small, large in points(plan)]
    _tell(plan)
    return from_workloads(tool, source.where, workloads, plan.notes)
