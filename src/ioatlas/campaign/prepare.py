# SPDX-License-Identifier: Apache-2.0
"""Before the first visit: files laid out in full with real writes. After the last one: removed again."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from ioatlas.dialect.jobfile import JobSection, JobValue, render_job
from ioatlas.engine.process import Fio, run_fio
from ioatlas.errors import IoAtlasError, PartialResultError
from ioatlas.model.target import Target
from ioatlas.model.units import format_size

SLOWEST_BYTES_PER_S = 1e6
"""A lay-out slower than this is taken to hang."""


def _block_bytes(size_bytes: int) -> int:
    """Largest power of two up to 1 MiB that divides the size."""
    return min(1 << 20, size_bytes & -size_bytes)


def layout_job(places: Mapping[str, Mapping[str, JobValue]], sizes: Mapping[str, int], *, direct: bool, ioengine: str | None) -> str:
    """A job file that writes every file over its whole length with data that neither compresses nor repeats.

    places: {name: options that bind it to its place}; sizes: {name: bytes}. Files are written one after the other.
    """
    sections = []
    for index, (name, location) in enumerate(places.items()):
        options: dict[str, JobValue] = {
            **location,
            "rw": "write",
            "bs": _block_bytes(sizes[name]),
            "size": sizes[name],
            "ioengine": ioengine or "libaio",
            "iodepth": 8,
            "direct": int(direct),
            "refill_buffers": 1,
            "end_fsync": 1,
            "fallocate": "none",
        }
        if ioengine is None:
            options["allow_file_create"] = 1
        if index:
            options["stonewall"] = None
        sections.append(JobSection(f"layout{index}", options))
    return render_job(sections, {"thread": 1, "clocksource": "clock_gettime"})


def lay_out(
    fio: Fio,
    target: Target,
    places: Mapping[str, Mapping[str, JobValue]],
    sizes: Mapping[str, int],
    *,
    direct: bool,
    directory: Path,
    stop_asked: Callable[[], bool],
    progress: Callable[[int], None],
    paths: tuple[Path, ...] = (),
) -> int:
    """Write the files. Returns the bytes written. `progress` gets the bytes on the target so far where that can be seen.

    Raises PartialResultError when stopped, IoAtlasError when fio fails.
    """
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "job.fio").write_text(layout_job(places, sizes, direct=direct, ioengine=target.ioengine))
    total = sum(sizes.values())

    def tick(_seconds: float) -> None:
        progress(sum(_size(path) for path in paths))

    outcome = run_fio(
        fio,
        ["--output-format=json", "--output=fio.json", "--eta=never", "job.fio"],
        directory=directory,
        expected_seconds=total / SLOWEST_BYTES_PER_S,
        stop_asked=stop_asked,
        started=lambda _pid, _ticks: None,
        tick=tick,
    )
    if outcome.stopped == "asked":
        raise PartialResultError("stopped while the files were laid out", remedy="go on with `ioatlas resume`")
    if outcome.exit_code:
        raise IoAtlasError(
            f"laying out {format_size(total)} failed: {last_line(outcome.stderr) or f'fio ended with {outcome.exit_code}'}",
            where=target.location,
            remedy=remedy_for(outcome.stderr),
        )
    return total


def _size(path: Path) -> int:
    try:
        return os.lstat(path).st_size
    except OSError:
        return 0


def last_line(text: str) -> str:
    """The last line of fio's messages that says something."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    wanted = [line for line in lines if "error" in line.lower() or "fio:" in line]
    return (wanted or lines or [""])[-1]


def remedy_for(text: str) -> str:
    """What to do about fio's message."""
    lowered = text.lower()
    if "no space" in lowered or "error=28" in lowered or "err=28" in lowered:
        return "free some space or choose smaller sizes"
    if ("invalid argument" in lowered and "direct" in lowered) or "o_direct" in lowered:
        return "the target takes no direct I/O with this block size: sweep larger blocks, or set direct = 0"
    if "read-only" in lowered or "error=30" in lowered:
        return "the target is read-only: mount it for writing, or use --read-only"
    if "input/output error" in lowered or "err= 5" in lowered or "error=5" in lowered:
        return "the target answers with I/O errors: look at the kernel's log and at the storage itself"
    return "see fio.err in the batch's directory; the job file beside it repeats it by hand"
