"""How an atlas answers with many results: `python bench/atlas/load.py URL BLOBS [--seconds 20] [--clients 4]`.

URL, BLOBS: what fill.py made. The service is one process on loopback, without its limit on requests. Each kind
of request is sent one after another with other values every time; then all kinds together by some clients at once.
"""

import argparse
import http.client
import json
import os
import random
import re
import socket
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path
from urllib.parse import urlencode

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "packages" / "ioatlas-atlas"
sys.path[:0] = [str(one) for one in (ROOT, ROOT / "src", PACKAGE / "src")]

import sqlalchemy as sa  # noqa: E402
import uvicorn  # noqa: E402
from starlette.testclient import TestClient  # noqa: E402

from ioatlas_atlas import accounts, changes, queries  # noqa: E402
from ioatlas_atlas.app import make_app  # noqa: E402
from ioatlas_atlas.blobs import Blobs  # noqa: E402
from ioatlas_atlas.database import open_database, take_time  # noqa: E402
from ioatlas_atlas.traffic import Rate  # noqa: E402

BUNDLE = ROOT / "tests" / "unit" / "bundle" / "formats" / "1-of-0.2.0.ioatlas.zip"
API = "/api/v1"
READS = re.compile(r"\w[\w ]*Scan[^(]*|(?:SCAN|SEARCH) .*")


def serve(url, folder, descriptor):
    """The service, until it is ended."""
    held = open_database(url)
    app = make_app(held, Blobs(Path(folder)), rate=Rate(1e9, 1e9), warm=True)
    config = uvicorn.Config(app, log_level="warning", access_log=False, lifespan="off")
    uvicorn.Server(config).run(sockets=[socket.socket(fileno=descriptor)])


def asked(generator, count):
    """{kind: address with values of its own}."""
    load = {"rw": generator.choice(["randread", "randwrite", "read", "write"])}
    load["bs_bytes"] = generator.choice([4096, 16384, 65536, 262144, 1048576])
    iops = 10 ** generator.uniform(2.3, 6.0)
    p99 = 10 ** generator.uniform(4.5, 8.0)
    product = generator.randrange(1, 3001)
    name = f"vendor-{product % 60}-m{product}"
    one = f"{generator.randrange(1, count + 1):06x}zz"
    wanted = {**load, "bs": load.pop("bs_bytes"), "iops": f"{iops:.0f}"}
    late, price = {"p99": f"{p99 / 1000:.1f} us"}, {"price": f"{generator.uniform(15, 900):.0f}"}
    kind = {"kind": generator.choice(["NAS", "array", "software"])}
    kinds = {
        "products: all": (f"{API}/products", {"page": generator.randrange(1, 150)}),
        "products: IOPS": (f"{API}/products", wanted),
        "products: IOPS and p99": (f"{API}/products", {**wanted, **late}),
        "products: p99 alone": (f"{API}/products", {"rw": load["rw"], **late}),
        "products: kind, IOPS, p99, price, by value": (
            f"{API}/products", {**wanted, **late, **price, **kind, "sort": "value"}),
        "products: bandwidth": (f"{API}/products", {"rate": f"{10 ** generator.uniform(0, 4):.1f}"}),
        "products: words": (f"{API}/products", {"q": f"vendor {product % 60}"}),
        "products: nothing can": (f"{API}/products", {**wanted, "iops": "1e12"}),
        "page: home": ("/", {}),
        "page: products found": ("/", {**wanted, **price, **kind}),
        "page: a product": (f"/products/{name}", {}),
        "page: a result": (f"/r/{one}", {}),
        "page: results": ("/results", {}),
        "results: newest": (f"{API}/results", {}),
        "results: by words": (f"{API}/results", {"q": f"vendor {product % 60} nfs"}),
        "results: words of one": (f"{API}/results", {"q": f"map {generator.randrange(1, count)} of m{product}"}),
        "results: a product's": (f"{API}/results", {"product": name}),
        "results: page 2 and on": (f"{API}/results", {"cursor": "next"}),
        "product": (f"{API}/products/{name}", {}),
        "result": (f"{API}/results/{one}", {}),
        "its cells": (f"{API}/results/{one}/cells", {}),
    }  # fmt: skip
    return {kind: f"{path}?{urlencode(values)}" if values else path for kind, (path, values) in kinds.items()}


class Asker:
    def __init__(self, port, count, seed):
        self.link = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        self.generator, self.count, self.next = random.Random(seed), count, ""

    def ask(self, kind):
        """(milliseconds, status) of one request of a kind."""
        address = asked(self.generator, self.count)[kind].replace("cursor=next", f"cursor={self.next}")
        begin = time.perf_counter()
        self.link.request("GET", address)
        answer = self.link.getresponse()
        body = answer.read()
        took = (time.perf_counter() - begin) * 1000
        if "page 2" in kind:
            self.next = json.loads(body).get("next", "")
        return took, answer.status


def shares(times):
    ordered = sorted(times)
    return statistics.median(ordered), ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))], ordered[-1]


def one_by_one(port, count, each, seed):
    print("| request | p50 ms | p99 ms | longest ms | statuses |\n|---|---|---|---|---|")
    every = []
    for kind in asked(random.Random(1), count):
        asker = Asker(port, count, f"{kind} {seed}")
        for _ in range(5):
            asker.ask(kind)
        times, statuses = [], set()
        for _ in range(each):
            took, status = asker.ask(kind)
            times.append(took)
            statuses.add(status)
        every += times if kind.startswith(("products", "results")) else []
        middle, most, last = shares(times)
        print(f"| {kind} | {middle:.1f} | {most:.1f} | {last:.1f} | {sorted(statuses)} |", flush=True)
    middle, most, last = shares(every)
    print(f"| **all searches** | {middle:.1f} | {most:.1f} | {last:.1f} | |", flush=True)


def together(port, count, clients, seconds, seed):
    times, lock = [], threading.Lock()
    until = time.monotonic() + seconds

    def go(number):
        asker = Asker(port, count, f"{number} {seed}")
        kinds = [kind for kind in asked(random.Random(1), count) if not kind.startswith("page")]
        mine = []
        while time.monotonic() < until:
            mine.append(asker.ask(asker.generator.choice(kinds))[0])
        with lock:
            times.extend(mine)

    threads = [threading.Thread(target=go, args=(number,)) for number in range(clients)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    middle, most, _ = shares(times)
    held = len(times) / seconds
    print(f"\n{clients} clients together: {held:.0f} requests a second, p50 {middle:.1f}, p99 {most:.1f} ms")


def meanwhile(port, url, count, results, seed):
    """Searches, one after another, while one uploads and a moderator doubts and releases results of products."""
    kinds = [kind for kind in asked(random.Random(1), results) if kind.startswith(("products", "results"))]
    thread, asker, times = (
        threading.Thread(target=uploads, args=(port, url, count, results)),
        Asker(port, results, seed),
        [],
    )
    thread.start()
    while thread.is_alive():
        times.append(asker.ask(asker.generator.choice(kinds))[0])
    middle, most, last = shares(times)
    print(f"{len(times)} searches meanwhile: p50 {middle:.1f}, p99 {most:.1f}, longest {last:.1f} ms")


def uploads(port, url, count, results):
    held, drawn = open_database(url), random.Random(url)
    times = []
    for _ in range(count):
        of = accounts.new_account(held, f"load-{os.urandom(6).hex()}")
        headers = {"Authorization": f"Bearer {accounts.new_token(held, of)}", "Content-Type": "application/zip"}
        link = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
        begin = time.perf_counter()
        link.request("POST", f"{API}/results?private=true", BUNDLE.read_bytes(), headers)
        answer = link.getresponse()
        assert answer.status == 201, answer.read()
        times.append((time.perf_counter() - begin) * 1000)
        number = public(held, drawn, results)
        for decision in changes.Decision.FLAG, changes.Decision.RELEASE:
            changes.decide(held, number, decision, "why", None)
            time.sleep(0.5)
    held.close()
    middle, most, last = shares(times)
    print(f"{count} uploads, one after another: p50 {middle:.0f}, p99 {most:.0f}, longest {last:.0f} ms")


def public(held, drawn, results):
    """A result of a product that all may see."""
    while True:
        found = queries.result_of(held, f"{drawn.randrange(1, results + 1):06x}zz")
        if found and found.state == "public":
            return found.id


def plans(url, blobs, count):
    """How the database reaches the rows of each kind of request."""
    held, asked_of_it = open_database(url), []

    @sa.event.listens_for(held.engine, "before_cursor_execute")
    def _note(_link, _cursor, statement, parameters, _context, _many):
        if statement.lstrip().startswith("SELECT"):
            asked_of_it.append((statement, parameters))

    client, explain = TestClient(make_app(held, Blobs(Path(blobs)))), "EXPLAIN " + "QUERY PLAN " * held.embedded
    for kind, address in asked(random.Random(1), count).items():
        held.stock = None
        client.get(address.replace("cursor=next", ""))
        with held.engine.connect() as link:
            every = [row[-1] for one in [*asked_of_it] for row in link.exec_driver_sql(explain + one[0], one[1])]
        asked_of_it.clear()
        print(kind, *dict.fromkeys(r for one in every for r in READS.findall(one)), sep="\n    ", flush=True)
    held.close()


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("url")
    options.add_argument("blobs")
    options.add_argument("--each", type=int, default=200)
    options.add_argument("--seconds", type=float, default=20)
    options.add_argument("--clients", type=int, default=4)
    options.add_argument("--uploads", type=int, default=10)
    options.add_argument("--seed", default=os.urandom(4).hex(), help="of what is asked for; default: another each time")
    options.add_argument("--plans", action="store_true", help="only how rows are reached")
    given = options.parse_args()
    held = open_database(given.url)
    with held.reading(whole=True) as link:
        take_time(link)
        count = link.execute(sa.text("SELECT count(*) FROM result WHERE id LIKE '%zz'")).scalar_one()
        cells = link.execute(sa.text("SELECT count(*) FROM cell")).scalar_one()
        pages = "pragma_page_count, pragma_page_size" if held.embedded else ""
        asked = f"page_count * page_size FROM {pages}" if pages else "pg_database_size(current_database())"
        size = link.execute(sa.text(f"SELECT {asked}")).scalar_one() / 1e9
    held.close()
    if given.plans:
        plans(given.url, given.blobs, count)
        return
    busy = os.getloadavg()[0]
    print(f"{count:,} results, {cells:,} cells, {size:.1f} GB; load average {busy:.1f} before; --seed {given.seed}\n")
    with socket.create_server(("127.0.0.1", 0)) as made:
        made.set_inheritable(True)
        code = f"import sys; sys.path[:0]={[*sys.path[:3], str(Path(__file__).parent)]!r}; "
        code += f"import load; load.serve({given.url!r}, {given.blobs!r}, {made.fileno()})"
        service = subprocess.Popen([sys.executable, "-c", code], pass_fds=[made.fileno()])
        port = made.getsockname()[1]
        try:
            while True:
                try:
                    link = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
                    link.request("GET", "/healthz")
                    link.getresponse().read()
                    break
                except OSError:
                    time.sleep(0.2)
            one_by_one(port, count, given.each, given.seed)
            together(port, count, given.clients, given.seconds, given.seed)
            if given.uploads:
                meanwhile(port, given.url, given.uploads, count, given.seed)
        finally:
            service.terminate()
            service.wait()
    print(f"load average {os.getloadavg()[0]:.1f} after")


if __name__ == "__main__":
    main()
