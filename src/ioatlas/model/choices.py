# SPDX-License-Identifier: Apache-2.0
"""What a campaign may choose between. The words stand in campaign files, on the command line and in journals."""

from __future__ import annotations

from enum import StrEnum


class Sharing(StrEnum):
    """Whether all jobs work on one file, or each on a file of its own."""

    SHARED = "shared"
    PRIVATE = "private"


class Preparation(StrEnum):
    """State of files and devices before the load; what is written for it stands in `target.preparation`."""

    LAID_OUT = "laid-out"
    FRESH = "fresh"
    FILLED = "filled"
    PRECONDITIONED = "preconditioned"
    FILLED_TWICE = "filled-twice"


class Purge(StrEnum):
    """What is done to a target before the fill of a SNIA test; AUTO discards where a block device can."""

    AUTO = "auto"
    DISCARD = "discard"
    NVME_FORMAT = "nvme-format"
    PUNCH_HOLE = "punch-hole"
    BY_HAND = "by-hand"
    NONE = "none"


class GradeName(StrEnum):
    """Rule that gives a cell its interval: Student's t on logarithms, or order statistics of the median."""

    MAP = "map"
    CERTIFIED = "certified"


class SniaTest(StrEnum):
    """Tests of the SNIA Solid State Storage Performance Test Specification."""

    IOPS = "iops"
    THROUGHPUT = "throughput"
    LATENCY = "latency"
    SATURATION = "saturation"


class ClientRange(StrEnum):
    """What each client of a fleet works on."""

    AUTO = "auto"
    """A file of its own in a directory; the same range of anything else."""
    OWN = "own"
    SAME = "same"


class OnLostClient(StrEnum):
    """What becomes of a campaign when a client is lost and does not come back."""

    STOP = "stop"
    CONTINUE = "continue"
