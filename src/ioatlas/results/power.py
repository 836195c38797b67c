# SPDX-License-Identifier: Apache-2.0
"""What a comparison could find, from the visits a campaign has so far."""

from __future__ import annotations

from collections.abc import Sequence

from ioatlas.analysis.compare import Reading, between_set_ups
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
    set_ups: int | None = None,
    among: Sequence[Side] = (),
) -> PowerForetold:
    """Of two campaigns with this side's noise, and its cells, visits and set-ups where no others are given.

    among: all sides, where several are compared. Those of one campaign say together what moves between set-ups.
    Raises UsageError when too little is known of its noise.
    """
    ours = [one for one in among if one.directory == side.directory and one.repeated]
    moved = between_set_ups(*map(_readings, ours)) if len(ours) > 1 else None
    noise = noise_of(align([side]).readings[0], moved=moved) if side.repeated else None
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
        set_ups=side.set_ups if set_ups is None else set_ups,
        pooled=max(2, len(ours)),
    )


def _readings(side: Side) -> list[Reading]:
    return [reading for values in side.readings.values() for reading in values]
