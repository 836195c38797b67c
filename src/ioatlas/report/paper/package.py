# SPDX-License-Identifier: Apache-2.0
"""The folder that goes with a paper: written whole, or not at all."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from ioatlas import __version__
from ioatlas.errors import RefusedError, written
from ioatlas.model.panel import Table
from ioatlas.model.result import CampaignResult
from ioatlas.report.paper import data, figures, tables
from ioatlas.report.paper.methods import REFERENCES, methods
from ioatlas.report.redact import redactor

SUMS = "SHA256SUMS"
DESCRIPTOR = "datapackage.json"


@dataclass(frozen=True)
class About:
    """What only the authors know. licence: an SPDX identifier, or ''."""

    title: str
    authors: tuple[str, ...] = ()
    licence: str = ""


@dataclass(frozen=True)
class Paper:
    """What was written. parquet: whether the data are there as Parquet too."""

    folder: Path
    files: tuple[str, ...]
    figures: int
    rows: int
    parquet: bool


def write_paper(results: Sequence[CampaignResult], folder: Path, about: About, *, draw: bool = True) -> Paper:
    """Write the folder; one that this made before is replaced. Raises RefusedError for any other that is not empty.

    draw: with figures, which need matplotlib.
    """
    check_folder(folder)
    with written(folder, "name another folder"):
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as made:
            place = Path(made) / "paper"
            place.mkdir()
            told = _fill(results, place, about, draw=draw)
            if folder.exists():
                shutil.rmtree(folder)
            place.rename(folder)
    files = tuple(sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()))
    return Paper(folder, files, told[0], told[1], told[2])


def check_folder(folder: Path) -> None:
    """Raises RefusedError for a folder that holds something that this did not write as it is now."""
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise RefusedError("this is no folder", where=str(folder), remedy="name a new folder with -o")
    if not folder.exists() or not any(folder.iterdir()):
        return
    if _sums(folder) != _kept(folder):
        raise RefusedError(
            "the folder holds files that are not of this command, or were changed since",
            where=str(folder),
            remedy="name a new folder with -o, or move this one away",
        )


def _fill(results: Sequence[CampaignResult], place: Path, about: About, *, draw: bool) -> tuple[int, int, bool]:
    for name in ("data", "tables", "figures"):
        (place / name).mkdir()
    names, rows = data.table(results)
    files = [place / "data" / "cells.csv"]
    data.write_csv(names, rows, files[0])
    parquet = place / "data" / "cells.parquet"
    with_parquet = data.write_parquet(names, rows, parquet)
    if with_parquet:
        files.append(parquet)
    created = datetime.now(UTC).isoformat(timespec="seconds")
    tables_of_data = {f"data/{path.name}": path.read_bytes() for path in files}
    package = data.descriptor(
        about.title, names, rows, tables_of_data, created=created, licence=about.licence, authors=about.authors
    )
    data.write_descriptor(package, place / DESCRIPTOR)
    shown = _tables(results, place / "tables")
    drawn = figures.draw(results, place / "figures") if draw else []
    if not drawn:
        (place / "figures").rmdir()
    captions = "".join(f"- `{figure.name}`: {figure.caption}{_pages(figure)}\n" for figure in drawn)
    _write(place / "captions.md", f"# Captions\n\n{captions}" if drawn else "")
    _write(place / "methods.md", _methods(results))
    _write(place / "paper.tex", _tex(results, shown, drawn, about))
    _write(place / "CITATION.cff", _citation(about))
    _write(place / "README.md", _readme(results, about, parquet=with_parquet, figures_drawn=bool(drawn)))
    _write(place / SUMS, "".join(f"{digest}  {name}\n" for name, digest in sorted(_sums(place).items())))
    return len(drawn), len(rows), with_parquet


def _pages(figure: figures.Figure) -> str:
    return f" Pages: {'; '.join(figure.pages)}." if figure.pages else ""


def _write(path: Path, text: str) -> None:
    if text:
        path.write_text(text, encoding="utf-8")


def _tables(results: Sequence[CampaignResult], folder: Path) -> dict[str, Table]:
    found = {"summary": tables.summary_table(results)}
    loads = tables.loads_table(results)
    if loads is not None:
        found["loads"] = loads
    for name, table in found.items():
        _write(folder / f"{name}.csv", tables.to_csv(table))
        _write(folder / f"{name}.md", tables.to_markdown(table))
        _write(folder / f"{name}.tex", tables.to_latex(table, name))
    return found


def _methods(results: Sequence[CampaignResult]) -> str:
    parts = ["# Methods", ""]
    for result in results:
        if len(results) > 1:
            parts += [f"## {redactor(result.targets)(result.name)}", ""]
        parts += [" ".join(methods(result)), ""]
    return "\n".join([*parts, "## References", "", *(f"- {chr(32).join(each.split())}" for each in REFERENCES)]) + "\n"


MOST_FLOATS = 12
"""Figures in a row that LaTeX can hold back."""


def _tex(
    results: Sequence[CampaignResult], shown: dict[str, Table], drawn: Sequence[figures.Figure], about: About
) -> str:
    """A page that holds everything; its parts can be taken over into a paper."""
    lines = [
        r"\documentclass[10pt]{article}",
        r"\usepackage{iftex}",
        r"\ifPDFTeX\usepackage[utf8]{inputenc}\usepackage[T1]{fontenc}\fi",
        r"\usepackage{textcomp,array,booktabs,graphicx}",
        r"\usepackage[margin=2.2cm]{geometry}",
        r"\setlength{\belowcaptionskip}{6pt}",
        rf"\title{{{tables.latex(about.title)}}}",
        rf"\author{{{tables.latex(', '.join(about.authors) or 'Authors')}}}",
        r"\begin{document}",
        r"\maketitle",
        r"\section*{Methods}",
    ]
    for result in results:
        if len(results) > 1:
            lines.append(rf"\paragraph{{{tables.latex(redactor(result.targets)(result.name))}}}")
        lines += [tables.latex(" ".join(methods(result))), ""]
    lines += [rf"\input{{tables/{name}.tex}}" for name in shown]
    pages = [(figure, page, of) for figure in drawn for page, of in enumerate(figure.pages or ("",), 1)]
    for number, (figure, page, of) in enumerate(pages):
        # Never wider than the page nor higher than it, whatever the number of panels.
        how = r"width=\linewidth,height=0.8\textheight,keepaspectratio" + (f",page={page}" if of else "")
        lines += [
            *([r"\clearpage"] if number and number % MOST_FLOATS == 0 else []),
            r"\begin{figure}[tbp]",
            r"\centering",
            rf"\includegraphics[{how}]{{figures/{figure.name}.pdf}}",
            rf"\caption{{{tables.latex(f'{figure.caption} Here: {of}.' if of else figure.caption)}}}",
            rf"\label{{fig:{figure.name}{f'-{page}' if of else ''}}}",
            r"\end{figure}",
        ]
    return "\n".join([*lines, r"\end{document}", ""])


def _citation(about: About) -> str:
    authors = [f"  - name: {_quoted(author)}" for author in about.authors] or ['  - name: "Authors"']
    lines = [
        "cff-version: 1.2.0",
        'message: "If you use these data, please cite them as below."',
        f"title: {_quoted(about.title)}",
        "type: dataset",
        "authors:",
        *authors,
        f'date-released: "{datetime.now(UTC):%Y-%m-%d}"',
    ]
    if about.licence:
        lines.append(f"license: {_quoted(about.licence)}")
    lines += [
        "references:",
        "  - type: software",
        '    title: "I/O Atlas"',
        f'    version: "{__version__}"',
        "    authors:",
        '      - name: "The I/O Atlas authors"',
    ]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """A double-quoted scalar of YAML."""
    return '"' + " ".join(text.split()).replace("\\", "\\\\").replace('"', '\\"') + '"'


def _readme(results: Sequence[CampaignResult], about: About, *, parquet: bool, figures_drawn: bool) -> str:
    campaigns = [
        f"| {name} | {_day(result)} | {len(result.estimates):,} | {result.n_visits:,} |"
        for result in results
        for name in [redactor(result.targets)(result.name)]
    ]
    lines = [
        f"# {about.title}",
        "",
        "| campaign | date | values | visits |",
        "|---|---|---|---|",
        *campaigns,
        "",
        "| file | holds |",
        "|---|---|",
        "| `data/cells.csv` | every value with its interval, verdict and method; a row for each load and direction |",
        *(["| `data/cells.parquet` | the same as Parquet |"] if parquet else []),
        "| `datapackage.json` | what each column means, with type and unit (Data Package 2.0) |",
        *(["| `figures/`, `captions.md` | vector figures (PDF, SVG) and their captions |"] if figures_drawn else []),
        "| `tables/` | tables as LaTeX (booktabs), Markdown and CSV |",
        "| `methods.md` | a methods section, to shorten |",
        "| `paper.tex` | a page with all of it |",
        "| `CITATION.cff` | how to cite these data |",
        f"| `{SUMS}` | check with `sha256sum -c {SUMS}` |",
        "",
        "Bytes are bytes, rates are bytes per second, latencies are nanoseconds. Empty: not known.",
        "Hosts, users, addresses and paths are left out.",
        f"Licence: {about.licence}." if about.licence else "Licence: none was named; ask the authors.",
        "The licence of a measured product may forbid to publish its figures: check before you do.",
        "",
        f"Made by I/O Atlas {__version__} with `ioatlas export --format paper`.",
    ]
    return "\n".join(lines) + "\n"


def _day(result: CampaignResult) -> str:
    return datetime.fromtimestamp(result.created_at, UTC).strftime("%Y-%m-%d") if result.created_at else ""


def _sums(folder: Path) -> dict[str, str]:
    """Digests of all files but the list itself, by name."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file() and not path.is_symlink() and path != folder / SUMS
    }


def _kept(folder: Path) -> dict[str, str]:
    try:
        lines = (folder / SUMS).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return {}
    return {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
