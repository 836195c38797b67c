# SPDX-License-Identifier: Apache-2.0
"""Every ready use, asked of one directory: the answer, what was measured, what is needed and who says so, as a table.

Each ends with its decision. One that is not decided may take its share of the time that is left, so what others leave
goes to those that come later; the whole takes `--total` minutes at most, but for the files that are laid out.

    python bench/fit/uses.py DIR [--uses etcd,restore] [--total 40] [--out uses.md]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MOST_SECONDS, LEAST_SECONDS = 180.0, 20.0
"""Of one use: what a fit takes at most where nothing is said, and what is needed to look once."""
ASKED = {"backup": "backup:proof=2g"}
"""Where the usual values would write for hours before anything is decided."""


def _fit(directory: Path, use: str, budget: float, place: Path) -> tuple[dict[str, object], float]:
    """What `ioatlas fit --json` says, {} where it says nothing; and the seconds that it took."""
    asked = ["fit", str(directory), "--for", ASKED.get(use, use), "--budget", f"{budget:.0f}s", "--json", "-q"]
    begin = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "ioatlas", *asked, "-o", str(place)], capture_output=True, text=True, check=False
    )
    seconds = time.monotonic() - begin
    if done.returncode in (0, 3, 5):
        told: dict[str, object] = json.loads(done.stdout)["fits"][0]
        return told, seconds
    return {"answer": f"status {done.returncode}: {done.stderr.strip().splitlines()[-1]}", "requirements": []}, seconds


def _rows(use: str, told: dict[str, object], seconds: float) -> list[str]:
    """Rows of the table, one for each requirement."""
    from ioatlas.model.units import format_latency

    def amount(one: dict[str, object], value: float | None) -> str:
        if value is None:
            return "–"
        if one["unit"] == "ns":
            return format_latency(value)
        if one["unit"] == "B/s":
            return f"{value / 1e6:.4g} MB/s"
        return f"{value:.4g} IOPS" if one["unit"] else f"{value:.1%}"

    rows = []
    for number, one in enumerate(told["requirements"] or [{}]):
        first = (use, str(told["answer"]).upper(), f"{seconds:.0f}") if not number else ("", "", "")
        if not one:
            rows.append((*first, "", "", "", ""))
            continue
        ends = f" ({amount(one, one['low'])} to {amount(one, one['high'])})" if one["low"] is not None else ""
        source = one["source"]
        said = ", ".join(part for part in (source["title"], source["read"] and f"read {source['read']}") if part)
        rows.append((*first, one["requirement"], one["answer"], amount(one, one["value"]) + ends, said))
    return ["| " + " | ".join(map(str, row)) + " |" for row in rows]


def main() -> None:
    from ioatlas.procedures.fit.read import ready

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--uses", default=",".join(ready()), help="those that are asked")
    parser.add_argument("--total", type=float, default=40.0, help="minutes for all of them")
    parser.add_argument("--out", type=Path, default=Path("uses.md"))
    given = parser.parse_args()
    uses, end = given.uses.split(","), time.monotonic() + 60 * given.total
    load = f"load average {os.getloadavg()[0]:.1f} at the start, {os.cpu_count()} processors"
    lines = [
        f"`python bench/fit/uses.py {given.directory} --total {given.total:g}`, {load}.",
        "",
        "| use | answer | seconds | requirement | its answer | measured | source |",
        "|---|---|---|---|---|---|---|",
    ]
    with tempfile.TemporaryDirectory(prefix="ioatlas-uses-") as work:
        for number, use in enumerate(uses):
            left = (end - time.monotonic()) / (len(uses) - number)
            budget = max(LEAST_SECONDS, min(MOST_SECONDS, left))
            told, seconds = _fit(given.directory, use, budget, Path(work) / use)
            lines += _rows(use, told, seconds)
            given.out.write_text("\n".join(lines) + "\n", encoding="utf-8")
            print(f"{use}: {told['answer']}, {seconds:.0f} s", flush=True)


if __name__ == "__main__":
    main()
