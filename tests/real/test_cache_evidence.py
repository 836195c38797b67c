# SPDX-License-Identifier: Apache-2.0
"""Evidence of caches on real bad targets: each kind fires where it should, and what limits the cell is said accordingly."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from ioatlas import lab
from ioatlas.campaign.result import load_result
from ioatlas.campaign.spec import CampaignSpec
from ioatlas.campaign.start import open_plan, run, start
from ioatlas.lab.running import find, missing
from ioatlas.model.estimate import Estimate
from ioatlas.model.verdict import verdict_class
from ioatlas.probe.round_trip import has_holes, round_trip_seconds

MIB = 1 << 20
pytestmark = pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="loop devices, mounts and network namespaces need root")


def needs(name: str) -> pytest.MarkDecorator:
    lacking = missing(find(name))
    return pytest.mark.skipif(bool(lacking), reason=f"missing: {', '.join(one.program for one in lacking)}")


def mapped(
    location: str, directory: Path, axes: dict[str, tuple[Any, ...]], *, read_only: bool = True, visits: int = 2, **constants: Any
) -> list[Estimate]:
    """The estimates of a small map."""
    spec = CampaignSpec(targets=(("", location),), axes=axes, constants=constants, visits=visits)
    journal = start(open_plan(spec, read_only=read_only), directory)
    try:
        run(journal, emit=lambda _event: None, stop_asked=lambda: False)
    finally:
        journal.close()
    return list(load_result(directory).estimates)


def test_holes_are_seen_and_read_without_the_drives(tmp_path: Path) -> None:
    sparse = tmp_path / "sparse"
    with sparse.open("wb") as file:
        file.write(os.urandom(MIB))
        file.truncate(64 * MIB)
    full = tmp_path / "full"
    full.write_bytes(os.urandom(MIB))
    os.sync()
    assert has_holes(str(sparse)) is True
    assert has_holes(str(full)) is False
    assert has_holes(str(tmp_path)) is None
    (estimate,) = mapped(str(sparse), tmp_path / "run", {"rw": ("read",), "bs": (65536,)}, size=64 * MIB, direct=0)
    assert verdict_class(estimate.verdict) == "suspect" or estimate.verdict == "discarded"
    assert any("holes" in note for note in estimate.notes) or estimate.verdict == "discarded"


@as_root
@needs("page-cache-drive")
def test_the_drives_counters_prove_the_page_cache(tmp_path: Path) -> None:
    with lab.start("page-cache-drive") as target:
        estimates = mapped(
            target.location, tmp_path / "run", {"rw": ("read",), "bs": (MIB,)}, read_only=False, size=32 * MIB, **dict(target.options)
        )
    (estimate,) = estimates
    assert estimate.verdict == "cached"
    assert any("not seen at the device" in note for note in estimate.notes)
    assert estimate.limit is not None
    assert estimate.limit.resource == "client page cache"


@needs("cache-edge")
def test_a_cliff_along_the_footprint_proves_the_servers_cache(tmp_path: Path) -> None:
    with lab.start("cache-edge", miss_ms=8) as target:
        axes = {"rw": ("randread",), "size": (4 * MIB, 8 * MIB, 192 * MIB)}
        estimates = mapped(target.location, tmp_path / "run", axes, visits=4, bs=65536, iodepth=4)
    small, _, large = sorted(estimates, key=lambda e: e.cell.size_bytes)
    assert large.verdict not in ("cached", "suspect")
    # A busy machine may hold the fast side back; what is never said is that the small set came from the drive.
    if (small.bw_bytes_per_s or 0) > 10 * (large.bw_bytes_per_s or 1):
        assert small.verdict in ("cached", "suspect")
        assert small.limit is not None
        assert small.limit.resource in ("server cache", "undetermined")


@as_root
@needs("link-100m")
def test_the_round_trip_is_measured_both_ways() -> None:
    with lab.start("link-100m") as target:
        server = target.context["server"]
        seconds, how = round_trip_seconds(server, 10809)
        assert seconds is not None
        assert 0 < seconds < 0.1
        assert how in ("ping", "TCP connect")
    assert round_trip_seconds("127.0.0.1", 9)[1] in ("ping", "ping, TCP connect")
