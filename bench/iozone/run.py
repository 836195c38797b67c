# SPDX-License-Identifier: Apache-2.0
"""IOzone and its fio translation side by side on one target: nine operations, interleaved, in one run of `ioatlas map`.

`python bench/iozone/run.py [DIRECTORY [VISITS [OUT]]]`: needs IOzone (Debian: iozone3 in non-free) and a directory on a
real disk. Prints the tables of RESULT.md. The campaign is kept in OUT when that is named; one that is there already is
printed only.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from ioatlas.load.fio.executor import SystemExecutor
from ioatlas.measure.campaign import load_result
from ioatlas.report.findings import sentence_of

CAMPAIGN = """
profile = "iozone2017"
engine = "both"
visits = {visits}
order_seed = 7
[target]
name = "disk"
path = "{path}"
[sweep]
size = "{size}"
bs = ["4k", "64k", "1m"]
"""
SIZE = "128m"


def main() -> None:
    where, visits, kept = (*sys.argv[1:4], *[None] * 3)[:3]
    with tempfile.TemporaryDirectory(dir=where) as target, tempfile.TemporaryDirectory() as results:
        out = Path(kept or f"{results}/c")
        if not out.exists():
            toml = Path(results) / "campaign.toml"
            toml.write_text(CAMPAIGN.format(visits=visits or 8, size=SIZE, path=target))
            command = [sys.executable, "-m", "ioatlas", "map", "--campaign", str(toml), "-o", str(out), "--yes"]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        result = load_result(out)
        made = max(estimate.n_visits for estimate in result.estimates)
        print(
            f"{SystemExecutor().find('fio').version}, IOzone {SystemExecutor().find('iozone').version}, file {SIZE}, "
            f"records 4k, 64k and 1m, {made} visits of every cell by each tool.\n"
        )
        (table,) = result.tables
        print("| " + " | ".join(table.columns) + " |")
        print("|" + "---|" * len(table.columns))
        for row in table.rows:
            print("| " + " | ".join(row) + " |")
        print("\nIOzone's rate over fio's for each record, mean rates (MB/s) behind it:\n")
        print(
            "| Operation | "
            + " | ".join(f"{int(x) >> 10} KiB" for x in sorted({p.x for p in result.charts[0].lines[0].points}))
            + " |"
        )
        print("|---|---|---|---|")
        for chart in result.charts:
            lines = {line.name: {point.x: point for point in line.points} for line in chart.lines}
            cells = []
            for x in sorted(lines["fio"]):
                one, other = lines["fio"][x].mean, lines["iozone"][x].mean
                cells.append(f"{other / one:.2f} ({one / 1e6:.4g}, {other / 1e6:.4g})")
            print(f"| {chart.title} | " + " | ".join(cells) + " |")
        print()
        for finding in result.findings:
            if finding.code in ("engines", "noise"):
                print(f"- {sentence_of(finding)}")


if __name__ == "__main__":
    main()
