# SPDX-License-Identifier: Apache-2.0
"""Claims against what a campaign measured: the same direction, another one, or undecided. Never by eye.

Values are visits, as logarithms. Ratios are geometric means over all loads that both sides have. The variance of a
visit is the load's own, shrunk to that of all loads of its configuration and what is seen within visits, as in a map
(Smyth 2004), or pooled where there are few loads. All claims of a study are decided together at 95%, so that one in
twenty studies has a wrong answer by chance: each has its share of the 5%, and what is decided leaves its share to the
others (Holm 1979; with directions Shaffer 1980, Annals of Statistics 8(6)).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, inf, log, sqrt
from typing import Literal

import numpy as np

from bench.studies.study import Claim, Place, Value
from ioatlas.stats.distributions import t_quantile
from ioatlas.stats.intervals import PooledVariance, pool_variance

Outcome = Literal["same", "differs", "undecided", "new", "not measured"]
LEVEL = 0.05
MOST_NAMED = 3
FEWEST_LOADS = 12
"""With visits that differ, before they are held against what is seen within them."""


@dataclass(frozen=True)
class Measured:
    """One load of one configuration in one direction.

    place: its options and factors by name, with `direction`. values: one a visit, by quantity. limit: what was named to
    limit it, '' where that was withheld. truth: what is known of its lab target. within: variance of a visit's
    logarithm by what is seen inside it.
    """

    configuration: str
    place: Mapping[str, Value]
    values: Mapping[str, tuple[float, ...]]
    limit: str = ""
    truth: Mapping[str, float] | None = None
    within: float = 0.0


@dataclass(frozen=True)
class Ratio:
    """name: what is held against what, where there are several. pairs: loads that both have."""

    value: float
    low: float
    high: float
    pairs: int
    name: str = ""


@dataclass(frozen=True)
class Checked:
    """A claim and what came out. ratios: with intervals that hold together. told: a sentence without them, or why there
    are none. first, second: typical values of both sides, in the unit of the quantity. limits: named on each side.
    """

    claim: Claim
    outcome: Outcome
    ratios: tuple[Ratio, ...] = ()
    told: str = ""
    first: float | None = None
    second: float | None = None
    limits: tuple[str, ...] = ()


def check_claims(claims: Sequence[Claim], measured: Sequence[Measured]) -> list[Checked]:
    """Every claim, in order."""
    measured = _as_seen(measured)
    pools = {quantity: _Pools.of(measured, quantity) for quantity in dict.fromkeys(claim.quantity for claim in claims)}
    found: dict[int, Checked] = {}
    decided: set[int] = set()
    while True:
        waiting = [number for number in range(len(claims)) if number not in decided]
        level = LEVEL / max(1, sum(_comparisons(claims[number]) for number in waiting))
        for number in waiting:
            claim = claims[number]
            found[number] = _check(claim, measured, pools[claim.quantity], level)
        now = {number for number in waiting if found[number].outcome in ("same", "differs")}
        if not now:
            return [found[number] for number in range(len(claims))]
        decided |= now


def _as_seen(measured: Sequence[Measured]) -> Sequence[Measured]:
    """What is seen within visits, as much less in all loads as visits are typically seen to differ less than it says:
    the parts of a visit whose I/Os complete in step differ more than such visits do.
    """
    shares = []
    for one in measured:
        if len(logs := _logs(one, "bw")) > 1 and one.within:
            dof = len(logs) - 1  # of chi-square the median over these is about (1 - 2 / 9 dof)^3
            shares.append(float(np.var(logs, ddof=1)) / one.within / (1 - 2 / (9 * dof)) ** 3)
    share = min(1.0, float(np.median(shares))) if len(shares) >= FEWEST_LOADS else 1.0
    return [replace(one, within=share * one.within) for one in measured]


def _comparisons(claim: Claim) -> int:
    return 0 if claim.kind == "limit" else len(_rivals(claim)) if claim.kind == "best" else 1


def _check(claim: Claim, measured: Sequence[Measured], pool: _Pools, level: float) -> Checked:
    mine = [one for one in measured if _inside(one, claim.of)]
    if not mine:
        return Checked(claim, "not measured", told="no load of it was measured")
    match claim.kind:
        case "limit":
            return _check_limit(claim, mine)
        case "ceiling":
            return _check_ceiling(claim, mine, pool, level)
        case "spread":
            return _check_spread(claim, mine, measured, level)
        case "best":
            rivals = _rivals(claim)
        case "ratio":
            rivals = {"": claim.over}
    found = []
    others: list[Measured] = []
    for name, over in rivals.items():
        pairs = _pairs(claim.of, over, mine, measured)
        others += [other for _, other in pairs]
        ratio = _ratio(pairs, claim.quantity, pool, level, name)
        if ratio is None:
            return Checked(claim, "not measured", told=_why_none(pairs, name))
        found.append(ratio)
    first = _typical(mine, claim.quantity)
    second = _typical(others, claim.quantity)
    outcome = _together([_outcome(claim, ratio.low, ratio.high) for ratio in found])
    return Checked(claim, outcome, tuple(found), "", first, second, (_limits(mine), _limits(others)))


def _why_none(pairs: Sequence[object], name: str) -> str:
    against = f" with {name}" if name else ""
    return f"too few visits{against}" if pairs else f"no load in common{against}"


def _rivals(claim: Claim) -> dict[str, Place]:
    """Of a best one what it is held against, one at a time: each value of the one list in `over`."""
    name, values = next((name, values) for name, values in claim.over.items() if isinstance(values, list))
    return {str(value): {**claim.over, name: value} for value in values}


def _inside(one: Measured, place: Place) -> bool:
    return all(
        name in one.place and (one.place[name] in value if isinstance(value, list) else one.place[name] == value)
        for name, value in place.items()
    )


def _pairs(
    of: Place, over: Place, mine: Sequence[Measured], measured: Sequence[Measured]
) -> list[tuple[Measured, Measured]]:
    """Loads of both sides that differ in nothing but what `over` names."""
    theirs = {
        _rest(one, over): one
        for one in measured
        if _inside(one, {name: value for name, value in of.items() if name not in over} | over)
    }
    return [(one, theirs[key]) for one in mine if (key := _rest(one, over)) in theirs]


def _rest(one: Measured, over: Place) -> frozenset[tuple[str, Value]]:
    return frozenset((name, value) for name, value in one.place.items() if name not in over)


# -- noise -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Noise:
    """Of the loads of a configuration, or of all; `pool` where they are enough, else their plain mean with its degrees
    of freedom.
    """

    pool: PooledVariance | None
    variance: float
    dof: float

    def of(self, one: Measured, quantity: str) -> tuple[float, float]:
        """(variance of the mean of a load's visits, degrees of freedom)."""
        logs = _logs(one, quantity)
        variance, dof = self.variance, self.dof
        if self.pool is not None:
            own = float(np.var(logs, ddof=1)) if len(logs) > 1 else 0.0
            variance, dof = self.pool.beside(one.within).with_own(own, len(logs))
        return variance / len(logs), dof


@dataclass(frozen=True)
class _Pools:
    """What the loads of each configuration say about noise, as the cells of a target do in a map; where they are too
    few, all loads.
    """

    whole: _Noise
    each: Mapping[str, _Noise]

    @classmethod
    def of(cls, measured: Sequence[Measured], quantity: str) -> _Pools:
        names = {one.configuration for one in measured}
        each = {name: _pool((one for one in measured if one.configuration == name), quantity) for name in names}
        return cls(_pool(measured, quantity), each)

    def noise(self, one: Measured) -> _Noise:
        mine = self.each[one.configuration]
        return self.whole if mine.pool is None else mine


def _pool(measured: Iterable[Measured], quantity: str) -> _Noise:
    able = [one for one in measured if len(_logs(one, quantity)) > 1]
    groups = [np.array(_logs(one, quantity)) for one in able]
    each = np.array([len(group) - 1 for group in groups])
    variances, whole = np.array([float(group.var(ddof=1)) for group in groups]), int(each.sum())
    plain = float(variances @ each) / whole if whole else 0.0
    # Where they differ by load, few make most of the sum, which is known no better than these (Satterthwaite).
    squares = float(variances**2 @ each) if whole else 0.0
    dof = (whole * plain) ** 2 / squares if squares else whole
    pool = pool_variance([one.values[quantity] for one in able], [one.within for one in able])
    return _Noise(pool, plain, dof)


def _logs(one: Measured, quantity: str) -> list[float]:
    return [log(value) for value in one.values.get(quantity, ()) if value > 0]


def _ratio(
    pairs: Sequence[tuple[Measured, Measured]], quantity: str, pools: _Pools, level: float, name: str
) -> Ratio | None:
    """Geometric mean over the pairs with Welch's interval; None where there is none, or no two visits of one load."""
    both = [pair for pair in pairs if all(_logs(one, quantity) for one in pair)]
    if not both or (pools.whole.pool is None and not pools.whole.dof):
        return None
    means = [[float(np.mean(_logs(one, quantity))) for one in pair] for pair in both]
    difference = float(np.mean([first - second for first, second in means]))
    parts = [pools.noise(one).of(one, quantity) for pair in both for one in pair]
    shares = [(variance / len(both) ** 2, dof) for variance, dof in parts]
    low, high = _bounds(difference, shares, level, shared=pools.whole.pool is None)
    return Ratio(exp(difference), exp(low), exp(high), len(both), name)


def _bounds(middle: float, shares: Sequence[tuple[float, float]], level: float, *, shared: bool) -> tuple[float, float]:
    """The interval of a sum with these variances and degrees of freedom (Welch and Satterthwaite).

    shared: they are one and the same variance, whose degrees of freedom do not add up.
    """
    total = sum(variance for variance, _ in shares)
    below = sum(variance**2 / dof for variance, dof in shares if dof < inf)
    dof = shares[0][1] if shared else total**2 / below if below > 0 else inf
    half = t_quantile(1 - level / 2, dof) * sqrt(total)
    return middle - half, middle + half


# -- outcomes --------------------------------------------------------------------------------------------------


def _outcome(claim: Claim, low: float, high: float) -> Outcome:
    """What an interval of a ratio says of what was expected."""
    up, down = 1 + claim.tolerance, 1 / (1 + claim.tolerance)
    match claim.expected:
        case "":
            return "new"
        case "higher":
            return "same" if low >= up else "differs" if high < up else "undecided"
        case "lower":
            return "same" if high <= down else "differs" if low > down else "undecided"
        case _:
            inside, outside = low >= down and high <= up, low > up or high < down
            return "same" if inside else "differs" if outside else "undecided"


def _together(outcomes: Sequence[Outcome]) -> Outcome:
    """All have to be so; one that is otherwise makes it otherwise."""
    return next((one for one in ("differs", "undecided") if one in outcomes), outcomes[0])


def _check_ceiling(claim: Claim, mine: Sequence[Measured], pools: _Pools, level: float) -> Checked:
    """The fastest load against what is known of its lab target."""
    known = [one for one in mine if one.truth and claim.truth in one.truth and _logs(one, claim.quantity)]
    if not known or (pools.whole.pool is None and not pools.whole.dof):
        return Checked(claim, "not measured", told="too few visits, or no limit is known of its lab target")
    best = max(known, key=lambda one: float(np.mean(_logs(one, claim.quantity))))
    logs = _logs(best, claim.quantity)
    truth = (best.truth or {})[claim.truth]
    low, high = _bounds(
        float(np.mean(logs)) - log(truth), [pools.noise(best).of(best, claim.quantity)], level, shared=True
    )
    ratio = Ratio(exp(float(np.mean(logs))) / truth, exp(low), exp(high), 1)
    value = exp(float(np.mean(logs)))
    return Checked(claim, _outcome(claim, ratio.low, ratio.high), (ratio,), "", value, truth, (_limits([best]),))


def _check_spread(claim: Claim, mine: Sequence[Measured], measured: Sequence[Measured], level: float) -> Checked:
    """Standard deviation of repeats on logarithms, against that of the others; the interval is that of F."""
    from scipy.special import fdtri

    place = {name: value for name, value in claim.of.items() if name not in claim.over} | claim.over
    theirs = [one for one in measured if _inside(one, place) and one not in mine]
    one, other = (_pool(side, claim.quantity) for side in (mine, theirs))
    if not one.dof or not other.dof or one.variance <= 0 or other.variance <= 0:
        return Checked(claim, "not measured", told="too few repeats to tell how they spread")
    ratio = one.variance / other.variance
    low, high = (ratio / float(fdtri(one.dof, other.dof, p)) for p in (1 - level / 2, level / 2))
    found = Ratio(sqrt(ratio), sqrt(low), sqrt(high), len(mine))
    outcome = _outcome(claim, found.low, found.high)
    return Checked(claim, outcome, (found,), "", sqrt(one.variance), sqrt(other.variance))


def _check_limit(claim: Claim, mine: Sequence[Measured]) -> Checked:
    """What was named: all of those that name one have to name it."""
    named = [one.limit for one in mine if one.limit]
    told = _limits(mine) or "withheld"
    if not named:
        return Checked(claim, "undecided", told=f"withheld in all {len(mine)} loads", limits=(told,))
    right = sum(claim.expected in one for one in named)
    outcome: Outcome = "same" if right == len(named) else "differs" if not right else "undecided"
    withheld = f"; withheld in {len(mine) - len(named)}" if len(named) < len(mine) else ""
    return Checked(claim, outcome, told=f"{told}{withheld}", limits=(told,))


def _limits(side: Sequence[Measured]) -> str:
    """'link 3, drive bandwidth 1'; '' where nothing was named."""
    named = [one.limit for one in side if one.limit]
    counted = sorted({name: named.count(name) for name in named}.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{name} {count}" for name, count in counted[:MOST_NAMED])


def _typical(side: Sequence[Measured], quantity: str) -> float | None:
    """Geometric mean over loads."""
    means = [float(np.mean(logs)) for one in side if (logs := _logs(one, quantity))]
    return exp(float(np.mean(means))) if means else None
