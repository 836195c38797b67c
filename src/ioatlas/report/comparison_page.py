# SPDX-License-Identifier: Apache-2.0
"""The page of a comparison: the maps side by side, and the maps of ratios."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ioatlas.campaign import load_result
from ioatlas.model.panel import Table
from ioatlas.model.result import CampaignResult
from ioatlas.report.page import write_report
from ioatlas.report.page_format.parts import ComparisonData
from ioatlas.report.redact import redactor
from ioatlas.results.comparison import SidesComparison
from ioatlas.results.joined import joined_sides


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
