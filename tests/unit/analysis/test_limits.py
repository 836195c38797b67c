# SPDX-License-Identifier: Apache-2.0
import pytest

from ioatlas.analysis.ceilings import Ceiling
from ioatlas.analysis.limits import Reading, ceilings_of, explain, limit_finding
from ioatlas.errors import UsageError
from ioatlas.model.testbed import Fact, Testbed


def bed(*facts):
    return Testbed("t", 0.0, tuple(Fact(name, value, unit, kind) for name, value, unit, kind in facts))


GIGABIT = ("nic.speed", 10**9, "bit/s", "typed in")


def reading(name, rate, bus, mtu, **more):
    return Reading(
        name,
        rate * 1e6,
        ceilings_of(bed(GIGABIT, ("nic.mtu", mtu, "B", "typed in"), ("nic.bus", bus, "", "typed in")), 1 << 20),
        {"bus": bus, "mtu": mtu},
        **more,
    )


def test_a_network_shakedown_of_three_cards_names_the_bus_then_the_link():
    """Figures of a published study: gigabit through a PCI card, the same with larger frames, through a PCIe card; a
    NAS read.
    """
    findings = explain(
        [
            reading("PCI card", 67, "PCI", 1500),
            reading("PCI card, larger frames", 74, "PCI", 4000),
            reading("PCIe card", 113, "PCIe x1", 1500),
            Reading("NAS read", 70e6, through="PCIe card"),
        ],
        {"100 Mb/s Ethernet": 12.5e6, "1 Gb/s Ethernet": 125e6},
    )
    text = "\n".join(one.sentence for one in findings)
    assert (
        "PCI card: 67.0 MB/s is 57% of the nearest ceiling known (1 Gb/s link, MTU 1500, 117.7 MB/s): something else "
        "limits it" in text
    )
    assert "above the 12.50 MB/s of 100 Mb/s Ethernet, 54% of the 125.0 MB/s of 1 Gb/s Ethernet" in text
    assert "PCIe card: limited by the 1 Gb/s link, MTU 1500: 113.0 MB/s of 117.7 MB/s (96%)" in text
    assert (
        "bus PCIe x1 instead of PCI gives 113.0 MB/s instead of 67.0 MB/s (+69%) with all else equal: bus PCI limits "
        "PCI card" in text
    )
    assert "the link's arithmetic allows +3.8%" in text
    assert (
        "NAS read: 70.0 MB/s is 62% of the nearest ceiling known (path PCIe card measured alone, 113.0 MB/s): "
        "something else limits it" in text
    )
    assert "limits NAS" not in text
    assert not [one for one in findings if one.code == "above-ceiling"]


def test_a_nas_as_fast_as_its_path_is_limited_by_the_path():
    [*_, last] = explain([reading("PCI card", 67, "PCI", 1500), Reading("NAS read", 66e6, through="PCI card")])
    assert last.code == "limited"
    assert "path PCI card measured alone" in last.sentence


def test_results_through_a_path_are_compared_with_each_other():
    """Each passed a path of its own; the paths are compared too, but never a path with what passed one."""
    readings = [
        reading("path, PCI", 67, "PCI", 1500),
        reading("path, PCIe", 113, "PCIe x1", 1500),
        Reading("NAS, PCI", 60e6, factors={"bus": "PCI", "mtu": 1500}, through="path, PCI"),
        Reading("NAS, PCIe", 100e6, factors={"bus": "PCIe x1", "mtu": 1500}, through="path, PCIe"),
    ]
    pairs = [one for one in explain(readings) if "instead of" in one.sentence]
    assert len(pairs) == 2
    nas = pairs[1]
    assert nas.code == "explained"  # the path alone gains 69%, the NAS 67%
    assert "bus PCIe x1 instead of PCI gives 100.0 MB/s instead of 60.0 MB/s (+67%)" in nas.sentence


def test_a_factor_that_the_path_does_not_explain_is_told_of_what_passed_it():
    readings = [
        Reading("path", 110e6),
        Reading("NAS, SMB", 60e6, factors={"protocol": "SMB"}, through="path"),
        Reading("NAS, NFS", 109e6, factors={"protocol": "NFS"}, through="path"),
    ]
    [last] = [one for one in explain(readings) if "instead of" in one.sentence]
    assert last.code == "limited"
    assert "protocol SMB limits NAS, SMB" in last.sentence
    assert "path path measured alone is met" in last.sentence


def test_a_value_above_its_ceiling_is_a_cache_or_a_unit():
    [ceiling] = ceilings_of(bed(GIGABIT, ("nic.mtu", 1500, "B", "known")), 65536)
    assert limit_finding(739e6, [ceiling]).code == "above-ceiling"
    assert limit_finding(ceiling.bw_bytes_per_s * 1.004, [ceiling]).code == "limited"
    # 117.7 MB/s written as MiB/s: the classic mistake is 4.9%.
    assert limit_finding(117.7 * 1.048576 * 1e6, [ceiling]).code == "above-ceiling"


def test_a_small_difference_and_one_that_the_link_explains():
    same = explain([reading("a", 112, "PCIe x1", 1500), reading("b", 113, "PCIe 2.0 x4", 1500)])
    assert same[-1].code == "no-difference"
    fast = (GIGABIT[0], 10**10, *GIGABIT[2:])
    one = Reading("1G", 113e6, ceilings_of(bed(GIGABIT), 1 << 20), {"link": "1G"})
    ten = Reading("10G", 1100e6, ceilings_of(bed(fast), 1 << 20), {"link": "10G"})
    assert explain([one, ten])[-1].code == "explained"


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


def test_bad_words_and_names_are_refused():
    with pytest.raises(UsageError, match="no bus"):
        ceilings_of(bed(("nic.bus", "a wire", "", "typed in")), 4096)
    with pytest.raises(UsageError, match="no reading"):
        explain([Reading("a", 1.0, through="b")])
    assert limit_finding(1e6, []).code == "undetermined"
    assert limit_finding(1e6, [Ceiling("d", "drive", None)]).code == "undetermined"


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
