# SPDX-License-Identifier: Apache-2.0
"""Findings: what a report says, as codes and values; `ioatlas.report.findings` puts them into words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias


class FindingCode(StrEnum):
    """The kind of a finding. The texts stand in exports and pages, and stay as they are."""

    BALANCE = "balance"
    BURST = "burst"
    CACHE = "cache"
    CACHE_SIZE = "cache-size"
    CLIENTS = "clients"
    CLOCK = "clock"
    CORRUPTION = "corruption"
    COUNTERS = "counters"
    DATA_REDUCTION = "data-reduction"
    DRIFT = "drift"
    ENGINES = "engines"
    FACTOR = "factor"
    FAIRNESS = "fairness"
    FIT = "fit"
    FLUSHES = "flushes"
    HIGHEST_LOAD = "highest-load"
    IMPORTED = "imported"
    INTEGRITY = "integrity"
    KNEE = "knee"
    LIMIT = "limit"
    LITTLES_LAW = "littles-law"
    METHOD = "method"
    NO_DATA_REDUCTION = "no-data-reduction"
    NOT_MEASURED = "not-measured"
    OPERATIONS = "operations"
    OVERLOADED = "overloaded"
    POWER = "power"
    PRECISION = "precision"
    ROUNDS = "rounds"
    TOGETHER = "together"
    UNDETERMINED = "undetermined"
    WORK_BOUNDED = "work-bounded"


Value: TypeAlias = "str | int | float | bool | Sequence[Value] | Mapping[str, Value] | None"
"""As JSON holds it: rates in bytes a second, latencies in nanoseconds, shares of one. None: not known, or none."""


@dataclass(frozen=True)
class Finding:
    """What is to be said, with its evidence.

    cells: keys of the cells that are the evidence; of a mix with several directions only the values of `direction`.
    target, direction: of its evidence, where that is one; '' where it is of several, or of none.
    place: section of the report that holds the evidence where no cell does.
    in_order: a check that could have found trouble found none.
    """

    code: FindingCode
    values: Mapping[str, Value] = field(default_factory=dict)
    cells: tuple[str, ...] = ()
    place: str = ""
    in_order: bool = False
    target: str = ""
    direction: str = ""


def common(values: Iterable[str]) -> str:
    """The value that all have in common; '' when they differ, or there is none."""
    known = set(values)
    return known.pop() if len(known) == 1 else ""
