# SPDX-License-Identifier: Apache-2.0
"""I/O Atlas from Python: plan, measure, load, compare and export, as the command line does.

result = api.measure(api.plan('target = {path = "/mnt/nas"}'), Path("nas-1"))  # the text of a campaign file
api.export(result, Path("nas-1.png"))

These functions stay as they are within a major version. What they return is described where it is defined; rates are in
bytes and I/Os per second, latencies in nanoseconds. All raise IoAtlasError, which says what, where and what to do.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ioatlas.answer.analysis.summary import summarise
from ioatlas.answer.results.comparison import compare_sides as compare
from ioatlas.measure.campaign import load_result as load
from ioatlas.measure.campaign import open_plan, run, start
from ioatlas.measure.procedures.options import CAMPAIGN
from ioatlas.measure.run.plan import Plan
from ioatlas.model.errors import UsageError, written
from ioatlas.model.outcomes import Emit
from ioatlas.model.quantities import quantity as quantity_named
from ioatlas.model.result import CampaignResult
from ioatlas.model.summary import Headline
from ioatlas.report.export.grid import lay_out
from ioatlas.report.export.own import has_own, own_drawing
from ioatlas.report.export.to_figure import write_figures
from ioatlas.report.export.to_json import write_json
from ioatlas.report.export.to_panels import write_drawing
from ioatlas.report.page import write_report
from ioatlas.report.table import write_csv

__all__ = ["compare", "export", "headlines", "load", "measure", "plan"]
FORMATS = ("csv", "json", "html", "png", "svg", "pdf")


def plan(text: str) -> Plan:
    """What the text of a campaign file asks for: its targets opened, its loads planned. Writes nothing."""
    return open_plan(CAMPAIGN.read(text))


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
    run(start(asked, directory, destroy=destroy), emit=emit, stop_asked=stop_asked)
    return load(directory)


def headlines(result: CampaignResult) -> tuple[Headline, ...]:
    """The main numbers of a result, each with its interval and grade."""
    return summarise(result).headlines


def export(result: CampaignResult, path: Path, quantity: str = "bw") -> None:
    """Write a result as the suffix of its file says: a table, all values, the report, or a figure.

    quantity: what the map shows: 'bw', 'iops', 'lat_mean' or 'lat_p99'.
    """
    kind = path.suffix.lstrip(".").lower()
    if kind not in FORMATS:
        raise UsageError(f"{path.name} names no format", where=str(path), remedy=f"end it in {', '.join(FORMATS)}")
    with written(path, "name another place"):
        if kind == "html":
            write_report(result, path)
        elif kind in ("csv", "json"):
            with path.open("w", encoding="utf-8", newline="") as out:
                (write_csv if kind == "csv" else write_json)(result, out)
        elif has_own(result):
            write_drawing(own_drawing(result), path)
        else:
            write_figures(result, lay_out(result), quantity_named(quantity), path, kind)  # type: ignore[arg-type]
