# SPDX-License-Identifier: Apache-2.0
"""A study's answer: published, here, same direction?, where it differs and why; and its drawings in the form in
which they were published.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from bench.studies.claims import Checked, Ratio
from bench.studies.study import FigureAsked, Study
from ioatlas import api
from ioatlas.model.errors import UsageError
from ioatlas.model.panel import Table
from ioatlas.model.result import CampaignResult
from ioatlas.model.units import format_latency

COLUMNS = ("Claim", "Published", "Here", "Same direction?", "Where it differs, and why")
WORDS = {
    "same": "yes",
    "differs": "NO",
    "undecided": "undecided",
    "new": "was left open",
    "not measured": "not measured",
}
HOW = (
    "Ratios are geometric means over the loads that both sides have. All claims of the study are decided together at "
    "95%: what is decided leaves its share of the 5% to the others. Yes: the whole interval lies on the claimed side "
    "of the tolerance. No: the whole lies on the other. Undecided: neither; more --visits would tell."
)


def rows(checked: Sequence[Checked]) -> list[tuple[str, ...]]:
    """One for each claim."""
    return [(one.claim.says, one.claim.published, here(one), WORDS[one.outcome], why(one)) for one in checked]


def here(one: Checked) -> str:
    """'x2.61 (2.55 to 2.67): 103 MB/s against 39.5 MB/s'."""
    if not one.ratios:
        return one.told
    told = "; ".join(_ratio_text(one, ratio) for ratio in one.ratios)
    if one.claim.kind == "spread":
        return f"{told}: {one.first or 0:.1%} against {one.second or 0:.1%} of the value"
    both = " against ".join(_value_text(one.claim.quantity, value) for value in (one.first, one.second) if value)
    pairs = one.ratios[0].pairs
    return f"{told}: {both}" + (f", {pairs} loads" if pairs > 1 else "")


def _ratio_text(one: Checked, ratio: Ratio) -> str:
    against = f" {ratio.name}" if ratio.name else ""
    if one.claim.kind == "ceiling":
        return f"{ratio.value:.1%} ({ratio.low:.1%} to {ratio.high:.1%})"
    return f"x{ratio.value:.3g} ({ratio.low:.3g} to {ratio.high:.3g}){against}"


def _value_text(quantity: str, value: float) -> str:
    if quantity == "bw":
        return f"{value / 1e6:.3g} MB/s"
    return f"{value:,.0f} IOPS" if quantity == "iops" else format_latency(value)


def why(one: Checked) -> str:
    """What was named to limit both sides, and what is set up otherwise."""
    sides = [limits or "nothing named" for limits in one.limits]
    told = f"Limits: {' against '.join(sides)}." if any(one.limits) and one.claim.kind != "limit" else ""
    return " ".join(text for text in (_direction(one), told, one.claim.note) if text)


def _direction(one: Checked) -> str:
    """Of an open question what the interval answers."""
    if one.outcome != "new":
        return ""
    up, down = 1 + one.claim.tolerance, 1 / (1 + one.claim.tolerance)
    words = {
        "Higher here.": all(ratio.low >= up for ratio in one.ratios),
        "Lower here.": all(ratio.high <= down for ratio in one.ratios),
        f"The same within {one.claim.tolerance:.0%} here.": all(r.low >= down and r.high <= up for r in one.ratios),
    }
    return next((text for text, holds in words.items() if holds), "Undecided here.")


def summary(study: Study, checked: Sequence[Checked]) -> str:
    """'nii2021: 5 claims as published, 1 otherwise, 2 undecided; 3 open questions answered'."""
    count: Counter[str] = Counter(one.outcome for one in checked)
    parts = [
        f"{count[outcome]} {words}"
        for outcome, words in (
            ("same", "as published"),
            ("differs", "otherwise"),
            ("undecided", "undecided"),
            ("new", "that were left open"),
            ("not measured", "not measured"),
        )
        if count[outcome]
    ]
    return f"{study.name}: {len(checked)} claims; {', '.join(parts)}"


def as_table(study: Study, checked: Sequence[Checked]) -> Table:
    """For the report's page."""
    note = " ".join((f"Published: {study.source}.", HOW, *study.otherwise))
    return Table(f"Published, and here: {study.title}", COLUMNS, tuple(rows(checked)), note)


def as_markdown(study: Study, checked: Sequence[Checked], command: str) -> str:
    """A page of its own."""
    lines = [f"# {study.title}, published and in small", "", f"{summary(study, checked)}.", "", study.source, ""]
    lines += ["```console", f"$ {command}", "```", ""]
    lines += [f"| {' | '.join(COLUMNS)} |", f"|{'---|' * len(COLUMNS)}"]
    lines += [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows(checked)]
    lines += ["", HOW, "", "Otherwise than in the source:", "", *(f"- {text}" for text in study.otherwise), ""]
    return "\n".join(lines)


def as_document(study: Study, checked: Sequence[Checked], figures: Sequence[Path]) -> dict[str, Any]:
    """As JSON."""
    claims = [
        {
            **one.claim.model_dump(),
            "outcome": one.outcome,
            "ratios": [asdict(ratio) for ratio in one.ratios],
            "first": one.first,
            "second": one.second,
            "limits": list(one.limits),
            "here": here(one),
            "why": why(one),
        }
        for one in checked
    ]
    return {
        "study": study.name,
        "title": study.title,
        "source": study.source,
        "claims": claims,
        "otherwise": list(study.otherwise),
        "figures": [str(path) for path in figures],
    }


def write_answer(study: Study, checked: Sequence[Checked], figures: Sequence[Path], place: Path, command: str) -> None:
    """`study.md` and `study.json` in that folder."""
    place.mkdir(exist_ok=True)
    (place / "study.md").write_text(as_markdown(study, checked, command), encoding="utf-8")
    document = as_document(study, checked, figures)
    (place / "study.json").write_text(json.dumps(document, indent=1), encoding="utf-8")


SUFFIXES = ("png", "pdf")


def draw(study: Study, directory: Path, result: CampaignResult, place: Path) -> tuple[list[Path], list[str]]:
    """Every drawing, as PNG and PDF, into that folder; and why some could not be drawn from what was measured.

    Raises IoAtlasError when matplotlib is not installed.
    """
    place.mkdir(exist_ok=True)
    made: list[Path] = []
    missing: list[str] = []
    for asked in study.figure:
        try:
            for suffix in SUFFIXES:
                made += _draw(asked, directory, result, place, suffix)
        except UsageError as error:
            missing.append(f"{asked.name}: {error.what}")
    return made, missing


def _draw(asked: FigureAsked, directory: Path, result: CampaignResult, place: Path, suffix: str) -> Sequence[Path]:
    out = place / f"{asked.name}.{suffix}"
    if asked.kind == "bars":
        from ioatlas.answer.results import panels
        from ioatlas.answer.results.only import parse_filter
        from ioatlas.answer.results.sides import align, read_sides
        from ioatlas.report.export.to_panels import write_drawing

        aligned = align(read_sides([directory], asked.quantity, by_target=True))
        drawing = panels.bars(aligned, asked.quantity, where=parse_filter(asked.where), title=asked.title)
        return write_drawing(drawing, out)
    named = replace(result, name=asked.title or result.name)
    if asked.kind == "series":
        return api.export(named, out, style="charts")
    return api.export(named, out, asked.quantity, style=asked.kind, x=asked.x, y=asked.y, tiles=",".join(asked.tiles))
