# SPDX-License-Identifier: Apache-2.0
"""NBD exports: alive, read-only, changed, dead and silent servers."""

import os
import socket
import subprocess
import tempfile
import threading

import pytest

from ioatlas.load.machine.path import look_at_path
from ioatlas.load.machine.sheet import Sheet
from ioatlas.measure.procedures.fit.plan import cells_of
from ioatlas.measure.procedures.fit.read import read_uses
from ioatlas.model.errors import IoAtlasError, RefusedError, UsageError
from ioatlas.model.target import place_options
from ioatlas.target.guard import check_before_start, check_extent, confirm_overwrite
from ioatlas.target.identity import check_identity
from ioatlas.target.layout import Layout
from ioatlas.target.nbd import read_export, served_at_once
from ioatlas.target.opening import open_target
from ioatlas.target.placing import Extent
from ioatlas.target.preparation import STEPS
from tests.real.target_lab import Bench, wait_for

pytestmark = [pytest.mark.needs("nbdkit"), pytest.mark.unmeasured]


@pytest.fixture
def bench():
    with tempfile.TemporaryDirectory(prefix="ion", dir="/tmp") as directory:  # socket paths are short
        bench = Bench(directory)
        yield bench
        bench.clear()


def serve(bench, *arguments, name="s"):
    path, ready = bench.directory / name, bench.directory / f"{name}.pid"
    ready.unlink(missing_ok=True)
    words = ["--foreground", "--pidfile", str(ready), "--unix", str(path)]
    process = bench.start("nbdkit", *words, *arguments, stderr=subprocess.DEVNULL)
    wait_for(ready.exists)  # the socket is there before the server takes connections
    return f"nbd+unix:///?socket={path}", process


def test_an_export_is_opened_with_its_size(bench):
    uri, _ = serve(bench, "memory", "16M")
    target = open_target(uri)
    assert (target.kind, target.size_bytes, target.ioengine) == ("uri", 16 << 20, "nbd")
    check_before_start(target, writes=True)
    check_extent(target, 16 << 20)
    with pytest.raises(RefusedError, match="reaches"):
        check_extent(target, (16 << 20) + 512)


WITHOUT_FLUSH = ("eval", "get_size=echo 16M", "pread=dd if=/dev/zero bs=$3 count=1", "pwrite=cat >/dev/null")


def test_a_server_that_takes_no_flushes_is_laid_out_without_and_refused_to_uses_that_flush(bench, tmp_path):
    uri, _ = serve(bench, *WITHOUT_FLUSH)
    target = open_target(uri)
    assert not target.takes_flushes
    (use,) = read_uses("etcd")
    with pytest.raises(UsageError, match="takes no flushes"):
        list(cells_of(use, target, {}))
    place = {"a": dict(place_options(uri))}
    (made,) = Layout(target, place, {"a": Extent(1 << 20)}, tmp_path, direct=False).write_step(STEPS["laid-out"][0])
    assert made.moved_bytes == 1 << 20


def test_what_a_server_of_this_machine_was_started_with_tells_that_it_drops_flushes(bench):
    path = bench.directory / "data"
    path.write_bytes(bytes(1 << 20))
    for number, mode in enumerate(("discard", "pass")):
        uri, _ = serve(bench, "--filter=fua", "file", str(path), f"fuamode={mode}", name=f"s{number}")
        sheet = Sheet()
        look_at_path(sheet, uri)
        assert [one.value for one in sheet.facts if one.name == "server.drops_flushes"] == ["fuamode=discard"][number:]


def test_the_servers_block_size_is_the_targets(bench):
    uri, _ = serve(
        bench,
        "--filter=blocksize-policy",
        "memory",
        "16M",
        "blocksize-minimum=4096",
        "blocksize-preferred=8192",
        "blocksize-maximum=1M",
    )
    target = open_target(uri)
    assert target.logical_block_bytes == 4096


@pytest.mark.parametrize(
    ("limits", "served"),
    [
        (("memory", "16M"), 4),
        (("--filter=noparallel", "memory", "16M", "serialize=connections"), 1),
        (("--filter=limit", "memory", "16M", "limit=2"), 2),
    ],
)
def test_connections_that_wait_or_are_refused_are_not_served(bench, limits, served):
    uri, _ = serve(bench, *limits)
    assert served_at_once(uri, 4) == served


def test_a_read_only_export_is_only_read(bench):
    uri, _ = serve(bench, "--read-only", "memory", "16M")
    target = open_target(uri)
    check_before_start(target, writes=False)
    with pytest.raises(IoAtlasError, match="read-only"):
        check_before_start(target, writes=True)


def test_overwriting_wants_uri_and_size(bench):
    uri, _ = serve(bench, "memory", "16M")
    target = open_target(uri)
    confirm_overwrite(target, f"{uri} 16777216")
    for typed in (None, "yes", uri, "16777216", f"{uri} 16777217"):
        with pytest.raises(RefusedError, match="16777216"):
            confirm_overwrite(target, typed)


def test_a_dead_server_is_one_clear_error(bench):
    uri, process = serve(bench, "memory", "16M")
    target = open_target(uri)
    process.kill()
    process.wait()
    with pytest.raises(IoAtlasError, match="no NBD export"):
        check_identity(target)
    with pytest.raises(IoAtlasError, match="no NBD export"):
        open_target("nbd+unix:///?socket=/no/such/socket")
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        with pytest.raises(IoAtlasError, match="no NBD export"):
            open_target(f"nbd://127.0.0.1:{unused.getsockname()[1]}")


def test_another_export_at_the_same_place_is_noticed(bench):
    uri, process = serve(bench, "memory", "16M")
    target = open_target(uri)
    check_identity(target)
    process.kill()
    process.wait()
    os.unlink(bench.directory / "s")
    serve(bench, "memory", "32M")
    with pytest.raises(RefusedError, match="size_bytes was 16777216, is 33554432"):
        check_identity(target)


def test_a_silent_server_does_not_hold_us():
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(1)
        with pytest.raises(IoAtlasError, match=r"does not answer within 0\.3 s"):
            read_export(f"nbd://127.0.0.1:{silent.getsockname()[1]}", seconds=0.3)


def test_something_else_than_an_nbd_server_is_one_clear_error(bench):
    with socket.socket(socket.AF_UNIX) as other:
        path = bench.directory / "other"
        other.bind(str(path))
        other.listen(1)

        def greet():
            connection, _ = other.accept()
            connection.sendall(b"220 mail.example ESMTP ready\r\n" * 20)
            connection.close()

        thread = threading.Thread(target=greet)
        thread.start()
        with pytest.raises(IoAtlasError, match=r"NBD export|closed the connection"):
            open_target(f"nbd+unix:///?socket={path}")
        thread.join()


def test_an_unknown_export_is_one_clear_error(bench):
    uri, _ = serve(bench, "--filter=exportname", "memory", "16M", "exportname=known", "exportname-strict=true")
    assert open_target(uri.replace(":///", ":///known")).size_bytes == 16 << 20
    with pytest.raises(IoAtlasError, match="no NBD export"):
        open_target(uri.replace(":///", ":///unknown"))


def test_a_named_socket_without_a_uri_is_explained(bench):
    serve(bench, "memory", "16M")
    with pytest.raises(UsageError, match=r"nbd\+unix:///\?socket="):
        open_target(str(bench.directory / "s"))


@pytest.mark.parametrize(
    "uri",
    [
        "nbd+unix:///?socket=relative",
        "nbd+unix:///",
        "nbd+unix:///?socket=/tmp/a;b",
        "nbd://host/x#y",
        "nbd://h/${HOME}",
    ],
)
def test_uris_that_would_be_misread_are_refused(uri):
    with pytest.raises(UsageError):
        open_target(uri)


def test_an_unknown_scheme_is_refused():
    with pytest.raises(UsageError, match=r"nbd\+unix"):
        open_target("gopher://host/x")
