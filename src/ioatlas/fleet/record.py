# SPDX-License-Identifier: Apache-2.0
"""What a batch's directory says of the clients that made it: `clients.json`, and a directory for each client with the
files that a fio of its own would have left there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ioatlas import beneath
from ioatlas.fleet.client import ClockOffset

RECORD = "clients.json"
CLIENTS = "clients"


@dataclass(frozen=True)
class BatchRecord:
    """The clients of one batch.

    clocks: {client: its clock against ours}. taking: {fio's name of a job: the clients that take part}.
    lost: {client: why}, of those that were lost while it ran.
    """

    clocks: Mapping[str, ClockOffset]
    taking: Mapping[str, tuple[str, ...]]
    lost: Mapping[str, str] = field(default_factory=dict)

    def write(self, directory: Path) -> None:
        record = {
            "clocks": {name: asdict(clock) for name, clock in self.clocks.items()},
            "taking": {name: list(clients) for name, clients in self.taking.items()},
            "lost": dict(self.lost),
        }
        beneath.write_text(directory / RECORD, json.dumps(record, indent=1) + "\n")


def client_directory(directory: Path, name: str) -> Path:
    """Where the files of a client lie, below a batch's directory."""
    return directory / CLIENTS / beneath.plain_name(name)


def read_record(directory: Path) -> BatchRecord | None:
    """The record of a batch; None where one client alone made it, or where it cannot be read."""
    path = directory / RECORD
    if not beneath.is_ordinary(path):
        return None
    try:
        stored = json.loads(beneath.read_text(path))
        clocks = {str(name): _clock(told) for name, told in stored["clocks"].items()}
        taking = {str(job): tuple(str(name) for name in names) for job, names in stored["taking"].items()}
        lost = {str(name): str(why) for name, why in stored["lost"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    if not all(name in clocks for names in taking.values() for name in names):
        return None
    return BatchRecord(clocks, taking, lost)


def _clock(told: Mapping[str, Any]) -> ClockOffset:
    return ClockOffset(float(told["offset_ms"]), abs(float(told["error_ms"])))


def directories_of(directory: Path) -> tuple[Path, ...]:
    """A batch's directory, and those of its clients where it has some."""
    below = directory / CLIENTS
    known = sorted(one for one in below.iterdir() if one.is_dir()) if below.is_dir() and not below.is_symlink() else []
    return (directory, *(one for one in known if not one.is_symlink()))
