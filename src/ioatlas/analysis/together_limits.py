# SPDX-License-Identifier: Apache-2.0
"""What limits targets that are loaded together: something that they share, or what each has of its own.

It follows from what more of them add. Paths and counters are those of one target, and judge no group.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import NormalDist

from ioatlas.analysis.shares import GAIN, lines_over
from ioatlas.analysis.together import gain_told, ratio_of
from ioatlas.model.cell import TARGETS
from ioatlas.model.estimate import Estimate
from ioatlas.model.limit import UNDETERMINED, Limit

SHARED = "what the targets share"
"""A controller, a link, a switch, or the client: from this side they are one."""
OWN = "each target"
VARY = "Load different numbers of them (`targets = [1, 2, 5]`) to tell what they share from what each has."
_MOST_SURE, _LIKELIER = 0.97, 0.5
_Z95 = 1.96


def with_group_limits(estimates: Sequence[Estimate]) -> tuple[Estimate, ...]:
    """The estimates, those of several targets together with what limits them as far as more of them tell it.

    What is known otherwise stays: a client that is fully busy is what they share.
    """
    loaded = [e for e in estimates if e.kind == "measured" and e.targets is not None and e.bw_bytes_per_s]
    found = {}
    for line in lines_over(loaded, TARGETS, lambda cell: cell.n_targets).values():
        for e in line[1:]:
            if e.cell.n_targets > line[0].cell.n_targets:
                found[e.cell.key, e.direction] = limit_of(e, line[0])
    several = {(e.cell.key, e.direction) for e in loaded if e.cell.n_targets > 1}
    alone = Limit(UNDETERMINED, evidence=(VARY,))
    return tuple(
        replace(e, limit=found.get(place, alone))
        if (place := (e.cell.key, e.direction)) in several and (e.limit is None or not e.limit.determined)
        else e
        for e in estimates
    )


def limit_of(e: Estimate, first: Estimate) -> Limit:
    """Of a cell with more targets than `first`, whose load is otherwise the same."""
    told = gain_told(e, first)
    ratio, low, high = ratio_of(e, first)
    if low is None or high is None or low <= 0:
        return Limit(UNDETERMINED, evidence=(f"{told}; there is no interval for it",))
    times = e.cell.n_targets / first.cell.n_targets
    spread = max(math.log(high / low) / 2 / _Z95, 1e-3)
    normal, seen = NormalDist(0.0, spread), math.log(ratio)
    shared = normal.cdf(math.log(1 + GAIN) - seen)
    own = normal.cdf(seen - math.log(max(1 + GAIN, (1 - GAIN) * times)))
    if shared >= _LIKELIER:
        return Limit(SHARED, evidence=(told,), probability=min(_MOST_SURE, shared))
    if own >= _LIKELIER:
        known = first.limit if first.limit is not None and first.limit.determined else None
        evidence = (told, *(known.evidence if known else ()))
        return Limit(known.resource if known else OWN, evidence=evidence, probability=min(_MOST_SURE, own))
    between = "more than one gives, less than all of them would apart"
    return Limit(UNDETERMINED, evidence=(f"{told}: {between}",))
