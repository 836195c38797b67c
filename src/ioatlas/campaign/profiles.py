# SPDX-License-Identifier: Apache-2.0
"""Built-in profiles: named campaigns that lack only a target."""

from __future__ import annotations

import difflib

from ioatlas.campaign.spec import CampaignSpec
from ioatlas.errors import UsageError

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


def _doubling(low: int, high: int) -> tuple[int, ...]:
    values = [low]
    while values[-1] < high:
        values.append(values[-1] * 2)
    return tuple(values)


_ALL_FOUR = ("read", "write", "randread", "randwrite")

PROFILES: dict[str, tuple[str, CampaignSpec]] = {
    "quick": (
        "a first look within a minute: 24 cells",
        CampaignSpec(
            name="quick",
            profile="quick",
            axes={"rw": _ALL_FOUR, "size": (256 * MIB,), "bs": (4 * KIB, 64 * KIB, MIB), "numjobs": (1, 8)},
            budget_seconds=60,
        ),
    ),
    "standard": (
        "the usual map within ten minutes: 300 cells",
        CampaignSpec(
            name="standard",
            profile="standard",
            axes={
                "rw": _ALL_FOUR,
                "size": (64 * MIB, 256 * MIB, GIB),
                "bs": (4 * KIB, 16 * KIB, 64 * KIB, 256 * KIB, MIB),
                "numjobs": (1, 2, 4, 8, 16),
            },
            budget_seconds=600,
        ),
    ),
    "exhaustive": (
        "every doubling of block size, file size and jobs: 2,016 cells, over half an hour",
        CampaignSpec(
            name="exhaustive",
            profile="exhaustive",
            axes={
                "rw": _ALL_FOUR,
                "size": _doubling(16 * MIB, 2 * GIB),
                "bs": _doubling(4 * KIB, MIB),
                "numjobs": _doubling(1, 64),
            },
        ),
    ),
    "seed2021": (
        "the sweep of the 2021 study: 1,920 cells over block size, file size and jobs",
        CampaignSpec(
            name="seed2021",
            profile="seed2021",
            axes={
                "rw": ("read", "write"),
                "size": _doubling(MIB, 2 * GIB),
                "bs": _doubling(4 * KIB, 2 * MIB),
                "numjobs": _doubling(1, 128),
            },
            remarks=(
                "The study gives its block sizes as 4 to 2,048 B in the set-up and speaks of 1,024 KB in the results: 4 KiB to 2,048 KiB are used.",
                "The study's file sizes of 1 to 2,048 MB are taken as MiB.",
                "The study swept fio's runtime (1 to 128) as if it were a repeat count; it is a cap on time, so visits take its place.",
                "Cells whose block is larger than the file are not admissible: they are shown and never run.",
            ),
        ),
    ),
}


def find_profile(name: str, where: str = "--profile") -> CampaignSpec:
    """The profile of that name. Raises UsageError naming those there are."""
    if name not in PROFILES:
        close = difflib.get_close_matches(name, PROFILES, n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        raise UsageError(f"there is no profile {name!r}", where=where, remedy=f"{hint}profiles are {', '.join(PROFILES)}")
    return PROFILES[name][1]
