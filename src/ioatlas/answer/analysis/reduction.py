# SPDX-License-Identifier: Apache-2.0
"""Whether a target's speed depends on what the data look like: compressible or repeated data are faster where the
target reduces them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

from ioatlas.answer.analysis.wording import plural
from ioatlas.model.estimate import Estimate
from ioatlas.model.finding import Finding, FindingCode, common
from ioatlas.model.verdict import LOWER_BOUND, VerdictClass, verdict_class

RELEVANT = 1.10
LATENCY_RELEVANT = 1.05
FEWEST_SHARE = 0.10
EVIDENCE = 20

_WORDS = {"buffer_compress_percentage": ("compress", "compresses"), "dedupe_percentage": ("repeat", "deduplicates")}


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
    found = []
    for option, (verb, says) in _WORDS.items():
        for target, pairs in _pairs(measured, option).items():
            if pairs:
                found.append(_finding(target, option, verb, says, pairs))
    return tuple(found)


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


def _finding(target: str, option: str, verb: str, says: str, pairs: list[Pair]) -> Finding:
    changed = sorted((pair for pair in pairs if pair.differs), key=lambda pair: -pair.ratio)
    low, high = (int(pairs[0].least.cell.option[option]), int(pairs[0].most.cell.option[option]))
    if len(changed) >= max(1.0, FEWEST_SHARE * len(pairs)):
        directions = sorted({pair.most.direction for pair in changed})
        sentence = (
            f"{target}: the rate depends on how far the data {verb}: with {high}% instead of {low}% {len(changed)} of "
            f"{plural(len(pairs), 'load')} "
            f"({' and '.join(directions)}) are faster, by a factor of {median(pair.ratio for pair in changed):.2f} "
            f"(median), {changed[0].ratio:.2f} at most. "
            f"The target {says}: only values with data that do not {verb} are its own."
        )
        return Finding(
            FindingCode.DATA_REDUCTION,
            sentence,
            tuple(dict.fromkeys(pair.most.cell.key for pair in changed))[:EVIDENCE],
            target=target,
            direction=common(directions),
        )
    sentence = (
        f"{target}: no dependence on how far the data {verb} was found: {plural(len(pairs), 'load')} with {high}% "
        f"against {low}%, "
        f"ratio {median(pair.ratio for pair in pairs):.2f} (median)."
    )
    return Finding(FindingCode.NO_DATA_REDUCTION, sentence, target=target)
