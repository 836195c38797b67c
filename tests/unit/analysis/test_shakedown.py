# SPDX-License-Identifier: Apache-2.0
import pytest

from ioatlas.answer.analysis.ceilings import Ceiling
from ioatlas.answer.analysis.shakedown import (
    background_checks,
    clients_needed,
    clock_check,
    headroom,
    mtu_check,
    nic_checks,
    path_checks,
)
from ioatlas.model.testbed import DiskUsage, Fact, NicUsage, Testbed, Usage
from ioatlas.model.units import rates_in


def bed(**facts):
    return Testbed(
        "t",
        0.0,
        tuple(
            Fact(name.replace("__", "."), *(value if isinstance(value, tuple) else (value,)))
            for name, value in facts.items()
        ),
    )


def verdicts(checks):
    return {one.name: one.verdict for one in checks}


@pytest.mark.parametrize(
    ("generated", "seen", "verdict"), [(3.0e5, 1.0e5, "ok"), (2.0e5, 1.0e5, "warning"), (1.2e5, 1.0e5, "failed")]
)
def test_headroom_of_three(generated, seen, verdict):
    check = headroom(generated, seen, 4096)
    assert check.verdict == verdict
    assert bool(check.advice) == (verdict != "ok")


def test_clients_needed():
    link = Ceiling("1 Gb/s link, MTU 1500", "link", 117.7e6)
    assert clients_needed(100e6, [link]).verdict == "ok"
    short = clients_needed(300e6, [Ceiling("client", "client", 5e9), link])
    assert short.verdict == "warning"
    assert "3 clients" in short.advice
    assert clients_needed(300e6, []).verdict == "unknown"
    assert "300 MB/s" not in short.sentence
    with rates_in("decimal"):
        assert "300 MB/s" in clients_needed(300e6, [link]).sentence


def test_clock_mtu_and_traps_of_the_path():
    assert clock_check(bed(clock__source="tsc")).verdict == "ok"
    assert clock_check(bed(clock__source="hpet")).verdict == "warning"
    assert clock_check(bed()).verdict == "unknown"
    assert [mtu_check(9000, passes).verdict for passes in (True, False, None)] == ["ok", "failed", "unknown"]
    assert verdicts(path_checks(bed(protocol__name="memory"))) == {"target": "failed"}
    holes = Testbed("t", 0.0, (Fact("target.holes", True),))
    assert verdicts(path_checks(holes)) == {"target": "failed"}
    assert verdicts(path_checks(bed(array__degraded=1, array__state="resync", cpu__governor="powersave"))) == {
        "power": "warning",
        "array": "warning",
    }
    assert list(path_checks(bed(array__degraded=0, array__state="idle", cpu__governor="performance"))) == []


def test_background():
    idle = Usage(1.0, (0.02, 0.05), disks={"sda": DiskUsage(0, 0, 0.0)})
    busy = Usage(1.0, (0.9, 0.3), steal=0.05, disks={"sda": DiskUsage(0, 0, 0.4)})
    assert verdicts(background_checks(idle)) == {"background cpu": "ok"}
    assert verdicts(background_checks(busy)) == {
        "background cpu": "failed",
        "steal": "warning",
        "background sda": "warning",
    }
    assert verdicts(background_checks(None)) == {"background": "unknown"}
    assert verdicts(background_checks(Usage(1.0, (0.9, 0.9)))) == {"background cpu": "failed"}
    assert verdicts(background_checks(Usage(1.0, (0.4, 0.2)))) == {"background cpu": "warning"}


def test_the_interface_on_the_path():
    good = bed(nic__name="eth0", nic__speed=(10**9, "bit/s"), nic__duplex="full")
    assert verdicts(nic_checks(good, None)) == {"link speed": "ok"}
    bad = bed(
        nic__name="eth0",
        nic__speed=(10**8, "bit/s"),
        nic__duplex="half",
        nic__pcie__below_capability=True,
        route__hops="gateway",
    )
    assert verdicts(nic_checks(bad, None)) == {
        "duplex": "failed",
        "link speed": "warning",
        "slot": "warning",
        "route": "warning",
    }
    doubtful = bed(nic__name="veth0", nic__speed=(10**10, "bit/s", "doubtful"))
    assert verdicts(nic_checks(doubtful, None)) == {"link speed": "unknown"}
    traffic = Usage(1.0, nics={"eth0": NicUsage(20_000_000, 0, 0, 7)})
    assert verdicts(nic_checks(good, traffic)) == {
        "link speed": "ok",
        "link errors": "warning",
        "background traffic": "warning",
    }
    assert list(nic_checks(bed(), None)) == []
    assert list(nic_checks(bed(nic__name="lo", route__local=True), None)) == []
