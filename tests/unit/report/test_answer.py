# SPDX-License-Identifier: Apache-2.0
"""The answer that a list takes from a report: the numbers of its first screen, and nothing from what is no report."""

import json
import os

import pytest

from ioatlas.answer.results.library import REPORT
from ioatlas.cli import ioatlas
from ioatlas.measure.campaign import load_result
from ioatlas.report.numbers import DATA_ELEMENT_ID, answer_in, answer_of
from ioatlas.report.page import write_report
from ioatlas.report.small_map import WRITTEN, in_words, letters, small_map
from tests.unit.simulated import World


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    world = World(tmp_path_factory.mktemp("measured"))
    sweep = '[target]\npath = "TARGET"\n[sweep]\nrw = ["read", "write"]\nbs = ["64k"]\n'
    world.run(f'visits = 2\nwindow = "300ms"\n{sweep}')
    write_report(load_result(world.directory), world.directory / REPORT)
    return world.directory


def test_it_is_that_of_the_first_screen(measured, capsys):
    answer = answer_of(measured, 0.0)
    # A simulated file has holes: no read of it has a value.
    assert answer.keys() == {"write", "trust", "why", "map"}
    assert answer["map"] == letters(load_result(measured)) == "? z"
    ioatlas.main(["show", str(measured)], standalone_mode=False)
    shown = capsys.readouterr().out
    assert f"TRUST: {answer['trust'].upper()}" in shown
    assert f"Best write {answer['write']}" in " ".join(shown.split())


def test_one_that_is_older_than_its_campaign_says_nothing(measured):
    assert answer_of(measured, (measured / REPORT).stat().st_mtime + 1) == {}


@pytest.mark.parametrize(
    "data",
    ["", "{", "[]", '{"summary": 1}', "[" * 100_000]
    + [
        json.dumps({"summary": {"trust": trust, "headlines": [{"label": "Best read", "value": value, **flags}]}})
        for trust, value, flags in [
            ("fine\x1b[2J", 1.0, {"estimated": False, "lower_bound": False}),
            ("low", 1e300, {"estimated": False, "lower_bound": False}),
            ("low", "\x1b[2J", {"estimated": False, "lower_bound": False}),
            ("low", 1.0, {}),
        ]
    ],
)
def test_what_a_stranger_wrote_says_nothing(tmp_path, data):
    (tmp_path / REPORT).write_text(f'<script id="{DATA_ELEMENT_ID}">{data}</script>')
    assert answer_of(tmp_path, 0.0) == {}


@pytest.mark.parametrize("drawn", ["<b>", "a/", "aaaaaaa", "a a a a a", "a\n", 7, ["a"], None])
def test_what_is_no_map_is_not_drawn(drawn):
    assert "map" not in answer_in(json.dumps({"summary": {"trust": "low", "headlines": []}, "thumbnail": drawn}))


def test_a_map_says_what_each_cell_is(tmp_path):
    world = World(tmp_path)
    sweep = 'rw = ["randwrite", "write"]\nbs = ["4k", "1m"]\nnumjobs = [1, 2, 4, 8, 16, 32, 64]\nsize = "1m"\n'
    world.run(f'visits = 2\nwindow = "300ms"\n[target]\npath = "TARGET"\n[sweep]\n{sweep}')
    result = load_result(world.directory)
    drawn = letters(result)
    assert WRITTEN.fullmatch(drawn)
    tiles = [tile.split("/") for tile in drawn.split()]
    assert [[len(row) for row in tile] for tile in tiles] == [[6, 6], [6, 6]], "of seven values six are drawn"
    # Large blocks stand above small ones and are faster; the fastest of all is the brightest.
    assert all(above >= below for tile in tiles for above, below in zip(*tile, strict=True) if above.isalpha())
    assert "z" in drawn
    found = small_map(result)
    assert found is not None
    doubted = sum(value.step is None for value in found.values.values())
    assert (drawn.count("?") > 0) == (doubted > 0)


def test_a_map_in_words_counts_its_cells():
    assert in_words("aZ?/..z") == "2 cells with a value, 1 estimated, 1 not believed"
    assert in_words("..") == "no value"


def test_a_report_that_cannot_be_read_says_nothing(tmp_path):
    assert answer_of(tmp_path, 0.0) == {}
    os.mkfifo(tmp_path / REPORT)
    assert answer_of(tmp_path, 0.0) == {}
