# SPDX-License-Identifier: Apache-2.0
"""The steady-state plot: the numbers of its data file, and what matplotlib draws."""

import csv
import itertools
import re
from dataclasses import replace

import pytest

from ioatlas.answer.analysis.rounds import RoundsResult, rounds_chart
from ioatlas.model.errors import UsageError
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
NO_WINDOW = {"met": False, "window": None, "average": None, "line": None}
SHORT = replace(
    MET, title="throughput test", part="bs 128 KiB", quantity="bw_bytes_per_s", values=(2e8, 1e8), **NO_WINDOW
)


def with_tests(*tests):
    return replace(campaign(SQUARE), charts_first=True, charts=tuple(map(rounds_chart, tests)))


def plot(result, out):
    return write_drawing(own_drawing(result), out)


def test_the_window_alone_has_average_and_fit(tmp_path):
    (data,) = plot(with_tests(MET, SHORT), tmp_path / "steady.csv")
    with data.open(newline="") as text:
        rows = list(csv.DictReader(text))
    found = {
        name: [[float(row["x"]), float(row["value"])] for row in group]
        for name, group in itertools.groupby(rows, lambda row: (row["panel"], row["series"]))
    }
    rounds, average, above, below, fit, short = found.values()
    assert rounds == [[n, value] for n, value in enumerate(MET.values, 1)]
    assert (average, fit) == ([[3, 5.04e5], [7, 5.04e5]], [[3, 5.0e5], [7, 5.08e5]])
    assert [one[0][1] for one in (above, below)] == pytest.approx([5.544e5, 4.536e5])
    assert short == [[1, 2e8], [2, 1e8]]


def test_matplotlib_draws_every_test(tmp_path):
    (path,) = plot(with_tests(MET, SHORT), tmp_path / "x" / "steady.svg")
    again = path.read_bytes()
    assert plot(with_tests(MET, SHORT), path)[0].read_bytes() == again
    words = re.findall(r">([^<>]+)<", again.decode())
    assert any("SNIA latency test, disk: 4 KiB random write" in text for text in words)
    assert any("SNIA throughput test, disk, bs 128 KiB" in text for text in words)


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
    with pytest.raises(UsageError, match="no chart"):
        own_drawing(with_tests())
