# SPDX-License-Identifier: Apache-2.0
"""What operations on small files say: their rates, what grows or shrinks with jobs and files, and what a cache did."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ioatlas.answer.analysis.best import eligible
from ioatlas.answer.analysis.wording import Namer, plural
from ioatlas.model.cell import Cell
from ioatlas.model.estimate import Estimate
from ioatlas.model.finding import Finding, FindingCode, Value
from ioatlas.model.panel import Table
from ioatlas.model.summary import Headline
from ioatlas.model.tree import FROM_CACHE, MOVES_DATA, Operation, Tree, tree_operation
from ioatlas.model.units import format_size, grouped

NO_SERVER_NS = 20_000
"""A call that takes less in the mean was answered by the client: a network and a server take longer."""
TELLING_SECONDS = 0.02
"""A shorter operation is timed to some per cent only."""


def plain(value: float) -> str:
    """Three digits that count, without an exponent."""
    return f"{round(value, -max(0, len(str(int(value))) - 3)):,.0f}" if value >= 100 else f"{value:.3g}"


def unit_of(operation: Operation) -> str:
    return "directories/s" if operation is Operation.LIST else "files/s"


def per_file(estimate: Estimate, value: float | None) -> float | None:
    """I/Os per second as files per second: a large file takes several."""
    tree, operation = Tree.of(estimate.cell), tree_operation(estimate.cell)
    if value is None or operation not in MOVES_DATA:
        return value
    return value * tree.count / tree.calls(operation)


def described(cell: Cell) -> str:
    """The tree of a cell in words."""
    tree = Tree.of(cell)
    size = "empty files" if not tree.size_bytes else f"files of {format_size(tree.size_bytes)}"
    words = [plural(tree.jobs, "job"), f"{tree.files:,} {size} each"]
    words += [f"{tree.depth} levels"] if tree.depth > 1 else []
    words += ["flushed"] if tree.flushed else []
    words += ["one directory for all"] if tree.shared and tree.jobs > 1 else []
    return ", ".join(words)


def tree_headlines(estimates: Iterable[Estimate], namer: Namer) -> Iterator[Headline]:
    """The rates of each operation, of which the highest stands for it; doubtful ones where there are no others."""
    found = grouped(((e.cell.target, tree_operation(e.cell)), e) for e in estimates if e.iops)
    order = list(Operation)
    for (target, operation), mine in sorted(found.items(), key=lambda item: (item[0][0], order.index(item[0][1]))):
        for e in eligible(mine) or mine:
            yield Headline(
                label=f"{operation.capitalize()}{namer.on(target)}",
                target=target,
                direction=e.direction,
                quantity="iops",
                value=e.iops or 0.0,
                low=e.iops_low,
                high=e.iops_high,
                where=described(e.cell),
                cell=e.cell.key,
                n_visits=e.n_visits,
                tie=cache_doubt(e),
                unit="operations/s",
            )


# -- the table -------------------------------------------------------------------------------------------------


def rates_table(estimates: Sequence[Estimate]) -> Table:
    """Every operation on every tree with its interval."""
    rows = []
    for one in sorted(
        estimates, key=lambda each: (Tree.of(each.cell), list(Operation).index(tree_operation(each.cell)))
    ):
        operation = tree_operation(one.cell)
        value, low, high = (per_file(one, each) for each in (one.iops, one.iops_low, one.iops_high))
        rows.append(
            (
                one.cell.target,
                described(one.cell),
                str(operation),
                "not measured" if value is None else f"{plain(value)} {unit_of(operation)}",
                "one visit" if low is None or high is None else f"{plain(low)} to {plain(high)}",
                _microseconds(one.lat_mean_ns),
                _microseconds(one.lat_p99_ns),
                cache_doubt(one),
                str(one.n_visits),
            )
        )
    return Table(
        "Operations on small files",
        ("Target", "Tree", "Operation", "Rate", "95%", "Mean, µs", "p99, µs", "Cache", "Visits"),
        tuple(rows),
        "Rates are calls over the time from the first to the last, of all jobs together. Times are of one call. Those "
        "of read and write are of one I/O, without opening and closing; create is the opening of a new file.",
    )


def _microseconds(nanoseconds: float | None) -> str:
    return "" if nanoseconds is None else plain(nanoseconds / 1000)


def cache_doubt(one: Estimate) -> str:
    """What a cache did to it, as far as its times tell."""
    operation = tree_operation(one.cell)
    if operation not in FROM_CACHE:
        return "not flushed" if operation is Operation.WRITE and not Tree.of(one.cell).flushed else ""
    if operation is not Operation.LIST and one.lat_mean_ns is not None and one.lat_mean_ns < NO_SERVER_NS:
        return "answered by the client"
    return "may be cached"


# -- findings --------------------------------------------------------------------------------------------------


def tree_findings(estimates: Sequence[Estimate]) -> tuple[Finding, ...]:
    """What to know beside the rates: what of them a cache gave, what a flush costs, what was too short."""
    measured = [one for one in estimates if one.iops]
    made: list[Finding] = []
    targets = dict.fromkeys(one.cell.target for one in measured)
    for target in targets:
        mine = [one for one in measured if one.cell.target == target]
        made += _cached(mine, target)
        made += _flushing(mine, target)
    if measured:
        made.append(Finding(FindingCode.WORK_BOUNDED, {"each_file": True}))
        made += _too_short(measured)
    return tuple(made)


def _cached(mine: Sequence[Estimate], target: str) -> list[Finding]:
    doubtful = [one for one in mine if tree_operation(one.cell) in FROM_CACHE]
    if not doubtful:
        return []
    surely = [one for one in doubtful if cache_doubt(one) == "answered by the client"]
    values: dict[str, Value] = {
        "operations": [one for one in Operation if any(tree_operation(each.cell) is one for each in doubtful)]
    }
    if surely:
        quickest = min(surely, key=lambda one: one.lat_mean_ns or 0)
        values |= {"n_sure": len(surely), "n_doubtful": len(doubtful), "lat_mean_ns": quickest.lat_mean_ns}
        values["quickest"] = tree_operation(quickest.cell)
    return [Finding(FindingCode.CACHE, values, tuple(one.cell.key for one in doubtful), target=target)]


def _flushing(mine: Sequence[Estimate], target: str) -> list[Finding]:
    """What flushing each file costs, where both ways were measured."""
    writes = {Tree.of(one.cell): one for one in mine if tree_operation(one.cell) is Operation.WRITE}
    made = []
    for tree, flushed in writes.items():
        plain_one = next((one for other, one in writes.items() if tree.flushed and _but_flushed(other, tree)), None)
        if plain_one is None or not flushed.iops or not plain_one.iops:
            continue
        made.append((plain_one.iops / flushed.iops, flushed))
    if not made:
        return []
    ratio, worst = max(made, key=lambda pair: pair[0])
    values: dict[str, Value] = {"ratio": ratio, "load": described(worst.cell)}
    return [Finding(FindingCode.METHOD, values, (worst.cell.key,), target=target)]


def _but_flushed(other: Tree, tree: Tree) -> bool:
    return not other.flushed and (other.target, other.size_bytes, other.files, other.jobs, other.depth) == (
        tree.target,
        tree.size_bytes,
        tree.files,
        tree.jobs,
        tree.depth,
    )


def _too_short(measured: Sequence[Estimate]) -> list[Finding]:
    """Operations that were over before a clock of whole milliseconds could tell them apart."""
    short = [one for one in measured if one.window_seconds is not None and one.window_seconds < TELLING_SECONDS]
    if not short:
        return []
    values: dict[str, Value] = {
        "n_cells": len(short),
        "least_ms": TELLING_SECONDS * 1000,
        "operations": [one for one in Operation if any(tree_operation(each.cell) is one for each in short)],
    }
    return [Finding(FindingCode.METHOD, values, tuple(one.cell.key for one in short))]
