# SPDX-License-Identifier: Apache-2.0
"""What may limit a cell, and how likely each piece of evidence is under each of them.

Bayes' rule over a list of candidates: the odds of two candidates are those before anything was seen (`PRIOR`), times
how much more likely each piece of evidence is under one than under the other. 'Other' is a candidate too, under which
every reading is about as likely as any other, so what fits nothing is told as unclear. Pieces are not independent of
each other; their weight is reduced by `TRUST`, chosen on simulated targets of known laws and checked on others.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from statistics import median

from ioatlas.analysis.shape import Answer, BlockStep, Case
from ioatlas.model.units import format_count, format_latency, format_rate, format_size
from ioatlas.model.verdict import LOWER_BOUND


class Cause(StrEnum):
    """Candidates. 'bandwidth' and 'IOPS' are those of the target, or of the drive where it is this machine's."""

    CPU = "client CPU"
    OTHERS = "other programs on this client"
    LINK = "link"
    BUS = "client bus"
    INTERFACE = "drive interface"
    BYTES = "bandwidth"
    IOS = "IOPS"
    SINGLE = "single queue"
    REFILL_BYTES = "rate limit in bytes"
    REFILL_IOS = "rate limit in I/Os"
    CONNECTION = "connection queue"
    LATENCY = "latency"
    OTHER = "other"


REFILL = frozenset({Cause.REFILL_BYTES, Cause.REFILL_IOS})
TARGET = frozenset({Cause.BYTES, Cause.IOS, Cause.SINGLE}) | REFILL
"""What lies behind path and client: told as 'target' (or 'drive') where it is one of them, but not known which."""
IN_BYTES = frozenset({Cause.LINK, Cause.BUS, Cause.INTERFACE, Cause.BYTES})

PRIOR: Mapping[Cause, float] = {
    Cause.CPU: 1.0,
    Cause.OTHERS: 1.0,
    Cause.LINK: 1.0,
    Cause.BUS: 1.0,
    Cause.INTERFACE: 1.0,
    Cause.BYTES: 1.0,
    Cause.IOS: 1.0,
    Cause.SINGLE: 0.3,
    Cause.REFILL_BYTES: 1.0,
    Cause.REFILL_IOS: 1.0,
    Cause.CONNECTION: 0.5,
    Cause.LATENCY: 1.5,
    Cause.OTHER: 0.3,
}
TRUST = 0.8
"""Power of the evidence's weight."""
CERTAIN = 0.98
"""No answer is surer than this."""
MOST_WEIGHT = 100.0
"""Of one piece, either way."""

# What each candidate lets expect: (more depth, more jobs, other block sizes).
FLAT, GROWS, EITHER, ANY = "flat", "grows", "either", "any"
SAME_BYTES, SAME_IOS, BETWEEN = "same bytes", "same I/Os", "between"
EXPECTED: Mapping[Cause, tuple[str, str, str]] = {
    Cause.CPU: (FLAT, EITHER, BETWEEN),
    Cause.OTHERS: (ANY, ANY, ANY),
    Cause.LINK: (FLAT, FLAT, SAME_BYTES),
    Cause.BUS: (FLAT, FLAT, SAME_BYTES),
    Cause.INTERFACE: (FLAT, FLAT, SAME_BYTES),
    Cause.BYTES: (FLAT, FLAT, SAME_BYTES),
    Cause.IOS: (FLAT, FLAT, SAME_IOS),
    Cause.SINGLE: (FLAT, FLAT, BETWEEN),
    Cause.REFILL_BYTES: (FLAT, FLAT, SAME_BYTES),
    Cause.REFILL_IOS: (FLAT, FLAT, SAME_IOS),
    Cause.CONNECTION: (FLAT, GROWS, BETWEEN),
    Cause.LATENCY: (GROWS, GROWS, BETWEEN),
    Cause.OTHER: (ANY, ANY, ANY),
}

UNHINDERED, HINDERED = 0.1, 0.3
"""Shares of the time that fio waits for a processor: at most this is no hindrance, from this on it is one.
"""
FULL, STRAINED, ROOM = 60.0, 3.0, 0.02
"""Weight of the client's processors being full of fio, having little room beside it, having room."""
WAITED, CROWDED = ((0.6, 20.0), (0.3, 4.0), (UNHINDERED, 1.0), (0.0, 0.3)), 2.0
"""Weight of processors that are full of others' work, from so much on that fio waited for one; where that is unknown.
"""
GENERATOR_FULL, GENERATOR_ROOM = 0.80, 0.60
CROWD = 0.3
"""Share of the processors from which other programs may keep a load from running."""
CORES_FULL, CORES_ROOM = 0.95, 0.85
OWN_SHARE, SOFTIRQ_CORE = 0.2, 0.5
STOLEN = 0.1
FAR, FAR_BELOW, BEYOND_MEMORY = 0.80, 0.1, 1.5
"""Shares of a ceiling: what is below the first has room; memory ten times as fast; faster than memory, so another way.
"""
AS_MEMORY, NOTHING_SHOWN = 60.0, 5.0
"""Weight of a target in memory being no faster by the same path; of 'other' where no load tells more."""
NO_FAST_SHARE, FAST_SHARE = 0.001, 0.01
"""I/Os that take less than half the mean: none where a queue serves one at a time, some where a credit limits."""
FILLS = 1.5
"""A block size is the fastest in bytes a second where none is this many times as fast."""
DRIVE_BUSY, DRIVE_QUEUE = 0.95, 0.5
RETRANSMITTED = 0.001
VAGUE = 0.5
"""Uncertainty of an answer to more load from which it tells nothing."""


@dataclass(frozen=True)
class Piece:
    """One piece of evidence: how likely it is under each candidate (1 where not named), and what was seen."""

    weights: Mapping[Cause, float]
    words: str = ""

    def of(self, cause: Cause) -> float:
        return min(MOST_WEIGHT, max(1 / MOST_WEIGHT, self.weights.get(cause, 1.0)))


@dataclass(frozen=True)
class Share:
    """How much of a bound a value uses, and in words. cause: what is used up when it is reached; resource: its word."""

    cause: Cause
    resource: str
    share: float
    because: str
    compared: bool = False
    """A target in memory: compared with, and no bound."""
    tolerance: float = 1.0
    spread: float = 0.0
    """How exactly the bound is known, as a standard deviation of its logarithm."""


@dataclass(frozen=True)
class Odds:
    """Probabilities of all candidates, and the evidence they come from."""

    shares: Mapping[Cause, float]
    pieces: tuple[Piece, ...]

    @property
    def ranked(self) -> list[Cause]:
        return sorted(self.shares, key=lambda cause: -self.shares[cause])

    def supporting(self, causes: Iterable[Cause]) -> list[str]:
        """What speaks for these candidates over the others, the strongest first."""
        named = set(causes)
        found = []
        for piece in self.pieces:
            mine = max(piece.of(cause) for cause in named)
            others = [piece.of(cause) for cause in self.shares if cause not in named]
            if piece.words and mine >= 1.5 * math.exp(sum(map(math.log, others)) / len(others)):
                found.append((mine / median(others), piece.words))
        return [words for _, words in sorted(found, key=lambda one: -one[0])]


def odds(case: Case, bounds: Iterable[Share]) -> Odds:
    """Probabilities of everything that may limit a cell."""
    shares = tuple(bounds)
    pieces = (
        *(_load(answer) for answer in case.answers),
        *(_blocks(step, case) for step in case.blocks),
        *_ceilings(case, shares),
        *_faster(case),
        *_processor(case, shares),
        *_single(case, shares),
        *_drive(case),
        *_queues(case),
    )
    logs = {
        cause: math.log(prior) + TRUST * sum(math.log(piece.of(cause)) for piece in pieces)
        for cause, prior in PRIOR.items()
        if _possible(cause, case, shares)
    }
    top = max(logs.values())
    total = sum(math.exp(value - top) for value in logs.values())
    return Odds({cause: CERTAIN * math.exp(value - top) / total for cause, value in logs.items()}, pieces)


def _possible(cause: Cause, case: Case, shares: Iterable[Share]) -> bool:
    """A bus, an interface or a rate limit only where it is known; a link also where the path crosses a wire. Other
    programs only where they were seen.
    """
    if cause is Cause.OTHERS:
        return crowded(case)
    if cause not in (Cause.LINK, Cause.BUS, Cause.INTERFACE, *REFILL):
        return True
    return any(one.cause is cause for one in shares) or (cause is Cause.LINK and case.path.remote)


# -- likelihoods ---------------------------------------------------------------------------------------------


def _normal(x: float, mean: float, sd: float) -> float:
    return math.exp(-0.5 * ((x - mean) / sd) ** 2) / (sd * math.sqrt(2 * math.pi))


def _anywhere(x: float, sd: float) -> float:
    """Density of an exponent that may lie anywhere from a little below 0 to a little above 1."""
    sd = max(sd, 0.02)
    return max(0.05, (_below((x + 0.1) / sd) - _below((x - 1.1) / sd)) / 1.2)


def _below(z: float) -> float:
    return 0.5 * (1 + math.erf(z / math.sqrt(2)))


def _load(answer: Answer) -> Piece:
    """More load gives nothing where something is used up, and in proportion where only time passes.

    Between the two lies where a limit is reached on the way: of the step that led to the cell it says little. What is
    used up gives some of it back under more load, but not much.
    """
    e = min(1.2, answer.exponent)
    at_zero = _normal(e, 0, math.hypot(0.1 if e >= 0 else 0.25, answer.sd))
    at_one = _normal(e, 1, math.hypot(0.12, answer.sd))
    anywhere = _anywhere(e, answer.sd)
    # Where the step is uncertain, nothing is told by where it lies.
    inside = 0.5 + (min(1.0, max(0.0, e)) - 0.5) / (1 + (answer.sd / 0.5) ** 2)
    rather_one, rather_zero = inside * anywhere, (1 - inside) * anywhere
    if answer.up:
        likely = {FLAT: 0.9 * at_zero + 0.1 * rather_zero, GROWS: 0.5 * at_one + rather_one, ANY: anywhere}
    else:
        likely = {FLAT: 0.5 * at_zero + rather_zero, GROWS: 0.8 * at_one + 0.2 * rather_one, ANY: anywhere}
    likely[EITHER] = (likely[FLAT] + likely[GROWS]) / 2
    column = 0 if answer.option == "iodepth" else 1
    return Piece({cause: likely[expected[column]] for cause, expected in EXPECTED.items()}, answer.words)


def _blocks(step: BlockStep, case: Case) -> Piece:
    """Plateaus of two block sizes: the same bytes a second, the same I/Os a second, or something between.

    A limit on bytes holds for all larger blocks, one on I/Os for all smaller ones; the other way it may have ended.
    """
    size = case.estimate.cell.bs_bytes
    sd = math.hypot(step.sd, 0.03 / abs(math.log(step.bs_bytes / size)))
    bytes_, ios = _normal(step.exponent, 0, sd), _normal(step.exponent, 1, sd)
    between = 1.0 if -0.1 <= step.exponent <= 1.1 else 0.3
    surely = 0.9 if step.larger else 0.5
    likely = {
        SAME_BYTES: surely * bytes_ + (1 - surely) * between,
        SAME_IOS: (1.4 - surely) * ios + (surely - 0.4) * between,
        BETWEEN: 0.2 * ios + 0.8 * between,
        ANY: 0.1 * bytes_ + 0.1 * ios + 0.8 * between,
    }
    sizes = " and ".join(format_size(one) for one in sorted((size, step.bs_bytes)))
    words = ""
    if bytes_ > max(between, ios):
        words = f"{format_rate(case.rate)} with blocks of {sizes} alike"
    elif ios > max(between, bytes_):
        words = f"{format_count(case.iops)} I/Os a second with blocks of {sizes} alike"
    return Piece({cause: likely[expected[2]] for cause, expected in EXPECTED.items()}, words)


REACH = 3.0
"""Logarithmic range over which a value may lie anywhere below a bound that does not limit it."""


def _reached(share: float, spread: float) -> float:
    """How much more likely a share of a bound is when that bound limits, than when something else does.

    Most that is limited by a bound comes within 2% of it, some only within a fifth: shared links, varying drives.
    """
    log = math.log(share)
    slope = max(0.0, 1 + log / -math.log(FAR)) if log < 0 else 0.0
    return REACH * (0.75 * _normal(log, -0.01, math.hypot(0.02, spread)) + 0.25 * slope * 2 / -math.log(FAR)) + 0.03


def _ceilings(case: Case, shares: Iterable[Share]) -> Iterator[Piece]:
    """Bounds that are known: of each cause the nearest; and links of standard rates where none is."""
    told: set[Cause] = set()
    for one in sorted((one for one in shares if not one.compared), key=lambda one: -one.share):
        if one.cause in told or one.share > one.tolerance:
            continue
        if one.cause is Cause.CPU and one.share < FAR:
            continue  # I/Os that cost nothing bound I/Os that do from far above
        told.add(one.cause)
        weight = _reached(one.share, math.hypot(case.spread, one.spread))
        if one.cause is Cause.BYTES:
            weight = (1 + weight) / 2  # a drive read alone, in order, is seldom the limit of other patterns
        yield Piece({one.cause: weight}, one.because if one.share >= FAR else "")
    if case.path.remote and Cause.LINK not in told:
        yield _standard(case)


STANDARD_SD, STANDARD_SHARE, SHORT = 0.004, 0.5, 0.1
"""How exactly a standard link's rate less its framing is reached by most, how far below it others may stay; share of
links of unknown speed whose rate is a standard one: a plain Ethernet port tells its speed, so an unknown one is often
a virtual machine's, a tunnel's or a shaped one.
"""
STANDARD_RANGE = math.log(1000)


def _standard(case: Case) -> Piece:
    """A plateau at a standard link's rate, less its framing, is seldom chance; one elsewhere is seldom a link."""
    rate, spread = case.plateau or (case.rate, case.spread)
    near = [(math.log(rate / one.bw_bytes_per_s), one) for one in case.standards if one.bw_bytes_per_s]
    if not near:
        return Piece({})
    sd = math.hypot(STANDARD_SD, spread)
    below = [max(0.0, 1 + far / SHORT) * 2 / SHORT for far, _ in near if far <= 0]
    exactly = sum(_normal(far, 0, sd) for far, _ in near)
    weight = (0.7 * exactly + 0.3 * sum(below)) * STANDARD_RANGE / len(near)
    far, link = min(near, key=lambda pair: abs(pair[0]))
    words = ""
    if abs(far) < 2 * sd and sd < 0.03:
        words = f"{math.exp(far):.1%} of what a {link.name} carries beside its framing"
    return Piece({Cause.LINK: STANDARD_SHARE * weight + 1 - STANDARD_SHARE}, words)


def _faster(case: Case) -> Iterator[Piece]:
    """What was exceeded elsewhere is not used up here."""
    for name, causes, slack in (
        ("bytes", {Cause.BYTES, Cause.REFILL_BYTES}, 0.1),
        ("ios", {Cause.IOS, Cause.REFILL_IOS}, 0.1),
        ("path", {Cause.LINK, Cause.BUS, Cause.INTERFACE}, 0.1),
    ):
        if (faster := case.faster.get(name)) is not None:
            z = faster.log_ratio / math.hypot(slack, faster.sd)
            yield Piece(dict.fromkeys(causes, math.exp(-0.5 * z * z)))


def _processor(case: Case, shares: Iterable[Share]) -> Iterator[Piece]:
    """How full the client's processors were, and a target in memory by the same path."""
    full = busy(case)
    memory = next((one for one in shares if one.compared and one.share >= FAR), None)
    if crowded(case):
        surely = not case.seen.waiting or median(case.seen.waiting) >= HINDERED
        yield Piece({Cause.OTHERS: FULL if surely else STRAINED, Cause.CPU: ROOM}, others_words(case))
    elif full is not None and full[0]:
        yield Piece({Cause.CPU: FULL}, full[2])
    elif has_room(case):
        filled = case.seen.cores is not None and case.seen.cores >= CORES_ROOM
        told = "other work fills the client's processors, but fio seldom waits for them"
        yield Piece({Cause.CPU: ROOM}, told if filled else "the client's processors have room")
    elif strained(case):
        yield Piece({Cause.CPU: STRAINED}, full[2] if full else "")
    elif full is not None and (case.seen.cores or 0.0) >= CORES_ROOM:
        yield Piece({Cause.CPU: _crowded(case)}, full[2])
    if case.seen.steal > STOLEN:
        yield Piece({Cause.CPU: STRAINED}, f"the hypervisor took {case.seen.steal:.0%} of the processors' time")
    if memory is not None and not _waits_long(case, shares):
        # With room left the client's path is as slow by itself, and it is not told by what.
        held = Cause.CPU if not has_room(case) and (strained(case) or (full and full[0])) else Cause.OTHER
        held = Cause.OTHERS if crowded(case) else held
        yield Piece({held: AS_MEMORY}, f"as fast as memory: {memory.because}")


def _crowded(case: Case) -> float:
    """Weight of processors that others keep busy: what counts is how long fio stood ready and waited for one."""
    if not case.seen.waiting:
        return CROWDED
    waited = median(case.seen.waiting)
    return next(weight for least, weight in WAITED if waited >= least)


def _waits_long(case: Case, shares: Iterable[Share]) -> bool:
    """Whether one I/O in flight gives all there is, and each takes far longer than the path's own work."""
    single = case.single
    return single is not None and single.flat and any(one.compared and one.share <= FAR_BELOW for one in shares)


def crowded(case: Case) -> bool:
    """Whether other programs filled the client's processors, and fio waited for one because of them."""
    seen = case.seen
    if not seen.cpu or (seen.cores or 0.0) < CORES_ROOM or seen.others < max(CROWD, own_share(case)):
        return False
    return case.estimate.verdict in LOWER_BOUND or not seen.waiting or median(seen.waiting) > UNHINDERED


def others_words(case: Case) -> str:
    load = median(one.load for one in case.seen.cpu)
    return f"other programs took {case.seen.others:.0%} of the client's processors, the load {load:.0%}"


def busy(case: Case) -> tuple[bool, float, str] | None:
    """Whether fio's threads or all cores are full, the fullest and in words; None where nothing watched them."""
    seen = case.seen
    found: list[tuple[bool, float, str]] = []
    generator, limited = seen.generator_share, case.estimate.verdict in LOWER_BOUND
    if limited or generator is not None:
        share = GENERATOR_FULL if generator is None else generator
        text = f"each of fio's jobs takes {share:.0%} of a core"
        found.append((limited or share >= GENERATOR_FULL, share, text))
    if seen.cores is not None:
        own = own_share(case)
        text = f"the client's {seen.n_cores} cores are {seen.cores:.0%} busy, fio's own share {own:.0%}"
        # Full of others' work: too busy to be ruled out, but nothing says that it is what limits this load.
        waited = not seen.waiting or median(seen.waiting) >= HINDERED
        found.append((seen.cores >= CORES_FULL and own >= OWN_SHARE and waited, seen.cores, text))
        if seen.busiest is not None and seen.busiest >= CORES_FULL and seen.softirq_cores >= SOFTIRQ_CORE:
            text = f"one core is {seen.busiest:.0%} busy, {seen.softirq_cores:.2g} cores of it with network interrupts"
            found.append((True, seen.busiest, text))
    if not found:
        return None
    return max(found)


def own_share(case: Case) -> float:
    """Share of all cores that fio itself takes."""
    jobs = case.estimate.cell.numjobs
    return min(1.0, (case.seen.generator_share or 0.0) * jobs / max(1, case.seen.n_cores))


def has_room(case: Case) -> bool:
    """Whether the client's processors can be ruled out: they have room, or others' work does not keep fio from running
    when it wants to.
    """
    cores, generator, waiting = case.seen.cores, case.seen.generator_share, case.seen.waiting
    if case.estimate.verdict in LOWER_BOUND:
        return False
    unhindered = waiting and median(waiting) <= UNHINDERED
    if unhindered and generator is not None and generator + median(waiting) < GENERATOR_ROOM:
        return True
    return cores is not None and cores < CORES_ROOM and (generator is None or generator < GENERATOR_ROOM)


def strained(case: Case) -> bool:
    """Whether fio itself, not others' work, leaves the client's processors without room."""
    cores, generator = case.seen.cores, case.seen.generator_share
    if generator is None or cores is None:
        return False
    return generator >= GENERATOR_ROOM or (cores >= CORES_ROOM and own_share(case) >= OWN_SHARE)


def _single(case: Case, shares: Iterable[Share]) -> Iterator[Piece]:
    """A queue that serves one I/O at a time gives as much with one in flight as with many, and makes every I/O wait."""
    one = case.single
    if one is None:
        return
    same, others = 1.0, 1.0
    fastest = case.faster.get("bytes")
    fills = fastest is not None and fastest.log_ratio < math.log(FILLS)
    if case.estimate.cell.outstanding > 1:
        same = _normal(one.log_ratio, 0, math.hypot(0.05, one.sd)) * REACH
        # The largest blocks fill the bandwidth by themselves.
        often = 0.35 if fills else 0.1
        others = often * same + 1 - often if one.log_ratio < 0.1 else 0.3
    weights: dict[Cause, float] = {cause: others for cause in Cause if cause is not Cause.OTHER}
    weights |= {Cause.LATENCY: 1.0, Cause.SINGLE: same}
    share = f"one I/O in flight already gives {math.exp(min(0.0, one.log_ratio)):.0%} of it"
    yield Piece(weights, share if same > others else "")
    if one.fast_share is None or same < others or not one.flat:
        return
    if one.fast_share <= NO_FAST_SHARE:
        # A client that copies one block at a time is such a queue too.
        own = 3.0 if has_room(case) or _waits_long(case, shares) else 1.0
        others = 1.0 if fills else 0.3
        each = f" ({format_latency(one.lat_mean_ns)} each)" if one.lat_mean_ns else ""
        words = f"hardly any of its I/Os is faster than half the mean{each}"
        yield Piece(
            {Cause.SINGLE: own**0.5 if fills else own, Cause.IOS: 0.3, Cause.BYTES: others, Cause.LINK: others}, words
        )
    elif one.fast_share >= FAST_SHARE:
        yield Piece({Cause.SINGLE: 0.03})


def _drive(case: Case) -> Iterator[Piece]:
    """Where the I/Os are: Little's law over the drive's own counters."""
    drive = case.seen.drive(case.path.drives)
    if drive is None:
        return
    flight = case.estimate.cell.outstanding
    waiting = drive.queue_mean / flight
    if drive.utilisation >= DRIVE_BUSY and waiting >= DRIVE_QUEUE:
        weights: dict[Cause, float] = dict.fromkeys(TARGET, 3.0)
        weights |= {Cause.CPU: 0.3, Cause.LATENCY: 1.5}
        words = f"{drive.name} was busy {drive.utilisation:.0%} of the time, with {drive.queue_mean:.2g} requests in it"
        yield Piece(weights, words)
    elif drive.utilisation < FAR and waiting < 1 - DRIVE_QUEUE:
        # What holds I/Os back before the drive may still be a limit that was set for it.
        yield Piece(dict.fromkeys(TARGET, 0.5))


def _queues(case: Case) -> Iterator[Piece]:
    """A connection with one I/O in flight has no queue; packets that were lost point at the network."""
    if case.estimate.cell.iodepth == 1:
        yield Piece({Cause.CONNECTION: 0.1})
    if case.given_back or all(answer.sd > VAGUE for answer in case.answers):
        yield Piece({Cause.OTHER: NOTHING_SHOWN})
    if case.path.remote and case.seen.retransmitted > RETRANSMITTED:
        yield Piece({Cause.LINK: 2.0}, f"{case.seen.retransmitted:.1%} of the segments were sent again")


CAUSES: Mapping[str, tuple[Cause, str]] = {
    "drive": (Cause.BYTES, "drive bandwidth"),
    "link": (Cause.LINK, "link"),
    "network path": (Cause.LINK, "link"),
    "client bus": (Cause.BUS, "client bus"),
    "drive interface": (Cause.INTERFACE, "drive interface"),
    "client": (Cause.CPU, "client CPU"),
    "stack": (Cause.CPU, "client CPU"),
}
"""What a ceiling's resource is a bound of, and its word; one that a person typed in is a part of the path."""


def shares_of(case: Case) -> list[Share]:
    """Bounds of path, client and drive beside the value, nearest first."""
    found = []
    for one in case.ceilings:
        share = one.share(case.rate, case.iops if one.bw_bytes_per_s is None else None)
        if share is None or (one.resource == "stack" and share > BEYOND_MEMORY):
            continue
        cause, resource = CAUSES.get(one.resource, (Cause.LINK, one.resource))
        bound = format_rate(one.bw_bytes_per_s) if one.bw_bytes_per_s else f"{format_count(one.iops or 0)} IOPS"
        words = f"{share:.1%} of the {one.name} ({bound}, {one.kind})"
        found.append(Share(cause, resource, share, words, one.tolerance == math.inf, one.tolerance))
    return sorted(found, key=lambda one: -one.share)
