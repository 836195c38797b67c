# SPDX-License-Identifier: Apache-2.0
"""The report of 138,240 cells: time to build it, its size, its first picture and its frames in Chromium.

    python bench/report/run.py [--keep FILE]      writes bench/report/RESULT.md

Needs the built explorer (`make web`), its packages (`npm ci` in web/) and Chromium. The values in the page are made up
(tests/browser/synthetic.py, kind `large`): a page's cost does not depend on what its numbers mean, only on how many
there are and on how noisy they are, and these carry independent noise in every value and both interval bounds.
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
from ioatlas.report.page_data import report_data  # noqa: E402

FIRST_PICTURE_LIMIT_MS = 1000
SIZE_LIMIT_BYTES = 3_000_000


def spread(values: list[float], digits: int = 0) -> str:
    return f"{statistics.median(values):.{digits}f} [{min(values):.{digits}f}-{max(values):.{digits}f}]"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", type=Path, help="also leave the page here")
    options = parser.parse_args()
    chromium = os.environ.get("IOATLAS_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    node = shutil.which("node")
    if not chromium or not node:
        sys.exit("needs chromium and node")

    result = synthetic.KINDS["large"]()
    n_cells = len({e.cell for e in result.estimates}) + len(result.unmeasured)
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        builds = []
        for _ in range(3):
            started = time.perf_counter()
            write_report(result, page)
            builds.append(time.perf_counter() - started)
        size = page.stat().st_size
        resolution = report_data(result).cells.resolution
        seen = json.loads(
            subprocess.run(
                [node, str(Path(__file__).with_name("measure.mjs")), str(page), chromium],
                check=True,
                capture_output=True,
                text=True,
            ).stdout
        )
        if options.keep:
            shutil.copy(page, options.keep)
    frames, work = seen["frames"], sorted(seen["work"])
    late = sum(f > 34 for f in frames)
    first = statistics.median(seen["firstPictureMs"])
    lines = [
        "# Report of 138,240 cells",
        "",
        "One command: `python bench/report/run.py`.",
        "",
        (
            f"{platform.system()} {platform.release()}, {os.cpu_count()} cores (load average "
            f"{os.getloadavg()[0]:.1f}), "
            f"Python {platform.python_version()}, Chromium {seen['version']} headless, no GPU, "
            f"{time.strftime('%Y-%m-%d')}."
        ),
        "",
        (
            f"Campaign: {n_cells:,} cells ({len(result.estimates):,} with values, {len(result.unmeasured):,} "
            "unmeasured), "
            "throughput, IOPS, mean and p99 latency, each with its interval."
        ),
        "",
        "| what | measured | limit |",
        "|---|---|---|",
        f"| building the page, s, median of {len(builds)} | {spread(builds, 2)} | |",
        f"| file size, bytes | {size:,} | {SIZE_LIMIT_BYTES:,} |",
        f"| largest rounding of a value in it | {resolution:.4%} | |",
        (
            f"| first picture after opening, ms, median of {len(seen['firstPictureMs'])} | "
            f"{spread(seen['firstPictureMs'])} | {FIRST_PICTURE_LIMIT_MS} |"
        ),
        f"| of that, processor time of the page's main thread, ms | {spread(seen['firstPictureCpuMs'])} | |",
        f"| frame while the slider moves every frame, ms, median of {len(frames)} | {spread(frames, 1)} | |",
        (
            f"| script work per move, ms, median, 95th percentile | {statistics.median(work):.1f}, "
            f"{work[int(len(work) * 0.95)]:.1f} | |"
        ),
        f"| main-thread processor time per move (script, layout, paint), ms, mean | {seen['moveCpuMs']:.1f} | |",
        f"| frames longer than 34 ms | {late} of {len(frames)} | |",
        "",
        "Elapsed times grow with what else the machine does (see the load average above); processor times do not.",
        "",
        (
            f"The slider moves the axis {seen['axis'].strip()!r} with {seen['tiles']} tiles (8,640 cells) on the map; "
            "each move repaints every tile and the chart beside them."
        ),
        "",
    ]
    text = "\n".join(lines)
    Path(__file__).with_name("RESULT.md").write_text(text)
    sys.stdout.write(text)
    return 0 if first < FIRST_PICTURE_LIMIT_MS and size < SIZE_LIMIT_BYTES else 3


if __name__ == "__main__":
    sys.exit(main())
