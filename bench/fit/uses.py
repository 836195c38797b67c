# SPDX-License-Identifier: Apache-2.0
"""Every ready use, asked of one directory: the answer, what was measured, what is needed and who says so, as a table.

Each ends with its decision. One that is not decided may take its share of the time that is left, so what others leave
goes to those that come later; the whole takes `--total` minutes at most, but for the files that are laid out.

What was answered is kept in OUT: the same command goes on where it was stopped, and `--uses` asks some of them now and
the others at another time. The table has all of them, also those that were not asked yet.

    python bench/fit/uses.py DIR [--out OUT] [--uses etcd,restore] [--total 40]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

MOST_SECONDS, LEAST_SECONDS = 180.0, 30.0
"""Of one use: what a fit takes at most where nothing is said, and what is needed to look once."""
ASKED = {"backup": "backup:proof=2g"}
"""Where the usual values would write for hours before anything is decided."""
NOT_ASKED: dict[str, Any] = {"answer": "not asked yet", "seconds": 0.0, "load": 0.0, "requirements": []}
HEAD = ("use", "answer", "seconds", "load", "requirement", "its answer", "measured (interval)", "margin", "source")


def _fit(directory: Path, use: str, budget: float, place: Path) -> dict[str, Any]:
    """What `ioatlas fit --json` says of a use, with the seconds that it took and the load average before it."""
    asked = ["fit", str(directory), "--for", ASKED.get(use, use), "--budget", f"{budget:.0f}s", "-o", str(place)]
    if (place / "journal.sqlite").exists():
        asked = ["resume", str(place)]
    load, begin = os.getloadavg()[0], time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "ioatlas", *asked, "--json", "-q"], capture_output=True, text=True, check=False
    )
    about = {"seconds": time.monotonic() - begin, "load": load}
    if done.returncode in (0, 3, 5):
        told: dict[str, Any] = json.loads(done.stdout)["fits"][0]
        return told | about
    why = " ".join((done.stderr.strip() or "it said nothing").splitlines()[-2:])
    return NOT_ASKED | about | {"answer": f"no answer, status {done.returncode}: {why}"}


def _rows(use: str, told: dict[str, Any]) -> list[tuple[str, ...]]:
    """Rows of the table, one for each requirement."""
    from ioatlas.model.units import format_latency

    def amount(one: dict[str, Any], value: float | None) -> str:
        if value is None:
            return "–"
        if one["unit"] == "ns":
            return format_latency(value)
        if one["unit"] == "B/s":
            return f"{value / 1e6:.4g} MB/s"
        return f"{value:.4g} IOPS" if one["unit"] else f"{value:.1%}"

    first = (ASKED.get(use, use), told["answer"], f"{told['seconds']:.0f}", f"{told['load']:.1f}")
    rows = [] if told["requirements"] else [(*first, *[""] * 5)]
    for one in told["requirements"]:
        ends = f" ({amount(one, one['low'])} to {amount(one, one['high'])})" if one["low"] is not None else ""
        margin = "" if one["margin"] is None else f"{one['margin']:.3g}"
        source = " ".join(one["source"].values()).strip()
        rows.append((*first, one["requirement"], one["answer"], amount(one, one["value"]) + ends, margin, source))
        first = ("", "", "", "")
    return rows


def main() -> None:
    from ioatlas.measure.procedures.fit.read import ready

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--uses", default=",".join(ready()), help="those that are asked now")
    parser.add_argument("--total", type=float, default=40.0, help="minutes for all of them")
    parser.add_argument("--out", type=Path, default=Path("uses"), help="directory of the table and of the answers")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    kept = {use: given.out / f"{use}.json" for use in ready()}
    answers = {use: json.loads(at.read_text("utf-8")) if at.exists() else NOT_ASKED for use, at in kept.items()}
    left, end = [use for use in given.uses.split(",") if not kept[use].exists()], time.monotonic() + 60 * given.total
    while left:
        use = left.pop(0)
        budget = max(LEAST_SECONDS, min(MOST_SECONDS, (end - time.monotonic()) / (len(left) + 1)))
        told = answers[use] = _fit(given.directory, use, budget, given.out / use)
        if told["requirements"]:  # one without an answer is asked again by the next run
            kept[use].write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
        print(f"{use}: {told['answer']}, {told['seconds']:.0f} s, {len(left)} to come", flush=True)
        rows = [HEAD, ("---",) * len(HEAD), *(row for one, each in answers.items() for row in _rows(one, each))]
        (given.out / "uses.md").write_text("".join(f"| {' | '.join(row)} |\n" for row in rows), encoding="utf-8")


if __name__ == "__main__":
    main()
