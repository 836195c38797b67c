# SPDX-License-Identifier: Apache-2.0
"""Lists of results: words, paging, what a licence keeps private."""

import pytest
import sqlalchemy as sa
from made import found, put

from ioatlas.model.errors import UsageError
from ioatlas_atlas import queries
from ioatlas_atlas.records import Wanted


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
