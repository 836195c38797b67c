# SPDX-License-Identifier: Apache-2.0
"""What goes wrong with a simulated target, and when."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from tests.simulate.jobs import SimulatedJob


class FaultKind(StrEnum):
    """What goes wrong: of single jobs the first two, of the whole process the others."""

    IO_ERROR = "io error"
    NO_SPACE = "no space"
    EXIT = "exit"
    HANG = "hang"
    UNKILLABLE = "unkillable"
    CUT_OUTPUT = "cut output"


OF_JOBS = {FaultKind.IO_ERROR: 5, FaultKind.NO_SPACE: 28}
"""The error that fio reports."""


STUCK = frozenset({FaultKind.HANG, FaultKind.UNKILLABLE})
"""What strikes at any time, not at the start of a process alone."""


@dataclass(frozen=True)
class Fault:
    """Something that goes wrong between two moments (seconds since the executor began).

    jobs: options that a job must have to be hit; a hit of a process needs one such job. Empty: all.
    share: how far a job gets before it fails. text: what the process says (EXIT). times: how often at most.
    """

    kind: FaultKind
    from_seconds: float = 0.0
    until_seconds: float = math.inf
    jobs: Mapping[str, str] = field(default_factory=dict)
    share: float = 0.5
    text: str = "fio: something went wrong"
    times: int = 1 << 30

    def hits(self, job: SimulatedJob) -> bool:
        """Whether a job has the options."""
        writes = self.kind is FaultKind.NO_SPACE
        return all(job.options.get(name) == value for name, value in self.jobs.items()) and (
            not writes or "write" in job.directions
        )


class Faults:
    """The faults of one executor, and how often each has struck."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        self._faults = list(faults)
        self._struck = [0] * len(self._faults)

    def of_process(self, jobs: Sequence[SimulatedJob], begin: float) -> Fault | None:
        """What strikes a whole process that starts now."""
        return self._first(jobs, begin, begin, lambda fault: fault.kind not in OF_JOBS)

    def while_running(self, jobs: Sequence[SimulatedJob], begin: float, end: float) -> Fault | None:
        """What makes a process stand still that would run from `begin` to `end`."""
        return self._first(jobs, begin, end, lambda fault: fault.kind in STUCK)

    def of_job(self, job: SimulatedJob, now: float) -> Fault | None:
        """What strikes a job that starts now."""
        return self._first([job], now, now, lambda fault: fault.kind in OF_JOBS)

    def _first(
        self, jobs: Sequence[SimulatedJob], begin: float, end: float, wanted: Callable[[Fault], bool]
    ) -> Fault | None:
        for place, fault in enumerate(self._faults):
            if (
                wanted(fault)
                and fault.from_seconds <= end
                and begin < fault.until_seconds
                and self._struck[place] < fault.times
                and (any(fault.hits(job) for job in jobs) or not (jobs or fault.jobs))
            ):
                self._struck[place] += 1
                return fault
        return None


class Killed(BaseException):
    """The death of the process that runs the campaign: nothing handles it."""
