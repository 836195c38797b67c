# SPDX-License-Identifier: Apache-2.0
"""Retention: what is over goes, what a result rests on stays."""

import time

import sqlalchemy as sa
from made import found, put

from ioatlas_atlas import accounts, queries
from ioatlas_atlas.records import Scope, Viewer
from ioatlas_atlas.tables import audit, result
from ioatlas_atlas.tidy import Kept, tidy


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
    assert queries.traces_of(database, draft)[0].what == "deleted"
