# SPDX-License-Identifier: Apache-2.0
"""Whether a share lies below a limit, asked again after every window, with one stated risk for all the asking.

An interval for the share that holds at every look (Robbins 1970; Howard, Ramdas, McAuliffe and Sekhon 2021): all values
whose likelihood is within the risk of the mean likelihood of a beta mixture. It is made for independent draws. What
happens within a window, and from one to the next, is not independent: so draws are counted as what they are worth, by
the variance of the windows against that of draws (Kish 1965), and of what a few windows say of that variance the upper
end is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log

import numpy as np

from ioatlas.stats.warmup import Floats

METHOD = "beta-mixture-sequence/1"
RISK = 0.0025
"""Of an interval that ever leaves its share out."""
FEWEST = 6
"""Windows before anything is said: the variance is that of windows."""
MOST_WORTH = 1e9
"""Draws that windows without a difference are worth."""
NEXT_TO_NONE = 0.001
"""Of windows that lie on the other side of a limit than next to all."""
LONG_MEMORY = 0.95
"""Of each window in the next, at most: what follows more than that is no series that a mean tells of."""
_STEPS = 60


def interval(share: float, worth: float, centre: float) -> tuple[float, float]:
    """The interval of a share that `worth` draws gave. centre: where the mixture has its mean, a value that is asked
    about: there the interval is sharpest.
    """
    from scipy.special import betaln, xlog1py, xlogy

    hits, misses = share * worth, (1 - share) * worth
    a, b = 0.5, 0.5 * (1 - centre) / centre
    enough = float(betaln(hits + a, misses + b) - betaln(a, b)) + log(RISK)

    def edge(end: float) -> float:
        inside = share
        for _ in range(_STEPS):
            middle = (inside + end) / 2
            if float(xlogy(hits, middle) + xlog1py(misses, -middle)) < enough:
                end = middle
            else:
                inside = middle
        return end

    return edge(0.0), edge(1.0)


def worth(shares: Sequence[float], weights: Sequence[float]) -> float:
    """Draws that windows are worth together: as many as would give a share with the variance of theirs.

    weights: what each window counts. Windows that do not differ are worth MOST_WORTH, whatever their number: a caller
    that knows how many draws they hold takes the smaller.
    """
    x, w = np.asarray(shares, float), np.asarray(weights, float)
    mean = float((w * x).sum() / w.sum())
    if x.size < 2 or not 0 < mean < 1:
        return MOST_WORTH
    square, count = _spread(w * (x - mean))
    variance = square * x.size**2 / float(w.sum()) ** 2 / count
    return mean * (1 - mean) / variance if variance else MOST_WORTH


def apart(levels: Sequence[float], limit: float) -> int:
    """-1 where next to all windows lie below a limit, 1 where above, 0 where that cannot be told. levels: on a scale on
    which they are about normal.
    """
    from scipy.special import ndtri

    x = np.asarray(levels, float)
    if x.size < 2:
        return 0
    square, count = _spread(x - x.mean())
    reach = float(ndtri(1 - NEXT_TO_NONE) - ndtri(RISK) / count**0.5) * square**0.5
    return -1 if x.mean() + reach < limit else 1 if x.mean() - reach > limit else 0


def _spread(off: Floats) -> tuple[float, float]:
    """The variance of windows, the upper end of what they tell of it, and how many independent ones they are worth.
    off: each from their mean.
    """
    from scipy.special import chdtri

    square, count = float((off * off).sum()), off.size
    follow = float((off[1:] * off[:-1]).sum()) / square if square else 0.0
    # A series of few windows shows less following than there is (Kendall 1954).
    follow = min(LONG_MEMORY, max(0.0, follow + (1 + 3 * follow) / count))
    independent = count * (1 - follow) / (1 + follow)
    dof = max(1.0, independent - 1)
    return square / (count - 1) * dof / float(chdtri(dof, 1 - RISK)), independent
