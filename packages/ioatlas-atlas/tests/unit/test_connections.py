# SPDX-License-Identifier: Apache-2.0
"""Clients that say nothing, half of it, or do not take their answer; through the protocol that serves."""

import socket
import threading

import pytest
import uvicorn

from ioatlas_atlas import connections

HALF = b"GET / HTTP/1.1\r\nHost: atlas\r\nX-More: "
WHOLE = b"GET / HTTP/1.1\r\nHost: atlas\r\n\r\n"
LARGE = 64 << 20


async def app(scope, receive, send):
    """Answers at once; with much where much is asked for."""
    while (await receive()).get("more_body"):
        pass
    size = LARGE if scope["path"] == "/large" else 2
    length = [(b"content-length", str(size).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": length})
    await send({"type": "http.response.body", "body": b"x" * size})


@pytest.fixture
def server():
    """(how to connect, the connections that it has)."""
    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(app, http=connections.Guarded, ws="none", log_level="error", lifespan="off")
    running = uvicorn.Server(config)
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    opened = []

    def connect(said=b""):
        opened.append(socket.create_connection(listening.getsockname(), timeout=120))
        opened[-1].sendall(said)
        return opened[-1]

    yield connect, running.server_state.connections
    for one in opened:
        one.close()
    running.should_exit = True
    thread.join()


def closed(link):
    """What is read of a connection until the other side ends it."""
    read = b""
    try:
        while piece := link.recv(65536):
            read += piece
    except ConnectionResetError:
        pass
    return read


@pytest.mark.parametrize("said", [b"", HALF, WHOLE, WHOLE + HALF], ids=["nothing", "half", "one", "one and a half"])
def test_who_does_not_end_its_headers_is_let_go(server, monkeypatch, said):
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.3)
    connect, _ = server
    assert closed(connect(said)).count(b"200 OK") == said.count(WHOLE)


ENDS = ["Content-Length: 5\r\nContent-Length: 6", "Content-Length: +5", "Content-Length: 0x5", "X: y\r\nHost: other"]
ENDS += [f"Transfer-Encoding{how}" for how in (": xchunked", " : chunked", ": chunked\r\nTransfer-Encoding: identity")]


@pytest.mark.parametrize("head", [*ENDS, "Transfer-Encoding: chunked\r\n\r\n-1"])
def test_what_a_proxy_could_take_for_another_end_is_refused_with_all_behind_it(server, head):
    read = closed(server[0](b"POST / HTTP/1.1\r\nHost: atlas\r\n" + head.encode() + b"\r\n\r\n0\r\n\r\n" + WHOLE))
    assert read.count(b"HTTP/1.1 ") == 1
    assert read.startswith((b"HTTP/1.1 400", b"HTTP/1.1 501"))


def test_more_bytes_of_a_header_buy_no_time(server, monkeypatch):
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.3)
    link = server[0](HALF)
    link.settimeout(0.05)
    with pytest.raises(OSError) as ended:  # noqa: PT012 - it ends in one of the two
        while True:
            link.sendall(b"x")
            try:
                if not link.recv(1):
                    raise ConnectionResetError
            except TimeoutError:
                continue
    assert not isinstance(ended.value, TimeoutError)


def test_a_request_that_is_being_answered_is_not_let_go(server, monkeypatch):
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.3)
    connect, _ = server
    link = connect(b"POST / HTTP/1.1\r\nHost: atlas\r\nContent-Length: 2\r\n\r\nx")
    assert closed(connect(HALF)) == b""  # its time is over, and the other one's was before
    link.sendall(b"y")
    assert b"200 OK" in link.recv(65536)


def test_those_that_wait_longest_give_way_to_new_ones(server, monkeypatch):
    monkeypatch.setattr(connections, "MOST", 5)
    connect, held = server
    slow = [connect(HALF) for _ in range(40)]
    for _ in range(10):
        link = connect(WHOLE)
        assert b"200 OK" in link.recv(65536)
    assert len(held) <= 5
    assert closed(slow[0]) == b""


def test_who_does_not_take_its_answer_is_let_go(server, monkeypatch):
    monkeypatch.setattr(connections, "STUCK_SECONDS", 0.3)
    connect, held = server
    link = connect(b"GET /large HTTP/1.1\r\nHost: atlas\r\n\r\n")
    link.recv(1)
    while any(one.client == link.getsockname() for one in held):
        assert b"200 OK" in closed(connect(WHOLE.replace(b"Host", b"Connection: close\r\nHost")))
    assert len(closed(link)) < LARGE
