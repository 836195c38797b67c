# SPDX-License-Identifier: Apache-2.0
import pytest

from ioatlas.analysis.limits import ceilings_of
from ioatlas.errors import UsageError
from ioatlas.model.testbed import Fact, Testbed


def bed(*facts):
    return Testbed("t", 0.0, tuple(Fact(name, value, unit, kind) for name, value, unit, kind in facts))


GIGABIT = ("nic.speed", 10**9, "bit/s", "typed in")


def test_doubtful_and_local_facts_make_no_ceiling():
    assert ceilings_of(bed(("nic.speed", 10**10, "bit/s", "doubtful")), 4096) == ()
    assert ceilings_of(bed(GIGABIT, ("route.local", True, "", "known")), 4096) == ()
    assert ceilings_of(bed(), 4096) == ()


def test_ceilings_follow_protocol_mtu_and_slot():
    facts = [
        GIGABIT,
        ("nic.mtu", 1500, "B", "known"),
        ("protocol.name", "NFS", "", "known"),
        ("protocol.version", "3", "", "known"),
        ("protocol.rsize_bytes", 1 << 20, "B", "known"),
    ]
    [link] = ceilings_of(bed(*facts), 4096)
    assert link.iops == pytest.approx(27_835, abs=0.5)
    both = ceilings_of(
        bed(
            *facts,
            ("nic.pcie.current_link_speed", 2.5, "GT/s", "known"),
            ("nic.pcie.current_link_width", 1, "lanes", "known"),
        ),
        4096,
    )
    assert [one.resource for one in both] == ["link", "client bus"]
    [measured] = ceilings_of(bed(("measured.network", 113e6, "B/s", "typed in")), 4096)
    assert (measured.kind, measured.resource) == ("measured", "network path")
    [drive] = ceilings_of(bed(("device.sda.link_current", 3 * 10**9, "bit/s", "known")), 4096)
    assert drive.bw_bytes_per_s == 300e6


def test_bad_words_are_refused():
    with pytest.raises(UsageError, match="known bus"):
        ceilings_of(bed(("nic.bus", "a wire", "", "typed in")), 4096)


MEMORY = (
    ("cpu.allowed", 4, "", "known"),
    ("measured.client_job_iops", 5e6, "1/s", "known"),
    ("measured.memory_job_iops.4096", 1e6, "1/s", "known"),
    ("measured.memory_job_iops.65536", 1e5, "1/s", "known"),
    ("measured.memory_job_iops.1048576", 1e4, "1/s", "known"),
)


@pytest.mark.parametrize(
    ("bs", "jobs", "iops"),
    [(4096, 1, 1e6), (4096, 3, 3e6), (65536, 64, 4e5), (1 << 20, 1, 1e4), (16384, 1, 1 / (1e-6 + 9e-6 * 12 / 60))],
)
def test_a_target_in_memory_bounds_bytes_by_jobs_and_block_size(bs, jobs, iops):
    [stack, client] = ceilings_of(bed(*MEMORY), bs, numjobs=jobs)
    assert (stack.resource, client.resource) == ("stack", "client")
    assert stack.iops == pytest.approx(iops)
    assert stack.bw_bytes_per_s == pytest.approx(iops * bs)
    assert client.iops == 5e6 * min(jobs, 4)
    assert client.bw_bytes_per_s is None  # the null engine moves no data


def test_a_target_in_memory_goes_on_beyond_the_sizes_measured():
    below, above = (ceilings_of(bed(*MEMORY), bs, numjobs=1)[0] for bs in (512, 4 << 20))
    assert 1e6 < below.iops <= 2e6
    assert above.bw_bytes_per_s == pytest.approx(1e4 * (1 << 20), rel=0.05)


def test_a_memory_that_was_not_measured_is_no_ceiling():
    absent = ("measured.memory_job_iops", None, "", "absent")
    assert [one.resource for one in ceilings_of(bed(*MEMORY[:2], absent), 4096, numjobs=1)] == ["client"]
    assert [one.resource for one in ceilings_of(bed(*MEMORY), 4096)] == []


def test_a_fact_typed_in_for_no_size_is_no_ceiling():
    odd = (*MEMORY, ("measured.memory_job_iops.fast", 1e9, "1/s", "typed in"))
    assert ceilings_of(bed(*odd), 4096, numjobs=1) == ceilings_of(bed(*MEMORY), 4096, numjobs=1)
