# SPDX-License-Identifier: Apache-2.0
"""Published studies and standard-like loads as workloads: data that a profile can run, and what it does differently
from its source.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass

from ioatlas.errors import UsageError
from ioatlas.model.workload import Workload


@dataclass(frozen=True)
class Study:
    """One study.

    workloads: in the order they run when `ordered`, else in any.
    repeats:   how often the source ran each; visits take its place.
    remarks:   what is done differently and why, one sentence each.
    unsure:    parameters recalled rather than read in a source: with any of them the study does not claim to conform.
    """

    name: str
    summary: str
    workloads: tuple[Workload, ...]
    ordered: bool = False
    repeats: int = 1
    remarks: tuple[str, ...] = ()
    unsure: tuple[str, ...] = ()


_WHERE = {
    "iozone2017": "published",
    "diskspd2016": "published",
    "xdd2008": "published",
    "nascharts2008": "published",
    "orion": "published",
    "snia-pts": "standards",
    "emerald-like": "standards",
    "spc1-like": "spc1",
    "spc1e-like": "spc1",
}
NAMES = tuple(_WHERE)


def study(name: str, size_bytes: int | None = None) -> Study:
    """The study of that name on a target of `size_bytes` (None: the size the source used). Raises UsageError."""
    if name not in _WHERE:
        raise UsageError(f"there is no study {name!r}", where="study", remedy="name one of " + ", ".join(NAMES))
    module = importlib.import_module(f"{__name__}.{_WHERE[name]}")
    builders: dict[str, Callable[[int | None], Study]] = module.BUILDERS
    return builders[name](size_bytes)


def round_of(name: str, size_bytes: int, record_bytes: int, *, direct: bool) -> tuple[Workload, ...]:
    """One fixed-work sequence: operations on one new file, each of which needs the one before. Raises UsageError."""
    from ioatlas.interop.studies.published import ROUNDS

    if name not in ROUNDS:
        raise UsageError(f"the study {name!r} has no order", where="study", remedy="name one of " + ", ".join(ROUNDS))
    return ROUNDS[name](size_bytes, record_bytes, direct=direct)
