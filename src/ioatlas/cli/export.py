# SPDX-License-Identifier: Apache-2.0
"""`ioatlas export`: a campaign's result in other programs' formats."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from ioatlas import beneath
from ioatlas.cli._campaigns import campaign_argument, own_place
from ioatlas.cli._faults import says_what_does_not_fit
from ioatlas.cli._json import say_json
from ioatlas.cli._quantity import where_option
from ioatlas.errors import IoAtlasError, UsageError

if TYPE_CHECKING:
    from ioatlas.model.result import CampaignResult
    from ioatlas.report.export.grid import Layout
    from ioatlas.report.export.quantities import Quantity

TABLES = ("csv", "json")
FIGURES = ("png", "svg", "pdf")
SCRIPT_SUFFIXES = (".gp", ".plt", ".gnuplot", ".gnu")
QUANTITY_NAMES = ("bw", "iops", "lat_mean", "lat_p99", "bw_per_job")


@click.command(
    name="export",
    epilog="""\b
Examples:
  ioatlas export nas1 -o nas1.csv                    the format is that of the name
  ioatlas export nas1 --format json | jq '.findings[].sentence'
  ioatlas export nas1 --format gnuplot -o figure     writes figure/map.gp and map.dat; then: gnuplot figure/map.gp
  ioatlas export nas1 -o latency.pdf --quantity lat_p99 --scale log
  ioatlas export nas1 -o operations.svg --figure charts
  ioatlas export ssd -o steady.png --figure rounds
  ioatlas export nas1 -o lines.png --figure lines --x numjobs --y bs --tiles rw

\b
Without -o, csv and json go to standard output, the others into DIR.""",
)
@campaign_argument
@click.option(
    "--format",
    "kind",
    type=click.Choice((*TABLES, "gnuplot", *FIGURES)),
    help="What to write. Default: what the suffix of -o says.",
)
@click.option(
    "-o", "--output", metavar="OUT", type=click.Path(path_type=Path), help="File to write, or folder for gnuplot."
)
@click.option("--quantity", type=click.Choice(QUANTITY_NAMES), help="What a figure shows. Default: bw, the throughput.")
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
    type=click.Choice(("map", "lines", "charts", "rounds", "curves")),
    help="map: heat maps. lines: with error bars. charts: of fixed work. rounds: of a SNIA test. curves: latency "
    "against load. Default: what the campaign has, else map.",
)
@click.option(
    "--bars",
    type=click.Choice(("interval", "sd")),
    help="What error bars of lines show: the 95% interval (default), or one standard deviation of imported repeats.",
)
@where_option
@click.option("--json", "as_json", is_flag=True, help="Print the names of the written files as JSON.")
@says_what_does_not_fit
def command(
    directory: Path,
    kind: str | None,
    output: Path | None,
    where: tuple[str, ...],
    as_json: bool,
    **choice: str | None,
) -> None:
    """Write the result of the campaign in DIR as a table, a gnuplot script with data, or a figure."""
    kind = kind or kind_of(output)
    drawn = {name: value for name, value in choice.items() if value}
    if kind in TABLES and drawn:
        raise UsageError(
            f"--{_option(next(iter(drawn)))} is for figures", where=f"--format {kind}", remedy="leave it out"
        )
    if kind == "gnuplot" and choice["style"] not in (None, "map", "rounds", "curves"):
        raise UsageError(
            "the gnuplot script draws maps, the plot of a test in rounds and latency against load",
            where=f"--figure {choice['style']}",
            remedy="use --format png, svg or pdf",
        )
    from ioatlas.campaign import load_result
    from ioatlas.results.only import only, parse_filter

    result = only(load_result(directory), parse_filter(where))
    if output is None and kind not in TABLES and directory.is_dir():
        _check_default(directory)
    try:
        written = (
            _table(result, kind, output)
            if kind in TABLES
            else _figure(result, kind, _place(directory, kind, output), drawn)
        )
    except BrokenPipeError:  # the reader has enough: `ioatlas export ... | head`
        raise
    except OSError as error:
        raise IoAtlasError(
            f"cannot be written: {error.strerror}",
            where=str(error.filename or output or "standard output"),
            remedy="name another place with -o",
        ) from error
    if as_json and written:
        say_json({"files": [str(path) for path in written]}, line=True)
    else:
        for path in written:
            click.echo(path)


def kind_of(output: Path | None) -> str:
    """The format that a file's suffix says. Raises UsageError when it says none."""
    suffix = output.suffix.lower() if output else ""
    if suffix in SCRIPT_SUFFIXES:
        return "gnuplot"
    if suffix[1:] in (*TABLES, *FIGURES):
        return suffix[1:]
    raise UsageError(
        "no format is told",
        where=str(output) if output else "",
        remedy=f"name a file such as -o map.pdf, or --format {', '.join((*TABLES, 'gnuplot'))} or {', '.join(FIGURES)}",
    )


def _check_default(directory: Path) -> None:
    """Raises RefusedError when a figure that is written beside the journal would go where a link leads."""
    endings = {f".{kind}" for kind in FIGURES}
    beneath.check_tree(
        directory, {path.name for path in directory.iterdir() if path.suffix in endings or path.name == "gnuplot"}
    )


def _option(name: str) -> str:
    return {"style": "figure"}.get(name, name)


def _table(result: CampaignResult, kind: str, output: Path | None) -> list[Path]:
    from ioatlas.report.export.to_csv import write_csv
    from ioatlas.report.export.to_json import write_json

    write: Callable[[CampaignResult, TextIO], None] = write_csv if kind == "csv" else write_json
    if output is None or str(output) == "-":
        write(result, sys.stdout)
        return []
    path = output / f"cells.{kind}" if output.is_dir() else output
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as out:
        write(result, out)
    return [path]


def _place(directory: Path, kind: str, output: Path | None) -> Path:
    """The file to write a figure or script to. Raises UsageError when its suffix says another format."""
    if kind == "gnuplot":
        if output is not None and output.suffix in SCRIPT_SUFFIXES:
            return output
        return (output or own_place(directory, "gnuplot")) / "map.gp"
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
    from ioatlas.report.export.quantities import quantity
    from ioatlas.report.export.to_charts import in_order, write_charts

    if drawn.get("style") == "rounds" or (result.rounds and not drawn):
        from ioatlas.report.export.to_rounds import write_rounds, write_rounds_gnuplot

        if set(drawn) - {"style"}:
            raise UsageError(
                "the plot of a test in rounds has its axes and quantity",
                where="--figure rounds",
                remedy="leave out the other options",
            )
        if kind == "gnuplot":
            return list(write_rounds_gnuplot(result, path))
        return list(write_rounds(result, path, kind))  # type: ignore[arg-type]
    if drawn.get("style") == "curves" or (result.load_curves and not drawn):
        return _curves(result, kind, path, drawn)
    if kind in FIGURES and (drawn.get("style") == "charts" or (in_order(result) and not drawn)):
        if not result.charts or set(drawn) - {"style"}:
            what = (
                "the campaign brings no charts of its own"
                if not result.charts
                else "the charts have their axes and quantity"
            )
            raise UsageError(
                what,
                where="--figure charts",
                remedy="use --figure lines" if not result.charts else "leave out the other options",
            )
        return list(write_charts(result, path, kind))  # type: ignore[arg-type]
    tiles = [name.strip() for name in drawn.get("tiles", "").split(",") if name.strip()]
    layout: Layout = lay_out(result, x=drawn.get("x", ""), y=drawn.get("y", ""), tiles=tiles)
    shown = _with_bars(quantity(drawn.get("quantity", "bw")), drawn, result)
    scale = drawn.get("scale")
    log = None if scale is None else scale == "log"
    if kind == "gnuplot":
        from ioatlas.report.export.to_gnuplot import write_gnuplot

        return list(write_gnuplot(result, layout, shown, path, log=log))
    from ioatlas.report.export.to_figure import write_figures

    options: dict[str, Any] = {"style": drawn.get("style", "map"), "log": log}
    return list(write_figures(result, layout, shown, path, kind, **options))  # type: ignore[arg-type]


def _with_bars(shown: Quantity, drawn: dict[str, str], result: CampaignResult) -> Quantity:
    """The quantity with the error bars that were asked for."""
    from dataclasses import replace

    if drawn.get("bars") != "sd":
        return shown
    if drawn.get("style") != "lines":
        raise UsageError("only lines have error bars", where="--bars", remedy="add --figure lines")
    if not any(getattr(e, shown.sd) is not None for e in result.estimates):
        raise UsageError(
            "no value has a standard deviation of repeats",
            where="--bars sd",
            remedy="`ioatlas import FILES --repeats -o DIR` makes some; leave --bars out for intervals",
        )
    return replace(shown, bars_of_sd=True)


def _curves(result: CampaignResult, kind: str, path: Path, drawn: dict[str, str]) -> list[Path]:
    from ioatlas.report.export.to_curves import write_curves, write_curves_gnuplot

    if set(drawn) - {"style"}:
        raise UsageError(
            "latency against load has its axes and quantity",
            where="--figure curves",
            remedy="leave out the other options",
        )
    if kind == "gnuplot":
        return list(write_curves_gnuplot(result, path))
    return list(write_curves(result, path, kind))  # type: ignore[arg-type]
