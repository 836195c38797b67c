# SPDX-License-Identifier: Apache-2.0
"""`ioatlas replay`: the adaptive design against a recorded dense sweep instead of a device."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ioatlas.errors import IoAtlasError, UsageError
from ioatlas.model.map_model import Parameter
from ioatlas.model.purpose import DesignPurpose
from ioatlas.model.units import format_size

if TYPE_CHECKING:
    from ioatlas.design.recording import Recording
    from ioatlas.design.replay import Outcome, Sweep

LABEL = 11
"""Columns of the label of a line."""
EPILOG = """\b
Examples:
  ioatlas replay dense.csv --cells 96
  ioatlas replay dense.csv --cells 48 --seed 7 --json
"""


@click.command(epilog=EPILOG)
@click.argument("dense", metavar="DENSE.csv", type=click.Path(path_type=Path))
@click.option(
    "--cells",
    "-n",
    type=int,
    required=True,
    help="Distinct cells to measure: cliff pass, hold-out sample and repeats included.",
)
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Seed of every random choice.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of text.")
def command(dense: Path, cells: int, seed: int, as_json: bool) -> None:
    """Run the adaptive design against a recorded dense sweep, and judge its map by the cells it did not measure.

    Known columns: pass, rw, bs_bytes, size_bytes, numjobs, bw_bytes_per_s, iops, lat_mean_ns and lat_p99_ns. Any may be
    missing, and other columns may be axes. The k-th visit of a cell reads pass k. The truth of a cell is the geometric
    mean of its passes that were not read.
    """
    text = _read(dense)
    began = time.perf_counter()
    from ioatlas.design.adaptive import Settings
    from ioatlas.design.recording import read_recording
    from ioatlas.design.replay import replay, sweep_of

    recording = read_recording(text, str(dense))
    sweep = sweep_of(recording, str(dense))
    if not 1 <= cells <= len(sweep.space):
        raise UsageError(
            f"--cells {cells} is not possible: the sweep has {len(sweep.space)} cells",
            where=str(dense),
            remedy=f"ask for 1 to {len(sweep.space)} cells",
        )
    outcome = replay(sweep, Settings(cells=cells, seed=seed, visits_limit=min(2, sweep.passes)))
    seconds = time.perf_counter() - began
    result = _result(recording, sweep, outcome, seconds)
    if as_json:
        click.echo(json.dumps(result))
    else:
        _print(result)


def _read(path: Path) -> str:
    try:
        if path.suffix == ".gz":
            import gzip

            return gzip.decompress(path.read_bytes()).decode()
        return path.read_text()
    except (OSError, EOFError) as error:
        reason = getattr(error, "strerror", None) or "the compressed file is damaged"
        raise IoAtlasError(
            f"cannot read the sweep: {reason}", where=str(path), remedy="name a readable CSV file"
        ) from error
    except UnicodeDecodeError as error:
        raise IoAtlasError("the file is not text", where=str(path), remedy="name a CSV file in UTF-8") from error


def _result(recording: Recording, sweep: Sweep, outcome: Outcome, seconds: float) -> dict[str, Any]:
    from ioatlas.surrogate.explain import explain

    noise_median, noise_p90 = sweep.noise()
    stated = outcome.stated
    purposes: dict[str, int] = {}
    for reading in outcome.history:
        purposes[reading.request.purpose] = purposes.get(reading.request.purpose, 0) + 1
    return {
        "cells_total": outcome.cells_total,
        "cells_measured": outcome.cells_measured,
        "median_error": outcome.median_error,
        "p90_error": outcome.p90_error,
        "stated_median_error": stated.median,
        "stated_p90_error": stated.p90,
        "interval_cover": outcome.interval_cover,
        "noise_median": noise_median,
        "noise_p90": noise_p90,
        "compute_seconds": round(seconds, 3),
        "stated_median_low": stated.median_low,
        "stated_median_high": stated.median_high,
        "stated_p90_low": stated.p90_low,
        "stated_p90_high": stated.p90_high,
        "stated_interval_cover": stated.cover,
        "honesty_cells": stated.n,
        "interval_half_width": outcome.interval_half_width,
        "quantity": sweep.quantity,
        "passes": sweep.passes,
        "axes": {axis.name: len(axis.levels) for axis in sweep.space.axes if not axis.derived},
        "visits": len(outcome.history),
        "visits_by_purpose": purposes,
        "latency_median_errors": dict(outcome.latency_errors),
        "cliffs": [
            {
                "direction": e.direction,
                "axis": e.axis,
                "along": e.axis or ("size * numjobs" if e.exponent else "size"),
                "low": e.low,
                "high": e.high,
                "drop": e.drop,
            }
            for e in outcome.edges
        ],
        "weak_regimes": [vars(regime) for regime in outcome.weak_regimes],
        "parameters": [vars(parameter) for parameter in explain(outcome.model)],
        "notes": list(recording.left_out),
    }


def _print(result: dict[str, Any]) -> None:
    from functools import partial

    from ioatlas.cli._fold import say
    from ioatlas.design.recording import SIZE_AXES
    from ioatlas.results.predicted import parameter_sentence

    tell = partial(say, indent=LABEL)

    def percent(value: float | None) -> str:
        return "unknown" if value is None else f"{100 * value:.1f}%"

    axes = ", ".join(f"{name} ({levels})" for name, levels in result["axes"].items())
    tell(f"sweep      {result['cells_total']} cells, {result['passes']} pass(es): {axes}; {result['quantity']}")
    tell(
        f"measured   {result['cells_measured']} cells in {result['visits']} visits: "
        + ", ".join(f"{DesignPurpose(name).told} {count}" for name, count in result["visits_by_purpose"].items())
    )
    tell(f"noise      median {percent(result['noise_median'])}, P90 {percent(result['noise_p90'])} between passes")
    tell(
        f"error      median {percent(result['median_error'])}, P90 {percent(result['p90_error'])} on the cells not "
        "measured"
    )
    cells = result["honesty_cells"]
    if result["stated_median_error"] is None:
        tell(
            f"stated     unknown: {cells} random {'cell was' if cells == 1 else 'cells were'} predicted before being "
            "measured, 3 are needed"
        )
    else:
        ends = {
            end: percent(result[f"stated_{end}"])
            for end in ("median_error", "median_low", "median_high", "p90_error", "p90_low", "p90_high")
        }
        tell(
            f"stated     median {ends['median_error']} ({ends['median_low']} to {ends['median_high']}), P90 "
            f"{ends['p90_error']} "
            f"({ends['p90_low']} to {ends['p90_high']}), from {cells} random cells predicted before they were measured"
        )
    tell(
        f"intervals  {percent(result['interval_cover'])} of the 90% intervals hold the truth; half-width "
        f"{percent(result['interval_half_width'])}"
    )
    for cliff in result["cliffs"]:
        size = not cliff["axis"] or cliff["axis"] in SIZE_AXES
        low, high = (format_size(int(cliff[side])) if size else f"{cliff[side]:g}" for side in ("low", "high"))
        kind = "step " if cliff["axis"] else "cliff"
        tell(
            f"{kind}      {cliff['direction'] or 'all'}: {cliff['along']} between {low} and {high}, "
            f"{cliff['drop']:.2f} times as fast below"
        )
    for regime in result["weak_regimes"]:
        state = "measure it, do not believe it" if regime["failing"] else "no longer beyond the limit"
        tell(
            f"weak       {regime['name']}: {percent(regime['median_error'])} off in the median; {regime['measured']} "
            f"of {regime['cells']} cells measured, "
            f"{regime['dense']} because the model failed there; {state}"
        )
    for p in result["parameters"]:
        if p["known"]:
            tell(f"parameter  {parameter_sentence(Parameter(**p))}")
    for note in result["notes"]:
        tell(f"note       {note}")
    tell(f"computing  {result['compute_seconds']:.2f} s")
