# SPDX-License-Identifier: Apache-2.0
"""The loads of a batch, and what a session tells of them."""

from dataclasses import replace

import pytest

from ioatlas.analysis.burst import Burst, Bursts, most_lead_ms
from ioatlas.fio.batch import Batch
from ioatlas.model.purpose import Purpose
from ioatlas.model.verdict import Verdict, VerdictCode
from ioatlas.run.events import progress_event, visit_events
from ioatlas.run.loads import expected_seconds, fio_process, load_seconds, with_leads
from ioatlas.run.telemetry import together
from ioatlas.testbed.telemetry import Watched
from tests.unit.run.made import cell, part, planned, result, section

BURSTS = Bursts((Burst("t", "read", 1e9, 100e6, 200e6),))
"""100 MB/s come back while it stands still and go at 100 MB/s: a lead is a quarter longer than the pause, up to 2 s."""


def test_credit_that_a_pause_gave_is_used_up_first():
    sections = [section(number) for number in (1, 2, 3)]
    led = with_leads(sections, {number: planned(number) for number in (1, 2, 3)}, BURSTS)
    assert [one.lead_ms for one in led] == [2000, 125, 125]
    assert [one.runtime_ms for one in led] == [2490, 615, 615]
    again = with_leads(led, {number: planned(number) for number in (1, 2, 3)}, BURSTS)
    assert tuple(again) == led, "leads are not added up"


def test_credit_of_one_direction_comes_back_while_the_other_runs():
    """0.49 s of writes, 0.25 s to drain, a tick before and after them: 0.94 s at 100 MB/s."""
    loads = [section(1), section(2, cell(rw="randwrite")), section(3)]
    led = with_leads(loads, {number: planned(number) for number in (1, 2, 3)}, BURSTS)
    assert [one.lead_ms for one in led] == [2000, 0, 1175]


def test_a_budget_bounds_leads_but_not_those_of_what_is_made_again():
    bursts = Bursts((replace(BURSTS.bursts[0], most_lead_ms=300),))
    led = with_leads([section(1), section(2)], {1: planned(1), 2: planned(2)}, bursts)
    assert [one.lead_ms for one in led] == [300, 125]
    (again,) = with_leads([section(1)], {1: planned(1, alone=True)}, bursts)
    assert again.lead_ms == 2000
    assert most_lead_ms(None, 24) == 2000
    assert most_lead_ms(40.0, 24) == 500
    assert most_lead_ms(1.0, 24) == 50


@pytest.mark.parametrize(("bs", "lead_ms"), [(4096, 1250), (65536, 179), (1 << 20, 69)])
def test_light_loads_take_longer_to_use_credit_up(bs, lead_ms):
    """1 s at 100 MB/s goes at what a load does above that: 200 MB/s of 4 KiB, four times that of 64 KiB, 2 GB/s."""
    burst = Burst("t", "read", 1e9, 100e6, 2e9, slowest_per_s=200e6, slowest_block_bytes=4096)
    assert burst.lead_ms(1.0, bs) == pytest.approx(lead_ms, abs=3)


def test_probes_work_and_other_loads_have_no_lead():
    sections = [
        section(1),
        section(2, cell(io_size=1 << 20)),
        section(3, cell(rw="write")),
        section(4, cell("other")),
        section(5),
    ]
    rows = {number: planned(number) for number in range(1, 6)} | {1: planned(1, Purpose.PROBE)}
    led = with_leads(sections, rows, BURSTS)
    assert [one.lead_ms for one in led] == [0, 0, 0, 0, 2000]
    assert [one.runtime_ms for one in led] == [490, 490, 490, 490, 2490]
    assert with_leads(sections, rows, Bursts()) == tuple(sections)


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
