# SPDX-License-Identifier: Apache-2.0
"""What a MB/s costs on a real target whose throughput is known: price over truth."""

import json
import shutil

import pytest

from ioatlas import lab
from ioatlas.lab.running import missing
from tests.real.conftest import ioatlas
from tests.real.pauses import Pauses

pytestmark = pytest.mark.skipif(
    shutil.which("nbdkit") is None or shutil.which("fio") is None, reason="nbdkit and fio are needed"
)
PRICE = 5000
SHEET = f"""format = 1
[source]
name = "made up for this test"
date = 2026-11-23
[product]
vendor = "Lab"
model = "limited server"
[[drives]]
count = 4
capacity = "1 TB"
[layout]
type = "raid10"
[[price]]
what = "all of it"
each = {PRICE}
currency = "USD"
"""


def test_a_megabyte_a_second_costs_price_over_truth(tmp_path):
    lacking = missing(lab.scenarios()["bandwidth"])
    if lacking:
        pytest.skip(f"it needs {lacking}")
    (tmp_path / "p.toml").write_text(SHEET)
    with lab.start("bandwidth", bw_bytes_per_s=50_000_000, burst_seconds=0.05) as target:
        (tmp_path / "c.toml").write_text(
            f'visits = 3\nwindow = "500ms"\nproduct = "p.toml"\n[target]\nname = "nbd"\nuri = "{target.location}"\n'
            '[sweep]\nrw = "read"\nbs = "64k"\nsize = "32m"\niodepth = 4\n'
        )
        with Pauses() as pauses:
            done = ioatlas("map", "--campaign", tmp_path / "c.toml", "-o", tmp_path / "d", "--read-only", "--yes")
    assert done.returncode == 0, done.stderr
    assert "USD per MB/s read" in done.stdout
    told = json.loads(ioatlas("cost", tmp_path / "d", "--json").stdout)
    units = {unit["unit"]: unit for unit in told["products"][0]["units"]}
    # the bucket lets bursts through, so a busy machine reads a little more, or less, than the rate
    assert units["MB/s read"]["cost"] == pytest.approx(PRICE / 50, rel=0.1 + 2 * pauses.share)
    assert units["MB/s read"]["cost_low"] <= units["MB/s read"]["cost"] <= units["MB/s read"]["cost_high"]
    assert units["usable TiB"]["cost"] == pytest.approx(PRICE / (2e12 / 2**40))
