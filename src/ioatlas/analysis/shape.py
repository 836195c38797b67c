# SPDX-License-Identifier: Apache-2.0
"""The shape of a map around each cell: how throughput answers to more load, and what stays the same when the block
size changes.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from ioatlas.analysis.cache import CacheVerdict
from ioatlas.analysis.ceilings import TOLERANCE, Ceiling
from ioatlas.model.cell import Cell
from ioatlas.model.estimate import Estimate
from ioatlas.model.units import format_count, format_latency, format_rate, format_size
from ioatlas.model.usage import Usage
from ioatlas.model.verdict import WITHHELD, VerdictClass, verdict_class

_MORE = {"numjobs": "the jobs", "iodepth": "the iodepth"}
State = Literal["saturated", "per job", "rising", "bend", "alone"]
Place = tuple[str, str]
"""Cell key and direction."""

REACHED = 0.90
"""A ceiling is reached from this share on; below FAR it has room."""
FLAT_GAIN = 1.10
"""More load that gives less than this much more gives no more."""
RISING = 0.7
"""Exponent of throughput over load from which it grows with the load: a doubling gives 1.6 times."""
SAME = 0.05
"""Two plateaus are the same rate within this."""
TIGHT, TIGHT_SPAN = 0.03, 4
"""I/Os a second that hold within TIGHT, or bytes a second within SAME, over block sizes that differ
TIGHT_SPAN-fold, are a rule of the target, not the work of a full processor.
"""
NOISY = 0.15
"""Half of an interval, over the value, from which a plateau is not compared with others."""
FAST_SHARE, NO_FAST_SHARE = 0.01, 0.001
"""I/Os that take less than half the mean: some of them show a limit by credit, none of them a queue that serves one
at a time.
"""
EXCLUDED = 1.5
"""A path that carried this many times as much elsewhere on the map is not what limits here."""


@dataclass(frozen=True)
class Seen:
    """What was seen beside the visits of one cell. generator: fio's CPU, share of a core for each job, by visit.

    waiting: share of the time that fio's threads stood ready and waited for a processor, by visit.
    """

    usages: tuple[Usage, ...] = ()
    generator: tuple[float, ...] = ()
    waiting: tuple[float, ...] = ()

    @property
    def cores(self) -> float | None:
        """Mean share of all cores that was busy."""
        shares = [sum(usage.core_busy) / len(usage.core_busy) for usage in self.usages if usage.core_busy]
        return median(shares) if shares else None

    @property
    def n_cores(self) -> int:
        return max((len(usage.core_busy) for usage in self.usages), default=0)

    @property
    def busiest(self) -> float | None:
        shares = [usage.busiest_core for usage in self.usages if usage.busiest_core is not None]
        return median(shares) if shares else None

    @property
    def softirq_cores(self) -> float:
        """Cores' worth of time spent in soft interrupts (network)."""
        shares = [usage.softirq * len(usage.core_busy) for usage in self.usages if usage.core_busy]
        return median(shares) if shares else 0.0

    @property
    def generator_share(self) -> float | None:
        return median(self.generator) if self.generator else None

    def drive(self, names: Iterable[str]) -> tuple[str, float] | None:
        """The busiest of the drives and its utilisation."""
        found = []
        for name in names:
            shares = [usage.disks[name].utilisation for usage in self.usages if name in usage.disks]
            if shares:
                found.append((median(shares), name))
        return (max(found)[1], max(found)[0]) if found else None


@dataclass(frozen=True)
class PathView:
    """What is known of the way to a target. remote: it crosses a wire. drives: local devices at its end whose
    counters were read.
    """

    remote: bool = False
    drives: tuple[str, ...] = ()


@dataclass(frozen=True)
class Candidate:
    resource: str
    share: float
    because: str
    full: bool = False
    tolerance: float = TOLERANCE


@dataclass
class Case:
    """One cell and direction, with what is needed to judge it."""

    estimate: Estimate
    seen: Seen
    path: PathView
    ceilings: tuple[Ceiling, ...]
    cache: CacheVerdict | None
    state: State = "alone"
    shape: str = ""
    law: Candidate | None = None
    tight: bool = False
    undecided: str = ""
    flat_from_one: bool = False

    @property
    def rate(self) -> float:
        return self.estimate.bw_bytes_per_s or 0.0

    @property
    def iops(self) -> float:
        return self.estimate.iops or 0.0


# -- the shape of the map ------------------------------------------------------------------------------------


def _without(cell: Cell, *names: str) -> tuple[object, ...]:
    rest = tuple(pair for pair in cell.options if pair[0] not in {*names, "ioengine"})
    return (cell.target, cell.sharing, cell.state, rest)


def find_shapes(cases: Mapping[Place, Case], fast_share: Mapping[Place, float]) -> None:
    """Enter state and law of every case, from its neighbours along numjobs and iodepth, and then along the block
    size.
    """
    planes: dict[tuple[object, ...], dict[tuple[int, int], Case]] = defaultdict(dict)
    for case in cases.values():
        cell = case.estimate.cell
        if cell.loop == "closed" and not hidden(case):
            planes[case.estimate.direction, *_without(cell, "numjobs", "iodepth")][cell.numjobs, cell.iodepth] = case
    for plane in planes.values():
        for (jobs, depth), case in plane.items():
            _state(case, plane, jobs, depth)
    by_size: dict[tuple[object, ...], dict[int, dict[tuple[int, int], Case]]] = defaultdict(dict)
    for plane in planes.values():
        cell = next(iter(plane.values())).estimate.cell
        if "bssplit" not in cell.option:
            direction = next(iter(plane.values())).estimate.direction
            by_size[direction, *_without(cell, "numjobs", "iodepth", "bs")][cell.bs_bytes] = plane
    for sizes in by_size.values():
        plateaus = {size: best for size, plane in sizes.items() if (best := _plateau(plane)) is not None}
        for bs_bytes, plane in sizes.items():
            for case in plane.values():
                if case.state == "saturated":
                    _law(case, bs_bytes, plateaus, plane, fast_share)


def hidden(case: Case) -> bool:
    """Cells that do not tell of what lies behind a cache, or were not steady enough to be compared."""
    word = case.estimate.verdict
    return (case.cache is not None and bool(case.cache.word)) or (
        verdict_class(word) is VerdictClass.UNSTABLE and word not in WITHHELD
    )


def _state(case: Case, plane: Mapping[tuple[int, int], Case], jobs: int, depth: int) -> None:
    """How throughput answers to more load, along each of the two ways of adding it."""
    ways = {}
    for name, line in (
        ("iodepth", {d: one for (j, d), one in plane.items() if j == jobs}),
        ("numjobs", {j: one for (j, d), one in plane.items() if d == depth}),
    ):
        here = depth if name == "iodepth" else jobs
        above, below = (
            min((n for n in line if n > here), default=None),
            max((n for n in line if n < here), default=None),
        )
        if above is not None:
            word, text = _answer(here, case.estimate, above, line[above].estimate, last=False)
            if word == "rising" and line[max(line)].iops < FLAT_GAIN * case.iops:
                word = "bend"  # more still gives it back: a credit that was used up, or a disturbance
            ways[name] = (word, text)
        elif below is not None:
            ways[name] = _answer(below, line[below].estimate, here, case.estimate, last=True)
    words = {name: word for name, (word, _) in ways.items()}
    case.shape = "; ".join(text.format(_MORE[name]) for name, (_, text) in ways.items())
    kinds = set(words.values())
    if not kinds:
        case.state = "alone"
    elif words.get("iodepth") == "flat" and words.get("numjobs") == "rising":
        case.state = "per job"
    elif kinds == {"flat"}:
        case.state = "saturated"
    elif kinds == {"rising"}:
        case.state = "rising"
    else:
        case.state = "bend"


def _answer(fewer: int, low: Estimate, more: int, high: Estimate, *, last: bool) -> tuple[str, str]:
    """('flat', 'rising' or 'bend', in words): what `more` load gives over `fewer`. last: the step that led to the
    cell, none beyond was measured.

    Where there are intervals, growth must be clear of them.
    """
    gain = (high.iops or 0.0) / (low.iops or 1.0)
    text = f"{more / fewer:.3g}× {{}} gave {gain:.2g}× the speed"
    if gain <= FLAT_GAIN:
        return "flat", text
    steps = math.log(more / fewer)
    surely = (high.iops_low or high.iops or 0.0) / (low.iops_high or low.iops or 1.0)
    # The step that led here may have ended at a limit just now: it must have been in full proportion.
    rising = (
        math.log(gain) / steps >= (0.9 if last else RISING) and surely > 1 and math.log(surely) / steps >= RISING / 2
    )
    return ("rising" if rising else "bend"), text


def _law(
    case: Case,
    bs_bytes: int,
    plateaus: Mapping[int, Case],
    plane: Mapping[tuple[int, int], Case],
    fast_share: Mapping[Place, float],
) -> None:
    """Bytes or I/Os a second, from the plateaus of other block sizes; and whether it is one queue."""
    here = plateaus.get(bs_bytes, case)
    if _noise(case.estimate) > NOISY or _noise(here.estimate) > NOISY:
        case.undecided = "the values are too uncertain to be compared"
        return
    case.flat_from_one = (single := plane.get((1, 1))) is not None and single.state == "saturated"
    others = {size: one for size, one in plateaus.items() if size != bs_bytes}
    rates = {size: one.rate / here.rate for size, one in others.items() if abs(math.log(one.rate / here.rate)) <= SAME}
    iops = {size: one.iops / here.iops for size, one in others.items() if abs(math.log(one.iops / here.iops)) <= SAME}
    if rates and iops:
        case.undecided = "both limits of bytes and of I/Os meet at this block size"
    elif not rates and _queue_or_rate(case, plane, here, tuple(others.values()), fast_share, same_iops=bool(iops)):
        return
    elif same := rates or iops:
        case.tight = max((*same, bs_bytes)) / min((*same, bs_bytes)) >= TIGHT_SPAN and all(
            abs(math.log(ratio)) <= (SAME if rates else TIGHT) for ratio in same.values()
        )
        case.law = Candidate(
            _behind_name(case, "bandwidth" if rates else "IOPS"),
            case.rate / here.rate if rates else case.iops / here.iops,
            f"{format_rate(here.rate) if rates else f'{format_count(here.iops)} I/Os a second'} at most with blocks of"
            f" {_sizes_text((bs_bytes, *same))} alike, whatever the load",
        )
    else:
        case.undecided = (
            "it is neither bytes nor I/Os a second; add block sizes to learn which"
            if others
            else "no other block size reached its limit to compare with"
        )


def _queue_or_rate(
    case: Case,
    plane: Mapping[tuple[int, int], Case],
    here: Case,
    others: Sequence[Case],
    fast_share: Mapping[Place, float],
    *,
    same_iops: bool,
) -> bool:
    """Whether it is one queue, or cannot be told from a limit on I/Os; True when that settles the case.

    A queue that serves one I/O at a time gives as much with one in flight as with many, and makes every I/O wait; a
    limit by credit lets some through at once. Fixed cost and transfer follow each other in a queue, so that the
    rate in bytes differs with the block size.
    """
    single = plane.get((1, 1))
    if single is not None and single.iops < REACHED * here.iops:
        return False
    # Only of one in flight: of more, the first I/Os of every visit find the queue empty.
    fast = fast_share.get((single.estimate.cell.key, single.estimate.direction)) if single is not None else None
    if fast is not None and fast >= FAST_SHARE:
        return False
    differs = any(abs(math.log(one.rate / here.rate)) > math.log(EXCLUDED) for one in others)
    if case.flat_from_one and single is not None and differs and fast is not None and fast <= NO_FAST_SHARE:
        latency = single.estimate.lat_mean_ns
        text = (
            f"one I/O in flight already gives {single.iops / here.iops:.0%} of it, and hardly any of its I/Os is "
            "faster than half the mean"
        )
        case.law = Candidate(
            "single queue", case.rate / here.rate, text + (f" ({format_latency(latency)} each)" if latency else "")
        )
        case.tight = True
        return True
    if same_iops:
        known = (
            "the same I/Os a second from one in flight on"
            if single is not None
            else "one I/O in flight was not measured"
        )
        case.undecided = f"{known}: a limit on I/Os and a single queue look alike here"
        return True
    return False


def _behind_name(case: Case, what: str) -> str:
    """'drive' where local drives are at the end of the path; behind a server it may be its drives, its own network
    or a limit set there: 'target'.
    """
    return f"{'drive' if case.path.drives else 'target'} {what}"


def _noise(estimate: Estimate) -> float:
    """Half of the interval over the value; 0 where there is none."""
    if estimate.bw_low is None or estimate.bw_high is None or not estimate.bw_bytes_per_s:
        return 0.0
    return (estimate.bw_high - estimate.bw_low) / 2 / estimate.bw_bytes_per_s


def _sizes_text(sizes: Iterable[int]) -> str:
    return " and ".join([", ".join(map(format_size, sorted(sizes)[:-1])), format_size(max(sizes))])


def _plateau(plane: Mapping[tuple[int, int], Case]) -> Case | None:
    """The fastest of the saturated cells."""
    flat = [case for case in plane.values() if case.state == "saturated"]
    return max(flat, key=lambda case: case.rate) if flat else None
