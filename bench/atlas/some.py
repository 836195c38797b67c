"""A service over SQLite with 200 products that two evaluators measured: `python bench/atlas/some.py`, for visit.mjs.

It prints its address and ends with its standard input. No bundle was read: rows are those that uploads would give.
"""

import os
import random
import socket
import sys
import tempfile
import threading
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "packages" / "ioatlas-atlas"
sys.path[:0] = [str(PACKAGE.parents[1]), str(PACKAGE / "src"), str(PACKAGE / "tests" / "unit")]

import uvicorn  # noqa: E402
from made import cell, found, put  # noqa: E402

from ioatlas_atlas import accounts  # noqa: E402
from ioatlas_atlas.app import make_app  # noqa: E402
from ioatlas_atlas.blobs import Blobs  # noqa: E402
from ioatlas_atlas.database import open_database  # noqa: E402
from ioatlas_atlas.migrations import migrate  # noqa: E402
from ioatlas_atlas.traffic import Rate  # noqa: E402

PRODUCTS = 200
LOADS = {"randread": (4096, 1.0), "randwrite": (4096, 0.6), "read": (1 << 20, 0.05), "write": (1 << 20, 0.04)}
KINDS = {"NAS": "NFS", "array": "iSCSI", "drive": "local"}


def measured(number, seed, who):
    """What one evaluator found of a product: 12 loads."""
    drawn = random.Random(number)
    speed, price = 10 ** drawn.uniform(2.5, 5.0), drawn.uniform(20, 400)
    kind = drawn.choice(list(KINDS))
    off = random.Random(seed).uniform(0.97, 1.03)
    cells = []
    for rw, (bs, factor) in LOADS.items():
        for depth in (1, 8, 32):
            iops = speed * factor * depth**0.5 * off
            more = {"iodepth": depth, "cell_key": f"{len(cells):016x}"}
            cells.append(cell(rw, bs, iops, p99_ns=4e9 * depth / iops, **more))
    facts = {"vendor": f"Vendor {number % 17}", "model": f"M{number}", "kind": kind, "protocol": KINDS[kind]}
    facts |= {"price_per_tib": round(price, 2), "year": 2018 + number % 9, "media": drawn.choice(["flash", "spindles"])}
    return found(f"M{number} by {who}", cells, signer=f"SHA256:{who}", testbed=who, **facts)


def main():
    with tempfile.TemporaryDirectory(prefix="ioatlas-some-") as folder:
        held = open_database(f"sqlite:///{folder}/atlas.sqlite")
        migrate(held)
        app = make_app(held, Blobs(Path(folder) / "blobs"), rate=Rate(1e9, 1e9))
        for who in ("alice", "bert"):
            owner = accounts.new_account(held, who)
            for number in range(PRODUCTS):
                put(app.state.service.desk, owner, measured(number, number * 31 + len(who), who))
        listening = socket.create_server(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        print(f"http://127.0.0.1:{listening.getsockname()[1]}/", os.getpid(), flush=True)
        sys.stdin.read()
        server.should_exit = True
        thread.join()
        held.close()


if __name__ == "__main__":
    main()
