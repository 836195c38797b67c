# SPDX-License-Identifier: Apache-2.0
"""What one change of a load gains: more jobs, more in flight, another engine, larger blocks, each visited in turn with
the load as it is. The visits of one replicate lie close in time, so that what drifts meanwhile moves both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ioatlas.analysis.estimates import window_values
from ioatlas.config.options import Constants
from ioatlas.config.spec import CampaignSpec
from ioatlas.model.cell import Cell, OptionValue
from ioatlas.model.visit import Visit
from ioatlas.stats.intervals import log_t_interval

VISITS, WINDOW_SECONDS = 6, 1.0
JOBS, DEPTH, BLOCK_BYTES = 8, 16, 1 << 20
RISK = 0.05
"""That any of the intervals misses."""
LEAST_GAIN = 1.05
USUAL: Mapping[str, OptionValue] = {"numjobs": 1, "iodepth": 1, "bs": 4096}
CURES = {
    "numjobs": "one job is the limit (of NBD: one connection). Use more",
    "iodepth": "the time of one I/O is the limit. Keep more of them in flight",
    "ioengine": "the engine is the limit. Use the other one",
    "bs": "only larger I/Os gain. Use them where the application can",
}


@dataclass(frozen=True)
class Gain:
    """One changed option. gain: of bytes a second, over the load as it is; None where too few visits count."""

    option: str
    value: OptionValue
    gain: float | None
    low: float | None
    high: float | None

    @property
    def proved(self) -> bool:
        return (self.low or 0.0) > LEAST_GAIN


def with_changes(spec: CampaignSpec, engine: str | None) -> CampaignSpec:
    """The campaign that visits the load as it is, its first pattern, and with each change, in turn. engine: that of the
    target, which has no other; None of a path.
    """
    now: dict[str, OptionValue] = {**USUAL, **({} if engine else {"ioengine": "libaio"}), **spec.constants}
    more: dict[str, OptionValue] = {
        "numjobs": JOBS * int(now["numjobs"]),
        "iodepth": DEPTH * int(now["iodepth"]),
        "ioengine": "libaio" if now.get("ioengine") == "io_uring" else "io_uring",
        "bs": BLOCK_BYTES,
    }
    more = {name: value for name, value in more.items() if now.get(name, value) != value}
    base = {name: now.pop(name) for name in more}
    patterns = (base, *(base | {name: value} for name, value in more.items()))
    return CampaignSpec(
        targets=spec.targets, constants=now, patterns=patterns, visits=VISITS, window_seconds=WINDOW_SECONDS
    )


def gains(cells: Sequence[Cell], visits: Sequence[Visit], patterns: Sequence[Constants]) -> list[Gain]:
    """Of each change, the largest first; larger blocks are another load, and come last. visits: with their series."""

    def rates(options: Constants) -> dict[int, float]:
        keys = {cell.key for cell in cells if options.items() <= cell.option.items()}
        mine = [visit for visit in visits if visit.cell_key in keys and not visit.discarded]
        return {
            one.replicate: sum(window_values(part, one.window_start_ms).bw_bytes_per_s for part in one.parts)
            for one in mine
        }

    base, *changed = patterns
    before, found = rates(base), []
    for pattern in changed:
        ((name, value),) = pattern.items() - base.items()
        after = rates(pattern)
        ratios = [after[k] / before[k] for k in sorted(before.keys() & after.keys()) if before[k] and after[k]]
        ratio = log_t_interval(ratios, 1 - RISK / len(changed))
        found.append(Gain(name, value, ratio.estimate, ratio.low, ratio.high))
    return sorted(found, key=lambda one: (one.option == "bs", -(one.low or 0.0)))
