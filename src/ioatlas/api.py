# SPDX-License-Identifier: Apache-2.0
"""I/O Atlas from Python: plan, measure, load, compare and export, as the command line does.

result = api.measure(api.plan('target = {path = "/mnt/nas"}'), Path("nas-1"))  # the text of a campaign file
api.export(result, Path("nas-1.png"))

These functions stay as they are within a major version. What they return is described where it is defined; rates are in
bytes and I/Os per second, latencies in nanoseconds. All raise IoAtlasError, which says what, where and what to do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from ioatlas.answer.analysis.summary import summarise
from ioatlas.answer.results.comparison import compare_sides as compare
from ioatlas.answer.results.only import only, parse_filter
from ioatlas.measure.procedures.options import CAMPAIGN
from ioatlas.measure.procedures.registry import load_result
from ioatlas.model.errors import UsageError, written
from ioatlas.model.outcomes import Emit
from ioatlas.model.result import CampaignResult
from ioatlas.model.summary import Headline

if TYPE_CHECKING:
    from ioatlas.measure.run.plan import Plan
    from ioatlas.measure.run.procedure import Procedure
    from ioatlas.plan.spec import CampaignSpec

__all__ = ["compare", "export", "headlines", "load", "measure", "plan", "write"]
TEXTS = ("csv", "json", "md", "bbcode")
FORMATS = (*TEXTS, "html", "png", "svg", "pdf")


def plan(
    asked: str | CampaignSpec, *, read_only: bool = False, facts: Path | None = None, procedure: Procedure | None = None
) -> Plan:
    """What the text of a campaign file asks for: its targets opened, its loads planned. Writes nothing.

    facts, procedure: as of `open_plan`. Raises IoAtlasError for what the start of the campaign would refuse.
    """
    from ioatlas.load.fio.executor import SystemExecutor
    from ioatlas.measure.campaign import check_read_only, open_plan
    from ioatlas.measure.procedures.registry import procedure_of_plan

    spec = CAMPAIGN.read(asked) if isinstance(asked, str) else asked
    found = open_plan(spec, read_only=read_only, facts=facts, procedure=procedure)
    procedure_of_plan(found).check_start(found, SystemExecutor())
    if read_only:
        check_read_only(found)
    return found


def measure(
    asked: Plan,
    directory: Path,
    *,
    destroy: str | None = None,
    emit: Emit = lambda _: None,
    stop_asked: Callable[[], bool] = lambda: False,
) -> CampaignResult:
    """Measure in a new campaign that is kept in `directory`, and load its result.

    destroy: what must be typed before a target is written that may hold data. emit: is called with each event. Raises
    PartialResultError where it ended early: finished visits are kept, and `load` and `ioatlas resume` work.
    """
    from ioatlas.measure.campaign import run, start

    run(start(asked, directory, destroy=destroy), emit=emit, stop_asked=stop_asked)
    return load(directory)


def load(directory: Path, where: Sequence[str] = ()) -> CampaignResult:
    """The result of the campaign in `directory`. where: only loads with these values, such as 'bs=4k,64k'."""
    return only(load_result(directory), parse_filter(where))


def headlines(result: CampaignResult) -> tuple[Headline, ...]:
    """The main numbers of a result, each with its interval and grade."""
    return summarise(result).headlines


def write(result: CampaignResult, kind: str, out: TextIO) -> None:
    """Write a result as a text: 'csv', 'json', or its answer as Markdown ('md') or BBCode, to paste it elsewhere."""
    from ioatlas.report.export.to_json import write_json
    from ioatlas.report.screen import pasted
    from ioatlas.report.table import write_csv

    if kind in ("csv", "json"):
        (write_csv if kind == "csv" else write_json)(result, out)
    else:
        out.write(pasted(result, kind))


def export(
    result: CampaignResult,
    path: Path,
    quantity: str = "",
    *,
    kind: str = "",
    place: Path | None = None,
    columns: int = 0,
    **drawn: str,
) -> Sequence[Path]:
    """Write a result as the suffix of its file says: a text, the report, or a figure. Returns the files.

    quantity: what the map shows: 'bw', 'iops', 'lat_mean' or 'lat_p99'. kind: in the place of the suffix. place: the
    campaign's directory. columns, drawn: of figures, as of `write_figures`; a campaign that has charts of its own is
    drawn as these where nothing is named, or by style='charts'.
    """
    kind = kind or path.suffix.lstrip(".").lower()
    if kind not in FORMATS:
        raise UsageError(f"{path.name} names no format", where=str(path), remedy=f"end it in {', '.join(FORMATS)}")
    with written(path, "name another place"):
        if kind == "html":
            from ioatlas.report.page import write_report

            write_report(result, path, place=place)
        elif kind in TEXTS:
            with path.open("w", encoding="utf-8", newline="") as out:
                write(result, kind, out)
        else:
            from ioatlas.report.export.own import STYLES, has_own, own_drawing
            from ioatlas.report.export.to_figure import write_figures
            from ioatlas.report.export.to_panels import write_drawing

            if drawn.get("style") in STYLES or (has_own(result) and not (quantity or drawn)):
                return write_drawing(own_drawing(result), path, kind, columns)
            return write_figures(result, path, kind, quantity=quantity or "bw", columns=columns, **drawn)  # type: ignore[arg-type]
    return [path]
