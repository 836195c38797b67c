# SPDX-License-Identifier: Apache-2.0
"""Is this client, this link, this path able to measure this target? Each check says what it saw and what to change."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from ioatlas.answer.analysis.ceilings import Ceiling
from ioatlas.model.testbed import Testbed, Usage
from ioatlas.model.units import format_count, format_rate, format_size
from ioatlas.store.toml import shipped

Verdict = Literal["ok", "warning", "failed", "unknown"]

HEADROOM = 3.0
"""The generator must reach three times what it is to measure, else its own cost is in the result."""
BUSY_CORE, BUSY_DISK, BUSY_LINK = 0.20, 0.05, 0.02
CROWDED = 0.40
"""Share of the processors from which a load could not be told from what else runs."""
GOOD_CLOCKS = frozenset({"tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page"})


@dataclass(frozen=True)
class Check:
    """One line of a shakedown. advice: what to change; empty when nothing is to be done."""

    name: str
    verdict: Verdict
    sentence: str
    advice: str = ""


_SAID = shipped("ioatlas.answer.analysis", "shakedown.toml")


def _said(key: str, *seen: object) -> Check:
    told = _SAID[key]
    return Check(
        key.split(", ", maxsplit=1)[0], told["verdict"], told["sentence"].format(*seen), told.get("change", "")
    )


def headroom(generator_iops: float, target_iops: float, bs_bytes: int) -> Check:
    """Client generator against target at one block size."""
    times = generator_iops / target_iops if target_iops > 0 else math.inf
    sentence = (
        f"with {format_size(bs_bytes)} blocks the client generates {format_count(generator_iops)} I/Os a second "
        f"from nothing, {times:.1f} times the target's {format_count(target_iops)}"
    )
    if times >= HEADROOM:
        return Check(f"headroom {bs_bytes}", "ok", sentence)
    clients = math.ceil(HEADROOM / times)
    return Check(
        f"headroom {bs_bytes}",
        "failed" if times < 1.5 else "warning",
        sentence,
        f"{clients} clients like this one give {HEADROOM:g} times; or use a faster client, thread=1, fewer jobs a core",
    )


def clients_needed(expected_bytes_per_s: float, ceilings: Sequence[Ceiling]) -> Check:
    """How many clients it takes to load a target of known speed through this client's tightest ceiling."""
    bounds = [one for one in ceilings if one.bw_bytes_per_s]
    if not bounds:
        return Check(
            "clients",
            "unknown",
            "no ceiling of this client's path is known",
            'add "nic.speed" = "1 Gb/s" to testbed.toml, or name a host with --iperf',
        )
    tightest = min(bounds, key=lambda one: one.bw_bytes_per_s or math.inf)
    bound = tightest.bw_bytes_per_s or math.inf
    if expected_bytes_per_s <= bound:
        return Check(
            "clients",
            "ok",
            f"one client is enough: {format_rate(bound)} pass its tightest ceiling ({tightest.name}), "
            f"{format_rate(expected_bytes_per_s)} are expected",
        )
    count = math.ceil(expected_bytes_per_s / bound)
    return Check(
        "clients",
        "warning",
        f"only {format_rate(bound)} of the {format_rate(expected_bytes_per_s)} expected pass this client's tightest "
        f"ceiling ({tightest.name})",
        f"use {count} clients, or a faster {tightest.resource}",
    )


def clock_check(bed: Testbed) -> Check:
    """Whether reading the clock is cheap and steady."""
    source = bed.value("clock.source")
    if source is None:
        return _said("clock, silent")
    return _said("clock, known" if source in GOOD_CLOCKS else "clock, slow", source)


def background_checks(usage: Usage | None) -> Iterator[Check]:
    """What else runs on the client."""
    if usage is None:
        yield _said("background, silent")
        return
    mean = sum(usage.core_busy) / len(usage.core_busy) if usage.core_busy else 0.0
    busy = f"other programs keep the processors {mean:.0%} busy"
    yield Check(
        "background cpu",
        "failed" if mean > CROWDED else "warning" if mean > BUSY_CORE else "ok",
        busy,
        "stop other programs (`top` shows them), or measure later" if mean > BUSY_CORE else "",
    )
    if usage.steal > 0.01:
        yield _said("steal", usage.steal)
    for name, disk in usage.disks.items():
        if disk.utilisation > BUSY_DISK:
            told = f"{name} is busy {disk.utilisation:.0%} of the time without us"
            yield Check(f"background {name}", "warning", told, "end what uses it")


def nic_checks(bed: Testbed, usage: Usage | None) -> Iterator[Check]:
    """Duplex, slot, drops and background traffic of the interface on the path."""
    name = bed.value("nic.name")
    if name is None or bed.value("route.local") is True:
        return
    duplex = bed.get("nic.duplex")
    if duplex is not None and duplex.value == "half":
        yield _said("duplex", name)
    speed = bed.get("nic.speed")
    if speed is None or speed.kind in {"unknown", "absent"}:
        yield _said("link speed, silent", name)
    elif speed.kind == "doubtful":
        yield _said("link speed, doubtful", name, speed.value, speed.note)
    elif isinstance(speed.value, (int, float)) and speed.value <= 1e8:
        yield _said("link speed, slow", name, speed.value / 1e6)
    else:
        yield _said("link speed, known", name, float(speed.value or 0) / 1e9)
    slot = bed.get("nic.pcie.below_capability")
    if slot is not None and slot.value is True:
        yield _said("slot", name)
    if bed.value("route.hops") == "gateway":
        yield _said("route")
    nic = usage.nics.get(str(name)) if usage is not None else None
    if nic is not None and usage is not None:
        if nic.errors or nic.drops:
            yield _said("link errors", name, nic.errors, nic.drops)
        bound = bed.number("nic.speed")
        traffic = max(nic.rx_bytes, nic.tx_bytes) / usage.seconds
        if bound and traffic > BUSY_LINK * bound / 8:
            yield _said("background traffic", name, format_rate(traffic))


def mtu_check(mtu: int, passes: bool | None) -> Check:
    """Whether full packets reach the server."""
    return _said("mtu, silent" if passes is None else "mtu, whole" if passes else "mtu, cut", mtu)


def path_checks(bed: Testbed) -> Iterator[Check]:
    """Traps of the path that make a measurement mean something else."""
    if bed.value("protocol.name") == "memory":
        yield _said("target, memory")
    if bed.value("target.holes") is True:
        yield _said("target, holes")
    governor = bed.value("cpu.governor")
    if isinstance(governor, str) and "powersave" in governor.split():
        yield _said("power")
    if bed.value("array.degraded") not in {None, 0}:
        yield _said("array, degraded")
    state = bed.value("array.state")
    if isinstance(state, str) and state not in {"idle", "none", "frozen"}:
        yield _said("array, busy", state)
