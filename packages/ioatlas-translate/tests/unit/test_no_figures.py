# SPDX-License-Identifier: Apache-2.0
"""What stands where a figure should and is none is named, whatever tool wrote the file."""

import pytest
from read_samples import read_text
from tests.unit.samples import sample

from ioatlas_translate.read.kit import noted, num

IO500 = "[ior-easy-write]\nscore = 228.2\nt_delta = 30.0\n\n[mdtest-easy-write]\nscore = 11.5\nt_delta = 30.0\n"


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
    whole, problems = read_text(IO500)
    assert not any("not taken as figures" in problem for problem in problems)
    less, problems = read_text(IO500.replace("228.2", bad))
    assert len(less) < len(whole)
    assert any(f"not taken as figures (1): {bad}" in problem for problem in problems)


@pytest.mark.parametrize("name", ["xdd/xdd-7.0.0rc18-four-passes.log", "diskspd/diskspd-2.0-mix-70-30.txt"])
def test_files_as_tools_write_them_have_none(name):
    _, problems = read_text(sample(name).read_text(errors="replace"))
    assert not any("not taken as figures" in problem for problem in problems)
