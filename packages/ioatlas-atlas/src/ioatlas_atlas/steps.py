# SPDX-License-Identifier: Apache-2.0
"""The steps from one form of the database to the next. Tables, columns and indexes are those of `tables.py`, whatever
the form was before; a step names what is gone, and says what the rows hold.
"""

from __future__ import annotations

import contextlib

import sqlalchemy as sa
from sqlalchemy.exc import ProgrammingError
from sqlalchemy.schema import CreateTable

from ioatlas.model.units import format_size, words
from ioatlas_atlas.best import refresh
from ioatlas_atlas.extracted import media_of
from ioatlas_atlas.tables import metadata

_GONE_TABLES = ("shared", "membership", "circle", "credit", "best")
"""`best` follows from the others, and is made anew."""
_GONE_INDEXES = words("""
    result_newest result_price result_cost ix_result_product_id
    cell_rate cell_bandwidth cell_of cell_fast cell_soon cell_broad cell_any
""")


def since_0_3(link: sa.Connection) -> None:
    """To form 7. Forms 2 to 6, and 8, were those of no release, and are brought on all the same."""
    for table in _GONE_TABLES:
        link.execute(sa.text(f"DROP TABLE IF EXISTS {table}"))
    for index in _GONE_INDEXES:
        link.execute(sa.text(f"DROP INDEX IF EXISTS {index}"))
    complete(link)
    for order in (
        # In form 1 all could see what was withdrawn later.
        """UPDATE result SET published_at = uploaded_at WHERE state IN ('public', 'withdrawn')
             AND NOT EXISTS (SELECT 1 FROM atlas_schema WHERE version > 1)""",
        "UPDATE trace SET about_id = substr(text, 13) WHERE text LIKE 'replaced by %'",
        # The first one publishes a campaign of several accounts; a moderator decides on the others' results.
        """INSERT INTO publisher (campaign_id, owner_id) SELECT campaign_id, owner_id FROM (
             SELECT campaign_id, owner_id, row_number() OVER (
               PARTITION BY campaign_id ORDER BY coalesce(published_at, uploaded_at), uploaded_at, id) AS place
             FROM result WHERE state IN ('public', 'embargoed') OR published_at IS NOT NULL) AS shown
           WHERE place = 1 ON CONFLICT DO NOTHING""",
        """UPDATE result SET state = 'flagged', flag = 'another account published this campaign', decision = '',
             reason = 'another account published this campaign'
           WHERE state IN ('public', 'embargoed') AND owner_id <>
             (SELECT owner_id FROM publisher WHERE publisher.campaign_id = result.campaign_id)""",
    ):
        link.execute(sa.text(order))
    _name_products(link)
    refresh(link)


def without_words(link: sa.Connection) -> None:
    """To form 10. Nothing ever read the words of a product: a search looks at its name."""
    complete(link)
    link.execute(sa.text("ALTER TABLE product DROP COLUMN words"))


def complete(link: sa.Connection) -> None:
    """Every table, column and index of today that the database has not. Rows have the default of a new column."""
    index_words(link)
    seen = sa.inspect(link)
    for table in metadata.sorted_tables:
        if not seen.has_table(table.name):
            table.create(link)
            continue
        columns = {one["name"] for one in seen.get_columns(table.name)}
        indexes = {one["name"] for one in seen.get_indexes(table.name)}
        ddl = link.dialect.ddl_compiler(link.dialect, CreateTable(table))
        for column in table.columns:
            if column.name not in columns:
                said = ddl.get_column_specification(column)
                link.execute(sa.text(f"ALTER TABLE {table.name} ADD COLUMN {said}"))
        for index in table.indexes:
            if index.name not in indexes:
                index.create(link)


def _name_products(link: sa.Connection) -> None:
    """Titles that tell results apart, and the media of products."""
    asked = """SELECT result.id, vendor, model, protocol, drive, product_id, (SELECT max(footprint_bytes) FROM cell
      WHERE result_id = result.id) AS size FROM result LEFT JOIN product ON product.id = product_id"""
    for one in link.execute(sa.text(asked)).mappings().all():
        named = f"{one['vendor'] or ''} {one['model'] or ''}".strip() or "Unnamed product"
        title = ", ".join(filter(None, (named, one["protocol"], format_size(one["size"] or 0) if one["size"] else "")))
        values = {"id": one["id"], "title": title[:480], "media": media_of(one["drive"]), "product": one["product_id"]}
        link.execute(sa.text("UPDATE result SET title = :title WHERE id = :id"), values)
        link.execute(sa.text("UPDATE product SET media = :media WHERE id = :product"), values)


def index_words(link: sa.Connection) -> None:
    """Parts of words are found by trigrams where PostgreSQL has its extension for that. SQLite looks at every row's
    words: in an index that holds them, for rows are thirty times as long.
    """
    if link.dialect.name != "postgresql":
        link.execute(sa.text("CREATE INDEX IF NOT EXISTS result_words ON result (uploaded_at, id, words)"))
        return
    there = sa.text("SELECT count(*) FROM pg_available_extensions WHERE name = 'pg_trgm'")
    if link.execute(there).scalar_one():
        # A role that may not make an extension: the atlas works without.
        with contextlib.suppress(ProgrammingError), link.begin_nested():
            link.execute(sa.text("CREATE EXTENSION IF NOT EXISTS pg_trgm"))
            link.execute(sa.text("CREATE INDEX IF NOT EXISTS result_words ON result USING gin (words gin_trgm_ops)"))
