# SPDX-License-Identifier: Apache-2.0
"""Loads that are doubted one by one: raw output changed in one way each, bounds, and loads out of step."""

import json
import random
import shutil

import numpy as np
import pytest
from made import OLD_BUNDLE, cell

from ioatlas.answer.product.sheet_file import read_sheet
from ioatlas.bundle.opening import opened_directory
from ioatlas.load.fio.figures import buckets
from ioatlas.measure.campaign import load_result
from ioatlas_atlas import extract, plausible

SHEET = """format = 1
[source]
name = "its data sheet"
[product]
vendor = "Contoso"
model = "N1"
ports = "{ports}"
[[drives]]
count = 4
kind = "{kind}"
"""


def direction(seed=7, flight=8):
    """As fio tells 3 s of reads of 4 KiB with log-normal latencies."""
    drawn = np.random.default_rng(seed).lognormal(13, random.Random(seed).uniform(0.1, 0.9), 20_000)
    seconds = float(drawn.sum()) / 1e9 / flight
    places, counts = np.unique(buckets(drawn.astype(np.int64)), return_counts=True)
    lat = {
        "min": int(drawn.min()), "max": int(drawn.max()), "mean": float(drawn.mean()),
        "stddev": float(drawn.std()), "N": drawn.size,
        "percentile": {f"{at:.6f}": int(buckets(np.array([np.percentile(drawn, at)], dtype=np.int64))[0])
                       for at in (1, 50, 99)},
        "bins": {str(place): int(count) for place, count in zip(places, counts, strict=True)},
    }  # fmt: skip
    moved = drawn.size * 4096
    rates = {"iops": drawn.size / seconds, "bw_bytes": moved / seconds, "io_kbytes": moved // 1024, "io_bytes": moved}
    return {"total_ios": drawn.size, "runtime": seconds * 1000, "lat_ns": lat, **rates}


def _rate(told):
    told["iops"] *= 3


def _mean(told):
    told["lat_ns"]["mean"] /= 3


def _spread(told):
    told["lat_ns"]["stddev"] /= 3


def _tail(told):
    told["lat_ns"]["percentile"]["99.000000"] //= 2


def _most(told):
    told["lat_ns"]["max"] *= 2


def _places(told):
    told["lat_ns"]["bins"] = {str(int(ns) + 3): count for ns, count in told["lat_ns"]["bins"].items()}


def _counts(told):
    told["lat_ns"]["N"] //= 3


@pytest.mark.parametrize("change", [_rate, _mean, _spread, _tail, _most, _places, _counts])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_figures_that_contradict_each_other_are_told(change, seed):
    told = direction(seed)
    assert [*plausible._of_figures(told)] == []
    change(told)
    assert [*plausible._of_figures(told)]


@pytest.mark.parametrize("behind", ["", "\nfio: the end\n"])
def test_of_honest_raw_output_nothing_is_doubted_and_of_a_changed_one_its_load_alone(tmp_path, monkeypatch, behind):
    directory = opened_directory(OLD_BUNDLE)
    cells = extract._cells(load_result(directory))
    assert plausible.doubts(directory, cells, None, "", "") == {}
    monkeypatch.setattr(plausible, "FEWEST_IOS", 1)
    other = shutil.copytree(directory, tmp_path / "other")
    for path in other.glob("batches/*/fio.json"):
        path.chmod(0o600)
        told = json.loads(path.read_text())
        for job in told["jobs"]:
            job["read"]["iops"] *= 3
        path.write_text(f"{json.dumps(told)}{behind}")
    found = plausible.doubts(other, cells, None, "", "")
    assert found
    assert {direction for _, direction in found} == {"read"}
    assert plausible.doubts(directory, cells, None, "", "on the client itself").keys() == {
        (one["cell_key"], one["direction"]) for one in cells
    }


@pytest.mark.parametrize(
    ("link", "ports", "kind", "iops", "bs_bytes", "doubted"),
    [
        ("1000 Mb/s", "1 x 10GbE", "SATA SSD", 100, 1 << 20, False),
        ("1000 Mb/s", "1 x 10GbE", "SATA SSD", 140, 1 << 20, True),
        ("", "2 x 1GbE", "SATA SSD", 230, 1 << 20, False),
        ("", "2 x 1GbE", "SATA SSD", 260, 1 << 20, True),
        ("", "", "7,200 rpm", 1000, 4096, False),
        ("", "", "7,200 rpm", 3000, 4096, True),
        ("", "", "no such kind", 3e9, 4096, False),
    ],
)
def test_what_link_ports_and_drives_cannot_do_is_doubted(link, ports, kind, iops, bs_bytes, doubted):
    sheet = read_sheet(SHEET.format(ports=ports or "none", kind=kind))
    one = cell(bs_bytes=bs_bytes, iops=float(iops), p99_ns=1e8)
    assert bool([*plausible._beyond(one, sheet, link)]) == doubted


def test_loads_that_most_like_ones_contradict_are_doubted_singly():
    draw = random.Random(11)
    for knee in (4, 16, 64):
        cells = [
            cell(bs_bytes=size, iodepth=depth, cell_key=f"{size} {depth}",
                 iops=1e4 * min(depth, knee) * 4096 / (4096 + size / 8) * draw.uniform(0.8, 1.25))
            for size in (4096, 16384, 65536) for depth in (1, 4, 16, 64)
        ]  # fmt: skip
        assert plausible._out_of_step(cells) == {}
        wrong = draw.sample(cells, 3)
        changed = [{**one, "iops": one["iops"] * 1000} if one in wrong else one for one in cells]
        found = {key for key, _ in plausible._out_of_step(changed)}
        assert found <= {one["cell_key"] for one in wrong}
        assert found
