# SPDX-License-Identifier: Apache-2.0
"""`--metrics`, and the one listener of a call behind it."""

from __future__ import annotations

from pathlib import Path

import click

from ioatlas.cli._arguments import path_option
from ioatlas.model.events import Emit

_KEY = "ioatlas.metrics"


def _begin(context: click.Context, _: click.Parameter, place: Path | None) -> None:
    """Remember the place; the file is written when something is measured."""
    if place is not None:
        from ioatlas.metrics.listener import check_place

        check_place(place)
        context.meta[_KEY] = place


metrics_option = path_option(
    "--metrics",
    metavar="FILE",
    callback=_begin,
    expose_value=False,
    help="Metrics for Prometheus: a file for node_exporter (.prom).",
)


def with_metrics(emit: Emit) -> Emit:
    """The listener, and behind it the metrics where they were asked for. They end with the call."""
    from ioatlas.metrics.listener import Metrics

    context = click.get_current_context(silent=True)
    place = context.meta.get(_KEY) if context is not None else None
    if context is None or place is None:
        return emit
    metrics = context.meta.get(f"{_KEY}.listener")
    if metrics is None:
        metrics = Metrics(place)
        context.meta[f"{_KEY}.listener"] = metrics
        context.call_on_close(metrics.close)
    return metrics.behind(emit)
