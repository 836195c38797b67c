# SPDX-License-Identifier: Apache-2.0
"""The pages of moderators, vendors and evaluators: who sees them, what their forms do, what stays to be read."""

import pytest
import sqlalchemy as sa
from made import found, put
from test_mine import HERE, sign_in

from ioatlas_atlas import accounts, audit, moderation, queries, removal
from ioatlas_atlas.records import AccountKind, Scope, Viewer
from ioatlas_atlas.tables import result, trace


def _doubt(database, number):
    with database.writing() as link:
        values = {"state": "flagged", "flag": "20 times too <fast>", "reason": "20 times too <fast>"}
        link.execute(sa.update(result).where(result.c.id == number).values(**values))


@pytest.fixture
def doubted(people, database, desk):
    """A result of alice's that was flagged."""
    number = put(desk, accounts.account_named(database, "alice"), found("much-too-fast"))
    _doubt(database, number)
    return number


def decide(client, number, do, reason="", headers=HERE):
    form = {"do": do, "reason": reason}
    return client.post(f"/moderate/{number}", data=form, headers=headers, follow_redirects=False)


@pytest.mark.parametrize("who", ["nobody", "alice", "robert", "a moderator whose token does not allow it"])
def test_nobody_else_sees_the_page_or_decides(client, database, doubted, who):
    if who in ("alice", "robert"):
        sign_in(client, database, who)
    elif who != "nobody":
        text = accounts.new_token(database, accounts.account_named(database, "carol"), [Scope.READ])
        client.post("/sign-in", data={"token": text}, headers=HERE)
    wanted = 401 if who == "nobody" else 403
    for answer in (
        client.get("/moderate"),
        client.get(f"/moderate/{doubted}"),
        decide(client, doubted, "release", "x"),
    ):
        assert answer.status_code == wanted
        assert "much-too-fast" not in answer.text
    assert queries.result_of(database, doubted) is None


def test_a_moderator_sees_why_decides_with_a_reason_and_it_stays_to_be_read(client, database, doubted):
    sign_in(client, database, "carol")
    assert "/moderate" in client.get("/mine").text
    page = client.get(f"/moderate/{doubted}")
    assert "much-too-fast" in page.text
    assert "20 times too &lt;fast&gt;" in page.text
    assert "script" not in page.headers["content-security-policy"]
    assert page.headers["cache-control"] == "no-store"
    assert f"/moderate/{doubted}" in client.get(f"/r/{doubted}").text
    assert "one line" in decide(client, doubted, "release").text  # without a reason nothing is decided
    assert "nothing was chosen" in decide(client, doubted, "delete", "x").text
    assert decide(client, doubted, "release", "the data sheet says so").headers["location"] == "/moderate"
    assert queries.result_of(database, doubted).state == "public"
    assert "nobody flagged it" in decide(client, doubted, "release", "again").text
    assert decide(client, doubted, "flag", "after all").status_code == 303
    assert queries.result_of(database, doubted) is None
    trail = client.get("/moderate").text
    for reason in ("the data sheet says so", "after all"):
        assert reason in trail
    assert [one.account for one in audit.entries(database, begins="decision: ")] == ["carol"] * 2
    assert client.get("/moderate/none").status_code == 404


@pytest.mark.parametrize("origin", ["http://evil.example", "null", ""])
def test_a_form_of_another_site_decides_nothing(client, database, doubted, origin):
    sign_in(client, database, "carol")
    assert decide(client, doubted, "release", "x", {"Origin": origin}).status_code == 403
    assert queries.result_of(database, doubted) is None


def test_nobody_decides_on_his_own(client, database, desk, people):
    own = put(desk, accounts.account_named(database, "carol"), found("my own"))
    _doubt(database, own)
    sign_in(client, database, "carol")
    assert "your own" in client.get(f"/moderate/{own}").text
    assert "his own result" in decide(client, own, "release", "it is mine").text
    answer = client.post(
        f"/api/v1/results/{own}/decision", json={"decision": "release", "reason": "x"}, headers=people["carol"]
    )
    assert answer.status_code == 403
    assert queries.result_of(database, own) is None


def test_anybody_reports_a_result_or_asks_for_an_account_and_moderators_read_it(
    client, database, desk, people, monkeypatch
):
    number = put(desk, accounts.account_named(database, "alice"), found("nas"))
    report = {"about": number, "text": "it is <another> product"}
    assert client.post("/note", data=report, headers=HERE).status_code == 200
    assert client.post("/note", data={"about": "", "text": "Lab 5"}, headers=HERE).status_code == 200
    for form, headers, status in (({"text": " "}, HERE, 422), ({"text": "x" * 501}, HERE, 422), (report, {}, 403)):
        assert client.post("/note", data=form, headers=headers).status_code == status
    page = client.get("/moderate", headers=people["carol"]).text
    assert "it is &lt;another&gt; product" in page
    assert f'href="/moderate/{number}"' in page
    assert "Lab 5" in page
    assert page.count("not signed in") == 2
    assert client.get("/moderate", headers=people["alice"]).status_code == 403
    monkeypatch.setattr(moderation, "MOST_NOTES", 2)
    assert client.post("/note", data=report, headers=HERE).status_code == 429


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
