# SPDX-License-Identifier: Apache-2.0
"""A measured campaign and what fio wrote by itself: compared, and side by side in one directory, clearly apart."""

import csv
import io
import json
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real.conftest import ioatlas

pytestmark = [pytest.mark.needs("fio"), pytest.mark.unmeasured]

SWEEP = """[sweep]
rw = ["randread"]
bs = ["4k", "16k"]
size = ["4m"]
numjobs = [1]
"""


@pytest.fixture(scope="module")
def places() -> Iterator[tuple[Path, Path]]:
    """The campaign's directory and a folder of fio's results of the same loads."""
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        (scratch / "target").mkdir()
        (scratch / "sweep.toml").write_text(SWEEP)
        sweep = ("--campaign", scratch / "sweep.toml", "--visits", "2")
        done = ioatlas("map", scratch / "target", *sweep, "-o", scratch / "mine", "--yes")
        assert done.returncode == 0, done.stderr
        (scratch / "theirs").mkdir()
        for bs in ("4k", "16k"):
            load = f"--name=hand --rw=randread --bs={bs} --size=4m --iodepth=1 --numjobs=1 --output-format=json"
            where = [f"--filename={scratch}/target/hand", f"--output={scratch}/theirs/{bs}.json"]
            subprocess.run(["fio", *load.split(), *where], check=True, capture_output=True)
        yield scratch / "mine", scratch / "theirs"


def test_ratios_without_a_test_and_the_methods(places: tuple[Path, Path], tmp_path: Path) -> None:
    mine, theirs = places
    assert ioatlas("import", theirs, "-o", tmp_path / "lib", "--json").returncode == 0
    done = ioatlas("compare", mine, tmp_path / "lib", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    (pair,) = found["pairs"]
    assert (pair["cells_compared"], pair["cells_untested"]) == (0, 2)
    for cell in pair["cells"]:
        assert cell["n_first"] >= 2
        assert (cell["n_second"], cell["outcome"], cell["p"]) == (1, "not comparable", None)
        assert cell["ratio"] == pytest.approx(cell["second"] / cell["first"])
    assert {one["group"] for one in found["differences"]} & {"method", "unknown"}
    assert "no test: the second side has one value" in ioatlas("compare", mine, tmp_path / "lib").stdout
    refused = ioatlas("compare", mine, tmp_path / "lib", "--fail-if-worse")
    assert refused.returncode == 2
    assert "no load has repeats on both sides" in refused.stderr


def test_imported_beside_measured_stays_apart(places: tuple[Path, Path]) -> None:
    mine, theirs = places
    before = json.loads(ioatlas("export", mine, "--format", "json").stdout)
    assert ioatlas("import", theirs, "-o", mine, "--label", "by hand", "--json").returncode == 0
    after = json.loads(ioatlas("export", mine, "--format", "json").stdout)
    assert after["n_visits"] == before["n_visits"]
    measured = [row for row in after["rows"] if row["kind"] == "measured"]
    assert [{name: row[name] for name in before["rows"][0]} for row in measured] == before["rows"]
    rows = list(csv.DictReader(io.StringIO(ioatlas("export", mine, "--format", "csv").stdout)))
    imported = [row for row in rows if row["kind"] == "imported"]
    assert {row["bs_bytes"] for row in imported} == {"4096", "16384"}
    assert all(row["target"] == "by hand" and row["n_visits"] == "0" and not row["bw_low"] for row in imported)
    # The campaign's own findings are as they were: nothing imported is among its peaks.
    assert [f["sentence"] for f in after["findings"]][: len(before["findings"])] == [
        f["sentence"] for f in before["findings"]
    ]
    shown = ioatlas("show", mine)
    assert (shown.returncode, "by hand" in shown.stdout) == (0, True)
    beside = json.loads(ioatlas("compare", mine, mine / "imported.sqlite", "--json").stdout)
    assert beside["pairs"][0]["cells_untested"] == 2
    assert ioatlas("export", "--format", "html", mine).returncode == 0
