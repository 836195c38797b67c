# SPDX-License-Identifier: Apache-2.0
"""Reports of 18, 1,920 and 138,240 cells: time to build them, their size, their first picture and how they follow a
press, in Chromium.

    python bench/report/run.py [--keep FOLDER]      writes bench/report/RESULT.md

Needs the built explorer (`make web`), its packages (`npm ci` in web/) and Chromium. The values in the pages are made up
(tests/browser/synthetic.py): a page's cost does not depend on what its numbers mean, only on how many there are and on
how noisy they are. First pictures are taken in turns with those of an empty page, so that both see the same machine.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "browser"))

import synthetic  # noqa: E402

from ioatlas.report.page import write_report  # noqa: E402

SIZE_LIMITS_BYTES = {"quick": 250_000, "seed2021": 250_000, "large": 3_000_000}
"""Of the page of each kind of campaign."""
FIRST_PICTURE_LIMITS_MS = {"quick": 300, "seed2021": 400, "large": 1000}
PRESSES = {"quantity": "another quantity", "scale": "another scale", "axes": "axes swapped", "filter": "a value hidden"}


def spread(values: list[float], digits: int = 0) -> str:
    return f"{statistics.median(values):.{digits}f} [{min(values):.{digits}f}-{max(values):.{digits}f}]"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", type=Path, help="also leave the pages here")
    options = parser.parse_args()
    chromium = os.environ.get("IOATLAS_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    node = shutil.which("node")
    if not chromium or not node:
        sys.exit("needs chromium and node")
    with tempfile.TemporaryDirectory() as folder:
        pages, cells, builds = [], [], []
        for kind in SIZE_LIMITS_BYTES:
            result = synthetic.KINDS[kind]()
            cells.append(len({e.cell for e in result.estimates}) + len(result.unmeasured))
            pages.append(Path(folder) / f"{kind}.html")
            started = time.perf_counter()
            write_report(result, pages[-1])
            builds.append(time.perf_counter() - started)
        command = [node, str(Path(__file__).with_name("measure.mjs")), chromium, "9", *map(str, pages)]
        seen = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        sizes = [page.stat().st_size for page in pages]
        for page in pages if options.keep else ():
            shutil.copy(page, options.keep)
    empty, *first = seen["first"]
    none = statistics.median(one["ms"] for one in empty)
    medians = [statistics.median(one["ms"] for one in found) for found in first]
    lines = [
        "# What a report's page costs",
        "",
        "One command: `python bench/report/run.py`.",
        "",
        (
            f"{platform.system()} {platform.release()}, {os.cpu_count()} cores, load "
            f"average {os.getloadavg()[0]:.1f}, "
            f"Python {platform.python_version()}, Chromium {seen['version']} headless, no GPU, "
            f"{time.strftime('%Y-%m-%d')}. An empty page's first picture stands after "
            f"{spread([one['ms'] for one in empty])} ms, with {spread([one['cpuMs'] for one in empty])} ms of its main "
            "thread's processor time."
        ),
        "",
        "| cells | built, s | bytes (limit) | first picture, ms (limit) | times an empty page's | processor time, ms |",
        "|---|---|---|---|---|---|",
    ]
    for kind, count, built, size, found, median in zip(
        SIZE_LIMITS_BYTES, cells, builds, sizes, first, medians, strict=True
    ):
        lines.append(
            f"| {count:,} | {built:.2f} | {size:,} ({SIZE_LIMITS_BYTES[kind]:,}) | "
            f"{spread([one['ms'] for one in found])} ({FIRST_PICTURE_LIMITS_MS[kind]}) | {median / none:.1f} | "
            f"{spread([one['cpuMs'] for one in found])} |"
        )
    lines += [
        "",
        (
            "From a press to the end of the frame that shows what it changes, ms, with the wait for that frame (at "
            "most 16.7), and in brackets the main thread's processor time for each press (script, layout, paint):"
        ),
        "",
        f"| cells | tiles | {' | '.join(PRESSES.values())} |",
        f"|---|---|{'---|' * len(PRESSES)}",
    ]
    for count, changed in zip(cells, seen["changed"], strict=True):
        told = [f"{spread(changed[name]['ms'], 1)} ({changed[name]['cpuMs']:.1f})" for name in PRESSES]
        lines.append(f"| {count:,} | {changed['tiles']} | {' | '.join(told)} |")
    lines += [
        "",
        "Elapsed times grow with what else the machine does (see the load average); processor times less.",
        "",
    ]
    text = "\n".join(lines)
    Path(__file__).with_name("RESULT.md").write_text(text)
    sys.stdout.write(text)
    slow = any(ms > limit for ms, limit in zip(medians, FIRST_PICTURE_LIMITS_MS.values(), strict=True))
    return 3 if slow or any(s > limit for s, limit in zip(sizes, SIZE_LIMITS_BYTES.values(), strict=True)) else 0


if __name__ == "__main__":
    sys.exit(main())
