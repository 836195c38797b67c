# SPDX-License-Identifier: Apache-2.0
"""A target: what is measured, and how it is recognised again before every start of the load."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

TargetKind = Literal["directory", "file", "block", "uri", "imported", "together"]
"""imported: nowhere; what another tool measured goes by such a target's name. together: several at once."""


@dataclass(frozen=True)
class Identity:
    """Facts that must still hold before every fio start; a disk may have another name after a reboot, a NAS may be
    unmounted.

    facts: sorted (name, value), e.g. ('fs_type', 'ext4'), ('source', '/dev/vda'), ('st_dev', '65024'), ('serial', ...),
           ('size_bytes', ...).
    """

    facts: tuple[tuple[str, str], ...] = ()

    def differences(self, other: Identity) -> tuple[str, ...]:
        mine, theirs = dict(self.facts), dict(other.facts)
        return tuple(
            f"{name} was {mine.get(name, 'unknown')}, is {theirs.get(name, 'unknown')}"
            for name in sorted(mine.keys() | theirs.keys())
            if mine.get(name) != theirs.get(name)
        )


@dataclass(frozen=True)
class Target:
    """One place to measure. `location` is an absolute path or a URI; `size_bytes` is None for a directory."""

    name: str
    kind: TargetKind
    location: str
    identity: Identity = field(default_factory=Identity)
    size_bytes: int | None = None
    free_bytes: int | None = None
    logical_block_bytes: int = 512
    ioengine: str | None = None
