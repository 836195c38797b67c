# SPDX-License-Identifier: Apache-2.0
"""Everything written to a folder, and an atlas made from it."""

import pytest
import sqlalchemy as sa
from made import found, put

from ioatlas.model.errors import RefusedError, UsageError
from ioatlas_atlas import queries, tables
from ioatlas_atlas.backup import backup, restore
from ioatlas_atlas.blobs import Blobs
from ioatlas_atlas.database import open_database
from ioatlas_atlas.records import Wanted


def rows(database):
    with database.reading() as link:
        return {
            table.name: sorted(map(repr, link.execute(sa.select(table)).all()))
            for table in tables.metadata.sorted_tables
            if table is not tables.schema
        }


def test_a_restored_atlas_holds_the_same_and_goes_on(database, desk, alice, tmp_path):
    for number in range(3):
        put(desk, alice, found(f"n{number}"))
    copied = backup(database, desk.blobs, tmp_path / "backup")
    assert (copied.results, copied.bundles, copied.missing) == (3, 3, ())
    again = open_database(f"sqlite:///{tmp_path}/again.sqlite")
    blobs = Blobs(tmp_path / "again")
    assert restore(again, blobs, tmp_path / "backup") == copied
    assert rows(again) == rows(database)
    assert [one for one, _ in blobs.kept()] == [one for one, _ in desk.blobs.kept()]
    with pytest.raises(RefusedError, match="not empty"):
        restore(database, desk.blobs, tmp_path / "backup")
    with pytest.raises(RefusedError, match="holds something"):
        backup(database, desk.blobs, tmp_path / "backup")
    again.close()


def test_a_changed_backup_is_refused_and_nothing_is_brought(database, desk, alice, tmp_path):
    put(desk, alice, found())
    backup(database, desk.blobs, tmp_path / "backup")
    file = tmp_path / "backup" / "tables" / "result.jsonl"
    file.write_bytes(file.read_bytes().replace(b"nas", b"san"))
    again = open_database(f"sqlite:///{tmp_path}/again.sqlite")
    with pytest.raises(UsageError, match="not as it was written"):
        restore(again, Blobs(tmp_path / "again"), tmp_path / "backup")
    assert queries.search(again, Wanted()).entries == ()
    with pytest.raises(UsageError, match="no backup"):
        restore(again, Blobs(tmp_path / "again"), tmp_path)
    again.close()
