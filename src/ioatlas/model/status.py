# SPDX-License-Identifier: Apache-2.0
"""The states that visits, batches and sections of a batch can be in, and the kinds of remarks. The texts are those of
the journal.
"""

from __future__ import annotations

from enum import StrEnum


class VisitStatus(StrEnum):
    """How far a visit is."""

    PLANNED = "planned"
    DONE = "done"
    DISCARDED = "discarded"
    """Made, and taken out of every figure."""
    FAILED = "failed"
    DROPPED = "dropped"
    """Given up before it was made."""


class BatchStatus(StrEnum):
    """How far a batch is."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


class SectionState(StrEnum):
    """How a section of a batch ended."""

    FINISHED = "finished"
    CUT_SHORT = "cut-short"
    """Stopped before its time: it may be made again."""
    OVER_RUN = "over-run"
    """Drained past its gap, or overlapped a neighbour: made again alone."""
    FAILED = "failed"
    """An I/O error, or no figures."""


class RemarkKind(StrEnum):
    """What a remark on a campaign is about."""

    WARNING = "warning"
    LEFT_OUT = "left-out"
    """Something planned was not measured."""
    NOTE = "note"
