# SPDX-License-Identifier: Apache-2.0
"""The steady-state plot: the numbers of its data file, drawn by the real gnuplot and by matplotlib."""

import re
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest

from ioatlas.errors import UsageError
from ioatlas.model.result import RoundsResult
from ioatlas.report.export import printing
from ioatlas.report.export.own import own_drawing
from ioatlas.report.export.to_panels import write_drawing

from .exported import SQUARE, campaign

MET = RoundsResult(
    target="disk",
    test="latency",
    title="latency test",
    part="",
    quantity="lat_mean_ns",
    tracked="4 KiB random write",
    values=(9e5, 7e5, 5e5, 4.9e5, 5.1e5, 5e5, 5.2e5),
    first=1,
    met=True,
    ended="met",
    reason="rounds 3 to 7: it's steady",
    window=(3, 7),
    average=5.04e5,
    range_share=0.06,
    slope_share=0.02,
    line=(5.0e5, 5.08e5),
    cells=(),
)
SHORT = replace(
    MET,
    title="throughput test",
    part="bs 128 KiB",
    quantity="bw_bytes_per_s",
    values=(2e8, 1e8),
    met=False,
    window=None,
    average=None,
    line=None,
)


def with_tests(*tests):
    return replace(campaign(SQUARE), rounds=tests)


def plot(result, out):
    return write_drawing(own_drawing(result, "rounds"), out)


def test_data_are_in_the_unit_of_the_axis_and_the_window_alone_has_average_and_fit(tmp_path):
    script, data = plot(with_tests(MET, SHORT), tmp_path / "steady.gp")
    blocks = data.read_text().split("\n\n\n")
    found = [
        [[float(word) for word in line.split()[:2]] for line in block.splitlines() if line and line[0] != "#"]
        for block in blocks
    ]
    rounds, average, above, below, fit, short = found
    assert rounds == [[n, value] for n, value in enumerate((900, 700, 500, 490, 510, 500, 520), 1)]
    assert (average, fit) == ([[3, 504], [7, 504]], [[3, 500], [7, 508]])
    assert [round(one[0][1], 1) for one in (above, below)] == [554.4, 453.6]
    assert short == pytest.approx(np.array([[1, 2e8 / 2**20], [2, 1e8 / 2**20]]))
    assert "it''s steady" in script.read_text()
    if shutil.which("gnuplot"):
        run = subprocess.run(
            ["gnuplot", "-e", "format='svg'", "steady.gp"],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
            timeout=300,
        )
        assert (run.returncode, run.stderr) == (0, "")
        drawn = (tmp_path / "steady.svg").read_text()
        assert "best fit" in drawn
        assert "steady state not met" in drawn


def test_matplotlib_draws_every_test(tmp_path):
    (path,) = plot(with_tests(MET, SHORT), tmp_path / "x" / "steady.svg")
    again = path.read_bytes()
    assert plot(with_tests(MET, SHORT), path)[0].read_bytes() == again
    words = re.findall(r">([^<>]+)<", again.decode())
    assert any("SNIA latency test, disk: 4 KiB random write" in text for text in words)
    assert any("SNIA throughput test, bs 128 KiB" in text for text in words)


def test_ids_of_a_drawing_hang_on_no_last_bit(tmp_path):
    """The library makes them of places to the last bit, which another drawing of the figure may round otherwise."""
    drawn = tmp_path / "x.svg"
    for first, second in (("p2ef2e9e46b", "m0123456789"), ("pe67d7b6300", "m98765430ab")):
        drawn.write_text(
            f'<clipPath id="{first}"/><g clip-path="url(#{first})" fill="#ededed"/><use xlink:href="#{second}"/>'
        )
        printing._number_ids(drawn)
        assert drawn.read_text() == '<clipPath id="p0"/><g clip-path="url(#p0)" fill="#ededed"/><use xlink:href="#m1"/>'


def test_no_round_no_plot():
    for result in (with_tests(), with_tests(replace(MET, values=()))):
        with pytest.raises(UsageError, match="no round"):
            own_drawing(result, "rounds")
