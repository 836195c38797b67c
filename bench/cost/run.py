# SPDX-License-Identifier: Apache-2.0
"""Visits and seconds of the stop rule against 40 fixed repetitions, on a quiet and on a noisy target.

One of its four campaigns takes up to three minutes. With DIR each is kept there as soon as it is measured and taken
from there afterwards, and a call ends with status 4 before one that would begin after SECONDS: repeated calls measure
all in short slices.

Run: .venv/bin/python bench/cost/run.py [DIR [SECONDS]] > bench/cost/RESULT.md
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

TOOL = Path(sys.executable).parent / "ioatlas"
SWEEP = """[sweep]
rw = ["randread"]
bs = ["16k", "64k"]
size = ["64m"]
numjobs = [1, 4]
"""
RULES = (
    ("--precision 5%, at most 40 visits", ["--precision", "5%", "--max-visits", "40"]),
    ("40 fixed repetitions", ["--visits", "40"]),
)
LIMITED = ["lab", "run", "bandwidth", "--set", "bw_bytes_per_s=100MB", "--set", "burst_seconds=0.05", "--"]
DRIFTING = ["lab", "run", "drifting", "--set", "low_bytes_per_s=30MB", "--"]


def measure(work: Path, name: str, before: list[str], arguments: list[str]) -> tuple[list[dict[str, str]], float]:
    sweep = work / "sweep.toml"
    sweep.write_text(SWEEP)
    directory = work / name
    load = [str(TOOL), "map", "{}", "--read-only", "--campaign", str(sweep), *arguments, "-o", str(directory), "--yes"]
    began = time.monotonic()
    done = subprocess.run([str(TOOL), *before, *load], check=False, capture_output=True, text=True, timeout=900)
    if done.returncode:
        raise SystemExit(done.stderr)
    seconds = time.monotonic() - began
    rows = json.loads(
        subprocess.run(
            [str(TOOL), "export", str(directory), "--format", "json"], check=True, capture_output=True, text=True
        ).stdout
    )["rows"]
    return rows, seconds


def kept(keep: Path, name: str, before: list[str], arguments: list[str], latest: float) -> dict[str, Any]:
    """What a campaign gave, from `keep` or measured now. Ends the program when it would begin after `latest`."""
    record = keep / f"{name}.json"
    if not record.exists():
        if time.monotonic() > latest:
            sys.exit(4)
        with tempfile.TemporaryDirectory() as scratch:
            rows, seconds = measure(Path(scratch), name, before, arguments)
        visits = [int(row["n_visits"]) for row in rows]
        widths = [(float(row["bw_high"]) - float(row["bw_low"])) / 2 / float(row["bw_bytes_per_s"]) for row in rows]
        record.write_text(json.dumps({"visits": visits, "widths": widths, "seconds": seconds}))
    found: dict[str, Any] = json.loads(record.read_text())
    return found


def table(keep: Path, latest: float) -> list[str]:
    lines = []
    for kind, before in (("quiet", LIMITED), ("noisy", DRIFTING)):
        made = [kept(keep, f"{kind}{index}", before, arguments, latest) for index, (_, arguments) in enumerate(RULES)]
        reached = f"{max(made[1]['widths']):.1%}"
        made.append(kept(keep, f"{kind}2", before, ["--precision", reached, "--max-visits", "40"], latest))
        for rule, one in zip(
            [*(rule for rule, _ in RULES), f"--precision {reached}, what 40 repetitions gave at worst"],
            made,
            strict=True,
        ):
            shown, widths = ", ".join(map(str, one["visits"])), ", ".join(f"{width:.1%}" for width in one["widths"])
            lines.append(f"| {kind} | {rule} | {sum(one['visits'])} | {shown} | {widths} | {one['seconds']:.0f} s |")
    return lines


def main() -> None:
    latest = time.monotonic() + (float(sys.argv[2]) if len(sys.argv) > 2 else float("inf"))
    with tempfile.TemporaryDirectory() as scratch:
        keep = Path(sys.argv[1] if len(sys.argv) > 1 else scratch)
        keep.mkdir(parents=True, exist_ok=True)
        lines = table(keep, latest)
    print(
        "# What the stop rule costs\n\n`.venv/bin/python bench/cost/run.py`; 4 cells of random reads; quiet: a server "
        "limited to 100 MB/s, noisy: one whose limit wanders between 30 and 40 MB/s within a minute.\n"
    )
    print(
        "| target | rule | visits in all | of single cells | half-width of single cells | wall clock "
        "|\n|---|---|---|---|---|---|"
    )
    print("\n".join(lines))
    print(
        "\nA fixed number needs one look, at 95%; the rule that looks up to nine times uses 97.8% at each to claim "
        "the same. Half-widths are those of the intervals published."
    )


if __name__ == "__main__":
    main()
