# SPDX-License-Identifier: Apache-2.0
"""What is changed after an upload: permission, embargo, corrections, doubts, reproductions."""

import threading

import pytest
import sqlalchemy as sa
from made import OLD_BUNDLE, cell, found, put

from ioatlas.bundle.reproduce import Outcome
from ioatlas.model.errors import RefusedError
from ioatlas_atlas import accounts, changes, queries, removal, reproductions, spread, uploads
from ioatlas_atlas.admission import Limits
from ioatlas_atlas.audit import entries
from ioatlas_atlas.blobs import Blobs
from ioatlas_atlas.changes import Change
from ioatlas_atlas.fairness import Declaration
from ioatlas_atlas.records import DOUBTED, LIKENESS, OPERATOR, Scope, Viewer, Wanted
from ioatlas_atlas.tables import result
from ioatlas_atlas.uploads import Desk, Wish

RESULTS = "/api/v1/results"


@pytest.fixture
def owned(client, people, database, desk):
    """Puts a result of alice, and asks about it as alice."""
    alice = accounts.account_named(database, "alice")

    def made(what=None, **more):
        number = put(desk, alice, what or found(), **more)

        def ask(method, body=None, who="alice", behind="", **params):
            return client.request(method, f"{RESULTS}/{number}{behind}", headers=people[who], json=body, params=params)

        return number, ask

    return made


def state(ask, who="alice"):
    answer = ask("GET", who=who)
    return answer.json()["result"]["state"] if answer.status_code == 200 else answer.status_code


def test_a_recorded_permission_makes_it_public_and_it_is_not_hidden_again(owned, database):
    _number, ask = owned(found(licence_says="no"))
    assert (state(ask), state(ask, "robert")) == ("private", 404)
    would = ask("PATCH", {"permission": "J. Doe, 2026-11-02"}, dry_run=True)
    assert (would.json()["state"], state(ask)) == ("public", "private")
    assert ask("PATCH", {"permission": "J. Doe, 2026-11-02"}).json()["state"] == "public"
    assert state(ask, "robert") == "public"
    for hide in ({"private": True}, {"embargo": "2999-01-01"}):
        refused = ask("PATCH", hide)
        assert (refused.status_code, state(ask, "robert")) == (403, "public")
        assert "withdraw it" in refused.json()["remedy"]
    assert [one["what"] for one in ask("GET").json()["trace"]] == ["taken in", "changed"]
    assert [one.action for one in entries(database)][:2] == ["change", "upload"]


def test_an_embargo_is_moved_and_ended(owned, database):
    _number, ask = owned(declared=Declaration(embargo="2999-01-01"))
    assert ask("PATCH", {"embargo": "2999-06-01"}).json()["reason"].endswith("2999-06-01")
    assert ask("PATCH", {"private": True}).json()["state"] == "private"
    assert ask("PATCH", {"private": False, "no_embargo": True}).json()["state"] == "public"
    assert ask("PATCH", {"embargo": "soon"}).status_code == 422
    for nothing in ({}, {"embargo": None}, {"permission": None, "private": None}):
        assert (ask("PATCH", nothing).status_code, ask("PATCH", nothing).json()["state"]) == (200, "public")
    assert ask("PATCH", {"permission": "a\nb"}).status_code == 422


def test_an_embargo_ends_by_itself(owned, database):
    _number, ask = owned(declared=Declaration(embargo="2999-01-01"))
    with database.writing() as link:
        link.execute(sa.update(result).values(embargo="2020-01-01"))
    assert state(ask, "robert") == "public"
    assert ask("PATCH", {"private": True}).status_code == 403


def test_a_correction_takes_the_place_of_the_old_one_which_stays_to_be_read(client, people, database, owned):
    old, ask = owned(found("first"))
    send = {"content": OLD_BUNDLE.read_bytes(), "headers": people["alice"]}
    assert client.post(RESULTS, **{**send, "headers": people["robert"]}, params={"replaces": old}).status_code == 403
    new = client.post(RESULTS, **send, params={"replaces": old, "private": "true"}).json()["id"]
    titles = lambda: [hit.id for hit in queries.search(database, Wanted()).entries]  # noqa: E731
    assert titles() == [old]  # nobody sees the new one so far
    told = ask("GET", who="robert").json()
    assert (told["corrected_by"], [one["what"] for one in told["trace"]]) == ("", ["taken in"])
    for place in (f"{RESULTS}/{old}", f"/r/{old}"):
        assert new not in client.get(place).text
    assert ask("GET").json()["trace"][-1]["what"] == "corrected"
    client.patch(f"{RESULTS}/{new}", headers=people["alice"], json={"private": False})
    assert titles() == [new]
    told = ask("GET", who="robert").json()
    assert (told["result"]["state"], told["corrected_by"]) == ("public", new)
    assert told["trace"][-1]["what"] == "corrected"
    assert client.delete(f"{RESULTS}/{new}", headers=people["alice"]).status_code == 204
    assert titles() == [old]


def test_a_private_result_is_not_named_by_the_public_one_that_corrects_it(client, people, owned):
    old, _ = owned(found("first"), private=True)
    send = {"content": OLD_BUNDLE.read_bytes(), "headers": people["alice"]}
    new = client.post(RESULTS, **send, params={"replaces": old}).json()["id"]
    for place in (f"{RESULTS}/{new}", f"/r/{new}", RESULTS, "/"):
        assert old not in client.get(place).text, place
    assert client.get(f"{RESULTS}/{new}", headers=people["alice"]).json()["result"]["replaces"] == old


def test_an_embargoed_reproduction_is_not_told_before_its_day(database, desk, monkeypatch):
    monkeypatch.setattr(reproductions, "_held", lambda *_: (Outcome.REPRODUCED, "alike"))
    first, second = (accounts.new_account(database, name) for name in ("olga", "paul"))
    one = put(desk, first, found("one", signer="SHA256:a", testbed="bed1"))
    later = Declaration(embargo="2999-01-01")
    two = put(desk, second, found("two", signer="SHA256:b", testbed="bed2"), declared=later)
    paul = Viewer(second, frozenset(Scope))
    results = [queries.result_of(database, number, paul) for number in (one, two)]
    reproductions.claim(database, desk.blobs, desk.limits, *results, second)
    assert [trace.what for trace in queries.traces_of(database, one)] == ["taken in"]
    assert [trace.what for trace in queries.traces_of(database, one, paul)] == ["taken in", "reproduction"]


# -- one campaign, one publisher -----------------------------------------------------------------------------------


def test_a_campaign_is_published_by_one_account_also_when_both_wait_for_a_day(database, desk):
    olga, paul = (accounts.new_account(database, name) for name in ("olga", "paul"))
    later = Declaration(embargo="2999-01-01")
    first = put(desk, olga, found("one", campaign_id="c"), declared=later)
    put(desk, olga, found("corrected", campaign_id="c"), declared=later)
    for declared in (later, None):
        with pytest.raises(RefusedError) as refused:
            put(desk, paul, found("two", campaign_id="c"), declared=declared)
        assert first not in str(refused.value)
    kept = put(desk, paul, found("three", campaign_id="c"), private=True)
    viewer = Viewer(paul, frozenset(Scope))
    for wish in (Change(private=False), Change(private=False, embargo="2999-01-01")):
        with pytest.raises(RefusedError):
            changes.change(database, queries.result_of(database, kept, viewer), viewer, wish)
    with database.writing() as link:
        link.execute(sa.update(result).values(embargo="2020-01-01"))
    assert {hit.owner for hit in queries.search(database, Wanted()).entries} == {"olga"}


def test_a_campaign_that_is_deleted_is_free_again(database, desk):
    olga, paul = (accounts.new_account(database, name) for name in ("olga", "paul"))
    numbers = [put(desk, olga, found(title, campaign_id="c")) for title in ("one", "again")]
    for number in numbers:
        with pytest.raises(RefusedError):
            put(desk, paul, found("two", campaign_id="c"))
        removal.delete(database, desk.blobs, queries.result_of(database, number), OPERATOR)
    assert put(desk, paul, found("two", campaign_id="c"))


def test_of_two_that_publish_the_same_at_once_one_is_refused(client, people, monkeypatch):
    """Both have looked for another's before either is written."""
    both, keep = threading.Barrier(2, timeout=300), Blobs.keep

    def keep_together(*given):
        both.wait()
        keep(*given)

    monkeypatch.setattr(Blobs, "keep", keep_together)
    answers = []

    def send(who):
        answers.append(client.post(RESULTS, content=OLD_BUNDLE.read_bytes(), headers=people[who]).status_code)

    threads = [threading.Thread(target=send, args=[who]) for who in ("alice", "robert")]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert sorted(answers) == [201, 403]
    assert len(client.get(RESULTS).json()["entries"]) == 1


def test_a_deletion_is_real(owned, desk):
    _number, ask = owned()
    assert len(list(desk.blobs.kept())) == 1
    assert ask("DELETE").status_code == 204
    assert list(desk.blobs.kept()) == []


# -- like systems ----------------------------------------------------------------------------------------------


LOADS = [(size, depth) for size in (4096, 65536) for depth in (1, 4)]


def system(factor, title="nas", **more):
    cells = [cell(bs_bytes=size, iodepth=depth, iops=1000.0 * depth * factor) for size, depth in LOADS]
    return found(title, cells, **more)


@pytest.fixture
def others(database, desk):
    """Public results of two accounts, within 10 per cent."""
    for number, name in enumerate(("greta", "henry")):
        told = {"signer": f"SHA256:{name}", "testbed": f"of {name}"}
        put(desk, accounts.new_account(database, name), system(0.95 + number / 10, name, **told))


@pytest.mark.parametrize(("factor", "sound"), [(1.3, True), (0.6, True), (20, False), (0.02, False)])
def test_loads_far_from_what_others_confirm_are_marked_singly(database, desk, alice, others, factor, sound):
    what = system(factor)
    cells = [*what.cells[:2], *system(1).cells[2:]]
    marked = spread.marked(database, what.model_copy(update={"cells": cells}), "contoso-n100")
    assert [one.usable for one in marked.cells] == [sound, sound, True, True]
    assert [bool(one.doubt) for one in marked.cells] == [not sound, not sound, False, False]
    checks = {one.name: one for one in marked.checks}
    assert (checks[LIKENESS].state, f"{4 if sound else 2} of 4" in checks[LIKENESS].text) == ("passed", True)
    assert (DOUBTED in checks) is not sound
    number = put(desk, alice, marked)
    assert queries.result_of(database, number).state == "public"
    found = [one for one in queries.cell_page(database, number).entries if not one.usable]
    assert len(found) == (0 if sound else 2)


def test_few_or_other_systems_say_nothing(database, desk, alice, others):
    for what in (system(20, link="10000 Mb/s"), system(20, protocol="SMB"), system(20, has_sheet=False)):
        marked = spread.marked(database, what, uploads.product_number(what))
        assert ({one.doubt for one in marked.cells}, marked.checks[-1].state) == ({""}, "note")
    for number in range(9):  # one account alone does not speak for all
        put(desk, alice, system(20, f"own{number}", model="N300"))
    marked = spread.marked(database, system(1, model="N300"), "contoso-n300")
    assert ({one.doubt for one in marked.cells}, marked.checks[-1].text) == ({""}, "not checked: 1 peer")


def test_a_flag_is_seen_by_its_owner_with_the_reason_and_lifted(owned, client, people):
    _number, ask = owned(system(1))
    assert ask("POST", {"decision": "release", "reason": "why"}, "carol", "/decision").status_code == 400
    assert ask("POST", {"decision": "flag", "reason": "no cable"}, "carol", "/decision").json()["state"] == "flagged"
    assert (state(ask), state(ask, "robert")) == ("flagged", 404)
    assert ask("GET").json()["result"]["reason"] == "no cable"
    assert ask("PATCH", {"permission": "me"}).json()["state"] == "flagged"
    assert ask("POST", {"decision": "release", "reason": "it is real"}, "carol", "/decision").status_code == 200
    assert state(ask, "robert") == "public"
    assert [one["what"] for one in ask("GET").json()["trace"]][-3:] == ["flagged", "changed", "cleared"]


# -- reproductions -----------------------------------------------------------------------------------------------------


@pytest.fixture
def reproduced(database, desk, monkeypatch):
    """Has one account's result made again by another's; the badge of the first."""
    monkeypatch.setattr(reproductions, "_held", lambda *_: (Outcome.REPRODUCED, "alike"))

    def made(**again):
        names = ("olga", "paul")
        first, second = (accounts.new_account(database, name) for name in names)
        one = put(desk, first, found("one", signer="SHA256:a", testbed="bed1"))
        two = put(desk, second, found("two", **{"campaign_id": "d", "signer": "SHA256:b", "testbed": "bed2", **again}))
        results = [queries.result_of(database, number) for number in (one, two)]
        reproductions.claim(database, desk.blobs, desk.limits, *results, second)
        return queries.result_of(database, one).badge

    return made


def test_a_reproduction_by_another_counts(reproduced):
    assert reproduced() == "reproduced by 1"


@pytest.mark.parametrize("again", [{"testbed": "bed1"}, {"testbed": ""}, {"signer": ""}])
def test_from_the_same_client_or_unsigned_it_is_told_and_does_not_count(reproduced, again):
    assert reproduced(**again) == "recomputed"


def test_the_same_key_is_refused(reproduced):
    with pytest.raises(RefusedError, match="same key"):
        reproduced(signer="SHA256:a")


def test_an_account_keeps_so_many_private_results(client, people, database, blobs):
    told = client.get("/api/v1/me", headers=people["alice"]).json()
    assert (told["uploads_a_day"], told["upload_bytes"], told["private"]) == (100, 256 << 20, 1000)
    desk, alice = Desk(database, blobs, Limits(private=2)), accounts.account_named(database, "alice")
    for number in range(2):
        put(desk, alice, found(f"n{number}"), private=True)
    with pytest.raises(RefusedError, match="2 private results"):
        put(desk, alice, found("third"), private=True)
    put(desk, alice, found("shown"))


def test_a_wish_with_another_correction_is_another_request():
    assert Wish(Declaration()).digest("x") != Wish(Declaration(), replaces="old").digest("x")
