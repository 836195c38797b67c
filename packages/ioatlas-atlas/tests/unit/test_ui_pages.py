# SPDX-License-Identifier: Apache-2.0
"""The pages of `ioatlas ui` over a library of simulated campaigns: what a browser gets, and who may ask."""

import gzip
import json
import re
import shutil
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient
from tests.unit.simulated import Shell

from ioatlas.measure.campaign import load_result
from ioatlas.measure.run import live
from ioatlas.report.numbers import answer_of
from ioatlas.report.small_map import in_words, letters
from ioatlas_atlas.ui import app, commands
from ioatlas_atlas.ui import shelf as shelf_module
from ioatlas_atlas.ui.app import Gate, make_app, new_token
from ioatlas_atlas.ui.commands import Said, Wish
from ioatlas_atlas.ui.shelf import Shelf

HOST = "127.0.0.1:8750"
ORIGIN = {"Origin": f"http://{HOST}"}
ioatlas = Shell()


@pytest.fixture(scope="module")
def library(tmp_path_factory) -> Path:
    """Two campaigns of a target with a name that has to be escaped, and one that cannot be read."""
    place = tmp_path_factory.mktemp("library")
    target = place / "<b>nas"
    target.mkdir()
    for name in ("monday", "friday"):
        sweep = f'[[target]]\npath = "{target}"\n[sweep]\nrw = "randread"\nbs = ["16k", "64k"]\nsize = "1m"\n'
        (place / "sweep.toml").write_text(f"visits = 2\n{sweep}")
        done = ioatlas("map", "--campaign", place / "sweep.toml", "-o", place / "lib" / name, "--yes")
        assert done.returncode == 0, done.stderr
    (place / "lib" / "broken").mkdir()
    (place / "lib" / "broken" / "journal.sqlite").write_bytes(b"no journal")
    return place / "lib"


@pytest.fixture
def browser(library: Path, monkeypatch: pytest.MonkeyPatch) -> TestClient:
    monkeypatch.setattr(commands, "SHORT_SECONDS", 600.0)  # the tests give way to others on a busy machine
    app = make_app(Shelf([library]), hosts=frozenset({HOST}), token="token")
    client = TestClient(app, base_url=f"http://{HOST}")
    client.get("/?token=token")
    return client


def names(page: str) -> list[str]:
    """Short names of the entries that a page leads to."""
    return list(dict.fromkeys(re.findall(r'href="/c/([0-9a-f]+)/"', page)))


def test_the_library_lists_all_and_leads_to_those_that_can_be_read(browser: TestClient) -> None:
    page = browser.get("/").text
    assert len(names(page)) == 2
    assert "cannot be read" in page
    assert "<b>nas" not in page
    assert "&lt;b&gt;nas" in page


def test_each_entry_has_its_numbers_and_its_map(browser: TestClient, library: Path) -> None:
    page = browser.get("/").text
    drawn = letters(load_result(library / "monday"))
    assert page.count('<svg class="map"') == 2
    assert page.count(f'aria-label="Map: {in_words(drawn)}"') == 2
    assert page.count("<path fill=") - 3 == 2 * sum(map(str.isalpha, drawn)), "and three of the mark of the page"


def test_what_no_report_says_is_computed_once(library: Path, tmp_path: Path, monkeypatch) -> None:
    shutil.copytree(library / "monday", tmp_path / "lib" / "monday")
    report = tmp_path / "lib" / "monday" / "report.html"
    kept = answer_of(report.parent, 0.0)
    report.unlink()
    shelf = Shelf([tmp_path / "lib"])
    (volume,) = shelf.volumes()
    monkeypatch.setattr(shelf_module, "COMPUTE_SECONDS", -1.0)
    assert shelf.answers([volume]) == {volume.id: {}}, "there was no time for it"
    monkeypatch.setattr(shelf_module, "COMPUTE_SECONDS", 60.0)
    assert shelf.answers([volume]) == {volume.id: kept}
    monkeypatch.setattr(shelf_module, "report_data", None)
    assert shelf.answers([volume]) == {volume.id: kept}


def test_search_takes_all_words_and_a_state(browser: TestClient) -> None:
    assert len(names(browser.get("/?q=monday").text)) == 1
    assert len(names(browser.get("/?q=nas FRI&state=complete").text)) == 1
    assert "None of the 3 entries fits" in browser.get("/?q=monday friday").text
    assert "None of the 3 entries fits" in browser.get("/?state=unfinished").text


def test_a_campaign_opens_as_its_report(browser: TestClient) -> None:
    name = names(browser.get("/?q=monday").text)[0]
    answer = browser.get(f"/c/{name}/")
    assert answer.status_code == 200
    assert 'id="ioatlas-data"' in answer.text
    assert '<meta name="ioatlas-live"' not in answer.text
    assert answer.text.count('<a href="/">Library</a>') == 1
    assert "default-src 'none'" not in answer.headers["Content-Security-Policy"]  # the page carries its own
    assert json.loads(browser.get(f"/c/{name}/data").text)["cells"]["n_rows"] == 2


ODD = [
    *("%00", "%ed%a0%80", "..%2f..%2f", "--help"),
    *(pytest.param(odd, marks=pytest.mark.long("atlas")) for odd in ("%ff%fe", "a" * 5000, "%0d%0ax: y", "&f=1" * 60)),
]


@pytest.mark.long("atlas")
@pytest.mark.parametrize("odd", ODD, ids=lambda text: text[:12])
def test_odd_values_are_no_fault_of_the_server(browser: TestClient, odd: str, monkeypatch) -> None:
    monkeypatch.setattr(commands.sys, "executable", "true")  # words of a real process, no measurement
    headers = {**ORIGIN, "Content-Type": "application/x-www-form-urlencoded"}
    for name in ("target", "profile", "budget", "product", "name", "destroy"):
        assert browser.get(f"/new?{name}={odd}").status_code < 500
        assert browser.post("/new/plan", content=f"{name}={odd}", headers=headers).status_code < 500
        assert browser.post("/new/start", content=f"{name}={odd}", headers=headers).status_code < 500
    for name in ("q", "state", "side", "make"):
        assert browser.get(f"/?{name}={odd}").status_code < 500
        assert browser.get(f"/set?{name}={odd}").status_code < 500
    assert browser.get(f"/c/{odd}/").status_code < 500


@pytest.mark.parametrize("name", ["0123456789abcdef", "..%2f..%2fetc", "monday"])
def test_only_what_is_in_the_library_is_shown(browser: TestClient, name: str) -> None:
    assert browser.get(f"/c/{name}/").status_code == 404
    assert browser.post(f"/c/{name}/stop", headers=ORIGIN).status_code == 404


def test_a_campaign_that_runs_is_told_and_stopped(browser: TestClient, library: Path, monkeypatch) -> None:
    name = names(browser.get("/?q=monday").text)[0]
    assert json.loads(browser.get(f"/c/{name}/live").text)["running"] is False
    assert browser.post(f"/c/{name}/stop", headers=ORIGIN).status_code == 409
    told = live.LiveFile(library / "monday", lambda _event: None)
    try:
        told(live.Event("progress", {"visits_done": 3}))
        told._write()
        found = json.loads(browser.get(f"/c/{name}/live").text)
        assert (found["running"], found["progress"]["visits_done"]) == (True, 3)
        assert '<meta name="ioatlas-live"' in browser.get(f"/c/{name}/").text
        assert "connect-src 'self'" in browser.get(f"/c/{name}/").text
        assert names(browser.get("/?state=running").text) == [name]
        asked: list[int] = []
        monkeypatch.setattr(commands.os, "kill", lambda pid, signum: asked.extend((pid, signum)))
        assert browser.post(f"/c/{name}/stop", headers=ORIGIN).status_code == 202
        assert asked == [live.os.getpid(), commands.signal.SIGINT]
        assert browser.post(f"/c/{name}/resume", headers=ORIGIN).status_code == 409
    finally:
        told.close()
    assert json.loads(browser.get(f"/c/{name}/live").text)["running"] is False


def test_a_session_that_died_does_not_run(library: Path, monkeypatch) -> None:
    told = live.LiveFile(library / "friday", lambda _event: None)
    try:
        assert live.live(library / "friday") is not None
        monkeypatch.setattr(live, "start_time_ticks", lambda _pid: None)
        assert live.live(library / "friday") is None
    finally:
        told.close()


def test_what_is_typed_is_never_taken_for_an_option() -> None:
    wish = Wish.of({"target": "--campaign=x", "profile": "-o", "name": "../../etc", "destroy": " ", "product": "-p"})
    words = wish.words("map")
    assert words[-2:] == ["--", "--campaign=x"]
    assert {"--profile=-o", "--product=-p"} <= set(words)
    assert "/../" not in words[words.index("-o") + 1]
    assert wish.directory().name == "etc"
    assert not any(word.startswith("--destroy") for word in words)


PLAN = {
    "space_needed_bytes": 256 << 20,
    "bytes_written": 3 << 30,
    "seconds": 10.0,
    "budget_seconds": 10.0,
    "remarks": [],
    "warnings": ["NOT ENOUGH ROOM on nas"],
    "text": "cells  <24>",
}


def test_a_plan_is_shown_before_anything_is_written(browser: TestClient, monkeypatch, tmp_path: Path) -> None:
    asked: list[list[str]] = []

    def call(words: list[str]) -> Said:
        asked.append(words)
        plan = {**PLAN, "targets": [{"target": "nas", "kind": "directory", "location": str(tmp_path)}]}
        return Said(0, f"{json.dumps(plan)}\na remark")

    monkeypatch.setattr(commands, "call", call)
    wanted = {"target": str(tmp_path), "budget": "10s", "name": "nas2"}
    page = browser.post("/new/plan", data=wanted, headers=ORIGIN).text
    assert asked == [["plan", "--budget=10s", "--json", "--", str(tmp_path)]]
    assert "cells  &lt;24&gt;" in page
    will = page.partition("<ul>")[2].partition("</ul>")[0]
    for fact in (str(tmp_path), "256 MiB", "3 GiB", "10 s", str(Wish.of({"name": "nas2"}).directory())):
        assert fact in will, fact
    assert "NOT ENOUGH ROOM" in page
    assert f"ioatlas map --budget=10s -o {Wish.of({'name': 'nas2'}).directory()} -- {tmp_path}" in page
    assert "Start" in page
    assert browser.post("/new/plan", content=b"x" * 70_000, headers=ORIGIN).status_code == 413


def test_a_refusal_is_shown_in_its_own_words(browser: TestClient, monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setattr(commands, "start", lambda _words, _directory: Said(2, "the disk has partitions"))
    answer = browser.post("/new/start", data={"target": "/dev/sdx"}, headers=ORIGIN)
    assert answer.status_code == 409
    assert "the disk has partitions" in answer.text


def test_a_set_of_too_few_says_what_to_do(browser: TestClient) -> None:
    name = names(browser.get("/?q=monday").text)[0]
    assert "choose 2 entries or more" in browser.get(f"/set?make=compare&side={name}").text
    assert browser.get("/set?make=rm&side=x").status_code == 409


@pytest.mark.long("atlas")
def test_two_campaigns_are_compared(browser: TestClient) -> None:
    sides = "&".join(f"side={name}" for name in names(browser.get("/").text))
    answer = browser.get(f"/set?make=compare&{sides}")
    assert answer.status_code == 200
    assert '"comparison":{' in answer.text


FIO = {
    "fio version": "fio-3.33",
    "jobs": [
        {
            "jobname": "a",
            "error": 0,
            "job options": {"rw": "read", "bs": "1m", "iodepth": "8", "size": "1g", "direct": "1"},
            "read": {"io_bytes": 943718400, "bw_bytes": 943718400, "bw": 921600, "iops": 900, "runtime": 1000},
        }
    ],
}


def dropped(browser: TestClient, *files: tuple[str, bytes]) -> object:
    return browser.post("/import", files=[("file", one) for one in files], headers=ORIGIN, follow_redirects=False)


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[TestClient, Path]:
    monkeypatch.setattr(commands, "SHORT_SECONDS", 600.0)
    library = tmp_path / "outer" / "library"
    library.mkdir(parents=True)
    client = TestClient(make_app(Shelf([library]), hosts=frozenset({HOST}), token="token"), base_url=f"http://{HOST}")
    client.get("/?token=token")
    return client, library


@pytest.mark.long("atlas")
def test_a_dropped_file_becomes_an_entry_and_is_shown(shelf: tuple[TestClient, Path]) -> None:
    browser, library = shelf
    assert 'type="file"' in browser.get("/").text
    text = json.dumps(FIO, indent=1).encode()
    for name in ("../../nas 1.json", "nas 1.json"):
        done = dropped(browser, (name, text), ("b.json.gz", gzip.compress(text.replace(b"read", b"write"))))
        assert done.status_code == 303, done.text
        page = browser.get(done.headers["location"])
        assert page.status_code == 200
        assert "Best write" in page.text
    assert [one.name for one in sorted(library.iterdir())] == ["nas-1", "nas-1-2"]
    assert [one.name for one in sorted(library.parent.parent.rglob("*")) if one.is_file()] == ["imported.sqlite"] * 2


def test_what_cannot_be_read_is_one_error_and_leaves_nothing(
    shelf: tuple[TestClient, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    browser, library = shelf
    done = dropped(browser, ("junk.json", b"nothing here"))
    assert done.status_code == 409
    assert "junk.json: no known result format" in done.text
    assert "/tmp" not in done.text
    assert dropped(browser, ("..", b"x")).status_code == 409
    plain = browser.post("/import", content=b"x" * 10, headers={**ORIGIN, "Content-Type": "text/plain"})
    assert plain.status_code == 409
    monkeypatch.setattr(app, "MOST_FILE_BYTES", 1000)
    large = dropped(browser, ("a.json", b"x" * 2000))
    assert (large.status_code, "at most 1000 B" in large.text) == (413, True)
    assert list(library.iterdir()) == []
    assert browser.post("/import", files={"file": ("a.json", b"{}")}).status_code == 403


HOSTS = frozenset({HOST, "localhost:8750"})


def echo(request: Request) -> PlainTextResponse:
    return PlainTextResponse(f"{request.method} {request.url.query}")


@pytest.fixture
def token() -> str:
    return new_token()


@pytest.fixture
def gated(token: str) -> TestClient:
    """One that opened the printed address."""
    app = Gate(Starlette(routes=[Route("/", echo, methods=["GET", "POST"])]), hosts=HOSTS, token=token)
    client = TestClient(app, base_url=f"http://{HOST}")
    opened = client.get(f"/?token={token}&q=nas", follow_redirects=False)
    assert opened.status_code == 303
    assert opened.headers["location"] == "/?q=nas"
    return client


def test_the_token_leaves_the_address_and_stays_as_a_cookie_of_this_site(gated: TestClient, token: str) -> None:
    opened = gated.get(f"/?token={token}", follow_redirects=False)
    assert {"HttpOnly", "SameSite=strict", "Path=/"} <= set(opened.headers["set-cookie"].split("; "))
    assert gated.get("/?q=nas").text == "GET q=nas"


def test_nobody_without_the_token(gated: TestClient) -> None:
    gated.cookies.clear()
    assert gated.get("/").status_code == 403
    assert gated.get("/?token=guessed").status_code == 403
    assert gated.get("/", headers={"Cookie": "ioatlas-8750=guessed"}).status_code == 403
    assert gated.post("/", headers={"Origin": f"http://{HOST}"}).status_code == 403


@pytest.mark.parametrize("name", ["evil.example", "evil.example:8750", "127.0.0.1", "127.0.0.1:8751", "", "[::1]:8750"])
def test_no_other_name_leads_here(gated: TestClient, name: str) -> None:
    assert gated.get("/", headers={"Host": name}).status_code == 403


@pytest.mark.parametrize(
    "origin",
    [None, "null", "http://evil.example", "https://127.0.0.1:8750", "http://127.0.0.1:8751", "http://127.0.0.1"],
)
def test_no_page_of_another_site_changes_anything(gated: TestClient, origin: str | None) -> None:
    headers = {} if origin is None else {"Origin": origin}
    assert gated.post("/", headers=headers).status_code == 403
    assert gated.post("/", headers={"Origin": f"http://{HOST}"}).text == "POST "


def test_nothing_is_kept_or_framed_or_guessed(gated: TestClient) -> None:
    headers = gated.get("/").headers
    assert headers["Cache-Control"] == "no-store"
    assert headers["X-Content-Type-Options"] == "nosniff"
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    refused = gated.get("/", headers={"Host": "evil.example"}).headers
    assert "default-src 'none'" in refused["Content-Security-Policy"]
