# SPDX-License-Identifier: Apache-2.0
"""What each client of a fleet works on, and which clients take part in a visit.

Clients have their own random offsets, or all of them would read what one has brought into the target's cache.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from ioatlas.model.cell import OptionValue

if TYPE_CHECKING:
    from ioatlas.load.fio.executor import Spread

SEED_STEP = 104_729
"""Between the seeds of two clients; a prime, so that they do not meet those of a load's streams."""
RATES = ("rate", "rate_iops")
"""Options whose value is that of all clients together."""
_HOLD_MS, _LONGEST_HOLD_MS = 20, 2000
"""For each job of each client: none makes a load until all have opened what their jobs work on. Else those that are
ready load the target, and others wait for their connections: ten clients of five jobs each started 1.2 s apart.
"""
_SECTION = re.compile(r"^\[([^\]]+)\]$")
_WRITES = re.compile(r"^(rand)?(write|rw|trim|trimwrite)|^readwrite|^randrw")


def file_of(name: str, client: int) -> str:
    """The file of a client, from the name of the file that one client alone would use. client: from 0."""
    stem, dot, ending = name.rpartition(".")
    return f"{stem}.client{client + 1}{dot}{ending}" if dot else f"{name}.client{client + 1}"


def participants(names: Sequence[str], spread: Spread) -> tuple[str, ...]:
    """Which clients take part, in their order: drawn by the visit's seed where not all of them do."""
    if not 0 < spread.clients < len(names):
        return tuple(names)
    drawn = set(random.Random(spread.seed).sample(range(len(names)), spread.clients))  # noqa: S311
    return tuple(name for place, name in enumerate(names) if place in drawn)


def rate_of(rate: OptionValue, place: int, count: int) -> str:
    """A client's part of an offered rate, which is that of all together. place: of the client among the `count` that
    take part. The parts add up; none is 0, which fio takes for no limit.
    """
    return ",".join(_part_of(text, place, count) for text in str(rate).split(","))


def _part_of(text: str, place: int, count: int) -> str:
    whole = int(float(text)) if text else 0
    return str(max(1, whole * (place + 1) // count - whole * place // count)) if whole else text


def job_of(text: str, client: int, spreads: Mapping[Spread, Sequence[int]], *, readonly: bool = False) -> str:
    """The job file of one client, from that of the batch.

    client:  its place among all of the fleet, from 0. spreads: of the sections in which it takes part, with its place
             among those that do, and their number.
    readonly: that nothing may be written; fio's servers do not heed its own option of that name. Raises ValueError for
    a section that writes all the same.
    """
    mine = {name: (spread, place) for spread, place in spreads.items() for name in spread.jobs}
    hold_ms = hold_of(spreads)
    blocks = []
    for block in text.split("\n\n"):
        lines = block.rstrip("\n").split("\n")
        head = _SECTION.match(lines[0])
        if head is not None and head[1] != "global" and head[1] not in mine:
            continue
        taken = mine.get(head[1]) if head is not None else None
        if readonly and any(line.startswith("rw=") and _WRITES.match(line[3:]) for line in lines):
            raise ValueError(f"section {lines[0]} writes, and the batch is to read only")
        if any(line.startswith("directory=") for line in lines):
            lines.append("unique_filename=0")  # or a server puts its client's address before the names
        blocks.append("\n".join(_held(_line(line, client, taken), hold_ms) for line in lines) + "\n")
    return "\n".join(blocks)


def hold_of(spreads: Iterable[Spread]) -> int:
    """How long a client waits once its jobs are ready, in ms; 0 where each section is one job."""
    jobs: Counter[int] = Counter()  # of each visit, by its seed: targets loaded together have a spread each
    total = 0
    for spread in spreads:
        jobs[spread.seed] += len(spread.jobs)
        total += len(spread.jobs) * spread.clients
    return min(_LONGEST_HOLD_MS, _HOLD_MS * total) if max(jobs.values(), default=0) > 1 else 0


def _held(line: str, hold_ms: int) -> str:
    key, _, value = line.partition("=")
    if not hold_ms or key != "startdelay":
        return line
    return f"startdelay={int(value.removesuffix('ms')) + hold_ms}ms"


def _line(line: str, client: int, taken: tuple[Spread, Sequence[int]] | None) -> str:
    key, equals, value = line.partition("=")
    if taken is None or not equals:
        return f"{key}{equals}{value}"
    spread, (place, count) = taken
    if key == "randseed":
        return f"{key}={(int(value) + client * SEED_STEP) % 2**31}"
    if key in ("filename", "filename_format") and spread.own_files:
        # A backslash stands before a colon inside a name.
        return f"{key}=" + ":".join(_own(path, client) for path in re.split(r"(?<!\\):", value))
    if key == "offset" and spread.stride_bytes:
        return f"{key}={int(value) + client * spread.stride_bytes}"
    if key in RATES:
        value = rate_of(value, place, count)
    return f"{key}{equals}{value}"


def _own(path: str, client: int) -> str:
    folder, slash, name = path.rpartition("/")
    return f"{folder}{slash}{file_of(name, client)}"


def span_seconds(text: str) -> float:
    """From the start of a batch's load generator to the end of its last section, as its job file says."""
    last, section = 0.0, 0.0
    for line in text.splitlines():
        key, _, value = line.partition("=")
        if key.startswith("["):
            section = 0.0
        if key in ("startdelay", "runtime") and value.endswith("ms"):
            section += float(value.removesuffix("ms")) / 1000
            last = max(last, section)
    return last
