# SPDX-License-Identifier: Apache-2.0
"""The form of the database: made once, brought on step by step, refused when it is not ours to read."""

import contextlib
from pathlib import Path

import pytest
import sqlalchemy as sa

from ioatlas.model.errors import UsageError
from ioatlas_atlas import catalogue, migrations, queries
from ioatlas_atlas.migrations import Form, check_current, form_of, migrate
from ioatlas_atlas.records import Wanted


def test_an_empty_database_is_not_used_before_it_is_made(empty):
    with pytest.raises(UsageError, match="empty"):
        check_current(empty)
    assert migrate(empty) == Form(0, migrations.newest())
    check_current(empty)
    assert migrate(empty).current


def _add_a_column(link):
    link.execute(sa.text("ALTER TABLE product ADD COLUMN since TEXT"))


def _fail(link):
    link.execute(sa.text("ALTER TABLE product ADD COLUMN never TEXT"))
    raise ZeroDivisionError


def test_a_step_is_there_whole_or_not_at_all(database):
    at = migrations.newest()
    steps = {at + 1: _add_a_column, at + 2: _fail}
    with pytest.raises(ZeroDivisionError):
        migrate(database, steps)
    names = {column["name"] for column in sa.inspect(database.engine).get_columns("product")}
    assert "since" in names
    assert "never" not in names
    assert form_of(database, steps) == Form(at + 1, at + 2)
    with pytest.raises(UsageError, match="newer ioatlas"):
        check_current(database)


FORMS = Path(__file__).parent / "forms"
"""Dumps of databases of older forms with some rows, by form and kind."""


def _load(database, form):
    text = (FORMS / f"{form}.{database.engine.dialect.name}.sql").read_text(encoding="utf-8")
    with contextlib.closing(database.engine.raw_connection()) as link:
        if database.embedded:
            link.driver_connection.executescript(f"PRAGMA foreign_keys=OFF; {text}; PRAGMA foreign_keys=ON")
        else:
            link.driver_connection.execute(text)
            link.commit()


def _shape(engine):
    """What of a database's form matters: columns, keys, indexes."""
    seen = sa.inspect(engine)
    return {
        table: {
            "columns": {(one["name"], str(one["type"]), one["nullable"]) for one in seen.get_columns(table)},
            "key": seen.get_pk_constraint(table)["constrained_columns"],
            "indexes": {
                (one["name"], *one["column_names"], *(str(said) for said in one.get("dialect_options", {}).values()))
                for one in seen.get_indexes(table)
            },
            "refers": {
                (*one["constrained_columns"], one["referred_table"], one["options"].get("ondelete"))
                for one in seen.get_foreign_keys(table)
            },
        }
        for table in seen.get_table_names()
    }


@pytest.mark.parametrize("form", [1])
def test_a_database_of_an_older_form_gets_todays_and_keeps_its_rows(empty, another, form):
    _load(empty, form)
    with pytest.raises(UsageError, match=f"form {form}"):
        check_current(empty)
    assert migrate(empty) == Form(form, migrations.newest())
    migrate(another)
    assert _shape(empty.engine) == _shape(another.engine)
    shown = {(one.id, one.title) for one in queries.search(empty, Wanted()).entries}
    assert shown == {("old0000001", "Contoso N100, NFS, 1 GiB")}
    known = catalogue.product_of(empty, "contoso-n100")
    assert (known.results, known.reproduced, known.price_per_tib, known.currency) == (1, 1, 100.0, "USD")
    assert [one["iops"] for one in catalogue.loads_of(empty, "contoso-n100")]
    with empty.reading() as link:
        flagged = set(link.execute(sa.text("SELECT id FROM result WHERE state = 'flagged'")).scalars())
    assert flagged == {"old0000004", "old0000005"}  # another account published their campaign first
    assert queries.result_of(empty, "old0000006").state == "withdrawn"
    assert queries.result_of(empty, "old0000001").badge == "reproduced by 1"
    assert [one.text for one in queries.replies_of(empty, "old0000001")] == ["Thank you."]
