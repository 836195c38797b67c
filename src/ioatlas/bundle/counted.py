# SPDX-License-Identifier: Apache-2.0
"""What counters of the client say of a batch, made again from the lines that were read beside it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ioatlas.fio.clock import read_clock
from ioatlas.model.visit import Visit
from ioatlas.run.telemetry import RAW, Seen
from ioatlas.testbed.power_log import PowerLog
from ioatlas.testbed.telemetry import Sample

LINES = RAW.removesuffix(".gz")
NOT_FROM_LINES = frozenset({"telemetry_seconds", "meters_failed", "watts", "also_moved", "waiting", "cpu"})
OF_CLIENTS = "clients"


def unlike_lines(directory: Path, kept: Mapping[str, Any] | None, visits: Sequence[Visit]) -> Iterator[str]:
    """Where what the journal tells of a batch's counters is not what its lines say. Several clients are left out."""
    path = directory / LINES
    if kept is None or OF_CLIENTS in kept or not path.exists():
        return
    samples = _samples(path)
    if len(samples) < 2:
        return
    seen = Seen(samples, (), 0.0, PowerLog(()))
    made = json.loads(json.dumps({**asdict(seen.usage), **seen.record(visits)}))
    told = kept.get("visits") or {}
    pairs = [(name, kept.get(name), made[name]) for name in made if name != "visits" and name in kept]
    pairs += [(f"{name} of visit {number}", told[number].get(name), entry[name])
              for number, entry in made["visits"].items() if number in told for name in entry]  # fmt: skip
    for name, one, other in pairs:
        if name.split()[0] not in NOT_FROM_LINES and one != other:
            yield f"{name} is {str(one)[:60]}, by its counters {str(other)[:60]}"


def _samples(path: Path) -> tuple[Sample, ...]:
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]
    clock = read_clock(path.parent)
    return tuple(Sample(clock.session(row["at"]), row["monotonic_seconds"], row["raw"]) for row in rows if "raw" in row)
