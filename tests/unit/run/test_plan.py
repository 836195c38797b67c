# SPDX-License-Identifier: Apache-2.0
"""From specification to cells: what is admissible, what is laid out, what is refused with an explanation."""

from dataclasses import replace
from pathlib import Path

import pytest

from ioatlas.measure.procedures.dense_map.plan import build_plan
from ioatlas.measure.procedures.options import find_profile, read_campaign_file
from ioatlas.measure.run.plan import FIO_SECONDS, default_pace, visit_turns
from ioatlas.measure.run.procedure import Procedure
from ioatlas.model.errors import UsageError
from ioatlas.model.options import Preparation
from ioatlas.model.target import Target
from ioatlas.plan.spec import CampaignSpec
from ioatlas.report.plan import summary_of

MIB = 1 << 20
EXAMPLES = Path(__file__).parents[3] / "examples" / "campaigns"
NAS = Target("nas", "directory", "/mnt/nas")
DISK = Target("disk", "block", "/dev/sdx", size_bytes=64 * MIB, logical_block_bytes=4096)
EXPORT = Target("export", "uri", "nbd://h", size_bytes=256 * MIB, ioengine="nbd")


def spec(**axes):
    return CampaignSpec(axes={name: tuple(values) for name, values in axes.items()})


def test_a_study_marks_the_sixteen_cells_whose_block_exceeds_the_file():
    plan = build_plan(read_campaign_file(EXAMPLES / "seed2021.toml"), (NAS,))
    refused = [cell for cell, reason in plan.cells if reason]
    assert len(plan.cells) == 1920
    assert len(refused) == 16
    assert all(cell.bs_bytes > cell.size_bytes for cell in refused)
    assert plan.layout_bytes == 2048 * MIB, "jobs share one file"


def test_private_files_take_one_for_each_job():
    plan = build_plan(replace(spec(rw=["read"], size=[MIB, 4 * MIB], numjobs=[1, 3]), sharing="private"), (NAS,))
    assert plan.files["nas"] == {"private.0": 4 * MIB, "private.1": 4 * MIB, "private.2": 4 * MIB}
    with pytest.raises(UsageError, match="need a directory"):
        build_plan(replace(spec(rw=["read"]), sharing="private"), (EXPORT,))


def test_a_read_only_sweep_of_a_device_lays_nothing_out():
    plan = build_plan(spec(rw=["read", "write"], size=[MIB]), (DISK,), read_only=True)
    assert {cell.rw for cell in plan.to_measure} == {"read"}
    assert plan.layout_bytes == 0
    assert not plan.writes("disk")
    assert summary_of(plan)["bytes_written"] == 0


def test_read_only_without_a_reading_mode_is_refused():
    with pytest.raises(UsageError, match="nothing is left"):
        build_plan(spec(rw=["write"]), (NAS,), read_only=True)


def test_a_tiny_block_with_direct_io_is_explained():
    with pytest.raises(UsageError, match="direct=1") as caught:
        build_plan(spec(rw=["read"], bs=[4]), (NAS,))
    assert "direct=0" in caught.value.remedy
    assert "4k" in caught.value.remedy
    build_plan(spec(rw=["read"], bs=[4], direct=[0]), (NAS,))


def test_depth_with_a_synchronous_engine_is_refused_and_without_one_gets_an_asynchronous():
    with pytest.raises(UsageError, match="ignore the depth"):
        build_plan(spec(rw=["read"], iodepth=[1, 8], ioengine=["psync"]), (NAS,))
    plan = build_plan(spec(rw=["read"], iodepth=[1, 8]), (NAS,))
    assert {(cell.iodepth, cell.option["ioengine"]) for cell in plan.to_measure} == {(1, "psync"), (8, "libaio")}


def test_a_uri_uses_its_own_engine_and_its_size():
    plan = build_plan(spec(rw=["read"], iodepth=[1, 8]), (EXPORT,))
    assert {cell.option["ioengine"] for cell in plan.to_measure} == {"nbd"}
    assert {cell.size_bytes for cell in plan.to_measure} == {256 * MIB}


def test_sizes_beyond_the_target_are_not_admissible_and_a_small_target_is_used_whole():
    plan = build_plan(spec(rw=["read"], size=[MIB, 128 * MIB]), (DISK,))
    assert [bool(reason) for _, reason in plan.cells] == [False, True]
    small = build_plan(spec(rw=["read"], size=[128 * MIB, 256 * MIB]), (DISK,))
    assert [cell.size_bytes for cell in small.to_measure] == [64 * MIB]
    assert "whole" in small.remarks[0]


def test_trim_needs_a_device():
    plan = build_plan(spec(rw=["randtrim"], size=[MIB]), (NAS, DISK))
    assert [(cell.target, bool(reason)) for cell, reason in plan.cells] == [("nas", True), ("disk", False)]
    assert plan.writes("disk"), "trim counts as writing"


def test_cells_differ_in_what_they_sweep_only():
    plan = build_plan(spec(rw=["read", "randwrite"], bs=[4096, 8192]), (NAS,))
    shared = set.intersection(*(set(cell.options) for cell in plan.to_measure))
    assert {name for name, _ in shared} >= {"direct", "ioengine", "norandommap", "refill_buffers", "size", "numjobs"}
    assert len({cell.key for cell in plan.to_measure}) == 4


def test_patterns_keep_what_belongs_together():
    campaign = replace(
        spec(numjobs=[1, 8]), patterns=({"rw": "randread", "bs": 4096}, {"rw": "randrw", "bs": 8192, "rwmixread": 67})
    )
    plan = build_plan(campaign, (NAS,))
    assert {(cell.rw, cell.bs_bytes, cell.numjobs) for cell in plan.to_measure} == {
        ("randread", 4096, 1),
        ("randread", 4096, 8),
        ("randrw", 8192, 1),
        ("randrw", 8192, 8),
    }
    reads = build_plan(campaign, (NAS,), read_only=True)
    assert {cell.rw for cell in reads.to_measure} == {"randread"}


def test_a_size_that_only_a_pattern_names_is_used():
    sizes = ({"rw": "read", "size": 8 << 20}, {"rw": "write"})
    campaign = replace(spec(numjobs=[1]), patterns=sizes)
    campaign = replace(campaign, constants={name: v for name, v in campaign.constants.items() if name != "size"})
    found = {cell.rw: cell.size_bytes for cell in build_plan(campaign, (NAS,)).to_measure}
    assert found["read"] == 8 << 20
    assert found["write"] > 8 << 20, "the default where nothing was named"


@pytest.mark.parametrize(("name", "cells"), [("orion", 7), ("quick", 24), ("standard", 300), ("exhaustive", 2016)])
def test_profiles_have_the_cells_they_say(name, cells):
    plan = build_plan(find_profile(name), (NAS,))
    assert len(plan.to_measure) == cells
    assert f"{cells:,}" in (Path(__file__).parents[3] / "docs" / "reference" / "campaign.md").read_text()


def test_what_a_plan_says_of_bytes_and_seconds():
    """64 MiB in a file, written once in sequence at 500 MB/s and twice at random at 100 MB/s; 2 of 4 cells write."""
    asked = replace(
        spec(rw=["randread", "randwrite"], bs=[4096, 8192], size=[64 * MIB]),
        visits=3,
        prepare=Preparation.PRECONDITIONED,
    )
    plan = build_plan(asked, (NAS,))
    preparation = 64 * MIB / 500e6 + 2 * 64 * MIB / 100e6
    assert plan.preparation_seconds == pytest.approx(preparation)
    window = asked.window_seconds
    told = plan.summary(12.34)
    assert {key: told[key] for key in ("cells", "visits_per_cell", "visits", "seconds", "write_load_seconds")} == {
        "cells": 4,
        "visits_per_cell": 3,
        "visits": 12,
        "seconds": 12.3,
        "write_load_seconds": 2 * 3 * window,
    }
    assert (told["layout_bytes"], told["prepared_bytes"]) == (64 * MIB, 3 * 64 * MIB)
    assert told["bytes_written"] == 3 * 64 * MIB + 6 * window * 500e6
    turns = sum(visit_turns(cell, default_pace(asked)) for cell in plan.to_measure)
    assert plan.seconds() == pytest.approx(3 * turns * 0.1002 + (12 / 30 + 1) * FIO_SECONDS + preparation)


def test_files_that_do_not_fit_may_be_left_out_where_a_budget_chooses_among_sizes():
    def shrinks(budget_seconds, *sizes):
        asked = replace(spec(rw=["read"], size=sizes), budget_seconds=budget_seconds)
        return Procedure().shrinks_to_fit(build_plan(asked, (NAS,)))

    assert shrinks(60.0, MIB, 4 * MIB)
    assert not shrinks(60.0, MIB)
    assert not shrinks(None, MIB, 4 * MIB)
