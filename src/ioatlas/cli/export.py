# SPDX-License-Identifier: Apache-2.0
"""`ioatlas export`: results in other programs' formats, as figures, and as a report."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from ioatlas.answer.results.library import REPORT
from ioatlas.cli._arguments import SideArgument, newest, own_place, path_option, units_option, where_option
from ioatlas.cli._commands import examples
from ioatlas.cli._output import say_json, says_what_does_not_fit
from ioatlas.model.errors import IoAtlasError, UsageError, written
from ioatlas.model.panel import Line
from ioatlas.model.quantities import QUANTITIES, quantity
from ioatlas.store import confined

if TYPE_CHECKING:
    from ioatlas.answer.results.sides import Side
    from ioatlas.model.panel import Drawing, Line
    from ioatlas.model.quantities import Quantity
    from ioatlas.model.result import CampaignResult
    from ioatlas.report.export.grid import Layout

TABLES = ("csv", "json", "md", "bbcode")
FIGURES = ("png", "svg", "pdf")


@click.command(name="export", epilog=examples("export"))
@click.argument("sides", metavar="[DIR]...", nargs=-1, type=SideArgument())
@click.option(
    "--format",
    "kind",
    type=click.Choice((*TABLES, *FIGURES, "html")),
    help="What to write. Default: what the suffix of -o says.",
)
@path_option("-o", "--output", metavar="OUT", help="File to write.")
@click.option(
    "--quantity", type=click.Choice(tuple(QUANTITIES)), help="What a figure shows. Default: bw, the throughput."
)
@click.option("--x", metavar="AXIS", help="Axis along x, such as size, numjobs or iodepth.")
@click.option("--y", metavar="AXIS", help="Axis along y, or one line for each of its values with --figure lines.")
@click.option(
    "--tiles",
    metavar="AXIS[,AXIS]",
    help="Axes of the tiles: columns, then rows. The rest becomes one page for each value.",
)
@click.option(
    "--scale",
    type=click.Choice(("linear", "log")),
    help="Scale of the quantity, the same in all tiles. Default: linear; log where imported values span decades.",
)
@click.option(
    "--figure",
    "style",
    type=click.Choice(("map", "lines", "bars", "latency", "charts", "rounds", "curves")),
    help="map: heat maps. lines: with error bars. bars: a group for each load, a bar for each DIR. latency: "
    "percentiles. charts (or rounds, curves): what the report has above its map. Default: charts of a SNIA test, of "
    "load points and of fixed work, else map; of several DIR, lines.",
)
@click.option("--by", type=click.Choice(("target",)), help="Each target of a campaign is a side of its own.")
@click.option(
    "--bars",
    type=click.Choice(("interval", "sd")),
    help="What error bars of lines show: the 95% interval (default), or one standard deviation of imported repeats.",
)
@click.option(
    "--columns",
    type=click.Choice(("1", "2")),
    help="Width of a figure in columns of a journal's page: 85 mm or 175 mm. Default: as many as it needs.",
)
@where_option
@units_option
@click.option("--title", metavar="TEXT", help="Of bars, lines and latency. Default: the names.")
@path_option("--drop-page", metavar="FILE", help="Write the page into which fio's JSON files are dropped, and no more.")
@click.option("--json", "as_json", is_flag=True, help="Print the names of the written files as JSON.")
@says_what_does_not_fit
def command(
    sides: tuple[Path, ...],
    kind: str | None,
    output: Path | None,
    where: tuple[str, ...],
    drop_page: Path | None,
    as_json: bool,
    **choice: str | None,
) -> None:
    """Write results as a table, a figure or a report."""
    if drop_page is not None:
        if sides or kind or output or as_json or any(choice.values()):
            raise UsageError("it holds no results", where="--drop-page", remedy="leave out the rest of the line")
        from ioatlas.report.page import drop_html, write_page

        write_page(drop_html(), drop_page, "the page")
        return
    sides = sides or (newest(),)
    drawn = {name: value for name, value in choice.items() if value}
    with written(output or "standard output", "name another place with -o"):
        files = _written(sides, kind, output, where, drawn)
    if as_json and files:
        say_json({"files": [str(path) for path in files]}, line=True)
    else:
        for path in files:
            click.echo(path)


def _written(
    sides: tuple[Path, ...], kind: str | None, output: Path | None, where: tuple[str, ...], drawn: dict[str, str]
) -> list[Path]:
    """The files of a table, a report or a figure."""
    style = drawn.get("style", "lines" if len(sides) > 1 or "by" in drawn else "")
    if style in ("bars", "latency") or (style and (len(sides) > 1 or "by" in drawn)):
        return _beside(sides, style, output, where, drawn)
    (directory,) = sides
    kind = kind or kind_of(output)
    if kind in (*TABLES, "html"):
        _check(drawn, "", f"--format {kind}")
    from ioatlas.answer.results.only import only, parse_filter
    from ioatlas.measure.campaign import load_result

    result = only(load_result(directory), parse_filter(where))
    if kind == "html":
        return [_report(result, directory, output)]
    if output is None and kind not in TABLES and directory.is_dir():
        _check_default(directory)
    if kind in TABLES:
        return _table(result, kind, output)
    return _figure(result, kind, _place(directory, kind, output), drawn)


def _beside(
    sides: tuple[Path, ...], style: str, output: Path | None, where: tuple[str, ...], drawn: dict[str, str]
) -> list[Path]:
    """One drawing of several sides."""
    if style not in KINDS:
        raise UsageError(
            f"--figure {style} draws one campaign",
            where=", ".join(map(str, sides)),
            remedy=f"name one, or use --figure {', '.join(KINDS)}",
        )
    taken = "style quantity by title columns" + " x" * (style == "lines")
    _check(drawn, taken, f"--figure {style} of several sides")
    from ioatlas.report.export.to_panels import write_drawing

    drawing = _drawing(style, sides, where, drawn)
    return list(write_drawing(drawing, output or Path("nothing"), columns=int(drawn.get("columns", 0))))


def _report(result: CampaignResult, directory: Path, output: Path | None) -> Path:
    from ioatlas.report.page import write_report

    path = output or own_place(directory, REPORT)
    if output is None:
        confined.is_ordinary(path, linked=False)  # a link in somebody else's directory leads elsewhere
    write_report(result, path, place=directory)
    return path


def kind_of(output: Path | None) -> str:
    """The format that a file's suffix says. Raises UsageError when it says none."""
    suffix = output.suffix.lower() if output else ""
    if suffix[1:] in (*TABLES, *FIGURES, "html"):
        return suffix[1:]
    raise UsageError(
        "no format is named",
        where=str(output) if output else "",
        remedy=f"name a file such as -o map.pdf, or --format {', '.join((*TABLES, *FIGURES, 'html'))}",
    )


def _check_default(directory: Path) -> None:
    """Raises RefusedError when a figure that is written beside the journal would go where a link leads."""
    endings = {f".{kind}" for kind in FIGURES}
    confined.check_tree(directory, {path.name for path in directory.iterdir() if path.suffix in endings})


def _check(drawn: dict[str, str], taken: str, what: str) -> None:
    """Raises UsageError for an option that a table, a report or a figure does not take."""
    if other := set(drawn) - set(taken.split()):
        option = min(other).replace("style", "figure")
        raise UsageError(f"--{option} is not for {what}", where=f"--{option}", remedy="leave it out")


def _table(result: CampaignResult, kind: str, output: Path | None) -> list[Path]:
    from ioatlas.cli._screen import pasted
    from ioatlas.report.export.to_json import write_json
    from ioatlas.report.table import write_csv

    def write(out: TextIO) -> None:
        if kind in ("csv", "json"):
            (write_csv if kind == "csv" else write_json)(result, out)
        else:
            out.write(pasted(result, kind))

    if output is None or str(output) == "-":
        write(sys.stdout)
        return []
    path = output / f"cells.{kind}" if output.is_dir() else output
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as out:
        write(out)
    return [path]


def _place(directory: Path, kind: str, output: Path | None) -> Path:
    """The file to write a figure to. Raises UsageError when its suffix says another format."""
    path = output or own_place(directory, f"map.{kind}")
    if path.is_dir():
        path /= f"map.{kind}"
    suffix = path.suffix.lstrip(".").lower()
    if suffix != kind and suffix in (*FIGURES, *TABLES, "jpg", "jpeg", "eps", "html", "webp"):
        raise UsageError(
            f"{path.name} is not the name of a {kind} file", where="-o", remedy=f"write -o {path.stem}.{kind}"
        )
    return path


def _figure(result: CampaignResult, kind: str, path: Path, drawn: dict[str, str]) -> list[Path]:
    from ioatlas.report.export.grid import lay_out
    from ioatlas.report.export.own import STYLES, has_own, own_drawing
    from ioatlas.report.export.to_panels import write_drawing

    columns = int(drawn.pop("columns", 0))
    style = drawn.get("style", "")
    if style in STYLES or (not drawn and has_own(result)):
        _check(drawn, "style", f"--figure {style}")
        return list(write_drawing(own_drawing(result), path, kind, columns))
    _check(drawn, "style quantity x y tiles scale" + " bars" * (style == "lines"), "this figure")
    tiles = [name.strip() for name in drawn.get("tiles", "").split(",") if name.strip()]
    layout: Layout = lay_out(result, x=drawn.get("x", ""), y=drawn.get("y", ""), tiles=tiles)
    shown = _with_bars(quantity(drawn.get("quantity", "bw")), drawn, result)
    scale = drawn.get("scale")
    log = None if scale is None else scale == "log"
    from ioatlas.report.export.to_figure import write_figures

    asked: Any = drawn.get("style", "map")
    return list(write_figures(result, layout, shown, path, kind, style=asked, log=log, columns=columns))  # type: ignore[arg-type]


def _with_bars(shown: Quantity, drawn: dict[str, str], result: CampaignResult) -> Quantity:
    """The quantity with the error bars that were asked for."""
    if drawn.get("bars") != "sd":
        return shown
    if not any(getattr(e, shown.sd) is not None for e in result.estimates):
        raise UsageError(
            "no value has a standard deviation of repeats",
            where="--bars sd",
            remedy="`ioatlas import FILES --repeats -o DIR` makes some; leave --bars out for intervals",
        )
    return replace(shown, bars_of_sd=True)


KINDS = ("bars", "lines", "latency")


def _drawing(kind: str, places: Sequence[Path], where: Sequence[str], chosen: Mapping[str, str]) -> Drawing:
    from ioatlas.answer.results import panels
    from ioatlas.answer.results.only import parse_filter
    from ioatlas.answer.results.sides import align, read_sides
    from ioatlas.report.export.texts import conditions

    loads, quantity = parse_filter(where), chosen.get("quantity", "bw")
    sides = read_sides(places, quantity, by_target="by" in chosen)
    title, results = chosen.get("title") or ", ".join(side.name for side in sides), _results(sides)
    if kind == "latency":
        drawing = panels.latency_curves(results, where=loads, title=title)
    elif kind == "bars":
        drawing = panels.bars(align(sides), quantity, where=loads, title=title)
    else:
        ceilings, x = _ceilings(results) if quantity == "bw" else {}, chosen.get("x", "")
        drawing = panels.lines(align(sides), quantity, where=loads, title=title, x=x, ceilings=ceilings)
    return replace(drawing, conditions=" ".join(conditions(result) for _, result in results))


def _results(sides: Sequence[Side]) -> list[tuple[str, CampaignResult]]:
    """By side the result of its targets, of those that were measured here; each campaign is read once."""
    from ioatlas.measure.campaign import load_result

    whole: dict[Path, CampaignResult] = {}
    for directory in {side.directory for side in sides if side.kind == "measured"}:
        with contextlib.suppress(IoAtlasError):
            whole[directory] = load_result(directory)
    return [
        (side.name, replace(result, estimates=tuple(e for e in result.estimates if e.cell.target in side.targets)))
        for side in sides
        if side.kind == "measured" and (result := whole.get(side.directory)) is not None
    ]


def _ceilings(results: Sequence[tuple[str, CampaignResult]]) -> dict[str, list[Line]]:
    """The tightest known bound of each load."""
    found: dict[str, list[Line]] = {}
    for name, result in results:
        for e in result.estimates:
            if e.ceiling is not None:
                label = f"{name}: {e.ceiling.name}" if len(results) > 1 else e.ceiling.name
                found.setdefault(f"{e.cell.key}/{e.direction}", []).append(Line(label, e.ceiling.bw_bytes_per_s))
    return found
