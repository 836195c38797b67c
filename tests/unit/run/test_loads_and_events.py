# SPDX-License-Identifier: Apache-2.0
"""The loads of a batch, and what a session tells of them; its closing line counts what the result will hold."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from ioatlas.load.fio.batch import Batch
from ioatlas.load.fio.collect import fio_process, load_seconds
from ioatlas.load.machine.telemetry import Watched
from ioatlas.measure.run.budget import Budget
from ioatlas.measure.run.live import Summary, progress_event, visit_events
from ioatlas.measure.run.plan import expected_seconds
from ioatlas.measure.run.telemetry import together
from ioatlas.model.verdict import Reason, ReasonCode, Verdict, VerdictCode
from ioatlas.model.visit import Purpose
from tests.unit.run.made import cell, part, result, section


def test_loads_take_from_the_first_start_to_the_last_end():
    first = result(1, None, part(runtime_ms=3000), part("write", runtime_ms=1000), started_at=1000.0)
    second = result(2, None, part(runtime_ms=500), started_at=1002.0)
    assert load_seconds([first]) == 3.0
    assert load_seconds([second, first]) == 3.0
    assert load_seconds([first, replace(second, visit=replace(second.visit, started_at=1003.0))]) == 3.5
    assert load_seconds([]) is None
    assert load_seconds([first, replace(second, visit=None)]) is None
    assert load_seconds([first, replace(second, visit=replace(second.visit, started_at=0.0))]) is None


@pytest.mark.parametrize("readonly", [True, False])
def test_fio_may_write_only_where_the_batch_does(tmp_path, readonly):
    process = fio_process(Batch(1, tmp_path, (section(),), readonly=readonly))
    assert ("--readonly" in process.arguments) is readonly
    assert process.arguments[-4:] == ("--output-format=json+", "--output=fio.json", "--eta=never", "job.fio")
    assert (process.program, process.directory, process.sink) == ("fio", tmp_path, "fio.err")
    assert "[v1]" in (tmp_path / "job.fio").read_text()


def test_the_cell_that_is_measured_now_is_told():
    cells = [cell(bs=size) for size in (4096, 8192, 16384)]
    batch = Batch(1, None, tuple(section(number, of, 500, 100) for number, of in enumerate(cells, 1)))
    for seconds, place in ((0.0, 0), (0.59, 0), (0.6, 1), (1.19, 1), (1.2, 2), (9.0, 2)):
        event = progress_event({"seconds_left": 4.0}, batch, seconds)
        assert event.name == "progress"
        assert event.fields == {
            "seconds_left": 4.0,
            "cell": cells[place].key,
            "target": "t",
            "rw": "randread",
            "bs_bytes": 4096 << place,
            "size_bytes": 1 << 30,
            "numjobs": 2,
            "iodepth": 8,
        }


def test_each_part_of_a_visit_is_told_with_its_values():
    visit = replace(
        result(1, None, part(mib=10, runtime_ms=2000), part("write", mib=3)).visit, verdict=Verdict(VerdictCode.FLAT)
    )
    read, write = visit_events(visit, cell())
    assert (read.name, write.name) == ("visit", "visit")
    wanted = {
        "direction": "read",
        "block": 3,
        "bw_bytes_per_s": 5 * 1024 * 1024,
        "iops": 1280.0,
        "lat_mean_ns": 1e6,
        "lat_kind": "total",
        "verdict": "flat",
        "purpose": Purpose.SWEEP,
        "cell": cell().key,
        "numjobs": 2,
    }
    assert wanted.items() <= read.fields.items()
    assert read.fields["lat_p99_ns"] == pytest.approx(1e6, rel=0.02)
    assert (write.fields["direction"], write.fields["iops"]) == ("write", 768.0)


def test_everything_on_the_way_to_any_target_is_watched_once():
    first = Watched(("sda", "dm-0"), ("eth0",), "", tops=("dm-0",))
    second = Watched(("sdb",), ("eth0", "eth1"), "/mnt/nas")
    assert together([first, second]) == Watched(("sda", "dm-0", "sdb"), ("eth0", "eth1"), "/mnt/nas")
    assert together([second, replace(first, mount_point="/mnt/b")]).mount_point == "/mnt/nas"
    assert together([]) == Watched((), (), "")


def test_what_loads_are_to_take_is_their_turns():
    assert expected_seconds([section(1), section(2, None, 1000, 1)], None) == pytest.approx((5 + 11) * 0.1002)


LATE = (Reason(ReasonCode.LATE, "late"),)
MADE = [("a", Purpose.PROBE, ()), ("a", Purpose.SWEEP, ()), ("a", Purpose.FRESH, ()), ("b", Purpose.SWEEP, LATE)]
MADE += [("c", Purpose.BASELINE, ())]


@pytest.mark.parametrize(
    ("counted", "cells", "visits"),
    [(None, 2, 3), (frozenset({Purpose.SWEEP}), 1, 1), (frozenset({Purpose.PROBE, Purpose.BASELINE}), 2, 2)],
)
def test_discarded_visits_and_probes_are_not_counted(tmp_path, counted, cells, visits):
    rows = [SimpleNamespace(cell_key=key, purpose=purpose, discarded=why) for key, purpose, why in MADE]
    journal = SimpleNamespace(directory=tmp_path, visits=lambda: rows)
    told = Summary.of(journal, Budget(lambda: 7.0, 60.0, 4.0), complete=True, counted=counted)
    assert told == Summary(tmp_path, cells, visits, 3.0, complete=True, budget_seconds=60.0)
    assert Summary.of(journal, None, complete=False).seconds == 0.0
