# SPDX-License-Identifier: Apache-2.0
"""Evidence of caches on real bad targets: each kind fires where it should, and what limits the cell follows."""

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

import ioatlas_lab as lab
from ioatlas.measure.campaign import load_result, open_plan, run, start
from ioatlas.measure.run.conditions import has_holes
from ioatlas.model.estimate import Estimate
from ioatlas.model.verdict import verdict_class
from ioatlas.plan.spec import CampaignSpec
from ioatlas_lab.running import find, missing
from tests import lab_check

MIB = 1 << 20
pytestmark = pytest.mark.needs("fio")


def needs(name: str) -> pytest.MarkDecorator:
    lacking = missing(find(name))
    return pytest.mark.skipif(bool(lacking), reason=f"missing: {', '.join(one.program for one in lacking)}")


def mapped(
    location: str,
    directory: Path,
    axes: dict[str, tuple[Any, ...]],
    *,
    read_only: bool = True,
    visits: int = 2,
    window: float = 0.2,
    measure: dict[str, str | None] | None = None,
    **constants: Any,
) -> list[Estimate]:
    """The estimates of a small map."""
    spec = CampaignSpec(targets=(("", location),), axes=axes, constants=constants, visits=visits, window_seconds=window)
    journal = start(open_plan(spec, read_only=read_only), directory, measure=measure)
    try:
        run(journal, emit=lambda _event: None, stop_asked=lambda: False)
    finally:
        journal.close()
    return list(load_result(directory).estimates)


@pytest.mark.unmeasured
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
    assert has_holes(str(tmp_path)) is False
    (estimate,) = mapped(str(sparse), tmp_path / "run", {"rw": ("read",), "bs": (65536,)}, size=64 * MIB, direct=0)
    assert verdict_class(estimate.verdict) == "suspect" or estimate.verdict == "discarded"
    assert any("holes" in note for note in estimate.notes) or estimate.verdict == "discarded"


@pytest.mark.long("analysis", "machine")
@pytest.mark.unmeasured
def test_a_drive_that_is_read_alone_is_a_ceiling(tmp_path: Path) -> None:
    """The drive that is named is a file read directly; the target a file that stays in the page cache."""
    drive, cached = tmp_path / "drive", tmp_path / "cached"
    for path in (drive, cached):
        path.write_bytes(os.urandom(32 * MIB))
    os.sync()
    (estimate,) = mapped(
        str(cached),
        tmp_path / "run",
        {"rw": ("read",), "bs": (65536,)},
        measure={"drive": str(drive)},
        size=32 * MIB,
        direct=0,
        invalidate=0,
    )
    (session,) = load_result(tmp_path / "run").sessions
    number, unit, *_ = session["measured.drive_read"].split()
    assert unit == "B/s"
    assert estimate.ceiling is not None
    assert estimate.ceiling.bw_bytes_per_s <= float(number)  # the tightest one stands beside the value


@pytest.mark.long("analysis", "lab")
@pytest.mark.unmeasured
@needs("page-cache")
@pytest.mark.usefixtures("own_lab")
def test_nothing_reaches_a_device_behind_the_page_cache() -> None:
    for _ in range(4):
        outcomes = list(lab_check.check("page-cache"))
        assert outcomes
        if not (wrong := [one for one in outcomes if not one.ok]):
            break  # the disk's counters count whoever reads from it: others add reads, and nobody takes some away
    assert wrong == []


@pytest.mark.unmeasured
@pytest.mark.needs("root")
@needs("page-cache-drive")
def test_the_drives_counters_prove_the_page_cache(tmp_path: Path) -> None:
    with lab.start("page-cache-drive") as target:
        estimates = mapped(
            target.location,
            tmp_path / "run",
            {"rw": ("read",), "bs": (MIB,)},
            read_only=False,
            size=32 * MIB,
            **dict(target.options),
        )
    (estimate,) = estimates
    assert estimate.verdict == "cached"
    assert any("not seen at the device" in note for note in estimate.notes)
    assert estimate.limit is not None
    assert estimate.limit.resource == "client page cache"


@pytest.mark.long("analysis", "lab")
@pytest.mark.unmeasured
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


@pytest.mark.unmeasured
@pytest.mark.needs("root")
@needs("nas-far")
def test_a_file_server_whose_answers_come_from_the_clients_memory(tmp_path: Path) -> None:
    """Two proofs, each by itself: too early for the wire, and not counted on the interface."""
    with lab.start("nas-far") as target:
        axes = {"rw": ("read",), "bs": (4096,)}
        (cached,) = mapped(target.location, tmp_path / "cached", axes, size=MIB, direct=0, invalidate=0)
        (direct,) = mapped(target.location, tmp_path / "direct", axes, visits=1, size=MIB, direct=1)
    assert cached.verdict == "cached"
    said = " ".join(cached.notes)
    # At least the 4 ms of the link, and what a busy machine adds to it.
    (round_trip_ms,) = re.findall(r"took less than the path's round trip of ([\d.]+) ms", said)
    assert float(round_trip_ms) >= 4
    assert "were not seen at the device or on the wire" in said
    assert cached.limit is not None
    assert cached.limit.resource == "client page cache"
    assert direct.verdict not in ("cached", "suspect")
    assert (direct.lat_mean_high_ns or 0) > 4e6


@pytest.mark.long("analysis", "run")
@needs("cache-edge")
def test_a_first_pass_from_the_drive_and_later_ones_from_a_servers_cache(tmp_path: Path) -> None:
    with lab.start("cache-edge", miss_ms=5) as target:
        # Probes and the first visit end before all was read once, however fast the machine: 320 misses take 1.6 s. What
        # is left for the second visit takes less than half of it, even at 6 ms a miss.
        axes = {"rw": ("read",), "bs": (65536,)}
        (estimate,) = mapped(target.location, tmp_path / "run", axes, visits=3, window=0.8, size=20 * MIB)
    assert estimate.verdict in ("suspect", "discarded", "runs disagree", "unstable")
    # On a busy machine the first visit itself may have been discarded.
    told = any("every visit after the first was at least" in note for note in estimate.notes)
    assert estimate.n_discarded or told or estimate.grade == "low"


@pytest.mark.unmeasured
@needs("corrupting-parallel")
def test_buffered_reads_that_nothing_counts_are_suspect(tmp_path: Path) -> None:
    with lab.start("corrupting-parallel") as target:
        (estimate,) = mapped(
            target.location, tmp_path / "run", {"rw": ("read",), "bs": (65536,)}, visits=1, size=4 * MIB, direct=0
        )
    assert estimate.verdict == "suspect"
    assert any("the client's page cache was in the way" in note for note in estimate.notes)


@pytest.mark.unmeasured
@pytest.mark.needs("root")
@needs("drive")
@pytest.mark.needs("mkfs.btrfs")
def test_direct_reads_that_silently_fall_back_to_the_page_cache_are_voided(tmp_path: Path) -> None:
    """Btrfs reads compressed extents through the page cache, whatever O_DIRECT asks for."""
    point = tmp_path / "mount"
    point.mkdir()
    with lab.start("drive", bw_bytes_per_s=200_000_000, iops=100_000) as target:
        subprocess.run(["mkfs.btrfs", "-q", "-f", target.location], check=True)
        subprocess.run(["mount", "-o", "compress-force=lzo", target.location, str(point)], check=True)
        try:
            (point / "data").write_bytes((os.urandom(1024) + bytes(3072)) * (32 * MIB >> 12))
            os.sync()
            axes = {"rw": ("read",), "bs": (65536,)}
            (estimate,) = mapped(str(point / "data"), tmp_path / "run", axes, visits=1, size=32 * MIB, direct=1)
        finally:
            subprocess.run(["umount", str(point)], check=True)
    assert estimate.verdict == "discarded"
    assert all("the rest was answered before it" in note for note in estimate.notes)
