# SPDX-License-Identifier: Apache-2.0
"""The steps from one form of the database to the next. Each says its tables itself: a step is never changed."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy import BigInteger, Boolean, Column, Double, ForeignKey, Index, Integer, MetaData, Table, Text
from sqlalchemy.exc import ProgrammingError
from sqlalchemy.schema import CreateTable

from ioatlas.atlas.best import summarise


def add_column(link: sa.Connection, table: str, column: sa.Column[object]) -> None:
    """A column of a table that has rows."""
    made = CreateTable(Table(table, MetaData(), column))
    says = link.dialect.ddl_compiler(link.dialect, made).get_column_specification(column)
    link.execute(sa.text(f"ALTER TABLE {table} ADD COLUMN {says}"))


def circles_and_visibility(link: sa.Connection) -> None:
    """To form 2: circles, browsers that are signed in, corrections, decisions, what names a client."""
    add_column(link, "result", Column("published_at", Double))
    add_column(link, "result", Column("replaces", Text))
    add_column(link, "result", Column("decision", Text, nullable=False, server_default=""))
    add_column(link, "result", Column("testbed", Text, nullable=False, server_default=""))
    add_column(link, "reproduction", Column("counted", Boolean, nullable=False, server_default=sa.true()))
    known = MetaData()
    replaces = Table("result", known, Column("id", Text, primary_key=True), Column("replaces", Text))
    Index("result_replaces", replaces.c.replaces).create(link)
    for name in ("account", "token"):
        Table(name, known, Column("id", Text, primary_key=True))
    made = [
        Table("circle", known, _key("id"), _text("name"), _time("made_at")),
        Table(
            "membership",
            known,
            _to("circle", primary_key=True),
            _to("account", primary_key=True, index=True),
            _text("role"),
            _time("invited_at"),
            Column("joined_at", Double),
        ),
        Table(
            "shared",
            known,
            _to("result", primary_key=True),
            _to("circle", primary_key=True, index=True),
            _time("at"),
        ),
        Table("identity", known, _key("issuer"), _key("subject"), _to("account", index=True), _time("at")),
        Table(
            "browser",
            known,
            _key("id"),
            _to("account"),
            Column("token_id", Text, ForeignKey("token.id", ondelete="CASCADE")),
            _text("scopes"),
            _time("made_at"),
            Column("expires_at", Double, nullable=False, index=True),
        ),
    ]
    for table in made:
        table.create(link)
    # What was withdrawn could be seen by all until today.
    link.execute(sa.text("UPDATE result SET published_at = uploaded_at WHERE state IN ('public', 'withdrawn')"))


def quicker_searches(link: sa.Connection) -> None:
    """To form 3: what searches look up in the order in which they want it."""
    for name in ("result_newest", "result_price", "cell_rate", "cell_bandwidth"):
        link.execute(sa.text(f"DROP INDEX IF EXISTS {name}"))
    made = {
        "result_time": "result (uploaded_at, id)",
        "result_cost": "result (price_per_tib, id)",
        "cell_fast": "cell (rw, bs_bytes, iops_low, lat_p99_high_ns, result_id)",
        "cell_soon": "cell (rw, bs_bytes, lat_p99_high_ns, result_id)",
        "cell_broad": "cell (rw, bs_bytes, bw_low, result_id)",
        "cell_any": "cell (bw_low, result_id)",
        "cell_of": "cell (result_id, rw, bs_bytes, iops_low, lat_p99_high_ns)",
    }
    for name, what in made.items():
        link.execute(sa.text(f"CREATE INDEX {name} ON {what}"))
    index_words(link)


def searches_without_rows(link: sa.Connection) -> None:
    """To form 4: indexes of what may be found alone, which answer without a look at the rows of cells."""
    made = {
        "cell_fast": "rw, bs_bytes, iops_low, lat_p99_high_ns, result_id",
        "cell_soon": "rw, bs_bytes, lat_p99_high_ns, result_id",
        "cell_broad": "rw, bs_bytes, bw_low, result_id",
        "cell_any": "bw_low, result_id",
        "cell_of": "result_id, rw, bs_bytes, iops_low, lat_p99_high_ns",
    }
    usable = "usable" if link.dialect.name == "postgresql" else "usable = 1"
    for name, columns in made.items():
        link.execute(sa.text(f"DROP INDEX {name}"))
        link.execute(sa.text(f"CREATE INDEX {name} ON cell ({columns}) WHERE {usable}"))


def todays_form(link: sa.Connection) -> None:
    """To form 5: no circles and no credits; tokens that end with another one; one publisher of a
    campaign; a summary that searches for performance read.
    """
    for name in ("shared", "membership", "circle", "credit"):
        link.execute(sa.text(f"DROP TABLE {name}"))
    add_column(link, "token", Column("made_with", Text))
    _one_publisher_each(link)
    _summary(link)
    add_column(link, "trace", Column("about_id", Text))
    link.execute(sa.text("UPDATE trace SET about_id = substr(text, 13) WHERE text LIKE 'replaced by %'"))


def _one_publisher_each(link: sa.Connection) -> None:
    """The first one of a campaign that several accounts published; a moderator decides on the others'."""
    known = MetaData()
    Table("account", known, Column("id", Text, primary_key=True))
    owner = Column("owner_id", Text, ForeignKey("account.id"), nullable=False)
    Table("publisher", known, _key("campaign_id"), owner).create(link)
    for order in (
        """INSERT INTO publisher (campaign_id, owner_id) SELECT campaign_id, owner_id FROM (
             SELECT campaign_id, owner_id, row_number() OVER (
               PARTITION BY campaign_id ORDER BY coalesce(published_at, uploaded_at), uploaded_at, id) AS place
             FROM result WHERE state IN ('public', 'embargoed') OR published_at IS NOT NULL) AS shown
           WHERE place = 1""",
        """UPDATE result SET state = 'flagged', flag = 'another account published this campaign', decision = '',
             reason = 'another account published this campaign'
           WHERE state IN ('public', 'embargoed') AND owner_id <>
             (SELECT owner_id FROM publisher WHERE publisher.campaign_id = result.campaign_id)""",
    ):
        link.execute(sa.text(order))


def _summary(link: sa.Connection) -> None:
    """What searches for performance read, instead of indexes over all cells."""
    for name in ("cell_fast", "cell_soon", "cell_broad", "cell_any"):
        link.execute(sa.text(f"DROP INDEX {name}"))
    known = MetaData()
    Table("result", known, Column("id", Text, primary_key=True))
    bounds = [Column(name, Double) for name in ("iops", "bw_bytes_per_s", "p99_ns", "mean_ns")]
    table = Table(
        "best",
        known,
        _to("result", primary_key=True),
        _key("rw"),
        Column("bs_bytes", BigInteger, primary_key=True, autoincrement=False),
        _time("uploaded_at"),
        Column("price_per_tib", Double),
        Column("directions", Integer, nullable=False),
        *bounds,
    )
    table.create(link)
    summarise(link)
    more = ("result_id", "directions", *(one.name for one in bounds))
    for name, order in (("best_newest", "uploaded_at"), ("best_cheapest", "price_per_tib")):
        Index(name, *(table.c[one] for one in ("rw", "bs_bytes", order, *more))).create(link)


def index_words(link: sa.Connection) -> None:
    """Parts of words are found by an index where PostgreSQL has its extension for that, and row by row elsewhere."""
    if link.dialect.name != "postgresql":
        return
    there = sa.text("SELECT count(*) FROM pg_available_extensions WHERE name = 'pg_trgm'")
    if not link.execute(there).scalar_one():
        return
    try:
        with link.begin_nested():
            link.execute(sa.text("CREATE EXTENSION IF NOT EXISTS pg_trgm"))
            for name, what in (("result_words", "words"), ("result_drive", "lower(drive)")):
                link.execute(sa.text(f"CREATE INDEX {name} ON result USING gin (({what}) gin_trgm_ops)"))
    except ProgrammingError:  # the role may not: the atlas works without
        return


def _key(name: str) -> sa.Column[str]:
    return Column(name, Text, primary_key=True)


def _text(name: str) -> sa.Column[str]:
    return Column(name, Text, nullable=False)


def _time(name: str) -> sa.Column[float]:
    return Column(name, Double, nullable=False)


def _to(table: str, *, primary_key: bool = False, index: bool = False) -> sa.Column[str]:
    to = ForeignKey(f"{table}.id", ondelete="CASCADE")
    return Column(f"{table}_id", Text, to, primary_key=primary_key, index=index or None, nullable=False)
