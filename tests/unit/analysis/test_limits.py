# SPDX-License-Identifier: Apache-2.0
import pytest

from ioatlas.answer.analysis.ceilings import ceilings_of
from ioatlas.model.errors import UsageError
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
