# SPDX-License-Identifier: Apache-2.0
"""Layout arithmetic of speed: what published tables say, and properties that hold for any layout."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioatlas.errors import UsageError
from ioatlas.product.sheet_file import read_sheet
from ioatlas.product.speed import allowed

SHEET = """format = 1
[source]
name = "typed in"
[product]
vendor = "V"
model = "M"
[[drives]]
count = {count}
capacity = "4 TB"
read = "200 MB/s"
write = "180 MB/s"
read_iops = 150
write_iops = 120
[layout]
{layout}
"""


def worth(layout, count=8):
    found = allowed(read_sheet(SHEET.format(count=count, layout=layout)))
    one = {"read": 200e6, "write": 180e6, "random read": 150, "random write": 120}
    return {each.work: each.value / one[each.work] for each in found}


@pytest.mark.parametrize(
    ("layout", "read", "write", "small_write"),
    [
        ('type = "raid0"', 8, 8, 8),
        ('type = "raid5"', 8, 7, 2),
        ('type = "raid6"', 8, 6, 8 / 6),
        ('type = "raid10"', 8, 4, 4),
        ('type = "raid50"\ngroups = 2', 8, 6, 2),
        ('type = "mirror"\ncopies = 2', 8, 4, 4),
        ('type = "raid6"\nhot_spares = 1', 7, 5, 7 / 6),
        ('type = "raidz2"', 8, 6, 6),
        ('type = "erasure"\ndata = 6\nparity = 2', 8, 6, 6),
        ('type = "replica"\ncopies = 4', 8, 2, 2),
        ('type = "raid5"\ngroups = [3, 4]', 7, 5, 1 + 1),
        ('type = "raid6"\ngroups = [4, 4]', 8, 4, 2),
    ],
)
def test_drives_worth_of_each_work(layout, read, write, small_write):
    """Chen et al. 1994, table 2: RAID 5 writes (n-1)/n of RAID 0 when large, a quarter when small; RAID 6 a sixth."""
    assert worth(layout) == pytest.approx(
        {"read": read, "random read": read, "write": write, "random write": small_write}
    )


def test_what_the_sheet_does_not_tell_is_not_allowed_for():
    text = (
        SHEET.format(count=8, layout='type = "raid5"')
        .replace('write = "180 MB/s"\n', "")
        .replace("read_iops = 150\n", "")
    )
    assert {each.work for each in allowed(read_sheet(text))} == {"read", "random write"}
    assert allowed(read_sheet(text.partition("[layout]")[0])) == ()


def test_the_slowest_model_paces():
    text = SHEET.format(count=4, layout='type = "raid0"').replace(
        "[layout]", '[[drives]]\ncount = 4\ncapacity = "4 TB"\nread = "100 MB/s"\n[layout]'
    )
    (read,) = allowed(read_sheet(text))
    assert read.value == 8 * 100e6


def test_a_rate_without_a_unit_is_refused_with_its_line():
    with pytest.raises(UsageError, match="not a throughput") as caught:
        read_sheet(SHEET.format(count=4, layout='type = "raid0"').replace('"200 MB/s"', '"200"'))
    assert caught.value.where == "product.toml:10, key 'drives.read'"


@given(st.sampled_from(["raid0", "raid5", "raid6", "raid10", "raidz1"]), st.integers(2, 20))
def test_writes_never_pass_reads_and_more_drives_never_allow_less(kind, half):
    now, more = worth(f'type = "{kind}"', 2 * half), worth(f'type = "{kind}"', 2 * half + 2)
    for work in now.keys() & more.keys():
        assert more[work] >= now[work]
    if "write" in now:
        assert now["write"] <= now["read"]
        assert now["random write"] <= now["random read"]
