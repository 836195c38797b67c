# SPDX-License-Identifier: Apache-2.0
"""Measure a directory twice, tell what it does, compare the two maps and draw the first.

python compare.py DIRECTORY RESULTS
"""

import sys
from pathlib import Path

from ioatlas import api

target, results = map(Path, sys.argv[1:])
maps = [results / "first", results / "second"]
first, _ = [
    api.measure(api.plan(f'profile = "quick"\nbudget = "10s"\n[target]\npath = "{target}"'), place) for place in maps
]
for one in api.headlines(first):
    print(one.label, one.value, one.low, one.high, one.grade, sep=", ")
for pair in api.compare(maps).result.pairs:
    print("second over first", pair.ratio, sep=", ")
api.export(first, results / "map.png")
