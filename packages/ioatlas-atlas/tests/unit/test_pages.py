# SPDX-License-Identifier: Apache-2.0
"""The public pages over an atlas with a real bundle: what a browser gets, and what it never gets."""

import base64
import csv
import gzip
import html
import io
import json
import re
import threading
import time
import xml.etree.ElementTree as ET
from types import SimpleNamespace

import numpy as np
import pytest
import sqlalchemy as sa
from made import OLD_BUNDLE, bundle_of_today, cell, found, put, reproduce_all
from pyarrow import parquet
from starlette.testclient import TestClient
from tests.unit.simulated import Shell

from ioatlas.bundle.reproduce import Outcome
from ioatlas_atlas import accounts, derived, extract, queries, reproductions, tables
from ioatlas_atlas.admission import Limits
from ioatlas_atlas.app import make_app
from ioatlas_atlas.blobs import Blobs
from ioatlas_atlas.database import open_database
from ioatlas_atlas.derive import EXPLORER
from ioatlas_atlas.migrations import migrate
from ioatlas_atlas.records import AccountKind
from ioatlas_atlas.uploads import Desk

UPLOAD = "/api/v1/results"
ioatlas = Shell()
SCRIPT = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>"
STRICT = "default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'self'; base-uri 'none'"


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """A client of an atlas with one bundle, and its id: only read, for it takes long to make."""
    place = tmp_path_factory.mktemp("atlas")
    held = open_database(f"sqlite:///{place}/atlas.sqlite")
    migrate(held)
    with TestClient(make_app(held, Blobs(place / "blobs"))) as one:
        yield one, upload(one, held, bundle_of_today())
    held.close()


def upload(client, database, bundle=OLD_BUNDLE):
    alice = accounts.new_account(database, "alice")
    client.headers["Authorization"] = f"Bearer {accounts.new_token(database, alice)}"
    sent = client.post(UPLOAD, content=bundle.read_bytes(), params={"sponsor": ""})
    assert sent.status_code == 201, sent.text
    return sent.json()["id"]


@pytest.fixture
def desk(database, blobs, client, monkeypatch):
    """Takes in results whose bundles are a few bytes: there is nothing to be made of them for a page."""
    monkeypatch.setattr(client.app.state.pages.kept, "made", lambda _sha256: None)
    return Desk(database, blobs, Limits())


def test_a_result_is_shown_with_its_map_its_evidence_and_its_downloads(real):
    client, published = real
    page = client.get(f"/r/{published}")
    assert page.status_code == 200
    assert page.headers["content-security-policy"].startswith(STRICT)
    text = page.text
    known = re.findall(r'class="badge([^"]*)">([^<]*)<', text)
    wanted = ["recomputed", "no product named", "likeness not checked: no product named", "not reproduced"]
    assert [said for _, said in known] == wanted
    assert not any(green for green, _ in known)
    drawn = client.get(f"/r/{published}/badge.svg").text
    assert f"<title>I/O Atlas: {' · '.join(wanted)}</title>" in drawn
    assert ">recomputed · no product named · not reproduced</text>" in drawn
    assert "#1a7f37" not in drawn
    assert '<table class="heat">' in text
    assert "nobody else, says the evaluator" in text
    document = client.get(f"/r/{published}/data.json").json()
    rows = list(csv.DictReader(io.StringIO(client.get(f"/r/{published}/data.csv").text)))
    assert len(rows) == len(document["rows"]) > 0
    assert client.get(f"/r/{published}/data.parquet").content[:4] == b"PAR1"
    assert client.get(f"/r/{published}/data.exe").status_code == 404
    explorer = client.get(f"/r/{published}/explorer").text
    assert 'id="ioatlas-data"' in explorer
    assert "default-src 'none'" in explorer  # in the page itself, with the hashes of its script
    for place in (f"/r/{published}/bundle", "/r/nosuch", "/products/nosuch", "/nosuch"):
        assert client.get(place).status_code == 404


def test_pages_ask_for_nothing_from_elsewhere(real):
    client, published = real
    for place in ("/", "/products", f"/r/{published}", "/rules", f"/compare?id={published}&id=x"):
        text = client.get(place).text
        assert not re.findall(r'(?:src|href|action)="(?!/|data:,|#)[^"]*"', text), place
        assert "<script" not in text
        assert "style=" not in text


def test_withdrawn_it_leaves_its_title_and_the_reason_and_deleted_nothing(client, database, blobs):
    number = upload(client, database)
    assert client.get(f"/r/{number}").status_code == 200
    assert any((blobs.folder / "derived").rglob("*.gz"))
    client.post(f"{UPLOAD}/{number}/withdraw", json={"reason": "a bad cable"})
    mine = client.headers.pop("Authorization")
    page = client.get(f"/r/{number}")
    assert page.status_code == 410
    assert "a bad cable" in page.text
    assert '<table class="heat">' not in page.text
    assert client.get(f"/r/{number}/data.json").status_code == 410
    assert "withdrawn" in client.get(f"/r/{number}/badge.svg").text
    client.delete(f"{UPLOAD}/{number}", headers={"Authorization": mine})
    gone = client.get(f"/r/{number}")
    assert gone.status_code == 410
    assert "deleted: its owner had it deleted" in gone.text
    assert not any((blobs.folder / "derived").rglob("*.gz"))


def test_a_private_result_is_nowhere(client, people, database, desk):
    alice = accounts.account_named(database, "alice")
    hidden = put(desk, alice, found("hidden one", licence_says="no"))
    for place in ("/", "/products", "/feed.atom", "/results", "/?rw=randread&iops=1"):
        assert "hidden one" not in client.get(place).text
    assert client.get(f"/r/{hidden}").status_code == 404
    assert client.get(f"/r/{hidden}/badge.svg").status_code == 404
    assert "hidden one" in client.get(f"/r/{hidden}", headers=people["alice"]).text


def test_a_search_finds_by_what_a_cell_surely_does(client, people, database, desk):
    alice = accounts.account_named(database, "alice")
    put(desk, alice, found("fast one", [cell(iops=30_000)]))
    put(desk, alice, found("slow one", [cell(iops=21_000)], model="N50"))
    assert "one evaluator, not ranked" in client.get("/?iops=20k").text
    reproduce_all(database)
    text = client.get("/?rw=randread&bs=4k&iops=20k&p99=5 ms&price=150").text
    assert re.findall(r'href="/products/([^"]*)">Contoso', text) == ["contoso-n100"]  # the other: 18,900 at the low end
    assert "30 k IOPS</b> ±10%" in text
    assert "1 product fits" in text
    assert "is no number" in client.get("/?iops=many").text
    assert client.get("/?iops=many").status_code == 422
    assert client.get("/results?cursor=x").status_code == 400


def test_the_pareto_chart_shows_products_of_one_currency(client, people, database, desk):
    alice = accounts.account_named(database, "alice")
    for name, price, iops in (("N1", 50.0, 9e3), ("N2", 90.0, 8e3), ("N3", 200.0, 50e3)):
        put(desk, alice, found(name, [cell(iops=iops)], model=name, price_per_tib=price))
    assert "No value is confirmed" in client.get("/").text
    reproduce_all(database)
    text = client.get("/products").text
    drawn = re.findall(r'class="(best) again"><title>Contoso (N\d)', text)
    assert drawn == [("best", "N1"), ("best", "N3")]
    assert re.findall(r'<path class="dots again" d="(M[^"]*)"', text)
    own = re.findall(r'class="( own) again"><title>Contoso (N\d)', client.get("/products/contoso-n2").text)
    assert own == [(" own", "N2")]
    assert "What it cost" not in client.get("/products/contoso-n2").text
    put(desk, alice, found("later", model="N2", price_per_tib=80.0, measured_at=1.71e9))
    page = client.get("/products/contoso-n2").text
    assert re.findall(r"<title>(\S+): ([\d.]+) USD per TiB</title>", page) == [
        ("2023-11-14", "90.0"),
        ("2024-03-09", "80.0"),
    ]


def test_results_of_a_product_that_name_several_models_are_told(client, people, database, desk):
    drive = {"model": "SSD 1 (doubtful)", "rev": "7.3", "size_bytes": "1000204886016 B = 932 GiB", "type": "disk"}
    drive |= {"identity": "ab"}
    facts = {f"nas: device.sda.{name}": value for name, value in drive.items()} | {"device.stack": "sda1 sda"}
    facts |= {f"device.sda1.{name}": value for name, value in {**drive, "type": "part"}.items()}
    facts |= {"device.sdb.model": "Best (typed in)", "device.sdc.size_bytes": "1 B"}
    read = extract._hardware(SimpleNamespace(sessions=[facts]))
    assert re.fullmatch(r"SSD 1 \(doubtful\), firmware 7.3, 932 GiB; unit [0-9a-f]{12}", read)
    alice = accounts.account_named(database, "alice")
    number, *_ = [put(desk, alice, found(str(n), hardware=each)) for n, each in enumerate((read, read, ""))]
    assert read in client.get(f"/r/{number}").text
    page = client.get("/products/contoso-n100").text
    assert " models: " not in page
    assert "2 results by alice: 1 unit." in page
    put(desk, alice, found("another", hardware="SSD 2, firmware 7.3; SSD 2, firmware 8; SSD 3; unit cd"))
    told = "3 results name 2 models: SSD 1 (doubtful); SSD 2 and SSD 2 and SSD 3. "
    told += "SSD 2: firmware 7.3 and firmware 8. 3 results by alice: 2 units."
    assert told in client.get("/products/contoso-n100").text
    assert "Serial numbers are in no bundle" in client.get("/rules").text


def test_script_in_every_field_of_an_upload_is_only_text(client, people, database, desk):
    alice = accounts.account_named(database, "alice")
    texts = {name: SCRIPT for name, value in vars(found()).items() if isinstance(value, str)}
    told = {"name": SCRIPT, "told": SCRIPT, "needed": True, "text": SCRIPT, "todo": SCRIPT}
    summary = {"headlines": [{"label": SCRIPT, "value": 1.0, "where": SCRIPT, "quantity": SCRIPT}], "trust": SCRIPT}
    summary |= {"doubts": [{"sentence": SCRIPT}]}
    texts |= {"licence_says": "yes"}
    number = put(desk, alice, found(**texts, conditions=[told], summary=summary, cells=[cell(rw=SCRIPT)]))
    product = queries.result_of(database, number).product_id
    for place in ("/", "/products", f"/products/{product}", f"/r/{number}", "/feed.atom", f"/r/{number}/badge.svg"):
        answer = client.get(place)
        assert answer.status_code == 200, place
        assert "<script" not in answer.text, place
        assert "<img" not in answer.text, place
        if place.endswith(("atom", "svg")):
            ET.fromstring(answer.text)


def test_script_in_every_text_of_an_export_is_only_text(real, monkeypatch):
    client, published = real
    kept = client.app.state.pages.kept
    hostile = spoiled(client.get(f"/r/{published}/data.json").json())
    monkeypatch.setattr(kept, "document", lambda _sha256: hostile)
    answer = client.get(f"/r/{published}")
    assert answer.status_code == 200
    assert "&lt;script&gt;" in answer.text
    assert "<script" not in answer.text


def test_script_in_every_text_of_a_comparison_is_only_text(client, people, database, desk, monkeypatch):
    rows = [{"rw": "read", "direction": "read", "kind": "measured", "bw_bytes_per_s": 1e6, "verdict": "steady"}]
    held = {"rows": rows, "constants": {"ioengine": "a"}, "settings": {"visits": "b"}, "sessions": [{"fio": "c"}]}
    made = iter((spoiled(held), held))
    monkeypatch.setattr(client.app.state.pages.kept, "document", lambda _sha256: next(made))
    ids = [put(desk, accounts.account_named(database, name), found(SCRIPT)) for name in ("alice", "robert")]
    answer = client.get("/compare", params={"id": ids})
    assert answer.status_code == 200
    assert "&lt;script&gt;" in answer.text
    assert "<script" not in answer.text


def spoiled(value, name=""):
    """Every text of a document with a script in its place, but for words that decide."""
    if isinstance(value, dict):
        return {key: spoiled(each, key) for key, each in value.items()}
    if isinstance(value, list):
        return [spoiled(each, name) for each in value]
    return SCRIPT if isinstance(value, str) and name not in ("kind", "mark") else value


def test_a_reply_stands_beside_the_result_in_all_its_versions(client, people, database, desk):
    number = put(desk, accounts.account_named(database, "alice"), found())
    vendor = accounts.new_account(database, "contoso", AccountKind.VENDOR, "Contoso")
    other = accounts.new_account(database, "fabrikam", AccountKind.VENDOR, "Fabrikam")
    tokens = {one.name: {"Authorization": f"Bearer {accounts.new_token(database, one)}"} for one in (vendor, other)}

    def say(headers, text):
        return client.post(f"{UPLOAD}/{number}/replies", json={"text": text}, headers=headers).status_code

    assert say(tokens["contoso"], "Firmware?") == 201
    assert say(tokens["contoso"], f"Firmware 7.2 is old. {SCRIPT}\nPlease measure 7.3.") == 201
    assert say(people["alice"], "I will.") == 201
    assert say(tokens["fabrikam"], "Buy ours.") == 403
    assert say(people["robert"], "Me too.") == 403
    assert say(tokens["contoso"], "\x1b[2J") == 400
    text = client.get(f"/r/{number}").text
    assert "vendor, verified" in text
    assert text.index("Firmware 7.2 is old.") < text.index("I will.")
    assert "Firmware?" in text  # the older version stays
    assert "Buy ours." not in text
    assert "<script" not in text


def test_nobody_reproduces_himself(client, people, database, desk):
    alice, robert = (accounts.account_named(database, name) for name in ("alice", "robert"))
    first = put(desk, alice, found())
    own = put(desk, alice, found("again", signer="SHA256:y"))
    same_key = put(desk, robert, found("again"))

    def name(headers, by):
        return client.post(f"{UPLOAD}/{first}/reproductions", json={"by": by}, headers=headers).json()["detail"]

    assert "himself" in name(people["alice"], own)
    assert "same key" in name(people["robert"], same_key)
    assert "another's" in name(people["robert"], own)
    assert client.get(f"{UPLOAD}/{first}").json()["reproductions"] == []


def test_a_result_names_who_measured_it_again(client, people, database, desk, monkeypatch):
    monkeypatch.setattr(reproductions, "_held", lambda *_: (Outcome.REPRODUCED, "alike"))
    alice, robert = (accounts.account_named(database, name) for name in ("alice", "robert"))
    first = put(desk, alice, found("first", signer="SHA256:a", testbed="bed1"))
    again = put(desk, robert, found("once more", campaign_id="d", signer="SHA256:b", testbed="bed2"))
    results = [queries.result_of(database, number) for number in (first, again)]
    reproductions.claim(database, desk.blobs, desk.limits, *results, robert)
    assert f'<a href="/r/{again}">once more, by robert</a>: reproduced, alike' in client.get(f"/r/{first}").text
    (told,) = client.get(f"{UPLOAD}/{first}").json()["reproductions"]
    assert (told["title"], told["account"]) == ("once more", "robert")


def test_the_feed_is_atom_and_follows_a_search(client, people, database, desk):
    alice = accounts.account_named(database, "alice")
    number = put(desk, alice, found("fast one", [cell(iops=30_000)]))
    put(desk, alice, found("slow one", [cell(iops=1_000)], model="N2"))
    space = {"a": "http://www.w3.org/2005/Atom"}
    feed = ET.fromstring(client.get("/feed.atom?q=fast").text)
    assert [entry.findtext("a:title", "", space) for entry in feed.findall("a:entry", space)] == ["fast one"]
    assert feed.find("a:entry/a:link", space).get("href").endswith(f"/r/{number}")
    page = client.get("/?rw=randread&iops=20k&sort=price&page=2").text
    (own,) = {html.unescape(one) for one in re.findall(r'"(/feed[^"]*)"', page)}
    feed = ET.fromstring(client.get(own).text)
    (entry,) = feed.findall("a:entry", space)
    assert entry.find("a:link", space).get("href") == "/products/contoso-n100"
    assert "4 KiB random read, 1 in flight: " in entry.findtext("a:summary", "", space)
    assert client.get("/feed.atom?rw=fast").status_code == 400


def test_the_address_of_citations_is_that_of_the_service(database, blobs, people, desk):
    number = put(desk, accounts.account_named(database, "alice"), found())
    with TestClient(make_app(database, blobs, origin="https://atlas.example")) as client:
        page = client.get(f"/r/{number}").text
        assert f"<code>ioatlas reproduce https://atlas.example/r/{number} TARGET</code>" in page
        assert f"I/O Atlas, result {number}. https://atlas.example/r/{number}." in page
        assert f"https://atlas.example/r/{number}" in client.get(f"/r/{number}/citation.bib").text


def test_what_is_the_same_for_all_is_packed_and_not_sent_again_until_it_changes(client, people, database, desk):
    alice = accounts.account_named(database, "alice")
    put(desk, alice, found(model="N1"))
    for place in ("/", "/products/contoso-n1", "/rules", "/results"):
        first = client.get(place, headers={"Accept-Encoding": "gzip"})
        known = {"If-None-Match": first.headers["etag"]}
        assert (first.headers["content-encoding"], first.headers["cache-control"]) == ("gzip", "no-cache"), place
        again = client.get(place, headers=known)
        assert (again.status_code, again.content) == (304, b""), place
        own = client.get(place, headers={**known, **people["alice"]})
        assert (own.status_code, "etag" in own.headers, own.headers["cache-control"]) == (200, False, "no-store"), place
    put(desk, alice, found("another", model="N2"))
    assert client.get("/", headers=known).status_code == 200
    (style,) = re.findall(r'"(/static/atlas.css[^"]*)"', client.get("/").text)
    assert "immutable" in client.get(style).headers["cache-control"]
    assert client.get("/nosuch").headers.get("etag") is None


def test_a_doubted_load_is_marked_says_why_and_is_not_ranked(client, database, blobs, monkeypatch):
    place = upload(client, database)
    with database.writing() as link:
        own = link.execute(sa.select(tables.cell.c.number).where(tables.cell.c.usable)).scalars().first()
        mine = tables.cell.c.number == own
        link.execute(sa.update(tables.cell).where(mine).values(doubt="more <than> its link", usable=False))
    page = client.get(f"/r/{place}").text
    assert page.count("<summary>doubted</summary>more &lt;than&gt; its link</details>") == 1
    rows = client.get(f"/r/{place}/data.json").json()["rows"]
    assert sorted({(row["doubt"], row["mark"] == "suspect") for row in rows if row["doubt"]}) == [
        ("more <than> its link", True)
    ]
    written = csv.DictReader(io.StringIO(client.get(f"/r/{place}/data.csv").text))
    assert [row["doubt"] for row in written if row["doubt"]] == ["more <than> its link"]
    # The explorer shows the same cell as doubted, and no other.
    explorer = client.get(f"/r/{place}/explorer").text
    assert "1 value of this map is doubted" in explorer
    cells = json.loads(re.findall(r'id="ioatlas-data">(.*?)</script>', explorer)[0])["cells"]
    told = {}
    for name in ("mark", "note"):
        packed = cells[name]["packed_texts"]
        texts = json.loads(gzip.decompress(base64.b64decode(packed))) if packed else cells[name]["texts"]
        codes = np.frombuffer(gzip.decompress(base64.b64decode(cells[name]["codes"]["data"])), "u1")
        codes = codes.cumsum() if cells[name]["codes"]["step"] else codes
        told[name] = [texts[code] for code in codes]
    marks = {note: mark for mark, note in zip(told["mark"], told["note"], strict=True) if "doubted" in note}
    assert {note.rpartition("doubted: ")[2] for note in marks} == {"more <than> its link"}
    assert set(marks.values()) == {"suspect"}
    assert told["mark"].count("suspect") == sum(
        row["mark"] == "suspect" for row in client.get(f"/r/{place}/data.json").json()["rows"]
    )
    assert '<td class="cached" title="' in page
    pages = client.app.state.pages
    whole = pages.kept.document(queries.result_of(database, place).bundle_sha256)
    other = put(Desk(database, blobs, Limits()), accounts.new_account(database, "carol"), found("other"))
    monkeypatch.setattr(pages.kept, "document", lambda _sha256: whole)
    compared = client.get("/compare", params={"id": [place, other]}).text
    assert re.search(r"1 load of 1\. .*: doubted, and not ranked", compared)
    assert "<summary>not ranked</summary>doubted: more &lt;than&gt; its link<" in compared


def test_pages_of_an_earlier_version_are_shown_until_newer_ones_are_there(client, database, blobs, monkeypatch):
    make, may = derived.confined, threading.Event()
    monkeypatch.setattr(derived, "confined", lambda *how: may.wait(300) and make(*how))
    place = upload(client, database)
    older = blobs.derived(queries.result_of(database, place).bundle_sha256) / "0.1"
    older.mkdir(parents=True)
    (older / EXPLORER).write_bytes(gzip.compress(b"<p>of before</p>"))
    assert client.get(f"/r/{place}/explorer").text == "<p>of before</p>"
    may.set()
    until = time.monotonic() + 120
    while older.exists() and time.monotonic() < until:
        time.sleep(0.05)
    assert 'id="ioatlas-data"' in client.get(f"/r/{place}/explorer").text


def test_a_page_of_an_earlier_version_that_goes_while_it_is_opened_is_the_newer_one(
    client, database, blobs, monkeypatch
):
    place = upload(client, database)
    kept = client.app.state.pages.kept
    made, gone = kept.made, [blobs.derived(queries.result_of(database, place).bundle_sha256) / "0.1"]
    monkeypatch.setattr(kept, "made", lambda sha256: gone.pop() if gone else made(sha256))
    assert 'id="ioatlas-data"' in client.get(f"/r/{place}/explorer").text
    assert not gone


def test_what_anybody_may_see_becomes_a_site_in_which_nothing_doubted_ranks(client, database, desk, tmp_path):
    upload(client, database)
    hidden = put(desk, accounts.account_named(database, "alice"), found("hidden"), private=True)
    with database.writing() as link:
        link.execute(sa.update(tables.cell).values(doubt="more than its link"))
    done = ioatlas("atlas", "serve", "site", tmp_path / "public", "--folder", tmp_path)
    assert done.returncode == 0, done.stderr
    (row,) = csv.DictReader((tmp_path / "public" / "summary.csv").open(newline=""))
    assert (row["read"], row["write"], row["read_4k"]) == ("", "", "")
    found_marks = {
        row["mark"]
        for path in (tmp_path / "public" / "cells").iterdir()
        for row in parquet.read_table(path).to_pylist()
        if row["kind"] == "measured"
    }
    assert found_marks == {"? suspect"}
    assert not [path for path in (tmp_path / "public").rglob("*") if hidden in path.name]


def test_what_search_engines_and_other_sites_show_is_told(real):
    client, published = real
    listed = ET.fromstring(client.get("/sitemap.xml").content)
    assert f"/r/{published}" in [place.text for place in listed.findall(".//{*}loc")]
    page = client.get(f"/r/{published}").text
    (about,) = re.findall(r'property="og:description" content="([^"]*)"', page)
    assert "recomputed" in about
    assert re.findall(r'property="og:title" content="[^"]+"', page)
