# SPDX-License-Identifier: Apache-2.0
"""Tails of Student's t, F and the normal distribution, of numbers and of arrays, and quantiles of t.

To 1e-11 of what is asked for, however small it is. DLMF: NIST Digital Library of Mathematical Functions.
"""

from __future__ import annotations

import math
from functools import cache
from math import erfc, exp, inf, lgamma, log, pi, sqrt
from statistics import NormalDist
from typing import Any

import numpy as np

Z95 = 1.96
"""Standard errors to either side of a 95% interval."""
NEWTON_STEPS = 50
"""At most: ten are many."""
_FARTHEST = 1e150
"""Of t: its square is a number yet."""

normal_tail = np.vectorize(lambda x: erfc(x / sqrt(2)) / 2, otypes=[float])
"""P(Z > x) of the standard normal distribution."""
log_gamma = np.vectorize(lgamma, otypes=[float])


def t_tail(t: Any, dof: float) -> Any:
    """P(T > t) of Student's t; of the normal distribution for infinitely many degrees of freedom."""
    if dof == inf:
        return normal_tail(t)
    tail = t_beyond(abs(t), dof)[0]
    return _where(t > 0, tail, 1 - tail)


def t_beyond(t: Any, dof: float) -> tuple[Any, Any]:
    """(P(T > t), t times the density there) of Student's t at t >= 0."""
    square = _where(t > _FARTHEST, _FARTHEST, t) ** 2
    both, weight = _beta(dof / 2, 0.5, dof / (dof + square), square / (dof + square))
    return both / 2, weight


@cache
def t_quantile(probability: float, dof: float) -> float:
    """Student's t quantile; the normal one for infinitely many degrees of freedom.

    By Newton's steps on the logarithm of the tail over that of t: it is concave, so that none passes the root but the
    first, and nearly straight far out.
    """
    if probability > 0.5:
        return -t_quantile(1 - probability, dof)
    t = -NormalDist().inv_cdf(probability)
    for _ in range(NEWTON_STEPS if dof < inf and t else 0):
        tail, slope = t_beyond(t, dof)
        step = log(tail / probability) * tail / slope
        t *= exp(step)
        if abs(step) < 1e-8:  # the next is its square
            break
    return -t


def f_tail(upper: Any, lower: Any, x: Any) -> Any:
    """P(F > x), x >= 0, of F with so many degrees of freedom above and below the line."""
    whole = lower + upper * x
    return _beta(lower / 2, upper / 2, lower / whole, upper * x / whole)[0]


def beta_below(a: Any, b: Any, x: Any) -> Any:
    """The regularised incomplete beta function I_x(a, b) of a, b > 0."""
    return _beta(a, b, x, 1 - x)[0]


def _beta(a: Any, b: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """(I_x(a, b), x^a y^b / B(a, b)), y = 1 - x with the digits that it has: the continued fraction of DiDonato and
    Morris (1992, ACM TOMS 18(3)), the even part of DLMF 8.17.22, from its end. It takes the more terms the closer x is
    to 1, but no more than the root of a or b asks for.
    """
    n = a + b
    turned = x * (n + 2) > a + 1
    rest = _beyond_stirling(n) - _beyond_stirling(a) - _beyond_stirling(b)
    a, b, x, y = (_where(turned, *pair) for pair in ((b, a), (a, b), (y, x), (x, y)))
    off, library = _where(x < y, x - a / n, b / n - y), _library(x)
    power = rest + a * _log_ratio(x, a / n, off) + b * _log_ratio(y, b / n, -off)
    weight = library.sqrt(a * b / (2 * pi * n)) * library.exp(power)
    terms = 5 + 8 / library.sqrt(_where(y > 1 / 64, y, 1 / 64)) + 2 * library.sqrt(_where(a < b, a, b))
    m = np.arange(int(np.max(terms)), 0, -1.0).reshape(-1, *(1,) * np.ndim(x))
    most, share = a * y - b * x + 1, x / (a + 2 * m - 1)
    gain = m * (b - m) * share
    upper = gain * share * (a + m - 1) * (n + m - 1)
    lower = m + gain + (a + m) * (most + m * (1 + y)) / (a + 2 * m + 1)
    fraction = 0.0
    for above, below in zip(upper, lower, strict=True):
        fraction = above / (below + fraction)
    part = weight / (a * most / (a + 1) + fraction)
    return _where(turned, 1 - part, part), weight


def _log_ratio(x: Any, mean: Any, off: Any) -> Any:
    """Logarithm of x / mean, off = x - mean with the digits that it has."""
    near, library = abs(off) < mean / 2, _library(x)
    return _where(near, library.log1p(_where(near, off, 0.0) / mean), library.log((x + 1e-300) / mean))


def _beyond_stirling(x: Any) -> Any:
    """What Stirling's formula leaves out: DLMF 5.11.1, from x + 8 on, where five of its terms are enough."""
    each = np.add.outer(np.arange(8.0), x)
    total, s = ((each + 0.5) * np.log1p(1 / each) - 1).sum(axis=0), 1 / (x + 8) ** 2
    return total + (1 / 12 - s * (1 / 360 - s * (1 / 1260 - s * (1 / 1680 - s / 1188)))) / (x + 8)


def _library(x: Any) -> Any:
    """Of functions: numpy's take most of the time where x is one number."""
    return np if isinstance(x, np.ndarray) else math


def _where(condition: Any, one: Any, other: Any) -> Any:
    return np.where(condition, one, other) if isinstance(condition, np.ndarray) else one if condition else other
