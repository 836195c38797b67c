# SPDX-License-Identifier: Apache-2.0
"""Measure a directory twice, tell what it does, compare the two maps and draw the first.

python compare.py DIRECTORY RESULTS
"""

import sys
from pathlib import Path

from ioatlas.analysis.summary import summarise
from ioatlas.campaign import load_result, open_plan, run, start
from ioatlas.model.quantities import quantity
from ioatlas.procedures.options import CAMPAIGN
from ioatlas.report.export.grid import lay_out
from ioatlas.report.export.to_figure import write_figures
from ioatlas.results.comparison import compare_sides

target, results = map(Path, sys.argv[1:])
maps = [results / "first", results / "second"]
for place in maps:
    asked = CAMPAIGN.read(f'profile = "quick"\nbudget = "10s"\n[target]\npath = "{target}"')
    run(start(open_plan(asked), place), emit=lambda _: None, stop_asked=lambda: False)
first = load_result(maps[0])
for one in summarise(first).headlines:
    print(one.label, one.value, one.low, one.high, one.grade, sep=", ")
for pair in compare_sides(maps).result.pairs:
    print("second over first", pair.ratio, sep=", ")
write_figures(first, lay_out(first), quantity("bw"), results / "map.png", "png")
