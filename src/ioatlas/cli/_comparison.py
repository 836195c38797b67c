# SPDX-License-Identifier: Apache-2.0
"""How a comparison is printed: who is ahead, who ties, where, and what could have been found."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import click

from ioatlas.answer.analysis.trust import IDLE, again
from ioatlas.answer.analysis.wording import plural
from ioatlas.cli._arguments import write_gate
from ioatlas.cli._output import columns, say_json
from ioatlas.model.errors import GateError, UsageError
from ioatlas.model.quantities import COMPARED
from ioatlas.model.units import format_count, format_latency, format_rate
from ioatlas.report.numbers import next_line

if TYPE_CHECKING:
    from ioatlas.answer.analysis.compare import CellComparison, MapComparison, Outcome
    from ioatlas.answer.analysis.many import Pair, Place
    from ioatlas.answer.results.comparison import Apart, Group, SidesComparison
    from ioatlas.report.export.to_gate import Check, Gate

MOST_SHOWN = 12
MOST_DETECTABLE = 0.9
"""A slowdown larger than this is no measure of what a comparison can find."""
DIFFER: frozenset[Outcome] = frozenset(("higher", "lower"))
_NAME = 16
_MARKS = {"higher": "+", "lower": "-", "same": "=", "not different": "?"}


def tell(
    found: SidesComparison,
    *,
    output: Path | None,
    all_cells: bool,
    verbose: bool,
    fail_if_worse: bool,
    as_json: bool,
    junit: Path | None,
    markdown: Path | None,
) -> None:
    """Print, write what was asked for. Raises GateError when a side is worse and that was asked for, UsageError when
    that cannot be known.
    """
    if (fail_if_worse or junit or markdown) and not any(pair.cells for pair in found.against_base):
        raise UsageError(
            "no load has repeats on both sides, so nothing can be tested",
            where="--fail-if-worse, --junit, --markdown",
            remedy="leave it out, or compare campaigns: `ioatlas map` measures every load several times",
        )
    if output is not None:
        _write(found, output)
    if as_json:
        say_json(document(found))
    else:
        _print(found, all_cells=all_cells, verbose=verbose)
    if output is not None:
        click.echo(f"{'table' if output.suffix.lower() == '.csv' else 'page'}: {output}", err=as_json)
    if junit or markdown:
        write_gate(gate_of(found, COMPARED[found.quantity]), junit, markdown)
    if fail_if_worse:
        _gate(found)


def _gate(found: SidesComparison) -> None:
    worse = []
    for pair in found.against_base:
        whole = pair.whole is not None and found.fails(pair.whole)
        count = sum(map(found.fails, pair.cells))
        if whole or count:
            worse.append(f"{found.names[pair.second]} ({'the map as a whole, ' if whole else ''}{count} cells)")
    if worse:
        raise GateError(f"worse than {found.names[found.base]}: {', '.join(worse)}")


def _print(found: SidesComparison, *, all_cells: bool, verbose: bool) -> None:
    for line in answer(found, every=verbose):
        click.echo(line)
    lines = _pair_lines(found, all_cells=all_cells) if len(found.sides) == 2 else _cell_lines(found)
    shown = lines if all_cells or verbose else lines[: MOST_SHOWN + 1]
    if len(shown) > 1:
        signs = ": + higher  - lower  = same  ? undecided  ~ predicted" if len(found.sides) > 2 else ""
        click.echo(f"\nCells, against {found.names[found.base]}{signs}")
        for line in shown:
            click.echo(line)
    if len(lines) > len(shown):
        click.echo(f"... and {len(lines) - len(shown)} more: --cells")
    if verbose:
        result = found.result
        click.echo(
            f"method {result.method}: differences up to {result.tolerance:.1%} ignored; false discovery rate "
            f"{result.false_discovery_rate:.0%} over the cells of all pairs; maps at 5% for all pairs "
            f"together, {result.map_level:.2%} each; intervals of cells are for one cell alone"
        )


def answer(found: SidesComparison, *, every: bool = False) -> list[str]:
    """The first screen: the verdict, what differs in the conditions, the table of sides, cells, power, what next."""
    lines = [f"{len(found.sides)} sides, {COMPARED[found.quantity]}: {verdict(found)}"]
    lines += conditions(found.apart, found.names, every=every)
    lines += found.notes
    lines += ["", *_table(found), ""]
    lines += list(_about_cells(found))
    lines += list(_power(found))
    return lines


def verdict(found: SidesComparison) -> str:
    """In capitals, as of two campaigns."""
    result, wholes = found.result, found.result.wholes
    if any(one.outcome in DIFFER for one in wholes):
        return _ahead(found)
    if any(pair.count(*DIFFER) for pair in result.pairs):
        return f"SINGLE CELLS DIFFER, no whole map {'does' if wholes else 'was tested'}"
    if not wholes:
        return _untested(found)
    if len(wholes) == len(result.pairs) and {whole.outcome for whole in wholes} == {"same"}:
        return f"THE SAME within {result.tolerance:.0%}"
    return "NO DIFFERENCE SHOWN" + (", and the test was weak" if result.weakest > result.effect else "")


def _untested(found: SidesComparison) -> str:
    if any(pair.cells for pair in found.result.pairs):
        return "NO DIFFERENCE SHOWN, and no whole map was tested"
    return "TOO FEW VISITS TO TELL" if _have_visits(found) else "SINGLE READINGS, WHICH NO TEST CAN TELL APART"


def _ahead(found: SidesComparison) -> str:
    """Where whole maps differ: which of two, who is ahead of several, or which differ from the base."""
    base = found.names[found.base]
    if len(found.sides) == 2:
        (pair,) = found.against_base
        return f"{found.names[pair.second]} IS {pair.whole.outcome.upper() if pair.whole else ''} than {base}"
    if found.result.ranking:
        return _leader(found)
    told, (better,) = [], {*DIFFER} - {found.worse}
    for outcome, word in ((better, "BETTER"), (found.worse, "WORSE")):
        whole = ((pair.second, pair.whole) for pair in found.result.pairs if pair.whole)
        if names := [found.names[side] for side, one in whole if one.outcome == outcome]:
            told.append(f"{_and(names)} {word} than {base}")
    return "; ".join(told)


def _have_visits(found: SidesComparison) -> bool:
    """Whether two sides at least have visits, which a test of whole maps needs."""
    return sum(side.repeated for side in found.sides) > 1


def _leader(found: SidesComparison) -> str:
    """Who is ahead of the sides that could be tested."""
    tested = {side for pair in found.result.pairs if pair.whole for side in (pair.first, pair.second)}
    untested = [name for side, name in enumerate(found.names) if side not in tested]
    ranking = [place for place in found.result.ranking if place.side in tested]
    return _first(ranking, found.names) + (f"; no test of {_and(untested)}" if untested else "")


def _first(ranking: Sequence[Place], names: Sequence[str]) -> str:
    first = [place for place in ranking if place.best == 1]
    if len(first) == len(ranking):
        return "SOME DIFFER, AND NONE IS AHEAD OF ALL"
    if len(first) > 1:
        return f"{_and([names[place.side] for place in first])} SHARE THE FIRST PLACE"
    behind = [place for place in ranking if not set(first[0].letters) & set(place.letters)]
    if len(behind) == len(ranking) - 1:
        return f"{names[first[0].side]} IS BEST"
    return f"{names[first[0].side]} IS AHEAD of {_and([names[place.side] for place in behind])}"


def _and(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _table(found: SidesComparison) -> list[str]:
    """Sides, the best first: rank, level against the base, in how many cells better, worse, the same, undecided."""
    base = _cut(found.names[found.base], 12)
    rows: list[tuple[str, ...]] = [("rank", "side", f"vs {base}", "plausible", "better", "worse", "same", "open")]
    for one in found.standings:
        ratio = "100%" if one.pair is None else "?" if one.pair.ratio is None else _change(one.pair.ratio)
        whole = one.pair.whole if one.pair else None
        between = f"{_change(whole.low)} to {_change(whole.high)}" if whole else "no test" if one.pair else ""
        rows.append((one.rank, _cut(found.names[one.side], _NAME), ratio, between, *one.counts()))
    return [*columns(rows, right={2, 4, 5, 6, 7}), *_tie_lines(found)]


def _tie_lines(found: SidesComparison) -> list[str]:
    ranking = found.result.ranking
    if not ranking:
        return []
    if not any(pair.whole for pair in found.result.pairs):
        return ["Nobody is ahead: ranks come from tests of whole maps."]
    if len({place.letters for place in ranking}) == 1:
        return ["Ties: none of them is told apart from another."]
    groups = "; ".join(_and(group) for group in _ties(found))
    return [f"Ties: {groups or 'none'}."]


def _ties(found: SidesComparison) -> Iterator[list[str]]:
    """Groups of sides that are not told apart from each other."""
    for letter in sorted({letter for place in found.result.ranking for letter in place.letters}):
        group = [found.names[place.side] for place in found.result.ranking if letter in place.letters]
        if len(group) > 1:
            yield group


def _change(ratio: float) -> str:
    """As per cent; as times beyond a doubling."""
    return f"x{ratio:.3g}" if ratio >= 2.995 else f"{ratio - 1:+.1%}"


def _cut(name: str, most: int) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"


def _about_cells(found: SidesComparison) -> Iterator[str]:
    result = found.result
    n = result.n_common
    if result.ranking and n:
        best = [f"{found.names[place.side]} alone in {place.alone}" for place in result.ranking if place.alone]
        told = f"{', '.join(best)}; " if best else ""
        yield f"Best    {told}no single one in {result.undecided} of the {n} cells that all have"
    elif not n:
        yield "Cells   none is in all of them: each pair is compared over the cells it shares"
    yield from _cells_left_out(found)
    if n and any(pair.whole and pair.map_cells != n for pair in result.pairs):
        yield "Maps    each pair over the cells it shares, for few are in all sides"
    if found.loads.told_apart:
        yield f"Left out: {found.loads.told_apart} loads, because a source does not tell what tells them apart"


def _cells_left_out(found: SidesComparison) -> Iterator[str]:
    for pair in found.result.pairs if len(found.sides) == 2 else ():
        for side, other in ((pair.first, pair.second), (pair.second, pair.first)):
            if alone := found.loads.alone(side, other):
                yield f"Cells   {alone} only in {found.names[side]}"
    why = Counter(cell.reason for pair in found.result.pairs for cell in pair.cells if cell.outcome == "not comparable")
    yield from (f"Cells   {plural(count, 'cell')} not compared: {reason}" for reason, count in why.items() if reason)


def _power(found: SidesComparison) -> Iterator[str]:
    """What could have been found, and what to do where not everything was."""
    cells = [cell.detectable for pair in found.result.pairs for cell in pair.cells if cell.detectable is not None]
    weakest = found.result.weakest
    if not found.result.wholes:
        yield "Power   no whole map was tested: on both sides it needs cells with repeats or an interval"
    elif weakest >= MOST_DETECTABLE:
        yield "Power   weak: even large differences between whole maps could be missed"
    else:
        yield f"Power   a whole map {_percent(weakest)} slower is found 8 times in 10, of any pair."
    if cells:
        single = median(cells)
        told = f"{_percent(single)} slower" if single < MOST_DETECTABLE else "many times slower"
        yield f"        A typical single cell has to be {told}."
    yield from _assumed(found)
    yield from _next(found, tested=bool(cells))


def _assumed(found: SidesComparison) -> Iterator[str]:
    """What the figures hold, or do not, of what moves between set-ups and between campaigns."""
    if found.set_ups == 1:
        yield "        What moves between set-ups is not known, and not in these figures."
    if found.campaign_sd is not None:
        yield f"        Campaigns of the unchanged target differ by {found.campaign_sd:.1%}, which is in all intervals."
    elif len({side.directory for side in found.sides if side.repeated}) == 2 == len(found.sides):
        yield "        Assumed: the target drifted no more between the campaigns than during them. --same tests it."


def _next(found: SidesComparison, *, tested: bool) -> Iterator[str]:
    """tested: whether cells were."""
    result = found.result
    if not result.wholes and not _have_visits(found):
        read = "read the cells: each is tested. For a test of the whole map measure with `ioatlas map`"
        measure = "measure them: `ioatlas map`. Or import several runs of each: `ioatlas import --repeats`"
        yield f"Next    {read if tested else measure}"
    elif not result.wholes or (result.weakest > result.effect and not {one.outcome for one in result.wholes} <= DIFFER):
        more = "--budget 10m" if any(side.by_law for side in found.sides) else "--visits 10"
        for place in dict.fromkeys(side.directory for side in found.sides):
            yield f"Next    {next_line((IDLE, again(more)), place, str(place))}"


def _percent(share: float) -> str:
    return f"{share:.1%}" if share < 0.0995 else f"{share:.0%}"


def _cell_lines(found: SidesComparison) -> list[str]:
    """One line for each load: its change on every side against the base, the surest differences first."""
    pairs = found.against_base
    cells = [{cell.cell: cell for cell in (*pair.cells, *pair.untested)} for pair in pairs]
    rows: list[tuple[float, list[str]]] = []
    for load, about in found.loads.rows.items():
        row, sure = [about.label], []
        for own in cells:
            cell = own.get(load)
            if cell is not None and cell.ratio is not None:
                row.append(f"{'~' if cell.predicted else ''}{_change(cell.ratio)}{_MARKS.get(cell.outcome, ' ')}")
                sure.append(1.5 if cell.p is None else cell.p)
            else:
                row.append("")
        if sure:
            rows.append((min(sure), row))
    head = ["", *(f"{_cut(found.names[pair.second], 10)} " for pair in pairs)]
    ordered = [row for _, row in sorted(rows, key=lambda one: one[0])]
    return columns([head, *ordered], right=range(1, len(head)), gap=" ")


def _pair_lines(found: SidesComparison, *, all_cells: bool) -> list[str]:
    """Of two sides a line for each load that differs or has no test, the surest differences first. all_cells: all of
    them.
    """
    (pair,) = found.against_base
    untold = found.loads.told_by_one(pair.first, pair.second)
    names = [_cut(found.names[side], _NAME) for side in (pair.first, pair.second)]
    rows = [("", *names, "ratio", "95% interval", "n", "")]
    for cell in sorted((*pair.cells, *pair.untested), key=lambda cell: 2.0 if cell.p is None else cell.p):
        if all_cells or cell.outcome not in ("same", "not different"):
            values = (_value(found, side, cell.cell) for side in (pair.first, pair.second))
            remarks = [cell.reason or cell.outcome, *(["predicted"] if cell.predicted else [])]
            if untold.get(cell.cell):
                remarks.append(f"{', '.join(untold[cell.cell])} told by one side only")
            row = (*values, *ratio_texts(cell), f"{cell.n_first}, {cell.n_second}", "; ".join(remarks))
            rows.append((found.loads.rows[cell.cell].label, *row))
    return columns(rows, right={1, 2, 3, 4, 5})


def _value(found: SidesComparison, side: int, load: str) -> str:

    value = found.loads.value(side, load)
    formats = {"bw": format_rate, "iops": format_count}
    return "" if value is None else formats.get(found.quantity, format_latency)(value)


def _write(found: SidesComparison, output: Path) -> None:
    if output.suffix.lower() == ".csv":
        from ioatlas.report.page import write_pairs

        write_pairs(found, output)
        return
    from ioatlas.report.page import write_sides

    write_sides(found, COMPARED[found.quantity], sentences(found), output)


def sentences(found: SidesComparison) -> list[str]:
    """The answer without its table, for the page."""
    lines = [f"{COMPARED[found.quantity]}: {verdict(found)}", *conditions(found.apart, found.names, every=True)]
    lines += [*_tie_lines(found), *_about_cells(found), *_power(found)]
    return [" ".join(re.sub(r"^(\w+) {2,}", r"\1: ", line).split()) for line in lines]


def document(found: SidesComparison) -> dict[str, Any]:
    """As JSON."""
    result, names = found.result, found.names
    return {
        "quantity": found.quantity,
        "method": result.method,
        "tolerance": result.tolerance,
        "effect": result.effect,
        "false_discovery_rate": result.false_discovery_rate,
        "campaign_sd": found.campaign_sd,
        "family_wise_error_of_maps": result.map_level * len(result.pairs),
        "map_level": result.map_level,
        "reference": None if result.reference is None else names[result.reference],
        "sides": [
            {
                "name": side.name,
                "origin": side.origin,
                "kind": side.kind,
                "targets": list(side.targets),
                "factors": {name: asdict(factor) for name, factor in side.factors.items()},
                "facts": dict(side.facts),
                "loads": len(side.readings),
            }
            for side in found.sides
        ],
        "differences": [{**asdict(one), "values": dict(zip(names, one.values, strict=True))} for one in found.apart],
        "notes": list(found.notes),
        "cells_in_all": result.n_common,
        "cells_without_a_best": result.undecided if result.ranking else None,
        "ranking": [{**asdict(place), "side": names[place.side]} for place in result.ranking],
        "pairs": [_pair_document(found, pair) for pair in result.pairs],
    }


def _pair_document(found: SidesComparison, pair: Pair) -> dict[str, Any]:
    tested = max(1, len(pair.cells))
    loads, untold = found.loads, found.loads.told_by_one(pair.first, pair.second)

    def cell(row: CellComparison) -> dict[str, Any]:
        about = loads.rows[row.cell]
        return {
            "load": about.label,
            "target": about.cell.target,
            **about.cell.option,
            "size_bytes": about.cell.size_bytes,
            "bs_bytes": about.cell.bs_bytes,
            "direction": about.direction,
            "first": loads.value(pair.first, row.cell),
            "second": loads.value(pair.second, row.cell),
            "not_told_by_both": untold.get(row.cell, ()),
            **{name: value for name, value in asdict(row).items() if name != "cell"},
        }

    counts = {name: pair.count(name) for name in ("higher", "lower", "same")}
    counts["undecided"] = pair.count("not different")
    return {
        "first": found.names[pair.first],
        "second": found.names[pair.second],
        "ratio": pair.ratio,
        "map": asdict(pair.whole) if pair.whole else None,
        "cells_compared": len(pair.cells),
        "cells_untested": len(pair.untested),
        "cells_only_first": loads.alone(pair.first, pair.second),
        "cells_only_second": loads.alone(pair.second, pair.first),
        "cells_of_map": pair.map_cells,
        **{f"cells_{name}": count for name, count in counts.items()},
        **{f"share_{name}": count / tested for name, count in counts.items()},
        "cells": [cell(row) for row in (*pair.cells, *pair.untested)],
    }


SHOWN = 3
_TITLES: dict[Group, str] = {
    "method": "Not comparable here, because these differ",
    "unknown": "Not known to be the same",
    "version": "Other versions",
    "testbed": "Other testbed",
}


def conditions(apart: Sequence[Apart], names: Sequence[str], *, every: bool = False) -> list[str]:
    """One line for each kind of difference, the weightiest first; nothing where nothing differs."""
    lines = []
    for group, title in _TITLES.items():
        found = [one for one in apart if one.group == group]
        if not found:
            continue
        shown = found if every else found[:SHOWN]
        more = f"; and {len(found) - len(shown)} more: -v" if len(found) > len(shown) else ""
        told = (one.name if group == "unknown" else one.sentence(names) for one in shown)
        lines.append(f"{title}: {(', ' if group == 'unknown' else '; ').join(told)}{more}")
    return lines


def gate_of(found: SidesComparison, word: str) -> Gate:
    from ioatlas.report.export.to_gate import Gate

    labels = {name: row.label for name, row in found.loads.rows.items()}
    checks: list[Check] = []
    table: list[tuple[str, ...]] = [("side", "cell", "ratio", "95% interval", "visits", "outcome")]
    for pair in found.against_base:
        name = found.names[pair.second]
        of = "" if len(found.sides) == 2 else f"{name}: "
        checks.append(_check(f"{of}the map as a whole", pair.whole, found, "Too few visits to tell it from drift."))
        for cell in pair.cells:
            label, why = labels[cell.cell], f"Not comparable: {cell.reason or 'too few visits'}."
            checks.append(_check(f"{of}{label}", cell, found, why))
            table.append((name, label, *ratio_texts(cell), f"{cell.n_first}, {cell.n_second}", cell.outcome))
    who = found.names[1 - found.base] if len(found.sides) == 2 else f"{len(found.sides)} sides"
    title = f"{who} against {found.names[found.base]}: {word}"
    return Gate(title, time.time(), tuple(checks), tuple(table))


def _check(name: str, one: MapComparison | CellComparison | None, found: SidesComparison, why: str) -> Check:
    """why: there is nothing to hold against it."""
    from ioatlas.report.export.to_gate import Check

    if one is None or one.ratio is None or one.low is None or one.high is None:
        return Check(name, "skipped", why)
    ends = " to ".join(f"{end - 1:+.1%}" for end in sorted((one.low, one.high)))
    sentence = f"{one.ratio - 1:+.1%} (95% interval {ends}): {one.outcome}."
    return Check(name, "failed" if found.fails(one) else "passed", sentence)


def ratio_texts(one: CellComparison) -> tuple[str, str]:
    """A ratio, and its interval."""
    if one.ratio is None or one.low is None or one.high is None:
        return "" if one.ratio is None else f"{one.ratio:.3f}", ""
    return f"{one.ratio:.3f}", f"{one.low:.3f} .. {one.high:.3f}"
