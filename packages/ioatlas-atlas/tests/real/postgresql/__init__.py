# SPDX-License-Identifier: Apache-2.0
"""A PostgreSQL of its own for tests: a new cluster in a temporary folder, on a socket there, gone at the end."""

import contextlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import sqlalchemy as sa

PLACES = ("/usr/lib/postgresql", "/usr/local/lib/postgresql")
NOBODY = "nobody"
"""PostgreSQL refuses to run as root."""


def program(name):
    """Path of a program of the newest PostgreSQL here; None without one."""
    found = [path for place in PLACES for path in Path(place).glob(f"*/bin/{name}")]
    newest = max(found, key=lambda path: int(path.parts[-3]), default=None)
    return str(newest) if newest else shutil.which(name)


class Cluster:
    def __init__(self, folder):
        self.folder = folder
        self._user = {"user": NOBODY} if os.geteuid() == 0 else {}
        self._count = 0
        if self._user:
            shutil.chown(folder, NOBODY)
        self._run(
            "initdb", "-D", folder / "data", "-U", "postgres", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C"
        )

    def _run(self, name, *arguments):
        command = [program(name), *map(str, arguments)]
        subprocess.run(command, check=True, capture_output=True, cwd="/", timeout=500, **self._user)

    def start(self):
        options = f"-c listen_addresses= -c unix_socket_directories={self.folder} -c shared_buffers=16MB"
        options += " -c fsync=off"  # the machine does not die here, only processes do
        self._run(
            "pg_ctl", "-D", self.folder / "data", "-w", "-t", "400", "-o", options, "-l", self.folder / "log", "start"
        )

    def stop(self, mode="fast"):
        """Mode 'immediate': every process ends as if killed, and nothing is written any more."""
        self._run("pg_ctl", "-D", self.folder / "data", "-w", "-t", "400", "-m", mode, "stop")

    def url(self, name):
        return f"postgresql://postgres@/{name}?host={self.folder}"

    def new_database(self, template="template1"):
        """Address of a database as empty as the template, to which nobody may be connected."""
        self._count += 1
        name = f"atlas{self._count}"
        self._order(f"CREATE DATABASE {name} TEMPLATE {template}")
        return self.url(name)

    def drop(self, address):
        """One that is done with: 300 files and 7 MB each would all be removed at the end, and slowly."""
        self._order(f"DROP DATABASE {sa.make_url(address).database}")

    def _order(self, order):
        engine = sa.create_engine(self.url("postgres").replace("://", "+psycopg://"), isolation_level="AUTOCOMMIT")
        with engine.connect() as link:
            link.execute(sa.text(order))
        engine.dispose()


@contextlib.contextmanager
def cluster():
    """A running one."""
    # Paths of Unix sockets end at 107 characters, and pytest's own folders are longer.
    folder = Path(tempfile.mkdtemp(prefix="iopg", dir="/tmp"))
    try:
        made = Cluster(folder)
        made.start()
        try:
            yield made
        finally:
            made.stop("immediate")
    finally:
        shutil.rmtree(folder)
