# SPDX-License-Identifier: Apache-2.0
"""What limits a cell: each resource is named where its evidence is, with its odds, and withheld below even odds."""

from dataclasses import replace

import pytest

from ioatlas.analysis.attribution import attribute
from ioatlas.analysis.burst import Burst, BurstUnit
from ioatlas.analysis.cache import CacheReport, CacheVerdict, Evidence
from ioatlas.analysis.ceilings import Ceiling, Ethernet, link_ceiling
from ioatlas.analysis.limits import standard_links
from ioatlas.analysis.refill import refills_of
from ioatlas.analysis.shape import PathView, Seen
from ioatlas.model.cell import Cell
from ioatlas.model.estimate import Estimate
from ioatlas.model.limit import UNDETERMINED
from ioatlas.model.testbed import Testbed
from ioatlas.model.usage import CpuShares, DiskUsage, Usage
from ioatlas.model.verdict import VerdictCode

QUIET = Seen((Usage(1.0, (0.2, 0.3)),), (0.2,))
BUSY_ELSEWHERE = Seen((Usage(1.0, (0.99, 0.99)),), (0.05,))
FULL = Seen((Usage(1.0, (0.99, 0.98)),), (0.95,))
GIGABIT = link_ceiling(Ethernet(1e9), "tcp", 65536)


def cell(bs=65536, jobs=1, depth=1, **more):
    return Cell.of(
        "nas",
        {
            "rw": "randread",
            "bs": bs,
            "size": 1 << 30,
            "numjobs": jobs,
            "iodepth": depth,
            "direct": 1,
            "ioengine": "libaio",
            **more,
        },
    )


def estimate(which, rate, *, width=0.02, **more):
    iops = rate / which.bs_bytes
    bounds = {
        "bw_low": rate * (1 - width),
        "bw_high": rate * (1 + width),
        "iops_low": iops * (1 - width),
        "iops_high": iops * (1 + width),
    }
    fields = {
        "kind": "measured",
        "n_visits": 3,
        "verdict": VerdictCode.STEADY,
        "lat_mean_ns": 1e9 * which.outstanding / iops,
        **bounds,
        **more,
    }
    return Estimate(which, "read", bw_bytes_per_s=rate, iops=iops, **fields)


def judged(
    estimates, *, ceilings=(), seen=QUIET, path=None, caches=None, fast=None, standards=None, predicted=(), refills=None
):
    return attribute(
        estimates,
        ceilings=lambda _cell, _direction: ceilings,
        caches=caches or CacheReport({}),
        seen={e.cell.key: seen for e in estimates},
        paths={"nas": path or PathView()},
        fast_share=fast,
        standards=standards,
        predicted=predicted,
        refills=refills,
    )


def limit(report, which):
    return report.limits[which.key, "read"]


def plane(rate_of, sizes=(4096, 16384, 65536), depths=(1, 4, 16)):
    """A map over block size and depth from a law."""
    return [estimate(cell(bs, 1, depth), rate_of(bs, depth)) for bs in sizes for depth in depths]


def test_a_limit_on_bytes():
    report = judged(plane(lambda bs, depth: min(depth * bs / 0.0002, 20e6)))
    assert limit(report, cell(16384, 1, 16)).resource == "target bandwidth"
    assert limit(report, cell(65536, 1, 4)).resource == "target bandwidth"


def test_a_limit_on_ios():
    fast = {(cell(bs).key, "read"): 0.2 for bs in (4096, 16384, 65536)}
    report = judged(plane(lambda bs, depth: min(depth / 0.0002, 2000) * bs), fast=fast)
    named = limit(report, cell(4096, 1, 16))
    assert (named.resource, named.next_resource) == ("target IOPS", "client CPU")
    assert named.share == pytest.approx(1)


BYTES_BURST = Burst("nas", "read", 20e6, 20e6, 400e6)


def test_a_plateau_at_the_rate_at_which_credit_comes_back_is_a_rate_limit():
    law = plane(lambda bs, depth: min(depth * bs / 0.0002, 20e6))
    report = judged(law, refills=refills_of([BYTES_BURST]))
    named = limit(report, cell(16384, 1, 16))
    assert named.resource == "rate limit (token bucket)"
    assert named.probability > 0.8
    assert "its burst credit comes back (19.1 MiB/s)" in " ".join(named.evidence)
    of_ios = replace(BYTES_BURST, unit=BurstUnit.IOS, sustained_bytes_per_s=2000)
    report = judged(plane(lambda bs, depth: min(depth / 0.0002, 2000) * bs), refills=refills_of([of_ios]))
    assert limit(report, cell(4096, 1, 16)).resource == "rate limit (token bucket)"


def test_a_bucket_that_a_load_does_not_meet_is_not_its_limit():
    """Latency below its rate; another rate above it, as where a cache answers."""
    law = plane(lambda bs, depth: min(depth * bs / 0.02, 20e6))
    report = judged(law, refills=refills_of([BYTES_BURST]))
    assert limit(report, cell(4096, 1, 1)).resource == "latency"
    report = judged(plane(lambda _bs, _depth: 60e6), refills=refills_of([BYTES_BURST]))
    assert all("bucket" not in one.resource for one in report.limits.values())


def test_a_write_cache_that_is_full_is_no_rate_limit():
    """To writes alone a drive's cache looks like a bucket; where reads fall to the same rate it is one."""
    writes = replace(BYTES_BURST, direction="write")
    assert not refills_of([writes])
    assert set(refills_of([BYTES_BURST, writes])) == {("nas", "read"), ("nas", "write")}
    assert set(refills_of([BYTES_BURST, replace(writes, sustained_bytes_per_s=90e6)])) == {("nas", "read")}


def test_one_queue_and_a_limit_on_ios_are_told_apart_or_not_at_all():
    law = plane(lambda bs, _depth: 125.0 * bs)
    singles = [(cell(bs).key, "read") for bs in (4096, 16384, 65536)]
    asked = cell(4096, 1, 16)
    assert limit(judged(law, fast=dict.fromkeys(singles, 0.0)), asked).resource == "single queue"
    assert limit(judged(law, fast=dict.fromkeys(singles, 0.1)), asked).resource == "target IOPS"
    unclear = limit(judged(law, fast=dict.fromkeys(singles, 0.005)), asked)
    assert unclear.resource == "target"  # one of the two, and it is not said which
    without = [e for e in law if e.cell.iodepth > 1]
    assert limit(judged(without), asked).resource in ("target", "target IOPS")


def test_drives_of_this_machine_are_called_so_with_their_utilisation():
    disk = DiskUsage(0, 0, 0, 0, 0.99, 8.0, None)
    seen = Seen((Usage(1.0, (0.2, 0.3), disks={"sda": disk}),), (0.2,))
    report = judged(plane(lambda bs, depth: min(depth * bs / 0.001, 20e6)), seen=seen, path=PathView(drives=("sda",)))
    named = limit(report, cell(65536, 1, 16))
    assert named.resource == "drive bandwidth"
    assert any("sda was busy 99%" in text for text in named.evidence)
    idle = Seen((Usage(1.0, (0.2, 0.3), disks={"sda": DiskUsage(0, 0, 0, 0, 0.3, 0.5, None)}),), (0.2,))
    law = plane(lambda bs, depth: min(depth * bs / 0.001, 20e6))
    before = limit(judged(law, seen=idle, path=PathView(drives=("sda",))), cell(65536, 1, 16))
    assert before.probability < named.probability  # something holds the I/Os back before they reach the drive


def test_latency_while_more_load_gives_more():
    report = judged(plane(lambda bs, depth: depth * bs / 0.005))
    assert limit(report, cell(4096, 1, 4)).resource == "latency"
    assert limit(report, cell(4096, 1, 1)).resource == "latency"


def test_growth_that_the_intervals_do_not_show_is_no_growth():
    loose = [estimate(cell(4096, 1, depth), depth * 1e6, width=0.9) for depth in (1, 2, 4)]
    assert limit(judged(loose), cell(4096, 1, 1)).resource == UNDETERMINED


def test_growth_that_is_given_back_is_no_latency():
    credit = [estimate(cell(4096, 1, depth), rate) for depth, rate in ((1, 20e6), (4, 66e6), (16, 20e6))]
    assert limit(judged(credit), cell(4096, 1, 1)).resource == UNDETERMINED


def test_the_queue_of_one_connection():
    points = {(1, 16): 3200, (1, 64): 3200, (2, 16): 6400, (2, 64): 6400}
    estimates = [estimate(cell(4096, jobs, depth), iops * 4096) for (jobs, depth), iops in points.items()]
    assert limit(judged(estimates), cell(4096, 1, 64)).resource == "connection queue"


def test_a_ceiling_that_is_reached_and_the_margin_to_the_next():
    bus = Ceiling("PCIe generation 1 x1", "client bus", 230e6)
    estimates = [estimate(cell(65536, 1, depth), 117e6) for depth in (4, 16)]
    named = limit(judged(estimates, ceilings=(GIGABIT, bus), path=PathView(remote=True)), cell(65536, 1, 16))
    assert (named.resource, named.next_resource) == ("link", "client bus")
    assert named.share == pytest.approx(0.994, abs=0.002)
    assert named.next_share == pytest.approx(0.51, abs=0.01)


def test_two_ceilings_that_are_both_reached_are_not_chosen_from():
    bus = Ceiling("PCI bus", "client bus", 119e6)
    estimates = [estimate(cell(65536, 1, depth), 117e6) for depth in (4, 16)]
    found = limit(judged(estimates, ceilings=(GIGABIT, bus)), cell(65536, 1, 16))
    assert found.resource == UNDETERMINED
    assert found.evidence == ("link (46%) or client bus (45%); measure the path alone with --iperf",)


def test_more_than_a_ceiling_names_nothing():
    estimates = [estimate(cell(65536, 1, depth), 125e6) for depth in (4, 16)]
    named = limit(judged(estimates, ceilings=(GIGABIT,)), cell(65536, 1, 16))
    assert named.resource == UNDETERMINED
    assert "above a ceiling" in named.evidence[0]


def standards(which, direction):
    return standard_links(Testbed("", 0.0, ()), which.bs_bytes, direction)


def test_a_link_of_unknown_speed_is_not_ruled_out():
    remote = PathView(remote=True)
    slow = plane(lambda bs, depth: min(depth * bs / 0.0002, 20e6))
    asked = cell(65536, 1, 16)
    named = limit(judged(slow, path=remote, standards=standards), asked)
    assert named.resource in ("target", "target bandwidth")
    assert any(text.startswith("otherwise link (") for text in named.evidence)
    faster = [*slow, estimate(cell(65536, 1, 16, rw="read"), 80e6)]
    surer = limit(judged(faster, path=remote, standards=standards), asked)
    assert surer.resource == "target bandwidth"
    assert not any("otherwise link" in text for text in surer.evidence)


@pytest.mark.parametrize("mtu", [1500, 9000])
@pytest.mark.parametrize("bits_per_s", [1e8, 1e9, 1e10])
def test_a_plateau_at_a_standard_links_rate_less_its_framing_is_that_link(bits_per_s, mtu):
    link = Ethernet(bits_per_s, mtu)
    rates = {bs: link_ceiling(link, "tcp", bs).bw_bytes_per_s for bs in (65536, 262144, 1 << 20)}
    law = [estimate(cell(bs, 1, depth), rates[bs]) for bs in rates for depth in (4, 16)]
    found = limit(judged(law, path=PathView(remote=True), standards=standards), cell(65536, 1, 16))
    assert found.resource == "link"
    assert found.probability > 0.7
    assert any("carries beside its framing" in text for text in found.evidence)
    aside = [replace_rate(e, 0.8) for e in law]
    other = limit(judged(aside, path=PathView(remote=True), standards=standards), cell(65536, 1, 16))
    assert other.resource in ("target", "target bandwidth")
    local = limit(judged(law, standards=standards), cell(65536, 1, 16))
    assert local.resource in ("target", "target bandwidth")  # no wire, no link


def replace_rate(e, factor):
    return estimate(e.cell, e.bw_bytes_per_s * factor)


def test_what_the_model_foretells_of_neighbours_counts_with_its_uncertainty():
    lone = estimate(cell(4096, 1, 4), 4 * 4096 / 0.0002)

    def foretold(width):
        return [
            estimate(cell(4096, 1, depth), depth * 4096 / 0.0002, width=width, kind="predicted") for depth in (1, 16)
        ]

    assert limit(judged([lone]), lone.cell).resource == UNDETERMINED
    surely = judged([lone], predicted=foretold(0.05))
    assert set(surely.limits) == {(lone.cell.key, "read")}
    assert limit(surely, lone.cell).resource == "latency"
    assert limit(judged([lone], predicted=foretold(0.95)), lone.cell).probability is None


def test_full_processors():
    estimates = [estimate(cell(4096, jobs, 16), 400e6 * (1 + 0.02 * jobs)) for jobs in (2, 4)]
    full = limit(judged(estimates, seen=FULL), cell(4096, 4, 16))
    assert full.resource == "client CPU"
    assert full.probability > 0.7
    elsewhere = limit(judged(estimates, seen=BUSY_ELSEWHERE), cell(4096, 4, 16))
    assert elsewhere.resource != "client CPU"
    assert elsewhere.probability < 0.7
    assert any(text.startswith("otherwise client CPU (") for text in elsewhere.evidence)
    waited, unhindered = (
        limit(judged(estimates, seen=replace(BUSY_ELSEWHERE, waiting=(share,))), cell(4096, 4, 16))
        for share in (0.9, 0.02)
    )
    assert waited.resource == "client CPU"
    assert waited.share == pytest.approx(0.99)  # of its cores, whoever uses them
    assert unhindered.resource == "target"
    assert not any("client CPU (" in text for text in unhindered.evidence)
    assert any("seldom waits" in text for text in unhindered.evidence)
    assert not any("have room" in text for text in unhindered.evidence), "others fill them"


@pytest.mark.parametrize("verdict", [VerdictCode.STEADY, VerdictCode.CLIENT_LIMITED])
def test_other_programs_that_fill_the_client_are_the_limit_by_name(verdict):
    """Fio used 5% of the processors and others 92%: "client CPU 80%" was told."""
    slow = [estimate(cell(4096, jobs, 16), 100e6 * (1 + 0.02 * jobs), verdict=verdict) for jobs in (2, 4)]
    seen = replace(BUSY_ELSEWHERE, waiting=(0.8,), cpu=(CpuShares(0.05, 0.92),))
    found = limit(judged(slow, seen=seen), cell(4096, 4, 16))
    assert (found.resource, found.share) == ("other programs on this client", 0.92)
    own = replace(FULL, waiting=(0.8,), cpu=(CpuShares(0.6, 0.35),))
    assert limit(judged(slow, seen=own), cell(4096, 4, 16)).resource == "client CPU"
    room = replace(QUIET, waiting=(0.01,), cpu=(CpuShares(0.05, 0.4),))
    assert limit(judged(slow, seen=room), cell(4096, 4, 16)).resource != "other programs on this client"


def test_as_fast_as_memory_beside_other_programs_is_theirs():
    line = [estimate(cell(depth=d), 1e9) for d in (4, 16)]
    seen = replace(BUSY_ELSEWHERE, waiting=(0.29,), cpu=(CpuShares(0.35, 0.51),))
    found = limit(judged(line, ceilings=(memory(1.02e9),), seen=seen), cell(depth=16))
    assert found.resource == "other programs on this client"


def test_a_limited_generator_is_told_by_its_own_share():
    seen = Seen((Usage(1.0, (0.3, 0.3)),), (0.1,))
    found = limit(judged([estimate(cell(), 1e8, verdict=VerdictCode.CLIENT_LIMITED)], seen=seen), cell())
    assert (found.resource, found.share) == ("client CPU", 0.1)


def test_processors_that_the_hypervisor_takes_count_against_the_target():
    estimates = [estimate(cell(4096, jobs, 16), 400e6 * (1 + 0.02 * jobs)) for jobs in (2, 4)]
    stolen = Seen((Usage(1.0, (0.9, 0.9), steal=0.3),), (0.5,))
    kept = Seen((Usage(1.0, (0.9, 0.9)),), (0.5,))
    with_steal, without = (limit(judged(estimates, seen=seen), cell(4096, 4, 16)) for seen in (stolen, kept))
    assert (without.resource, with_steal.resource) == ("target", "client CPU")
    assert any("hypervisor took 30%" in text for text in with_steal.evidence)


def test_processors_busy_with_others_work_do_not_hide_a_rule_of_the_target():
    report = judged(plane(lambda bs, depth: min(depth * bs / 0.0002, 20e6)), seen=BUSY_ELSEWHERE)
    assert limit(report, cell(16384, 1, 16)).resource == "target bandwidth"


def test_what_was_not_watched_is_not_ruled_out():
    law = plane(lambda bs, depth: min(depth * bs / 0.0002, 20e6), sizes=(32768, 65536))
    blind, seen = (limit(judged(law, seen=one), cell(65536, 1, 16)) for one in (Seen(), QUIET))
    assert any(text.startswith("otherwise client CPU (") for text in blind.evidence)
    assert blind.probability < seen.probability


@pytest.mark.parametrize(
    ("kind", "engine", "remote", "resource"),
    [
        ("counters", "libaio", False, "client page cache"),
        ("round trip", "psync", True, "client page cache"),
        ("footprint", "nbd", False, "server cache"),
        ("footprint", "libaio", True, "server cache"),
        ("footprint", "libaio", False, UNDETERMINED),
        ("counters", "nbd", False, UNDETERMINED),
    ],
)
def test_a_cache_that_answered(kind, engine, remote, resource):
    which = cell(ioengine=engine)
    verdict = CacheVerdict(which, "read", VerdictCode.CACHED, (Evidence(kind, "proof", "shown"),), (kind,))
    caches = CacheReport({(which.key, "read"): verdict})
    assert (
        limit(judged([estimate(which, 900e6)], caches=caches, path=PathView(remote=remote)), which).resource == resource
    )


def test_a_rate_of_the_loads_own():
    which = cell(4096, 2, 4, rate_iops=500)
    assert limit(judged([estimate(which, 1000 * 4096)]), which).resource == "configured rate"
    assert limit(judged([estimate(which, 700 * 4096)]), which).resource == UNDETERMINED


def test_a_cell_alone_tells_nothing_and_how_often_is_said():
    report = judged([estimate(cell(), 20e6), estimate(cell(4096), 10e6)])
    assert report.withheld == 2
    best, finding = report.findings([estimate(cell(), 20e6), estimate(cell(4096), 10e6)])
    assert "bottleneck unclear: no other load was measured" in best.sentence
    assert finding.sentence == "Bottleneck of 2 values: unclear 2."


def test_findings_tell_the_odds_in_words_and_numbers():
    line = [estimate(cell(65536, 1, depth), depth * 65536 / 0.005) for depth in (1, 4, 16)]
    report = judged(line)
    marked = [replace(e, limit=report.limits[e.cell.key, "read"]) for e in line]
    best, counted = report.findings(marked)
    mean = sum(e.limit.probability for e in marked) / 3
    assert f": {marked[2].limit.odds_words} limited by latency ({marked[2].limit.probability:.0%})." in best.sentence
    assert counted.sentence == f"Bottleneck of 3 values: latency 3 ({mean:.0%})."


def test_a_rate_that_holds_near_a_ceiling_is_told_with_its_doubt():
    report = judged(
        plane(lambda bs, depth: min(depth * bs / 0.0002, 104e6)), ceilings=(GIGABIT,), path=PathView(remote=True)
    )
    found = limit(report, cell(65536, 1, 16))
    assert found.resource == "link"
    assert found.probability < 0.8
    assert any(text.startswith("otherwise target bandwidth (") for text in found.evidence)


BUSY = Seen((Usage(1.0, (0.9, 0.92)),), (0.7,))


def memory(rate):
    return Ceiling("path to a target in memory, 1 job", "stack", rate, None, "measured")


def test_as_fast_as_memory_is_the_client():
    line = [estimate(cell(depth=d), 1e9) for d in (4, 16)]
    found = limit(judged(line, ceilings=(memory(1.02e9),), seen=BUSY), cell(depth=16))
    assert found.resource == "client CPU"
    assert "as fast as memory" in found.sentence


@pytest.mark.parametrize("bound", [1.02e9, 1.2e9])
def test_as_fast_as_memory_with_room_left_is_withheld(bound):
    line = [estimate(cell(depth=d), 1e9) for d in (4, 16)]
    assert not limit(judged(line, ceilings=(memory(bound),), seen=QUIET), cell(depth=16)).determined


def test_as_fast_as_memory_on_a_client_that_others_keep_busy_is_withheld():
    line = [estimate(cell(depth=d), 1e9) for d in (4, 16)]
    assert not limit(judged(line, ceilings=(memory(1.02e9),), seen=BUSY_ELSEWHERE), cell(depth=16)).determined


def test_faster_than_memory_took_another_path_and_accuses_nothing():
    report = judged(plane(lambda bs, depth: min(depth * bs / 0.0002, 20e6)), ceilings=(memory(1e7),))
    assert limit(report, cell(16384, 1, 16)).resource == "target bandwidth"


def test_memory_far_above_is_the_margin():
    report = judged(plane(lambda bs, depth: min(depth * bs / 0.0002, 20e6)), ceilings=(memory(1e9),))
    found = limit(report, cell(16384, 1, 16))
    assert (found.resource, found.next_resource) == ("target bandwidth", "client CPU")
