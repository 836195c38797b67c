# SPDX-License-Identifier: Apache-2.0
"""Job files for Windows and macOS; orders of a controlling fio on their way to the clients."""

import socket
import struct
import subprocess
import threading
from contextlib import ExitStack

import pytest

from ioatlas.load.fleet import connections
from ioatlas.load.fleet.bare import warnings_of
from ioatlas.load.fleet.client import Address
from ioatlas.load.fleet.hosts import Host
from ioatlas.load.fleet.systems import engine_of, job_for, path_of, remarks_of
from ioatlas.model.errors import UsageError

JOB = """[global]
group_reporting=1

[v1]
ioengine=libaio
filename=C\\:\\data/.ioatlas-x/a.bin:C\\:\\data/b.bin
iodepth=8
direct=1

[v2]
thread=1
filename=/x
rw=read
"""


@pytest.mark.parametrize(
    ("path", "system", "told"),
    [
        (r"C:\data", "windows", r"C:\data"),
        ("D:/data/x", "windows", r"D:\data\x"),
        (r"\\.\PhysicalDrive1", "windows", r"\\.\PhysicalDrive1"),
        (r"\\nas\share\x", "windows", r"\\nas\share\x"),
        ("/Volumes/a:b", "macos", "/Volumes/a:b"),
        ("/mnt/nas", "linux", "/mnt/nas"),
    ],
)
def test_paths_are_spelt_as_fio_wants_them(path, system, told):
    assert path_of(path, system) == told


@pytest.mark.parametrize(
    ("path", "system"), [("/mnt/nas", "windows"), ("data", "windows"), (r"C:\a:b", "windows"), ("C:\\x", "macos")]
)
def test_what_is_no_path_there_is_refused(path, system):
    with pytest.raises(UsageError, match="is no path of"):
        path_of(path, system)


def test_a_job_for_windows():
    job = job_for(JOB, "windows")
    assert job.count("ioengine=windowsaio") == 2
    assert job.count("thread=1") == 2
    assert r"filename=C\:\data\.ioatlas-x\a.bin:C\:\data\b.bin" in job
    assert "libaio" not in job


def test_a_job_for_macos_and_linux():
    job = job_for(JOB, "macos")
    assert "ioengine=posixaio" in job
    assert "ioengine=psync" in job
    assert "filename=/x" in job
    assert job_for(JOB, "linux") == JOB


def test_a_translated_job_is_read_by_fio(tmp_path):
    """Fio here knows no windowsaio; all else of the job it has to accept, threads and paths too."""
    job = job_for(JOB, "macos").replace("C\\:\\data", str(tmp_path))
    (tmp_path / "job.fio").write_text(job + "size=4k\n")
    done = subprocess.run(["fio", "--parse-only", tmp_path / "job.fio"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr + done.stdout


@pytest.mark.parametrize("system", ["windows", "macos"])
def test_what_the_system_has_not_is_refused(system):
    with pytest.raises(UsageError, match="not in fio for"):
        engine_of("nbd", system)
    with pytest.raises(UsageError, match="hipri is an option of Linux"):
        job_for("[j]\nhipri=1\n", system)
    assert engine_of("null", system) == "null"
    assert remarks_of(system)
    assert not remarks_of("linux")


def test_an_open_port_is_warned_of():
    told = " ".join(warnings_of([Host("a", "ssh", "a"), Host("b", "fio", "10.0.0.1"), Host("c", listen="10.0.0.2")]))
    assert "b, c can run commands there" in told
    assert not warnings_of([Host("a", "ssh", "a")])


LONG = 60.0
NAMES = ("one", "two", "three")
PROBE, CONTROLLING, RUN = 10, 3, 16


def command(opcode, body=b""):
    return struct.pack("<HHIQIHH", 99, opcode, 0, 0, len(body), 0, 0) + body


def connected(place):
    near = socket.socket(socket.AF_UNIX)
    near.settimeout(LONG)
    near.connect(str(place))
    return near


@pytest.fixture
def servers(tmp_path):
    """{name: listening socket} of what stands for the clients' fio servers."""
    with ExitStack() as stack:
        found = {}
        for name in NAMES:
            found[name] = stack.enter_context(socket.socket(socket.AF_UNIX))
            found[name].settimeout(LONG)
            found[name].bind(str(tmp_path / f"{name}.server"))
            found[name].listen(1)
        yield found


@pytest.fixture
def opened(tmp_path, servers, monkeypatch):
    monkeypatch.setattr(connections, "HOLD_SECONDS", 0.0)
    place = tmp_path / "near"
    place.mkdir()
    one = connections.StartGate({name: Address(tmp_path / f"{name}.server") for name in NAMES}, place)
    with ExitStack() as stack:
        yield one, {name: stack.enter_context(connected(place / name)) for name in NAMES}
        one.close()


def received(end, length):
    data = b""
    while len(data) < length:
        data += end.recv(length - len(data))
    return data


def test_no_client_gets_an_order_before_all_have_theirs(servers, opened):
    _, nears = opened
    job = {name: name.encode() * 100_000 for name in NAMES}  # more than a socket takes at once
    orders = {name: command(PROBE, b"p") + command(CONTROLLING, job[name]) + command(RUN) for name in NAMES}
    senders = [threading.Thread(target=nears[name].sendall, args=(orders[name],)) for name in NAMES[:2]]
    nears["three"].sendall(orders["three"][:-1])
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join(LONG)
    for server in servers.values():
        server.settimeout(0.2)
        with pytest.raises(TimeoutError):
            server.accept()
        server.settimeout(LONG)
    nears["three"].sendall(orders["three"][-1:])
    for name, server in servers.items():
        far, _ = server.accept()
        with far:
            far.settimeout(LONG)
            assert received(far, len(orders[name])) == orders[name]
            far.sendall(b"answer of " + name.encode())
            nears[name].sendall(b"later")
            assert received(nears[name], 10 + len(name)) == b"answer of " + name.encode()
            assert received(far, 5) == b"later"
        assert nears[name].recv(1) == b"", "the end of a server is the end of its connection"


def test_a_server_that_is_not_there_is_named_and_ends_all(tmp_path, servers, opened):
    one, nears = opened
    (tmp_path / "two.server").unlink()
    for near in nears.values():
        near.sendall(command(RUN))
    for near in nears.values():
        assert near.recv(1) == b""
    assert [name for name in NAMES if one.trouble(name)] == ["two"]
    assert "cannot be reached" in one.trouble("two")


def test_a_controller_that_ends_before_its_orders_ends_all(opened):
    one, nears = opened
    nears["one"].sendall(command(RUN))
    nears["two"].close()
    assert nears["one"].recv(1) == b""
    assert not any(one.trouble(name) for name in NAMES)


def test_what_is_no_fio_is_not_waited_for(opened):
    _, nears = opened
    nears["one"].sendall(b"\xff" * 24)
    assert nears["two"].recv(1) == b""


def test_what_connects_while_the_others_end_ends_too(opened):
    one, nears = opened
    nears["one"].sendall(b"\xff" * 24)
    for thread in one._threads:
        thread.join(LONG)
    late, kept = socket.socketpair()
    late.settimeout(LONG)
    one._kept(kept)
    assert late.recv(1) == b""
    late.close()
