# SPDX-License-Identifier: Apache-2.0
"""The page of a comparison: the maps side by side, and the maps of ratios; and every cell of every pair as CSV (RFC
4180): second side over first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from ioatlas import beneath
from ioatlas.analysis.compare import CellComparison
from ioatlas.campaign import load_result
from ioatlas.errors import written
from ioatlas.model.panel import Table
from ioatlas.model.result import CampaignResult
from ioatlas.model.units import words
from ioatlas.report.export.markup import csv_text
from ioatlas.report.page import write_report
from ioatlas.report.page_format import ComparisonData
from ioatlas.report.redact import redactor
from ioatlas.results.comparison import SidesComparison
from ioatlas.results.joined import joined_sides
from ioatlas.results.sides import Row


def write_sides(found: SidesComparison, words: str, sentences: Sequence[str], path: Path) -> None:
    """words: the quantity that was compared. sentences: what the comparison says.

    Raises UsageError as `write_report` does.
    """
    results: dict[Path, CampaignResult] = {}
    for side in found.sides:
        if side.directory not in results:
            results[side.directory] = load_result(_directory(side.directory))
    whole = joined_sides([results[side.directory] for side in found.sides], found)
    clean = redactor([target for result in results.values() for target in result.targets])
    names = [
        [side.name if len(side.targets) == 1 else f"{side.name}: {target}" for target in side.targets]
        for side in found.sides
    ]
    data = ComparisonData(
        quantity=words,
        first=names[found.base],
        second=[name for at, own in enumerate(names) if at != found.base for name in own],
        sentences=[clean(sentence) for sentence in sentences],
    )
    write_report(replace(whole, tables=(_standing(found), *_apart(found))), path, data)


def _directory(place: Path) -> Path:
    return place.parent if place.is_file() else place


def _standing(found: SidesComparison) -> Table:
    """Every side against the base: the best first where they are ranked."""
    base = found.names[found.base]
    head = ("rank", "side", "letters", "factors", f"against {base}", "plausible", "better", "worse", "same", "open")
    rows: list[tuple[str, ...]] = [(*head, "alone best")]
    for one in found.standings:
        letters, alone = (one.place.letters, str(one.place.alone)) if one.place else ("", "")
        factors = ", ".join(f"{name} {factor.text}" for name, factor in found.sides[one.side].factors.items())
        whole = one.pair.whole if one.pair else None
        between = f"{whole.low - 1:+.1%} to {whole.high - 1:+.1%}" if whole else "no test" if one.pair else ""
        ratio = "100%" if one.pair is None else "" if one.pair.ratio is None else f"{one.pair.ratio - 1:+.1%}"
        rows.append((one.rank, found.names[one.side], letters, factors, ratio, between, *one.counts(), alone))
    told = [at for at in range(len(rows[0])) if any(row[at] for row in rows[1:])]
    columns, *texts = (tuple(row[at] for at in told) for row in rows)
    ranked = bool(found.result.ranking)
    title = "The sides; those that share a letter are not told apart" if ranked else f"The sides against {base}"
    return Table(title, columns, tuple(texts), note="Better, worse, same and open are counts of cells.")


def _apart(found: SidesComparison) -> tuple[Table, ...]:
    rows = tuple((one.group, one.name, *one.values) for one in found.apart)
    return (Table("In which conditions they differ", ("what", "fact", *found.names), rows),) if rows else ()


COLUMNS = words("""
    first second target rw bs_bytes size_bytes numjobs iodepth direction load basis n_first n_second ratio
    ratio_low ratio_high p outcome detectable reason
""")
"""basis: measured, or predicted where a side has not measured the load."""


def write_pairs(found: SidesComparison, path: Path) -> None:
    """Raises IoAtlasError when it cannot be written."""
    with written(path, "give a place that can be written", "the table"):
        beneath.write_text(path, csv_text(COLUMNS, _rows(found)), in_root=True)


def _rows(found: SidesComparison) -> Iterator[list[object]]:
    rows = found.loads.rows
    for pair in found.result.pairs:
        names = [found.names[pair.first], found.names[pair.second]]
        for cell in (*pair.cells, *pair.untested):
            basis = "predicted" if cell.predicted else "measured"
            yield [*names, *_load(rows[cell.cell], by_target=found.loads.by_target), basis, *_figures(cell)]


def _load(row: Row, *, by_target: bool) -> list[object]:
    option = row.cell.option
    names = ("rw", "bs", "size", "numjobs", "iodepth")
    return [row.cell.target if by_target else "", *(option.get(name) for name in names), row.direction, row.label]


def _figures(cell: CellComparison) -> list[object]:
    outcome = "undecided" if cell.outcome == "not different" else cell.outcome
    ratio = (cell.n_first, cell.n_second, cell.ratio, cell.low, cell.high, cell.p)
    return [*ratio, outcome, cell.detectable, cell.reason]
