# SPDX-License-Identifier: Apache-2.0
"""What stands where a figure should and is none is named, whatever tool wrote the file."""

import pytest

from ioatlas.interop.read.numbers import noted, num
from tests.unit.interop.read_samples import read_text, sample

BONNIE = (
    "1.96,1.96,host1,1,1329851830,8096M,,838,98,110033,7,48154,4,3609,79,134153,4,228.2,1,256,,,,,30301,79,+++++,+++,"
    "2525,2,31290,79,+++++,+++,1558,1,9829us,226ms,1759ms,112ms,160ms,2016ms,300ms,458us,6094ms,309ms,17us,6206ms\n"
)


@pytest.mark.parametrize("text", ["nan", "-NaN", "inf", "Infinity", "-7.5", "-12", "1e999", "-1.#IND", "1.#INF"])
def test_each_is_noted(text):
    with noted() as found:
        assert num(text) is None
    assert found == [text]


@pytest.mark.parametrize("text", ["", "n/a", "+++++", "-", "228.2", "1e3", "0", "-0", "word", "1,024"])
def test_what_stands_for_no_value_and_figures_are_not(text):
    with noted() as found:
        num(text)
    assert not found


@pytest.mark.parametrize("bad", ["nan", "inf", "-228.2"])
def test_a_figure_that_is_none_is_told_of_a_line_that_is_read_otherwise(bad):
    whole, problems = read_text(BONNIE)
    assert not any("not taken as figures" in problem for problem in problems)
    less, problems = read_text(BONNIE.replace("228.2", bad))
    assert len(less) < len(whole)
    assert any(f"not taken as figures (1): {bad}" in problem for problem in problems)


@pytest.mark.parametrize("name", ["xdd/xdd-7.0.0rc18-four-passes.log", "diskspd/diskspd-2.0-mix-70-30.txt"])
def test_files_as_tools_write_them_have_none(name):
    _, problems = read_text(sample(name).read_text(errors="replace"))
    assert not any("not taken as figures" in problem for problem in problems)
