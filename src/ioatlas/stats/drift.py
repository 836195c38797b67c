# SPDX-License-Identifier: Apache-2.0
"""Drift over a campaign: block effects, the control chart of the sentinel cells, and the test that voids a block.

Everything works on natural logarithms: an effect of -0.10 is a level 10% lower, whatever the cell.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import exp, expm1, sqrt
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ioatlas.errors import UsageError
from ioatlas.stats.warmup import Floats, change_points, noise_around

Codes = NDArray[np.intp]
T = TypeVar("T", bound=Hashable)

FIT_METHOD = "two-way-huber/1"
CHART_METHOD = "ewma/1"
SHIFT_METHOD = "block-shift/1"

RELEVANT_SHIFT = 0.15
"""A block is voided for nothing less than a 15% change of level: smaller ones are what the fitted block effect is for."""
DISCARDED_SHARE = 0.05

_HUBER = 1.5


@dataclass(frozen=True)
class BlockFit:
    """Additive model ln(value) = cell + block, fitted so that single wild visits count less.

    effects, errors: by block, logarithms and their standard errors; effects are relative to the mean over visits.
    levels: by cell, logarithm of the value with block effects taken out. residual_sd: of one visit, degrees of freedom accounted for.
    residuals: shape (n,), in the order of the input.
    """

    effects: dict[int, float]
    errors: dict[int, float]
    levels: dict[Hashable, float]
    residual_sd: float
    residuals: Floats
    method: str = FIT_METHOD


def fit_blocks(cells: Sequence[Hashable], blocks: Sequence[int], values: Sequence[float]) -> BlockFit:
    """Fit cell levels and block effects to visits; all three have the same length, values are positive, NaN is refused.

    Huber's M-estimate (k = 1.5) by iteratively reweighted means (Huber and Ronchetti 2009, section 7.8). A cell visited once tells nothing of
    blocks. Blocks that share no cell with the others cannot be compared with them and raise UsageError.
    """
    if not len(cells) == len(blocks) == len(values) or not len(values):
        raise UsageError("cells, blocks and values of a block fit differ in length or are empty", remedy="pass one of each for every visit")
    array = np.asarray(values, dtype=float)
    if not np.all(np.isfinite(array) & (array > 0)):
        raise UsageError("a block fit takes positive values", remedy="leave visits that measured zero or nothing out")
    logs = np.log(array)
    cell_names, cell = _codes(cells)
    block_names, block = _codes(blocks)
    _need_connected(cell, block, len(block_names))
    weights = np.ones(logs.size)
    level: Floats = np.zeros(len(cell_names))
    effect: Floats = np.zeros(len(block_names))
    dof = max(1, logs.size - len(cell_names) - len(block_names) + 1)
    # Residuals of k visits of one cell are smaller than the noise by sqrt((k - 1) / k) and more; the median is raised for it.
    shrink = sqrt(dof / logs.size)
    residuals: Floats = logs
    for _ in range(200):
        before = effect.copy()
        level = _means(cell, weights, logs - effect[block], len(cell_names))
        effect = _means(block, weights, logs - level[cell], len(block_names))
        effect -= float(np.average(effect[block]))
        residuals = logs - level[cell] - effect[block]
        scale = 1.4826 * float(np.median(np.abs(residuals))) / shrink
        if scale > 0:
            weights = np.minimum(1.0, _HUBER * scale / np.maximum(np.abs(residuals), 1e-12))
        if np.max(np.abs(effect - before)) < 1e-7:
            break
    sd = sqrt(float(np.sum(weights * residuals**2)) / dof)
    seen = np.array([np.sum(weights[block == index]) for index in range(len(block_names))])
    return BlockFit(
        {name: float(effect[index]) for index, name in enumerate(block_names)},
        {name: sd / sqrt(float(seen[index])) for index, name in enumerate(block_names)},
        {name: float(level[index]) for index, name in enumerate(cell_names)},
        sd,
        residuals,
    )


def _codes(names: Sequence[T]) -> tuple[list[T], Codes]:
    order = list(dict.fromkeys(names))
    index = {name: i for i, name in enumerate(order)}
    return order, np.array([index[name] for name in names], dtype=np.intp)


def _means(group: Codes, weights: Floats, values: Floats, count: int) -> Floats:
    total: Floats = np.bincount(group, weights * values, count) / np.bincount(group, weights, count)
    return total


def _need_connected(cell: Codes, block: Codes, blocks: int) -> None:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    cells = int(cell.max()) + 1
    graph = coo_array((np.ones(cell.size), (cell, block + cells)), shape=(cells + blocks, cells + blocks))
    parts, label = connected_components(graph, directed=False)
    if parts > 1 and len(set(label[cells:])) > 1:
        raise UsageError("blocks without a common cell cannot be compared", remedy="put the sentinel cells into every block")


@dataclass(frozen=True)
class Chart:
    """Control chart. centre, sd: logarithms; statistic, limit: shape (n,) each; signals: indices where |statistic - centre| > limit."""

    centre: float
    sd: float
    statistic: Floats
    limit: Floats
    signals: tuple[int, ...]
    method: str = CHART_METHOD


def control_chart(
    values: Sequence[float], *, sd: float | None = None, baseline: int | None = None, weight: float = 0.3, width: float = 3.0
) -> Chart:
    """EWMA chart of sentinel readings, positive values in the order of time (several sentinels: divide each by its own level first).

    z_i = weight ln(x_i) + (1 - weight) z_(i-1); limits centre +- width sd sqrt(weight / (2 - weight) (1 - (1 - weight)^(2 i)) + 1 / baseline) (Lucas and
    Saccucci 1990, Technometrics 32(1); the last term is the uncertainty of the centre). sd: of one reading's logarithm where known (residual_sd of the
    block fit); else from the median moving range of the baseline. baseline: first readings the centre comes from; default all.
    Weight 0.3 and width 3: a false signal about every 465 readings; a shift of 2 sd is signalled after about 4.
    """
    array = np.asarray(values, dtype=float)
    if array.ndim != 1 or not np.all(np.isfinite(array) & (array > 0)):
        raise UsageError("a control chart takes positive values", remedy="leave visits that measured zero or nothing out")
    logs = np.log(array)
    first = logs[: baseline or logs.size]
    if first.size < 2:
        return Chart(float(logs.mean()) if logs.size else 0.0, sd or 0.0, logs, np.full(logs.size, np.inf), ())
    centre = float(np.median(first))
    if sd is None:
        # Median of |x_i - x_(i-1)| of normal values is 0.954 sd.
        sd = float(np.median(np.abs(np.diff(first)))) / 0.954
    statistic = np.empty(logs.size)
    last = centre
    for index, value in enumerate(logs):
        last = weight * value + (1 - weight) * last
        statistic[index] = last
    steps = np.arange(1, logs.size + 1)
    limit = width * sd * np.sqrt(weight / (2 - weight) * (1 - (1 - weight) ** (2 * steps)) + 1 / first.size)
    signals = tuple(int(i) for i in np.flatnonzero(np.abs(statistic - centre) > limit))
    return Chart(centre, sd, statistic, limit, signals)


def block_shift(fit: BlockFit, block: int, *, relevant: float = RELEVANT_SHIFT, width: float = 4.0) -> str:
    """Why the block's level is out of line with the other blocks, or ''. Needs three blocks: of two nobody knows which one moved.

    Both are asked for: a difference from the median of the other blocks above `relevant`, and above `width` times its standard error, to which the
    usual spread of the blocks (1.4826 x median absolute deviation) belongs.
    """
    others = [effect for name, effect in fit.effects.items() if name != block]
    if len(others) < 2 or block not in fit.effects:
        return ""
    centre = float(np.median(others))
    usual = 1.4826 * float(np.median(np.abs(np.array(others) - centre))) if len(others) >= 3 else 0.0
    difference = fit.effects[block] - centre
    if abs(expm1(difference)) < relevant or abs(difference) < width * sqrt(fit.errors[block] ** 2 + usual**2):
        return ""
    return f"block {block}: level {expm1(difference):+.0%} against the other blocks"


def shift_within(residuals: Sequence[float] | Floats, *, relevant: float = RELEVANT_SHIFT) -> tuple[int, str] | None:
    """(index, reason) of a change of level inside a block, from its visits' log residuals in the order of time; None when there is none."""
    series = np.asarray(residuals, dtype=float)
    n = series.size
    if n < 12:
        return None
    k = np.arange(3, n - 2)
    sums = np.cumsum(series - series.mean())[k - 1]
    at = int(k[np.argmax(sums**2 / (k * (n - k)))])
    rest = np.concatenate([series[:at] - series[:at].mean(), series[at:] - series[at:].mean()])
    changes = change_points(series, noise_around(rest, 2), strength=4 * (1 + 15 / n))
    if not changes:
        return None
    first = changes[0]
    step = float(series[first:].mean() - series[:first].mean())
    if abs(exp(step) - 1) < relevant:
        return None
    return first, f"level {expm1(step):+.0%} from visit {first + 1} of the block on"


def void_reasons(
    fit: BlockFit, block: int, *, n_visits: int, n_discarded: int, chart: Chart | None = None, in_block: Sequence[int] = ()
) -> tuple[str, ...]:
    """All reasons to void a block and to run it again; empty when it stands.

    n_visits, n_discarded: windows of the block in all, and thrown away by gates. chart: of the sentinels, `in_block`: indices of its readings that
    belong to this block; it takes two signals, so that one wild reading does not cost a block.
    """
    reasons = []
    if n_visits and n_discarded / n_visits > DISCARDED_SHARE and n_discarded > 1:
        reasons.append(f"block {block}: {n_discarded} of {n_visits} windows discarded, limit {DISCARDED_SHARE:.0%}")
    shifted = block_shift(fit, block)
    if shifted:
        reasons.append(shifted)
    if chart is not None:
        inside = [i for i in in_block if i in chart.signals]
        far = [i for i in inside if abs(expm1(float(chart.statistic[i]) - chart.centre)) >= RELEVANT_SHIFT / 2]
        if len(far) >= 2:
            level = expm1(float(chart.statistic[far[-1]]) - chart.centre)
            reasons.append(f"block {block}: sentinels {level:+.0%} from their level")
    return tuple(reasons)
