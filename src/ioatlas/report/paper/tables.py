# SPDX-License-Identifier: Apache-2.0
"""The tables of a paper, and each as LaTeX (booktabs), Markdown and CSV."""

from __future__ import annotations

from collections.abc import Sequence

from ioatlas.analysis.summary import summarise
from ioatlas.analysis.wording import Namer, per_cent
from ioatlas.model.estimate import Estimate
from ioatlas.model.panel import Table
from ioatlas.model.result import CampaignResult
from ioatlas.model.summary import Headline
from ioatlas.model.units import format_count, format_latency, format_rate
from ioatlas.report.export import markup
from ioatlas.report.redact import redactor

MOST_ROWS = 60
"""Loads in a table for print; the data hold all of them."""
LINE, GAP, NARROW, PADDING = 110, 3, 15, 0.025
"""Letters of a line of a table, between two columns, and of the narrowest column whose texts are broken; and the share
of a line that lies beside a paragraph."""
_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "^": r"\textasciicircum{}",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "%": r"\%",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "±": r"$\pm$",
    "×": r"$\times$",
    "µ": r"\textmu{}",
    "≥": r"$\ge$",
    "≤": r"$\le$",
    "²": r"$^2$",
    "–": "--",
}


def summary_table(results: Sequence[CampaignResult]) -> Table:
    """The best values of each campaign with their intervals, and how far to trust them."""
    rows = []
    for result in results:
        clean, summary = redactor(result.targets), summarise(result)
        repeats = {(e.cell.key, e.direction): e.n_repeats for e in result.estimates}
        rows += [
            (
                clean(result.name),
                clean(headline.label),
                _headline(headline),
                clean(headline.where),
                str(headline.n_visits or repeats.get((headline.cell, headline.direction)) or ""),
                str(summary.trust),
            )
            for headline in summary.headlines
        ]
    note = "Plus or minus: half of the 95% interval over n independent starts of the load, or n imported repeats."
    return Table("Best values", ("campaign", "what", "value", "load", "n", "trust"), tuple(rows), note)


def loads_table(results: Sequence[CampaignResult]) -> Table | None:
    """Throughput of each load in each campaign; None where it would not fit a page."""
    named: dict[str, dict[int, Estimate]] = {}
    for number, result in enumerate(results):
        namer = Namer((e.cell for e in result.estimates), [target.name for target in result.targets])
        clean, several = redactor(result.targets), len({e.cell.target for e in result.estimates}) > 1
        for e in result.estimates:
            label = namer.cell(e.cell) + (f" ({e.direction})" if len(e.cell.directions) > 1 else "")
            label = f"{clean(e.cell.target)}: {label}" if several else label
            named.setdefault(label, {})[number] = e
    if not named or len(named) > MOST_ROWS:
        return None
    names = [redactor(result.targets)(result.name) for result in results]
    columns = tuple(name if len(results) > 1 else "throughput" for name in names)
    extra = ("IOPS", "mean latency", "p99 latency") if len(results) == 1 else ()
    rows = []
    for label, found in named.items():
        values = tuple(_throughput(found.get(number)) for number in range(len(results)))
        rest = _rest(found[0]) if extra else ()
        rows.append((label, *values, *rest))
    title = "Throughput of each load" if len(results) > 1 else "Each load"
    note = "Plus or minus: half of the 95% interval. p: predicted by the model, i: imported."
    return Table(title, ("load", *columns, *extra), tuple(rows), note)


def _headline(headline: Headline) -> str:
    form = {"bw_bytes_per_s": format_rate, "iops": format_count, "lat_mean_ns": format_latency}[headline.quantity]
    value = f"{'≥ ' if headline.lower_bound else ''}{form(headline.value)}"
    return value if headline.uncertainty is None else f"{value} ± {per_cent(headline.uncertainty)}"


def _throughput(e: Estimate | None) -> str:
    if e is None or e.bw_bytes_per_s is None:
        return "–"
    mark = {"predicted": " p", "imported": " i"}.get(e.kind, "")
    if e.bw_low is None or e.bw_high is None or not e.bw_bytes_per_s:
        return f"{format_rate(e.bw_bytes_per_s)}{mark}"
    half = (e.bw_high - e.bw_low) / 2 / e.bw_bytes_per_s
    return f"{format_rate(e.bw_bytes_per_s)} ± {per_cent(half)}{mark}"


def _rest(e: Estimate) -> tuple[str, str, str]:
    return (
        "–" if e.iops is None else format_count(e.iops),
        "–" if e.lat_mean_ns is None else format_latency(e.lat_mean_ns),
        "–" if e.lat_p99_ns is None else format_latency(e.lat_p99_ns),
    )


def to_csv(table: Table) -> str:
    return markup.csv_text(table.columns, table.rows)


def to_markdown(table: Table) -> str:
    lines = [f"**{table.title}.** {table.note}".strip(), "", *markup.table(table.columns, table.rows)]
    return "\n".join(lines) + "\n"


def to_latex(table: Table, label: str) -> str:
    """A table environment; needs the packages booktabs and array. Where rows are longer than a line, their longest
    texts are broken.
    """

    def row(cells: Sequence[str]) -> str:
        return " & ".join(map(latex, cells)) + r" \\"

    return "\n".join(
        [
            r"\begin{table}[tbp]",
            r"\centering\footnotesize",
            rf"\caption{{{latex(table.title)}. {latex(table.note)}}}",
            rf"\label{{tab:{label}}}",
            rf"\begin{{tabular}}{{{_columns(table)}}}",
            r"\toprule",
            row(table.columns),
            r"\midrule",
            *map(row, table.rows),
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def _columns(table: Table) -> str:
    """How each column is set: as wide as its texts where all fit a line, else the widest in paragraphs that share what
    the others leave.
    """
    widths = [max(map(len, texts)) + GAP for texts in zip(table.columns, *table.rows, strict=True)]
    broken: set[int] = set()
    for column in sorted(range(len(widths)), key=widths.__getitem__, reverse=True):
        left = LINE - sum(width for other, width in enumerate(widths) if other not in broken)
        if left >= NARROW * len(broken) or widths[column] <= NARROW:
            break
        broken.add(column)
    left = LINE - sum(width for other, width in enumerate(widths) if other not in broken)
    whole = sum(widths[column] for column in broken)
    return "".join(
        rf">{{\raggedright\arraybackslash}}p{{{max(NARROW, left * width / whole) / LINE - PADDING:.3f}\linewidth}}"
        if column in broken
        else "l"
        for column, width in enumerate(widths)
    )


def latex(text: str) -> str:
    """Text as LaTeX shows it."""
    return "".join(_LATEX.get(letter, letter) for letter in " ".join(text.split()))
