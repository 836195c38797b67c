# SPDX-License-Identifier: Apache-2.0
"""The form of a vendor's reply and the evaluator's answer: who gets it, and what it shows first."""

import pytest
import sqlalchemy as sa
from made import found, put
from test_mine import HERE, sign_in

from ioatlas_atlas import accounts, queries, removal
from ioatlas_atlas.records import AccountKind, Scope, Viewer
from ioatlas_atlas.tables import trace


@pytest.fixture
def number(people, database, desk):
    """A result of alice's, of a product of Contoso."""
    for name in ("contoso", "fabrikam"):
        accounts.new_account(database, name, AccountKind.VENDOR, name.title())
    return put(desk, accounts.account_named(database, "alice"), found())


def say(client, number, text, do="send", headers=HERE):
    form = {"text": text, "do": do}
    return client.post(f"/r/{number}/reply", data=form, headers=headers, follow_redirects=False)


def versions(database, number):
    return [(one.account, one.version, one.text) for one in queries.replies_of(database, number)]


def test_a_vendor_looks_at_its_reply_sends_it_and_changes_it(client, database, number):
    assert f"/r/{number}/reply" not in client.get(f"/r/{number}").text
    sign_in(client, database, "contoso")
    assert "Reply as its vendor" in client.get(f"/r/{number}").text
    page = client.get(f"/r/{number}/reply")
    assert "vendor, verified" in page.text
    assert "script" not in page.headers["content-security-policy"]
    assert page.headers["cache-control"] == "no-store"
    looked = say(client, number, "Firmware <7.3>\r\nis out.  ", "preview")
    assert "version 1" in looked.text
    assert "<p>Firmware &lt;7.3&gt;\nis out.</p>" in looked.text
    assert versions(database, number) == []  # it was looked at alone
    sent = say(client, number, "Firmware <7.3>\r\nis out.")
    assert (sent.status_code, sent.headers["location"]) == (303, f"/r/{number}#replies")
    assert "Firmware &lt;7.3&gt;" in client.get(f"/r/{number}/reply").text  # to be changed
    assert say(client, number, "Firmware <7.3>\r\nis out.").status_code == 303  # pressed twice
    assert versions(database, number) == [("contoso", 1, "Firmware <7.3>\nis out.")]
    assert "version 2" in say(client, number, "Measure 7.3.", "preview").text
    assert say(client, number, "Measure 7.3.").status_code == 303
    assert versions(database, number) == [("contoso", 2, "Measure 7.3.")]
    text = client.get(f"/r/{number}").text
    assert "Firmware &lt;7.3&gt;" in text  # the older version stays

    sign_in(client, database, "alice")
    assert "Measure 7.3." in client.get(f"/r/{number}/reply").text  # what it answers
    assert say(client, number, "I will.").status_code == 303
    text = client.get(f"/r/{number}").text
    assert text.index("Measure 7.3.") < text.index("I will.")
    with database.reading() as link:
        told = link.execute(sa.select(trace.c.text).where(trace.c.what == "reply").order_by(trace.c.at)).scalars().all()
    assert told == ["the vendor replied", "the vendor changed its reply", "the evaluator replied"]


@pytest.mark.long("atlas")
@pytest.mark.parametrize(
    ("text", "why"),
    [("", "a text"), (" \r\n ", "a text"), ("x" * 4001, "shorten"), ("a\u202eb", "a text"), ("a\x00b", "a text")],
    ids=["empty", "blank", "long", "right to left", "NUL"],
)
def test_a_text_that_is_none_is_told_and_not_lost(client, database, number, text, why):
    sign_in(client, database, "contoso")
    for do in ("preview", "send"):
        answer = say(client, number, text, do)
        assert answer.status_code == 422
        assert why in answer.text
        assert text.strip().replace("\x00", "") in answer.text.replace("\x00", "")
    assert versions(database, number) == []


def test_nobody_else_gets_the_form(client, database, number, desk):
    assert client.get(f"/r/{number}/reply").status_code == say(client, number, "x").status_code == 401
    for name in ("fabrikam", "robert", "carol"):
        sign_in(client, database, name)
        assert "only the product&#39;s vendor" in client.get(f"/r/{number}/reply").text
        assert say(client, number, "Buy ours.").status_code == 403
        assert f"/r/{number}/reply" not in client.get(f"/r/{number}").text
    hidden = put(desk, accounts.account_named(database, "alice"), found("hidden"), private=True)
    sign_in(client, database, "contoso")
    assert client.get(f"/r/{hidden}/reply").status_code == say(client, hidden, "x").status_code == 404
    for origin in ("http://evil.example", "null", ""):
        assert say(client, number, "x", headers={"Origin": origin}).status_code == 403
    reads = accounts.new_token(database, accounts.account_named(database, "contoso"), [Scope.READ])
    client.post("/sign-in", data={"token": reads}, headers=HERE)
    assert say(client, number, "x").status_code == 403
    assert versions(database, number) == versions(database, hidden) == []


def test_nothing_is_said_beside_what_was_withdrawn(client, database, number):
    owner = Viewer(accounts.account_named(database, "alice"), frozenset(Scope))
    removal.withdraw(database, queries.result_of(database, number, owner), owner, "a cable")
    sign_in(client, database, "contoso")
    assert "it was withdrawn" in client.get(f"/r/{number}/reply").text
    assert say(client, number, "x").status_code == 403
