# SPDX-License-Identifier: Apache-2.0
"""The verdict on one visit, from its interval series: is there a steady state, and from when on?

The classes follow Barrett et al. (2017, OOPSLA): change points divide the series, segments whose level equals the last
one's are the steady state, and what lies before it names the verdict. A verdict other than 'flat' takes both a
significant and a relevant change (10% of the level); how often it is given to series without any change is counted in
`bench/coverage`.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ioatlas.model.errors import UsageError
from ioatlas.model.verdict import Verdict, VerdictCode
from ioatlas.stats.warmup import (
    Floats,
    Noise,
    as_series,
    change_points,
    mser_cut,
    noise_around,
    trim_spikes,
    without_step,
)

METHOD = "barrett-mser5-pelt/3"
FEWEST = 20
"""Fewest intervals a verdict is given for."""
RELEVANT = 0.10
"""Smallest difference of levels, or drift across the window, that matters: SNIA's 10% slope excursion."""
AWAY = 0.15
"""Largest share of the window that a passing dip may take of a series that is flat otherwise."""
END = 0.2
"""Share at the window's end in which MSER-5 looks for no cut: too little for a level."""
START = 2
"""Most intervals at the start that are no level of their own and yet are cut: three are one."""
START_FAR = 8.0
"""Robust deviations from the level beyond which they are not noise, even where noise is lognormal."""
START_MOVES = 0.01
"""Least that such a start moves the window's mean for it to be cut."""
STALLED_SHARE = 0.10
FEWEST_IOS = 4

STEADY = frozenset({VerdictCode.FLAT, VerdictCode.WARM_UP, VerdictCode.SLOWDOWN})


@dataclass(frozen=True)
class SteadyVerdict:
    """What the interval series of one visit shows.

    label:    'flat'; 'warm-up' or 'slowdown' (a lower or a higher level up to the cut, then steady); 'drifting' (a
              trend to the end); 'bistable' (goes back and forth between two levels); 'unstable' (other changes, or
              stalls); 'too short' (no verdict).
    cut:      index of the first interval of the steady window; cut_ms: milliseconds from the visit's start to it. 0:
              nothing is cut.
    late: the cut falls in the second half: the visit has to be repeated longer before its window is trusted.
    n:        intervals judged, after those without a value were left out.
    reason:   one line with the figures the verdict rests on.
    """

    label: VerdictCode
    cut: int = 0
    cut_ms: int = 0
    late: bool = False
    n: int = 0
    reason: str = ""
    method: str = METHOD

    @property
    def steady(self) -> bool:
        """Whether the kept window may be called steady."""
        return self.label in STEADY and not self.late

    @property
    def verdict(self) -> Verdict:
        """As a visit carries it."""
        cut = self.label in (VerdictCode.WARM_UP, VerdictCode.SLOWDOWN)
        return Verdict(self.label, f"{self.cut_ms} ms" if cut else "")


def judge(
    values: Sequence[float] | Floats,
    *,
    interval_ms: float | None = None,
    end_ms: Sequence[float] | None = None,
    quantum: float | None = None,
    outstanding: int = 1,
) -> SteadyVerdict:
    """The verdict on one interval series of throughput (or IOPS), shape (n,), any unit, intervals of equal length.

    interval_ms or end_ms (shape (n,), milliseconds from the visit's start) turn the cut into time; without either
    cut_ms is the index.
    quantum: what one I/O adds to an interval's value (block size / interval length); None: found in the data.
    outstanding: I/Os kept in flight. Intervals that hold few I/Os are taken together until each group holds 4 and
             `outstanding` of them, one latency by Little's law: jobs in step complete in bursts, and neither bursts nor
             counting steps are levels.
    NaN and infinite values are left out; negative ones raise UsageError.
    """
    series = as_series(values)
    if end_ms is not None and len(end_ms) != series.size:
        raise UsageError(
            f"{series.size} interval values with {len(end_ms)} interval ends", remedy="pass one end for each interval"
        )
    usable = np.isfinite(series)
    if np.any(series[usable] < 0):
        raise UsageError("an interval has a negative throughput", remedy="check the log the series was read from")
    position = np.flatnonzero(usable)
    series = series[usable]
    n = series.size

    def finish(label: VerdictCode, reason: str, cut: int = 0) -> SteadyVerdict:
        index = int(position[cut]) if cut else 0
        if not index:
            cut_ms = 0.0
        elif end_ms is not None:
            cut_ms = float(end_ms[index - 1])
        else:
            cut_ms = index * (interval_ms or 1.0)
        return SteadyVerdict(label, index, round(cut_ms), cut > n / 2, n, reason)

    if n and not series.any():
        return finish(VerdictCode.UNSTABLE, "stalled: no I/O completed in any interval")
    if n < FEWEST:
        return finish(VerdictCode.TOO_SHORT, f"{n} intervals, a verdict takes {FEWEST}")
    step = quantum or _step_of(series) or 0.0
    together = max(FEWEST_IOS, outstanding) * step / float(series.mean())
    stalled = _stalled_share(series, outstanding * step / float(series.mean()))
    if stalled >= STALLED_SHARE:
        return finish(VerdictCode.UNSTABLE, f"stalled for {stalled:.0%} of the intervals")
    width = max(1, int(np.ceil(together)))
    merged = series[: n // width * width].reshape(-1, width).mean(axis=1)
    if merged.size < FEWEST:
        return finish(
            VerdictCode.TOO_SHORT,
            f"{merged.size} groups of {width} intervals hold enough I/Os to be compared, a verdict takes {FEWEST}",
        )
    label, reason, cut = _shape(merged, step / width)
    if label is VerdictCode.FLAT and (start := _odd_start(merged)):
        head = float(merged[:start].mean() / merged[start:].mean()) - 1
        label, cut = (VerdictCode.SLOWDOWN if head > 0 else VerdictCode.WARM_UP), start
        reason = f"{head:+.0%} in the first {start * width} intervals"
    return finish(label, reason, cut * width)


def _odd_start(series: Floats) -> int:
    """How many intervals at the start are spikes that move the mean, as the credit of a token bucket does.

    Elsewhere a spike is noise. What happens only once, when the load starts, is not of the steady state.
    """
    spikes = trim_spikes(series, START_FAR) != series
    start = int(np.argmin(spikes[: START + 1]))
    moved = abs(float(series.mean() / series[start:].mean()) - 1) if start else 0.0
    return start if moved >= START_MOVES else 0


def _stalled_share(series: Floats, latency: float) -> float:
    """Share of the intervals inside stalls: runs without any I/O, at least 3 intervals, 5 usual gaps and 3 mean
    latencies long.

    latency: in intervals, by Little's law. A run at the start is warm-up.
    """
    busy = np.flatnonzero(series > 0)
    gaps = np.diff(np.append(busy, series.size)) - 1
    usual = float(np.median(gaps)) + 1
    return float(gaps[gaps >= max(3.0, 5 * usual, 3 * latency)].sum()) / series.size


def _step_of(series: Floats) -> float | None:
    """The counting step of a series whose values are small multiples of one, or None. Constant series have none."""
    levels = np.unique(series)
    if levels.size < 2:
        return None
    gaps = np.diff(levels)
    step = float(gaps[gaps > 0.01 * levels[-1]].min(initial=np.inf))
    if not np.isfinite(step) or levels[-1] / step > 30:
        return None
    multiples = series / step
    return step if np.all(np.abs(multiples - np.round(multiples)) < 0.05) else None


def _shape(series: Floats, step: float, spare: int | None = None) -> tuple[VerdictCode, str, int]:
    """(label, reason, cut) of a series of non-negative values that are not all zero, counted in steps of `step`.

    spare: intervals at the end that are too few for a level of their own; None: END of the series.
    """
    n = series.size
    spare = int(END * n) if spare is None else spare
    mean = float(series.mean())
    quiet = trim_spikes(series)
    if np.ptp(quiet) <= 1e-9 * mean:
        return VerdictCode.FLAT, "constant", 0
    two = _two_levels(series, step)
    if two:
        return VerdictCode.BISTABLE, two, 0
    one_step, line = without_step(quiet, max(3, quiet.size // 20)), _line(quiet)
    residual = min((one_step, line), key=lambda fit: float(fit @ fit))
    dip = _best_dip(quiet)
    # A passing dip must explain clearly more than a step does, for it has one more place to choose.
    noise = noise_around(dip, 4) if dip @ dip < 0.6 * (residual @ residual) else noise_around(residual, 2)
    # Counts of whole I/Os are never known better than to half a step.
    noise = Noise(max(noise.sd, step / 2), noise.rho)
    # Few independent values make the noise itself uncertain: ask for more.
    strength = 4 * (1 + 15 / n) * (1 + 3 * (1 + noise.rho) / (1 - noise.rho) / n)
    changes = change_points(quiet, noise, strength=strength)
    trend = quiet - line
    excursion = abs(float(trend[-1] - trend[0])) / mean
    gain = float(np.sum((trend - trend.mean()) ** 2))
    trending = excursion >= RELEVANT and gain > strength * noise.long_run_variance * np.log(n)
    if not changes:
        if trending:
            return VerdictCode.DRIFTING, f"moves by {excursion:.0%} of the mean across the window", 0
        return VerdictCode.FLAT, f"no level change above {RELEVANT:.0%}", 0
    edges = [0, *changes, n]
    levels = [float(quiet[a:b].mean()) for a, b in itertools.pairwise(edges)]
    cut, tail = _tail(edges, levels, quiet)
    if cut == 0:
        return VerdictCode.FLAT, f"levels of {len(levels)} stretches within {RELEVANT:.0%}", 0
    rising = all(x < y * (1 + RELEVANT / 2) for x, y in itertools.pairwise(levels))
    falling = all(x * (1 + RELEVANT / 2) > y for x, y in itertools.pairwise(levels))
    if not rising and not falling:
        away = (
            sum(
                b - a
                for level, (a, b) in zip(levels, itertools.pairwise(edges), strict=True)
                if b <= cut and abs(level / tail - 1) > RELEVANT
            )
            / n
        )
        if away < AWAY:
            return VerdictCode.FLAT, f"away from its level for {away:.0%} of the window", 0
    before = levels[edges.index(cut) - 1]
    if n - cut <= spare and before > 0 and abs(tail / before - 1) * (n - cut) / n <= RELEVANT:
        # A dip or a surge that the window's end cuts off looks like this too, and MSER-5 cannot confirm it; it hardly
        # moves the window's mean.
        inner, reason, at = _shape(series[:cut], step, spare - (n - cut))
        return inner, f"{reason}; {tail / before - 1:+.0%} in the last {n - cut} intervals", at
    fitted = np.repeat(levels, np.diff(edges))
    independent = n * (1 - noise.rho) / (1 + noise.rho)
    # Bayesian information criterion: a line has 2 parameters, k changes have k + 1 levels and k places.
    gained = independent * np.log(float(line @ line) / max(float(np.sum((quiet - fitted) ** 2)), 1e-300))
    straight = gained <= (2 * len(changes) - 1) * np.log(n)
    if (rising or falling) and trending and (straight or (len(changes) >= 2 and cut > n / 2)):
        return VerdictCode.DRIFTING, f"moves by {excursion:.0%} of the mean across the window", 0
    if not rising and not falling:
        low, high = min(levels), max(levels)
        return (
            VerdictCode.UNSTABLE,
            f"{len(levels)} levels between {low / tail - 1:+.0%} and {high / tail - 1:+.0%} of the last",
            0,
        )
    if abs((other := mser_cut(series)) - cut) <= max(5, n // 10):
        cut = max(cut, other)
    head = float(quiet[:cut].mean())
    label = VerdictCode.WARM_UP if head < tail else VerdictCode.SLOWDOWN
    return label, f"{head / tail - 1:+.0%} before the cut", cut


def _tail(edges: list[int], levels: list[float], series: Floats) -> tuple[int, float]:
    """Start of the stretches at the end whose levels agree within RELEVANT, and their mean."""
    start = edges[-2]
    for index in range(len(levels) - 2, -1, -1):
        tail = float(series[start:].mean())
        if tail <= 0 or abs(levels[index] / tail - 1) > RELEVANT:
            break
        start = edges[index]
    return start, max(float(series[start:].mean()), 1e-300)


def _best_dip(series: Floats) -> Floats:
    """Residuals of the best fit by two levels, the second one from one place to another; places on a grid of a
    twentieth of the series.
    """
    n = series.size
    grid = np.unique(np.linspace(0, n, 21).astype(int))
    sums = np.concatenate([[0.0], np.cumsum(series - series.mean())])[grid]
    inside = sums[None, :] - sums[:, None]
    length = (grid[None, :] - grid[:, None]).astype(float)
    possible = (length >= 3) & (length <= n - 3)
    gain = np.where(possible, inside**2 / np.where(possible, length * (n - length), 1.0), -1.0)
    start, end = np.unravel_index(int(np.argmax(gain)), gain.shape)
    at = np.zeros(n, dtype=bool)
    at[grid[start] : grid[end]] = True
    residuals: Floats = series - np.where(at, series[at].mean(), series[~at].mean())
    return residuals


def _line(series: Floats) -> Floats:
    """Residuals of the least-squares line."""
    time = np.arange(series.size) - (series.size - 1) / 2
    slope = float(time @ series) / float(time @ time)
    residuals: Floats = series - series.mean() - slope * time
    return residuals


def _two_levels(series: Floats, step: float) -> str:
    """Why the series is bistable, or ''.

    The best split of the sorted values into two groups must be clean, Ashman's D = |m1 - m2| / sqrt((v1 + v2) / 2) >= 5
    (2 is bimodal by Ashman et al. 1994; the best split of normal values has 2.65, of uniform ones 3.5), each group must
    hold 15% of the values, differ by 20% and by 2.5 counting steps, and the series must go back and forth: one or two
    changes of group explain less than 92% of it.
    """
    ordered = np.sort(series)
    n = ordered.size
    k = np.arange(1, n)
    sums = np.cumsum(ordered)[:-1]
    total = float(ordered.sum())
    at = int(k[np.argmax((sums - k * total / n) ** 2 / (k * (n - k)))])
    low, high = ordered[:at], ordered[at:]
    if min(low.size, high.size) < 0.15 * n or high.mean() < max(1.2 * low.mean(), low.mean() + 2.5 * step):
        return ""
    spread = float(np.sqrt((low.var() + high.var()) / 2))
    apart = (float(high.mean()) - float(low.mean())) / spread if spread > 0 else np.inf
    in_high = series > (low[-1] + high[0]) / 2
    if apart < 5 or _misplaced(in_high) < max(3.0, 0.08 * n):
        return ""
    return (
        f"two levels, {low.mean() / high.mean():.0%} of the higher one the lower, "
        f"{np.count_nonzero(np.diff(in_high))} changes between them"
    )


def _misplaced(in_high: NDArray[np.bool_]) -> float:
    """Values on the wrong side of the best description by one stretch of one group in the other (which has two changes,
    or one at an end).
    """
    n = in_high.size
    sums = np.concatenate([[0], np.cumsum(np.where(in_high, 1, -1))])
    rise = np.max(sums - np.minimum.accumulate(sums))
    fall = np.max(np.maximum.accumulate(sums) - sums)
    return float(n - max(2 * rise - sums[-1], 2 * fall + sums[-1])) / 2
