# SPDX-License-Identifier: Apache-2.0
"""Several streams at once with a real fio: load points in order, each stream a job of its own.

The search, a crash and what exports say are in tests/unit/cli/test_load_points_simulated.py.
"""

import json
import shutil

import pytest

from tests.load_points import campaign, check_load_points
from tests.real.conftest import ioatlas, rows

pytestmark = pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")


def shown(directory):
    return json.loads(ioatlas("show", directory, "--json").stdout)


@pytest.mark.unmeasured
def test_load_points_in_order_with_their_streams(tmp_path):
    check_load_points(ioatlas, tmp_path)


@pytest.mark.unmeasured
def test_power_typed_in_and_a_free_load(tmp_path):
    facts = tmp_path / "testbed.toml"
    facts.write_text('[power.box]\nidle = "20 W"\nloaded = "25 W"\n')
    path = campaign(tmp_path, 'load = "free"\ncapacity = "1TB"')
    ioatlas("map", "--campaign", path, "-o", tmp_path / "out", "--yes", "--visits", "2", cwd=tmp_path)
    (curve,) = shown(tmp_path / "out")["load_curves"]
    (point,) = curve["points"]
    assert point["loop"] == "closed"
    assert point["offered_iops"] is None
    assert point["watts"] == {"box": 25.0}
    assert point["iops_per_watt"] == pytest.approx(point["achieved_iops"] / 25)
    assert curve["idle_bytes_per_watt"] == 10**12 / 20
    shares = {stream["stream"]: 0.0 for stream in point["streams"]}
    for stream in point["streams"]:
        shares[stream["stream"]] += stream["share"]
    # flow counts I/Os: shares are kept but for the last ones in flight, which weigh more the fewer there are.
    done = "select sum(total_ios) from part join visit using (visit_id) where status = 'done' and purpose != 'probe'"
    ((ios,),) = rows(tmp_path / "out", done)
    assert shares["big"] == pytest.approx(0.3, abs=0.02 + 16 / ios)
