# SPDX-License-Identifier: Apache-2.0
"""Every lab target measured against what is configured, over five seeds, with what is left explained.

With DIR each target is kept there as soon as it is measured and taken from there afterwards, and a call ends with
status 4 before a target that would
begin after SECONDS: repeated calls measure all in slices of at most four minutes.

Run: .venv/bin/python bench/truth/run.py [DIR [SECONDS]] > bench/truth/RESULT.md
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

TOOL = str(Path(sys.executable).parent / "ioatlas")
SEEDS = 5


def outcomes(keep: Path, name: str, latest: float) -> list[dict[str, Any]]:
    """The outcomes of one target, from `keep` or measured now. Ends the program when it would begin after `latest`."""
    record = keep / f"{name}.jsonl"
    if not record.exists():
        if time.monotonic() > latest:
            sys.exit(4)
        done = subprocess.run(
            [TOOL, "lab", "truth", name, "--seeds", str(SEEDS), "--json"], check=False, capture_output=True, text=True
        )
        if done.returncode not in (0, 3):
            raise SystemExit(done.stderr)
        record.write_text(done.stdout)
    return [json.loads(line) for line in record.read_text().splitlines()]


def row(seeds: list[dict[str, Any]]) -> str:
    first, count = seeds[0], len(seeds)
    errors = sorted(one["error"] for one in seeds)
    mean = sum(errors) / count
    measured, truth = (sum(one[key] for one in seeds) / count for key in ("measured", "truth"))
    known = [one["explained"] for one in seeds if one["explained"] is not None]
    explained = f"{sum(known) / len(known):+.2%}: {seeds[-1]['because']}" if known else first["because"]
    good = sum(one["ok"] for one in seeds)
    return (
        f"| {first['scenario']} | {first['quantity']} | `{first['options']}` | {truth:.6g} | {measured:.6g} "
        f"{first['unit']} "
        f"| {mean:+.2%} ({errors[0]:+.2%} .. {errors[-1]:+.2%}) | {explained} | {first['remark']} | {good}/{count} |"
    )


def main() -> None:
    latest = time.monotonic() + (float(sys.argv[2]) if len(sys.argv) > 2 else float("inf"))
    listed = json.loads(
        subprocess.run([TOOL, "lab", "list", "--json"], check=True, capture_output=True, text=True).stdout
    )
    lines, every, absent = [], [], []
    with tempfile.TemporaryDirectory() as scratch:
        keep = Path(sys.argv[1] if len(sys.argv) > 1 else scratch)
        keep.mkdir(parents=True, exist_ok=True)
        for target in listed:
            if target["missing_packages"]:
                absent.append(target["name"])
                continue
            found = outcomes(keep, target["name"], latest)
            every += found
            places: dict[tuple[str, str], list[dict[str, Any]]] = {}
            for one in found:
                places.setdefault((one["quantity"], one["options"]), []).append(one)
            lines += [row(seeds) for seeds in places.values()]
    print("# Truth: measured against configured\n")
    print(
        f"`.venv/bin/python bench/truth/run.py` (or `make truth`), as root; {SEEDS} seeds, plain fio, not the "
        "project's own engine.\n"
    )
    print(
        "Truth is what is configured, after the burst; of a delay it is the delay plus the same path without delay, "
        "measured in turn. Explained: the part of the error that was measured apart from fio\n"
        "(how much longer than asked a sleep takes), and the share of the window's work that is in flight at its "
        "edges. The remark ends with the tolerance, relative or in the unit, and why it is wider than 1% of a rate or "
        "2% of a latency.\n"
    )
    print(
        "| target | quantity | load | truth | measured | error, mean (least .. most) | explained | remark | within "
        "|\n|---|---|---|---|---|---|---|---|---|"
    )
    print("\n".join(lines))
    print(
        f"\n{sum(one['ok'] for one in every)} of {len(every)} values within their tolerance."
        + (f" Not measured, a package is missing: {', '.join(absent)}." if absent else "")
    )


if __name__ == "__main__":
    main()
