# SPDX-License-Identifier: Apache-2.0
"""`ioatlas export`: results in other programs' formats, as figures, and as a report."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from ioatlas.answer.results.library import REPORT
from ioatlas.cli._arguments import SideArgument, newest, own_place, path_option, units_option, where_option
from ioatlas.cli._commands import examples
from ioatlas.cli._output import say_json, says_what_does_not_fit
from ioatlas.model.errors import UsageError, written
from ioatlas.model.quantities import QUANTITIES
from ioatlas.store import confined

TABLES = ("csv", "json", "md", "bbcode")
FIGURES = ("png", "svg", "pdf")
SEVERAL, OWN = ("bars", "latency"), ("charts", "rounds", "curves")


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
    type=click.Choice(("map", "lines", *SEVERAL, *OWN)),
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
) -> Sequence[Path]:
    """The files of a table, a report or a figure."""
    from ioatlas import api

    several = len(sides) > 1 or "by" in drawn
    style = drawn.get("style", "lines" if several else "")
    if several or style in SEVERAL:
        return _beside(sides, style, output, where, drawn)
    (directory,) = sides
    kind = kind or kind_of(output)
    if kind in (*TABLES, "html"):
        _check(drawn, "", f"--format {kind}")
    elif style in OWN:
        _check(drawn, "style columns", f"--figure {style}")
    else:
        _check(drawn, "style quantity x y tiles scale columns" + " bars" * (style == "lines"), "this figure")
    result, columns = api.load(directory, where), int(drawn.pop("columns", 0))
    if kind in TABLES and (output is None or str(output) == "-"):
        api.write(result, kind, sys.stdout)
        return ()
    return api.export(result, _place(directory, kind, output), kind=kind, place=directory, columns=columns, **drawn)


def _beside(
    sides: tuple[Path, ...], style: str, output: Path | None, where: tuple[str, ...], drawn: dict[str, str]
) -> Sequence[Path]:
    """One drawing of several sides."""
    if style not in (*SEVERAL, "lines"):
        raise UsageError(
            f"--figure {style} draws one campaign",
            where=", ".join(map(str, sides)),
            remedy="name one, or use --figure bars, lines, latency",
        )
    _check(drawn, "style quantity by title columns" + " x" * (style == "lines"), f"--figure {style} of several sides")
    from ioatlas.report.export.own import drawing_of
    from ioatlas.report.export.to_panels import write_drawing

    columns, how = int(drawn.pop("columns", 0)), {**drawn, "style": style}
    return write_drawing(drawing_of(sides, where, **how), output or Path("nothing"), columns=columns)


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


def _check(drawn: dict[str, str], taken: str, what: str) -> None:
    """Raises UsageError for an option that a table, a report or a figure does not take."""
    if other := set(drawn) - set(taken.split()):
        option = min(other).replace("style", "figure")
        raise UsageError(f"--{option} is not for {what}", where=f"--{option}", remedy="leave it out")


def _place(directory: Path, kind: str, output: Path | None) -> Path:
    """The file to write to. Raises UsageError when its suffix says another format than that of a figure."""
    if kind == "html":
        path = output or own_place(directory, REPORT)
        if output is None:
            confined.is_ordinary(path, linked=False)  # a link in somebody else's directory leads elsewhere
        return path
    name = f"{'cells' if kind in TABLES else 'map'}.{kind}"
    path = output or own_place(directory, name)
    if output is None and directory.is_dir():  # a figure beside the journal, where a link would lead elsewhere
        confined.check_tree(directory, {each.name for each in directory.iterdir() if each.suffix[1:] in FIGURES})
    path = path / name if path.is_dir() else path
    if kind in TABLES:
        path.parent.mkdir(parents=True, exist_ok=True)
        return path
    suffix = path.suffix.lstrip(".").lower()
    if suffix != kind and suffix in (*FIGURES, *TABLES, "jpg", "jpeg", "eps", "html", "webp"):
        raise UsageError(
            f"{path.name} is not the name of a {kind} file", where="-o", remedy=f"write -o {path.stem}.{kind}"
        )
    return path
