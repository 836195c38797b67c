# SPDX-License-Identifier: Apache-2.0
"""Was it the cache? A verdict for every cell, with its evidence, from what can be computed; withheld where nothing can.

Two words. 'cached': something shows that the bytes did not come from, or go to, what lies behind the cache: they were
answered before a packet could return, were not counted at the device, or fall off a cliff as the footprint grows. What
the link or the drive's interface cannot have carried is void before it comes here. 'suspect': it may be so. 'hole': the
file has ranges that were never written, which are read without any drive. An empty word says that nothing points to a
cache, which is not a proof that there is none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from ioatlas.answer.analysis.estimates import window_values
from ioatlas.answer.analysis.wording import Namer
from ioatlas.model.cell import Cell
from ioatlas.model.estimate import Estimate
from ioatlas.model.finding import Finding, FindingCode, Value, common
from ioatlas.model.summary import Trust
from ioatlas.model.units import format_count, format_latency, format_size, format_size_rounded, grouped
from ioatlas.model.verdict import VerdictCode
from ioatlas.model.visit import Histogram, Part, Purpose, Visit

METHOD = "cache-evidence/1"

EARLY = 0.5
"""An answer within this share of the smallest round trip was not sent over the path. Not more: an idle path is
slower than a busy one, whose interrupts are polled and whose processors are awake.
"""
EARLY_PROOF, EARLY_HINT = 0.5, 0.1
SHORTEST_TRIP_NS = 50_000
"""Of a shorter round trip most is the processors' time at both ends, which differs from one packet to the next."""
UNCOUNTED_PROOF, UNCOUNTED_HINT = 0.5, 0.1
FEWEST_COUNTED_BYTES = 64 << 20
STEP_PROOF, STEP_HINT = 4.0, 1.8
"""Fall of throughput from one footprint to the next. Below 4 a shorter seek, or a map that no longer fits, may
explain it.
"""
FEWEST_RUNS = 3
"""On each side of a fall: of fewer, each lies above each too often by chance."""
COMPRESSIBLE = 50


@dataclass(frozen=True)
class Evidence:
    """One reason. strength: 'proof' or 'hint'; kind: 'round trip', 'counters', 'footprint', 'buffered', 'data' or
    'holes'.
    """

    kind: str
    strength: Literal["proof", "hint"]
    sentence: str


@dataclass(frozen=True)
class CacheVerdict:
    """Of one cell and direction. tested: kinds of tests that could decide and had what they need; none of them: the
    verdict is withheld.
    """

    cell: Cell
    direction: str
    word: VerdictCode
    evidence: tuple[Evidence, ...]
    tested: tuple[str, ...]
    in_part: str = ""
    """What of it a cache answered, where that is not all."""

    @property
    def withheld(self) -> bool:
        return not self.word and not self.tested


@dataclass(frozen=True)
class Bracket:
    """A cliff along the footprint: throughput falls from `below` to `above` by `ratio`, so a cache holds between
    the two (bytes).
    """

    target: str
    direction: str
    below_bytes: int
    above_bytes: int
    ratio: float
    cells: tuple[str, ...]


@dataclass(frozen=True)
class CacheReport:
    """Verdicts of a map, its cliffs, and how often no verdict could be given."""

    verdicts: Mapping[tuple[str, str], CacheVerdict]
    brackets: tuple[Bracket, ...] = ()
    method: str = METHOD

    @property
    def withheld(self) -> int:
        return sum(verdict.withheld for verdict in self.verdicts.values())

    def count(self, word: VerdictCode) -> int:
        return sum(verdict.word == word for verdict in self.verdicts.values())

    def mark(self, estimates: Iterable[Estimate]) -> tuple[Estimate, ...]:
        """The estimates with 'cached', 'suspect' or 'hole' as their verdict where that is the verdict, the evidence in
        their notes. A value of which a cache answered a part is low: of a larger range it holds less.
        """
        marked = []
        for e in estimates:
            verdict = self.verdicts.get((e.cell.key, e.direction))
            if e.kind == "measured" and verdict is not None and verdict.word and e.verdict is not VerdictCode.DISCARDED:
                new = tuple(one.sentence for one in verdict.evidence if one.sentence not in e.notes)
                marked.append(replace(e, verdict=verdict.word, notes=(*e.notes, *new)))
            elif e.kind == "measured" and verdict is not None and verdict.in_part:
                marked.append(replace(e, grade=Trust.LOW, grade_reason=verdict.in_part))
            else:
                marked.append(e)
        return tuple(marked)

    def findings(self) -> Iterator[Finding]:
        """One on the verdicts with the strongest evidence, one on each cliff's bracket (at most two)."""
        flagged = [verdict for verdict in self.verdicts.values() if verdict.word]
        total, lost = len(self.verdicts), self.withheld
        namer = Namer((v.cell for v in self.verdicts.values()), sorted({v.cell.target for v in self.verdicts.values()}))
        if flagged:
            worst = max(
                flagged,
                key=lambda v: (
                    v.word is VerdictCode.CACHED,
                    sum(one.strength == "proof" for one in v.evidence),
                    len(v.evidence),
                ),
            )
            values: dict[str, Value] = {
                "n_values": total,
                "n_flagged": len(flagged),
                "n_cached": self.count(VerdictCode.CACHED) or None,
                "n_suspect": self.count(VerdictCode.SUSPECT) or None,
                "n_holes": self.count(VerdictCode.HOLE) or None,
                "n_unchecked": lost or None,
            }
            if worst.word is not VerdictCode.HOLE:
                load = f"{worst.direction}, {namer.short(worst.cell)}{namer.on(worst.cell.target)}"
                values |= {"load": load, "evidence": worst.evidence[0].sentence}
            yield Finding(
                FindingCode.CACHE,
                values,
                tuple(v.cell.key for v in flagged[:20]),
                target=common(v.cell.target for v in flagged),
                direction=common(v.direction for v in flagged),
            )
        elif lost:
            yield Finding(FindingCode.CACHE, {"n_checked": total - lost, "n_unchecked": lost}, in_order=True)
        for bracket in sorted(self.brackets, key=lambda one: -one.ratio)[:2]:
            yield Finding(
                FindingCode.CACHE_SIZE,
                {"below_bytes": bracket.below_bytes, "above_bytes": bracket.above_bytes, "ratio": bracket.ratio},
                bracket.cells,
                target=bracket.target,
                direction=bracket.direction,
            )


@dataclass
class _Case:
    """Evidence collected for one cell and direction."""

    estimate: Estimate
    parts: Sequence[Part] = ()
    """What its visits did, each."""
    in_part: str = ""
    runs: Sequence[float] = ()
    """Bytes a second of its visits, in their order."""
    evidence: list[Evidence] = field(default_factory=list)
    tested: list[str] = field(default_factory=list)

    def add(self, kind: str, strength: Literal["proof", "hint"], sentence: str) -> None:
        self.evidence.append(Evidence(kind, strength, sentence))

    def verdict(self) -> CacheVerdict:
        proofs = [one for one in self.evidence if one.strength == "proof"]
        hints = {one.kind for one in self.evidence}
        word = VerdictCode.CACHED if proofs else VerdictCode.SUSPECT if hints else VerdictCode.NONE
        if not proofs and "holes" in hints:
            word = VerdictCode.HOLE  # whatever else was fast: nothing tells it from holes
        return CacheVerdict(
            self.estimate.cell,
            self.estimate.direction,
            word,
            (*proofs, *(e for e in self.evidence if e.strength == "hint")),
            tuple(self.tested),
            self.in_part,
        )


def judge_caches(
    estimates: Iterable[Estimate],
    visits: Iterable[Visit] = (),
    *,
    round_trip_ns: Mapping[str, float] | None = None,
    counted_bytes: Mapping[int, float] | None = None,
    holes: Iterable[str] = (),
) -> CacheReport:
    """Cache verdicts of all measured estimates.

    visits:        those of the sweep, for histograms and the order of passes.
    round_trip_ns: smallest round trip to the server measured on the wire, by target; targets without a network path
    have none.
    counted_bytes: {visit_id: bytes that the device or the wire carried during that visit, all directions}.
    holes:         targets whose files are known to have holes.
    """
    cases = {
        (e.cell.key, e.direction): _Case(e)
        for e in estimates
        if e.kind == "measured" and e.n_visits and e.bw_bytes_per_s
    }
    by_cell = grouped(
        (visit.cell_key, visit) for visit in visits if visit.purpose is Purpose.SWEEP and not visit.discarded
    )
    with_holes = set(holes)
    for (key, _), case in cases.items():
        mine = sorted(by_cell.get(key, []), key=lambda visit: (visit.started_at, visit.visit_id))
        case.parts = [part for visit in mine for part in visit.parts if part.direction == case.estimate.direction]
        _early(case, (round_trip_ns or {}).get(case.estimate.cell.target))
        _counters(case, mine, counted_bytes or {})
        case.runs = _rates(case, mine)
        _data(case, with_holes)
    brackets = _footprint(cases)
    _in_part(cases.values())
    for case in cases.values():
        _buffered(case)
    return CacheReport({place: case.verdict() for place, case in cases.items()}, brackets)


# -- the tests -----------------------------------------------------------------------------------------------


def _early(case: _Case, round_trip_ns: float | None) -> None:
    """I/Os that were answered before a packet could have come back."""
    if not round_trip_ns or round_trip_ns < SHORTEST_TRIP_NS:
        return
    histogram, mean = Histogram.merge(part.histogram for part in case.parts), case.estimate.lat_mean_ns
    if not (histogram.count or mean):
        return
    case.tested.append("round trip")
    trip = f"the path's round trip of {format_latency(round_trip_ns)}"
    share = sum(n for ns, n in histogram.bins if ns < EARLY * round_trip_ns) / max(1, histogram.count)
    if share >= EARLY_HINT:
        strength: Literal["proof", "hint"] = "proof" if share >= EARLY_PROOF else "hint"
        case.add("round trip", strength, f"{share:.0%} of the I/Os took less than {trip}")
    if mean and not histogram.count and mean < EARLY * round_trip_ns:
        case.add("round trip", "proof", f"a mean latency of {format_latency(mean)} is below {trip}")


def _in_part(cases: Iterable[_Case]) -> None:
    """Random reads of which a cache answered a part: one that waits for no other, so that it takes as long however many
    are in flight. Random writes that look alike show that it is no cache.
    """
    alike: dict[tuple[object, ...], list[tuple[_Case, float, float, float]]] = defaultdict(list)
    for case in cases:
        cell = case.estimate.cell
        if cell.rw.startswith("rand") and (found := _two_speeds(case.parts)) is not None:
            alike[cell.target, cell.bs_bytes, cell.size_bytes].append((case, *found))
    for mine in alike.values():
        quick, ways = [each[2] for each in mine], {case.estimate.direction for case, *_ in mine}
        several = len({case.estimate.cell.outstanding for case, *_ in mine}) > 1
        if not several or ways != {"read"} or max(quick) > STEP_HINT * min(quick):
            continue
        for case, share, _, slow_ns in mine:
            held, rest = share * case.estimate.cell.footprint_bytes, 1e9 * case.estimate.cell.outstanding / slow_ns
            told = f"a cache of about {format_size_rounded(held)} answered {share:.0%} of it"
            case.in_part = f"{told}; the rest takes {format_latency(slow_ns)}, alone {format_count(rest)} IOPS"


def _two_speeds(parts: Sequence[Part]) -> tuple[float, float, float] | None:
    """Of I/Os of which a good part took far less than the mean, and a good part more, at the same moments: the share of
    the quick ones, the latency that is usual among them, and the mean one of the others.
    """
    whole = Histogram.merge(part.histogram for part in parts)
    early = (whole.mean_ns or 0.0) / STEP_PROOF
    quick = Histogram(tuple(one for one in whole.bins if one[0] < early))
    slow = Histogram(tuple(one for one in whole.bins if one[0] > STEP_PROOF * early))
    rows = [row for part in parts for row in zip(part.series.bw_bytes_per_s, part.series.lat_mean_ns, strict=True)]
    on_credit = sum(rate for rate, ns in rows if 0 < ns < early) > EARLY_HINT * sum(rate for rate, _ in rows)
    if on_credit or min(quick.count, slow.count) <= EARLY_HINT * whole.count:
        return None
    return 1 - slow.count / whole.count, quick.percentile_ns(50) or 0.0, slow.mean_ns or 0.0


def _counters(case: _Case, visits: Sequence[Visit], counted: Mapping[int, float]) -> None:
    """Bytes claimed against bytes that the device or the wire carried. The direction's own share is known only of
    unmixed loads.
    """
    known = [visit for visit in visits if visit.visit_id in counted]
    claimed = float(sum(part.io_bytes for visit in known for part in visit.parts))
    if claimed < FEWEST_COUNTED_BYTES:
        return
    case.tested.append("counters")
    missing = 1 - sum(counted[visit.visit_id] for visit in known) / claimed
    if missing >= UNCOUNTED_HINT:
        proof = missing >= UNCOUNTED_PROOF and len(case.estimate.cell.directions) == 1
        case.add(
            "counters",
            "proof" if proof else "hint",
            f"{missing:.0%} of the {format_size_rounded(claimed)} moved were not seen at the device or on the wire",
        )


def _rates(case: _Case, visits: Sequence[Visit]) -> Sequence[float]:
    return [
        window_values(part, visit.window_start_ms).bw_bytes_per_s
        for visit in visits
        for part in visit.parts
        if part.direction == case.estimate.direction
    ]


def _data(case: _Case, with_holes: set[str]) -> None:
    """Data that a target need not store or read in full."""
    cell = case.estimate.cell
    percent = max(cell.integer("buffer_compress_percentage", 0), cell.integer("dedupe_percentage", 0))
    if cell.integer("zero_buffers", 0):
        case.add("data", "hint", "the data are zeros, which many targets do not store")
    elif "buffer_pattern" in cell.option:
        case.add("data", "hint", "the data repeat one pattern, which compresses to nothing")
    elif percent >= COMPRESSIBLE:
        case.add("data", "hint", f"{percent}% of the data can be compressed or deduplicated away")
    if cell.target in with_holes and case.estimate.direction == "read":
        case.add("holes", "hint", "the file has holes, which are read without the drives")


def _buffered(case: _Case) -> None:
    """direct=0 goes through the client's page cache: what was counted or bounded elsewhere decides, otherwise it is
    open.
    """
    cell = case.estimate.cell
    if cell.integer("direct", 1) or {"counters"} & set(case.tested):
        return
    synced = cell.flushes or any(str(cell.option.get(name, 0)) not in ("0", "none") for name in ("sync", "end_fsync"))
    if case.estimate.direction == "write" and synced:
        return
    case.add("buffered", "hint", "with direct=0 the client's page cache was in the way")


def _footprint(cases: Mapping[tuple[str, str], _Case]) -> tuple[Bracket, ...]:
    """Falls of throughput from one footprint to the next larger one, all else equal; what lies below a fall came
    from a cache.
    """
    lines: dict[tuple[object, ...], dict[int, _Case]] = defaultdict(dict)
    for case in cases.values():
        cell = case.estimate.cell
        rest = tuple(pair for pair in cell.options if pair[0] != "size")
        lines[cell.target, case.estimate.direction, cell.sharing, cell.state, rest][cell.footprint_bytes] = case
    found: dict[tuple[str, str, int, int], Bracket] = {}
    for line in lines.values():
        points = sorted(line.items())
        if len(points) < 3:
            continue
        for _, case in points:
            case.tested.append("footprint")
        fall = _fall([case for _, case in points])
        if fall is None:
            continue
        below, above = points[fall.before][0], points[fall.after][0]
        slow = points[fall.after][1].estimate.bw_bytes_per_s or 0.0
        words = (
            f"throughput falls {fall.ratio:.3g}-fold between {format_size(below)} and {format_size(above)} of footprint"
        )
        for index, (size, case) in enumerate(points[: fall.after]):
            if (case.estimate.bw_bytes_per_s or 0) < STEP_HINT * slow:
                continue
            if index <= fall.before:
                case.add("footprint", fall.strength, f"{words}, and {format_size(size)} lies before that")
            else:
                case.add("footprint", "hint", f"{words}, and {format_size(size)} lies on the slope")
        e = points[fall.before][1].estimate
        place = (e.cell.target, e.direction, below, above)
        if fall.strength == "proof" and (place not in found or found[place].ratio < fall.ratio):
            found[place] = Bracket(*place, fall.ratio, (e.cell.key, points[fall.after][1].estimate.cell.key))
    return tuple(found.values())


@dataclass(frozen=True)
class _Fall:
    """From the footprint at index `before` to that at `after`, by `ratio`."""

    before: int
    after: int
    ratio: float
    strength: Literal["proof", "hint"]


def _fall(cases: Sequence[_Case]) -> _Fall | None:
    """The lasting fall along a line: between neighbours if one is clear there, else across up to two footprints
    that tell neither way.

    A proof takes intervals that do not touch, or runs of which each lies above each: without them a single stalled
    visit would look like a cliff.
    """
    falls = []
    rates = [case.estimate.bw_bytes_per_s or 0.0 for case in cases]
    for before in range(len(rates) - 1):
        for after in range(before + 1, min(before + 4, len(rates))):
            ratio = rates[before] / rates[after] if rates[after] > 0 else 0.0
            # A notch that recovers is not a cache that overflowed.
            lasting = max(rates[after:]) <= rates[before] / STEP_HINT**0.5
            low, high = cases[before].estimate.bw_low, cases[after].estimate.bw_high
            known = low is not None and high is not None
            apart = low is None or high is None or low > high or _runs_apart(cases[before].runs, cases[after].runs)
            if ratio < STEP_HINT or not lasting or not apart or (not known and after > before + 1):
                continue
            falls.append(_Fall(before, after, ratio, "proof" if known and ratio >= STEP_PROOF else "hint"))
    return max(falls, key=lambda fall: (fall.strength == "proof", fall.before - fall.after, fall.ratio), default=None)


def _runs_apart(fast: Sequence[float], slow: Sequence[float]) -> bool:
    """Whether each of the ones lies above each of the others, however they disagree: a busy client holds back what
    memory answers, by far more than what a drive does. The first of many runs may have filled the cache.
    """
    kept = fast[1:] if len(fast) > FEWEST_RUNS else fast
    return min(len(kept), len(slow)) >= FEWEST_RUNS and min(kept) > max(slow)
