# SPDX-License-Identifier: Apache-2.0
"""Counters of the client read during a load: raw lines are kept, shares and rates are worked out afterwards.

One reading of all counters costs well under a millisecond, as the files stay open; the cost is counted and told.
"""

from __future__ import annotations

import contextlib
import os
import re
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from ioatlas.load.machine.network import look_at_network
from ioatlas.load.machine.path import MOUNTSTATS, look_at_path, section_of, server_bytes, server_flushes
from ioatlas.load.machine.sheet import Sheet
from ioatlas.load.machine.storage import look_at_stack
from ioatlas.model.testbed import DiskUsage, NfsUsage, NicUsage, Usage


class Recorder(ABC):
    """Records from start() to stop(); as a context, while it lasts."""

    @abstractmethod
    def start(self) -> None:
        """Begin."""

    @abstractmethod
    def stop(self) -> object:
        """End, and give what was recorded; a second call gives the same again."""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


class Beats:
    """Calls `work` every `interval_seconds` from start() to stop(), first one interval after the start.

    A call that takes longer delays the next.
    begin: called once in the thread before the first wait.
    """

    def __init__(
        self, name: str, interval_seconds: float, work: Callable[[], None], begin: Callable[[], None] | None = None
    ) -> None:
        self._interval_seconds = interval_seconds
        self._work = work
        self._begin = begin
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Begin; once."""
        self._thread.start()

    def end(self) -> None:
        """Ask it to end, without waiting: several can end at once."""
        self._stop.set()

    def stop(self) -> None:
        """End, and wait for a call that is under way."""
        self.end()
        self._thread.join()

    def _run(self) -> None:
        if self._begin is not None:
            self._begin()
        due = time.monotonic() + self._interval_seconds
        while not self._stop.wait(max(0.0, due - time.monotonic())):
            self._work()
            due = max(due + self._interval_seconds, time.monotonic())


_ONE_WAY = frozenset({"NFS", "SMB", "SFTP", "NBD", "ISCSI", "iSCSI"})
"""Protocols in which all data of a target passes between this client and the server that is named."""
SCHEDULER = "/proc/PID/task/*/schedstat"
"""Key of the threads' times among the raw lines."""
THREADS = 16
"""Threads of a program that are read at most."""
_BUFFER_BYTES = 1 << 20
_SECTOR_BYTES = 512
_FLUSHES = 15
"""Place of the flushes that a disk has done among its counters."""


@dataclass(frozen=True)
class Sample:
    """One reading. at: seconds since the epoch; monotonic_seconds dates differences; raw:
    the lines kept of each file.
    """

    at: float
    monotonic_seconds: float
    raw: Mapping[str, str]


@dataclass(frozen=True)
class Watched:
    """Whose counters are kept.

    tops: those of the devices that lie directly below the target, which see every byte. one_way: whether the interfaces
    carry every byte too; a cluster's data may come from servers that the mount does not name.
    """

    devices: tuple[str, ...] = ()
    interfaces: tuple[str, ...] = ()
    mount_point: str = ""
    tops: tuple[str, ...] = ()
    one_way: bool = False


def flushed_drives(names: Iterable[str], block: Path = Path("/sys/block")) -> tuple[str, ...]:
    """The drives of a stack of devices, where each has a volatile cache whose flushes the kernel counts; else (). What
    maps I/Os onto others counts none, and nor do partitions. A loop device counts as one: what lies below its file is
    flushed by others too.
    """
    drives = []
    for name in names:
        with contextlib.suppress(FileNotFoundError):
            if not any((block / name / "slaves").iterdir()):
                cached = (block / name / "queue" / "write_cache").read_text().strip() == "write back"
                drives.append((name, cached and (block / name / "mq").is_dir()))
    drives = [one for one in drives if one[0].startswith("loop")] or drives
    return tuple(name for name, _ in drives) if all(counts for _, counts in drives) else ()


@dataclass(frozen=True)
class Recording:
    """What a sampler read. cost_seconds: processor time it took, in all samples."""

    watched: Watched
    samples: tuple[Sample, ...]
    cost_seconds: float = 0.0

    def usage(self, begin: float | None = None, end: float | None = None) -> Usage | None:
        """Usage between the samples that lie closest around [begin, end] (seconds since the epoch);
        None when there are fewer than two.
        """
        if len(self.samples) < 2:
            return None
        earlier = [one for one in self.samples if begin is not None and one.at <= begin]
        later = [one for one in self.samples if end is not None and one.at >= end]
        first, last = earlier[-1] if earlier else self.samples[0], later[0] if later else self.samples[-1]
        if last.monotonic_seconds <= first.monotonic_seconds:
            return None
        return usage_between(first, last)


def watched_of(location: str) -> Watched:
    """Devices, interfaces and mount that lie on the path to a target. Raises UsageError when it is not there."""
    sheet = Sheet()
    route = look_at_path(sheet, location)
    tops = look_at_stack(sheet, route)
    told = {fact.name: str(fact.value) for fact in sheet.facts if fact.value}
    server = route.server or told.get("server.address", "")
    interfaces = tuple(look_at_network(sheet, server)) if server else ()
    devices = tuple(told["device.stack"].split(" > ")) if "device.stack" in told else ()
    one_way = route.protocol in _ONE_WAY and "protocol.multichannel" not in told
    return Watched(devices, interfaces, route.mount_point if route.protocol == "NFS" else "", tops, one_way)


class Sampler(Recorder):
    """Reads the counters every `interval_seconds` in a thread of its own, from start() to stop();
    snapshot() reads once.
    """

    def __init__(self, watched: Watched, interval_seconds: float = 1.0) -> None:
        self._watched = watched
        self._interval_seconds = interval_seconds
        self._keep = keepers(watched)
        self._files: dict[str, int] = {}
        self._samples: list[Sample] = []
        self._cost_seconds = 0.0
        self._beats: Beats | None = None
        self._pid: int | None = None

    def start(self) -> None:
        """Take the first sample at once and go on."""
        self._take()
        self._beats = Beats("telemetry", self._interval_seconds, self._take)
        self._beats.start()

    def stop(self) -> Recording:
        """Take the last sample and give all. A second call gives the same again."""
        if self._beats is not None:
            self._beats.stop()
            self._beats = None
            self._take()
            self.close()
        return Recording(self._watched, tuple(self._samples), self._cost_seconds)

    def watch(self, pid: int) -> None:
        """From now on read the scheduler's times of a program's threads too."""
        self._pid = pid

    def close(self) -> None:
        """Close the counters' files; a later reading opens them again."""
        for descriptor in self._files.values():
            os.close(descriptor)
        self._files.clear()

    def _take(self) -> None:
        before = time.thread_time()
        self._samples.append(self.snapshot())
        self._cost_seconds += time.thread_time() - before

    def snapshot(self) -> Sample:
        """One reading; it is kept in no recording."""
        at, monotonic = time.time(), time.monotonic()
        raw = {}
        for path, keep in self._keep.items():
            text = self._content(path)
            if text is not None:
                raw[path] = keep(text)
        if self._pid is not None:
            raw[SCHEDULER] = _threads(self._pid)
        return Sample(at, monotonic, raw)

    def _content(self, path: str) -> str | None:
        with contextlib.suppress(OSError):
            if path not in self._files:
                self._files[path] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            pieces, offset = [], 0
            # A /proc file may give less than was asked for; it has ended when it gives nothing.
            while piece := os.pread(self._files[path], _BUFFER_BYTES, offset):
                pieces.append(piece)
                offset += len(piece)
            return b"".join(pieces).decode(errors="replace")
        return None


def _threads(pid: int) -> str:
    """A line for each thread: its id, time on a processor and time waiting for one (ns), timeslices."""
    lines = []
    with contextlib.suppress(OSError):
        for name in os.listdir(f"/proc/{pid}/task")[-THREADS:]:  # noqa: PTH208 - as cheap as can be
            with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{name}/schedstat") as file:  # noqa: PTH123
                lines.append(f"{name} {file.read().strip()}")
    return "\n".join(lines)


def keepers(watched: Watched) -> dict[str, Callable[[str], str]]:
    """Which lines of which file are kept."""

    def lines(text: str, wanted: Callable[[str], bool]) -> str:
        return "\n".join(line for line in text.splitlines() if wanted(line))

    keep: dict[str, Callable[[str], str]] = {
        "/proc/stat": lambda text: lines(text, lambda line: line.startswith("cpu"))
    }
    if watched.devices:
        names = set(watched.devices)
        keep["/proc/diskstats"] = lambda text: lines(text, lambda line: line.split()[2] in names)
    if watched.interfaces:
        interfaces = set(watched.interfaces)
        keep["/proc/net/dev"] = lambda text: lines(text, lambda line: line.partition(":")[0].strip() in interfaces)
    if watched.mount_point:
        keep[MOUNTSTATS] = lambda text: section_of(text, watched.mount_point)
    return keep


# -- from two readings to usage ----------------------------------------------------------------------------------------


def usage_between(first: Sample, last: Sample) -> Usage:
    """What happened between two readings. Counters that are missing in one of them are left out."""
    seconds = last.monotonic_seconds - first.monotonic_seconds

    def both(path: str) -> tuple[str, str] | None:
        return (first.raw[path], last.raw[path]) if path in first.raw and path in last.raw else None

    busy, softirq, steal, iowait, user = _processors(both("/proc/stat"))
    return Usage(
        seconds,
        busy,
        softirq,
        steal,
        iowait,
        _disks(both("/proc/diskstats"), seconds),
        _nics(both("/proc/net/dev")),
        nfs=_nfs(both(MOUNTSTATS)),
        user=user,
    )


def _moved(texts: tuple[str, str] | None, fields: Callable[[str], list[str]]) -> dict[str, list[int]]:
    """By name how far each counter moved, of names that both readings have. fields: of a line, its name first."""
    before, after = (
        {name: list(map(int, counts)) for name, *counts in map(fields, text.splitlines())} for text in texts or ("", "")
    )
    return {
        name: [now - then for now, then in zip(after[name], before[name], strict=True)]
        for name in after.keys() & before.keys()
    }


def _processors(texts: tuple[str, str] | None) -> tuple[tuple[float, ...], float, float, float, float | None]:
    """Busy share per core, and softirq, steal, iowait and user shares of all (columns of proc(5):
    user nice system idle iowait irq softirq steal).
    """
    if texts is None:
        return (), 0.0, 0.0, 0.0, None
    shares: dict[str, list[float]] = {}
    for name, change in _moved(texts, lambda line: line.split()[:9]).items():
        # A kernel may step idle and iowait back a little; time does not run backwards here.
        ticks = [max(0, tick) for tick in change]
        shares[name] = [tick / (sum(ticks) or 1) for tick in ticks]
    cores = sorted((name for name in shares if re.fullmatch(r"cpu\d+", name)), key=lambda name: int(name[3:]))
    busy = tuple(sum(shares[name]) - shares[name][3] - shares[name][4] for name in cores)
    everything = shares.get("cpu", [0.0] * 8)
    return busy, everything[6], everything[7], everything[4], everything[0] + everything[1]


def _disks(texts: tuple[str, str] | None, seconds: float) -> dict[str, DiskUsage]:
    """Fields of Documentation/admin-guide/iostats: reads, merged, sectors, ms, writes, merged, sectors, ms, in flight,
    busy ms, weighted ms; discards of four; flushes, ms, the last since Linux 5.5.
    """
    found = {}
    for name, change in _moved(texts if seconds > 0 else None, lambda line: line.split()[2:]).items():
        found[name] = DiskUsage(
            change[2] * _SECTOR_BYTES,
            change[6] * _SECTOR_BYTES,
            utilisation=min(1.0, change[9] / 1000 / seconds),
            flushes=change[_FLUSHES] if len(change) > _FLUSHES else None,
        )
    return found


def _nics(texts: tuple[str, str] | None) -> dict[str, NicUsage]:
    return {
        name: NicUsage(one[0], one[8], one[2] + one[10], one[3] + one[11])
        for name, one in _moved(texts, lambda line: line.replace(":", " ", 1).split()).items()
    }


def _nfs(texts: tuple[str, str] | None) -> NfsUsage | None:
    before, after = (server_bytes(text) for text in texts or ("", ""))
    if before is None or after is None:
        return None
    read, written = after[0] - before[0], after[1] - before[1]
    first, last = map(server_flushes, texts or ("", ""))
    # Parallel NFS writes to other servers, which are counted elsewhere.
    return NfsUsage(read, written, last - first if last > first or not written else None)
