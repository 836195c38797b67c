# SPDX-License-Identifier: Apache-2.0
"""`--verify`: write blocks that carry their own checksum, read them back, and compare. A mismatch is a finding above
all others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from ioatlas import beneath
from ioatlas.errors import PartialResultError
from ioatlas.fio.executor import Executor
from ioatlas.fio.jobfile import JobSection, JobValue, render_job
from ioatlas.fio.single import run_job
from ioatlas.model.cell import Cell
from ioatlas.model.events import Emit, Event
from ioatlas.model.options import SYNCHRONOUS_ENGINES
from ioatlas.model.outcomes import IntegrityCheck
from ioatlas.run.plan import Plan
from ioatlas.target.sites import Sites

LARGEST_BYTES = 256 << 20
SLOWEST_BYTES_PER_S = 1e6
DEPTH = 8
_MISMATCH = re.compile(r"^(verify: |.*verify: bad |crc32c: verify failed|fio: verify)", re.MULTILINE)


def check_targets(
    plan: Plan, sites: Sites, executor: Executor, directory: Path, *, stop_asked: Callable[[], bool], emit: Emit
) -> tuple[IntegrityCheck, ...]:
    """Check every target that the campaign writes. Raises PartialResultError when stopped."""
    checks = []
    for target in plan.targets:
        cells = [cell for cell in plan.by_target if cell.target == target.name and "write" in cell.directions]
        if cells:
            cell = min(cells, key=lambda each: (each.bs_bytes, -each.outstanding))
            emit(Event("verify", {"target": target.name, "bs_bytes": cell.bs_bytes}))
            sites.check([cell])
            place = beneath.make_directory(directory, f"verify/{beneath.plain_name(target.name)}")
            checks.append(_check(cell, sites, executor, place, stop_asked))
    return tuple(checks)


def verify_job(cell: Cell, location: Mapping[str, JobValue]) -> str:
    """Random writes of every block of a range with a checksum in each, then all of them read back."""
    engine = str(cell.option["ioengine"])
    options: dict[str, JobValue] = {
        **location,
        "rw": "randwrite",
        "bs": cell.bs_bytes,
        "size": _range_bytes(cell),
        "ioengine": "libaio" if engine in SYNCHRONOUS_ENGINES else engine,
        "iodepth": DEPTH,
        "direct": cell.integer("direct", 1),
        "verify": "crc32c",
        "do_verify": 1,
        "verify_fatal": 0,
        "verify_state_save": 0,
        "randrepeat": 0,
        "randseed": 1,
    }
    return render_job(
        [JobSection("verify", options)], {"thread": 1, "clocksource": "clock_gettime", "allow_file_create": 0}
    )


def _range_bytes(cell: Cell) -> int:
    return min(cell.size_bytes, LARGEST_BYTES) // cell.bs_bytes * cell.bs_bytes


def _check(
    cell: Cell, sites: Sites, executor: Executor, directory: Path, stop_asked: Callable[[], bool]
) -> IntegrityCheck:
    location = dict(sites.location(cell))
    location.pop("filename_format", None)
    size = _range_bytes(cell)
    outcome, output = run_job(
        executor,
        verify_job(cell, location),
        directory,
        expected_seconds=2 * size / SLOWEST_BYTES_PER_S,
        stop_asked=stop_asked,
        held=sites.held,
    )
    if outcome.stopped == "asked":
        raise PartialResultError(
            "stopped while blocks were verified; finished visits are kept", remedy="go on with `ioatlas resume`"
        )
    job = output.jobs[0] if output is not None and output.jobs else None
    lines = [line.strip() for line in outcome.stderr.splitlines() if _MISMATCH.match(line.strip())]
    written, read = ((job.directions[d].io_bytes or 0) if job and d in job.directions else 0 for d in ("write", "read"))
    return IntegrityCheck(
        cell.target,
        cell.bs_bytes,
        DEPTH,
        size,
        written,
        read,
        len(lines),
        (job.error or 0) if job else outcome.exit_code,
        lines[0] if lines else "",
    )
