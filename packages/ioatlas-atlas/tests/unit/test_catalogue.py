# SPDX-License-Identifier: Apache-2.0
"""Products: found by what they are and do, counted, kept with every change, and drawn as they are."""

import pytest
import sqlalchemy as sa
from made import cell, found, put, reproduce_all

from ioatlas.model.errors import UsageError
from ioatlas.model.units import words
from ioatlas_atlas import accounts, audit, catalogue, changes, queries, removal, tables
from ioatlas_atlas.asked import Asked
from ioatlas_atlas.best import refresh
from ioatlas_atlas.fairness import Declaration
from ioatlas_atlas.pareto import front
from ioatlas_atlas.records import OPERATOR, Wanted
from ioatlas_atlas.shelf import shelf_of
from ioatlas_atlas.tables import best, result


def search(database, **asked):
    return catalogue.search(database, Asked.of(asked).sought())


def models(page):
    return [one.product.model for one in page.entries]


def test_wanted_performance_is_held_against_the_bad_side_of_the_interval(database, desk, alice):
    def one(model, *cells, **other):
        put(desk, alice, found(model=model, cells=list(cells), **other))

    one("fast", cell(iops=23_000, p99_ns=4e6))
    one("nearly", cell(iops=21_000, p99_ns=4e6))  # its lower bound is 18,900
    one("late", cell(iops=23_000, p99_ns=4.8e6))  # its upper bound is 5.28 ms
    one("cached", cell(iops=90_000, p99_ns=1e6, cached=True, usable=False))
    one("two cells", cell(iops=90_000, p99_ns=9e6), cell(iops=100, p99_ns=1e6, iodepth=2))
    one("no interval", cell(iops=90_000, p99_ns=1e6, iops_low=None))
    one("unchecked", cell(iops=90_000, p99_ns=1e6), verified=False)
    one("dear", cell(iops=90_000, p99_ns=1e6), price_per_tib=300.0)
    one("euro", cell(iops=90_000, p99_ns=1e6), currency="EUR")
    page = search(database, rw="randread", bs="4k", iops="20k", p99="5ms", price="150")
    assert (models(page), page.total) == (["fast"], 1)
    assert (page.entries[0].iops, page.entries[0].iops_low) == (23_000, pytest.approx(20_700))
    assert (page.lacking, page.dearer, page.dearer_from) == (1, 1, 300.0)
    none = search(database, iops="85k", price="150")
    assert (models(none), none.lacking, none.dearer) == ([], 1, 0)


def test_facets_count_products_as_if_nothing_was_asked_of_them(database, desk, alice):
    kinds = (("N1", "NAS", "flash", 2024, "NFS", 50.0, 9e3), ("N2", "NAS", "spindles", 2020, "SMB", 20.0, 1e3))
    for model, kind, media, year, protocol, price, iops in (
        *kinds,
        ("A1", "array", "flash", None, "iSCSI", 90.0, 50e3),
    ):
        told = {"kind": kind, "media": media, "year": year, "protocol": protocol, "price_per_tib": price}
        put(desk, alice, found(model=model, cells=[cell(iops=iops)], **told))
    put(desk, alice, found("again", model="N1", protocol="SMB", price_per_tib=50.0))
    reproduce_all(database)
    page = search(database, kind="NAS", media="flash")
    assert (models(page), page.total) == (["N1"], 1)
    assert page.facets["kind"] == {"NAS": 1, "array": 1}
    assert page.facets["media"] == {"flash": 1, "spindles": 1}
    assert page.facets["protocol"] == {"NFS": 1, "SMB": 1}
    orders = {"speed": ["A1", "N1", "N2"], "value": ["A1", "N1", "N2"], "price": ["N2", "N1", "A1"]}
    for sort, wanted in {**orders, "newest": ["N1", "A1", "N2"]}.items():
        assert models(search(database, sort=sort)) == wanted, sort
    assert models(search(database, q="contoso n2")) == ["N2"]
    assert models(search(database, rw="write")) == []


def kept(database):
    """What the summary says, by product."""
    with database.reading() as link:
        asked = sa.select(best.c.product_id, best.c.iops, best.c.evaluators, best.c.least, best.c.most)
        return {row[0]: tuple(row[1:]) for row in link.execute(asked.where(best.c.rw != ""))}


def test_the_best_is_kept_with_every_change_of_what_all_may_see(database, desk, alice):
    bert = accounts.new_account(database, "bert")
    first = put(desk, alice, found("one", [cell(iops=1e4)]))
    other = put(desk, bert, found("two", [cell(iops=2e4)]))
    assert kept(database) == {"contoso-n100": (2e4, 2, 1e4, 2e4)}
    removal.withdraw(database, queries.result_of(database, other), OPERATOR, "a cable")
    assert kept(database) == {"contoso-n100": (1e4, 1, 1e4, 1e4)}
    changes.decide(database, first, changes.Decision.FLAG, "why", None)
    assert kept(database) == {}
    assert catalogue.product_of(database, "contoso-n100") is None
    changes.decide(database, first, changes.Decision.RELEASE, "good", None)
    assert kept(database) == {"contoso-n100": (1e4, 1, 1e4, 1e4)}
    removal.delete(database, desk.blobs, queries.result_of(database, first), OPERATOR)
    assert kept(database) == {}


def test_what_one_evaluator_alone_tells_takes_no_place_by_it(database, desk, alice):
    who = [accounts.new_account(database, name) for name in ("bert", "cleo", "dora")]

    def one(of, title, iops, model="N100", **other):
        told = {"signer": f"SHA256:{of.name}", "testbed": f"of {of.name}", **other}
        put(desk, of, found(title, [cell(iops=iops)], model=model, **told))

    def first():
        page = search(database, rw="randread", bs="4k", sort="speed")
        return [(listed.product.model, listed.iops, listed.confirmed) for listed in page.entries]

    one(alice, "a", 1e4)
    one(alice, "fake", 9e9, "fake")
    one(alice, "fake again", 9e9, "fake")  # of the same account
    one(who[0], "same key", 9e9, "fake", signer="SHA256:anna")
    one(who[0], "same client", 9e9, "fake", testbed="of anna")
    one(who[0], "unsigned", 9e9, "fake", signer="")
    one(who[0], "nobody's client", 9e9, "fake", testbed="")
    assert first() == [("fake", 9e9, False), ("N100", 1e4, False)]  # the newest before the others
    one(who[0], "b", 1.2e4)
    assert first() == [("N100", 1.2e4, True), ("fake", 9e9, False)]
    one(who[1], "much more", 9e9)
    one(who[2], "much less", 10.0)
    assert first()[0] == ("N100", 1.2e4, True)
    one(who[1], "slow", 100.0, "slow")
    one(who[2], "slow too", 110.0, "slow")
    assert [name for name, _, _ in first()] == ["N100", "slow", "fake"]
    page = search(database, iops="1M")
    assert (models(page), page.total) == (["fake"], 1)


def test_what_an_embargo_held_is_found_on_its_day(database, desk, alice):
    put(desk, alice, found(), declared=Declaration(embargo="2999-01-01"))
    assert search(database).total == 0
    with database.writing() as link:
        link.execute(sa.update(result).values(embargo="2020-01-01"))
    database.released = ""  # as on another day
    assert (search(database).total, search(database, iops="5k").total) == (1, 1)


def test_only_what_is_of_changed_products_is_read_again(database, desk, alice, monkeypatch):
    for model in "ab":
        put(desk, alice, found(model, model=model))
    before = shelf_of(database, "randread", 4096)
    with database.writing() as link:
        audit.note(link, "?", "note", "", text="what changes no product")
    assert shelf_of(database, "randread", 4096) is before
    put(desk, alice, found("private", model="a"), private=True)
    put(desk, alice, found("faster", [cell(iops=2e4)], model="a"))
    put(desk, alice, found("new", model="c", protocol="SMB"))
    read = []
    sa.event.listen(database.engine, "before_cursor_execute", lambda _link, _cursor, *said: read.append(str(said[:2])))
    after = shelf_of(database, "randread", 4096)
    assert [one.id for one in after.products] == ["contoso-a", "contoso-b", "contoso-c"]
    assert len([said for said in read if "contoso-a" in said and "contoso-c" in said]) == 3
    assert not [said for said in read if "contoso-b" in said]
    assert [one.iops for one in search(database, rw="randread", sort="price").entries] == [2e4, 1e4, 1e4]
    for number in queries.search(database, queries.Wanted(product_id="contoso-b")).entries:
        removal.delete(database, desk.blobs, number, OPERATOR)
    assert [one.id for one in shelf_of(database, "randread", 4096).products] == ["contoso-a", "contoso-c"]
    monkeypatch.setattr("ioatlas_atlas.shelf.MOST_NAMED", 0)  # more than are named: all are read
    put(desk, alice, found("back", model="b", protocol="SMB"))
    after = shelf_of(database, "randread", 4096)
    assert ([one.id for one in after.products], after.depths()) == (["contoso-a", "contoso-b", "contoso-c"], {1: 3})
    assert search(database).facets["protocol"] == {"SMB": 2, "NFS": 1}


def test_the_front_is_that_of_all_data_as_sql_says_it(database, desk, alice, monkeypatch):
    monkeypatch.setattr("ioatlas_atlas.uploads.refresh_of", lambda *_: None)  # it is done for all at once
    for number in range(130):  # more than any page of results holds
        price, iops = 20.0 + (number * 37) % 101, 1e3 * (1 + (number * 53) % 97)
        cells = [cell(iops=iops), cell(iops=9 * iops, iodepth=16), cell("write", iops=1e6)]
        put(desk, alice, found(str(number), cells, model=f"m{number}", price_per_tib=price))
    put(desk, alice, found("euro", [cell(iops=1e9, iodepth=16)], model="euro", currency="EUR", price_per_tib=1.0))
    put(desk, alice, found("none", [cell(iops=1e9, iodepth=16, iops_low=None)], model="none", price_per_tib=1.0))
    with database.writing() as link:
        refresh(link)
    assert front(catalogue.offers(shelf_of(database, "randread", 4096), 16)[1]) == frozenset()  # nothing is confirmed
    with database.writing() as link:
        link.execute(sa.update(result).where(result.c.title != "7").values(reproduced=1))
        refresh(link)
        audit.note(link, "", "reproduced", "all but one")
    currency, offers = catalogue.offers(shelf_of(database, "randread", 4096), 16)
    drawn = {offers[place].link.rpartition("/")[2] for place in front(offers)}
    said = """
      WITH point AS (SELECT result.product_id AS id, result.price_per_tib AS price, max(cell.iops) AS iops
        FROM cell JOIN result ON result.id = cell.result_id
        WHERE cell.rw = 'randread' AND cell.bs_bytes = 4096 AND cell.iodepth * cell.numjobs = 16
          AND cell.iops_low IS NOT NULL AND result.currency = 'USD' AND result.reproduced > 0 GROUP BY 1, 2)
      SELECT id FROM point WHERE NOT EXISTS (SELECT 1 FROM point AS other WHERE other.price <= point.price
        AND other.iops >= point.iops AND (other.price < point.price OR other.iops > point.iops))"""
    with database.reading() as link:
        assert drawn == set(link.execute(sa.text(said)).scalars())
    assert (currency, len(offers)) == ("USD", 130)
    assert 1 < len(drawn) < 20


def test_nothing_that_anybody_may_ask_reads_cells(client, database, desk, alice):
    put(desk, alice, found())
    read = []
    sa.event.listen(database.engine, "before_cursor_execute", lambda _link, _cursor, said, *_: read.append(said))
    for place in words("/ /?iops=5k&p99=9ms&kind=NAS&sort=value /products/contoso-n100 /results?q=nas /feed.atom"):
        assert client.get(place).status_code in (200, 308), place
        assert client.get(f"/api/v1{place}").status_code in (200, 404), place
    assert read
    assert not [said for said in read if " cell" in said.replace("cell_", "")]


def test_an_entry_that_ends_after_a_later_one_is_a_change_too(database):
    def state(number, action="a"):
        with database.writing() as link:
            values = {"id": number, "at": 0.0, "account_id": "", "action": action, "subject": "", "detail": {}}
            link.execute(sa.insert(tables.audit).values(values))
            return audit.state(link)

    found = [state(number) for number in (*range(1, 150), 151, 150, 152)]
    assert found == sorted(set(found))
    assert state(153, "signed in") == found[-1]


def titles(page):
    return [one.title for one in page.entries]


def test_words_and_facts(database, desk, alice):
    put(desk, alice, found("under the desk", vendor="Contoso", model="N100"))
    put(desk, alice, found("rack 7", vendor="Fabrikam", model="X 100%_1", protocol="iSCSI", drive="4 x 1 TB (SSD9)"))
    search = queries.search
    assert titles(search(database, Wanted(words="DESK contoso"))) == ["under the desk"]
    assert titles(search(database, Wanted(words="100%_1"))) == ["rack 7"]
    assert titles(search(database, Wanted(words="n%0"))) == []
    assert titles(search(database, Wanted(vendor_slug="contoso"))) == ["under the desk"]
    assert titles(search(database, Wanted(words="'; DROP TABLE result; --"))) == []


def test_words_are_looked_for_in_an_index(database):
    if not database.embedded:
        pytest.skip("PostgreSQL chooses by the size of the table")
    read = []
    sa.event.listen(database.engine, "before_cursor_execute", lambda _link, _cursor, *said: read.append(said[:2]))
    queries.search(database, Wanted(words="desk contoso"))
    statement, values = read[-1]
    with database.reading() as link:
        assert "result_words" in str(link.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", values).all())


def test_pages_hold_every_result_once_the_newest_first(database, desk, alice):
    made = [put(desk, alice, found(f"t{number}")) for number in range(7)]
    seen, cursor = [], ""
    while not seen or cursor:
        page = queries.search(database, Wanted(), cursor=cursor, limit=3)
        seen += [one.id for one in page.entries]
        cursor = page.next
    assert seen == made[::-1]


@pytest.mark.parametrize("cursor", ["x", "W10", "bnVsbA", "WzFd" * 200, "é"])
def test_a_cursor_that_is_none_is_told(database, cursor):
    with pytest.raises(UsageError, match="cursor"):
        queries.search(database, Wanted(), cursor=cursor)


def test_a_licence_that_forbids_keeps_it_private(database, desk, alice):
    put(desk, alice, found("forbidden", licence_says="no"))
    put(desk, alice, found("allowed", licence_says="no", licence_permission="by letter, 2026-01-02"))
    assert titles(queries.search(database, Wanted())) == ["allowed"]
