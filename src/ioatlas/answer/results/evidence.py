# SPDX-License-Identifier: Apache-2.0
"""What ceilings, caches and limits say about a campaign's estimates, from the testbed of its last session."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ioatlas.answer.analysis.attribution import Seen, limits_of
from ioatlas.answer.analysis.balance import balance_findings, groups_of, groups_of_targets
from ioatlas.answer.analysis.cache import judge_caches
from ioatlas.answer.analysis.ceilings import Ceiling, CeilingsOf, ceilings_of
from ioatlas.answer.analysis.counters import CountedPath
from ioatlas.answer.analysis.energy import power_findings, with_watts
from ioatlas.answer.analysis.shares import with_group_limits
from ioatlas.answer.law.read import can_be_told
from ioatlas.answer.results.counts import Counts, counted_in_windows
from ioatlas.load.machine.visit_usage import cpu_shares_of, usage_of
from ioatlas.model.cell import Cell
from ioatlas.model.estimate import Bound, Estimate, Limit
from ioatlas.model.finding import Finding
from ioatlas.model.outcomes import KeptMeter
from ioatlas.model.testbed import Testbed, Usage
from ioatlas.model.visit import COUNTED, Visit

if TYPE_CHECKING:
    from ioatlas.answer.law.fit import Fit


def judge(
    estimates: Sequence[Estimate],
    visits: Sequence[Visit],
    beds: Mapping[str, Testbed],
    counts: Counts,
    *,
    telemetry: Mapping[int, Mapping[str, Any]] | None = None,
    holes: Iterable[str] = (),
    paths: Mapping[str, CountedPath] | None = None,
    meters: Sequence[KeptMeter] = (),
    idle_watts: Mapping[str, float] | None = None,
    fits: Mapping[str, Fit] | None = None,
) -> tuple[tuple[Estimate, ...], tuple[Finding, ...]]:
    """The estimates with cache verdicts, and findings on caches, power and balance.

    counts: claims against the counters of the targets' paths. telemetry: what was read during each visit, by its id.
    holes: targets with holes. paths: where each target's bytes are counted. meters: of power, with idle_watts
    of each at rest. fits: laws of targets, which tell the limits of the cells that they cover.
    """
    telemetry = telemetry or {}
    counted = counted_in_windows(visits, {e.cell.key: e.cell.target for e in estimates}, paths or {}, telemetry)
    ceilings = ceilings_by_cell(beds)
    made = list(visits)
    caches = judge_caches(
        estimates,
        made,
        round_trip_ns={name: 1e9 * seconds for name, bed in beds.items() if (seconds := bed.number("path.round_trip"))},
        counted_bytes={**counted, **_counted({e.cell.key: e.cell for e in estimates}, made, counts)},
        holes=holes,
    )
    marked = caches.mark(estimates)
    local = {name for name, bed in beds.items() if is_served_here(bed)}
    here = {e.cell.key for e in estimates if e.cell.target in local}
    remote = {name for name, bed in beds.items() if is_remote(bed)}
    limits = limits_of(marked, caches, _seen(made, telemetry, here), _by_law(fits or {}), ceilings, remote)
    marked = with_group_limits(tuple(_with_limit(e, limits, ceilings) for e in marked))
    found = [*caches.findings()]
    marked = with_watts(
        marked, made, {visit: record["watts"] for visit, record in telemetry.items() if "watts" in record}, meters
    )
    found += [*power_findings(marked, meters, idle_watts or {})]
    usages = [usage for record in telemetry.values() if (usage := usage_of(record)) is not None]
    for groups in {groups_of(bed) for bed in beds.values()}:
        found += balance_findings(groups, usages)
    return marked, (*found, *_balance_of_targets(marked, made, beds, telemetry))


def _by_law(fits: Mapping[str, Fit]) -> Callable[[Estimate], Limit | None]:
    """What the law of a cell's target tells; None where there is none, or it does not cover the cell."""

    def limit(e: Estimate) -> Limit | None:
        from ioatlas.answer.law.limits import limit_of

        fit = fits.get(e.cell.target)
        if fit is None or not can_be_told(e.cell) or e.direction not in fit.shape.ways:
            return None
        return limit_of(fit, e.cell, e.direction)

    return limit


def _balance_of_targets(
    estimates: Iterable[Estimate],
    visits: Iterable[Visit],
    beds: Mapping[str, Testbed],
    telemetry: Mapping[int, Mapping[str, Any]],
) -> tuple[Finding, ...]:
    """How the load of targets that were all loaded at once was spread over their links and drives."""
    members: dict[str, dict[str, None]] = {}
    cells: dict[str, str] = {}
    for e in estimates:
        if e.targets is not None and e.cell.n_targets == len(e.targets.parts) > 1:
            members.setdefault(e.cell.target, {}).update(dict.fromkeys(one.name for one in e.targets.parts))
            cells[e.cell.key] = e.cell.target
    seen: dict[str, list[Usage]] = {}
    for visit in visits:
        if visit.cell_key in cells and not visit.discarded and visit.purpose in COUNTED:
            usage = usage_of(telemetry.get(visit.visit_id, {}))
            if usage is not None:
                seen.setdefault(cells[visit.cell_key], []).append(usage)
    return tuple(
        finding
        for group, names in members.items()
        for finding in balance_findings(
            groups_of_targets(group, [beds[name] for name in names if name in beds]), seen.get(group, ())
        )
    )


def ceilings_by_cell(beds: Mapping[str, Testbed]) -> CeilingsOf:
    """Bounds of a cell and direction, worked out once for each target and block size."""
    known: dict[tuple[str, int, str], Sequence[Ceiling]] = {}

    def ceilings(cell: Cell, direction: str) -> Sequence[Ceiling]:
        if cell.of_fleet:  # each client has a path of its own
            return ()
        place = (cell.target, cell.bs_bytes, direction)
        if place not in known:
            bed = beds.get(cell.target)
            known[place] = ceilings_of(bed, cell.bs_bytes, direction) if bed is not None else ()
        return known[place]

    return ceilings


def is_remote(bed: Testbed) -> bool:
    """Whether the way to a target crosses a wire. The interface is looked for where there is a server, whose address
    itself is private.
    """
    return (
        (bed.get("nic.name") is not None or bool(bed.value("server.address")))
        and bed.value("protocol.transport") != "unix socket"
        and bed.value("route.local") is not True
    )


def is_served_here(bed: Testbed) -> bool:
    """Whether a server on this machine answers: it is one of the programs that are not ours."""
    known = bed.value("server.address") or bed.value("protocol.transport")
    return bool(known) and not is_remote(bed)


def _seen(
    visits: Iterable[Visit], telemetry: Mapping[int, Mapping[str, Any]], served_here: Collection[str]
) -> dict[str, Seen]:
    """What was read during the visits of each cell, and how busy fio's own jobs were.

    served_here: cells whose server is one of the other programs, whose processor time says nothing then.
    """
    found: dict[str, tuple[list[Any], ...]] = defaultdict(lambda: ([], [], [], []))
    for visit in visits:
        if visit.discarded or visit.purpose not in COUNTED:
            continue
        record = telemetry.get(visit.visit_id, {})
        busy = None if visit.cpu_percent is None else visit.cpu_percent / 100
        shares = None if visit.cell_key in served_here else cpu_shares_of(record)
        readings = (usage_of(record), busy, record.get("waiting"), shares)
        for kept, reading in zip(found[visit.cell_key], readings, strict=True):
            kept.extend([] if reading is None else [reading])
    return {key: Seen(*map(tuple, kept)) for key, kept in found.items() if kept[0] or kept[1]}


def _with_limit(estimate: Estimate, limits: Mapping[tuple[str, str], Limit], ceilings: CeilingsOf) -> Estimate:
    """The estimate with what limits it, and the tightest bound of the path and of the target."""
    if estimate.kind != "measured" or not estimate.bw_bytes_per_s:
        return estimate
    known = ceilings(estimate.cell, estimate.direction)
    bounds = [Bound(one.name, one.bw_bytes_per_s, one.kind) for one in known if one.bw_bytes_per_s]
    limit = limits.get((estimate.cell.key, estimate.direction))
    if limit is not None and limit.bound is not None:
        bounds.append(limit.bound)
    return replace(estimate, limit=limit, ceiling=min(bounds, key=lambda one: one.bw_bytes_per_s, default=None))


def _counted(cells: Mapping[str, Cell], visits: Iterable[Visit], counts: Counts) -> dict[int, float]:
    """{visit_id: bytes counted} of visits that were alone in their batch, or whose batch's counters agree with the
    claims.

    Counters are read once a batch; where those of several visits disagree, which visit it was is not known and nothing
    is said of any.
    """
    known: dict[int, float] = {}
    for visit in visits:
        cell = cells.get(visit.cell_key)
        of_batch = counts.get((cell.target, visit.batch_id), ()) if cell else ()
        mine = {count.direction: count for count in of_batch if count.claimed_bytes}
        claimed = {part.direction: part.io_bytes for part in visit.parts if part.io_bytes}
        if not claimed or not claimed.keys() <= mine.keys():
            continue
        seen = [(size, mine[direction]) for direction, size in claimed.items()]
        if all(one.visits == 1 for _, one in seen) or not any(one.failed for _, one in seen):
            known[visit.visit_id] = sum(size * min(1.0, one.counted_bytes / one.claimed_bytes) for size, one in seen)
    return known
