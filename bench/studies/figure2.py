# SPDX-License-Identifier: Apache-2.0
"""Figure 2 of the 2017 study from 40 IOzone tables: imported as repeats, drawn with standard deviations, and held
against the averages that were published. The tables are drawn at random around these; the study's own are not public.

    python bench/studies/figure2.py OUT
"""

from __future__ import annotations

import csv
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from statistics import fmean

import numpy as np

REPEATS = 40
PUBLISHED = {"write": 70.1, "rewrite": 46.1, "read": 95.9, "reread": 96.45}
"""MB/s, averages over record sizes."""
TOLD = {"randread": 60.0, "randwrite": 40.0, "backward read": 65.0, "record rewrite": 600.0, "strided read": 55.0}
"""Chosen here. Published in words: worst at records of 16 KB, the strided read with the largest spread."""
COLUMNS = (*PUBLISHED, "randread", "randwrite", "backward read", "record rewrite", "strided read")
SPREAD = dict(zip(COLUMNS, (0.03, 0.06, 0.01, 0.01, 0.04, 0.06, 0.04, 0.1, 0.18), strict=True))
WORST_AT_16 = ("randread", "randwrite", "backward read", "strided read")
HEAD = """\tIozone: Performance Test of File I/O
\t        Version $Revision: 3.489 $

\tInclude close in write timing
\tInclude fsync in write timing
\tO_DIRECT feature enabled
\tCommand line used: iozone -c -e -I -a -s 4g -y 4k -q 16m
\tOutput is in kBytes/sec
                                                              random    random     bkwd    record    stride
              kB  reclen    write  rewrite    read    reread    read     write     read   rewrite      read
"""


def table(rng: np.random.Generator) -> str:
    rows = []
    for record in (4 << power for power in range(13)):
        dip = 1 - 0.55 * np.exp(-(np.log2(record / 16) ** 2) / 2)
        means = (({**PUBLISHED, **TOLD}[name]) * (dip if name in WORST_AT_16 else 1.0) for name in COLUMNS)
        noise = np.exp([SPREAD[name] * rng.normal() for name in COLUMNS])
        values = [int(mean * 1e6 / 1024 * each) for mean, each in zip(means, noise, strict=True)]
        rows.append(f"{4 << 20:16d} {record:7d} " + " ".join(f"{value:8d}" for value in values))
    return HEAD + "\n".join(rows) + "\n\niozone test complete.\n"


def main() -> None:
    out = Path(sys.argv[1])
    tables = out / "tables"
    tables.mkdir(parents=True)
    rng = np.random.default_rng(2017)
    for number in range(REPEATS):
        (tables / f"ds2015xs-{number + 1:02d}.txt").write_text(table(rng))
    run = ("ioatlas", "import", tables, "-o", out / "nas", "--repeats", "--label", "DS2015xs", "--json")
    subprocess.run(run, check=True, stdout=subprocess.DEVNULL)
    shown = ",".join(name for name in COLUMNS if name != "record rewrite")
    figure = ("--figure", "lines", "--x", "bs", "--y", "operation", "--bars", "sd", "--where", f"operation={shown}")
    subprocess.run(("ioatlas", "export", out / "nas", *figure, "-o", out / "figure2.png"), check=True)
    subprocess.run(("ioatlas", "export", out / "nas", "-o", out / "nas.csv"), check=True)
    found = defaultdict(list)
    with (out / "nas.csv").open(newline="") as text:
        for row in csv.DictReader(text):
            found[row["operation"]].append((float(row["bw_bytes_per_s"]) / 1e6, float(row["bw_sd"]) / 1e6))
    for name in COLUMNS:
        mean, sd = (fmean(each) for each in zip(*found[name], strict=True))
        print(f"{name:15} {mean:6.1f} MB/s, sd {sd:5.2f}, published {PUBLISHED.get(name, 'in words')}")


if __name__ == "__main__":
    main()
