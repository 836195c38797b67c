# SPDX-License-Identifier: Apache-2.0
"""Campaigns of several streams at once: what a file may say, what becomes of it, and what is refused."""

import json
from dataclasses import replace

import pytest

from ioatlas.measure.procedures.load_points.options import LoadPointsOptions, streams_of
from ioatlas.measure.procedures.load_points.plan import build_streams_plan, footprint_of, phases_of
from ioatlas.measure.procedures.options import MapOptions, campaign_toml, find_profile, read_campaign
from ioatlas.measure.run.plan import Plan, plan_record
from ioatlas.model.cell import Cell
from ioatlas.model.errors import UsageError
from ioatlas.model.target import Target
from ioatlas.model.units import words
from ioatlas.plan.spec import CampaignSpec
from ioatlas.report.plan import summary_of
from ioatlas.stats.gates import offered_iops

GIB = 1 << 30
DIRECTORY = Target("nas", "directory", "/mnt/nas", free_bytes=100 * GIB)
DISK = Target("disk", "block", "/dev/disk", size_bytes=8 * GIB, logical_block_bytes=4096)

MIX = """
visits = 3
[sweep]
size = "1g"
[streams]
load = {load}
points = [100, 50, 10]
[[stream]]
name = "oltp"
share = 70
rw = "randrw"
rwmixread = 70
bs = "8k"
region = [0, 50]
[[stream]]
name = "log"
share = 30
rw = "write"
bs = "4k"
region = [50, 100]
"""


def mix(load="800", **more):
    return replace(read_campaign(MIX.format(load=load)), targets=(("", "/mnt/nas"),), **more)


def rates(cell):
    return {name: dict(options).get("rate_iops") for name, options in cell.streams}


def test_streams_become_one_cell_a_load_point():
    plan = build_streams_plan(mix(), (DIRECTORY,))
    assert [cell.option["load"] for cell in plan.to_measure] == [100, 50, 10]
    full, half, _ = plan.to_measure
    assert rates(full) == {"oltp": "392,168", "log": 240}
    assert rates(half) == {"oltp": "196,84", "log": 120}
    assert offered_iops(full) == 800
    assert {dict(options)["rate_process"] for _, options in full.streams} == {"poisson"}
    assert dict(full.streams[1][1])["offset"] == GIB // 2
    assert full.end_bytes == GIB
    assert full.writes
    assert full.loop == "open"
    assert full.directions == ("read", "write")
    assert len({cell.key for cell in plan.to_measure}) == 3
    assert plan.files == {"nas": {"shared.dat": GIB}}
    assert summary_of(plan)["visits"] == 9
    assert summary_of(plan)["load_points"] == ["100%", "50%", "10%"]


def test_a_free_load_keeps_shares_by_flow():
    (cell,) = build_streams_plan(mix('"free"'), (DIRECTORY,)).to_measure
    assert cell.loop == "closed"
    assert rates(cell) == {"oltp": None, "log": None}
    assert {name: dict(options)["flow"] for name, options in cell.streams} == {"oltp": 7, "log": 3}


def test_the_highest_load_is_searched_and_reckoned_with():
    known, searched = build_streams_plan(mix(), (DIRECTORY,)), build_streams_plan(mix('"highest"'), (DIRECTORY,))
    assert summary_of(searched)["searches"] == 1
    assert summary_of(searched)["cells"] == 3
    assert summary_of(searched)["seconds"] > summary_of(known)["seconds"] + 10
    (first,) = searched.to_measure
    assert "load" not in first.option
    assert first.option["load_iops"] == 400


def test_a_specification_survives_journal_and_file():
    for spec in (mix(), mix('"highest"'), replace(find_profile("emerald-like"), targets=(("", "/mnt/nas"),))):
        assert streams_of(read_campaign(campaign_toml(spec))) == streams_of(spec)
        plan = Plan(spec, (), ())
        again = CampaignSpec.from_record(json.loads(json.dumps(plan_record(plan)))["spec"])
        assert again == spec
        assert streams_of(again) == streams_of(spec)
    assert streams_of(mix()).points == (100.0, 50.0, 10.0)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ('[streams]\nload = "highest"', "neither a study nor"),
        ('[streams]\nstudy = "spc1-like"\n[[stream]]\nrw = "read"', "beside a study"),
        ('[[stream]]\nshare = 50\nrw = "read"\n[[stream]]\nrw = "write"', "some streams have a share"),
        ('[[stream]]\nshare = 50\nrw = "read"\n[[stream]]\nshare = 30\nrw = "write"', "add up to 80%"),
        ('[[stream]]\nname = "a"\nrw = "read"\n[[stream]]\nname = "a"\nrw = "write"', "two streams are named"),
        ('[streams]\nload = 100\n[[stream]]\nrw = "read"\n[[stream]]\nrw = "write"', "needs their shares"),
        ('[streams]\nload = 100\n[[stream]]\nrw = "read"\nrate_iops = 5', "exclude each other"),
        ('[streams]\nload = "much"\n[[stream]]\nrw = "read"', "is no load"),
        ('[streams]\nlimit = "2h"\n[[stream]]\nrw = "read"', "is no limit"),
        ('[[stream]]\nrw = "read"\nregion = [50, 20]', "a region is"),
        ('[[stream]]\nrw = "read"\nregion = [0, 20]\nsize = "1m"', "say the same"),
        ('[[stream]]\nrw = "read"\nfilename = "/etc/passwd"', "is not taken"),
        ('[[stream]]\nrw = "read"\nio_size = "1m"', "has no place in a stream"),
        ('[streams]\npoints = [50, 50]\n[[stream]]\nrw = "read"', "stands twice"),
        ('[streams]\npionts = [50]\n[[stream]]\nrw = "read"', "unknown key 'pionts'"),
    ],
)
def test_mistakes_are_told_with_their_place(text, part):
    with pytest.raises(UsageError) as error:
        read_campaign(text, source="mix.toml")
    assert part in error.value.what
    assert "mix.toml" in error.value.where


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"axes": {"bs": (4096, 8192)}}, "bs is swept beside streams"),
        ({"sharing": "private"}, "has no meaning"),
        ({"precision": 0.05}, "has no meaning"),
    ],
)
def test_what_has_no_meaning_for_streams_is_refused(change, part):
    with pytest.raises(UsageError, match=part):
        build_streams_plan(mix(**change), (DIRECTORY,))


def test_streams_cannot_be_a_part_of_their_load_points():
    with pytest.raises(UsageError, match="has no meaning"):
        build_streams_plan(mix().having(MapOptions(cells=5)), (DIRECTORY,))


def test_streams_must_fit_what_they_work_on():
    beyond = read_campaign('[sweep]\nsize = "1m"\n[[stream]]\nrw = "read"\noffset = "1m"\nsize = "4k"')
    with pytest.raises(UsageError, match="beyond the"):
        build_streams_plan(beyond, (DIRECTORY,))
    with pytest.raises(UsageError, match="larger than what it works on"):
        build_streams_plan(read_campaign('[sweep]\nsize = "1m"\n[[stream]]\nrw = "read"\nbs = "2m"'), (DIRECTORY,))
    with pytest.raises(UsageError, match="whole blocks of 4096"):
        build_streams_plan(read_campaign('[[stream]]\nrw = "read"\nbs = 512'), (DISK,))
    with pytest.raises(UsageError, match="the streams write"):
        build_streams_plan(mix(), (DIRECTORY,), read_only=True)


def test_the_footprint_follows_what_is_there():
    spec = CampaignSpec().having(LoadPointsOptions(streams_of(mix())))
    assert footprint_of(spec, DIRECTORY)[0] == 4 * GIB
    assert footprint_of(spec, replace(DIRECTORY, free_bytes=2 * GIB))[0] == GIB // 2
    assert footprint_of(spec, replace(DISK, size_bytes=GIB + 1))[0] == GIB
    size, remarks = footprint_of(replace(spec, constants={"size": 64 * GIB}), DIRECTORY)
    assert size == 64 * GIB
    assert "chosen" not in " ".join(remarks)
    with pytest.raises(UsageError, match="too little"):
        footprint_of(spec, replace(DIRECTORY, free_bytes=1 << 20))
    with pytest.raises(UsageError, match="at least 100 MiB"):
        footprint_of(replace(find_profile("spc1-like"), constants={"size": 1 << 26}), DIRECTORY)


def test_the_spc_1_like_streams_keep_their_shares_and_places():
    spec = find_profile("spc1-like")
    (phase,) = phases_of(spec, DIRECTORY, 4 * GIB)
    assert len(phase.templates) == 13
    assert len({one.name.rsplit("-", 1)[0] for one in phase.templates}) == 8
    assert sum(one.share for one in phase.templates) == pytest.approx(1)
    cell = phase.cell("nas", percent=50, load_iops=20_000)
    offered = {
        name: offered_iops(member) / offered_iops(cell)
        for (name, _), member in zip(cell.streams, cell.members, strict=True)
    }
    assert offered["asu3-1-write"] == pytest.approx(0.281, abs=0.001)
    assert offered["asu1-3-read"] == pytest.approx(0.07, abs=0.001)
    assert offered["asu2-1-read"] == pytest.approx(0.018 * 0.3, abs=0.001)
    assert cell.end_bytes <= 4 * GIB
    writes = [member for member in cell.members if member.writes]
    assert sum(offered_iops(member) for member in writes) / offered_iops(cell) == pytest.approx(0.605, abs=0.01)


def test_the_name_of_the_benchmark_is_never_claimed():
    for name in ("spc1-like", "spc1e-like"):
        plan = build_streams_plan(replace(find_profile(name), targets=(("", "/mnt/nas"),)), (DIRECTORY,))
        said = json.dumps(summary_of(plan)) + campaign_toml(plan.spec)
        assert "SPC-1" not in said.replace("SPC-1-like", "")


def test_the_emerald_like_phases_in_order():
    plan = build_streams_plan(replace(find_profile("emerald-like"), targets=(("", "/mnt/nas"),)), (DIRECTORY,))
    assert [cell.option["phase"] for cell in plan.to_measure] == [
        *words("hotband random-read random-write sequential-read sequential-write")
    ]
    (hotband, *_) = plan.to_measure
    assert len(hotband.streams) == 13
    assert all("flow" in dict(options) for _, options in hotband.streams)
    # On sectors of 4 KiB nothing smaller is asked for.
    (hotband, *_) = build_streams_plan(
        replace(find_profile("emerald-like"), targets=(("", "/dev/disk"),)), (DISK,)
    ).to_measure
    assert not any(size % 4096 for size in hotband.block_sizes)


def test_a_cell_of_streams_is_the_sum_of_them():
    options = (("bs", 4096), ("iodepth", 4), ("rw", "randread"), ("size", 1 << 20))
    cell = Cell("t", (), streams=(("a", options), ("b", (*options, ("numjobs", 2)))))
    assert (cell.numjobs, cell.outstanding, cell.rw, cell.writes) == (3, 12, "randread", False)
    assert cell.key != Cell("t", ()).key


def test_a_stream_keeps_its_own_rates_and_their_split():
    spec = read_campaign(
        '[sweep]\nsize = "1g"\n[streams]\npoints = [100, 50]\n[[stream]]\nrw = "randrw"\nrate_iops = '
        '"100,300"\nnumjobs = 2'
    )
    full, half = build_streams_plan(spec, (DIRECTORY,)).to_measure
    assert rates(full) == {"stream1": "100,300"}
    assert rates(half) == {"stream1": "50,150"}
    assert full.option["load_iops"] == 800


def test_a_budget_bounds_the_footprint_that_nobody_set():
    spec = CampaignSpec(budget_seconds=10).having(LoadPointsOptions(streams_of(mix())))
    assert footprint_of(spec, DIRECTORY)[0] == pytest.approx(10 * 0.25 * 500e6, rel=0.1)
    assert footprint_of(replace(spec, constants={"size": 2 * GIB}), DIRECTORY)[0] == 2 * GIB
    assert footprint_of(replace(spec, budget_seconds=0.1), DIRECTORY)[0] == 1 << 28
