# SPDX-License-Identifier: Apache-2.0
"""What an account earns by what it gives, and what it may do for it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from enum import StrEnum

import sqlalchemy as sa

from ioatlas.atlas.database import insert_new
from ioatlas.atlas.tables import credit

MONTH_SECONDS = 30 * 86_400.0
MOST_A_MONTH = 10
"""Credits of one kind that count in 30 days: who sends much earns no more than who measures much."""


class Earned(StrEnum):
    """What is earned for. The texts stand in databases."""

    RESULT = "result"
    REPRODUCTION = "reproduction"
    REPRODUCED = "reproduced"
    REPLY = "reply"


POINTS = {Earned.RESULT: 1, Earned.REPRODUCTION: 3, Earned.REPRODUCED: 3, Earned.REPLY: 1}
RULES = (
    ("1 credit", "a verified, signed result of yours is public, and no check doubts it"),
    ("3 credits", "you made another's campaign again, and it came to the same"),
    ("3 credits", "another made yours again, and it came to the same"),
    ("1 credit", "you replied to a result of your product, as its vendor"),
    ("what counts", "A reproduction counts between two accounts, two keys and two clients."),
    (
        "a client",
        "It is told by its processors and memory as they were read there. What somebody typed in does not count.",
    ),
    ("at most", f"{MOST_A_MONTH} times of each kind in 30 days"),
    ("lost", "when the result is withdrawn or deleted"),
)
"""For the page of rules: each line's head and text."""


@dataclass(frozen=True)
class Allowance:
    """What an account may do. uploads: in a day. private: results that only it and its circles see."""

    credits: int
    uploads: int
    upload_bytes: int
    private: int


FIRST = Allowance(0, 50, 256 << 20, 100)
"""Of an account without credits."""
MOST = Allowance(0, 500, 1 << 30, 5000)


def allowance(points: int, upload_bytes: int = FIRST.upload_bytes) -> Allowance:
    """With so many credits. upload_bytes: that the service takes from an account without any."""
    size = min(upload_bytes * (20 + points) // 20, max(upload_bytes, MOST.upload_bytes))
    return Allowance(
        points, min(FIRST.uploads + 5 * points, MOST.uploads), size, min(FIRST.private + 10 * points, MOST.private)
    )


def earn(link: sa.Connection, account_id: str, what: Earned, subject: str) -> None:
    """Credits, once for each subject, and so many times in a month."""
    now = time.time()
    lately = (credit.c.account_id == account_id) & (credit.c.what == what) & (credit.c.at > now - MONTH_SECONDS)
    if link.execute(sa.select(sa.func.count()).where(lately)).scalar_one() >= MOST_A_MONTH:
        return
    values = {"account_id": account_id, "what": str(what), "subject": subject, "points": POINTS[what], "at": now}
    insert_new(link, credit, values)


def forfeit(link: sa.Connection, account_id: str, what: Earned, subject: str) -> None:
    """What was earned for a subject that is gone."""
    one = (credit.c.account_id == account_id) & (credit.c.what == what) & (credit.c.subject == subject)
    link.execute(sa.delete(credit).where(one))


def credits_of(link: sa.Connection, account_id: str) -> int:
    """All points of an account."""
    asked = sa.select(sa.func.coalesce(sa.func.sum(credit.c.points), 0)).where(credit.c.account_id == account_id)
    return int(link.execute(asked).scalar_one())


def earned_of(link: sa.Connection, account_id: str) -> dict[str, int]:
    """Points by what they were earned for."""
    asked = sa.select(credit.c.what, sa.func.sum(credit.c.points)).where(credit.c.account_id == account_id)
    return {what: int(points) for what, points in link.execute(asked.group_by(credit.c.what)).all()}
