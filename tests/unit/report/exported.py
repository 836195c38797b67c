# SPDX-License-Identifier: Apache-2.0
"""Small results for the exports' tests: every kind of cell, with values that can be recognised again."""

import itertools
from collections.abc import Mapping
from typing import Any

from ioatlas.model.cell import Cell, OptionValue
from ioatlas.model.estimate import Estimate
from ioatlas.model.finding import Finding, FindingCode
from ioatlas.model.result import CampaignResult, Unmeasured
from ioatlas.model.target import Identity, Target
from ioatlas.model.verdict import VerdictCode, read_unmeasured

KIB, MIB = 1 << 10, 1 << 20
SECRET_PLACE = "/srv/very-secret-place"


def value_of(cell: Cell, direction: str) -> float:
    """A different value for every cell and direction."""
    own = 1 if direction == "write" else 0
    return float(cell.bs_bytes * cell.numjobs * cell.iodepth + cell.size_bytes / 1024 + own)


def measured(cell: Cell, direction: str, **changes: Any) -> Estimate:
    value = value_of(cell, direction)
    fields: dict[str, Any] = {
        "kind": "measured",
        "n_visits": 2,
        "verdict": VerdictCode.STEADY,
        "method": "log-t-moderated/1",
        "bw_bytes_per_s": value,
        "bw_low": value * 0.9,
        "bw_high": value * 1.2,
        "iops": value / cell.bs_bytes,
        "iops_low": 1.0,
        "iops_high": 2.0,
        "lat_mean_ns": 1e6,
        "lat_p99_ns": 3e6,
        "window_seconds": 0.5,
        "cut_seconds": 0.1,
        "seeds": (11, 12),
        "notes": ("one, note",),
    }
    return Estimate(cell, direction, **{**fields, **changes})


def campaign(
    axes: Mapping[str, tuple[OptionValue, ...]], *, targets: tuple[str, ...] = ("nas",), name: str = "a campaign"
) -> CampaignResult:
    """Crosses the axes; no block exceeds the file; every 7th cell predicted, every 5th unsteady, the 3rd cached."""
    estimates: list[Estimate] = []
    unmeasured: list[Unmeasured] = []
    for number, (target, values) in enumerate(itertools.product(targets, itertools.product(*axes.values()))):
        cell = Cell.of(target, {"direct": 1, **dict(zip(axes, values, strict=True))})
        if cell.size_bytes and cell.bs_bytes > cell.size_bytes:
            unmeasured.append(Unmeasured(cell, read_unmeasured("not admissible: the block is larger than the file")))
            continue
        changes: dict[str, Any] = {}
        if number % 7 == 6:
            changes = {"kind": "predicted", "n_visits": 0, "method": "gp-log/1", "seeds": ()}
            changes["verdict"] = VerdictCode.NONE
        elif number % 5 == 4:
            changes = {"verdict": VerdictCode.DRIFTING}
        elif number == 2:
            changes = {"verdict": VerdictCode.CACHED}
        estimates += [measured(cell, direction, **changes) for direction in cell.directions]
    identity = Identity((("fs_type", "ext4"), ("source", "/dev/sdz")))
    first = tuple(e.cell.key for e in estimates[:1])
    return CampaignResult(
        campaign_id="0123",
        name=name,
        created_at=1_795_000_000.0,
        tool_version="0.1.0",
        targets=tuple(Target(t, "directory", f"{SECRET_PLACE}/{t}", identity) for t in targets),
        axes=dict(axes),
        constants={"direct": 1},
        estimates=tuple(estimates),
        unmeasured=tuple(unmeasured),
        findings=(Finding(FindingCode.KNEE, {"load": f"a read of {SECRET_PLACE}/nas"}, first, direction="read"),),
        settings={"profile": "test"},
        sessions=({"kernel": "6.1", "hostname": "secret-host"},),
        n_visits=2 * len(estimates),
        seconds=3.0,
    )


SQUARE: dict[str, tuple[OptionValue, ...]] = {
    "rw": ("read", "write"),
    "bs": (4 * KIB, 64 * KIB, MIB),
    "size": (64 * KIB, 16 * MIB),
    "numjobs": (1, 4, 16),
}
EIGHT_BY_EIGHT: dict[str, tuple[OptionValue, ...]] = {
    "rw": ("read",),
    "bs": tuple(4 * KIB << i for i in range(10)),
    "size": tuple(MIB << i for i in range(12)),
    "numjobs": tuple(1 << i for i in range(8)),
    "iodepth": tuple(1 << i for i in range(8)),
}
MIXED: dict[str, tuple[OptionValue, ...]] = {
    "rw": ("randrw", "trimwrite"),
    "bs": ("4096,16384", "8192"),
    "rwmixread": (30, 70),
}
SHAPES: dict[str, Mapping[str, tuple[OptionValue, ...]]] = {
    "square": SQUARE,
    "mixed": MIXED,
    "one cell": {},
    "one axis": {"bs": (4 * KIB, MIB)},
    "words only": {"rw": ("read", "randread")},
    "no bs": {"numjobs": (1, 2), "iodepth": (1, 8, 32)},
    "five axes": {**MIXED, "rw": ("randrw",), "numjobs": (1, 2), "iodepth": (4, 8)},
}
