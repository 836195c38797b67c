# SPDX-License-Identifier: Apache-2.0
"""`ioatlas compare` on campaigns of a target of known speed, and of the same made 30% slower."""

import json
from pathlib import Path

import pytest

from ioatlas.simulate.law import Law, Way
from tests.unit.simulated import Shell

SWEEP = """
window = "300ms"
[sweep]
rw = ["randread"]
bs = ["32k", "64k"]
size = ["1m"]
numjobs = [1, 2]
direct = 0
"""
ioatlas = Shell()


def measure(scratch: Path, name: str, bytes_per_s: float) -> Path:
    way = Way(10e-6, 1e6, bytes_per_s)
    (scratch / "disk").mkdir(exist_ok=True)
    (scratch / f"{name}.toml").write_text(SWEEP)
    sweep = ["--campaign", scratch / f"{name}.toml", "--visits", "3", "-o", scratch / name, "--yes"]
    done = Shell(Law(read=way, write=way, noise=0.02))("map", scratch / "disk", *sweep)
    assert done.returncode == 0, done.stderr
    return scratch / name


@pytest.fixture(scope="module")
def campaigns(tmp_path_factory) -> tuple[Path, Path]:
    scratch = tmp_path_factory.mktemp("compare")
    return measure(scratch, "first", 100e6), measure(scratch, "second", 70e6)


def test_a_slower_limit_is_found_in_every_cell_and_as_a_whole(campaigns: tuple[Path, Path]) -> None:
    done = ioatlas("compare", *campaigns, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert found["method"] == "paired-log-bh/1"
    assert found["cells_compared"] == 4
    assert found["map"]["ratio"] == pytest.approx(0.7, abs=0.03)
    assert all(cell["ratio"] == pytest.approx(0.7, abs=0.06) for cell in found["cells"])
    assert {(cell["bs_bytes"], cell["numjobs"]) for cell in found["cells"]} == {
        (32768, 1),
        (32768, 2),
        (65536, 1),
        (65536, 2),
    }


def test_the_table_names_the_cells_by_what_differs(campaigns: tuple[Path, Path]) -> None:
    done = ioatlas("compare", *campaigns, "--cells")
    assert done.returncode == 0
    assert "randread, bs 64 KiB, numjobs 2" in done.stdout
    assert "map as a whole: -" in done.stdout
    assert "assumed: the target moved no more" in done.stdout


def test_exit_code_3_tells_that_it_got_worse(campaigns: tuple[Path, Path]) -> None:
    first, second = campaigns
    found = json.loads(ioatlas("compare", first, second, "--json").stdout)
    worse = found["map"]["outcome"] == "lower" or found["cells_different"]
    assert ioatlas("compare", first, second, "--fail-if-worse").returncode == (3 if worse else 0)
    assert ioatlas("compare", second, first, "--fail-if-worse").returncode == 0
    assert ioatlas("compare", first, first, "--fail-if-worse").returncode == 0


def test_latencies_compare_the_other_way_round(campaigns: tuple[Path, Path]) -> None:
    found = json.loads(ioatlas("compare", *campaigns, "--quantity", "lat_mean", "--json").stdout)
    assert found["map"]["ratio"] > 1.1


@pytest.mark.parametrize(
    ("arguments", "message"), [(["--tolerance", "50%"], "tolerance"), (["--same", "FIRST"], "two or more")]
)
def test_wrong_requests_are_refused(campaigns: tuple[Path, Path], arguments: list[str], message: str) -> None:
    done = ioatlas("compare", *campaigns, *[str(campaigns[0]) if word == "FIRST" else word for word in arguments])
    assert done.returncode == 2
    assert message in done.stderr


def test_a_directory_without_a_campaign_is_refused(campaigns: tuple[Path, Path], tmp_path: Path) -> None:
    done = ioatlas("compare", campaigns[0], tmp_path)
    assert done.returncode in (1, 2)
    assert "journal" in done.stderr
    assert "Traceback" not in done.stderr
