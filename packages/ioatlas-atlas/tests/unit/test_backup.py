# SPDX-License-Identifier: Apache-2.0
"""Everything written to a folder, and an atlas made from it; retention: what is over goes, what is needed stays."""

import time

import pytest
import sqlalchemy as sa
from made import found, put

from ioatlas.model.errors import RefusedError, UsageError
from ioatlas_atlas import accounts, queries, tables
from ioatlas_atlas.backup import backup, restore
from ioatlas_atlas.blobs import Blobs
from ioatlas_atlas.database import open_database
from ioatlas_atlas.records import Scope, Viewer, Wanted
from ioatlas_atlas.tables import audit, result
from ioatlas_atlas.tidy import Kept, tidy


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


def test_what_is_over_goes_and_the_rest_stays(database, desk, alice):
    viewer = Viewer(alice, frozenset(Scope))
    draft, public = (put(desk, alice, found(name), private=name == "draft") for name in ("draft", "public"))
    accounts.new_token(database, alice, seconds=1.0)
    long_ago = time.time() - 1000 * 86_400
    with database.writing() as link:
        link.execute(sa.update(result).values(uploaded_at=long_ago))
        link.execute(sa.update(audit).where(audit.c.action == "upload").values(at=long_ago))
        link.execute(sa.text("UPDATE token SET expires_at = 1"))
    would = tidy(database, desk.blobs, Kept(drafts=365), dry_run=True)
    assert (would["audit"], would["tokens"], would["drafts"]) == (2, 1, 1)
    assert tidy(database, desk.blobs, Kept())["drafts"] == 0  # only who asks for it
    done = tidy(database, desk.blobs, Kept(drafts=365))
    assert (done["audit"], done["tokens"], done["drafts"]) == (0, 0, 1)
    there = {number for number in (draft, public) if queries.result_of(database, number, viewer)}
    assert there == {public}
    assert len(list(desk.blobs.kept())) == 1
    assert queries.traces_of(database, draft) == ()
