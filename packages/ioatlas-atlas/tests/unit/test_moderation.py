# SPDX-License-Identifier: Apache-2.0
"""The moderators' pages: who sees them, what their form does, and that every decision stays to be read."""

import pytest
import sqlalchemy as sa
from made import found, put
from test_mine import HERE, sign_in

from ioatlas_atlas import accounts, audit, moderation, queries
from ioatlas_atlas.records import Scope
from ioatlas_atlas.tables import result


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
