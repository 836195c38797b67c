# SPDX-License-Identifier: Apache-2.0
"""Search by what a product is and by what it can do, paging, comparison."""

import re

import pytest
import sqlalchemy as sa

from ioatlas.atlas import queries
from ioatlas.atlas.queries import Order
from ioatlas.atlas.records import Wanted
from ioatlas.errors import UsageError
from tests.unit.atlas.made import cell, found, put


def titles(page):
    return [hit.result.title for hit in page.entries]


def test_wanted_performance_is_held_against_the_bad_side_of_the_interval(database, desk, alice):
    put(desk, alice, found("fast", [cell(iops=23_000, p99_ns=4e6)]))
    put(desk, alice, found("nearly", [cell(iops=21_000, p99_ns=4e6)]))  # its lower bound is 18,900
    put(desk, alice, found("late", [cell(iops=23_000, p99_ns=4.8e6)]))  # its upper bound is 5.28 ms
    put(desk, alice, found("cached", [cell(iops=90_000, p99_ns=1e6, cached=True, usable=False)]))
    put(desk, alice, found("two cells", [cell(iops=90_000, p99_ns=9e6), cell(iops=100, p99_ns=1e6, iodepth=2)]))
    put(desk, alice, found("no interval", [cell(iops=90_000, p99_ns=1e6, iops_low=None)]))
    put(desk, alice, found("unchecked", [cell(iops=90_000, p99_ns=1e6)], verified=False))
    put(desk, alice, found("dear", [cell(iops=90_000, p99_ns=1e6)], price_per_tib=300.0))
    wanted = Wanted(
        rw="randread", bs_bytes=4096, min_iops=20_000, max_p99_ns=5e6, max_price_per_tib=150, currency="USD"
    )
    page = queries.search(database, wanted)
    assert titles(page) == ["fast"]
    assert page.entries[0].cell.iops == 23_000


def test_each_kind_of_load_and_any_is_found_by_what_it_can_do(database, desk, alice):
    put(desk, alice, found("small reads", [cell(iops=9_000, p99_ns=1e6)]))
    put(desk, alice, found("large writes", [cell("randwrite", 65536, iops=1_000, p99_ns=9e6)]))
    search = queries.search
    for wanted, named in (
        (Wanted(max_p99_ns=2e6), ["small reads"]),
        (Wanted(max_p99_ns=1e3), []),
        (Wanted(max_mean_ns=1e6), ["small reads"]),
        (Wanted(min_bw_bytes_per_s=50e6), ["large writes"]),
        (Wanted(rw="randwrite", max_p99_ns=2e6), []),
        (Wanted(rw="randwrite", min_iops=500), ["large writes"]),
        (Wanted(bs_bytes=65536, max_p99_ns=10e6), ["large writes"]),
        (Wanted(direction="write"), ["large writes"]),
        (Wanted(direction="trim"), []),
        (Wanted(direction="read", min_iops=500, max_p99_ns=10e6), ["small reads"]),
        (Wanted(rw="randread", bs_bytes=65536), []),
    ):
        assert titles(search(database, wanted)) == named, wanted


def test_a_search_looks_into_so_many_results_and_goes_on_behind_them(database, desk, alice, monkeypatch):
    """Both bounds are kept, but by one cell in one result alone."""
    monkeypatch.setattr(queries, "LOOKED_INTO", (1, 2))
    put(desk, alice, found("both", [cell(iops=90_000, p99_ns=1e6)]))
    for number in range(7):
        put(desk, alice, found(f"n{number}", [cell(iops=90_000, p99_ns=9e6), cell(iops=9, p99_ns=1e6, iodepth=2)]))
    wanted, pages, cursor = Wanted(min_iops=50_000, max_p99_ns=2e6), [], ""
    while not pages or cursor:
        page = queries.search(database, wanted, cursor=cursor)
        pages.append(titles(page))
        cursor = page.next
    assert pages == [[], [], ["both"]]


@pytest.mark.parametrize("named", ["max_p99_ns", "max_mean_ns", "min_iops", "min_bw_bytes_per_s", "direction"])
@pytest.mark.parametrize("load", [{}, {"rw": "read"}, {"bs_bytes": 4096}, {"rw": "read", "bs_bytes": 4096}], ids=str)
def test_no_search_for_performance_reads_all_cells(database, desk, alice, named, load):
    put(desk, alice, found())
    value = "trim" if named == "direction" else 1e12 if named.startswith("min") else 1e-9
    wanted = Wanted(**{named: value}, **load)
    plans = []

    def explain(link, _cursor, statement, parameters, _context, _many):
        if statement.startswith("SELECT") and not plans:
            plans.append("")
            how = "EXPLAIN QUERY PLAN" if database.embedded else "EXPLAIN"
            plans[0] = "\n".join(str(row) for row in link.exec_driver_sql(f"{how} {statement}", parameters))

    sa.event.listen(database.engine, "before_cursor_execute", explain)
    if not database.embedded:
        monkey = "SET enable_seqscan = off"  # a table of one row is read whole otherwise
        sa.event.listen(database.engine, "begin", lambda link: link.exec_driver_sql(monkey))
    assert queries.search(database, wanted).entries == ()
    assert "best_newest" in plans[0]
    assert not re.search(r"Seq Scan on (cell|best)|SCAN (cell|best)\b(?! USING)", plans[0])


def test_words_and_facts(database, desk, alice):
    put(desk, alice, found("under the desk", vendor="Contoso", model="N100"))
    put(desk, alice, found("rack 7", vendor="Fabrikam", model="X 100%_1", protocol="iSCSI", drive="4 x 1 TB (SSD9)"))
    search = queries.search
    assert titles(search(database, Wanted(words="DESK contoso"))) == ["under the desk"]
    assert titles(search(database, Wanted(words="100%_1"))) == ["rack 7"]
    assert titles(search(database, Wanted(words="n%0"))) == []
    assert titles(search(database, Wanted(protocol="iscsi", drive="ssd9"))) == ["rack 7"]
    assert titles(search(database, Wanted(vendor_slug="contoso"))) == ["under the desk"]
    assert titles(search(database, Wanted(words="'; DROP TABLE result; --"))) == []
    assert [one.name for one in queries.products(database).entries] == ["Contoso N100", "Fabrikam X 100%_1"]
    assert queries.product_of(database, "fabrikam-x-100-1").results == 1


@pytest.mark.parametrize("order", list(Order))
def test_pages_hold_every_result_once(database, desk, alice, order):
    for number in range(7):
        put(desk, alice, found(f"t{number}", price_per_tib=float(number % 3)))
    seen, cursor = [], ""
    while True:
        page = queries.search(database, Wanted(), order=order, cursor=cursor, limit=3)
        seen += page.entries
        if not page.next:
            break
        cursor = page.next
    assert len(seen) == len({hit.result.id for hit in seen}) == 7
    prices = [hit.result.price_per_tib for hit in seen]
    assert prices == sorted(prices) if order is Order.PRICE else titles(page)[-1] == "t0"


@pytest.mark.parametrize("cursor", ["x", "W10", "bnVsbA", "WzFd" * 200, "é"])
def test_a_cursor_that_is_none_is_told(database, cursor):
    with pytest.raises(UsageError, match="cursor"):
        queries.search(database, Wanted(), cursor=cursor)


def test_a_licence_that_forbids_keeps_it_private(database, desk, alice):
    put(desk, alice, found("forbidden", licence_says="no"))
    put(desk, alice, found("allowed", licence_says="no", licence_permission="by letter, 2026-01-02"))
    assert titles(queries.search(database, Wanted())) == ["allowed"]
