# SPDX-License-Identifier: Apache-2.0
"""Files made on targets, and the ledger of what was written to them."""

from __future__ import annotations

import sqlalchemy as sa

from ioatlas.store import schema as t
from ioatlas.store.database import Database


class Files(Database):
    """What was put on targets."""

    def register_file(self, path: str, target: str, size_bytes: int) -> None:
        """Write down a file before it is created, so that a crash cannot leave one that nobody knows."""
        with self._engine.begin() as link:
            link.execute(t.file_made.delete().where(t.file_made.c.path == path))
            link.execute(
                t.file_made.insert().values(
                    path=path, target=target, created_at=self._now(), size_bytes=size_bytes, ready=0
                )
            )

    def file_ready(self, path: str) -> None:
        with self._engine.begin() as link:
            link.execute(t.file_made.update().where(t.file_made.c.path == path).values(ready=1))

    def files(self, target: str) -> dict[str, tuple[int, bool]]:
        """{path: (size_bytes, laid out in full)} of files on a target that are not removed yet."""
        query = sa.select(t.file_made).where(t.file_made.c.target == target, t.file_made.c.removed_at.is_(None))
        with self._engine.connect() as link:
            return {row.path: (row.size_bytes, bool(row.ready)) for row in link.execute(query)}

    def file_removed(self, path: str) -> None:
        with self._engine.begin() as link:
            link.execute(t.file_made.update().where(t.file_made.c.path == path).values(removed_at=self._now()))

    def add_ledger(self, target: str, what: str, count_bytes: int) -> None:
        with self._engine.begin() as link:
            link.execute(t.ledger.insert().values(at=self._now(), target=target, what=what, bytes=count_bytes))

    def ledger_in_time(self) -> list[tuple[float, str, str, int]]:
        """(seconds since the epoch, target, what, bytes) in the order written."""
        with self._engine.connect() as link:
            rows = link.execute(sa.select(t.ledger).order_by(t.ledger.c.entry)).all()
        return [(row.at, row.target, row.what, row.bytes) for row in rows]

    def ledger(self) -> list[tuple[str, str, int]]:
        """(target, what, bytes) in the order written."""
        with self._engine.connect() as link:
            rows = link.execute(sa.select(t.ledger).order_by(t.ledger.c.entry)).all()
        return [(row.target, row.what, row.bytes) for row in rows]
