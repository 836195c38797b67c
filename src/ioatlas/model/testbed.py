# SPDX-License-Identifier: Apache-2.0
"""The testbed as facts: what is known about client, path and target, how it is known, and what is not; and what the
client's resources did during a stretch of time, from two readings of the kernel's counters.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Self

from ioatlas.model.units import format_size_rounded

FactKind = Literal["known", "unknown", "absent", "doubtful", "typed in"]
FactValue = str | int | float | bool | None


@dataclass(frozen=True)
class Fact:
    """One statement about the testbed.

    name:    dotted, e.g. 'nic.speed', 'device.sda.scheduler', 'mount.options'.
    value:   None unless something was read; `unit` is 'B', 'bit/s', 's', 'Hz', 'rpm', ... or empty.
    kind:    known (read), unknown (looked for and not told), absent (the tool or feature is not there),
             doubtful (a virtual device says so about itself), typed in (a person says so).
    source:  where it was read: a file, a command, the name of a facts file.
    private: it names a person's machine, drive or address, and is left out of what is shared.
    note:    why a value is doubtful, unknown or absent; what was read before it was corrected by hand.
    """

    name: str
    value: FactValue
    unit: str = ""
    kind: FactKind = "known"
    source: str = ""
    private: bool = False
    note: str = ""


def value_text(value: FactValue, unit: str) -> str:
    """A fact's value for people: exact, and rounded beside it where it is a long number of bytes or bits."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if number and unit == "B" and float(value or 0) >= 10_000:
        return f"{value} B = {format_size_rounded(float(value or 0))}"
    if number and unit == "bit/s":
        return f"{float(value or 0) / 1e6:g} Mb/s"
    return f"{value} {unit}".strip()


@dataclass(frozen=True)
class Testbed:
    """All facts of one moment. `raw` keeps what the tools and files said, by source."""

    target: str
    taken_at: float
    facts: tuple[Fact, ...]
    raw: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0

    __test__ = False  # not a test class, whatever its name begins with

    def get(self, name: str) -> Fact | None:
        """The fact of this name, or None."""
        return next((fact for fact in self.facts if fact.name == name), None)

    def value(self, name: str) -> FactValue:
        """The value of a fact; None when it is not there or not known."""
        fact = self.get(name)
        return None if fact is None else fact.value

    def number(self, name: str) -> float | None:
        """A numeric value that may be relied on."""
        fact = self.get(name)
        value = fact.value if fact is not None and fact.kind in ("known", "typed in") else None
        return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None

    def below(self, prefix: str) -> Iterator[Fact]:
        """Facts whose name begins with `prefix.`."""
        return (fact for fact in self.facts if fact.name.startswith(f"{prefix}."))

    def shareable(self) -> Testbed:
        """The same without private facts and without the raw texts, which may hold them."""
        return Testbed("", self.taken_at, tuple(fact for fact in self.facts if not fact.private), {}, self.seconds)

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Self:
        """What `as_json` gave, without the raw texts."""
        facts = tuple(Fact(**{"value": None, **fact}) for fact in record["facts"])
        return cls(record["target"], record["taken_at"], facts)

    def as_json(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "target": self.target,
            "taken_at": self.taken_at,
            "seconds": round(self.seconds, 3),
            "facts": [
                {key: value for key, value in vars(fact).items() if value != "" and value is not False}
                | {"value": fact.value}
                for fact in self.facts
            ],
            "raw": dict(self.raw),
        }


@dataclass(frozen=True)
class DiskUsage:
    """One block device. utilisation: share of the time with at least one I/O in flight. flushes: done; None where the
    kernel does not say.
    """

    read_bytes: int
    write_bytes: int
    utilisation: float
    flushes: int | None = None


@dataclass(frozen=True)
class NicUsage:
    """One interface; bytes as the kernel counts them, frame headers included."""

    rx_bytes: int
    tx_bytes: int
    errors: int
    drops: int


@dataclass(frozen=True)
class NfsUsage:
    """One NFS mount: bytes asked of the server. flushes: writes and commits sent; None where they go elsewhere."""

    server_read_bytes: int
    server_write_bytes: int
    flushes: int | None = None


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
