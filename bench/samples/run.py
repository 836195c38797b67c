# SPDX-License-Identifier: Apache-2.0
"""What gates and verdicts say about fio results by others, read in place.

Run: IOATLAS_SAMPLES=DIR .venv/bin/python bench/samples/run.py > bench/samples/RESULT.md
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from ioatlas.load.fio.figures import FioDirection, FioJob, FioOutput
from ioatlas.load.fio.output import parse_fio_json
from ioatlas.stats.gates import InFlight, bytes_gate
from ioatlas.stats.verdict import judge
from ioatlas_translate.read.fio_json import block_size, fio_size

SAMPLES = Path(os.environ.get("IOATLAS_SAMPLES", Path(__file__).resolve().parents[3] / "shared" / "samples"))


def jobs(folder: Path) -> Iterator[tuple[Path, FioOutput, FioJob]]:
    for path in sorted((folder / "fio" / "json").iterdir()):
        for output in parse_fio_json(path.read_text(errors="replace")).outputs:
            for job in output.jobs:
                yield path, output, job


def judge_job(output: FioOutput, job: FioJob) -> tuple[list[str], list[str]]:
    """(reasons to discard, gates that could not be applied) of one job entry."""
    options = output.options_of(job)
    reasons = [f"error {job.error} reported by the load generator" if job.error else ""]
    skipped = []
    parts = [part for part in job.directions.values() if part.measured]
    if parts and all(part.total_ios is None for part in parts):
        skipped.append("I/O count")
    else:
        reasons.append("" if any(part.total_ios for part in parts) else "no I/O completed")
    for part in parts:
        size = block_size(options, part.direction)
        if (
            size is None
            or part.io_bytes is None
            or not part.total_ios
            or any(name in options for name in ("bssplit", "bsrange"))
        ):
            skipped.append(f"bytes ({part.direction})")
        else:
            # fio 2.x prints whole KiB.
            short = (part.short_ios or 0) + (1 if (output.version or "").startswith("fio-2") else 0)
            reasons.append(bytes_gate(part.io_bytes, part.total_ios, size, short_ios=short))
    little = little_of(options, parts)
    if little is None:
        skipped.append("Little's law")
    else:
        reasons.append(little)
    return [reason for reason in reasons if reason], skipped


def little_of(options: dict[str, str], parts: list[FioDirection]) -> str | None:
    paced = any(options.get(name) for name in ("rate", "rate_iops", "thinktime"))
    latencies = [
        (part.total_ios, part.lat.mean_ns) for part in parts if part.total_ios and part.lat and part.lat.mean_ns
    ]
    known = fio_size(options.get("iodepth", "1")) and fio_size(options.get("numjobs", "1"))
    runtime = max((part.runtime_ms or 0 for part in parts), default=0)
    if paced or not known or not runtime or len(latencies) < len(parts) or not parts or "iodepth" not in options:
        return None
    total = sum(ios for ios, _ in latencies)
    mean = sum(ios * lat for ios, lat in latencies) / total
    depth = int(options["iodepth"])
    many = int(options.get("numjobs", "1")) if options.get("group_reporting") is not None else 1
    held, kept = total * mean / 1e6 / runtime, float(depth * many)
    flight = InFlight(held, held, kept, kept, held / total)
    return flight.sentence if flight.beyond or flight.missing else ""


def logs(folder: Path) -> Iterator[tuple[str, list[float], list[float]]]:
    """(name, ends in ms, KiB/s) of each direction of each bandwidth log."""
    for path in sorted((folder / "fio" / "logs").glob("*_bw.*.log")):
        rows = [[int(word) for word in line.split(",")[:3]] for line in path.read_text().splitlines() if line.strip()]
        for code, direction in enumerate(("read", "write", "trim")):
            mine = [row for row in rows if row[2] == code]
            if mine:
                yield f"{path.name} ({direction})", [float(row[0]) for row in mine], [float(row[1]) for row in mine]


def main() -> None:
    print("# Results by others, judged\n\n`IOATLAS_SAMPLES=DIR .venv/bin/python bench/samples/run.py`\n")
    print("## Gates on fio's JSON\n\n| file | job | found | not applicable |\n|---|---|---|---|")
    for path, output, job in jobs(SAMPLES):
        reasons, skipped = judge_job(output, job)
        print(f"| {path.name} | {job.name} | {'; '.join(reasons) or 'passes'} | {', '.join(skipped)} |")
    print(
        "\nThe one-job file of fio 3.1 ran with `ramp_time`: fio credits bytes of I/Os in flight when the ramp ends "
        "and does not count those I/Os (284 completions, 286 submissions in its latency figures)."
    )
    print("\n## Verdicts on interval logs\n\n| log | intervals | verdict | why |\n|---|---|---|---|")
    for name, ends, values in logs(SAMPLES):
        verdict = judge(values, end_ms=ends)
        late = ", late" if verdict.late else ""
        print(f"| {name} | {verdict.n} | {verdict.verdict.text}{late} | {verdict.reason} |")


if __name__ == "__main__":
    main()
