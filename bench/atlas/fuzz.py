"""Every operation of the OpenAPI document, asked with values that fit and values that do not, by Schemathesis:
`python bench/atlas/fuzz.py DATABASE [--program schemathesis] [--examples 50]`.

DATABASE: sqlite:///FILE or postgresql://..., which may be empty; it gets an account and a result. Schemathesis is not a
dependency of this project: install it elsewhere and name its program. Held: no answer is a fault of the service, every
status and every media type is one that the document tells, and every body fits its schema.
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
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

import uvicorn  # noqa: E402

from ioatlas.atlas import accounts  # noqa: E402
from ioatlas.atlas.app import make_app  # noqa: E402
from ioatlas.atlas.blobs import Blobs  # noqa: E402
from ioatlas.atlas.database import open_database  # noqa: E402
from ioatlas.atlas.migrations import migrate  # noqa: E402
from ioatlas.atlas.traffic import Rate  # noqa: E402

BUNDLE = ROOT / "tests" / "unit" / "bundle" / "formats" / "1.ioatlas.zip"
CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"


def main():
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("database")
    asked.add_argument("--program", default="schemathesis")
    asked.add_argument("--examples", type=int, default=50)
    given = asked.parse_args()
    held = open_database(given.database)
    migrate(held)
    token = accounts.new_token(held, accounts.new_account(held, f"fuzz-{os.urandom(4).hex()}"))
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
            command = [given.program, "run", f"http://127.0.0.1:{port}/api/v1/openapi.json", "--checks", CHECKS]
            command += ["-H", f"Authorization: Bearer {token}", "--max-examples", str(given.examples)]
            sys.exit(subprocess.run(command, cwd=folder, check=False).returncode)
        finally:
            server.should_exit = True
            thread.join()
            held.close()


if __name__ == "__main__":
    main()
