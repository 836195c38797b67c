# SPDX-License-Identifier: Apache-2.0
"""What the client's resources did during a stretch of time, from two readings of the kernel's counters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class DiskUsage:
    """One block device. utilisation: share of the time with at least one I/O in flight; queue_mean: I/Os in flight on
    average. flushes: done; None where the kernel does not say.
    """

    read_bytes: int
    write_bytes: int
    read_ios: int
    write_ios: int
    utilisation: float
    queue_mean: float
    wait_mean_ms: float | None
    flushes: int | None = None


@dataclass(frozen=True)
class NicUsage:
    """One interface; bytes and packets as the kernel counts them, frame headers included."""

    rx_bytes: int
    tx_bytes: int
    rx_packets: int
    tx_packets: int
    errors: int
    drops: int


@dataclass(frozen=True)
class NfsUsage:
    """One NFS mount: bytes asked of the server."""

    server_read_bytes: int
    server_write_bytes: int


@dataclass(frozen=True)
class Beside:
    """Shares of all cores' time during a batch: user time of our own process, system time of programs not ours."""

    own_user: float
    others_system: float


@dataclass(frozen=True)
class CpuShares:
    """Shares of all cores' time during a visit: of its load, and of programs that are not ours."""

    load: float
    others: float


@dataclass(frozen=True)
class Usage:
    """Everything over `seconds`.

    core_busy:  share of the time each core was not idle (iowait counts as idle), in core order.
    softirq, steal, iowait: shares of all cores' time. user: likewise, of all programs; None where nothing told it.
    """

    seconds: float
    core_busy: tuple[float, ...] = ()
    softirq: float = 0.0
    steal: float = 0.0
    iowait: float = 0.0
    disks: Mapping[str, DiskUsage] = field(default_factory=dict)
    nics: Mapping[str, NicUsage] = field(default_factory=dict)
    nfs: NfsUsage | None = None
    user: float | None = None

    @property
    def busiest_core(self) -> float | None:
        return max(self.core_busy) if self.core_busy else None
