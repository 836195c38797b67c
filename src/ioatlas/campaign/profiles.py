# SPDX-License-Identifier: Apache-2.0
"""Built-in profiles: named campaigns that lack only a target."""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from ioatlas.campaign.spec import CampaignSpec
from ioatlas.errors import UsageError
from ioatlas.model.cell import OptionValue

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


def _doubling(low: int, high: int) -> tuple[int, ...]:
    values = [low]
    while values[-1] < high:
        values.append(values[-1] * 2)
    return tuple(values)


_ALL_FOUR = ("read", "write", "randread", "randwrite")


def _random_read(bs: int, iodepth: int) -> Mapping[str, OptionValue]:
    return {"rw": "randread", "bs": bs, "iodepth": iodepth}


_ORION = (*(_random_read(8 * KIB, depth) for depth in range(1, 6)), *(_random_read(MIB, depth) for depth in (1, 2)))

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
    "diskspd2016": (
        "the four patterns of a 2016 virtual SAN review over threads x outstanding I/Os: 120 cells",
        CampaignSpec(
            name="diskspd2016",
            profile="diskspd2016",
            patterns=(
                {"rw": "randread", "bs": 4 * KIB, "rwmixread": 100},
                {"rw": "randwrite", "bs": 4 * KIB, "rwmixread": 0},
                {"rw": "randrw", "bs": 8 * KIB, "rwmixread": 67},
                {"rw": "rw", "bs": 8 * KIB, "rwmixread": 67},
            ),
            axes={"size": (4 * GIB,), "numjobs": (1, 2, 4, 8, 16), "iodepth": (1, 2, 4, 8, 16, 32)},
            constants={"sync": "dsync", "ioengine": "libaio"},
            remarks=(
                "The review searched threads and outstanding I/Os by hand and reports 8 x 8 only; here the whole plane is measured.",
                "It ran 60 s each; `window` = '60s' does the same, shorter windows with visits and intervals are the default.",
                "DiskSpd's -h means no software cache and write-through: I/O is direct and O_DSYNC.",
                "-si, one sequential position for all threads, is not exact in fio: each job has a position of its own.",
                "The review used a 1 TB file; 4 GiB fit caches that it did not fit. Set `size` to lift that.",
            ),
        ),
    ),
    "xdd2008": (
        "sequential and random access, 4 to 1,024 KB, 1 to 8 outstanding, as in a 2008 comparison: 144 cells",
        CampaignSpec(
            name="xdd2008",
            profile="xdd2008",
            axes={"rw": _ALL_FOUR, "size": (4 * GIB,), "bs": _doubling(4 * KIB, MIB), "iodepth": (1, 2, 4, 8)},
            constants={"ioengine": "libaio", "numjobs": 1},
            remarks=(
                "Ten client machines ran at once in the study, throughput summed over them; this is one client's part.",
                "xdd's queue is threads with one I/O each; fio keeps the same number in flight asynchronously.",
            ),
        ),
    ),
    "orion": (
        "8 KB and 1 MB random reads at rising depth, as ORION's simple run: 7 cells",
        CampaignSpec(
            name="orion",
            profile="orion",
            patterns=_ORION,
            axes={"size": (4 * GIB,)},
            constants={"ioengine": "libaio", "numjobs": 1},
            remarks=(
                "ORION scales its levels with -num_disks: `ioatlas translate orion` gives the levels for other numbers.",
                "ORION fills the array's cache before each point; here the warm-up is cut from the measured series instead.",
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
