# SPDX-License-Identifier: Apache-2.0
"""What a result says a product gives: the best value of a stated workload within a latency limit. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from ioatlas.answer.analysis.best import client_limited, eligible, speed, usable
from ioatlas.answer.analysis.wording import Namer
from ioatlas.answer.product.quantity import MB
from ioatlas.model.cell import OptionValue
from ioatlas.model.estimate import Estimate
from ioatlas.model.load_curve import LoadPoint, Spread
from ioatlas.model.options import SIZE_OPTIONS
from ioatlas.model.quantities import quantity as quantity_of
from ioatlas.model.result import CampaignResult, PricedLoad
from ioatlas.model.units import format_latency, format_size

BOTH = "all"
"""Direction of a load of several streams."""


UNSET = {"numjobs": 1, "iodepth": 1}
"""What fio takes where a cell does not say."""


class Unit(StrEnum):
    """What a price is divided by. The texts stand in exports, and stay as they are."""

    TIB = "usable TiB"
    RAW_TIB = "raw TiB"
    MB_READ = "MB/s read"
    MB_WRITE = "MB/s write"
    MB_ALL = "MB/s of all streams"
    KIOPS_READ = "kIOPS read"
    KIOPS_WRITE = "kIOPS write"
    KIOPS_ALL = "kIOPS of all streams"


RATES = {
    "read": (Unit.MB_READ, Unit.KIOPS_READ),
    "write": (Unit.MB_WRITE, Unit.KIOPS_WRITE),
    BOTH: (Unit.MB_ALL, Unit.KIOPS_ALL),
}


@dataclass(frozen=True)
class Reading:
    """How much of a unit a product gives, and where. lower_bound: the client was the limit. note: what to know."""

    unit: Unit
    amount: Spread
    where: str
    cell: str
    n_visits: int
    watts: float | None = None
    lower_bound: bool = False
    note: str = ""


@dataclass(frozen=True)
class Workload:
    """options: what a cell has to have, normalised. limit_ns: of the latency `quantity`, 'lat_p99_ns' or 'lat_mean_ns'.

    block_bytes: of kIOPS, where nobody stated one; None: the smallest there is.
    """

    options: Mapping[str, OptionValue] = field(default_factory=dict)
    limit_ns: float | None = None
    quantity: str = "lat_p99_ns"
    block_bytes: int | None = None

    @property
    def text(self) -> str:
        """'rw=randread bs=4 KiB, 99% within 5 ms', or ''."""
        parts = [f"{name}={_shown(name, value)}" for name, value in self.options.items()]
        text = " ".join(parts)
        if self.limit_ns is not None:
            within = f"within {format_latency(self.limit_ns)}"
            limit = f"99% {within}" if self.quantity == "lat_p99_ns" else f"mean {within}"
            text = f"{text}, {limit}" if text else limit
        return text

    def holds(self, estimate: Estimate) -> bool:
        """Whether an estimate is of the workload and keeps the limit."""
        options = estimate.cell.option
        if any(str(options.get(name, UNSET.get(name))) != str(value) for name, value in self.options.items()):
            return False
        return self.limit_ns is None or self._keeps(getattr(estimate, self.quantity))

    def _keeps(self, latency_ns: float | None) -> bool:
        return self.limit_ns is None or (latency_ns is not None and latency_ns <= self.limit_ns)

    def point_keeps(self, point: LoadPoint) -> bool:
        """Whether a load point was carried and keeps the limit."""
        latency = point.lat_p99_ns if self.quantity == "lat_p99_ns" else point.lat_mean_ns
        return not point.overloaded and self._keeps(latency.value if latency is not None else None)


def _shown(name: str, value: OptionValue) -> str:
    return format_size(value) if name in SIZE_OPTIONS and isinstance(value, int) else str(value)


def spread_of(e: Estimate, quantity: str) -> Spread | None:
    """A value with its interval, in base units; None where there is none."""
    told = quantity_of(quantity)
    value = told.value(e)
    return None if value is None else Spread(value, *told.bounds(e))


def targets_of(result: CampaignResult) -> list[str]:
    """Targets that have a value, in the order of the result."""
    seen = [e.cell.target for e in result.estimates if e.kind != "predicted"]
    return list(dict.fromkeys([*seen, *(one.target for one in result.priced)]))


def small_blocks(result: CampaignResult, target: str, workload: Workload) -> set[int]:
    """Block sizes of its cells that kIOPS could be told of."""
    return {e.cell.bs_bytes for e in _small(_candidates(result, target, workload))}


def readings(result: CampaignResult, target: str, workload: Workload) -> tuple[Reading, ...]:
    """The best throughput and IOPS of each direction. Empty where no cell is of the workload within its limit."""
    found = _candidates(result, target, workload)
    namer = Namer((e.cell for e in result.estimates), [target], tuple(result.axes))
    made: list[Reading] = []
    for direction in ("read", "write"):
        own = [e for e in found if e.direction == direction]
        mb, kiops = RATES[direction]
        small = [e for e in _small(own) if workload.block_bytes is None or e.cell.bs_bytes == workload.block_bytes]
        if workload.block_bytes is None and "bs" not in workload.options and small:
            least = min(e.cell.bs_bytes for e in small)
            small = [e for e in small if e.cell.bs_bytes == least]
        for unit, quantity, factor, those in ((mb, "bw_bytes_per_s", 1 / MB, own), (kiops, "iops", 1e-3, small)):
            steady = eligible(those) or those  # imported ones are never called steady
            spreads = [(amount, e) for e in steady if (amount := spread_of(e, quantity)) and amount.value]
            if spreads:
                amount, best = max(spreads, key=lambda one: one[0].value)
                made.append(_reading(unit, amount.scaled(factor), best, namer, workload))
    return (*made, *_of_streams(result, target, workload))


def _candidates(result: CampaignResult, target: str, workload: Workload) -> list[Estimate]:
    """Measured values, or imported ones where nothing was measured; a prediction is never sold."""
    mine = [e for e in _with_confirmed(result, target) if workload.holds(e)]
    measured = [e for e in mine if e.kind == "measured" and usable(e)]
    confirmed = [e for e in measured if any(one.stands_for(e.cell) for one in result.priced)]
    # Trials of a search are short and many: the best of them is too high, so only the confirmed setting counts.
    return confirmed or measured or [e for e in mine if e.kind == "imported" and counts(e)]


def counts(e: Estimate) -> bool:
    """Whether a value may be sold. What was imported nobody judged: it is taken as it is, and said to be imported."""
    return speed(e) > 0 if e.kind == "imported" else e.kind == "measured" and usable(e)


def _with_confirmed(result: CampaignResult, target: str) -> list[Estimate]:
    """A target's estimates. Of a search the best setting has the value of its confirming runs, not of its trials."""
    mine = [e for e in result.estimates if e.cell.target == target]
    for one in result.priced:
        mine = [_confirmed(e, one) if one.stands_for(e.cell) else e for e in mine]
    return mine


def _confirmed(e: Estimate, best: PricedLoad) -> Estimate:
    point = best.point
    p99, mean = point.lat_p99_ns, point.lat_mean_ns
    return replace(
        e,
        iops=point.iops.value,
        iops_low=point.iops.low,
        iops_high=point.iops.high,
        bw_bytes_per_s=point.bw_bytes_per_s.value,
        bw_low=point.bw_bytes_per_s.low,
        bw_high=point.bw_bytes_per_s.high,
        lat_p99_ns=p99.value if p99 is not None else None,
        lat_p99_high_ns=p99.high if p99 is not None else None,
        lat_mean_ns=mean.value if mean is not None else None,
        lat_mean_high_ns=mean.high if mean is not None else None,
        n_visits=point.n_visits,
        notes=(best.note,) if best.note else (),
    )


def n_suspect(result: CampaignResult, target: str, workload: Workload) -> int:
    """Cells of the workload that do not count, because a cache or a fault may have answered."""
    return len({e.cell.key for e in _with_confirmed(result, target) if workload.holds(e) and not counts(e)})


def _small(estimates: Iterable[Estimate]) -> list[Estimate]:
    """Random loads where there are some: kIOPS are told of those."""
    found = [e for e in estimates if e.iops]
    return [e for e in found if e.cell.rw.startswith("rand")] or found


def _reading(unit: Unit, amount: Spread, e: Estimate, namer: Namer, workload: Workload) -> Reading:
    notes = [note for note in e.notes if note.startswith("at a fixed request rate")]
    if e.kind == "imported":
        notes.append(f"imported ({e.statistic or 'no statistic'})")
    high = getattr(e, workload.quantity.replace("_ns", "_high_ns"))
    if workload.limit_ns is not None and high is not None and high > workload.limit_ns:
        notes.append("its latency may lie above the limit")
    return Reading(
        unit,
        amount,
        namer.cell(e.cell),
        e.cell.key,
        e.n_visits,
        e.watts,
        e.outrun or client_limited(e),
        "; ".join(notes),
    )


def _of_streams(result: CampaignResult, target: str, workload: Workload) -> list[Reading]:
    """The highest load point of several streams at once that keeps the limit; a search's curve stands in its cells."""
    mine = [one for one in result.priced if one.target == target and not one.setting]
    kept = [one for one in mine if workload.point_keeps(one.point)]
    if workload.options or not kept:
        return []
    best = max(kept, key=lambda one: one.point.iops.value)
    point, (mb, kiops) = best.point, RATES[BOTH]
    return [
        Reading(unit, amount, point.name, "", point.n_visits, best.watts)
        for unit, amount in ((mb, point.bw_bytes_per_s.scaled(1 / MB)), (kiops, point.iops.scaled(1e-3)))
    ]


def common_block(sets: Sequence[set[int]]) -> int | None:
    """The smallest block size that all have; None where there is none."""
    known = [one for one in sets if one]
    shared = set.intersection(*known) if known else set()
    return min(shared, default=None)
