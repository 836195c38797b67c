# SPDX-License-Identifier: Apache-2.0
"""The service killed while bundles come in: what it acknowledged is there, and of the rest nothing is shown."""

import re
import socket
import threading
import time

import httpx2 as httpx
import pytest
from made import OLD_BUNDLE
from tests.real.conftest import ioatlas, start

from ioatlas_atlas.blobs import STALE_SECONDS, Blobs

RESULTS = "/api/v1/results"


def serve(folder):
    process = start("atlas", "serve", "--folder", folder, "--listen", "127.0.0.1:0")
    return process, re.match(r"http://\S+\d", process.stdout.readline())[0]


def token(folder, name):
    assert ioatlas("atlas", "serve", "account", name, "--folder", folder).returncode == 0
    return {"Authorization": f"Bearer {ioatlas('atlas', 'serve', 'token', name, '--folder', folder).stdout.strip()}"}


def send_half(address, headers):
    """A request of which the other half never comes."""
    data = OLD_BUNDLE.read_bytes()
    host, port = address.removeprefix("http://").split(":")
    link = socket.create_connection((host, int(port)))
    head = f"POST {RESULTS} HTTP/1.1\r\nHost: {host}\r\nAuthorization: {headers['Authorization']}\r\n"
    link.sendall(f"{head}Content-Length: {len(data)}\r\n\r\n".encode() + data[: len(data) // 2])
    return link


def until(process, condition):
    while not condition():
        assert process.poll() is None
        time.sleep(0.02)


@pytest.mark.unmeasured
@pytest.mark.long("atlas")
def test_killed_while_uploads_come_in_nothing_acknowledged_is_lost_and_nothing_half_done_is_shown(tmp_path):
    folder = tmp_path / "atlas"
    people = [token(folder, name) for name in ("anna", "boris", "clara")]
    bundle, incoming = OLD_BUNDLE.read_bytes(), folder / "blobs" / "incoming"
    process, address = serve(folder)
    try:
        # Kept to herself: what somebody published, nobody else may publish.
        sent = httpx.post(address + RESULTS, params={"private": True}, content=bundle, headers=people[0], timeout=300)
        assert sent.status_code == 201, sent.text
        with send_half(address, people[1]):
            until(process, lambda: len(list(incoming.iterdir())) == 1)
            reading = threading.Thread(target=_cut_off, args=(address, people[2], bundle))
            reading.start()
            until(process, lambda: list(incoming.glob("*/reading/told")))
            process.kill()
            process.wait()
            reading.join()
    finally:
        process.kill()
        process.communicate()

    process, address = serve(folder)
    try:
        with httpx.Client(headers=people[0], timeout=300) as anna:
            shown = anna.get(address + RESULTS).json()["entries"]
            assert [hit["id"] for hit in shown] == [sent.json()["id"]]
            place = f"{address}{RESULTS}/{sent.json()['id']}"
            assert anna.get(f"{place}/bundle").content == bundle
            assert len(anna.get(f"{place}/cells").json()["entries"]) == 5
        assert httpx.get(address + RESULTS, timeout=300).json()["entries"] == []
        again = httpx.post(address + RESULTS, content=bundle, headers=people[2], timeout=300)
        assert again.status_code == 201, again.text
    finally:
        process.terminate()
        process.communicate()
    blobs = Blobs(folder / "blobs")
    kept = [sha256 for sha256, _ in blobs.kept()]
    assert blobs.sweep(frozenset(kept), time.time() + 2 * STALE_SECONDS) == 2
    assert list(incoming.iterdir()) == []
    assert [sha256 for sha256, _ in blobs.kept()] == kept


def _cut_off(address, headers, bundle):
    with pytest.raises(httpx.HTTPError):
        httpx.post(address + RESULTS, content=bundle, headers=headers, timeout=300)
