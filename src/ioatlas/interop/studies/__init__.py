# SPDX-License-Identifier: Apache-2.0
"""The loads of profiles that an option cannot say: standard-like loads as workloads, and sequences of fixed work."""

from __future__ import annotations

from dataclasses import dataclass

from ioatlas.errors import UsageError
from ioatlas.model.workload import Workload

NAMES = ("emerald-like", "spc1-like", "spc1e-like")


@dataclass(frozen=True)
class Study:
    """workloads: in the order they run. remarks: what is done differently from the source and why, a sentence each."""

    workloads: tuple[Workload, ...]
    remarks: tuple[str, ...] = ()


def study(name: str, size_bytes: int) -> Study:
    """The standard-like load of that name on a target of `size_bytes`. Raises UsageError."""
    from ioatlas.interop.studies.standards import emerald_like, spc1_like, spc1e_like

    builders = {"emerald-like": emerald_like, "spc1-like": spc1_like, "spc1e-like": spc1e_like}
    if name not in builders:
        raise UsageError(f"there is no study {name!r}", where="study", remedy="name one of " + ", ".join(NAMES))
    return builders[name](size_bytes)
