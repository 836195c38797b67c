# SPDX-License-Identifier: Apache-2.0
"""A small campaign of every procedure."""

from pathlib import Path

from ioatlas.measure.procedures.tune.procedure import Tune
from ioatlas.plan.latency_search import Goal
from tests.load_points import TWO_STREAMS
from tests.simulate.law import Law, Way
from tests.unit.simulated import LAW, World

_HEAD = """
window = "300ms"
[target]
path = "TARGET"
"""
_SWEEP = """
[sweep]
rw = ["randread", "randwrite"]
bs = ["4k", "64k"]
size = "1m"
direct = 0
iodepth = [1, 8]
ioengine = "libaio"
"""
DENSE = f"visits = 3{_HEAD}{_SWEEP}"
BY_LAW = """
budget = "20s"
[target]
path = "TARGET"
[sweep]
rw = ["read", "write", "randread", "randwrite"]
bs = ["4k", "1m"]
size = "4m"
direct = 0
numjobs = [1, 4]
"""
FEW_CELLS = f"""
visits = 2
cells = 14
{_HEAD}
[sweep]
rw = ["randread"]
bs = ["4k", "8k", "16k", "32k", "64k", "128k", "256k"]
size = "4m"
direct = 0
numjobs = [1, 2, 4]
iodepth = [1, 2, 4, 8, 16]
ioengine = "libaio"
"""
FIXED_WORK = """
profile = "iozone2017"
visits = 2
[target]
path = "TARGET"
[sweep]
size = "1m"
bs = ["64k", "256k"]
"""
IOZONE = FIXED_WORK.replace("visits = 2", 'visits = 2\nengine = "both"')
ROUNDS = f"""
profile = "snia-pts"
{_HEAD}
[sweep]
size = "1m"
rwmixread = [50, 0]
bs = ["16k", "4k"]
direct = 0
"""
POINTS = f"""
visits = 2
{_HEAD}
[sweep]
size = "16m"
direct = 0
[streams]
load = 400
points = [100, 50]
{TWO_STREAMS}
"""
HIGHEST = POINTS.replace("load = 400", 'load = "highest"\nlimit = "5ms"')
TRACE = """
visits = 2
trace = "TRACE"
[target]
path = "TARGET"
[sweep]
numjobs = 4
direct = 0
"""
TUNE = """
[target]
path = "TARGET"
[sweep]
rw = "randread"
bs = "4k"
size = "4m"
direct = 0
ioengine = "libaio"
"""
TREES = """
visits = 2
file_sizes = "0,4k"
sharing = "private"
[target]
path = "TARGET"
[sweep]
nrfiles = [3, 6]
numjobs = 2
"""
SMALL_USE = Path(__file__).parent / "small_use.toml"
FIT = f"""
fit = "{SMALL_USE}"
[target]
path = "TARGET"
"""
EVERY = {
    "dense": DENSE,
    "by law": BY_LAW,
    "few cells": FEW_CELLS,
    "fit": FIT,
    "fixed work": FIXED_WORK,
    "iozone": IOZONE,
    "rounds": ROUNDS,
    "points": POINTS,
    "highest": HIGHEST,
    "tune": TUNE,
    "trace": TRACE,
    "trees": TREES,
}
LONG = ("iozone", "highest")
"""Kinds of fixed work and of points: how they are stopped, killed and gone on with is that of these."""


_CAPPED = Way(1e-3, 800, 20e6)
LAWS = {
    "tune": Law(random_read=Way(2e-3, 4_000, 400e6), noise=0.01),
    "by law": Law(read=_CAPPED, write=_CAPPED, flush_seconds=4e-3, noise=0.01),
}
"""Targets other than the usual one: the curve of a search keeps a row for each I/O, so a slow target is quicker; and a
map within a budget tells how long a flush takes.
"""


def make_world(place: Path, name: str) -> World:
    """A world with the campaign of that name, started."""
    world = World(place, LAWS.get(name, LAW))
    world.start(EVERY[name], procedure=Tune(Goal("p99", 20e6, 2, 16)) if name == "tune" else None)
    return world
