# SPDX-License-Identifier: Apache-2.0
"""Built-in profiles: named campaigns that lack only a target."""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from ioatlas.campaign.spec import CampaignSpec, snia_campaign
from ioatlas.campaign.streams_spec import FREE, HIGHEST, StreamsSpec
from ioatlas.errors import UsageError
from ioatlas.model.cell import OptionValue

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
ORDERED_PRECISION, ORDERED_CAP = 0.05, 10
"""When a round of fixed work is repeated no more: every value within 5%, or ten rounds."""


def _doubling(low: int, high: int) -> tuple[int, ...]:
    values = [low]
    while values[-1] < high:
        values.append(values[-1] * 2)
    return tuple(values)


def streams_campaign(study: str) -> CampaignSpec:
    """A study of several streams at once; its streams are laid over the size that the target has room for."""
    paced = study != "emerald-like"
    streams = StreamsSpec(study, load=HIGHEST if paced else FREE, points=(100.0, *(float(p) for p in RAMP_PERCENT)) if paced else (100.0,))
    return CampaignSpec(name=study, profile=study, visits=3, window_seconds=5.0, streams=streams)


RAMP_PERCENT = (95, 90, 80, 50, 10)
_ALL_FOUR = ("read", "write", "randread", "randwrite")


def _random_read(bs: int, iodepth: int) -> Mapping[str, OptionValue]:
    return {"rw": "randread", "bs": bs, "iodepth": iodepth}


def _ordered(name: str, *, axes: Mapping[str, tuple[int, ...]], constants: Mapping[str, int]) -> CampaignSpec:
    """A study of fixed work in order; its rounds and what it does differently are data of `dialect.studies`."""
    return CampaignSpec(
        name=name, profile=name, axes=axes, constants=constants, precision=ORDERED_PRECISION, max_visits=ORDERED_CAP, ordered=name
    )


_ORION = (*(_random_read(8 * KIB, depth) for depth in range(1, 6)), *(_random_read(MIB, depth) for depth in (1, 2)))

PROFILES: dict[str, tuple[str, CampaignSpec]] = {
    "quick": (
        "a first look within a minute: 24 cells",
        CampaignSpec(
            name="quick",
            profile="quick",
            axes={"rw": _ALL_FOUR, "size": (256 * MIB,), "bs": (4 * KIB, MIB), "numjobs": (1, 4, 16)},
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
    "iozone2017": (
        "the nine IOzone operations of a 2017 NAS evaluation, in order on a 4 GB file, records of 4 KB to 16 MB: 117 cells",
        _ordered("iozone2017", axes={"size": (4 * GIB,), "bs": _doubling(4 * KIB, 16 * MIB)}, constants={"direct": 1}),
    ),
    "nascharts2008": (
        "write and read throughput against file size beyond the memory of client and server, as in the 2008 NAS charts",
        _ordered("nascharts2008", axes={"bs": (64 * KIB,)}, constants={"direct": 0}),
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
    "snia-pts": (
        "the IOPS test of the SNIA specification: purge, 2x fill, rounds of 56 minutes until steady state",
        snia_campaign("snia-pts", "iops"),
    ),
    "snia-throughput": ("its throughput test: 1,024 and 128 KiB in sequence, each with a purge and fill", snia_campaign("snia-throughput", "throughput")),
    "snia-latency": ("its latency test: one I/O in flight, 9 cells a round", snia_campaign("snia-latency", "latency")),
    "snia-saturation": ("its write saturation test: random writes of 4 times the capacity", snia_campaign("snia-saturation", "saturation")),
    "spc1-like": (
        "an SPC-1-like load (structure of version 1): eight open streams at 100, 95, 90, 80, 50 and 10% of the highest load within 30 ms",
        streams_campaign("spc1-like"),
    ),
    "spc1e-like": ("the same with power at idle and at each load", streams_campaign("spc1e-like")),
    "emerald-like": (
        "an Emerald-like load: hot-band mix, random and sequential phases, with IOPS/W, MB/s/W and GB/W where a meter is named",
        streams_campaign("emerald-like"),
    ),
}


def find_profile(name: str, where: str = "--profile") -> CampaignSpec:
    """The profile of that name. Raises UsageError naming those there are."""
    if name not in PROFILES:
        close = difflib.get_close_matches(name, PROFILES, n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        raise UsageError(f"there is no profile {name!r}", where=where, remedy=f"{hint}profiles are {', '.join(PROFILES)}")
    return PROFILES[name][1]
