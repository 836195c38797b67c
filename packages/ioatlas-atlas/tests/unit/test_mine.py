# SPDX-License-Identifier: Apache-2.0
"""Signing in with a token, and the pages of one's own: who sees them, and what their forms do."""

import time

import pytest
from made import found, put

from ioatlas.model.errors import UsageError
from ioatlas_atlas import accounts, queries

HERE = {"Origin": "http://testserver"}


def sign_in(client, database, name):
    token = accounts.new_token(database, accounts.account_named(database, name))
    answer = client.post("/sign-in", data={"token": token}, headers=HERE, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/mine")
    return token, answer


@pytest.fixture
def own(client, people, database, desk):
    """Alice is signed in; a result of hers."""
    sign_in(client, database, "alice")
    return put(desk, accounts.account_named(database, "alice"), found("forbidden-one", licence_says="no"))


def do(client, number, do, text="", headers=HERE, **more):
    form = {"do": do, "text": text, **more}
    return client.post(f"/mine/{number}", data=form, headers=headers, follow_redirects=False)


def test_the_cookie_is_kept_from_scripts_and_ends_with_its_token(client, people, database):
    token, answer = sign_in(client, database, "alice")
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie
    page = client.get("/mine")
    assert page.status_code == 200
    assert answer.headers["cache-control"] == page.headers["cache-control"] == "no-store"
    assert page.headers["referrer-policy"] == "same-origin"  # with none, a browser does not say whose form it sends
    accounts.revoke(database, token.split("_")[1])
    assert client.get("/mine").status_code == 401
    assert client.post("/sign-in", data={"token": token}, headers=HERE).status_code == 403


def test_one_sees_ones_own_and_nobody_elses(client, people, database, own):
    assert "forbidden-one" in client.get("/mine").text
    assert "forbids publishing" in client.get("/mine").text
    assert client.get(f"/mine/{own}").status_code == 200
    assert client.get(f"/api/v1/results/{own}").status_code == 404  # the API takes tokens alone
    client.post("/sign-out", headers=HERE)
    client.cookies.clear()
    assert client.get("/mine").status_code == client.get(f"/mine/{own}").status_code == 401
    for name in ("robert", "carol"):  # a moderator neither
        client.cookies.clear()
        sign_in(client, database, name)
        assert "forbidden-one" not in client.get("/mine").text
        assert client.get(f"/mine/{own}").status_code == 404
        assert do(client, own, "permission", "me").status_code == 404
        assert do(client, own, "delete", own).status_code == 404


@pytest.mark.parametrize("origin", ["http://evil.example", "null", ""])
def test_a_form_of_another_site_does_nothing(client, database, own, origin):
    assert do(client, own, "permission", "me", {"Origin": origin}).status_code == 403
    assert do(client, own, "delete", own, {"Origin": origin}).status_code == 403
    assert "private" in client.get(f"/mine/{own}").text
    token = {"Origin": origin}
    assert client.post("/mine/token", data={}, headers=token).status_code == 403


def test_the_owners_forms_change_a_result(client, database, own):
    assert "is no date" in do(client, own, "embargo", "soon").text
    assert "is missing" in do(client, own, "permission", "a\nb").text
    assert do(client, own, "embargo", "2999-01-01").status_code == 303
    assert do(client, own, "permission", "J. Doe, 2026-11-02").status_code == 303
    assert queries.result_of(database, own) is None
    assert do(client, own, "embargo").status_code == 303
    assert queries.result_of(database, own).state == "public"
    assert "cannot be made private" in do(client, own, "private").text
    assert do(client, own, "withdraw", "a cable").status_code == 303
    assert "not typed" in do(client, own, "delete", "x").text
    assert do(client, own, "delete", own).headers["location"] == "/mine"
    assert client.get(f"/mine/{own}").status_code == 410


def test_a_token_is_made_and_shown_once(client, database, own):
    made = client.post("/mine/token", data={"label": "lab"}, headers=HERE).text
    text = made.split("<code>ioa_")[1].split("<")[0]
    assert accounts.viewer_of(database, f"ioa_{text}").account.name == "alice"
    assert text not in client.get("/mine").text


def minted(client):
    """A token that is made in the browser that is signed in."""
    page = client.post("/mine/token", data={"label": "lab"}, headers=HERE)
    return "ioa_" + page.text.split("<code>ioa_")[1].split("<")[0]


def test_tokens_made_in_a_browser_end_with_the_one_that_signed_in(client, people, database):
    first, _ = sign_in(client, database, "alice")
    second = minted(client)
    client.post("/sign-in", data={"token": second}, headers=HERE)
    third = minted(client)
    made = (first, second, third)
    assert all(accounts.viewer_of(database, text) for text in made)
    accounts.revoke(database, first.split("_")[1])
    assert [accounts.viewer_of(database, text) for text in made] == [None] * 3
    assert client.post("/mine/token", headers=HERE).status_code == 401


def test_no_token_made_in_a_browser_outlives_the_end_of_the_one_that_signed_in(client, people, database):
    token = accounts.new_token(database, accounts.account_named(database, "alice"), seconds=600)
    client.post("/sign-in", data={"token": token}, headers=HERE)
    made = minted(client)
    assert accounts.viewer_of(database, made)
    assert accounts.viewer_of(database, made, now=time.time() + 601) is None


def test_a_token_is_not_made_with_one_that_was_just_revoked(client, people, database):
    alice = accounts.account_named(database, "alice")
    number = accounts.new_token(database, alice).split("_")[1]
    accounts.revoke(database, number)
    with pytest.raises(UsageError):
        accounts.new_token(database, alice, made_with=number)


ODD = ("%00", "%ed%a0%80", "9" * 5000)
OTHER = ("a%00b", "%ff", "%e2%80%ae", "%0a%0d", "-1", "2027-13-45", "&f=1" * 60)
FORMS = {
    "carol": {"/moderate/{}": [f"do={do}&reason" for do in ("flag", "keep", "release")] + ["do"]},
    "alice": {
        "/sign-in": ["token"],
        "/mine/token": ["label"],
        "/mine/{}": [f"do={do}&text" for do in ("permission", "embargo", "withdraw", "delete")] + ["do"],
        "/r/{}/reply": ["do=send&text", "do"],
    },
}
"""Of who decides, and of whose it is."""
PLACES = (
    "/r/{}", "/r/{}/explorer", "/r/1/data.{}", "/products/{}", "/?{}", "/?p99={}", "/feed.atom?rate={}",
    "/compare?id={0}&id={0}", "/mine?cursor={}", "/moderate?cursor={}", "/sign-in/back?state={}",
)  # fmt: skip


@pytest.mark.long("atlas")
@pytest.mark.parametrize(
    "odd", [*ODD, *(pytest.param(one, marks=pytest.mark.long("atlas")) for one in OTHER)], ids=lambda text: text[:8]
)
def test_odd_values_of_forms_and_addresses_are_no_fault_of_the_service(client, people, database, desk, odd):
    """Its faults would be raised here."""
    form = {**HERE, "Content-Type": "application/x-www-form-urlencoded"}
    for name, forms in FORMS.items():
        sign_in(client, database, name)
        number = put(desk, accounts.account_named(database, "alice"), found(name))
        for place, fields in forms.items():
            for field in fields:
                for where in {place.format(number), place.format(odd)}:
                    said = client.post(where, content=f"{field}={odd}", headers=form, follow_redirects=False)
                    assert said.status_code < 500, (where, field, said.text)
    for place in PLACES:
        assert client.get(place.format(odd)).status_code < 500, place
    raw = odd.encode("latin-1")
    for header in ("Authorization", "Cookie", "Origin", "Idempotency-Key", "Content-Length"):
        said = client.post("/api/v1/results", content=b"", headers=[(header.encode(), b"Bearer " + raw)])
        assert said.status_code < 500, header
