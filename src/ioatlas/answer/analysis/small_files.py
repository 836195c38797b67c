# SPDX-License-Identifier: Apache-2.0
"""What operations on small files say: their rates, what grows or shrinks with jobs and files, and what a cache did."""

from __future__ import annotations

from collections.abc import Sequence

from ioatlas.answer.analysis.wording import plural
from ioatlas.model.cell import Cell
from ioatlas.model.estimate import Estimate
from ioatlas.model.finding import Finding, FindingCode
from ioatlas.model.panel import Table
from ioatlas.model.tree import FROM_CACHE, MOVES_DATA, Operation, Tree, tree_operation
from ioatlas.model.units import format_size

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
        made += _cached(mine, target, several=len(targets) > 1)
        made += _flushing(mine, target)
    if measured:
        sentence = (
            "Every value is work-bounded: each call once for every file, timed as a whole. None claims a steady state."
        )
        made.append(Finding(FindingCode.WORK_BOUNDED, sentence))
        made += _too_short(measured)
    return tuple(made)


def _cached(mine: Sequence[Estimate], target: str, *, several: bool) -> list[Finding]:
    doubtful = [one for one in mine if tree_operation(one.cell) in FROM_CACHE]
    if not doubtful:
        return []
    surely = [one for one in doubtful if cache_doubt(one) == "answered by the client"]
    names = ", ".join(one for one in Operation if any(tree_operation(each.cell) is one for each in doubtful))
    sentence = f"{names} follow the making of the files on the same client, so its memory may answer them."
    if surely:
        quickest = min(surely, key=lambda one: one.lat_mean_ns or 0)
        sentence += (
            f" {len(surely)} of {len(doubtful)} surely were: a call took {_microseconds(quickest.lat_mean_ns)} µs in "
            f"the mean ({tree_operation(quickest.cell)}), which no server can."
        )
    sentence += " They say how fast this client finds known files, not how fast the target does."
    where = f" on {target}" if several else ""
    return [
        Finding(FindingCode.CACHE, sentence, tuple(one.cell.key for one in doubtful), f"Cache{where}", target=target)
    ]


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
    sentence = (
        f"Files that are flushed as they are closed take up to {ratio:.1f} times as long: {described(worst.cell)}."
    )
    return [Finding(FindingCode.METHOD, sentence, (worst.cell.key,), "Flushing", target=target)]


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
    names = ", ".join(one for one in Operation if any(tree_operation(each.cell) is one for each in short))
    sentence = (
        f"{plural(len(short), 'cell')} took less than {TELLING_SECONDS * 1000:.0f} ms ({names}). "
        "The load's clock counts whole milliseconds, so their rates may be some per cent wrong: ask for more files."
    )
    return [Finding(FindingCode.METHOD, sentence, tuple(one.cell.key for one in short), "Few files")]
