# SPDX-License-Identifier: Apache-2.0
"""What pages show, made from plain values: maps, charts, ranks, citations and typed searches."""

from functools import partial
from types import SimpleNamespace

import pytest

from ioatlas.model.errors import UsageError
from ioatlas_atlas.asked import Asked
from ioatlas_atlas.heat import maps
from ioatlas_atlas.pareto import LEFT, LETTER, RIGHT, WIDTH, Offered, chart, front
from ioatlas_atlas.ranking import Side, compared
from ioatlas_atlas.views import as_bibtex, as_csv, as_text

ORIGIN = "https://a.example"
CITED = SimpleNamespace(
    id="4x7k", title=r"50% of {a} \b V & M", owner="alice", uploaded_at=1.795e9, bundle_sha256="ab12"
)


def row(bw=100e6, low=90e6, high=110e6, **more):
    told = {"target": "t", "rw": "randread", "direction": "read", "bs_bytes": 4096, "size_bytes": 1 << 20}
    values = {"numjobs": 1, "iodepth": 1, "kind": "measured", "verdict": "steady", "iops": bw / 4096}
    return {**told, **values, "bw_bytes_per_s": bw, "bw_low": low, "bw_high": high, **more}


def document(*rows, direct=1):
    return {"rows": list(rows), "constants": {"direct": direct}, "settings": {}, "sessions": [{"fio": "fio-3.33"}]}


# -- maps ----------------------------------------------------------------------------------------------------


def test_a_map_has_a_row_for_each_block_size_and_a_column_for_each_load():
    rows = [row(1e6 * bs * depth, bs_bytes=bs << 10, iodepth=depth) for bs in (4, 64) for depth in (1, 8)]
    (made,) = maps(rows, {"bs": [4096, 65536], "iodepth": [1, 8]})
    assert made.heads == ("1 job", "1 job, depth 8")
    assert [line.head for line in made.lines] == ["4 KiB", "64 KiB"]
    assert made.lines[0].spots[0].level == 0
    assert made.lines[1].spots[1].level == 9


def test_a_cached_cell_is_marked_and_takes_no_part_in_the_colours():
    rows = [row(1e6), row(2e6, iodepth=2), row(1e12, iodepth=4, verdict="cached", mark="suspect")]
    (made,) = maps(rows, {"bs": [4096], "iodepth": [1, 2, 4]})
    slow, fast, cached = made.lines[0].spots
    assert (slow.level, fast.level, cached.level) == (0, 9, -1)
    assert cached.mark == "?"


@pytest.mark.parametrize(
    ("more", "mark"),
    [
        ({}, ""),
        ({"mark": "predicted"}, "~"),
        ({"mark": "minimum"}, "≥"),
        ({"mark": "unstable"}, "!"),
        ({"mark": "suspect"}, "?"),
    ],
)
def test_what_a_value_is_worth_has_a_mark(more, mark):
    (made,) = maps([row(**more)], {"bs": [4096]})
    assert made.lines[0].spots[0].mark == mark


def test_a_cell_without_a_value_is_empty():
    (made,) = maps([row(), row(bw=0.0, iodepth=2)], {"bs": [4096]})
    assert made.lines[0].spots[1] is None


# -- charts --------------------------------------------------------------------------------------------------


told = partial(Offered, confirmed=True)


def test_the_front_holds_what_nothing_beats_in_both():
    offers = [told("cheap", "", 10, 5), told("beaten", "", 20, 4), told("fast", "", 30, 9)]
    offers += [Offered("by one alone", "", 1, 1e9)]
    assert front(offers) == {0, 2}


def test_a_chart_places_dearer_to_the_right_and_faster_higher():
    made = chart("t", [told("a", "/r/a", 10, 5e3, 4e3, 6e3), told("b", "/r/b", 30, 9e3)], "USD", 4096)
    a, b = made.points
    assert a.x < b.x
    assert a.y > b.y
    assert a.y_high < a.y < a.y_low
    assert all(LEFT <= tick.at <= WIDTH - RIGHT for tick in made.x_ticks)
    assert len(made.y_ticks) >= 3


def test_names_stand_on_the_front_alone_and_hide_nothing():
    offers = [told(f"product {n}", f"/p/{n}", 10 + n, 1e3 * (n + 1)) for n in range(40)]
    offers += [told(f"beaten {n}", f"/b/{n}", 60 + n, 900) for n in range(40)]
    made = chart("t", offers, "USD", 4096).of("/b/7")
    assert sum(one.on_front for one in made.points) == 40
    assert [(one.label, one.own) for one in made.points if not one.on_front] == [("beaten 7", True)]
    boxes = []
    for one in filter(lambda one: one.label_x, made.points):
        wide = LETTER * len(one.label)
        left = one.label_x - (wide if one.anchor == "end" else 0)
        boxes.append((left, left + wide, one.label_y))
    assert len(boxes) > 3
    for at, (left, right, y) in enumerate(boxes):
        assert not any(left < r and lo < right and abs(y - other) < 12 for lo, r, other in boxes[at + 1 :])


def test_one_product_makes_no_chart():
    assert chart("t", [Offered("a", "", 10, 5e3)], "USD", 4096) is None


# -- ranks ---------------------------------------------------------------------------------------------------


def places(*documents):
    table = compared([Side(str(at), "t", "", each) for at, each in enumerate(documents)])
    return table, [[one.place if one else None for one in line.entries] for line in table.lines]


def test_one_stands_above_another_only_where_whole_intervals_are_apart():
    table, found = places(document(row()), document(row(105e6, 95e6, 115e6)), document(row(50e6, 45e6, 55e6)))
    assert table.ranked
    assert found == [[1, 1, 3]]


def test_a_cached_cell_is_shown_and_not_ranked():
    table, found = places(
        document(row(9e9, 8e9, 10e9, verdict="cached", mark="suspect")), document(row()), document(row())
    )
    assert found == [[0, 1, 1]]
    assert "cached" in table.lines[0].entries[0].why


def test_what_is_not_verified_is_not_ranked():
    sides = [Side("0", "t", "", document(row())), Side("1", "t", "", document(row(9e9, 8e9, 10e9)), verified=False)]
    table = compared(sides)
    assert not table.ranked
    assert ("check", ("recomputed", "unchecked")) in [(one.name, one.values) for one in table.differences]


def test_results_measured_in_other_ways_are_not_ranked():
    table, found = places(document(row()), document(row(50e6, 45e6, 55e6), direct=0))
    assert not table.ranked
    assert [one.name for one in table.differences if one.of_method] == ["direct"]
    assert found == [[0, 0]]


def test_cells_that_only_one_has_are_left_out():
    table, _ = places(document(row()), document(row(iodepth=2)))
    assert table.lines == ()


# -- words in, words out -------------------------------------------------------------------------------------


def test_a_typed_search_is_a_search():
    asked = Asked.of({"rw": "randread", "bs": "4k", "iops": "20k", "p99": "5 ms", "price": "150", "unknown": "x"})
    sought = asked.sought()
    assert (sought.rw, sought.bs_bytes, sought.min_iops, sought.max_p99_ns) == ("randread", 4096, 20_000, 5e6)
    assert (sought.max_price_per_tib, sought.currency) == (150, "USD")
    assert Asked.of({"rate": "1049"}).sought().min_iops == pytest.approx(1000.4, abs=0.1)  # reads of 1 MiB


@pytest.mark.parametrize(
    "given", [{"iops": "many"}, {"rate": "-1"}, {"price": "nan"}, {"iops": "1e300"}, {"rw": "walk"}, {"bs": "x"}]
)
def test_what_is_no_number_names_its_field(given):
    with pytest.raises(UsageError) as caught:
        Asked.of(given).sought()
    assert caught.value.where.startswith(next(iter(given)))


def test_a_citation_names_the_permanent_address_and_the_bytes():
    assert "https://a.example/r/4x7k" in as_text(CITED, ORIGIN)
    assert "SHA-256 ab12" in as_text(CITED, ORIGIN)


def test_nothing_in_a_bibtex_entry_is_a_command():
    made = as_bibtex(CITED, ORIGIN)
    assert r"50\% of \textbraceleft{}a\textbraceright{} \textbackslash{}b" in made
    assert r"V \& M" in made


@pytest.mark.parametrize("title", ["{", "}", r"\}", "x}, note = {}} @misc{other, title = {y", "}" * 9])
def test_no_title_ends_its_bibtex_entry(title):
    made = as_bibtex(SimpleNamespace(**{**vars(CITED), "title": title}), ORIGIN).rstrip()
    level, ends = 0, []
    for at, letter in enumerate(made):  # as BibTeX counts: a backslash before a brace changes nothing
        level += {"{": 1, "}": -1}.get(letter, 0)
        ends += [at] if letter == "}" and level == 0 else []
    assert ends == [len(made) - 1]


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1"])
def test_no_text_of_a_csv_is_computed_by_a_spreadsheet(text):
    first, second = as_csv({"rows": [{"target": text, "bw": -1.5, "list": [text, "x"]}]}).splitlines()
    assert (first, second) == ("target,bw,list", f"'{text},-1.5,'{text}; x")
    assert as_csv({"rows": [{"target": f"a\r{text}"}]}).splitlines() == ["target", f"a {text}"]
