# SPDX-License-Identifier: Apache-2.0
"""docs/guide/serve.md to the letter: every command of the page runs, over SQLite and over PostgreSQL."""

import os
import re
import shlex
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from made import OLD_BUNDLE
from postgresql import cluster, program

from ioatlas_atlas.changes import Decision, decide
from ioatlas_atlas.database import open_database

PAGE = Path(__file__).resolve().parents[4] / "docs" / "guide" / "serve.md"
ELSEWHERE = ("pip install", "OIDC", "--oidc", "--person", "S3", "/var/cache", "--proxy")
"""They need packages, a provider, a bucket or a proxy: test_wheel, test_oidc and test_atlas_s3 have those."""
SETS_UP = ("IOATLAS_DATABASE", "serve migrate")
pytestmark = [pytest.mark.unmeasured, pytest.mark.skipif(program("initdb") is None, reason="needs PostgreSQL")]


def commands(postgresql):
    """Of the page, in its order; those that set a database up come first."""
    blocks = re.findall(r"```console\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    lines = re.sub(r"\s*\\\n\s*", " ", "".join(blocks)).splitlines()
    said = [re.sub(r"\s{2,}#.*", "", line[2:]) for line in lines if line.startswith("$ ")]
    said = [line for line in said if not any(word in line for word in ELSEWHERE)]
    first = [line for line in said if any(word in line for word in SETS_UP)]
    rest = [line for line in said if line not in first]
    if postgresql:
        return [*first, *(line for line in rest if "--folder" not in line)]
    return [line for line in rest if "--database" not in line]


class Reader:
    """Types what the page says, in a folder of its own, with what differs from place to place."""

    def __init__(self, folder, replaced):
        self.folder, self.replaced, self.service, self.token = folder, replaced, None, ""
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        bin_ = folder / "bin"
        bin_.mkdir()
        (bin_ / "ioatlas").write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m ioatlas "$@"\n')
        (bin_ / "ioatlas").chmod(0o755)
        self.environment = {**os.environ, "PATH": f"{bin_}:{os.environ['PATH']}"}

    def types(self, line):
        for old, new in (*self.replaced, ("8760", str(self.port)), ("ioa_1f0c2a...", self.token)):
            line = line.replace(old, new)
        if line == "ioatlas atlas serve":
            return self._serves()
        if line.startswith("export "):
            self.environment |= dict(one.split("=", 1) for one in line.split()[1:])
            return ""
        if line.startswith("TOKEN="):
            self.environment["TOKEN"] = line.partition("=")[2]
            return ""
        done = subprocess.run(
            ["bash", "-c", line], cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, (line, done.stdout, done.stderr)
        return done.stdout

    def _serves(self):
        if self.service:
            return ""
        words = [sys.executable, "-m", "ioatlas", "atlas", "serve", "--listen", f"127.0.0.1:{self.port}"]
        self.service = subprocess.Popen(words, cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, text=True)
        return self.service.stdout.readline()

    def ends(self):
        if self.service:
            self.service.send_signal(signal.SIGINT)
            self.service.stdout.close()
            self.service.wait(60)


@pytest.fixture(params=["sqlite", "postgresql"])
def reader(request, tmp_path):
    """(who types, address of the database that the service uses)."""
    shared = [("/srv/backup", f"{tmp_path}/backup"), ("nas1.ioatlas.zip", str(OLD_BUNDLE))]
    if request.param == "sqlite":
        typing = Reader(tmp_path, shared)
        yield typing, f"sqlite:///{tmp_path}/atlas/atlas.sqlite", False
        typing.ends()
        return
    with cluster() as running:
        used, again = running.new_database(), running.new_database()
        shared += [("postgresql://atlas@db/atlas", used), ("postgresql://atlas@db/again", again)]
        shared += [("/srv/atlas/blobs", f"{tmp_path}/blobs"), ("/srv/again", f"{tmp_path}/again")]
        typing = Reader(tmp_path, shared)
        yield typing, used, True
        typing.ends()


@pytest.mark.long("atlas")
def test_every_command_of_the_page_works_as_it_stands(reader):
    typing, url, postgresql = reader
    number = listed = ""
    for line in commands(postgresql):
        if "serve decide" in line:
            held = open_database(url)
            decide(held, number, Decision.FLAG, "in doubt", None)
            held.close()
            line = re.sub(r"decide \S+", f"decide {number}", line)  # noqa: PLW2901
        if "--revoke" in line:
            line = re.sub(r"--revoke \S+", f"--revoke {listed.split(maxsplit=1)[0]}", line)  # noqa: PLW2901
        said = typing.types(line)
        if re.fullmatch(r"ioatlas atlas serve token alice", line):
            typing.token = said.strip()
        if "--data-binary" in line:
            number = re.search(r'"id":"([^"]+)"', said)[1]
        if "--list" in line:
            listed = said
        if "serve restore" in line:
            assert said.startswith("1 result and 1 bundle")
