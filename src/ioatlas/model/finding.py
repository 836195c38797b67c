# SPDX-License-Identifier: Apache-2.0
"""Findings: the sentences of a report, what each is about, and its evidence."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class FindingCode(StrEnum):
    """The kind of a finding. The texts stand in exports and pages, and stay as they are."""

    ABOVE_CEILING = "above-ceiling"
    BALANCE = "balance"
    BURST = "burst"
    CACHE = "cache"
    CACHE_SIZE = "cache-size"
    CLIENT_LIMITED = "client-limited"
    CLIENTS = "clients"
    CLOCK = "clock"
    CORRUPTION = "corruption"
    COUNTERS = "counters"
    DATA_REDUCTION = "data-reduction"
    DRIFT = "drift"
    ENGINES = "engines"
    EXPLAINED = "explained"
    FACTOR = "factor"
    FAIRNESS = "fairness"
    FIT = "fit"
    FLUSHES = "flushes"
    HIGHEST_LOAD = "highest-load"
    IMPORTED = "imported"
    INTEGRITY = "integrity"
    KNEE = "knee"
    LIMIT = "limit"
    LIMITED = "limited"
    LITTLES_LAW = "littles-law"
    METHOD = "method"
    NO_DATA_REDUCTION = "no-data-reduction"
    NO_DIFFERENCE = "no-difference"
    NOT_MEASURED = "not-measured"
    OPERATIONS = "operations"
    OVERLOADED = "overloaded"
    POWER = "power"
    PRECISION = "precision"
    ROUNDS = "rounds"
    TOGETHER = "together"
    UNDETERMINED = "undetermined"
    WORK_BOUNDED = "work-bounded"


@dataclass(frozen=True)
class Finding:
    """A sentence with its evidence. Programs read the fields; only people read the sentence.

    cells: keys of the cells that are the evidence; of a mix with several directions only the values of `direction`.
    target, direction: of its evidence, where that is one; '' where it is of several, or of none.
    title: a few words, no two findings of a result alike.
    place: section of the report that holds the evidence where no cell does.
    in_order: a check that could have found trouble found none.
    """

    code: FindingCode
    sentence: str
    cells: tuple[str, ...] = ()
    title: str = ""
    place: str = ""
    in_order: bool = False
    target: str = ""
    direction: str = ""


def common(values: Iterable[str]) -> str:
    """The value that all have in common; '' when they differ, or there is none."""
    known = set(values)
    return known.pop() if len(known) == 1 else ""
