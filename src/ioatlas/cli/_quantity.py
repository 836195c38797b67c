# SPDX-License-Identifier: Apache-2.0
"""What commands look at: a quantity by its short name, and a part of the loads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

WORDS = {"bw": "throughput", "iops": "IOPS", "lat_mean": "mean latency", "lat_p99": "99th percentile of latency"}


def quantity_option(meaning: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """`--quantity`, with what it is the quantity of."""
    return click.option("--quantity", type=click.Choice(tuple(WORDS)), default="bw", show_default=True, help=meaning)


where_option = click.option(
    "--where",
    metavar="OPTION=VALUE[,VALUE]",
    multiple=True,
    help="Only loads with these values; give it once an option.",
)
