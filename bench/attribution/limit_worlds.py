# SPDX-License-Identifier: Apache-2.0
"""Random targets of known laws, measured with noise: what limits each of their cells is known, so that it
can be counted how often a stated probability is right.

A law is the smallest of many bounds, some sharp, some soft: time of an I/O, bytes and I/Os a second of the target, one
queue, a queue for each connection, a link, the client's processors, and limits that nothing can tell (a server's
processors, a lock that jobs share). Which bounds there are, how far apart, what was swept, how noisy it was and what of
the testbed is known is drawn from the seed.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ioatlas.analysis.attribution import AttributionReport, attribute
from ioatlas.analysis.burst import BurstUnit
from ioatlas.analysis.cache import CacheReport
from ioatlas.analysis.ceilings import Ceiling, Ethernet, link_ceiling
from ioatlas.analysis.limits import STANDARD_BITS_PER_S, standard_links
from ioatlas.analysis.refill import WORD, Refill, Refills
from ioatlas.analysis.shape import PathView, Seen
from ioatlas.model.cell import Cell
from ioatlas.model.estimate import Estimate
from ioatlas.model.testbed import Testbed
from ioatlas.model.usage import DiskUsage, Usage
from ioatlas.model.verdict import VerdictCode

SIZES = (4096, 16384, 65536, 262144, 1 << 20)
COMMON = 0.25
"""Bounds of a knee of sharpness 1 that lie this close to each other limit alike: then either answer is right."""
CORES = 4

Bound = Callable[[int, int, int], float]
"""I/Os a second by block size, jobs and depth."""


@dataclass(frozen=True)
class World:
    """One target, its client and its path.

    sharpness: of the knee, where bounds meet. noise: standard deviation of the logarithm of a visit. busy: share of the
    client's processors that others use. cpu: seconds of the client for an I/O and for a byte of it. fast: share of lone
    I/Os that take less than half the mean.
    """

    seed: int
    bounds: Mapping[str, Bound]
    sharpness: float
    noise: float
    cells: tuple[tuple[int, int, int], ...]
    path: PathView
    link: Ethernet | None
    link_told: bool
    watched: bool
    memory: bool
    busy: float
    cpu: tuple[float, float]
    fast: float

    def iops(self, bs: int, jobs: int, depth: int) -> float:
        """Without noise: bounds that meet hold each other down a little."""
        least = min(of(bs, jobs, depth) for of in self.bounds.values())
        total = sum((of(bs, jobs, depth) / least) ** -self.sharpness for of in self.bounds.values())
        return float(least * total ** (-1 / self.sharpness))

    def truth(self, bs: int, jobs: int, depth: int) -> frozenset[str]:
        """What limits; several where they are as good as equal."""
        values = {name: of(bs, jobs, depth) for name, of in self.bounds.items()}
        most = (1 + COMMON / self.sharpness) * min(values.values())
        return frozenset(name for name, value in values.items() if value <= most)


def random_world(seed: int) -> World:
    """A world drawn from its seed."""
    draw = random.Random(seed)
    remote = draw.random() < 0.5
    fixed, stream = _log(draw, 20e-6, 10e-3), _log(draw, 30e6, 3e9)
    cpu = (_log(draw, 1e-6, 8e-6), _log(draw, 2e-11, 3e-10))
    link = _link(draw) if remote else None
    bounds: dict[str, Bound] = {
        "latency": lambda bs, jobs, depth: jobs * depth / (fixed + bs / stream),
        "client CPU": lambda bs, jobs, _depth: min(jobs, CORES) / (cpu[0] + cpu[1] * bs),
    }
    if draw.random() < 0.25:
        queue = draw.choice((8, 16, 32))
        bounds["connection queue"] = lambda bs, jobs, depth: (
            jobs * queue / (fixed + bs / stream) if depth > queue else math.inf
        )
    if link is not None:
        goodput = link.goodput_bytes_per_s
        bounds["link"] = lambda bs, _jobs, _depth: goodput / bs
    bounds |= _of_target(draw, fixed, stream)
    return World(
        seed,
        bounds,
        draw.choice((4.0, 10.0, 60.0, 60.0)),
        draw.choice((0.003, 0.01, 0.03, 0.08)),
        _sweep(draw),
        PathView(remote, () if remote or draw.random() < 0.3 else ("sda",), 100e3 if remote else None),
        link,
        draw.random() < 0.4,
        draw.random() < 0.85,
        draw.random() < 0.5,
        draw.choice((0.05, 0.1, 0.3, 0.8)),
        cpu,
        draw.uniform(0, 0.0008) if "single queue" in bounds else draw.choice((0.0, 0.002, 0.03, 0.2, 0.4)),
    )


def _log(draw: random.Random, low: float, high: float) -> float:
    return math.exp(draw.uniform(math.log(low), math.log(high)))


def _link(draw: random.Random) -> Ethernet:
    rate = draw.choice(STANDARD_BITS_PER_S[:5]) if draw.random() < 0.85 else _log(draw, 5e7, 2e10)
    return Ethernet(rate, draw.choice((1500, 1500, 9000)))


def _of_target(draw: random.Random, fixed: float, stream: float) -> dict[str, Bound]:
    """One or two limits of the target, where its time of an I/O leaves room for them."""
    kind = draw.choice(("bandwidth", "IOPS", "both", "both", "single queue", "server", "lock", "none"))
    rate, ios = stream * _log(draw, 0.5, 10), _log(draw, 0.7, 60) / fixed
    found: dict[str, Bound] = {}
    if kind in ("bandwidth", "both"):
        found["bandwidth"] = lambda bs, _jobs, _depth: rate / bs
    if kind in ("IOPS", "both"):
        found["IOPS"] = lambda _bs, _jobs, _depth: ios
    if kind == "single queue":
        found["single queue"] = lambda bs, _jobs, _depth: 1 / (fixed + bs / stream)
    if kind == "server":  # processors of a server: neither bytes nor I/Os
        found["target"] = lambda bs, _jobs, _depth: 1 / (1 / ios + bs / rate)
    if kind == "lock":  # jobs hold each other up: nothing that is listed
        found["other"] = lambda _bs, jobs, _depth: ios / (1 + 0.1 * jobs * jobs)
    return found


def _sweep(draw: random.Random) -> tuple[tuple[int, int, int], ...]:
    first = draw.randrange(len(SIZES) - 1)
    sizes = SIZES[first : first + draw.choice((1, 2, 2, 3, 5))]
    jobs = draw.choice(((1,), (1, 4), (1, 4, 16), (2, 4), (1, 2, 4, 8)))
    depths = draw.choice(((1,), (1, 4, 16), (1, 16), (4, 16), (1, 4, 16, 64), (1, 2, 4, 8, 16, 32)))
    return tuple((bs, each, depth) for bs in sizes for each in jobs for depth in depths)


# -- measuring it --------------------------------------------------------------------------------------------


def judged(world: World) -> tuple[AttributionReport, dict[tuple[str, str], frozenset[str]]]:
    """What is attributed to each cell of a world, and what is right of it, by cell and direction."""
    draw = random.Random(world.seed + 1_000_000)
    estimates, seen, truth, fast = [], {}, {}, {}
    for bs, jobs, depth in world.cells:
        cell = Cell.of(
            "world", {"rw": "randread", "bs": bs, "size": 1 << 30, "numjobs": jobs, "iodepth": depth, "direct": 1}
        )
        iops = world.iops(bs, jobs, depth)
        estimates.append(_estimate(draw, world, cell, iops))
        truth[cell.key, "read"] = _right(world, world.truth(bs, jobs, depth), bs)
        seen[cell.key] = _seen(draw, world, cell, iops) if world.watched else Seen()
        if (jobs, depth) == (1, 1):
            fast[cell.key, "read"] = world.fast
    unknown = Testbed("", 0.0, ())
    refill, bucket = _refill(world)
    for cell_key, direction in truth if bucket else ():
        if truth[cell_key, direction] & bucket:
            truth[cell_key, direction] |= {WORD}
    report = attribute(
        estimates,
        ceilings=lambda cell, _direction: _ceilings(world, cell),
        caches=CacheReport({}),
        seen=seen,
        paths={"world": world.path},
        fast_share=fast,
        standards=lambda cell, direction: standard_links(unknown, cell.bs_bytes, direction),
        refills=refill,
    )
    return report, truth


BUCKETS, MISTAKEN = 0.3, 0.05
"""Share of the limited targets that are token buckets, and of others that seem to be one."""


def _refill(world: World) -> tuple[Refills, frozenset[str]]:
    """What its burst credit is thought to refill at, and the answers beside which a rate limit is right too."""
    draw = random.Random(world.seed + 2_000_000)
    where = "drive" if world.path.drives else "target"
    for name, unit in (("bandwidth", BurstUnit.BYTES), ("IOPS", BurstUnit.IOS)):
        if name in world.bounds and draw.random() < BUCKETS:
            per_s = world.bounds[name](1, 1, 1) * math.exp(draw.gauss(0, 0.03))
            return {("world", "read"): Refill(unit, per_s)}, frozenset({f"{where} {name}"})
    if draw.random() >= MISTAKEN:
        return {}, frozenset()
    bs, jobs, depth = draw.choice(world.cells)
    # What a cache gave at first ends at another rate than the limit's, now and then near it.
    per_s = world.iops(bs, jobs, depth) * bs * math.exp(draw.gauss(0, 0.3))
    return {("world", "read"): Refill(BurstUnit.BYTES, per_s)}, frozenset()


def _right(world: World, causes: frozenset[str], bs: int) -> frozenset[str]:
    """The answers that are right. 'target' (or 'drive') is right of whatever lies behind path and client; the time of a
    server is bytes or I/Os where one of them is hardly of account.
    """
    where = "drive" if world.path.drives else "target"
    names = {f"{where} {one}" if one in ("bandwidth", "IOPS") else one for one in causes - {"target"}}
    if causes & {"bandwidth", "IOPS", "single queue", "target"}:
        names.add(where)
    if "target" in causes:
        small, large = (world.bounds["target"](size, 1, 1) for size in (bs, 4 * bs))
        names |= {f"{where} IOPS"} if large > 0.8 * small else set()
        names |= {f"{where} bandwidth"} if large < 0.3 * small else set()
    return frozenset(names)


def _estimate(draw: random.Random, world: World, cell: Cell, iops: float) -> Estimate:
    """Three visits, with an interval that is sometimes too narrow and sometimes too wide, as intervals are."""
    spread = world.noise / math.sqrt(3)
    value = iops * math.exp(draw.gauss(0, spread))
    width = 2.5 * spread * math.exp(draw.gauss(0, 0.3))
    low, high = value * math.exp(-width), value * math.exp(width)
    bs = cell.bs_bytes
    latency = 1e9 * cell.outstanding / value
    rates = (value * bs, low * bs, high * bs, value, low, high)
    return Estimate(cell, "read", "measured", 3, *rates, lat_mean_ns=latency, verdict=VerdictCode.STEADY)


def _seen(draw: random.Random, world: World, cell: Cell, iops: float) -> Seen:
    """How busy the client's processors and the drive were."""
    work = iops * (world.cpu[0] + world.cpu[1] * cell.bs_bytes)
    each = min(0.99, work / cell.numjobs * math.exp(draw.gauss(0, 0.03)))
    cores = min(0.99, work / CORES + world.busy * (1 - work / CORES) * draw.uniform(0.5, 1))
    disks = {}
    if world.path.drives:
        held = world.truth(cell.bs_bytes, cell.numjobs, cell.iodepth) & {"bandwidth", "IOPS", "single queue", "target"}
        within = cell.outstanding * (1.0 if held else draw.uniform(0.1, 0.95))
        if world.seed % 4 == 0:  # a limit that is set before the drive
            within *= 0.1
        disks["sda"] = DiskUsage(0, 0, 0, 0, min(1.0, within), within, None)
    # Ready and waiting: behind its own jobs where these are full, now and then behind others.
    waited = draw.uniform(0, 0.2) * world.busy + max(0.0, work / CORES - 0.9) * draw.uniform(2, 10)
    waiting = () if world.seed % 3 == 0 else (waited,)
    return Seen((Usage(1.0, (cores,) * CORES, disks=disks),), (each,), waiting)


def _ceilings(world: World, cell: Cell) -> Sequence[Ceiling]:
    found = []
    if world.link is not None and world.link_told:
        found.append(link_ceiling(world.link, "tcp", cell.bs_bytes))
    if world.memory:
        iops = min(cell.numjobs, CORES) / (world.cpu[0] + world.cpu[1] * cell.bs_bytes)
        found.append(Ceiling("path to a target in memory", "stack", iops * cell.bs_bytes, iops, "measured"))
    return found


# -- counting ------------------------------------------------------------------------------------------------

BINS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)


@dataclass(frozen=True)
class Reliability:
    """Of answers whose stated probability lies in a bin: how many, the mean of what was stated, how many are right."""

    low: float
    high: float
    count: int
    stated: float
    right: int

    @property
    def share(self) -> float:
        return self.right / self.count if self.count else math.nan


@dataclass(frozen=True)
class Calibration:
    """Over many worlds. withheld: of `values`, those told as undetermined. wrong: how often what is true was called
    something else.
    """

    values: int
    withheld: int
    bins: tuple[Reliability, ...]
    wrong: Mapping[tuple[str, str], int]


def calibration(seeds: Sequence[int]) -> Calibration:
    """Stated probability against the share that is right, over the worlds of these seeds."""
    answers: list[tuple[float, bool]] = []
    wrong: dict[tuple[str, str], int] = {}
    values = 0
    for seed in seeds:
        report, truth = judged(random_world(seed))
        for place, limit in report.limits.items():
            values += 1
            if limit.determined and limit.probability is not None:
                right = limit.resource in truth[place]
                answers.append((limit.probability, right))
                if not right:
                    pair = (" or ".join(sorted(truth[place])), limit.resource)
                    wrong[pair] = wrong.get(pair, 0) + 1
    return Calibration(values, values - len(answers), reliability(answers), wrong)


def reliability(answers: Sequence[tuple[float, bool]]) -> tuple[Reliability, ...]:
    """(stated probability, whether it was right), by bins of the first."""
    found = []
    for low, high in pairwise(BINS):
        mine = [one for one in answers if low <= one[0] < high or high == one[0] == 1.0]
        if mine:
            stated = sum(probability for probability, _ in mine) / len(mine)
            found.append(Reliability(low, high, len(mine), stated, sum(right for _, right in mine)))
    return tuple(found)


def calibration_table(bins: Sequence[Reliability]) -> list[str]:
    """Lines of Markdown."""
    lines = ["| said | answers | mean of what was said | right |", "|---|---|---|---|"]
    for one in bins:
        lines.append(f"| {one.low:.0%} to {one.high:.0%} | {one.count:,} | {one.stated:.0%} | {one.share:.0%} |")
    return lines
