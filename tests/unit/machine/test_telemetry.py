# SPDX-License-Identifier: Apache-2.0
import json
import os

import pytest

from ioatlas.load.machine.path import MOUNTSTATS
from ioatlas.load.machine.telemetry import SCHEDULER, Recording, Sample, Sampler, Watched, flushed_drives, usage_between
from ioatlas.load.machine.visit_usage import inside, records_by_visit, usage_of, usage_record, waiting
from ioatlas.model.testbed import DiskUsage, NicUsage, Usage
from tests.facts import has


def sample(at, **raw):
    return Sample(at, at, raw)


def test_shares_of_processors():
    first = {"/proc/stat": "cpu  0 0 0 0 0 0 0 0 0 0\ncpu0 0 0 0 0 0 0 0 0 0 0\ncpu1 0 0 0 0 0 0 0 0 0 0"}
    last = {"/proc/stat": "cpu  100 0 20 60 0 0 10 10 0 0\ncpu0 90 0 10 0 0 0 0 0 0 0\ncpu1 10 0 10 60 0 0 10 10 0 0"}
    usage = usage_between(Sample(0, 0, first), Sample(1, 1, last))
    assert usage.core_busy == pytest.approx((1.0, 0.4))
    assert (usage.softirq, usage.steal) == pytest.approx((0.05, 0.05))
    assert usage.busiest_core == 1.0


def test_disk_and_network_counters():
    first = {
        "/proc/diskstats": "   8       0 sda 100 0 800 50 10 0 80 5 0 40 55 0 0 0 0",
        "/proc/net/dev": "  eth0: 1000 10 0 0 0 0 0 0 500 5 0 0 0 0 0 0",
    }
    last = {
        "/proc/diskstats": "   8       0 sda 300 0 2400 250 110 0 880 105 3 1040 2055 0 0 0 0",
        "/proc/net/dev": "  eth0: 3000 30 0 2 0 0 0 0 1500 15 1 0 0 0 0 0",
    }
    usage = usage_between(Sample(0, 0, first), Sample(2, 2, last))
    disk, nic = usage.disks["sda"], usage.nics["eth0"]
    assert (disk.read_bytes, disk.write_bytes) == (1600 * 512, 800 * 512)
    assert disk.utilisation == pytest.approx(0.5)
    assert (nic.rx_bytes, nic.tx_bytes, nic.errors, nic.drops) == (2000, 1000, 1, 2)


def test_nfs_counters():
    def stats(read):
        return f"device n:/a mounted on /m with fstype nfs\n\topts:\tvers=3\n\tbytes:\t0 0 0 0 {read} 0 0 0\n"

    usage = usage_between(Sample(0, 0, {MOUNTSTATS: stats(0)}), Sample(1, 1, {MOUNTSTATS: stats(8192)}))
    has(usage.nfs, server_read_bytes=8192, server_write_bytes=0)


def test_what_is_missing_stays_out():
    usage = usage_between(sample(0), sample(1))
    assert usage.core_busy == ()
    assert usage.busiest_core is None
    assert usage.nfs is None
    # A device that came or went in between has no difference.
    gone = usage_between(
        Sample(0, 0, {"/proc/diskstats": ""}),
        Sample(1, 1, {"/proc/diskstats": "8 0 sda 1 0 8 1 0 0 0 0 0 1 1 0 0 0 0"}),
    )
    assert gone.disks == {}


def test_the_samples_around_a_stretch_of_time():
    samples = tuple(Sample(at, at, {"/proc/net/dev": f"e: {at * 100}{' 0' * 15}"}) for at in range(10))
    recording = Recording(Watched(), samples)
    assert recording.usage().seconds == 9
    assert recording.usage(2.5, 4.5).seconds == 3
    assert recording.usage(2.5, 4.5).nics["e"].rx_bytes == 300
    assert recording.usage(20, 30) is None
    assert Recording(Watched(), samples[:1]).usage() is None


def test_the_threads_of_a_program_are_read_once_it_is_known():
    sampler = Sampler(Watched())
    assert SCHEDULER not in sampler.snapshot().raw
    sampler.watch(os.getpid())
    lines = sampler.snapshot().raw[SCHEDULER].splitlines()
    sampler.close()
    assert str(os.getpid()) in {line.split()[0] for line in lines}
    assert all(len(line.split()) == 4 for line in lines)


def test_waiting_for_a_processor_is_a_share_of_the_threads_that_were_there_all_the_while():
    def at(seconds, *threads):
        return Sample(seconds, seconds, {SCHEDULER: "\n".join(f"{name} 0 {round(1e9 * ns)} 1" for name, ns in threads)})

    # One thread only waits for the others to end; a thread that came later counts for nothing.
    samples = [at(0, ("1", 0), ("2", 1), ("3", 2)), at(5, ("2", 0)), at(10, ("1", 0), ("2", 3), ("3", 8), ("4", 9))]
    assert waiting(samples, 0, 10) == pytest.approx((0.2 + 0.6) / 2)
    assert waiting(samples[:1], 0, 10) is None
    assert waiting([Sample(0, 0, {}), Sample(1, 1, {})], 0, 10) is None


def test_a_visit_needs_readings_over_enough_of_it():
    stat = {"/proc/stat": "cpu  1 0 0 1 0 0 0 0 0 0"}
    samples = [Sample(second, second, stat) for second in (0.0, 1.0, 2.0, 3.0)]
    assert inside(samples, 0.5, 3.2).seconds == 2.0
    assert inside(samples, 0.5, 9.5) is None
    assert inside(samples, 1.5, 2.5) is None


def test_a_record_of_usage_is_read_back_as_it_was_written():
    usage = Usage(
        2.0,
        (0.5, 0.25),
        softirq=0.125,
        disks={"sda": DiskUsage(1, 2, 0.5)},
        nics={"eth0": NicUsage(1, 2, 5, 6)},
    )
    record = json.loads(json.dumps(usage_record(usage)))
    assert usage_of(record) == usage
    assert "steal" not in record
    assert usage_of({**record, "pressure": {"io.some": 0.25}, "tcp_segments_sent": 7}) == usage  # of version 0.3
    assert usage_of({"watts": {"plug": 5.0}}) is None
    assert records_by_visit({1: {"visits": {"7": record}}, 2: {}}) == {7: record}


def _disk(block, name, *, cache="write back", mq=True, slaves=()):
    for part in ("slaves", "queue", *(["mq"] if mq else []), *(f"slaves/{one}" for one in slaves)):
        (block / name / part).mkdir(parents=True)
    (block / name / "queue" / "write_cache").write_text(f"{cache}\n")


def test_flushes_are_counted_where_every_drive_has_a_cache(tmp_path):
    _disk(tmp_path, "dm-0", mq=False, slaves=("sda", "sdb"))
    _disk(tmp_path, "sda")
    _disk(tmp_path, "sdb")
    _disk(tmp_path, "sdc", cache="write through")
    _disk(tmp_path, "nvme0n1", mq=False)
    _disk(tmp_path, "loop3")
    assert flushed_drives(("dm-0", "sda1", "sda", "sdb"), tmp_path) == ("sda", "sdb")
    assert flushed_drives(("sda", "sdc"), tmp_path) == ()
    assert flushed_drives(("nvme0n1",), tmp_path) == ()
    assert flushed_drives(("loop3", "sdc"), tmp_path) == ("loop3",)
    assert flushed_drives(("dm-0", "gone"), tmp_path) == ()
