# SPDX-License-Identifier: Apache-2.0
"""Three targets of one campaign, measured by a real fio, held against each other, against a table, and merged."""

import json
import shutil
from pathlib import Path

import pytest

from tests.real.conftest import disk_directory, ioatlas

pytestmark = [pytest.mark.unmeasured, pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")]

SWEEP = """
visits = 3
order_seed = {seed}
window = "200ms"
{targets}
[sweep]
rw = ["read", "randread"]
bs = ["4k", "64k"]
size = "8m"
numjobs = 1
"""
NAMES = ("one", "two", "three")


@pytest.fixture(scope="module")
def measured() -> Path:
    with disk_directory() as place:
        targets = ""
        for name in NAMES:
            (place / name).mkdir()
            targets += f'[[target]]\nname = "{name}"\npath = "{place / name}"\n'
        for number in (1, 2):
            (place / "three.toml").write_text(SWEEP.format(seed=number, targets=targets))
            done = ioatlas("map", "--campaign", place / "three.toml", "-o", place / f"run{number}", "--yes")
            assert done.returncode == 0, done.stderr
        yield place


def test_targets_of_a_real_campaign_are_ranked_with_what_could_be_found(measured: Path) -> None:
    done = ioatlas("compare", measured / "run1", "--by", "target", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [side["name"] for side in found["sides"]] == list(NAMES)
    assert len(found["pairs"]) == 3
    assert all(pair["cells_compared"] == 4 for pair in found["pairs"])
    rows = json.loads(ioatlas("export", measured / "run1", "--format", "json").stdout)["rows"]
    few = min(row["n_visits"] for row in rows) < 2  # a busy machine loses visits, and with one there is no spread
    assert all((few and pair["map"] is None) or 0 < pair["map"]["detectable"] <= 1 for pair in found["pairs"])
    # One client, one disk: no testbed fact but the place can differ.
    assert not [one for one in found["differences"] if one["group"] in ("method", "version")]
    assert "host.kernel" in found["sides"][0]["facts"]


def test_a_table_of_the_same_campaign_has_the_same_level(measured: Path) -> None:
    table = measured / "run1.csv"
    assert ioatlas("export", measured / "run1", "--format", "csv", "-o", table).returncode == 0
    found = json.loads(ioatlas("compare", f"{measured / 'run1'}:one", f"{table}:one", "--json").stdout)
    (pair,) = found["pairs"]
    assert pair["cells_compared"] + pair["cells_untested"] == 4
    assert not [cell for cell in pair["cells"] if cell["outcome"] in ("higher", "lower")], "it is the same"
    assert pair["map"] is None


def test_two_real_campaigns_are_merged(measured: Path) -> None:
    done = ioatlas("merge", measured / "run1", measured / "run2", "-o", measured / "both", "--json")
    assert done.returncode == 0, done.stderr
    whole = json.loads(ioatlas("export", measured / "both", "--format", "json").stdout)
    parts = [json.loads(ioatlas("export", measured / run, "--format", "json").stdout) for run in ("run1", "run2")]
    assert whole["n_visits"] == sum(part["n_visits"] for part in parts)
    assert len(whole["sessions"]) == 2
    assert len(whole["rows"]) == 12
