# SPDX-License-Identifier: Apache-2.0
"""Texts that go with what is exported: under which conditions the values of a figure hold, in one paragraph, and what
the figure is called; tables as CSV and Markdown, an answer as Markdown and as a forum's BBCode. The one place that
escapes what names may hold.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from statistics import median

from ioatlas.answer.analysis.best import half_interval
from ioatlas.answer.analysis.wording import plural, size_text
from ioatlas.model.cell import Cell, OptionValue
from ioatlas.model.options import SIZE_OPTIONS
from ioatlas.model.result import CampaignResult
from ioatlas.model.units import per_cent
from ioatlas.report.redact import redactor

_JOINT = "\u200b"
"""No width: what it parts is no tag, mention, reference or address."""


def escaped(text: str) -> str:
    """Text that ends no table cell, opens no tag, link or emphasis, and calls nobody."""
    text = re.sub(r"([\\`|<>\[\]*_~&])", r"\\\1", " ".join(text.split()))
    return re.sub(r"([@#]|://|\bwww)(?=\S)", rf"\1{_JOINT}", text)


def row(cells: Iterable[object]) -> str:
    return f"| {' | '.join(escaped('' if cell is None else str(cell)) for cell in cells)} |"


def table(head: Sequence[object], rows: Iterable[Iterable[object]]) -> list[str]:
    """Lines of Markdown."""
    return [row(head), f"|{'---|' * len(head)}", *map(row, rows)]


def csv_text(head: Sequence[object], rows: Iterable[Iterable[object]]) -> str:
    """With plain line ends; None is empty."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
    return out.getvalue()


def markdown(title: str, badge: str, lines: Sequence[str], items: Sequence[str], end: str) -> str:
    """lines: as they are, in letters of one width."""
    text = "\n".join(lines)
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", text)), 3)
    listed = [*(f"- {escaped(item)}" for item in items), ""] if items else []
    return "\n".join(
        [f"**{escaped(title)} · {badge}**", "", f"{fence}text", text, fence, "", *listed, escaped(end), ""]
    )


def bbcode(title: str, badge: str, lines: Sequence[str], items: Sequence[str], end: str) -> str:
    """The same for forums."""
    title, text, end = (part.replace("[", f"[{_JOINT}") for part in (title, "\n".join(lines), end))
    listed = "".join(f"[*]{item.replace('[', f'[{_JOINT}')}\n" for item in items)
    listed = f"[list]\n{listed}[/list]\n" if items else ""
    return f"[b]{title} · {badge}[/b]\n[code]\n{text}\n[/code]\n{listed}{end}\n"


MOST_NAMED = 3
"""Targets in a title, and values of an option before only the first and the last are told."""
_NAMED = (("bs", "blocks of", ""), ("size", "files of", ""), ("numjobs", "", "job"), ("iodepth", "iodepth", ""))


def subject(result: CampaignResult) -> str:
    """What was measured: the targets by name, or the campaign where there are many."""
    names = [target.name for target in result.targets]
    return redactor(result.targets)(", ".join(names) if 0 < len(names) <= MOST_NAMED else result.name)


def conditions(result: CampaignResult) -> str:
    """'disk: blocks of 4 KiB, 1 MiB; 1, 4, 16 jobs; psync, direct; 2 runs of 1.5 s each; median 95% interval
    ±9%; 22 Nov 2026.'
    """
    return f"{subject(result)}: {'; '.join([*_of_load(result), *_of_readings(result)])}."


def _of_load(result: CampaignResult) -> Iterator[str]:
    """What was asked of the targets."""
    cells = [e.cell for e in result.estimates] or [u.cell for u in result.unmeasured]
    for name, before, noun in _NAMED:
        if values := _values(cells, name):
            yield " ".join(filter(None, [before, _span(name, values), noun and ("job" if values == [1] else "jobs")]))
    engines = dict.fromkeys(str(v) for v in [*_values(cells, "ioengine"), *(t.ioengine for t in result.targets)] if v)
    direct = ["direct" if value else "buffered" for value in _values(cells, "direct")]
    if how := [*filter(None, [" or ".join(engines)]), *(direct if len(direct) == 1 else [])]:
        yield ", ".join(how)


def _of_readings(result: CampaignResult) -> Iterator[str]:
    """How often, how sure, by whom and when."""
    measured = [e for e in result.estimates if e.kind == "measured" and e.n_visits]
    if measured:
        visits = sorted(e.n_visits for e in measured)
        often = plural(visits[0], "run") if visits[0] == visits[-1] else f"{visits[0]} to {visits[-1]} runs"
        windows = [e.window_seconds for e in measured if e.window_seconds]
        yield f"{often}{f' of {median(windows):.2g} s' if windows else ''} each"
    halves = [half for e in measured if (half := half_interval(e)) is not None]
    if halves:
        yield f"median 95% interval ±{per_cent(median(halves))}"
    if any(e.kind == "imported" for e in result.estimates):
        tools = dict.fromkeys(told["tool"] for told in result.methods.values() if told.get("tool"))
        repeats = {e.n_repeats for e in result.estimates if e.n_repeats}
        often = f", means of {plural(min(repeats), 'repeat')}" if len(repeats) == 1 else ""
        yield f"imported{f' from {chr(44).join(tools)}' if tools else ''}{often}"
    if result.created_at:
        yield f"{datetime.fromtimestamp(result.created_at, UTC):%-d %b %Y}"


def _values(cells: Sequence[Cell], name: str) -> list[OptionValue]:
    found = {value for cell in cells if (value := cell.option.get(name)) is not None}
    return sorted(found, key=lambda value: (isinstance(value, str), value))


def _span(name: str, values: Sequence[OptionValue]) -> str:
    texts = [size_text(value) if name in SIZE_OPTIONS else str(value) for value in values]
    return ", ".join(texts) if len(texts) <= MOST_NAMED else f"{texts[0]} to {texts[-1]}"
