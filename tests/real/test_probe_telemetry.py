# SPDX-License-Identifier: Apache-2.0
"""Counters beside a real load: what the kernel counted is what fio claims."""

import json
import os
import subprocess
import time

import pytest

import ioatlas_lab as lab
from ioatlas.load.machine.telemetry import Sampler, Watched, watched_of
from ioatlas_lab.running import missing
from tests.real.pauses import Pauses

pytestmark = [pytest.mark.needs("fio"), pytest.mark.usefixtures("own_lab")]


def fio(*words):
    done = subprocess.run(
        ["fio", "--name=j", "--output-format=json", *words], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout[done.stdout.index("{") :])["jobs"][0]


@pytest.mark.unmeasured
@pytest.mark.needs("root")
def test_the_device_counted_what_fio_read_and_the_page_cache_hid_it():
    if missing(lab.scenarios()["drive"]):
        pytest.skip("needs losetup")
    with lab.start("drive", size_bytes=8 << 20) as target:  # the whole device, so that nothing is left to read ahead
        watched = watched_of(target.location)
        name = target.location.removeprefix("/dev/")
        assert watched.devices[0] == name
        common = (f"--filename={target.location}", "--rw=read", "--bs=64k", "--size=8m", "--readonly")
        with Sampler(watched, 0.2) as sampler:
            job = fio(*common, "--direct=1")
        disk = sampler.stop().usage().disks[name]
        # Whoever looks what a new device holds reads some of it too.
        assert job["read"]["io_bytes"] == 8 << 20
        assert 8 << 20 <= disk.read_bytes < 9 << 20
        with open(target.location, "rb"):  # the kernel drops a device's pages when its last user closes it
            fio(*common, "--direct=0", "--invalidate=0")
            with Sampler(watched, 0.2) as sampler:
                job = fio(*common, "--direct=0", "--invalidate=0")
        assert job["read"]["io_bytes"] == 8 << 20
        assert sampler.stop().usage().disks[name].read_bytes < 1 << 20


@pytest.mark.unmeasured
@pytest.mark.needs("root")
def test_the_interface_counted_what_came_over_the_link():
    if missing(lab.scenarios()["link-1g"]):
        pytest.skip("needs the lab's links")
    with lab.start("link-1g") as target:
        watched = watched_of(target.location)
        with Sampler(watched, 0.2) as sampler:
            job = fio(
                "--ioengine=nbd", f"--uri={target.location}", "--rw=read", "--bs=64k", "--iodepth=4", "--size=16m"
            )
        usage = sampler.stop().usage()
        # Frame headers come on top: 52 + 14 bytes for every 1448 at most, less where segments were joined.
        assert 1.0 <= usage.nics[watched.interfaces[0]].rx_bytes / job["read"]["io_bytes"] < 1.07


@pytest.mark.unmeasured
def test_samples_come_in_time_and_cost_little(tmp_path):
    watched = watched_of(str(tmp_path))
    began = time.monotonic()
    with Pauses() as pauses, Sampler(watched, 0.1) as sampler:
        subprocess.run(["sleep", "0.55"], check=True)
    recording = sampler.stop()
    most = (time.monotonic() - began) / 0.1 + 2  # the first and the last come besides; a busy machine sleeps longer
    assert 4 - 2 * pauses.seconds / 0.1 <= len(recording.samples) <= most
    assert "/proc/stat" in recording.samples[0].raw
    usage = recording.usage()
    assert len(usage.core_busy) == os.cpu_count()
    assert all(0 <= share <= 1 for share in usage.core_busy)
    assert sampler.stop().samples == recording.samples
    spent = time.thread_time()
    for _ in range(50):
        sampler.snapshot()
    assert (time.thread_time() - spent) / 50 < 0.01


@pytest.mark.unmeasured
def test_a_missing_file_of_the_kernel_is_left_out():
    sampler = Sampler(Watched(devices=("no-such-device",), interfaces=("no-such-nic",), mount_point="/no/such"), 1)
    taken = sampler.snapshot()
    assert taken.raw["/proc/diskstats"] == ""
    assert sampler.stop().usage() is None
    sampler.close()
