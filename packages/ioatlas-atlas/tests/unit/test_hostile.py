# SPDX-License-Identifier: Apache-2.0
"""What strangers send to an atlas: too much, too slowly, too often, and bundles made to do harm."""

import asyncio
import io
import json
import random
import re
import stat
import subprocess
import sys
import threading
import time
import zipfile
from dataclasses import asdict
from types import SimpleNamespace

import pytest
from made import OLD_BUNDLE, found
from served import admission_read
from starlette.testclient import TestClient
from tests.unit.bundle.made import resigned

from ioatlas.bundle import keys
from ioatlas.store import archive
from ioatlas_atlas import admission, extract
from ioatlas_atlas.admission import Limits, NotAdmittedError
from ioatlas_atlas.app import make_app
from ioatlas_atlas.bodies import BodyLimits
from ioatlas_atlas.fairness import Declaration
from ioatlas_atlas.traffic import Rate, client_of

RESULTS = "/api/v1/results"
NEVER, GONE = object(), {"type": "http.disconnect"}
MIB = 1 << 20


@pytest.fixture(scope="module")
def apart():
    return True


def asked(app, path, headers, pieces, method="POST"):
    """(status, answer) of a request whose body comes in pieces; one that is NEVER does not."""

    async def ask():
        waiting = iter(pieces)
        sent = []

        async def receive():
            piece = next(waiting, GONE)
            if piece is NEVER:
                await asyncio.Event().wait()
            return piece if isinstance(piece, dict) else {"type": "http.request", "body": piece, "more_body": True}

        async def send(message):
            sent.append(message)

        told = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": "http",
            "path": path, "raw_path": path.encode(), "query_string": b"", "root_path": "", "headers": told,
            "client": ("192.0.2.1", 5), "server": ("atlas", 80),
        }  # fmt: skip
        await app(scope, receive, send)
        body = b"".join(message.get("body", b"") for message in sent)
        return sent[0]["status"], body.startswith(b"{") and json.loads(body), dict(sent[0]["headers"])

    return asyncio.run(ask())


@pytest.fixture
def leaves_nothing(client, people, blobs):
    """What was refused left no result, no bundle and no half of one."""
    yield
    assert client.get(RESULTS, headers=people["carol"]).json()["entries"] == []
    assert list(blobs.kept()) == []
    assert list((blobs.folder / "incoming").iterdir()) == []


def pieces(size):
    yield from (b"x" * min(1000, size - begin) for begin in range(0, size, 1000))


# -- too much, too slowly, too often -----------------------------------------------------------------------------


@pytest.mark.usefixtures("leaves_nothing")
def test_more_than_the_limit_is_refused_told_before_or_not(database, blobs, people):
    app = make_app(database, blobs, limits=Limits(upload_bytes=MIB))
    with TestClient(app) as small:
        told = small.post(RESULTS, content=bytes(MIB + 1), headers=people["alice"])
        assert (told.status_code, told.json()["detail"]) == (413, "a bundle has at most 1 MiB")
        untold = small.post(RESULTS, content=pieces(MIB + 1), headers=people["alice"])
        assert (untold.status_code, untold.json()["detail"]) == (413, "bundle: it has more than 1 MiB")
    for length in ("9" * 5000, "-1", "1e3", "0x10"):
        status, _, _ = asked(app, RESULTS, {**people["alice"], "Content-Length": length}, [])
        assert status == 413, length


@pytest.mark.usefixtures("leaves_nothing")
def test_a_bundle_that_stops_coming_is_given_up_and_one_cut_off_is_nobody_s(database, blobs, people, client):
    app = make_app(database, blobs, limits=Limits(idle_seconds=0.05))
    status, told, headers = asked(app, RESULTS, people["alice"], [b"PK", NEVER])
    assert (status, told["detail"], headers[b"connection"]) == (408, "the bundle came too slowly", b"close")
    slow = make_app(database, blobs, limits=Limits(upload_seconds=0.05))
    assert asked(slow, RESULTS, people["alice"], [b"PK", NEVER])[0] == 408
    status, told, _ = asked(client.app, RESULTS, people["alice"], [b"PK", GONE])
    assert (status, told["detail"]) == (400, "the bundle broke off")
    assert 'outcome="broken off"} 1' in client.get("/metrics").text


def test_other_requests_bring_little_and_bring_it_soon(database, blobs, people):
    """Before the token is looked at: nobody needs one to send."""
    app = make_app(database, blobs, bodies=BodyLimits(most_bytes=1000, idle_seconds=0.05))
    place = f"{RESULTS}/0/withdraw"
    assert asked(app, place, {}, pieces(1001))[:2] == (413, {"title": "Request Entity Too Large", "status": 413,
        "detail": "more was sent than this address takes", "type": "about:blank"})  # fmt: skip
    assert asked(app, place, {}, [b"{", NEVER])[0] == 408
    status, _, headers = asked(app, place, {"Content-Length": "1", "Transfer-Encoding": "chunked"}, [b"{"])
    assert (status, headers[b"connection"]) == (400, b"close")
    assert asked(app, "/sign-in", {"Host": "atlas", "Origin": "http://atlas"}, [b"token=", GONE])[0] == 400
    whole = {"type": "http.request", "body": b'{"reason": "x"}', "more_body": False}
    assert asked(app, place, {**people["alice"], "Content-Type": "application/json"}, [whole])[0] == 404


def test_who_asks_too_often_is_told_when_to_go_on(database, blobs):
    with TestClient(make_app(database, blobs, rate=Rate(a_second=0.001, burst=3))) as client:
        assert [client.get("/api/v1/products").status_code for _ in range(3)] == [200] * 3
        held = client.get("/api/v1/products")
        assert (held.status_code, held.headers["content-type"]) == (429, "application/problem+json")
        assert 900 <= int(held.headers["retry-after"]) <= 1000
        assert client.get("/healthz").status_code == 200  # what looks after it is not held back
    assert client_of("2001:db8::1") == client_of("2001:db8::ffff:1") != client_of("2001:db8:0:1::1")
    assert client_of("192.0.2.1") != client_of("192.0.2.2")


def test_what_is_refused_counts_for_the_quota_too(database, blobs, people):
    client = TestClient(make_app(database, blobs, limits=Limits(uploads_a_day=1)))
    assert client.post(RESULTS, content=b"x", headers=people["alice"]).status_code == 422
    more = client.post(RESULTS, content=OLD_BUNDLE.read_bytes(), headers=people["alice"])
    assert (more.status_code, more.headers["retry-after"]) == (429, "3600")
    assert "in a day" in more.json()["detail"]


@pytest.mark.long("atlas")
def test_two_equal_uploads_at_once_are_one_result(client, people, monkeypatch):
    both = threading.Barrier(2, timeout=300)
    read = admission.read

    def read_together(*given):
        both.wait()
        return read(*given)

    monkeypatch.setattr(admission, "read", read_together)
    answers = []

    def send():
        answers.append(client.post(RESULTS, content=OLD_BUNDLE.read_bytes(), headers=people["alice"]))

    threads = [threading.Thread(target=send) for _ in range(2)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert sorted(one.status_code for one in answers) == [200, 201], [one.text for one in answers]
    assert len({one.json()["id"] for one in answers}) == 1
    assert len(client.get(RESULTS).json()["entries"]) == 1


ODD = {
    "deep": b'{"reason":' + b"[" * 30_000 + b"]" * 30_000 + b"}",
    "5,000 digits": b'{"reason":' + b"9" * 5000 + b"}",
    "NaN": b'{"reason":NaN}',
    "infinite": b'{"reason":1e999}',
    "half a letter": b'{"reason":"\\ud800"}',
    "a zero letter": b'{"reason":"\\u0000"}',
    "lines": b'{"reason":"a\\nb"}',
    "no text": b'{"reason":["a"]}',
    "no JSON": b"\xff\xfe",
    "nothing": b"",
}


@pytest.mark.parametrize("what", ODD)
def test_odd_json_is_refused(client, people, what):
    headers = {**people["alice"], "Content-Type": "application/json"}
    said = client.post(f"{RESULTS}/0/withdraw", content=ODD[what], headers=headers)
    assert said.status_code in (400, 404, 422), said.text
    assert said.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    "text",
    [
        *("\0", "'; DROP TABLE result; --", "9" * 5000),
        *(pytest.param(one, marks=pytest.mark.long("atlas")) for one in ("\ufffe", "%", "_" * 200, "\u202e")),
    ],
)
def test_odd_texts_in_an_address_are_no_fault_of_the_service(client, text):
    for name in ("q", "product", "drive", "cursor", "bs_bytes", "min_iops", "embargo"):
        assert client.get(RESULTS, params={name: text}).status_code in (200, 400, 422), name
    for place in ("/", "/products", "/feed.atom", "/compare"):
        said = client.get(place, params={"q": text, "iops": text, "id": [text, "b"], "cursor": text})
        assert said.status_code in (200, 400, 422), (place, said.text)
        assert "no-store" not in said.headers.get("cache-control", "")


@pytest.mark.long("atlas")
def test_the_name_that_a_client_calls_the_service_by_is_never_repeated(client, people):
    told = client.post(RESULTS, content=OLD_BUNDLE.read_bytes(), headers={**people["alice"], "Host": "evil.example"})
    token = people["alice"]["Authorization"].removeprefix("Bearer ")
    own = {"Host": "evil.example", "Origin": "http://evil.example"}
    answers = [told, client.post("/sign-in", data={"token": token}, headers=own, follow_redirects=False)]
    assert [one.status_code for one in answers] == [201, 303]
    number = told.json()["id"]
    paths = {route.path for route in client.app.router.routes if hasattr(route, "path")}
    paths |= set(client.get("/api/v1/openapi.json").json()["paths"])
    for path in sorted(paths):
        place = re.sub(r"\{[^}]*\}", number, path.replace("{form:str}", "json"))
        for form in (place, f"{place}/", place.rstrip("/"), f"/{place}"):
            answers += [client.get(form or "/", headers=own, follow_redirects=False)]
    assert len(answers) > 100
    for one in answers:
        assert "evil" not in one.text + str(one.headers), one.url


@pytest.mark.parametrize("header", ["X-Forwarded-For", "Forwarded"])
def test_counts_are_not_for_the_public_behind_a_proxy(client, header):
    assert client.get("/metrics").status_code == 200
    passed_on = client.get("/metrics", headers={header: "198.51.100.7"})
    assert (passed_on.status_code, "ioatlas_" in passed_on.text) == (404, False)
    assert client.get("/healthz", headers={header: "198.51.100.7"}).status_code == 200


def test_methods_that_a_client_makes_up_are_counted_as_one(client):
    assert {client.request(f"MADE{number}", "/").status_code for number in range(3)} == {405}
    told = client.get("/metrics").text
    assert 'method="other",status="405"} 3' in told
    assert "MADE" not in told


def test_raw_output_that_is_passed_on_is_no_reproduction(tmp_path):
    limits = json.dumps(asdict(Limits()))
    words = [sys.executable, "-m", "ioatlas_atlas.derive", str(OLD_BUNDLE), limits, str(OLD_BUNDLE)]
    assert subprocess.run(words, cwd=tmp_path, check=False).returncode == 0
    told = json.loads((tmp_path / "outcome.json").read_text())
    assert (told["outcome"], "nothing was measured again" in told["text"]) == ("not comparable", True)


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        ({"cpu.model": "Xeon", "ram.size_bytes": "8 GiB"}, True),
        ({"nas: cpu.model": "Xeon (doubtful)"}, True),
        ({"cpu.model": "another (typed in)"}, False),
        ({"cpu.model": "Xeon", "ram.size_bytes": "1 TiB (typed in)"}, False),
        ({"ram.size_bytes": "8 GiB"}, False),
    ],
)
def test_what_somebody_typed_in_tells_no_client_apart(facts, told):
    assert bool(extract._testbed(SimpleNamespace(sessions=[facts]))) == told


# -- bundles made to do harm ---------------------------------------------------------------------------------------


def members():
    with archive.open_file(OLD_BUNDLE) as opened:
        return {name: opened.read(name) for name in opened.members}


@pytest.fixture(scope="module")
def forge(tmp_path_factory):
    """A bundle with some members others, all hashes right and signed, as anybody with a key can make it."""
    path = tmp_path_factory.mktemp("forger") / "key"
    keys.make_key(path)
    key = keys.load_key(path)
    return lambda changed: archive.as_bytes(resigned({**members(), **changed}, key))


def zipped(*entries):
    """An ordinary zip. entries: (name, data, mode)."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data, mode in (("attestation.json", b"{}", 0o644), ("bundle.json", b"{}", 0o644), *entries):
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            info.external_attr = (mode if mode > 0o777 else stat.S_IFREG | mode) << 16
            archive.writestr(info, data, zipfile.ZIP_DEFLATED)
    return out.getvalue()


def renamed(old, new):
    """A bundle in which a member has another name of the same length, wherever it stands."""
    assert len(old) == len(new)
    return OLD_BUNDLE.read_bytes().replace(old, new)


def logs(count, size):
    """The archive of logs of a batch that unpacks to much."""
    return archive.as_bytes({f"a_{number}.log": b"0" * size for number in range(count)})


SMALL = Limits(members=200, logs=50, unpacked_bytes=32 * MIB)
FORMS = {
    "a path that leads out": (lambda: renamed(b"campaign/campaign.toml", b"../../../tmp/toml.toml"), "leads elsewhere"),
    "an absolute path": (lambda: renamed(b"campaign/campaign.toml", b"/etc/cron.d/atlas.toml"), "leads elsewhere"),
    "a path of Windows": (lambda: renamed(b"campaign/campaign.toml", b"C:mpaign\\campaign.toml"), "name"),
    "a name that stands there twice": (lambda: renamed(b"journal/session.jsonl", b"journal/remark.jsonl\0"), "name"),
    "the same name but for its letters": (lambda: renamed(b"data/result.json", b"data/CELLS.csv  "), "name"),
    "a link": (lambda: zipped(("link", b"/etc/passwd", stat.S_IFLNK | 0o777)), "no ordinary file"),
    "a bomb": (lambda: zipped(("campaign/trace.iolog", bytes(33 * MIB), 0o644)), "no ordinary file"),
}


@pytest.mark.parametrize("what", FORMS)
def test_what_has_not_the_one_form_is_refused_before_it_is_unpacked(what, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "bundle.ioatlas.zip"
    path.write_bytes(FORMS[what][0]())
    told = extract._read(path, asdict(SMALL), asdict(Declaration()))
    assert FORMS[what][1] in told["refused"], told
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        (lambda: {"campaign/trace.iolog": b"0" * 33 * MIB}, "more than 32 MiB"),
        (lambda: {"campaign/batches/00001/logs.zip": logs(33, MIB)}, "more than 32 MiB"),
        (lambda: {"campaign/batches/00001/logs.zip": logs(60, 1)}, "more than 50 logs"),
        (lambda: {f"campaign/batches/00001/{number}": b"" for number in range(300)}, "more than 200 files"),
    ],
)
def test_what_would_unpack_to_too_much_is_refused_by_its_lists_alone(changed, why, forge, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "bundle.ioatlas.zip"
    path.write_bytes(forge(changed()))
    monkeypatch.setattr("ioatlas.bundle.verify.verify", None)  # it is not asked
    assert why in extract._read(path, asdict(SMALL), asdict(Declaration()))["refused"]


def test_logs_replace_no_raw_output(forge, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "bundle.ioatlas.zip"
    hidden = archive.as_bytes({"fio.json": members()["campaign/batches/00001/fio.json"]})
    path.write_bytes(forge({"campaign/batches/00001/logs.zip": hidden}))
    told = extract._read(path, asdict(Limits()), asdict(Declaration()))
    assert "no batch has such a log" in json.dumps(told)


def test_half_a_letter_in_what_was_read_is_refused():
    told = {**found().model_dump(), "summary": {"trust": "a\ud800"}}
    with pytest.raises(NotAdmittedError, match="what no result can have"):
        admission._checked(json.dumps({"found": told}).encode())


# -- limits of the process that reads ------------------------------------------------------------------------------

BIG_JSON = b"[" + b"[[]]," * (4 * MIB) + b"[]]"
"""Twenty MiB of text that become 800 MiB of objects, and in the bundle a tenth of one."""
FIRES = {
    "memory": (Limits(memory_bytes=700 * MIB), "MemoryError"),
    "processor time": (Limits(cpu_seconds=1), "processor time"),
    "time": (Limits(wall_seconds=1), r"\(time\)"),
    "size of a file": (Limits(file_bytes=MIB), "File too large"),
    "files": (Limits(files=4), "Too many open files|status"),
}


@pytest.mark.parametrize(
    "what", [pytest.param(one, marks=pytest.mark.long("atlas", "bundle")) if one == "memory" else one for one in FIRES]
)
def test_each_limit_of_the_process_that_reads_fires(what, forge, tmp_path):
    limits, why = FIRES[what]
    noise = random.Random(1).randbytes(2 * MIB)
    big = {"journal/batch.jsonl": BIG_JSON + b"\n"}
    changed = {"size of a file": {"campaign/trace.iolog": noise}, "files": {}}.get(what, big)
    path = tmp_path / "upload" / "bundle.ioatlas.zip"
    path.parent.mkdir()
    path.write_bytes(forge(changed))
    began = time.monotonic()
    with pytest.raises(NotAdmittedError, match=f"within the limits.*({why})"):
        admission_read(path, Declaration(), limits)
    assert time.monotonic() - began < limits.wall_seconds + 60


def test_a_process_that_outlives_its_service_ends_by_itself():
    """Its alarm is set before anything of the upload is read."""
    code = (
        "import json, signal, sys; from ioatlas_atlas.extract import confine; confine(json.loads(sys.argv[1])); "
        "print(signal.alarm(0))"
    )
    command = [sys.executable, "-c", code, json.dumps(asdict(Limits()))]
    said = subprocess.run(command, capture_output=True, text=True, check=True)
    assert 0 < int(said.stdout) <= Limits().wall_seconds
