# SPDX-License-Identifier: Apache-2.0
"""Ceilings against figures worked out independently: published link tables, standards' data sheet rates, facts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioatlas.answer.analysis.ceilings import (
    Ethernet,
    bus_ceiling,
    ceilings_of,
    goodput,
    pci_bytes_per_s,
    pcie_bytes_per_s,
    pcie_generation,
)
from ioatlas.model.errors import UsageError
from ioatlas.model.testbed import Fact, Testbed

MB = 1e6
GIGABIT = 1e9


@pytest.mark.parametrize(
    ("mtu", "kwargs", "percent"),
    [
        (1500, {}, 94.15),
        (1500, {"timestamps": False}, 94.93),
        (1500, {"vlan": True}, 93.90),
        (9000, {}, 99.00),
        (9000, {"timestamps": False}, 99.14),
        (9000, {"vlan": True}, 98.96),
    ],
)
def test_tcp_efficiency(mtu, kwargs, percent):
    assert Ethernet(GIGABIT, mtu, **kwargs).efficiency * 100 == pytest.approx(percent, abs=0.005)


@pytest.mark.parametrize(
    ("gigabits", "mtu", "megabytes", "mebibytes"),
    [
        (1, 1500, 117.7, 112.2),
        (10, 1500, 1177, 1122),
        (40, 1500, 4707, 4489),
        (100, 1500, 11769, 11223),
        (1, 9000, 123.8, 118.0),
        (10, 9000, 1238, 1180),
        (40, 9000, 4950, 4721),
        (100, 9000, 12376, 11802),
    ],
)
def test_link_goodput(gigabits, mtu, megabytes, mebibytes):
    rate = Ethernet(gigabits * 1e9, mtu).goodput_bytes_per_s
    assert rate / MB == pytest.approx(megabytes, rel=5e-4)
    assert rate / (1 << 20) == pytest.approx(mebibytes, rel=5e-4)


@pytest.mark.parametrize(
    ("bs", "protocol", "mtu", "megabytes", "iops"),
    [
        (4096, "iscsi", 1500, 116.3, 28_399),
        (4096, "iscsi", 9000, 122.3, 29_864),
        (4096, "nfs3", 1500, 114.0, 27_835),
        (4096, "nfs3", 9000, 119.9, 29_270),
        (4096, "smb3", 1500, 115.3, 28_154),
        (4096, "smb3", 9000, 121.3, 29_607),
        (65536, "iscsi", 1500, 117.6, None),
        (65536, "iscsi", 9000, 123.7, None),
        (65536, "nfs3", 1500, 117.4, None),
        (65536, "nfs3", 9000, 123.5, None),
        (65536, "smb3", 1500, 117.5, None),
        (65536, "smb3", 9000, 123.6, None),
        (1 << 20, "iscsi", 1500, 117.7, None),
        (1 << 20, "nfs3", 9000, 123.7, None),
        (1 << 20, "smb3", 1500, 117.7, None),
    ],
)
def test_read_ceilings_of_protocols_on_gigabit(bs, protocol, mtu, megabytes, iops):
    rate = goodput(Ethernet(GIGABIT, mtu), protocol, bs)
    assert rate / MB == pytest.approx(megabytes, abs=0.051)
    if iops:
        assert rate / bs == pytest.approx(iops, abs=0.5)


def test_transfers_smaller_than_the_block_cost_more_headers():
    link = Ethernet(GIGABIT)
    one, many = goodput(link, "nfs3", 1 << 20), goodput(link, "nfs3", 1 << 20, transfer_bytes=32 << 10)
    assert many / link.goodput_bytes_per_s == pytest.approx((1 << 20) / ((1 << 20) + 32 * 132))
    assert many < one


@given(
    st.sampled_from(["tcp", "iscsi", "nfs3", "smb3", "nbd"]),
    st.integers(1, 1 << 22),
    st.integers(576, 9216),
    st.booleans(),
)
def test_never_above_the_line(protocol, bs, mtu, vlan):
    link = Ethernet(GIGABIT, mtu, vlan=vlan)
    assert goodput(link, protocol, bs) < link.line_bytes_per_s


@pytest.mark.parametrize(
    ("width", "hertz", "megabytes"),
    [
        (32, 33.333e6, 133.3),
        (32, 66.667e6, 266.7),
        (64, 33.333e6, 266.7),
        (64, 66.667e6, 533.3),
        (64, 133.333e6, 1066.7),
    ],
)
def test_pci(width, hertz, megabytes):
    assert pci_bytes_per_s(width, hertz) / MB == pytest.approx(megabytes, abs=0.05)


@pytest.mark.parametrize(
    ("generation", "megabytes"), [(1, 250), (2, 500), (3, 984.6), (4, 1969.2), (5, 3938.5), (6, 7375)]
)
def test_pcie_per_lane(generation, megabytes):
    packet = 256 + (12 if generation == 6 else 20)
    assert pcie_bytes_per_s(generation, 1) / MB == pytest.approx(megabytes * 256 / packet, rel=1e-4)
    assert pcie_bytes_per_s(generation, 4) == pytest.approx(4 * pcie_bytes_per_s(generation, 1))


def test_pcie_speeds_of_sysfs():
    assert [pcie_generation(speed) for speed in (2.5, 5, 8, 16, 32, 64)] == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("words", "megabytes"),
    [
        ("PCI", 133.3),
        ("PCI 32-bit 33 MHz", 133.3),
        ("PCI 64 bit 66 MHz", 533.3),
        ("PCI-X 133 MHz", 1066.7),
        ("PCI-X", 1066.7),
    ],
)
def test_a_bus_in_words(words, megabytes):
    assert bus_ceiling(words).bw_bytes_per_s / MB == pytest.approx(megabytes, abs=0.05)


@pytest.mark.parametrize(
    ("words", "generation", "lanes"),
    [
        ("PCIe", 1, 1),
        ("PCIe x1", 1, 1),
        ("PCI Express", 1, 1),
        ("PCIe 2.0 x4", 2, 4),
        ("PCIe gen3 x8", 3, 8),
        ("PCIe 4.0 x16", 4, 16),
        ("PCI-Express x4", 1, 4),
    ],
)
def test_an_express_bus_in_words(words, generation, lanes):
    assert bus_ceiling(words).bw_bytes_per_s == pytest.approx(pcie_bytes_per_s(generation, lanes))


def test_no_bus():
    assert bus_ceiling("onboard") is None
    assert bus_ceiling("USB 3") is None


@pytest.mark.parametrize(
    "call",
    [
        lambda: Ethernet(0),
        lambda: Ethernet(1e9, 52),
        lambda: goodput(Ethernet(1e9), "tcp", 0),
        lambda: pcie_bytes_per_s(7, 1),
        lambda: pcie_bytes_per_s(3, 3),
        lambda: pcie_generation(3),
        lambda: pci_bytes_per_s(16),
    ],
)
def test_what_does_not_exist_is_refused(call):
    with pytest.raises(UsageError):
        call()


def bed(*facts):
    return Testbed("t", 0.0, tuple(Fact(name, value, unit, kind) for name, value, unit, kind in facts))


SPEED = ("nic.speed", 10**9, "bit/s", "typed in")


def test_doubtful_and_local_facts_make_no_ceiling():
    assert ceilings_of(bed(("nic.speed", 10**10, "bit/s", "doubtful")), 4096) == ()
    assert ceilings_of(bed(SPEED, ("route.local", True, "", "known")), 4096) == ()
    assert ceilings_of(bed(), 4096) == ()


def test_ceilings_follow_protocol_mtu_and_slot():
    facts = [
        SPEED,
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
