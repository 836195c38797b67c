# SPDX-License-Identifier: Apache-2.0
"""Whether a target's speed depends on what the data look like: compressible or repeated data are faster where the
target reduces them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

from ioatlas.model.estimate import Estimate
from ioatlas.model.finding import Finding, FindingCode, Value, common
from ioatlas.model.verdict import LOWER_BOUND, VerdictClass, verdict_class

RELEVANT = 1.10
LATENCY_RELEVANT = 1.05
FEWEST_SHARE = 0.10
EVIDENCE = 20

_OPTIONS = ("buffer_compress_percentage", "dedupe_percentage")


@dataclass(frozen=True)
class Pair:
    """One load with the least and the most reducible data. ratio: of their throughput."""

    least: Estimate
    most: Estimate
    ratio: float

    @property
    def differs(self) -> bool:
        """Faster beyond both intervals, and not only because the client makes such data faster: fio's latency
        leaves that out.
        """
        least, most = self.least, self.most
        if self.ratio < RELEVANT or (most.bw_low or 0.0) <= (least.bw_high or 0.0):
            return False
        return bool(least.lat_mean_ns and most.lat_mean_ns and least.lat_mean_ns >= LATENCY_RELEVANT * most.lat_mean_ns)


def reduction_findings(estimates: Iterable[Estimate]) -> tuple[Finding, ...]:
    """For each target and each of compressibility and repetition that was swept: whether the rate depends on it."""
    measured = [e for e in estimates if e.kind == "measured" and e.bw_bytes_per_s and _usable(e)]
    return tuple(
        _finding(target, option, pairs)
        for option in _OPTIONS
        for target, pairs in _pairs(measured, option).items()
        if pairs
    )


def _usable(estimate: Estimate) -> bool:
    return verdict_class(estimate.verdict) is not VerdictClass.SUSPECT and estimate.verdict not in LOWER_BOUND


def _pairs(estimates: Iterable[Estimate], option: str) -> dict[str, list[Pair]]:
    groups: dict[tuple[object, ...], dict[float, Estimate]] = {}
    for estimate in estimates:
        cell = estimate.cell
        if option in cell.option:
            rest = tuple((name, value) for name, value in cell.options if name != option)
            groups.setdefault((cell.target, rest, cell.sharing, cell.state, estimate.direction), {})[
                float(cell.option[option])
            ] = estimate
    pairs: dict[str, list[Pair]] = {}
    for (target, *_), levels in groups.items():
        if len(levels) > 1:
            least, most = levels[min(levels)], levels[max(levels)]
            if least.bw_high is None or most.bw_low is None:
                continue
            pairs.setdefault(str(target), []).append(
                Pair(least, most, (most.bw_bytes_per_s or 0.0) / (least.bw_bytes_per_s or 1.0))
            )
    return pairs


def _finding(target: str, option: str, pairs: list[Pair]) -> Finding:
    changed = sorted((pair for pair in pairs if pair.differs), key=lambda pair: -pair.ratio)
    reduces = len(changed) >= max(1.0, FEWEST_SHARE * len(pairs))
    values: dict[str, Value] = {
        "option": option,
        "least_percent": int(pairs[0].least.cell.option[option]),
        "most_percent": int(pairs[0].most.cell.option[option]),
        "n_loads": len(pairs),
        "ratio": median(pair.ratio for pair in (changed if reduces else pairs)),
    }
    if not reduces:
        return Finding(FindingCode.NO_DATA_REDUCTION, values, target=target)
    directions = sorted({pair.most.direction for pair in changed})
    values |= {"n_faster": len(changed), "directions": directions, "most_ratio": changed[0].ratio}
    cells = tuple(dict.fromkeys(pair.most.cell.key for pair in changed))[:EVIDENCE]
    return Finding(FindingCode.DATA_REDUCTION, values, cells, target=target, direction=common(directions))
