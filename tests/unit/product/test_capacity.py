# SPDX-License-Identifier: Apache-2.0
"""Usable capacity: published examples, and what holds of every layout whatever the drives."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ioatlas.answer.product.capacity import failures_survived, usable_capacity
from ioatlas.answer.product.layout import DRAID, RAIDZ, LayoutKind, draid_allocated, raidz_allocated, slop_bytes
from ioatlas.answer.product.quantity import TB, TIB, capacity_bytes
from ioatlas.answer.product.sheet import Layout
from ioatlas.model.errors import UsageError
from tests.examples import examples

K = LayoutKind
FIXED = [K.RAID0, K.RAID1, K.RAID5, K.RAID6, K.RAID_F1, K.SHR1, K.SHR2, K.RAIDZ1, K.RAIDZ2, K.RAIDZ3]


def usable(drives, kind, **options):
    return usable_capacity(drives, Layout(type=kind, **options)).usable_bytes


@pytest.mark.parametrize(
    ("kind", "options", "drives", "kept"),
    [
        (K.SINGLE, {}, [4, 6], 10),
        (K.RAID0, {}, [4, 4, 6], 12),
        (K.RAID1, {}, [4, 6], 4),
        (K.RAID5, {}, [6] * 6, 30),
        (K.RAID6, {}, [8] * 8, 48),
        (K.RAID5, {"hot_spares": 1}, [6] * 7, 30),
        (K.RAID10, {}, [3] * 4, 6),
        (K.RAID10, {"copies": 3}, [3] * 6, 6),
        (K.RAID50, {"groups": 2}, [4] * 10, 32),
        (K.RAID60, {"groups": 3}, [4] * 18, 48),
        (K.RAID_F1, {"groups": [3, 4, 5, 6, 7, 8, 9, 10, 11]}, [4] * 72, 216),
        # Synology's own examples of SHR: 2 + 3 + 4 + 4 TB keeps 9, SHR-2 of the same 2 x 2 + 1 x 1.
        (K.SHR1, {}, [2, 3, 4, 4], 9),
        (K.SHR2, {}, [2, 3, 4, 4], 5),
        (K.SHR1, {}, [4], 4),
        (K.ERASURE, {"data": 8, "parity": 3}, [10] * 11, 80),
        (K.ERASURE, {"data": 4, "parity": 2, "nodes": 6}, [10] * 24, 160),
        (K.REPLICA, {"copies": 3}, [10] * 6, 20),
        (K.REPLICA, {"copies": 2}, [10, 1, 1], 2),
    ],
)
def test_layouts_keep_what_their_definition_says(kind, options, drives, kept):
    assert usable([size * TB for size in drives], kind, **options) == kept * TB


def test_the_largest_node_cannot_be_filled_beyond_what_the_others_hold():
    """4+2 on six nodes needs all of them for each stripe: the smallest bounds it."""
    drives = [10 * TB] * 5 + [4 * TB]
    assert usable(drives, K.ERASURE, data=4, parity=2) == 16 * TB


@pytest.mark.parametrize(
    ("width", "parity", "record", "allocated"),
    [
        (6, 2, 128 << 10, 48 * 4096),  # 32 sectors + 2 x 8
        (7, 2, 128 << 10, 48 * 4096),  # 32 + 2 x 7 = 46, padded to 48
        (3, 1, 128 << 10, 48 * 4096),
        (5, 1, 4096, 2 * 4096),  # a small block is mirrored
        (8, 3, 4096, 4 * 4096),
    ],
)
def test_raidz_allocates_as_openzfs_does(width, parity, record, allocated):
    assert raidz_allocated(record, width=width, parity=parity, ashift=12) == allocated


def test_draid_allocates_whole_rows():
    assert draid_allocated(4096, data=8, parity=2, ashift=12) == 10 * 4096
    assert draid_allocated(128 << 10, data=8, parity=2, ashift=12) == 4 * 10 * 4096


def test_slop_space_has_its_bounds():
    assert slop_bytes(1 << 40) == 1 << 35
    assert slop_bytes(100 << 40) == 128 << 30
    assert slop_bytes(1 << 30) == 128 << 20
    assert slop_bytes(100 << 20) == 50 << 20


def test_padding_of_raidz_is_a_step_of_its_own():
    found = usable_capacity([16 * TB] * 7, Layout(type=K.RAIDZ2))
    left = {step.name: step.left_bytes for step in found.steps}
    assert left["after RAIDZ2"] == 5 * 16 * TB
    assert left["after padding"] == 7 * 16 * TB * 2 // 3
    assert left["without slop space"] == left["after padding"] - (128 << 30)


def test_small_records_keep_less():
    sizes = [16 * TB] * 8
    assert usable(sizes, K.RAIDZ2, recordsize="8k") < usable(sizes, K.RAIDZ2) < usable(sizes, K.RAID6)


def test_every_step_has_its_source_and_none_grows():
    layout = Layout(type=K.RAID6, hot_spares=1, file_system_overhead="2%", reserve="10%")
    steps = usable_capacity([8 * TB] * 9, layout).steps
    assert [step.name for step in steps] == [
        "raw",
        "without hot spares",
        "after RAID 6",
        "after the file system",
        "without reserve",
    ]
    assert all(step.source and step.why for step in steps)
    assert steps[-1].left_bytes == int(48 * TB * 0.98) - int(int(48 * TB * 0.98) * 0.1)


@pytest.mark.parametrize(
    ("kind", "options", "n", "words"),
    [
        (K.RAID5, {}, 2, "at least 3"),
        (K.RAID6, {"hot_spares": 4}, 4, "leave nothing"),
        (K.RAID10, {}, 5, "5 drives"),
        (K.RAID50, {"groups": 2}, 7, "do not divide"),
        (K.RAID5, {"groups": [3, 3]}, 5, "there are 5"),
        (K.ERASURE, {"data": 8, "parity": 3}, 10, "needs 11 drives"),
        (K.REPLICA, {"copies": 3, "nodes": 4}, 6, "into 4 nodes"),
        (K.DRAID2, {"data": 8, "hot_spares": 1}, 10, "at least 11"),
        (K.MIRROR, {"copies": 3}, 4, "do not divide"),
    ],
)
def test_what_cannot_be_laid_out_is_refused(kind, options, n, words):
    with pytest.raises(UsageError, match=words):
        usable([TB] * n, kind, **options)


# -- what holds of every layout ------------------------------------------------------------------------------------

sizes = st.integers(1, 30).map(lambda n: n * TB)


@st.composite
def layouts(draw):
    """A layout and drives, of mixed sizes, that it takes."""
    kind = draw(st.sampled_from([k for k in K if k is not K.SINGLE]))
    options = {}
    if kind in DRAID:
        options["data"] = draw(st.integers(1, 8))
        options["hot_spares"] = draw(st.integers(0, 2))
    if kind is K.ERASURE:
        options |= {"data": draw(st.integers(1, 12)), "parity": draw(st.integers(0, 4))}
    if kind in (K.REPLICA, K.MIRROR, K.RAID10):
        options["copies"] = draw(st.integers(2, 4))
    layout = Layout(
        type=kind,
        ashift=draw(st.sampled_from([9, 12, 13])),
        recordsize=draw(st.sampled_from(["4k", "16k", "128k", "1m"])),
        reserve=draw(st.sampled_from([None, "10%"])),
        file_system_overhead=draw(st.sampled_from(["0%", "2%"])),
        **options,
    )
    return layout, draw(st.lists(sizes, min_size=1, max_size=24))


def laid_out(layout, drives):
    try:
        return usable_capacity(drives, layout)
    except UsageError:
        assume(False)
    raise AssertionError


@examples(100)
@given(layouts())
def test_usable_is_at_most_raw_and_no_step_grows(case):
    layout, drives = case
    found = laid_out(layout, drives)
    left = [step.left_bytes for step in found.steps]
    assert 0 <= found.usable_bytes <= found.raw_bytes == sum(drives)
    assert left == sorted(left, reverse=True)


@examples(100)
@given(layouts())
def test_what_survives_failures_fits_into_the_drives_that_are_left(case):
    """Data that outlives any n failures lies in the other drives: also where the n largest ones fail."""
    layout, drives = case
    found = laid_out(layout, drives)
    left = sorted(drives)[: len(drives) - found.survives]
    assert found.usable_bytes <= sum(left)


@examples(200)
@given(kind=st.sampled_from(FIXED), n=st.integers(1, 30), size=sizes)
def test_one_more_drive_never_keeps_less(kind, n, size):
    layout = Layout(type=kind)
    assert laid_out(layout, [size] * n).usable_bytes <= laid_out(layout, [size] * (n + 1)).usable_bytes


@examples(200)
@given(layouts(), st.integers(0, 23))
def test_a_larger_drive_never_keeps_less(case, which):
    layout, drives = case
    before = laid_out(layout, drives)
    larger = [*drives]
    larger[which % len(drives)] += 5 * TB
    # A larger drive becomes the hot spare, or joins another group: with one group and no spare that cannot be.
    assume(layout.hot_spares == 0 and len(before.groups) == 1)
    assert laid_out(layout, larger).usable_bytes >= before.usable_bytes


@examples(100)
@given(layouts(), st.randoms())
def test_the_order_of_the_drives_does_not_matter(case, random):
    layout, drives = case
    shuffled = [*drives]
    random.shuffle(shuffled)
    assert laid_out(layout, shuffled) == laid_out(layout, drives)


@examples(100)
@given(layouts())
def test_units_do_not_matter(case):
    """The same drives written in TB, GB or bytes."""
    layout, drives = case
    for unit, factor in (("TB", TB), ("GB", 10**9), ("B", 1)):
        written = [capacity_bytes(f"{drive // factor} {unit}", where="") for drive in drives]
        assert laid_out(layout, written) == laid_out(layout, drives)


@examples(300)
@given(
    record=st.integers(512, 1 << 20), data=st.integers(1, 20), parity=st.integers(1, 3), ashift=st.sampled_from([9, 12])
)
def test_raidz_allocates_its_data_its_parity_and_less_than_a_unit_more(record, data, parity, ashift):
    taken = raidz_allocated(record, width=data + parity, parity=parity, ashift=ashift) >> ashift
    sectors = -(-record >> ashift) if record % (1 << ashift) == 0 else (record >> ashift) + 1
    rows = -(-sectors // data)
    assert 0 <= taken - sectors - parity * rows <= parity
    assert taken % (parity + 1) == 0


def test_mirrors_of_zfs_pair_drives_of_like_size():
    found = usable_capacity([8 * TB, 4 * TB, 8 * TB, 4 * TB], Layout(type=K.MIRROR))
    assert found.groups == (2, 2)
    assert found.steps[1].left_bytes == 12 * TB
    assert failures_survived(Layout(type=K.MIRROR, copies=3))[0] == 2


def test_a_tebibyte_is_no_terabyte():
    assert capacity_bytes("1 TiB", where="") == TIB
    assert capacity_bytes("1 TB", where="") == TB
    assert capacity_bytes("5.46 TiB", where="") == round(5.46 * TIB)
    with pytest.raises(UsageError, match="with its unit"):
        capacity_bytes("4T", where="")


def test_every_kind_has_a_rule():
    for kind in K:
        assert Layout(type=kind, data=2, parity=1).name
    assert not RAIDZ & DRAID
