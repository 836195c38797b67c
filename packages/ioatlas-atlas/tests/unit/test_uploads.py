# SPDX-License-Identifier: Apache-2.0
"""Bundles sent, found, sent again, refused, withdrawn and deleted, through the API."""

import pytest
from made import OLD_BUNDLE, bundle_of_today
from tests.unit.bundle.made import changed, resigned

from ioatlas.store import archive

UPLOAD = "/api/v1/results"


def send(client, headers, data=None, **more):
    return client.post(UPLOAD, content=OLD_BUNDLE.read_bytes() if data is None else data, headers=headers, params=more)


def test_a_bundle_is_taken_in_found_and_given_back_as_it_was(client, people):
    data = bundle_of_today().read_bytes()
    sent = send(client, people["alice"], data)
    assert sent.status_code == 201, sent.text
    told = sent.json()
    assert (told["state"], told["badge"], told["new"]) == ("public", "recomputed", True)
    assert [hit["id"] for hit in client.get(UPLOAD).json()["entries"]] == [told["id"]]
    detail = client.get(sent.headers["location"]).json()
    assert detail["result"]["owner"] == "alice"
    states = {check["name"]: check["state"] for check in detail["result"]["checks"]}
    assert states.pop("like systems") == "note"  # nothing else is there
    assert set(states.values()) == {"passed", "told"}
    assert told["url"] == f"/r/{told['id']}"
    cells = client.get(f"{UPLOAD}/{told['id']}/cells").json()["entries"]
    assert len(cells) == 8
    assert all(cell["iops"] > 0 for cell in cells)
    again = client.get(f"{UPLOAD}/{told['id']}/bundle")
    assert again.content == data
    assert again.headers["content-disposition"].startswith("attachment")

    # the same again is the same result; another account's is its own
    same = send(client, people["alice"], data)
    assert (same.status_code, same.json()["id"], same.json()["new"]) == (200, told["id"], False)
    assert send(client, people["robert"], data).status_code == 403  # it is alice's


def test_what_an_older_version_is_said_to_have_packed_gains_no_badge_by_it(client, people):
    opened = archive.of_bytes(OLD_BUNDLE.read_bytes(), "")
    members = {name: opened.read(name) for name in opened.members}
    forged = changed(members, "data/result.json", lambda told: told["rows"][0].update(iops=9e9))
    told = send(client, people["alice"], archive.as_bytes(resigned(forged))).json()
    assert told["badge"] == "unchecked"
    assert told["id"] in client.get(UPLOAD).text
    assert told["id"] not in client.get("/api/v1/products", params={"iops": 0}).text


def test_what_another_account_published_is_refused(client, people):
    first = send(client, people["alice"], private="true").json()["id"]
    theirs = send(client, people["robert"], private="true")  # handed on while nobody saw it: it tells of nothing
    assert theirs.status_code == 201
    client.delete(f"{UPLOAD}/{theirs.json()['id']}", headers=people["robert"])
    assert client.patch(f"{UPLOAD}/{first}", json={"private": False}, headers=people["alice"]).status_code == 200
    copied = send(client, people["robert"])
    assert (copied.status_code, first in copied.json()["detail"]) == (403, True), copied.text
    opened = archive.of_bytes(OLD_BUNDLE.read_bytes(), "")
    again = archive.as_bytes(resigned({name: opened.read(name) for name in opened.members}))
    assert send(client, people["robert"], again).status_code == 403  # signed anew it is the same campaign
    assert client.post(f"{UPLOAD}/{first}/withdraw", json={"reason": "x"}, headers=people["alice"]).status_code == 204
    assert send(client, people["robert"]).status_code == 403


def test_deleted_it_is_gone_and_known_to_be(client, people, blobs):
    number = send(client, people["alice"]).json()["id"]
    assert client.delete(f"{UPLOAD}/{number}", headers=people["robert"]).status_code == 403
    assert client.delete(f"{UPLOAD}/{number}").status_code == 401
    assert client.delete(f"{UPLOAD}/{number}", headers=people["alice"]).status_code == 204
    assert client.get(f"{UPLOAD}/{number}").status_code == 410
    assert client.get(f"{UPLOAD}/{number}/cells").status_code == 410
    assert client.get(UPLOAD).json()["entries"] == []
    assert list(blobs.kept()) == []
    hidden = send(client, people["alice"], private="true").json()["id"]
    assert client.delete(f"{UPLOAD}/{hidden}", headers=people["alice"]).status_code == 204
    assert client.get(f"{UPLOAD}/{hidden}").status_code == 404  # that it was there was never told


def test_withdrawn_it_leaves_a_trace_and_no_data(client, people):
    number = send(client, people["alice"]).json()["id"]
    place = f"{UPLOAD}/{number}"
    assert client.post(f"{place}/withdraw", json={"reason": "a cable"}, headers=people["robert"]).status_code == 403
    assert client.post(f"{place}/withdraw", json={"reason": "a cable"}, headers=people["alice"]).status_code == 204
    told = client.get(place).json()
    assert (told["result"]["state"], told["result"]["reason"]) == ("withdrawn", "a cable")
    assert [one["what"] for one in told["trace"]] == ["taken in", "withdrawn"]
    assert client.get(f"{place}/bundle").status_code == 410
    assert client.get(UPLOAD).json()["entries"] == []


@pytest.mark.parametrize(
    "data", [b"", pytest.param(b"<html>", marks=pytest.mark.long("atlas")), OLD_BUNDLE.read_bytes()[:-1]]
)
def test_what_is_no_sound_bundle_is_refused_and_leaves_nothing(client, people, blobs, data):
    sent = send(client, people["alice"], data)
    assert sent.status_code == 422
    assert sent.headers["content-type"] == "application/problem+json"
    assert sent.json()["detail"]
    assert sent.json()["remedy"]
    assert client.get(UPLOAD, headers=people["carol"]).json()["entries"] == []
    assert list(blobs.kept()) == []
    assert list((blobs.folder / "incoming").iterdir()) == []


def test_private_or_embargoed_only_its_owner_and_moderators_see_it(client, people):
    private = send(client, people["alice"], private="true").json()
    later = send(client, people["robert"], embargo="2999-01-01").json()
    assert (private["state"], later["state"]) == ("private", "embargoed")
    assert client.get(UPLOAD).json()["entries"] == []
    seen = client.get(UPLOAD, headers=people["alice"]).json()["entries"]
    assert [hit["id"] for hit in seen] == [private["id"]]
    assert client.get(f"{UPLOAD}/{private['id']}").status_code == 404
    assert client.get(f"{UPLOAD}/{private['id']}/bundle", headers=people["robert"]).status_code == 404
    assert len(client.get(UPLOAD, headers=people["carol"]).json()["entries"]) == 2


def test_a_key_used_for_another_request_is_told(client, people):
    headers = {**people["alice"], "Idempotency-Key": "one"}
    first = send(client, headers)
    assert send(client, headers).json() == {**first.json(), "new": False}
    other = send(client, headers, private="true")
    assert (other.status_code, other.headers["content-type"]) == (409, "application/problem+json")


def test_who_may_not_is_told_why(client, people):
    assert send(client, {}).status_code == 401
    assert send(client, {"Authorization": "Bearer ioa_0000000000000000_" + "A" * 43}).status_code == 401
    assert send(client, {"Authorization": "Basic x"}).status_code == 401
