# SPDX-License-Identifier: Apache-2.0
"""The job files that ioatlas writes, read back as fio reads them: global options below each section's own."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ioatlas.model.cell import directions_of
from ioatlas.model.units import words

_SPLIT = re.compile(r"(?<!\\):")
_TIME = re.compile(r"(\d+(?:\.\d+)?)(ms|us|s|m|h|)")
_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "": 1.0, "m": 60.0, "h": 3600.0}
_WAYS = ("read", "write", "trim")


@dataclass(frozen=True)
class SimulatedJob:
    """One section of a job file. group: counts the groups from 0; jobs of one group are reported together."""

    name: str
    options: Mapping[str, str]
    own: Mapping[str, str]
    group: int
    after: bool = False
    """Whether it waits for all jobs before it (`stonewall`)."""

    def number(self, name: str, default: float = 0.0) -> float:
        return float(self.options.get(name, default))

    def seconds(self, name: str) -> float:
        """A time option in seconds; 0 where it is not set."""
        match = _TIME.fullmatch(self.options.get(name, "0"))
        assert match is not None, f"{name}={self.options[name]}"
        return float(match[1]) * _SECONDS[match[2]]

    def flag(self, name: str) -> bool:
        return name in self.options and self.options[name] != "0"

    @cached_property
    def runtime_seconds(self) -> float:
        """How long its load runs at most; 0 when only its work ends it."""
        return self.seconds("runtime")

    @cached_property
    def rw(self) -> str:
        return self.options.get("rw", "read")

    @cached_property
    def directions(self) -> tuple[str, ...]:
        return directions_of(self.rw)

    @property
    def flushes(self) -> bool:
        return self.flag("fdatasync") or self.flag("fsync")

    @property
    def random(self) -> bool:
        return "rand" in self.rw

    @cached_property
    def numjobs(self) -> int:
        return int(self.number("numjobs", 1))

    @cached_property
    def iodepth(self) -> int:
        asynchronous = self.options.get("ioengine", "psync") not in words("psync sync pvsync pvsync2 vsync mmap")
        return int(self.number("iodepth", 1)) if asynchronous else 1

    def block_bytes(self, direction: str) -> float:
        """Mean size of an I/O in one direction."""
        return self._blocks[_WAYS.index(direction)]

    @cached_property
    def _blocks(self) -> tuple[float, ...]:
        return tuple(self._block_bytes(place) for place in range(len(_WAYS)))

    def _block_bytes(self, place: int) -> float:
        mixed = self.options.get("bssplit", "")
        parts = mixed.split(",")
        split = parts[min(place, len(parts) - 1)]
        if split:
            entries = [entry.split("/") for entry in split.split(":")]
            weights = [float(entry[1]) if len(entry) > 1 and entry[1] else 100 / len(entries) for entry in entries]
            total = sum(weights)
            return sum(float(entry[0]) * weight / total for entry, weight in zip(entries, weights, strict=True))
        if "bsrange" in self.options:
            low, high = self.options["bsrange"].split(",")[0].split("-")
            return (float(low) + float(high)) / 2
        sizes = [size for size in self.options.get("bs", "4096").split(",") if size]
        return float(sizes[min(place, len(sizes) - 1)])

    @cached_property
    def read_share(self) -> float:
        """Share of I/Os in the first direction: of a mix rwmixread, else all."""
        if self.directions == ("read", "write"):
            if "rwmixwrite" in self.options:
                return 1 - self.number("rwmixwrite") / 100
            return self.number("rwmixread", 50) / 100
        return 1.0 / len(self.directions)

    def share(self, direction: str) -> float:
        """Share of the I/Os that go in `direction`."""
        if direction not in self.directions:
            return 0.0
        return self.read_share if direction == self.directions[0] else 1 - self.read_share

    def offered_iops(self, direction: str) -> float:
        """I/Os a second that one job offers in a direction; 0 of a closed loop."""
        place = _WAYS.index(direction)
        for name in ("rate_iops", "rate"):
            given = self.options.get(name, "").split(",")
            text = given[min(place, len(given) - 1)]
            if text and float(text):
                return float(text) / (1.0 if name == "rate_iops" else self.block_bytes(direction))
        return 0.0

    @cached_property
    def paced(self) -> bool:
        return any(self.offered_iops(direction) for direction in self.directions)

    @cached_property
    def size_bytes(self) -> int:
        return int(self.number("size", 0))

    @property
    def file_bytes(self) -> int:
        """Size of each of its files: what a job covers is divided among them."""
        return (
            self.size_bytes // int(self.number("nrfiles", 1)) if "filename_format" in self.options else self.size_bytes
        )

    @cached_property
    def work_bytes(self) -> float:
        """Bytes that each job moves before it ends; 0 when time ends it."""
        if self.flag("time_based"):
            return 0.0
        if "number_ios" in self.options:
            return self.number("number_ios") * self.block_bytes(self.directions[0])
        return self.number("io_size", self.size_bytes) * self.number("loops", 1)

    @property
    def footprint_bytes(self) -> float:
        """Bytes that all its jobs range over."""
        private = "filename_format" in self.options
        spread = self.number("offset_increment") * (self.numjobs - 1)
        return self.size_bytes * (self.numjobs if private else 1) + spread

    def files(self) -> list[str]:
        """Paths it works on; none of a server's export or of an engine that moves no data."""
        if self.options.get("ioengine") in ("null", "names") or "uri" in self.options:
            return []
        if "filename_format" in self.options:
            folder = self.options["directory"].replace("\\:", ":")
            names = (
                self.options["filename_format"].replace("$jobnum", str(number)).replace("$filenum", str(place))
                for number in range(self.numjobs)
                for place in range(int(self.number("nrfiles", 1)))
            )
            return [f"{folder}/{name}" for name in names]
        named = self.options.get("replay_redirect", "") if "read_iolog" in self.options else ""
        named = named or self.options.get("filename", "")
        return [path.replace("\\:", ":") for path in _SPLIT.split(named) if path]


def read_jobs(path: Path) -> tuple[dict[str, str], list[SimulatedJob]]:
    """(global options, sections in their order) of a job file."""
    common: dict[str, str] = {}
    sections: list[tuple[str, dict[str, str]]] = []
    for line in path.read_text().splitlines():
        text = line.strip()
        if text.startswith("["):
            sections.append((text[1:-1], {}))
        elif text:
            name, _, value = text.partition("=")
            sections[-1][1][name] = value or "1"
    common = dict(sections.pop(0)[1]) if sections and sections[0][0].startswith("global") else {}
    jobs: list[SimulatedJob] = []
    group = -1
    grouped = common.get("group_reporting", "0") != "0"
    for name, own in sections:
        after = "stonewall" in own
        if not jobs or after or "new_group" in own or not grouped:
            group += 1
        jobs.append(SimulatedJob(name, {**common, **own}, own, group, after and bool(jobs)))
    return common, jobs
