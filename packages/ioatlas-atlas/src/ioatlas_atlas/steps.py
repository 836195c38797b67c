# SPDX-License-Identifier: Apache-2.0
"""The steps from one form of the database to the next. Each says its tables itself, without what a later one drops."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy import Boolean, Column, Double, ForeignKey, Index, Integer, MetaData, Table, Text
from sqlalchemy.exc import ProgrammingError
from sqlalchemy.schema import CreateTable

from ioatlas.model.units import format_size
from ioatlas_atlas.best import refresh
from ioatlas_atlas.kinds import media_of
from ioatlas_atlas.tables import best


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
    expires = Column("expires_at", Double, nullable=False, index=True)
    token = Column("token_id", Text, ForeignKey("token.id", ondelete="CASCADE"))
    Table("identity", known, _key("issuer"), _key("subject"), _to("account", index=True), _time("at")).create(link)
    columns = (_key("id"), _to("account"), token, _text("scopes"), _time("made_at"), expires)
    Table("browser", known, *columns).create(link)
    # What was withdrawn could be seen by all until today.
    link.execute(sa.text("UPDATE result SET published_at = uploaded_at WHERE state IN ('public', 'withdrawn')"))


def quicker_searches(link: sa.Connection) -> None:
    """To form 3: what searches look up in the order in which they want it."""
    for name in ("result_newest", "result_price", "cell_rate", "cell_bandwidth"):
        link.execute(sa.text(f"DROP INDEX IF EXISTS {name}"))
    link.execute(sa.text("CREATE INDEX result_time ON result (uploaded_at, id)"))
    link.execute(sa.text("CREATE INDEX result_cost ON result (price_per_tib, id)"))
    index_words(link)


def searches_without_rows(link: sa.Connection) -> None:
    """To form 4: an index of what a cell is found by, without those that are not."""
    usable = "usable" if link.dialect.name == "postgresql" else "usable = 1"
    columns = "result_id, rw, bs_bytes, iops_low, lat_p99_high_ns"
    link.execute(sa.text("DROP INDEX IF EXISTS cell_of"))
    link.execute(sa.text(f"CREATE INDEX cell_of ON cell ({columns}) WHERE {usable}"))


def one_publisher(link: sa.Connection) -> None:
    """To form 5: no circles and no credits; tokens that end with another one; one publisher of a
    campaign.
    """
    for name in ("shared", "membership", "circle", "credit"):
        link.execute(sa.text(f"DROP TABLE IF EXISTS {name}"))
    add_column(link, "token", Column("made_with", Text))
    _one_publisher_each(link)
    for name in ("cell_fast", "cell_soon", "cell_broad", "cell_any"):
        link.execute(sa.text(f"DROP INDEX IF EXISTS {name}"))
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


def products_first(link: sa.Connection) -> None:
    """To form 6: what is known of a product, and titles that tell results apart."""
    for name in ("kind", "media", "currency"):
        add_column(link, "product", Column(name, Text, nullable=False, server_default=""))
    for name in ("results", "evaluators", "reproduced"):
        add_column(link, "product", Column(name, Integer, nullable=False, server_default="0"))
    add_column(link, "product", Column("newest", Double, nullable=False, server_default="0"))
    add_column(link, "product", Column("year", Integer))
    add_column(link, "product", Column("price_per_tib", Double))
    asked = """SELECT result.id, vendor, model, protocol, drive, product_id, (SELECT max(footprint_bytes) FROM cell
      WHERE result_id = result.id) AS size FROM result LEFT JOIN product ON product.id = product_id"""
    for one in link.execute(sa.text(asked)).mappings().all():
        named = f"{one['vendor'] or ''} {one['model'] or ''}".strip() or "Unnamed product"
        title = ", ".join(filter(None, (named, one["protocol"], format_size(one["size"] or 0) if one["size"] else "")))
        values = {"id": one["id"], "title": title[:480], "media": media_of(one["drive"]), "product": one["product_id"]}
        link.execute(sa.text("UPDATE result SET title = :title WHERE id = :id"), values)
        link.execute(sa.text("UPDATE product SET media = :media WHERE id = :product"), values)


def doubts_of_loads(link: sa.Connection) -> None:
    """To form 7: what speaks against single loads, and the best of each product by load and by whether it is confirmed.

    The table of the best follows from the others: any form of it may be made anew.
    """
    add_column(link, "cell", Column("doubt", Text, nullable=False, server_default=""))
    link.execute(sa.text("DROP TABLE IF EXISTS best"))
    best.create(link)
    refresh(link)


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
