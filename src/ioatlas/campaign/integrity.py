# SPDX-License-Identifier: Apache-2.0
"""`--verify`: write blocks that carry their own checksum, read them back, and compare. A mismatch is a finding above all others."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ioatlas.campaign.events import Emit, Event
from ioatlas.campaign.plan import Plan
from ioatlas.campaign.sites import Sites
from ioatlas.dialect.jobfile import JobSection, JobValue, render_job
from ioatlas.engine.collect import complete_output
from ioatlas.engine.process import Fio, run_fio
from ioatlas.errors import PartialResultError
from ioatlas.model.cell import Cell
from ioatlas.model.options import SYNCHRONOUS_ENGINES
from ioatlas.model.result import Finding
from ioatlas.model.units import format_size, format_size_rounded

LARGEST_BYTES = 256 << 20
SLOWEST_BYTES_PER_S = 1e6
DEPTH = 8
_MISMATCH = re.compile(r"^(verify: |.*verify: bad |crc32c: verify failed|fio: verify)", re.MULTILINE)


@dataclass(frozen=True)
class Check:
    """One target's check: bytes written and read back, what fio said of those that did not match ('' when all did)."""

    target: str
    bs_bytes: int
    iodepth: int
    size_bytes: int
    written_bytes: int
    read_bytes: int
    mismatches: int
    error: int
    message: str


def check_targets(plan: Plan, sites: Sites, fio: Fio, directory: Path, *, stop_asked: Callable[[], bool], emit: Emit) -> list[Check]:
    """Check every target that the campaign writes. Raises PartialResultError when stopped."""
    checks = []
    for target in plan.targets:
        cells = [cell for cell in plan.to_measure if cell.target == target.name and "write" in cell.directions]
        if cells:
            cell = min(cells, key=lambda each: (each.bs_bytes, -each.outstanding))
            emit(Event("verify", {"target": target.name, "bs_bytes": cell.bs_bytes}))
            sites.check([cell])
            checks.append(_check(cell, sites, fio, directory / "verify" / target.name, stop_asked))
    return checks


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
        "randrepeat": 0,
        "randseed": 1,
    }
    return render_job([JobSection("verify", options)], {"thread": 1, "clocksource": "clock_gettime", "allow_file_create": 0})


def _range_bytes(cell: Cell) -> int:
    return min(cell.size_bytes, LARGEST_BYTES) // cell.bs_bytes * cell.bs_bytes


def _check(cell: Cell, sites: Sites, fio: Fio, directory: Path, stop_asked: Callable[[], bool]) -> Check:
    directory.mkdir(parents=True, exist_ok=True)
    location = dict(sites.location(cell))
    location.pop("filename_format", None)
    (directory / "job.fio").write_text(verify_job(cell, location))
    size = _range_bytes(cell)
    outcome = run_fio(
        fio,
        ["--output-format=json", "--output=fio.json", "--eta=never", "job.fio"],
        directory=directory,
        expected_seconds=2 * size / SLOWEST_BYTES_PER_S,
        stop_asked=stop_asked,
        started=lambda _pid, _ticks: None,
    )
    if outcome.stopped == "asked":
        raise PartialResultError("stopped while blocks were verified; finished visits are kept", remedy="go on with `ioatlas resume`")
    output = complete_output(directory)
    job = output.jobs[0] if output is not None and output.jobs else None
    lines = [line.strip() for line in outcome.stderr.splitlines() if _MISMATCH.match(line.strip())]
    written, read = ((job.directions[d].io_bytes or 0) if job and d in job.directions else 0 for d in ("write", "read"))
    return Check(
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


def as_outcome(checks: list[Check]) -> list[dict[str, Any]]:
    return [asdict(check) for check in checks]


def integrity_findings(outcome: list[dict[str, Any]]) -> tuple[Finding, ...]:
    """What the checks found, mismatches first."""
    found = []
    for check in sorted((Check(**row) for row in outcome), key=lambda check: not check.error):
        what = f"blocks of {format_size(check.bs_bytes)} at depth {check.iodepth}"
        if check.error or check.mismatches:
            sentence = f"{check.target} returned other data than was written: {what}, {max(1, check.mismatches)} mismatches seen in "
            sentence += f"{format_size_rounded(check.read_bytes)} read back ({check.message or f'fio error {check.error}'}). Trust none of its data before this is explained."
            found.append(Finding("corruption", sentence))
        else:
            sentence = f"{check.target} gave back what was written: {what}, {format_size_rounded(check.written_bytes)} written and "
            found.append(Finding("integrity", sentence + f"{format_size_rounded(check.read_bytes)} read back and compared."))
    return tuple(found)
