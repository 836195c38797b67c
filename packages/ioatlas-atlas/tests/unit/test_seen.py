# SPDX-License-Identifier: Apache-2.0
"""Who sees what: every route of the service, for every kind of viewer, over a result of every kind."""

import pytest
import sqlalchemy as sa
from made import found, put
from starlette.routing import Mount, Route
from starlette.testclient import TestClient

from ioatlas_atlas import accounts, changes, queries, removal
from ioatlas_atlas.app import make_app
from ioatlas_atlas.fairness import Declaration
from ioatlas_atlas.records import AccountKind, Scope, Viewer
from ioatlas_atlas.tables import result
from ioatlas_atlas.traffic import Rate

ALL = {"nobody", "stranger", "owner", "blind", "moderator"}
OWN = {"owner", "moderator"}
SEEN = {"public": ALL, "private": OWN, "embargoed": OWN, "flagged": OWN, "withdrawn": ALL, "withdrawnprivate": OWN}
"""Who sees title and state of each. `blind` is the owner with a token that does not allow to read."""
WITHDRAWN = {"withdrawn", "withdrawnprivate"}
DATA = {**SEEN, "withdrawn": OWN}
LISTED = {name: set() if name in WITHDRAWN else who for name, who in SEEN.items()}

HEADS = ("/api/v1/results/{number}", "/r/{id}", "/r/{id}/citation.bib", "/r/{id}/badge.svg")
VALUES = (
    "/api/v1/results/{number}/cells",
    "/api/v1/results/{number}/bundle",
    "/r/{id}/explorer",
    "/r/{id}/data.{form:str}",
)
LISTS = ("/api/v1/results", "/results")
PRODUCTS = ("/api/v1/products/{name}", "/products/{id}")
PAIRS = ("/api/v1/compare", "/compare")
TO_ALL = ("/feed.atom", "/sitemap.xml", "/", "/products", "/api/v1/products")
NONE = ("/rules", "/static", "/healthz", "/metrics", "/api/v1/openapi.json", "/api/v1/me")
"""They tell of no result."""
REASON, TEXT = {"reason": "x"}, {"text": "x"}
DOES = {
    ("POST", "/api/v1/results/{number}/withdraw"): REASON,
    ("DELETE", "/api/v1/results/{number}"): None,
    ("PATCH", "/api/v1/results/{number}"): {"private": False, "permission": "me"},
    ("POST", "/api/v1/results/{number}/replies"): TEXT,
    ("POST", "/api/v1/results/{number}/reproductions"): {"by": "0"},
}
"""What is done to a result, with a body that fits."""
OTHER = {("POST", "/api/v1/results"), ("POST", "/api/v1/results/{number}/decision"), ("POST", "/note")}


@pytest.fixture
def client(database, blobs):
    """One that may ask as often as it likes: every route, for every viewer and kind of result."""
    with TestClient(make_app(database, blobs, rate=Rate(1e6, 1e6))) as one:
        yield one


@pytest.fixture
def atlas(client, database, desk, monkeypatch):
    """(headers by viewer, ids by kind of result)."""
    kept = client.app.state.pages.kept
    monkeypatch.setattr(kept, "document", lambda _sha256: {"rows": [], "axes": {}})
    monkeypatch.setattr(kept, "explorer", lambda _sha256: "<p>a map</p>")
    names = ("owner", "stranger", "moderator")
    kinds = {"moderator": AccountKind.MODERATOR}
    made = {name: accounts.new_account(database, name, kinds.get(name, AccountKind.MEMBER)) for name in names}
    tokens = {name: accounts.new_token(database, one) for name, one in made.items()}
    tokens["blind"] = accounts.new_token(database, made["owner"], [Scope.PUBLISH, Scope.REPLY])
    headers = {name: {"Authorization": f"Bearer {token}"} for name, token in tokens.items()} | {"nobody": {}}
    owner = made["owner"]
    embargo = Declaration(embargo="2999-01-01")
    ids = {
        name: put(
            desk,
            owner,
            found(f"t-{name}-t", model=f"m-{name}-m"),
            private=name in ("private", "withdrawnprivate"),
            declared=embargo if "embargo" in name else None,
        )
        for name in SEEN
    }
    viewer = Viewer(owner, frozenset(Scope))
    for name in WITHDRAWN:
        removal.withdraw(database, queries.result_of(database, ids[name], viewer), viewer, "a cable")
    changes.decide(database, ids["flagged"], changes.Decision.FLAG, "too fast", None)
    return headers, ids


def _get(client, path, headers, number, **more):
    place = path.replace("{number}", number).replace("{id}", number).replace("{form:str}", "json")
    return client.get(place, headers=headers, **more)


def _named(text, ids):
    """Which results a text tells of."""
    return {name for name, number in ids.items() if number in text or f"-{name}-" in text}


def test_every_route_is_in_the_table(client):
    routes = {
        (method, path)
        for path, operations in client.get("/api/v1/openapi.json").json()["paths"].items()
        for method in map(str.upper, operations)
    }
    routes |= {
        (method, route.path)
        for route in client.app.routes
        if type(route) in (Route, Mount) and not route.path.startswith("/api/")
        for method in (getattr(route, "methods", None) or {"GET"}) - {"HEAD"}
    }
    others = ("/sign-", "/mine", "/moderate", "/r/{id}/reply")  # see test_mine and test_moderation
    routes = {(method, path) for method, path in routes if not path.startswith(others)}
    asked = {("GET", path) for path in (*HEADS, *VALUES, *LISTS, *PRODUCTS, *PAIRS, *TO_ALL, *NONE)}
    assert routes - asked == set(DOES) | OTHER


@pytest.mark.long("atlas")
def test_a_viewer_sees_what_it_may_on_every_route(client, atlas):
    headers, ids = atlas
    for who in ALL:
        _sees_what_it_may(client, ids, who, headers[who])


def _sees_what_it_may(client, ids, who, mine):
    for table, paths in ((SEEN, HEADS), (DATA, VALUES)):
        for path in paths:
            for name, number in ids.items():
                answer = _get(client, path, mine, number)
                if who in table[name]:
                    assert answer.status_code in (200, 410 if name in WITHDRAWN else 200), (who, path, name)
                else:
                    hidden = 410 if who in SEEN[name] else 404
                    assert answer.status_code == hidden, (who, path, name)
                    if hidden == 404:
                        assert not _named(answer.text.replace(number, ""), ids), (who, path, name)
    listed = {name for name, viewers in LISTED.items() if who in viewers}
    for path in LISTS:
        assert _named(client.get(path, headers=mine).text, ids) == listed, (who, path)
    for path in TO_ALL:
        assert _named(client.get(path, headers=mine).text, ids) == {"public"}, (who, path)
    for name in ids:
        for path in PRODUCTS:
            place = path.replace("{id}", f"contoso-m-{name}-m").replace("{name}", f"contoso-m-{name}-m")
            assert client.get(place, headers=mine).status_code == (200 if name == "public" else 404), (who, path, name)
        if name != "public":
            many = [("id", ids["public"]), ("id", ids[name])]
            page = client.get("/compare", headers=mine, params=many)
            assert (page.status_code == 200) == (who in DATA[name]), (who, name)
            told = client.get("/api/v1/compare", headers=mine, params={"ids": f"{ids['public']},{ids[name]}"})
            assert (told.status_code == 200) == (who in DATA[name]), (who, name)


@pytest.mark.long("atlas")
def test_nobody_else_does_anything_to_a_result(client, atlas, database):
    headers, ids = atlas
    before = _rows(database)

    def does(who):
        for (method, path), body in DOES.items():
            for name, number in ids.items():
                place = path.replace("{number}", number)
                yield path, name, client.request(method, place, headers=headers[who], json=body).status_code

    for who in ("nobody", "stranger"):
        for path, name, status in does(who):
            wanted = {401} if who == "nobody" else {404} if who not in SEEN[name] else {403, 404, 410}
            assert status in wanted, (who, path, name)
    assert _rows(database) == before
    for path, name, status in does("blind"):  # its owner: but what is not public is not there for it
        assert "blind" in SEEN[name] or status == 404, (path, name)


def test_a_flag_is_lifted_by_moderators_alone(client, atlas):
    headers, ids = atlas
    place = f"/api/v1/results/{ids['flagged']}/decision"
    lift = {"decision": "release", "reason": "seen"}
    for who in ALL - {"moderator"}:
        assert client.post(place, headers=headers[who], json=lift).status_code == (401 if who == "nobody" else 403)
    assert client.post(place, headers=headers["moderator"], json=lift).json()["state"] == "public"


def _rows(database):
    with database.reading() as link:
        return link.execute(sa.select(result.c.id, result.c.state).order_by(result.c.id)).all()
