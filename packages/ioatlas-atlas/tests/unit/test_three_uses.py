# SPDX-License-Identifier: Apache-2.0
"""Three uses of an atlas, over HTTP and by its commands: a lab group, an open community, a vendor."""

import io
import json
import re
import urllib.parse
import urllib.request
from urllib.error import HTTPError

import pytest
import sqlalchemy as sa
from made import OLD_BUNDLE, bundle_of_today, found, put
from tests.command_line import call

from ioatlas.bundle.reproduce import Outcome
from ioatlas_atlas import accounts, audit, queries, reproductions, tables
from ioatlas_atlas.records import AccountKind


def ask(address, token="", data=None, **headers):
    """(status, text) of a request."""
    told = {**({"Authorization": f"Bearer {token}"} if token else {}), **headers}
    try:
        with urllib.request.urlopen(urllib.request.Request(address, data, told), timeout=60) as answer:
            return answer.status, answer.read().decode(errors="replace")
    except HTTPError as error:
        return error.code, error.read().decode()


def send(url, token, **more):
    text = urllib.parse.urlencode(more)
    data = OLD_BUNDLE.read_bytes()
    status, said = ask(f"{url}/api/v1/results?{text}", token, data, **{"Content-Type": "application/zip"})
    return status, json.loads(said)


def test_a_lab_group_of_five_shares_what_is_private_and_one_publishes(service, database):
    """Without a provider: they ask on the page, a moderator makes their accounts there, a token to read goes round."""
    url, _ = service
    place = ("--database", str(database.engine.url))
    names = ["ada", "ben", "cem", "dua", "eli"]
    for name in names:
        note = urllib.parse.urlencode({"text": f"an account for {name} of lab 5"}).encode()
        assert ask(f"{url}/note", data=note, Origin=url)[0] == 200
    assert call("serve", "account", "mia", "--kind", "moderator", *place).returncode == 0
    moderator = call("serve", "token", "mia", *place).stdout.strip()
    asked = ask(f"{url}/moderate", moderator)[1]
    assert [name for name in names if f"an account for {name} of lab 5" in asked] == names

    made = f"{url}/moderate/account"
    shown = [ask(made, moderator, f"name={name}".encode(), Origin=url)[1] for name in names]
    tokens = {name: re.search(r"ioa_[\w-]+", page)[0] for name, page in zip(names, shown, strict=True)}
    assert [ask(made, who, b"name=eve", Origin=url)[0] for who in ("", tokens["ada"], moderator)] == [401, 403, 200]
    assert ask(made, moderator, b"name=eve", Origin=url)[0] == 400
    assert {one.account for one in audit.entries(database, begins="account made")} == {"", "mia"}
    status, sent = send(url, tokens["ada"], private="true")
    assert (status, sent["state"]) == (201, "private")
    result = f"{url}/api/v1/results/{sent['id']}"
    assert {ask(result, tokens[name])[0] for name in names[1:]} == {404}
    assert ask(result)[0] == 404

    reads = call("serve", "token", "ada", "--scope", "read", "--label", "the group", *place).stdout.strip()
    assert ask(result, reads)[0] == ask(f"{result}/bundle", reads)[0] == ask(f"{url}/r/{sent['id']}", reads)[0] == 200
    assert ask(f"{result}/withdraw", reads, b'{"reason": "x"}', **{"Content-Type": "application/json"})[0] == 403
    assert send(url, reads)[0] == 403
    assert call("atlas", "change", f"{url}/r/{sent['id']}", "--public", "--yes", IOATLAS_TOKEN=reads).returncode == 2

    published = call("atlas", "change", f"{url}/r/{sent['id']}", "--public", "--yes", IOATLAS_TOKEN=tokens["ada"])
    assert published.stdout.startswith("public")
    assert ask(result)[0] == 200
    assert {send(url, tokens[name])[0] for name in names[1:]} == {403}  # it is ada's now


@pytest.mark.long("atlas", "bundle")
def test_in_an_open_community_another_account_reproduces_a_result_and_its_badge_turns(
    service, database, desk, monkeypatch
):
    """Holding both against each other takes two whole campaigns: `bench/atlas/story.mjs` does it for real."""
    url, token = service
    monkeypatch.setattr(reproductions, "_held", lambda *_: (Outcome.REPRODUCED, "alike"))
    theirs = put(desk, accounts.new_account(database, "bert"), found(signer="SHA256:b", testbed="bed2"))
    places = [f"{url}/r/{theirs}", f"{url}/r/{theirs}/badge.svg", f"{url}/products/contoso-n100", f"{url}/"]
    assert ["reproduced by 1" in ask(place)[1] for place in places] == [False] * 4
    said = ["publish", bundle_of_today(), "--to", url, "--yes", "--reproduces", theirs]
    assert call(*said[:-2], IOATLAS_TOKEN=token).returncode == 0
    with database.writing() as link:  # a simulated campaign has no facts of a client
        link.execute(sa.update(tables.result).where(tables.result.c.testbed == "").values(testbed="bed1"))
    done = call(*said, IOATLAS_TOKEN=token)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == f"{url}/r/{theirs}  reproduced"
    told = json.loads(call(*said, "--json", IOATLAS_TOKEN=token).stdout)
    assert (told["reproduces"], told["new"]) == ({"id": theirs, "outcome": "reproduced"}, False)
    assert json.loads(ask(f"{url}/api/v1/results/{theirs}")[1])["result"]["badge"] == "reproduced by 1"
    assert ["reproduced by 1" in ask(place)[1] for place in places] == [True] * 4
    wrong = call(*said[:-1], "nosuch", IOATLAS_TOKEN=token)
    assert (wrong.returncode, "There is no such result" in wrong.stderr) == (2, True)


def test_a_vendor_replies_the_evaluator_answers_and_corrects(service, database, desk, alice, monkeypatch):
    url, _ = service
    number = put(desk, alice, found())
    vendor = accounts.new_account(database, "contoso", AccountKind.VENDOR, "Contoso")
    tokens = {one.name: accounts.new_token(database, one) for one in (alice, vendor)}
    said = ["reply", f"{url}/r/{number}"]

    looked = call(*said, "Firmware?", "--dry-run", IOATLAS_TOKEN=tokens["contoso"])
    assert (looked.returncode, "Beside nas, would stand:\nFirmware?" in looked.stderr) == (0, True)
    assert "nobody agreed to send it" in call(*said, "Firmware?", IOATLAS_TOKEN=tokens["contoso"]).stderr
    assert queries.replies_of(database, number) == ()

    assert call(*said, "Firmware?", "--yes", IOATLAS_TOKEN=tokens["contoso"]).returncode == 0
    monkeypatch.setattr("sys.stdin", io.StringIO("7.3 is out.\nMeasure it.\n"))
    piped = call(*said, "-", "--yes", "--json", IOATLAS_TOKEN=tokens["contoso"])
    assert json.loads(piped.stdout) == {"address": f"{url}/r/{number}#replies", "version": 2}
    assert call(*said, "I will.", "--yes", IOATLAS_TOKEN=tokens["anna"]).stdout.endswith("version 1\n")
    vendors, evaluators = queries.replies_of(database, number)
    assert (vendors.kind, vendors.text, vendors.older[0].text) == ("vendor", "7.3 is out.\nMeasure it.", "Firmware?")
    assert (evaluators.kind, evaluators.text) == ("evaluator", "I will.")
    assert "a reply is a text" in call(*said, "", "--yes", IOATLAS_TOKEN=tokens["contoso"]).stderr
    bert = accounts.new_token(database, accounts.new_account(database, "bert"))
    assert "only the product's vendor" in call(*said, "Me too.", "--yes", IOATLAS_TOKEN=bert).stderr

    status, newer = send(url, tokens["anna"], replaces=number)
    assert status == 201
    assert f"/r/{newer['id']}" in ask(f"{url}/r/{number}")[1]
    assert "Measure it." in ask(f"{url}/r/{number}")[1]  # what was said stays beside what it was said of
    assert [one["id"] for one in json.loads(ask(f"{url}/api/v1/results")[1])["entries"]] == [newer["id"]]
