"""Attacks by hand on `ioatlas atlas serve` over SQLite: `python bench/atlas/attacks.py`.

A service on loopback with results whose every text is an attack, a private result of a bundle that opens, four accounts
and their tokens. Each attack is one line: its class, what was tried, and whether the service held.
"""

import contextlib
import csv
import http.client
import io
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import xml.dom.minidom
import zipfile
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote, urlencode

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "packages" / "ioatlas-atlas"
sys.path[:0] = [str(one) for one in (ROOT, ROOT / "src", PACKAGE / "src", PACKAGE / "tests" / "unit")]

import sqlalchemy as sa  # noqa: E402
from made import cell, found, put  # noqa: E402
from tests.unit.bundle.made import resigned  # noqa: E402

from ioatlas.bundle import keys  # noqa: E402
from ioatlas.store import archive  # noqa: E402
from ioatlas_atlas import accounts, audit, browsers, tables, views  # noqa: E402
from ioatlas_atlas.admission import Limits  # noqa: E402
from ioatlas_atlas.blobs import Blobs  # noqa: E402
from ioatlas_atlas.database import open_database  # noqa: E402
from ioatlas_atlas.fairness import Declaration  # noqa: E402
from ioatlas_atlas.migrations import migrate  # noqa: E402
from ioatlas_atlas.records import AccountKind, Scope, Viewer  # noqa: E402
from ioatlas_atlas.uploads import Desk  # noqa: E402

BUNDLE = ROOT / "tests" / "unit" / "bundle" / "formats" / "1-of-0.2.0.ioatlas.zip"
API = "/api/v1/results"
MARK = "zq7"
SCRIPT = f"\"'><script>{MARK}()</script><img src=x onerror={MARK}()>{{{{7*7}}}}]]>"
FORM = "application/x-www-form-urlencoded"
tried = []


def held(group, what, good, why=""):
    tried.append(bool(good))
    print(f"{'held' if good else 'FELL'}  {group}: {what}{'' if good else f': {why}'}", flush=True)


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body
        self.text = body.decode("utf-8", "replace")


class Site:
    """A service, its database, and who has which token."""

    def __init__(self, folder, *options):
        self.folder = folder
        self.database = open_database(f"sqlite:///{folder}/atlas.sqlite")
        migrate(self.database)
        self.desk = Desk(self.database, Blobs(folder / "blobs"), Limits())
        kinds = {"carol": AccountKind.MODERATOR, "dave": AccountKind.VENDOR}
        (folder).mkdir(exist_ok=True)
        self.people = {
            one: accounts.new_account(self.database, one, kinds.get(one, AccountKind.MEMBER), "x" * (one == "dave"))
            for one in ("alice", "bert", "carol", "dave")
        }
        self.tokens = {one: accounts.new_token(self.database, of) for one, of in self.people.items()}
        self.options = options

    def start(self):
        words = [sys.executable, "-m", "ioatlas", "atlas", "serve", "--folder", self.folder, "--listen", "127.0.0.1:0"]
        environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
        self.log = (self.folder / "log").open("w+")
        self.process = subprocess.Popen(
            [*map(str, words), *self.options], stdout=subprocess.PIPE, stderr=self.log, env=environment, text=True
        )
        self.port = int(re.search(r":(\d+)/", self.process.stdout.readline())[1])
        self.own = f"http://127.0.0.1:{self.port}"
        while True:
            with contextlib.suppress(OSError):
                self.ask("/healthz")
                return
            time.sleep(0.2)

    def ask(self, path, method="GET", body=None, who="", **headers):
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        if who:
            headers["Authorization"] = f"Bearer {self.tokens[who]}"
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=900)
        link.putrequest(method, path, skip_host="Host" in headers)
        if body is not None and "Content-Length" not in headers:
            headers["Content-Length"] = str(len(body))
        for name, value in headers.items():
            link.putheader(name, value)
        link.endheaders(body)
        answer = link.getresponse()
        return Answer(answer.status, answer.headers, answer.read())

    def json(self, path, method, body, who, **more):
        return self.ask(path, method, json.dumps(body).encode(), who, Content_Type="application/json", **more)

    def form(self, path, fields, cookie="", **headers):
        headers = {"Origin": self.own, "Content_Type": FORM, **({"Cookie": cookie} if cookie else {}), **headers}
        return self.ask(path, "POST", urlencode(fields).encode(), **headers)

    def cookie(self, who):
        """Of a browser that signed in with the token."""
        return self.form("/sign-in", {"token": self.tokens[who]}).headers["Set-Cookie"].partition(";")[0]

    def raw(self, data, seconds=5):
        with socket.create_connection(("127.0.0.1", self.port)) as link:
            link.settimeout(seconds)
            link.sendall(data)
            pieces = []
            with contextlib.suppress(OSError):
                while piece := link.recv(65536):
                    pieces.append(piece)
        return b"".join(pieces)

    def end(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(30)
        self.database.close()
        self.log.seek(0)
        return self.log.read()


# -- who asks --------------------------------------------------------------------------------------------------------


def authentication(site, ids):
    group, me, text = "authentication", "/api/v1/me", site.tokens["alice"]
    number, secret = text.split("_", 2)[1:]
    forged = {
        "no such token": f"Bearer ioa_{'0' * 16}_{secret}",
        "a secret of another": f"Bearer ioa_{number}_{site.tokens['bert'].split('_', 2)[2]}",
        "one letter less": f"Bearer {text[:-1]}",
        "another scheme": f"Basic {text}",
        "a wild card": f"Bearer ioa_{number}_{'%' * 43}",
        "an injection": f"Bearer ioa_{number}' OR '1'='1_{secret}",
        "nothing behind the scheme": "Bearer",
        "the hash that is kept": f"Bearer ioa_{number}_{accounts.digest(secret)[:43]}",
    }
    for what, value in forged.items():
        held(group, what, site.ask(me, Authorization=value).status == 401)
    ended = {"expired": accounts.new_token(site.database, site.people["alice"], seconds=-1)}
    ended["revoked"] = accounts.new_token(site.database, site.people["alice"])
    accounts.revoke(site.database, ended["revoked"].split("_")[1])
    for what, value in ended.items():
        held(
            group,
            f"an {what} token" if what == "expired" else f"a {what} token",
            site.ask(me, Authorization=f"Bearer {value}").status == 401,
        )
    held(group, "a token in the address", site.ask(f"{me}?token={text}&access_token={text}").status == 401)
    cookie = site.cookie("alice")
    held(group, "the API by cookie", site.ask(me, Cookie=cookie).status == 401)
    held(group, "the token as a cookie", site.ask("/mine", Cookie=f"ioatlas={text}").status == 401)
    site.form("/sign-out", {}, cookie)
    held(group, "a cookie after signing out", site.ask("/mine", Cookie=cookie).status == 401)
    narrow = accounts.new_token(site.database, site.people["alice"], [Scope.READ])
    said = site.ask(f"{API}/{ids['private']}", "DELETE", Authorization=f"Bearer {narrow}")
    held(group, "deleting with a token that only reads", said.status == 403, said.status)
    other = browsers.sign_in(site.database, Viewer(site.people["alice"], frozenset([Scope.READ]), ""))
    wide = site.form("/mine/token", {"label": "x", "scopes": "moderate"}, f"ioatlas={other}")
    made = re.search(r"ioa_[0-9a-f]{16}_[\w-]{43}", wide.text)
    scopes = json.loads(site.ask(me, Authorization=f"Bearer {made[0]}").text)["scopes"] if made else []
    held(group, "a token wider than the one that makes it", scopes == ["read"], scopes)
    temporary = accounts.new_token(site.database, site.people["bert"])
    site.tokens["temporary"] = temporary
    cookie = site.cookie("temporary")
    accounts.revoke(site.database, temporary.split("_")[1])
    held(group, "a cookie whose token was revoked", site.ask("/mine", Cookie=cookie).status == 401)
    flags = site.form("/sign-in", {"token": text}).headers["Set-Cookie"].lower()
    held(group, "the cookie is no script's and no other site's", "httponly" in flags and "samesite=lax" in flags, flags)


def other_sites(site, ids):
    group, cookie = "forms of other sites", site.cookie("carol")
    forms = {
        "/sign-in": {"token": site.tokens["alice"]},
        "/sign-out": {},
        "/mine/token": {"label": "x"},
        f"/mine/{ids['hostile']}": {"do": "withdraw", "text": "x"},
        "/moderate/account": {"name": "intruder"},
        f"/moderate/{ids['hostile']}": {"do": "flag", "reason": "x"},
        f"/r/{ids['hostile']}/reply": {"do": "send", "text": "x"},
        "/note": {"text": "x"},
    }
    host = f"127.0.0.1:{site.port}"
    origins = (
        "",
        "null",
        "http://evil.example",
        f"http://{host}.evil.example",
        "http://127.0.0.1",
        f"https://{host}",
        f"{site.own}/",
        f"{site.own}, http://evil.example",
        f"http://evil.example@{host}",
    )
    for path, fields in forms.items():
        statuses = {site.form(path, fields, cookie, Origin=one).status for one in origins}
        held(
            group,
            f"{re.sub('[0-9a-z]{6,}(?=$|/)', 'ID', path) if 'ID' not in path else path}, {len(origins)} origins",
            statuses == {403},
            statuses,
        )
    gets = {site.ask(f"{path}?{urlencode(fields)}", Cookie=cookie).status for path, fields in forms.items()}
    names = {row.account for row in audit.entries(site.database, begins="decision")}
    held(group, "the same as addresses", not names and gets <= {200, 401, 403, 404, 405}, (names, gets))
    plain = site.ask(
        f"{API}/{ids['hostile']}/withdraw",
        "POST",
        b'{"reason":"x"}',
        Cookie=cookie,
        Origin=site.own,
        Content_Type="text/plain",
    )
    held(group, "the API as plain text with a cookie", plain.status in (401, 422), plain.status)
    cross = site.ask("/api/v1/me", "OPTIONS", Origin="http://evil.example", Access_Control_Request_Method="GET")
    held(group, "no other site may read", "Access-Control-Allow-Origin" not in cross.headers)


def moderation(site, ids):
    group, one, cookie = "moderation", f"/moderate/{ids['hostile']}", site.cookie("carol")
    for who in ("alice", "dave", ""):
        own = site.cookie(who) if who else ""
        wanted = 403 if who else 401
        for path, fields in (("/moderate/account", {"name": "more"}), (one, {"do": "flag", "reason": "x"})):
            said = site.form(path, fields, own)
            where = path if "account" in path else "a decision"
            held(group, f"{where} by {who or 'nobody'}", said.status == wanted and "ioa_" not in said.text, said.status)
    names = {
        "markup": SCRIPT,
        "a path": "../etc",
        "capitals": "Admin",
        "one that is there": "alice",
        "nothing": "",
        "a zero letter": "ab\0c",
        "lines": "abc\r\nSet-Cookie: a=b",
        "letters of another script": "аdmin",
        "41 letters": "a" * 41,
        "a moderator's": "mallory\nkind=moderator",
    }
    for what, name in names.items():
        said = site.form("/moderate/account", {"name": name, "kind": "moderator", "vendor": "x"}, cookie)
        held(
            group,
            f"an account's name: {what}",
            said.status in (400, 422)
            and "ioa_" not in said.text
            and f"<script>{MARK}" not in said.text
            and "Set-Cookie" not in said.headers,
            said.status,
        )
    made = site.form("/moderate/account", {"name": "erin", "kind": "moderator"}, cookie)
    token = re.search(r"ioa_[0-9a-f]{16}_[\w-]{43}", made.text)[0]
    me = json.loads(site.ask("/api/v1/me", Authorization=f"Bearer {token}").text)
    held(group, "a new account that calls itself a moderator's", me["account"]["kind"] == "member", me)
    held(
        group,
        "its token is in no cache and not shown again",
        "no-store" in made.headers["Cache-Control"] and token not in site.ask("/moderate", Cookie=cookie).text,
    )
    with site.database.reading() as link:
        log = json.dumps([list(map(str, row)) for row in link.execute(sa.select(tables.audit))])
    held(group, "its token is in no log", token not in log and token.split("_", 2)[2] not in log)
    for what, fields in {
        "nothing chosen": {"reason": "x"},
        "another word": {"do": "delete", "reason": "x"},
        "no reason": {"do": "flag"},
        "lines": {"do": "flag", "reason": "a\nb"},
        "501 letters": {"do": "flag", "reason": "a" * 501},
        "letters that turn": {"do": "flag", "reason": "a\u202eb"},
        "51 fields": {f"f{n}": "x" for n in range(51)},
    }.items():
        said = site.form(one, fields, cookie)
        held(group, f"a decision with {what}", said.status in (400, 422), said.status)
    mine = site.form(f"/moderate/{ids['of carol']}", {"do": "flag", "reason": "x"}, cookie)
    held(group, "a decision on one's own", mine.status == 422 and "own" in mine.text, mine.status)
    twice = site.ask(one, "POST", b"do=flag&do=release&reason=x", Origin=site.own, Content_Type=FORM, Cookie=cookie)
    held(group, "two decisions in one form", twice.status in (303, 422), twice.status)
    for what, text in {
        "markup": SCRIPT,
        "nothing": " ",
        "lines": "a\r\nb",
        "501 letters": "a" * 501,
        "a formula": "=cmd|' /C calc'!A0",
    }.items():
        said = site.form("/note", {"text": text, "about": SCRIPT if what == "markup" else "../mine"})
        good = said.status == 200 if what in ("markup", "a formula") else said.status == 422
        held(group, f"a visitor's note: {what}", good and harmless(site.ask("/moderate", Cookie=cookie)), said.status)
    same = {site.form("/note", {"text": "x", "about": about}).text for about in (ids["private"], "0", "none")}
    held(group, "whether a result is there, by notes on it", len(same) == 1)


# -- what is shown ---------------------------------------------------------------------------------------------------


class Shown(HTMLParser):
    """What of a page a browser would run."""

    def __init__(self):
        super().__init__()
        self.runs = []

    def handle_starttag(self, tag, attrs):
        if tag in ("script", "iframe", "object", "embed", "base"):
            self.runs.append(tag)
        for name, value in attrs:
            active = tag != "link" and name in ("href", "src", "action", "formaction", "xlink:href")
            if name.startswith("on") or (
                active and re.match(r"\s*(javascript|data|vbscript):", value or "", re.IGNORECASE)
            ):
                self.runs.append(f"{tag} {name}={value}")


def harmless(page):
    parser = Shown()
    parser.feed(page.text)
    policy = page.headers.get("Content-Security-Policy", "")
    return not parser.runs and "script" not in policy and "default-src 'none'" in policy


def texts(site, ids):
    group, number, cookie = "texts that attack", ids["hostile"], site.cookie("carol")
    product = json.loads(site.ask(f"{API}/{number}").text)["result"]["product_id"]
    pages = [
        f"/r/{number}",
        "/",
        "/results",
        f"/products/{product}",
        "/rules",
        f"/results?product={product}",
        f"/compare?id={number}&id={ids['of carol']}",
    ]
    pages += [
        f"{path}?{urlencode({name: SCRIPT})}"
        for path in ("/", "/results", "/compare", f"/products/{product}")
        for name in ("q", "product", "kind", "price", "currency", "rw", "bs", "depth", "sort", "cursor", "id")
    ]
    bad = [page for page in pages if not harmless(site.ask(page))]
    held(group, f"every text of a result, and of {len(pages)} addresses", not bad, bad)
    inner = [f"/mine/{number}", "/mine", "/moderate", f"/moderate/{number}", f"/r/{number}/reply"]
    alice = site.cookie("alice")
    bad = [page for page in inner for who in (cookie, alice) if not harmless(site.ask(page, Cookie=who))]
    held(group, "on pages of who is signed in", not bad, bad)
    for path, kind in (
        ("/feed.atom", "feed"),
        ("/feed.atom?q=a", "feed"),
        (f"/feed.atom?{urlencode({'kind': SCRIPT})}", "feed"),
        ("/sitemap.xml", "urlset"),
        (f"/r/{number}/badge.svg", "svg"),
    ):
        said = site.ask(path)
        root = xml.dom.minidom.parseString(said.body)
        good = root.documentElement.tagName == kind and not root.getElementsByTagName("script")
        held(group, f"XML of {re.sub(number, 'ID', path)[:24]}", good, said.text[:200])
    bib = site.ask(f"/r/{number}/citation.bib").text
    title = next(line for line in bib.splitlines() if line.strip().startswith("title"))
    held(group, "BibTeX commands", "\\input" not in bib and title.count("{") == title.count("}"), title)
    written = site.json(f"{API}/{number}/replies", "POST", {"text": SCRIPT + "\njavascript:x"}, "alice")
    held(group, "a reply", written.status == 201 and harmless(site.ask(f"/r/{number}")), written.status)
    turned = site.json(f"{API}/{number}/replies", "POST", {"text": "a\u202eb"}, "alice")
    held(group, "letters that turn, in a reply", turned.status == 400, turned.status)
    missing = site.ask("/" + quote(SCRIPT))
    held(group, "an address that is not there", missing.status == 404 and harmless(missing), missing.status)
    split = site.ask("/products%0d%0aSet-Cookie:%20a=b")
    held(group, "line ends in an address", "Set-Cookie" not in split.headers)
    formulas = ("=1+1", "+1", "-1+cmd|' /C calc'!A0", "@SUM(1)", "\t=1", "\r=1", " =1", "\n=1", "＝1", ";=1", ",=1")
    rows = csv.reader(io.StringIO(views.as_csv({"rows": [{"a": one} for one in formulas]})))
    computed = [row for row in [*rows][1:] if row and row[0][:1] in ("=", "+", "-", "@", "\t", "\r")]
    held(group, f"{len(formulas)} formulas in CSV", not computed, computed)


def elsewhere(site, ids):
    """Nothing that anybody sends makes the service call another one."""
    group, called = "calls to elsewhere", []
    with socket.create_server(("127.0.0.1", 0)) as trap:
        trap.settimeout(0.2)
        here = f"http://127.0.0.1:{trap.getsockname()[1]}/"
        going = threading.Event()

        def wait():
            while not going.is_set():
                with contextlib.suppress(OSError):
                    called.append(trap.accept()[1])

        thread = threading.Thread(target=wait)
        thread.start()
        site.json(f"{API}/{ids['hostile']}/replies", "POST", {"text": here}, "alice")
        site.form("/note", {"text": here, "about": here})
        for path in (
            f"/r/{quote(here, safe='')}",
            f"/compare?id={here}&id=x",
            f"/feed.atom?product={here}",
            f"/?q={here}",
            "/sign-in/provider",
            f"/sign-in/back?code=x&state=x&iss={here}",
            f"/r/{ids['hostile']}?url={here}",
        ):
            site.ask(path)
            site.ask(path, Host=here[7:-1], X_Forwarded_Host=here[7:-1], Referer=here)
        site.raw(b"GET %b HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" % here.encode(), 2)
        site.raw(b"CONNECT %b HTTP/1.1\r\nHost: x\r\n\r\n" % here[7:-1].encode(), 2)
        key = site.folder / "key"
        keys.make_key(key)
        with archive.open_file(BUNDLE) as opened:
            members = {name: opened.read(name) for name in opened.members}
        sheet = f'[product]\nvendor = "x"\nmodel = "y"\nurl = "{here}"\n'.encode()
        bundle = archive.as_bytes(resigned({**members, "campaign/product.toml": sheet}, keys.load_key(key)))
        said = site.ask(f"{API}?private=true", "POST", bundle, "bert", Content_Type="application/zip")
        time.sleep(1)
        going.set()
        thread.join()
    held(group, f"addresses in 20 places, in a bundle too (it got {said.status})", not called, called)


# -- paths, bundles, bytes -------------------------------------------------------------------------------------------


def paths(site, ids):
    group, number = "paths that lead out", ids["hostile"]
    out = (
        "../atlas.sqlite",
        "..%2fatlas.sqlite",
        "%2e%2e/atlas.sqlite",
        "..%252fatlas.sqlite",
        "..%5catlas.sqlite",
        "%2fetc%2fpasswd",
        "....//atlas.sqlite",
        "%00",
        "..;/atlas.sqlite",
        "%c0%ae%c0%ae/atlas.sqlite",
    )
    for base in ("/static/", f"/r/{number}/", f"{API}/{number}/", "/products/", f"/r/{number}/data.", f"{API}/"):
        said = [site.ask(base + one) for one in out]
        good = all(
            one.status in (400, 404, 405, 422) and b"SQLite" not in one.body and b"root:" not in one.body
            for one in said
        )
        held(group, f"{len(out)} below {base.replace(number, 'ID')}", good, [one.status for one in said])


def bombs(site):
    group = "bundles that do harm"

    def packed(*entries, level=zipfile.ZIP_DEFLATED):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", level) as made:
            for name, data in entries:
                made.writestr(name, data)
        return out.getvalue()

    zeros = packed(("campaign/trace.iolog", bytes(200 << 20)))
    sent = {
        "200 MiB of zeros": zeros,
        "a bundle in a bundle in a bundle": packed(("a.zip", packed(("b.zip", zeros)))),
        "100,000 empty files": packed(*((f"campaign/{n}", b"") for n in range(100_000))),
        "a path that leads out": packed(("../../evil", b"x"), ("/etc/cron.d/evil", b"x")),
        "JSON of 100,000 levels": packed(("bundle.json", b"[" * 100_000)),
        "no zip": b"PK" + os.urandom(1000),
        "the end of a zip alone": b"PK\x05\x06" + bytes(18),
        "a zip with a tail": BUNDLE.read_bytes() + b"x",
        "half a bundle": BUNDLE.read_bytes()[:3000],
        "nothing": b"",
    }
    for what, data in sent.items():
        begin = time.monotonic()
        said = site.ask(API, "POST", data, "carol", Content_Type="application/zip")
        took = time.monotonic() - begin
        held(group, f"{what} ({len(data):,} bytes)", said.status in (413, 422) and took < 60, (said.status, took))
    claimed = site.raw(
        f"POST {API} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {site.tokens['carol']}\r\n"
        f"Content-Length: {10**12}\r\nConnection: close\r\n\r\n".encode()
    )
    held(group, "a terabyte, as it claims", b" 413 " in claimed.partition(b"\r\n")[0], claimed[:100])
    left = [*(site.folder / "blobs" / "incoming").iterdir()]
    held(group, "nothing of them is left", not left and not [*site.folder.parent.glob("evil")], left)


def heads(site):
    group = "requests that two servers read differently"
    post, smuggled = b"POST /note HTTP/1.1\r\nHost: x\r\n", b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"
    odd = {
        "a length and chunks": post + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + smuggled,
        "two lengths": post + b"Content-Length: 0\r\nContent-Length: 37\r\n\r\n" + smuggled,
        "chunks of an odd name": post + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" + smuggled,
        "a folded header": b"GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n Content-Length: 5\r\n\r\n",
        "a blank before the colon": post + b"Content-Length : 37\r\n\r\n" + smuggled,
        "two hosts": b"GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\nConnection: close\r\n\r\n",
        "a negative length": post + b"Content-Length: -1\r\n\r\n" + smuggled,
        "a head of 200 kB": b"GET / HTTP/1.1\r\nHost: x\r\nA: " + b"a" * 200_000 + b"\r\n\r\n",
        "a zero byte": b"GET /\0 HTTP/1.1\r\nHost: x\r\n\r\n",
    }
    for what, data in odd.items():
        said = site.raw(data, 3)
        held(group, what, b"ioatlas_requests_total" not in said and b" 500 " not in said, said[:80])


# -- private, deleted ------------------------------------------------------------------------------------------------


def privacy(site, ids):
    group, number = "private and deleted", ids["open"]
    sha = json.loads(site.ask(f"{API}/{number}", who="alice").text)["result"]["bundle_sha256"]
    own = [
        f"{API}/{number}",
        f"{API}/{number}/cells",
        f"{API}/{number}/bundle",
        f"/r/{number}",
        f"/r/{number}/explorer",
        f"/r/{number}/data.json",
        f"/r/{number}/data.csv",
        f"/r/{number}/citation.bib",
        f"/r/{number}/badge.svg",
    ]
    lists = [
        "/",
        "/results",
        API,
        "/feed.atom",
        "/sitemap.xml",
        "/metrics",
        f"{API}?owner={site.people['alice'].id}",
        "/feed.atom?q=map",
        f"/compare?id={number}&id={ids['hostile']}",
        f"/api/v1/compare?ids={number},{ids['hostile']}",
    ]
    mine = [site.ask(path, who="alice") for path in own]
    held(group, "its owner reads it", all(one.status == 200 for one in mine), [one.status for one in mine])
    held(group, "no answer to its owner may be kept", all("no-store" in one.headers["Cache-Control"] for one in mine))
    for who in ("bert", "dave", ""):
        seen = [path for path in own if site.ask(path, who=who).status != 404]
        named = [path for path in lists if number in site.ask(path, who=who).text.replace(f"id={number}", "")]
        held(
            group,
            f"private: its addresses and {len(lists)} lists, by {who or 'nobody'}",
            not seen and not named,
            (seen, named),
        )
    part = site.ask(f"{API}/{number}/bundle", Range="bytes=0-10", If_None_Match="*")
    held(group, "private: a part of it", part.status == 404, part.status)
    texts = {site.ask(f"{API}/{one}").text for one in (number, ids["private"], "nosuchid")}
    held(group, "private: whether it is there, by the answer", len(texts) == 1, texts)
    for what, said in {
        "deleted by another": site.ask(f"{API}/{number}", "DELETE", who="bert"),
        "withdrawn by another": site.json(f"{API}/{number}/withdraw", "POST", {"reason": "x"}, "bert"),
        "published by another": site.json(f"{API}/{number}", "PATCH", {"private": False}, "bert"),
        "decided on by another": site.json(
            f"{API}/{number}/decision", "POST", {"decision": "flag", "reason": "x"}, "bert"
        ),
        "taken for a reproduction": site.json(f"{API}/{ids['hostile']}/reproductions", "POST", {"by": number}, "bert"),
    }.items():
        held(group, what, said.status in (403, 404), said.status)
    wrong = site.form(f"/mine/{number}", {"do": "delete", "text": "yes"}, site.cookie("alice"))
    held(group, "deleted by a form without its id", wrong.status == 422, wrong.status)
    site.form(f"/mine/{number}", {"do": "delete", "text": number}, site.cookie("alice"))
    for who in ("", "bert", "alice", "carol"):
        seen = [path for path in own if site.ask(path, who=who).status not in (404, 410)]
        held(group, f"after deletion, by {who or 'nobody'}", not seen, seen)
    files = [str(one) for one in (site.folder / "blobs").rglob("*") if sha in str(one) and one.is_file()]
    held(group, "after deletion: files of it", not files, files)
    with site.database.reading() as link:
        rows = sum(
            link.execute(sa.select(sa.func.count()).where(table.c[name] == number)).scalar_one()
            for table, name in (
                (tables.cell, "result_id"),
                (tables.result, "id"),
                (tables.trace, "result_id"),
                (tables.reply, "result_id"),
            )
        )
    held(group, "after deletion: rows of it", rows == 0, rows)


def rates(site):
    group = "too often"
    statuses = [site.ask("/api/v1/products").status for _ in range(200)]
    held(group, "200 requests in a row", 429 in statuses, set(statuses))
    spoofed = [
        site.ask("/api/v1/products", X_Forwarded_For=f"198.51.100.{n}", Forwarded=f"for=198.51.100.{n}").status
        for n in range(60)
    ]
    held(group, "under other addresses, as it claims", 429 in spoofed, set(spoofed))
    held(group, "health is answered meanwhile", site.ask("/healthz").status == 200)


def notes(site):
    statuses = []
    for _ in range(130):
        statuses.append(site.form("/note", {"text": "x"}).status)
        time.sleep(0.06)
    held("too often", "130 notes of a visitor", 429 in statuses and statuses.count(200) <= 100, set(statuses))


def rebinding(site, named):
    """A page of evil.example whose name leads to the service asks it as its own origin."""
    group = "another name that leads here"
    for what, one in (("without --public-url", site), ("with it", named)):
        own = {"Host": "evil.example", "Origin": "http://evil.example"}
        said = one.form("/note", {"text": "x"}, **own)
        held(group, f"a form, {what}", said.status in (400, 403, 421), said.status)
        read = one.ask("/", Host="evil.example")
        held(group, f"reading, {what}", read.status in (400, 403, 421), read.status)
    for name in ("localhost", f"127.0.0.1:{site.port}", f"[::1]:{site.port}"):
        held(group, f"{name.partition(':')[0] or name} is answered", site.ask("/", Host=name).status == 200)


def main():
    with tempfile.TemporaryDirectory(prefix="ioatlas-attacks-") as folder:
        sites = [Site(Path(folder) / "one"), Site(Path(folder) / "two", "--public-url", "https://atlas.example")]
        site, named = sites
        fit = {"use": "etcd", "title": SCRIPT, "answer": "pass", "margin": 2.0, "text": SCRIPT, "ways": ["write"]}
        shown = dict.fromkeys(
            (
                "vendor",
                "model",
                "protocol",
                "link",
                "drive",
                "hardware",
                "kind",
                "media",
                "signer",
                "licence",
                "testbed",
                "procedure",
                "method_version",
                "tool_version",
                "grade",
                "licence_permission",
            ),
            SCRIPT,
        )
        lines = {"name": SCRIPT, "told": "told", "needed": True, "text": SCRIPT}
        summary = {
            "trust": SCRIPT,
            "doubts": [{"sentence": SCRIPT}],
            "headlines": [{"quantity": "iops", "value": 1.0, "label": SCRIPT, "where": SCRIPT}],
        }
        told = found(
            SCRIPT,
            [cell(verdict=SCRIPT, doubt=SCRIPT, target=SCRIPT)],
            conditions=[lines],
            summary=summary,
            checks=[{"name": SCRIPT, "state": "note", "text": SCRIPT}],
            fits=[fit],
            **shown,
        )
        people = site.people
        said = Declaration(SCRIPT, SCRIPT, SCRIPT)
        ids = {
            "hostile": put(site.desk, people["alice"], told, declared=said),
            "private": put(site.desk, people["alice"], found("private"), private=True),
            "of carol": put(site.desk, people["carol"], found("of carol")),
        }
        for one in sites:
            one.start()
        taken = site.ask(f"{API}?private=true", "POST", BUNDLE.read_bytes(), "alice", Content_Type="application/zip")
        ids["open"] = json.loads(taken.text)["id"]
        for attack, given in (
            (authentication, (site, ids)),
            (privacy, (site, ids)),
            (texts, (site, ids)),
            (other_sites, (site, ids)),
            (elsewhere, (site, ids)),
            (bombs, (site,)),
            (heads, (site,)),
            (rebinding, (site, named)),
            (moderation, (site, ids)),
            (paths, (site, ids)),
            (notes, (site,)),
            (rates, (site,)),
        ):
            time.sleep(6)  # until the client's bucket is full again
            attack(*given)
        for one in sites:
            log = one.end()
            held("the log", "no traceback, no token", "Traceback" not in log and "ioa_" not in log, log[-2000:])
    print(f"{len(tried)} attacks, {tried.count(False)} fell")


if __name__ == "__main__":
    main()
