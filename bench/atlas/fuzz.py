"""Every operation of the OpenAPI document, asked with values that fit and values that do not, by Schemathesis:
`python bench/atlas/fuzz.py DATABASE [--program schemathesis] [--seconds 600]`.

DATABASE: sqlite:///FILE or postgresql://..., which may be empty; it gets accounts and results, whose ids most requests
name; who asks may do everything. Schemathesis is not a dependency of this project: install it elsewhere and name its
program. Held: no answer is a fault of the service, every status and every media type is one that the document tells,
and every body fits its schema.
"""

import argparse
import http.client
import os
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "packages" / "ioatlas-atlas"
sys.path[:0] = [str(one) for one in (ROOT, ROOT / "src", PACKAGE / "src", PACKAGE / "tests" / "unit")]

import uvicorn  # noqa: E402
from made import found, put  # noqa: E402

from ioatlas_atlas import accounts  # noqa: E402
from ioatlas_atlas.app import make_app  # noqa: E402
from ioatlas_atlas.blobs import Blobs  # noqa: E402
from ioatlas_atlas.database import open_database  # noqa: E402
from ioatlas_atlas.migrations import migrate  # noqa: E402
from ioatlas_atlas.records import AccountKind  # noqa: E402
from ioatlas_atlas.traffic import Rate  # noqa: E402

BUNDLE = ROOT / "tests" / "unit" / "bundle" / "formats" / "1-of-0.2.0.ioatlas.zip"
RESULTS = 400
HOOKS = """
import zlib, schemathesis
IDS = {ids!r}

@schemathesis.hook
def map_path_parameters(_context, given):
    if given and "number" in given and (chosen := zlib.crc32(repr(given).encode())) % 4:
        given["number"] = IDS[chosen % len(IDS)]
    return given

@schemathesis.serializer("application/zip")
def as_it_is(_context, value):
    return value if isinstance(value, bytes) else str(value).encode()
"""
CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"


def main():
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("database")
    asked.add_argument("--program", default="schemathesis")
    asked.add_argument("--seconds", type=int, default=600)
    given = asked.parse_args()
    held = open_database(given.database)
    migrate(held)
    name = f"fuzz-{os.urandom(4).hex()}"
    asker = accounts.new_account(held, name, AccountKind.MODERATOR)
    token = accounts.new_token(held, asker)
    owners = (asker, accounts.new_account(held, f"other-{name}"))
    with tempfile.TemporaryDirectory(prefix="ioatlas-fuzz-") as folder:
        app = make_app(held, Blobs(Path(folder) / "blobs"), rate=Rate(1e9, 1e9))
        listening = socket.create_server(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        port = listening.getsockname()[1]
        try:
            link = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
            headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/zip"}
            link.request("POST", "/api/v1/results", BUNDLE.read_bytes(), headers)
            print("one result:", link.getresponse().status, flush=True)
            desk = app.state.service.desk
            ids = [put(desk, owners[n % 2], found(f"n{n}"), private=n % 3 == 0) for n in range(RESULTS)]
            (Path(folder) / "named.py").write_text(HOOKS.format(ids=[*ids, "0", "none"]))
            environment = {**os.environ, "SCHEMATHESIS_HOOKS": "named", "PYTHONPATH": folder}
            command = [given.program, "run", f"http://127.0.0.1:{port}/api/v1/openapi.json", "--checks", CHECKS]
            command += ["-H", f"Authorization: Bearer {token}", "--max-time", str(given.seconds)]
            code = subprocess.run(command, cwd=folder, env=environment, check=False).returncode
            link = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
            link.request("GET", "/metrics")
            print(*(line for line in link.getresponse().read().decode().splitlines() if "status=" in line), sep="\n")
            sys.exit(code)
        finally:
            server.should_exit = True
            thread.join()
            held.close()


if __name__ == "__main__":
    main()
