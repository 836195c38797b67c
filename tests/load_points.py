# SPDX-License-Identifier: Apache-2.0
"""Campaigns of real and simulated fio alike: two streams and what their load points must look like; fixed work."""

import json
import sqlite3

import pytest

TWO_STREAMS = """
[[stream]]
name = "mixed"
share = 70
rw = "randrw"
rwmixread = 60
bs = "4k"
region = [0, 50]
[[stream]]
name = "big"
share = 30
rw = "write"
bs = "32k"
region = [50, 100]
"""
MIX = f"""
visits = 3
window = "{{window}}"
[target]
path = "{{path}}"
[sweep]
size = "16m"
direct = 0
[streams]
{{streams}}
{TWO_STREAMS}
"""


def campaign(directory, streams, window="300ms"):
    (directory / "target").mkdir(exist_ok=True)
    path = directory / "mix.toml"
    path.write_text(MIX.format(path=directory / "target", streams=streams, window=window))
    return path


def rows(directory, query):
    link = sqlite3.connect(directory / "journal.sqlite")
    try:
        return link.execute(query).fetchall()
    finally:
        link.close()


def check_load_points(ioatlas, tmp_path):
    """Load points in their order, each stream a job of its own in one fio; the highest point.

    ioatlas: runs a command.
    """

    def shown(directory):
        return json.loads(ioatlas("show", directory, "--json").stdout)

    ioatlas("map", "--campaign", campaign(tmp_path, "load = 400\npoints = [100, 50]"), "-o", tmp_path / "out", "--yes")
    # A visit that was discarded (another load on the disk) is made again at the end; the order is that of the first
    # tries.
    planned = (
        "select v.block, c.options_json, v.started_at from visit v join cell c using (cell_key) where "
        "purpose='sweep' order by visit_id limit 6"
    )
    order = rows(tmp_path / "out", planned)
    assert [(block, dict(json.loads(options))["load"]) for block, options, _ in order] == [
        (b, p) for b in range(3) for p in (100, 50)
    ]
    assert [at for _, _, at in order] == sorted(at for _, _, at in order)
    # Each stream is a job of its own in one fio: two names, one start.
    job = (tmp_path / "out/batches/00001/job.fio").read_text()
    delays = {line.split("=")[1] for line in job.splitlines() if line.startswith("startdelay=")}
    assert job.count("[v1-") == 2
    assert "new_group" in job
    assert len(delays) >= 2
    (curve,) = shown(tmp_path / "out")["load_curves"]
    assert [point["percent"] for point in curve["points"]] == [100, 50]
    full, half = curve["points"]
    assert full["loop"] == "open"
    assert full["offered_iops"] == 400
    assert half["offered_iops"] == 200
    assert "lower bound" in curve["latency"]
    assert curve["power"] == "not measured"
    assert {(s["stream"], s["direction"]) for s in full["streams"]} == {
        ("mixed", "read"),
        ("mixed", "write"),
        ("big", "write"),
    }
    # Three visits of 0.3 s offer 360 I/Os in all; a busy machine may do fewer.
    done = rows(
        tmp_path / "out",
        "select sum(total_ios) from part join visit using (visit_id) where status='done' and cell_key=(select "
        "cell_key from cell where options_json like '%100%')",
    )
    assert 60 <= done[0][0] <= 460
    assert sum(s["share"] for s in full["streams"]) == pytest.approx(1)
    table = shown(tmp_path / "out")["rows"]
    assert {row["stream"] for row in table} == {"mixed", "big", "all"}
    assert not list((tmp_path / "target").iterdir())
    return full


def study(directory, target, *, size='"1m"', bs='["64k", "256k"]', visits=1, profile="iozone2017", more=""):
    """The file of a fixed-work campaign."""
    path = directory / "study.toml"
    path.write_text(
        f'profile = "{profile}"\nvisits = {visits}\n{more}\n[target]\npath = "{target}"\n'
        f"[sweep]\nsize = {size}\nbs = {bs}\n"
    )
    return path
