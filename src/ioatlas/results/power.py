# SPDX-License-Identifier: Apache-2.0
"""What a comparison could find, from the visits a campaign has so far."""

from __future__ import annotations

from ioatlas.analysis.many import effect_for
from ioatlas.analysis.power import PowerForetold, foretell, noise_of
from ioatlas.errors import UsageError
from ioatlas.results.sides import Side, align


def power_of(
    side: Side,
    *,
    tolerance: float,
    pairs: int = 1,
    cells: int | None = None,
    visits: float | None = None,
    apart_seconds: float | None = None,
) -> PowerForetold:
    """Of two campaigns with this side's noise, and its cells and visits where no others are given.

    Raises UsageError when too little is known of its noise.
    """
    noise = noise_of(align([side]).readings[0]) if side.repeated else None
    if noise is None:
        raise UsageError(
            "its noise is not known: too few cells have two visits",
            where=side.origin,
            remedy="go on with `ioatlas resume`, or name a campaign of a like target",
        )
    return foretell(
        noise,
        cells=cells,
        visits=visits,
        pairs=pairs,
        tolerance=tolerance,
        effect=effect_for(tolerance),
        apart_seconds=apart_seconds,
    )
