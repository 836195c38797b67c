# SPDX-License-Identifier: Apache-2.0
"""The report: one HTML file with the explorer and the campaign's data inside, which never asks the network for
anything; of a comparison with the maps side by side and the maps of ratios, and every cell of every pair as CSV (RFC
4180): second side over first.
"""

from __future__ import annotations

import base64
import hashlib
import html
import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib import resources
from pathlib import Path

from ioatlas import __version__
from ioatlas.answer.analysis.compare import CellComparison
from ioatlas.answer.results.comparison import SidesComparison
from ioatlas.answer.results.joined import joined_sides
from ioatlas.answer.results.sides import Row
from ioatlas.measure.campaign import load_result
from ioatlas.model.errors import IoAtlasError, written
from ioatlas.model.panel import Table
from ioatlas.model.result import CampaignResult
from ioatlas.model.units import words
from ioatlas.report.export.texts import csv_text
from ioatlas.report.numbers import DATA_ELEMENT_ID
from ioatlas.report.page_data import report_data
from ioatlas.report.page_format import ComparisonData
from ioatlas.report.redact import redactor
from ioatlas.store import confined

_DROP = """<div class="drop" role="main">
<h1>See fio results as a map</h1>
<label>Drop fio JSON files here, or choose them
<input type="file" id="drop-files" multiple accept=".json,.txt,.log,.out"></label>
<p id="drop-faults" role="alert"></p>
<p class="drop-how soft">Files that fio wrote with <code>--output-format=json</code> or <code>json+</code>, of one job
or many, of one run or many. They are read in this browser and sent nowhere: this page has no network access, and works
when it is saved and opened from a disk.</p>
</div>
"""


def write_report(
    result: CampaignResult, path: Path, comparison: ComparisonData | None = None, place: Path | None = None
) -> None:
    """Write the report of a campaign to `path`; an existing file is replaced only by a complete new one.

    comparison: of two campaigns that `result` joins. place: the campaign's directory, where `path` is not in it. Raises
    IoAtlasError when the explorer was not built into this installation, or when the file cannot be written.
    """
    write_page(report_html(result, comparison, place or path.parent), path)


def write_page(text: str, path: Path, what: str = "the report") -> None:
    """Write a page; an existing file is replaced only by a complete new one. Raises IoAtlasError."""
    with written(path, "give a place that can be written", what):
        put_whole(text.encode(), path)


def put_whole(data: bytes, path: Path) -> None:
    """Write a file that everybody may read, in place of an older one only when it is complete. Raises OSError."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(temporary, 0o644)  # noqa: PTH101 - mkstemp makes it private, a report is to be read
        os.replace(temporary, path)  # noqa: PTH105
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def report_html(
    result: CampaignResult,
    comparison: ComparisonData | None = None,
    place: Path | None = None,
    *,
    live: str = "",
    before: str = "",
    beside: str = "",
) -> str:
    """The page's text. place: the campaign's directory. live: address below which a server tells what is new of a
    campaign that runs. before: elements above the report. beside: where the files of `explorer_files` stand, seen from
    the page, which then loads them; such as '../'.
    """
    title = f"{result.name or result.campaign_id} · I/O Atlas"
    data = report_data(result, comparison, place).model_dump_json()
    return _page(title, result.tool_version, data, ("explorer",), before=before, live=live, beside=beside)


def explorer_files() -> dict[str, str]:
    """The explorer, for pages that share it: {name: text}."""
    return {name: _built(name) for name in ("explorer.js", "explorer.css")}


def drop_html(before: str = "") -> str:
    """The page that takes fio's JSON files and shows them by the explorer, in the browser alone. before: as above."""
    empty = CampaignResult("fio", "", 0.0, __version__, (), {}, {}, ())
    data = report_data(empty).model_dump_json()
    return _page("fio results · I/O Atlas", __version__, data, ("drop", "explorer"), before=before + _DROP)


def _page(
    title: str, version: str, data: str, parts: Sequence[str], *, before: str = "", live: str = "", beside: str = ""
) -> str:
    """parts: of the built explorer, in the order to run them. before: what stands above the explorer."""
    if beside:
        allowed = ["'self' file:"] * 2
        run = "".join(f'<script src="{beside}{part}.js"></script>\n' for part in parts)
        styled = "".join(f'<link rel="stylesheet" href="{beside}{part}.css">\n' for part in reversed(parts))
    else:
        scripts, styles = ([_built(f"{part}.{ending}") for part in parts] for ending in ("js", "css"))
        allowed = [" ".join(map(_csp_hash, texts)) for texts in (scripts, styles)]
        run = "".join(f"<script>{script}</script>\n" for script in scripts)
        styled = "".join(f"<style>{style}</style>\n" for style in reversed(styles))
    policy = (
        f"default-src 'none'; script-src {allowed[0]}; style-src {allowed[1]}; base-uri 'none'; form-action 'none'; "
        "connect-src " + ("'self'" if live else "'none'")
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f'<meta name="generator" content="ioatlas {html.escape(version)}">\n'
        + (f'<meta name="ioatlas-live" content="{html.escape(live)}">\n' if live else "")
        + f"<title>{html.escape(title)}</title>\n"
        + styled
        + f'</head>\n<body>\n{before}<div id="ioatlas"></div>\n'
        "<noscript>This page draws its map with JavaScript, from the data inside this file. Nothing is loaded from "
        "a network.</noscript>\n"
        f'<script type="application/json" id="{DATA_ELEMENT_ID}">{escape_json(data)}</script>\n'
        + run
        + "</body>\n</html>\n"
    )


def escape_json(text: str) -> str:
    """JSON that cannot end the element it stands in: no `<` is left, and a reader gets the same values."""
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _csp_hash(text: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii") + "'"


def _built(name: str) -> str:
    """A file of the built explorer, safe to stand inside its element."""
    file = resources.files("ioatlas.report") / "explorer" / name
    if not file.is_file():
        raise IoAtlasError(
            "the report's explorer is not built into this installation",
            where=f"ioatlas/report/explorer/{name}",
            remedy="run `make web` in the checkout (Node 20.19 or newer), or install a released package",
        )
    text = file.read_text(encoding="utf-8")
    for end in ("</script", "</style", "<!--"):
        if end in text.lower():
            raise IoAtlasError(
                f"the built explorer holds {end!r} and cannot stand inside a page",
                where=name,
                remedy="run `make web` in the checkout",
            )
    return text


def write_sides(found: SidesComparison, words: str, sentences: Sequence[str], path: Path) -> None:
    """words: the quantity that was compared. sentences: what the comparison says.

    Raises UsageError as `write_report` does.
    """
    places = dict.fromkeys(side.directory for side in found.sides)
    results = {one: load_result(one.parent if one.is_file() else one) for one in places}
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
        confined.write_text(path, csv_text(COLUMNS, _rows(found)), in_root=True)


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
