# SPDX-License-Identifier: Apache-2.0
"""Open-loop latency from the time each I/O was meant to start, not from when a late generator got round to it.

A generator that waits for slow I/Os starts the next ones late and leaves their waiting out of the latency (coordinated
omission; fio's clock starts after its rate sleep). With constant pacing and one record for each I/O the intended times
are known.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ioatlas.model.errors import UsageError
from ioatlas.stats.warmup import Floats, as_series

METHOD = "intended-constant/1"
OFFERED_SHARE = 0.99
CHANCE = 4.0
"""Standard deviations: many streams at many load points are judged, and none should be called late by chance."""
LATE_NS = 10e6
OWN_WAIT_PERCENT = 95
"""Of the recorded latencies: so long a job that finishes what it has in flight before it sleeps is late by itself."""
START_SECONDS = 0.05
"""What the start and the end of a run may take of its time."""


@dataclass(frozen=True)
class OpenLoop:
    """Open-loop view of one paced job.

    latency_ns: shape (n,), in the order of starting: from intended start to completion, less what the generator itself
                waited: at least the recorded latency, up to the resolution of the log.
    overloaded: less than 99% of the I/Os that were due completed, from the first start to the last completion due, or
                they start ever later at the end: percentiles then are lower bounds that grow with the run's length.
    """

    latency_ns: Floats
    overloaded: bool
    reason: str


def intended_latency(
    completion_ns: Floats, latency_ns: Floats, rate_iops: float, *, resolution_ns: float = 0.0, drains: bool = False
) -> OpenLoop:
    """Latency from the intended time for one job paced at `rate_iops` with constant gaps. The first I/O is taken as due
    at the latest time for which none starts before it is due, so every latency is a lower bound (by the first I/O's own
    lateness).

    completion_ns, latency_ns: shape (n,), one record for each I/O: time of completion on any clock, and recorded
                               latency (start to completion).
    resolution_ns: of the completion times, cut off to multiples of it. Lateness that this could have made up does not
    count, so that latencies stay lower bounds: by twice the resolution at most.
    drains: the job has room for several I/Os in flight and waits for all of them before it sleeps, as fio does. An I/O
    that comes due meanwhile starts late though the target would have taken it. Lateness up to the 95th percentile of
    the recorded latencies is taken for that wait and not charged; what goes beyond is the target's. Latencies then are
    lower bounds by at most that percentile.
    """
    completion, latency = as_series(completion_ns), as_series(latency_ns)
    if completion.size != latency.size or completion.size == 0:
        raise UsageError(f"{completion.size} completions with {latency.size} latencies", remedy="pass one for each I/O")
    if rate_iops <= 0 or not np.all(np.isfinite(completion)) or not np.all(latency >= 0):
        raise UsageError(
            "intended times need a positive rate, finite times and latencies of at least 0",
            remedy="check the per-I/O log",
        )
    order = np.argsort(completion - latency, kind="stable")
    completion, latency = completion[order], latency[order]
    started = completion - latency
    n = completion.size
    gap = 1e9 / rate_iops
    due = np.arange(n) * gap
    first = float(np.min(started - due))
    lag = np.maximum(started - (due + first) - resolution_ns, 0.0)
    own_wait = float(np.percentile(latency, OWN_WAIT_PERCENT)) if drains else 0.0
    intended = latency + np.maximum(lag - own_wait, 0.0)
    span = float(completion.max() - first)
    # The last I/O's own service belongs to no further arrival.
    offered = max(1.0, (span - float(np.median(latency))) * rate_iops / 1e9 + 1)
    share = min(1.0, n / offered)
    tail = max(1, n // 10)
    early = float(np.median(lag[n // 2 - tail // 2 : n // 2 + tail // 2 + 1]))
    late = float(np.median(lag[-tail:]))
    growing = n >= 50 and late > 1.5 * early and late > max(10 * gap, 2 * float(np.median(latency)))
    reason = ""
    if share < OFFERED_SHARE:
        reason = f"{share:.1%} of the offered rate achieved"
    elif growing:
        reason = f"lag grows: {early / 1e6:.2f} ms half way, {late / 1e6:.2f} ms at the end"
    return OpenLoop(intended, bool(reason), reason)


def intended_from(completion_ns: Floats, latency_ns: Floats, due_ns: Floats, *, resolution_ns: float = 0.0) -> OpenLoop:
    """Latency from intended times that are known one by one, such as those of a trace. Arrays in the order given.

    completion_ns, latency_ns, due_ns: shape (n,), completion and due time of each I/O on clocks that differ by a
    constant: the first is taken as the latest for which no I/O starts before it is due, so every latency is a lower
    bound. resolution_ns: as in `intended_latency`.
    Overloaded: at its end (the last tenth) the run is late by more than 1% of its length and more than 10 ms; what was
    made up for does not count.
    """
    completion, latency, due = as_series(completion_ns), as_series(latency_ns), as_series(due_ns)
    if not completion.size == latency.size == due.size or completion.size == 0:
        raise UsageError(
            f"{completion.size} completions, {latency.size} latencies, {due.size} due times",
            remedy="pass one of each for each I/O",
        )
    if not np.all(np.isfinite(completion)) or not np.all(np.isfinite(due)) or not np.all(latency >= 0):
        raise UsageError("intended times need finite times and latencies of at least 0", remedy="check the per-I/O log")
    started = completion - latency
    due = due + float(np.min(started - due))
    lag = np.maximum(started - due - resolution_ns, 0.0)
    length = float(np.ptp(due))
    tail = np.argsort(due, kind="stable")[-max(1, due.size // 10) :]
    late = float(np.median(lag[tail]))
    reason = (
        f"late by {late / 1e6:.0f} ms at the end of a trace of {length / 1e9:.3g} s"
        if late > max(0.01 * length, LATE_NS)
        else ""
    )
    return OpenLoop(latency + lag, bool(reason), reason)


@dataclass(frozen=True)
class Backlog:
    """How far a generator was behind at the end of a run, in I/Os.

    due: I/Os that should have arrived. behind: due less those done. chance: what the randomness of arrivals explains
    (four standard deviations, 0 for constant gaps) plus those that may rightly be in flight. overloaded: behind by more
    than 1% and by more than chance.
    """

    due: float
    behind: float
    chance: float
    overloaded: bool

    @property
    def reason(self) -> str:
        """Why the load is overloaded; '' when it is not."""
        return (
            f"{1 - self.behind / self.due:.1%} of the offered rate achieved, {self.behind:.0f} I/Os behind"
            if self.overloaded
            else ""
        )


def backlog(
    done: int, offered_iops: float, seconds: float, *, poisson: bool, lat_mean_ns: float | None = None, jobs: int = 1
) -> Backlog:
    """Backlog of a paced load from its totals alone, for arrivals whose times are not known one by one.

    The number of Poisson arrivals in a time has a variance equal to its mean. In flight at the end by Little's law:
    rate x mean latency, and one for each job that waits for its next time; what falls into the start and the end of a
    run is not held against it.
    """
    due = offered_iops * seconds
    behind = max(0.0, due - done)
    in_flight = min(done, offered_iops * (lat_mean_ns or 0.0) / 1e9) if behind < due / 2 else 0.0
    start = START_SECONDS * offered_iops
    chance = (CHANCE * due**0.5 if poisson else 0.0) + jobs + in_flight + start
    return Backlog(due, behind, chance, behind > (1 - OFFERED_SHARE) * due and behind > chance)
