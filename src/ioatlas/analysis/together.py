# SPDX-License-Identifier: Apache-2.0
"""Several targets loaded together: what each got, who starves, and whether they share what limits them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import NormalDist

from ioatlas.analysis.factors import ratio_of
from ioatlas.analysis.shares import GAIN, Sharers
from ioatlas.analysis.wording import Namer
from ioatlas.model.cell import TARGETS
from ioatlas.model.estimate import UNDETERMINED, Estimate, Limit
from ioatlas.model.factors import Measured
from ioatlas.model.finding import FindingCode
from ioatlas.model.load_curve import Spread


def _ratio(e: Estimate, first: Estimate) -> Spread:
    one, other = (Measured(each.bw_bytes_per_s or 0.0, each.bw_low, each.bw_high, each.n_visits) for each in (e, first))
    return ratio_of(one, other)


def _gain_told(e: Estimate, first: Estimate) -> str:
    """'5 targets together give 1.02 times (0.99 to 1.05) what one gives'"""
    ratio = _ratio(e, first)
    within = f" ({ratio.low:.2f} to {ratio.high:.2f})" if ratio.low is not None and ratio.high is not None else ""
    one = "one" if first.cell.n_targets == 1 else str(first.cell.n_targets)
    return f"{e.cell.n_targets} targets together give {ratio.value:.2f} times{within} what {one} gives"


def _targets_say(line: Sequence[Estimate], namer: Namer) -> tuple[str, str]:
    """What more targets add."""
    last, limit = line[-1], limit_of(line[-1], line[0])
    title = "What limits the targets together is not clear"
    if limit.determined:
        title = "What the targets share is the limit" if limit.resource == SHARED else "Each target adds its own"
    return title, f"{limit.evidence[0]} ({last.direction}{namer.on(last.cell.target)})."


AMONG_TARGETS = Sharers(
    "target",
    FindingCode.TOGETHER,
    TARGETS,
    lambda cell: cell.n_targets,
    lambda visit: visit.targets,
    lambda e: e.targets,
    _targets_say,
    "Throughput while all were loaded; latencies over the whole time of each. Done: how long after the first one.",
    done=True,
    drawn=True,
)


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
    found = {}
    for line in AMONG_TARGETS.lines(estimates).values():
        for e in line[1:]:
            if e.cell.n_targets > line[0].cell.n_targets:
                found[e.cell.key, e.direction] = limit_of(e, line[0])
    several = {(e.cell.key, e.direction) for e, _ in AMONG_TARGETS.measured(estimates) if e.cell.n_targets > 1}
    alone = Limit(UNDETERMINED, evidence=(VARY,))
    return tuple(
        replace(e, limit=found.get(place, alone))
        if (place := (e.cell.key, e.direction)) in several and (e.limit is None or not e.limit.determined)
        else e
        for e in estimates
    )


def limit_of(e: Estimate, first: Estimate) -> Limit:
    """Of a cell with more targets than `first`, whose load is otherwise the same."""
    told = _gain_told(e, first)
    ratio = _ratio(e, first)
    if ratio.low is None or ratio.high is None:
        return Limit(UNDETERMINED, evidence=(f"{told}; there is no interval for it",))
    times = e.cell.n_targets / first.cell.n_targets
    spread = max(math.log(ratio.high / ratio.low) / 2 / _Z95, 1e-3)
    normal, seen = NormalDist(0.0, spread), math.log(ratio.value)
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
