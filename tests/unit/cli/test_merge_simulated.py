# SPDX-License-Identifier: Apache-2.0
"""`ioatlas merge`: campaigns of one plan become one with the visits of all."""

import json
import sqlite3
from pathlib import Path

import pytest

from ioatlas.campaign import load_result
from ioatlas.simulate.law import Law, Way
from tests.unit.simulated import Shell

SWEEP = """
visits = VISITS
window = "300ms"
order_seed = SEED
[sweep]
rw = ["randread"]
bs = ["16k", "64k"]
size = ["1m"]
numjobs = [JOBS]
direct = 1
"""
ioatlas = Shell()


def measure(scratch: Path, name: str, seed: int, jobs: str = "1, 4", visits: int = 2) -> Path:
    (scratch / "disk").mkdir(exist_ok=True)
    (scratch / f"{name}.toml").write_text(
        SWEEP.replace("SEED", str(seed)).replace("JOBS", jobs).replace("VISITS", str(visits))
    )
    way = Way(20e-6, 80e3, 300e6)
    law = Law(read=way, write=way, random_read=way, random_write=way, noise=0.02, seed=seed)
    done = Shell(law)("map", scratch / "disk", "--campaign", scratch / f"{name}.toml", "-o", scratch / name, "--yes")
    assert done.returncode == 0, done.stderr
    return scratch / name


@pytest.fixture(scope="module")
def scratch(tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("merge")
    for name, seed in (("a", 1), ("b", 2)):
        measure(place, name, seed)
    measure(place, "other", 3, jobs="1, 2")
    return place


@pytest.fixture(scope="module")
def both(scratch: Path) -> Path:
    done = ioatlas("merge", scratch / "a", scratch / "b", "-o", scratch / "both")
    assert done.returncode == 0, done.stderr
    return scratch / "both"


def sweep_visits(directory: Path) -> list[tuple]:
    link = sqlite3.connect(directory / "journal.sqlite")
    try:
        return link.execute(
            "select cell_key, seed, started_at, io_bytes from visit join part using (visit_id) where status = 'done' "
            "and purpose = 'sweep' order by 1, 2, 3"
        ).fetchall()
    finally:
        link.close()


def test_all_visits_of_both_are_there_once(scratch: Path, both: Path) -> None:
    assert sweep_visits(both) == sorted(sweep_visits(scratch / "a") + sweep_visits(scratch / "b"))
    result, parts = load_result(both), [load_result(scratch / name) for name in "ab"]
    # Cells that were named have the value of the visits made afresh.
    plain = [e for e in result.estimates if e.bw_first is None]
    assert {e.n_visits for e in plain} == {4}
    assert result.n_visits == sum(part.n_visits for part in parts)
    assert len(result.sessions) == 2
    assert result.name == "both"
    for e in plain:
        same = [next(o for o in p.estimates if o.cell == e.cell) for p in parts]
        values = [o.bw_first or o.bw_bytes_per_s for o in same]
        assert min(values) * 0.99 <= e.bw_bytes_per_s <= max(values) * 1.01
    assert sum(result.ledger_bytes.values()) == sum(sum(part.ledger_bytes.values()) for part in parts)


def test_the_output_of_every_batch_came_along(both: Path) -> None:
    link = sqlite3.connect(both / "journal.sqlite")
    try:
        rows = link.execute("select directory from batch").fetchall()
        assert link.execute("pragma foreign_key_check").fetchall() == []
    finally:
        link.close()
    assert len({name for (name,) in rows}) == len(rows)
    assert all((both / name / "job.fio").is_file() for (name,) in rows)


def batches(directory: Path) -> int:
    link = sqlite3.connect(directory / "journal.sqlite")
    try:
        return int(link.execute("select count(*) from batch").fetchone()[0])
    finally:
        link.close()


def test_a_longer_campaign_comes_behind_a_shorter_one(scratch: Path) -> None:
    """The new numbers of its batches are numbers that it had itself."""
    longer = measure(scratch, "longer", 4, visits=9)
    assert batches(longer) > batches(scratch / "a")
    done = ioatlas("merge", scratch / "a", longer, "-o", scratch / "unlike")
    assert done.returncode == 0, done.stderr
    assert batches(scratch / "unlike") == batches(longer) + batches(scratch / "a")
    assert sweep_visits(scratch / "unlike") == sorted(sweep_visits(scratch / "a") + sweep_visits(longer))
    for number in range(1, batches(longer) + 1):
        name = f"batches/{number + batches(scratch / 'a'):05}/job.fio"
        assert (scratch / "unlike" / name).read_bytes() == (longer / f"batches/{number:05}/job.fio").read_bytes()


def test_it_is_a_campaign_like_any_other(scratch: Path, both: Path) -> None:
    assert ioatlas("show", both).returncode == 0
    assert ioatlas("report", both).returncode == 0
    again = ioatlas("compare", scratch / "a", both, "--json")
    assert json.loads(again.stdout)["cells_compared"] == 4
    assert "complete" in ioatlas("resume", both).stdout


def test_the_campaigns_themselves_are_not_touched(scratch: Path, both: Path) -> None:
    assert len(sweep_visits(scratch / "a")) == len(sweep_visits(scratch / "b")) == 8


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (("a", "other"), "the plans do not agree in axes"),
        (("a",), "merged with nothing"),
        (("a", "a"), "named twice"),
    ],
)
def test_what_does_not_agree_is_told_and_nothing_is_written(scratch: Path, names: tuple[str, ...], told: str) -> None:
    done = ioatlas("merge", *(scratch / name for name in names), "-o", scratch / "wrong")
    assert done.returncode == 2
    assert told in done.stderr
    assert not (scratch / "wrong").exists()
    assert not list(scratch.glob(".*"))


def test_a_place_that_cannot_be_written_is_told(scratch: Path) -> None:
    done = ioatlas("merge", scratch / "a", scratch / "b", "-o", scratch / "nowhere" / "here")
    assert done.returncode == 1
    assert "cannot be written" in done.stderr


def test_nothing_is_overwritten(scratch: Path) -> None:
    done = ioatlas("merge", scratch / "a", scratch / "b", "-o", scratch / "other")
    assert done.returncode == 2
    assert "something already" in done.stderr
