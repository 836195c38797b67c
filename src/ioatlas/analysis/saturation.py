# SPDX-License-Identifier: Apache-2.0
"""Throughput against I/Os in flight: which law describes it, where it bends, where it peaks, how many connections
still help.

Three laws, compared by AICc (Hurvich and Tsai 1989, Biometrika 76(2)):

    USL     X(N) = g N / (1 + a (N - 1) + b N (N - 1))    Gunther 2007, Guerrilla Capacity Planning; g free, as he
    advises where X(1) is unsure bounds  X(N) = min(N / R0, Xmax)                      asymptotic bounds of a closed
    system, Denning and Buzen 1978 linear  X(N) = g N                                    no limit within the range

Fits are least squares on logarithms, since the noise of throughput is multiplicative. Nothing is said beyond the
largest N measured by more than half of it, and nothing at all from fewer than six levels.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Literal

import numpy as np

from ioatlas.analysis.windows import window_values
from ioatlas.analysis.wording import Namer, plural
from ioatlas.model.cell import Cell
from ioatlas.model.estimate import Estimate
from ioatlas.model.finding import Finding, FindingCode
from ioatlas.model.purpose import Purpose
from ioatlas.model.units import format_count, format_latency
from ioatlas.model.verdict import LOWER_BOUND, VerdictClass, verdict_class
from ioatlas.model.visit import Visit
from ioatlas.stats.minimum import least_squares

METHOD = "usl-bounds-linear-aicc/1"
FEWEST_LEVELS = 6
REACH = 1.5
"""A peak is named up to this multiple of the largest N measured."""
NEAR = 0.90
SCALES = 0.25
"""Connections still scale while a doubling gains at least this share of the throughput before it (a perfect one
gains 100%).
"""
CLEAR = 2.0
"""Difference of AICc from which the loser is called worse; below it both describe the data (Burnham and Anderson
2002, section 2.6).
"""
DRAWS = 400

LawName = Literal["usl", "bounds", "linear"]
_WORDS: Mapping[LawName, str] = {
    "usl": "the Universal Scalability Law",
    "bounds": "plain bounds",
    "linear": "a straight line",
}
_COUNT: Mapping[LawName, int] = {"usl": 3, "bounds": 2, "linear": 1}


@dataclass(frozen=True)
class Level:
    """Throughput (IOPS) at `n` I/Os in flight or jobs: one value for each visit, all positive."""

    n: int
    iops: tuple[float, ...]

    @property
    def value(self) -> float:
        """Geometric mean over visits."""
        return math.exp(fmean(math.log(x) for x in self.iops))


@dataclass(frozen=True)
class Fit:
    """One law fitted. parameters: usl (g, a, b), bounds (1 / R0, Xmax), linear (g,); rates in IOPS. aicc: smaller is
    better.
    """

    law: LawName
    parameters: tuple[float, ...]
    aicc: float

    def at(self, n: float) -> float:
        return float(_model(self.law, np.log(np.asarray(self.parameters) + 1e-300), np.asarray([float(n)]))[0])


@dataclass(frozen=True)
class Range:
    """A value with the 95% percentile interval of the bootstrap over visits; bounds are None when it could not be
    drawn.
    """

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Saturation:
    """What one line shows.

    fits:      all three laws, best first by AICc.
    near_peak: fewest in flight with 90% of the line's best throughput, between levels by interpolation on log N.
    power:     N with most throughput over latency, X / R = X^2 / N by Little's law: the knee that no range can move.
    peak:      N at which throughput turns down (sqrt((1 - a) / b) of the USL); None without a fall, or beyond 1.5 x
    the largest N.
    best:      highest throughput of the line (IOPS). last_gaining: largest measured N whose step from the level
    before still gained, a doubling
               reckoned, 25%.
    """

    levels: tuple[Level, ...]
    fits: tuple[Fit, ...]
    near_peak: Range
    power: Range
    peak: Range | None
    best: Range
    last_gaining: Range
    method: str = METHOD

    @property
    def law(self) -> Fit:
        return self.fits[0]

    @property
    def saturated(self) -> bool:
        """Whether the line bends within what was measured."""
        return self.law.law != "linear" and self.near_peak.value < self.levels[-1].n / 1.2

    @property
    def per_job(self) -> tuple[tuple[int, float], ...]:
        """(n, throughput for each of the n)."""
        return tuple((level.n, level.value / level.n) for level in self.levels)


def _model(law: LawName, logs: Any, n: Any) -> Any:
    p = np.exp(np.clip(logs, -80, 80))
    if law == "usl":
        return p[0] * n / (1 + p[1] * (n - 1) + p[2] * n * (n - 1))
    if law == "bounds":
        return np.minimum(n * p[0], p[1])
    return p[0] * n


def _fit(law: LawName, n: Any, log_x: Any, weights: Any, starts: Sequence[Sequence[float]]) -> tuple[Any, float]:
    """Parameters (as logarithms, so that they stay positive) and the weighted sum of squares, best of several
    starts.
    """

    def residuals(logs: Any) -> Any:
        return np.sqrt(weights) * (np.log(_model(law, logs, n)) - log_x)

    best, lowest = None, math.inf
    for start in starts:
        found, squares = least_squares(residuals, start)
        if squares < lowest:
            best, lowest = found, squares
    return best, lowest


def _starts(law: LawName, n: Any, log_x: Any) -> list[list[float]]:
    first = float(log_x[0] - math.log(n[0]))
    if law == "linear":
        return [[float(np.mean(log_x - np.log(n)))]]
    if law == "bounds":
        # The bend may lie at any level: a bound has no slope beyond it that could lead there.
        return [[float(np.mean(log_x[:k] - np.log(n[:k]))), float(np.mean(log_x[k:]))] for k in range(1, len(n))]
    flat = math.exp(first - float(np.max(log_x)))
    return [[first, math.log(max(flat, 1e-6)), math.log(b)] for b in (1e-7, 1e-4, 1e-2)] + [
        [first, math.log(1e-6), math.log(1e-6)]
    ]


def _aicc(sum_squares: float, count: int, parameters: int) -> float:
    """Gaussian errors on logarithms; `parameters` of the law, and one for the variance. Infinite when there are too
    few levels.
    """
    k = parameters + 1
    if count - k - 1 <= 0:
        return math.inf
    # A perfect fit of made-up data has no likelihood; a hundredth of a per cent is below any measurement.
    return count * math.log(max(sum_squares / count, 1e-8)) + 2 * k + 2 * k * (k + 1) / (count - k - 1)


def fit_laws(levels: Sequence[Level]) -> tuple[Fit, ...]:
    """All three laws, the best by AICc first. One value for each level, its geometric mean: visits of a level share
    what the law misses.
    """
    n = np.array([float(level.n) for level in levels])
    log_x = np.array([math.log(level.value) for level in levels])
    fits = []
    laws: tuple[LawName, ...] = ("linear", "bounds", "usl")
    for law in laws:
        logs, squares = _fit(law, n, log_x, np.ones(n.size), _starts(law, n, log_x))
        fits.append(Fit(law, tuple(float(v) for v in np.exp(logs)), _aicc(squares, n.size, _COUNT[law])))
    return tuple(sorted(fits, key=lambda fit: fit.aicc))


def near_peak(n: Sequence[float], x: Sequence[float], best: float | None = None) -> float:
    """Fewest in flight with NEAR of the best, log-linear between levels. best: the highest value when left out."""
    goal = NEAR * (max(x) if best is None else best)
    for index, value in enumerate(x):
        if value >= goal:
            if index == 0:
                return n[0]
            share = (goal - x[index - 1]) / (value - x[index - 1])
            return float(math.exp(math.log(n[index - 1]) + share * math.log(n[index] / n[index - 1])))
    return n[-1]


def _power(n: Sequence[float], x: Sequence[float]) -> float:
    """The level with most X / R."""
    return max(zip(n, x, strict=True), key=lambda pair: pair[1] ** 2 / pair[0])[0]


def last_gaining(n: Sequence[float], x: Sequence[float]) -> float:
    """Largest level whose step from the best smaller one still gained SCALES for a doubling."""
    last = n[0]
    for index in range(1, len(n)):
        before = max(x[:index])
        if x[index] > before and math.log(x[index] / before) / math.log(n[index] / n[index - 1]) >= math.log2(
            1 + SCALES
        ):
            last = n[index]
    return last


def _turn(fit: Fit) -> float | None:
    """N* = sqrt((1 - a) / b) of a USL fit; None when it never turns down."""
    if fit.law != "usl":
        return None
    _, a, b = fit.parameters
    return math.sqrt((1 - a) / b) if a < 1 and b > 1e-12 else None


def saturation(levels: Sequence[Level], *, seed: int = 1) -> Saturation | None:
    """The analysis of one line, or None with fewer than six levels.

    levels: distinct n, in any order. Intervals are a bootstrap over visits; withheld when too few were repeated.
    """
    usable = sorted((level for level in levels if level.iops and min(level.iops) > 0), key=lambda level: level.n)
    if len(usable) < FEWEST_LEVELS or len({level.n for level in usable}) < len(usable):
        return None
    n = [float(level.n) for level in usable]
    x = [level.value for level in usable]
    fits = fit_laws(usable)
    usl = next(fit for fit in fits if fit.law == "usl")
    turn = _turn(usl) if fits[0].law == "usl" else None
    # A turn that the data do not show is the law's opinion, not theirs.
    falls = x[-1] < 0.97 * max(x)
    peak_at = turn if turn is not None and falls and turn <= REACH * n[-1] else None
    draws = _draws(usable, seed)

    def with_interval(value: float, of: Callable[[Sequence[float], Sequence[float]], float]) -> Range:
        return Range(value, *_interval([of(n, drawn) for drawn in draws]))

    peak = Range(peak_at, *_interval(_turns(n, draws[: DRAWS // 8], usl))) if peak_at is not None else None
    return Saturation(
        tuple(usable),
        fits,
        with_interval(near_peak(n, x), near_peak),
        with_interval(_power(n, x), _power),
        peak,
        with_interval(max(x), lambda _n, drawn: max(drawn)),
        with_interval(last_gaining(n, x), last_gaining),
    )


def _draws(levels: Sequence[Level], seed: int) -> list[list[float]]:
    """Resampled level values, shape (DRAWS, levels); empty when fewer than FEWEST_LEVELS visits are more than a
    level's first.

    Two or three visits do not show how far they scatter, so their deviations (in logarithms) are drawn from all
    levels together; those of m visits from their own mean are too small by sqrt((m - 1) / m) and stretched back.
    """
    repeated = [np.log(level.iops) for level in levels if len(level.iops) > 1]
    if sum(len(logs) - 1 for logs in repeated) < FEWEST_LEVELS:
        return []
    pool = np.concatenate([(logs - logs.mean()) * math.sqrt(len(logs) / (len(logs) - 1)) for logs in repeated])
    generator = np.random.default_rng(seed)
    columns = [level.value * np.exp(generator.choice(pool, (DRAWS, len(level.iops))).mean(axis=1)) for level in levels]
    return [list(map(float, row)) for row in np.stack(columns, axis=1)]


def _turns(n: Sequence[float], draws: Sequence[Sequence[float]], usl: Fit) -> list[float]:
    """N* of the USL fitted to each draw, from the fit of the whole line on."""
    start = [list(np.log(np.asarray(usl.parameters) + 1e-12))]
    found = []
    for drawn in draws:
        logs, _ = _fit("usl", np.asarray(n), np.log(drawn), np.ones(len(n)), start)
        turn = _turn(Fit("usl", tuple(float(v) for v in np.exp(logs)), 0.0))
        if turn is not None:
            found.append(turn)
    return found


def _interval(values: Sequence[float]) -> tuple[float | None, float | None]:
    if len(values) < 20:
        return None, None
    low, high = np.percentile(values, [2.5, 97.5])
    return float(low), float(high)


# -- lines of a map, sentences -------------------------------------------------------------------------------


@dataclass(frozen=True)
class LineKey:
    """A line: what is constant along it. along: 'numjobs' or 'iodepth'."""

    target: str
    direction: str
    along: str
    cell: Cell
    """One of its cells, the smallest."""


def lines_of(
    estimates: Iterable[Estimate], visit_iops: Mapping[tuple[str, str], Sequence[float]] | None = None
) -> dict[LineKey, list[Level]]:
    """Lines along numjobs and iodepth of a map with at least six levels.

    visit_iops: {(cell key, direction): IOPS of each visit}; without it every level has its estimate as a single
    value and no interval is given. Cells limited by the client, suspect or without a value are left out: they do
    not tell of the target.
    """
    groups: dict[tuple[object, ...], list[Estimate]] = defaultdict(list)
    for e in estimates:
        if (
            e.kind != "measured"
            or not e.iops
            or e.cell.loop == "open"
            or verdict_class(e.verdict) is VerdictClass.SUSPECT
            or e.verdict in LOWER_BOUND
        ):
            continue
        for along in ("numjobs", "iodepth"):
            # The engine follows the depth where it was not asked for.
            rest = tuple(pair for pair in e.cell.options if pair[0] not in {along, "ioengine"})
            groups[e.cell.target, e.direction, along, e.cell.sharing, e.cell.state, rest].append(e)
    lines: dict[LineKey, list[Level]] = {}
    for (target, direction, axis, *_), members in groups.items():
        by_level: dict[int, Estimate] = {e.cell.integer(str(axis), 1): e for e in members}
        if len(by_level) < FEWEST_LEVELS:
            continue
        levels = []
        for value, e in sorted(by_level.items()):
            visits = tuple(x for x in (visit_iops or {}).get((e.cell.key, e.direction), ()) if x > 0)
            levels.append(Level(value, visits or (float(e.iops or 0),)))
        lines[LineKey(str(target), str(direction), str(axis), by_level[min(by_level)].cell)] = levels
    return lines


def iops_by_visit(visits: Iterable[Visit]) -> dict[tuple[str, str], list[float]]:
    """{(cell key, direction): IOPS of each visit of the sweep}, what intervals are drawn from."""
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    for visit in visits:
        if visit.purpose is Purpose.SWEEP and not visit.discarded:
            for part in visit.parts:
                found[visit.cell_key, part.direction].append(window_values(part, visit.window_start_ms).iops)
    return dict(found)


def saturation_findings(
    estimates: Sequence[Estimate], visit_iops: Mapping[tuple[str, str], Sequence[float]] | None = None, *, most: int = 2
) -> tuple[Finding, ...]:
    """Sentences on the fastest line along each axis, at most `most`, and how many other lines bend. Empty when no
    line has six levels.
    """
    measured = [e for e in estimates if e.kind == "measured"]
    lines = lines_of(measured, visit_iops)
    if not lines:
        return ()
    namer = Namer((e.cell for e in measured), sorted({e.cell.target for e in measured}))
    ranked = sorted(lines.items(), key=lambda item: -max(level.value for level in item[1]) * item[0].cell.bs_bytes)
    found: list[Finding] = []
    told: set[tuple[str, str, str]] = set()
    for key, levels in ranked:
        place = (key.target, key.direction, key.along)
        if place in told or len(found) >= most:
            continue
        told.add(place)
        line = saturation(levels)
        if line is not None:
            keys = tuple(e.cell.key for e in measured if e.direction == key.direction and _same_line(e.cell, key))
            found.append(
                Finding(
                    FindingCode.SATURATION_LAW,
                    sentence(key, line, namer),
                    keys,
                    target=key.target,
                    direction=key.direction,
                )
            )
    return tuple(found)


def _same_line(cell: Cell, key: LineKey) -> bool:
    free = {key.along, "ioengine"}
    return cell.target == key.target and {p for p in cell.options if p[0] not in free} == {
        p for p in key.cell.options if p[0] not in free
    }


def sentence(key: LineKey, line: Saturation, namer: Namer) -> str:
    """One line in words: law, bend, peak, per-job throughput, and what the losing laws scored."""
    where = namer.cell(key.cell, without=(key.along,))
    last = line.levels[-1].n
    runner = line.fits[1]
    margin = runner.aicc - line.law.aicc
    described = (
        f"Best described by {_WORDS[line.law.law]}"
        if margin >= CLEAR
        else f"Described as well by {_WORDS[line.law.law]} as by {_WORDS[runner.law]}"
    )
    scores = "; ".join(f"{_WORDS[fit.law]} {fit.aicc:.1f}" for fit in line.fits[1:])
    text = f"Along {key.along}, {key.direction}s{namer.on(key.target)} ({where}): "
    text += f"{plural(len(line.levels), 'level')} up to {last}. {described} (AICc {line.law.aicc:.1f}; {scores})."
    if line.saturated:
        text += f" 90% of the best, {format_count(line.best.value)} IOPS, is reached at {_span(line.near_peak)}."
        text += f" Most throughput for its latency: {_span(line.power)}."
    else:
        text += f" No bend within what was measured: {format_count(line.best.value)} IOPS at {last}."
    if line.peak is not None:
        text += f" It turns down at about {_span(line.peak)}."
    if key.along == "numjobs":
        first, final = line.per_job[0], line.per_job[-1]
        text += f" Each job gets {format_count(first[1])} IOPS with {plural(first[0], 'job')}, "
        text += f"{format_count(final[1])} with {final[0]}."
        text += f" A doubling of connections still gains {SCALES:.0%} or more up to {_span(line.last_gaining)}."
    if line.law.law == "bounds":
        unit = "job" if key.along == "numjobs" else "I/O in flight for each job"
        rate, top = line.law.parameters
        text += f" The bounds: {format_latency(1e9 / rate)} for each {unit}; {format_count(top)} IOPS at most."
    return text


def _span(value: Range) -> str:
    if value.low is None or value.high is None:
        return f"{value.value:.3g} (no interval: too few visits)"
    return f"{value.value:.3g} ({value.low:.3g} to {value.high:.3g})"
