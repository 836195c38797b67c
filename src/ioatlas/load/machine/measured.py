# SPDX-License-Identifier: Apache-2.0
"""Ceilings that are measured: what this client can generate, what its stack carries without a device,
what the network path carries.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ioatlas.load.fio.collect import run_job
from ioatlas.load.fio.executor import Executor
from ioatlas.load.fio.jobfile import JobSection, render_job
from ioatlas.load.fio.process import asked
from ioatlas.load.machine.sheet import PATH, Sheet
from ioatlas.load.machine.telemetry import Sampler, Watched
from ioatlas.model.errors import IoAtlasError, faults
from ioatlas.model.options import JobValue
from ioatlas.model.testbed import Usage

Memory = Literal["file", "nbd"]
"""Kinds of targets in this client's own memory: a file there, and an export on a unix socket."""
Load = dict[str, JobValue]
_MEMORY_BYTES = 64 << 20
_SERVER_SECONDS = 5.0
_NULL: Load = {"ioengine": "null", "rw": "randread", "size": 1 << 30}


@dataclass(frozen=True)
class Rate:
    """One measured rate. how: the command's options, so that it can be run again by hand."""

    bw_bytes_per_s: float
    iops: float
    how: str


def client_rate(executor: Executor, bs_bytes: int, *, numjobs: int = 1, iodepth: int = 1, seconds: float = 1.0) -> Rate:
    """What fio generates on this client when I/Os cost nothing (its null engine). Raises IoAtlasError."""
    load = {**_NULL, "bs": bs_bytes, "numjobs": numjobs, "iodepth": iodepth}
    with _scratch() as directory:
        return _rate(executor, directory, load, seconds)


def stack_rate(executor: Executor, kind: Memory, bs_bytes: int, *, numjobs: int = 1, seconds: float = 1.0) -> Rate:
    """What the path of such targets carries from memory: what a target costs this client, without the target.

    Raises IoAtlasError.
    """
    # A server needs some I/Os in flight, and the fewer the larger they are.
    queue: Load = {"iodepth": 16 if bs_bytes < 1 << 20 else 4} if kind == "nbd" else {}
    with _scratch() as directory, _export(directory) if kind == "nbd" else _memory_file() as place:
        load: Load = {"rw": "randread", "size": _MEMORY_BYTES, **place, **queue, "bs": bs_bytes, "numjobs": numjobs}
        return _rate(executor, directory, load, seconds)


def target_rate(
    executor: Executor, location: str, rw: str, bs_bytes: int, *, iodepth: int = 16, seconds: float = 2.0
) -> Rate:
    """A short read-only look at a file, a block device or an NBD export. Raises IoAtlasError."""
    load: Load = {"rw": rw, "bs": bs_bytes, "iodepth": iodepth}
    if location.startswith("nbd"):
        load |= {"ioengine": "nbd", "uri": location}
    else:
        load |= {"ioengine": "libaio", "direct": 1, "filename": str(Path(location).absolute())}
    with _scratch() as directory:
        return _rate(executor, directory, load, seconds, "--readonly")


@contextlib.contextmanager
def _scratch() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="ioatlas-ceiling-") as directory:
        yield Path(directory)


@contextlib.contextmanager
def _memory_file() -> Iterator[Load]:
    descriptor = os.memfd_create("ioatlas-stack")
    try:
        # Pages that were never written would be read much faster.
        told = faults(IoAtlasError, "there is no memory to read from")
        with told, open(descriptor, "wb", closefd=False) as file:
            data = os.urandom(1 << 20)
            file.writelines(data for _ in range(_MEMORY_BYTES >> 20))
        yield {"ioengine": "psync", "filename": f"/proc/{os.getpid()}/fd/{descriptor}"}
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _export(directory: Path) -> Iterator[Load]:
    """An export of nbdkit's null plugin on a unix socket; it only fills the reply."""
    socket, ready, said = (directory / name for name in ("socket", "nbdkit.pid", "nbdkit.err"))
    words = ["--exit-with-parent", "--foreground", "--pidfile", str(ready), "--unix", str(socket)]
    command = [_tool("nbdkit"), *words, "null", f"{_MEMORY_BYTES}"]
    with said.open("wb") as sink:
        server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=sink, stderr=sink)
    try:
        give_up = time.monotonic() + _SERVER_SECONDS
        while not ready.exists():  # written when it takes connections
            if server.poll() is not None or time.monotonic() > give_up:
                raise IoAtlasError(f"nbdkit does not serve: {said.read_text(errors='replace').strip()[-300:]}")
            time.sleep(0.005)
        yield {"ioengine": "nbd", "uri": f"nbd+unix:///?socket={socket}"}
    finally:
        server.kill()
        server.wait()


def _rate(executor: Executor, directory: Path, load: Load, seconds: float, *options: str) -> Rate:
    common: Load = {
        "thread": 1,
        "group_reporting": 1,
        "time_based": 1,
        "runtime": f"{seconds * 1000:.0f}ms",
        "norandommap": 1,
        "clocksource": "clock_gettime",
    }
    how = " ".join(f"{key}={value}" for key, value in load.items() if key not in {"filename", "uri"})
    job = render_job([JobSection("ceiling", load)], common)
    outcome, output = run_job(executor, job, directory, expected_seconds=seconds, options=options)
    if outcome.exit_code or output is None:
        raise IoAtlasError(f"fio ended with status {outcome.exit_code}: {outcome.stderr[-300:]}", where=how)
    read = output.jobs[0].directions["read"]
    return Rate(read.bw_bytes_per_s or 0.0, read.iops or 0.0, how)


def _tool(name: str, remedy: str = "") -> str:
    path = shutil.which(name, path=PATH)
    if path is None:
        raise IoAtlasError(f"{name} is not installed", remedy=remedy or f"apt-get install {name}")
    return path


def network_rate(host: str, *, port: int = 5201, reverse: bool = True, seconds: int = 3) -> Rate:
    """What TCP carries from `host` (or to it), by iperf3 against a server that the user started there.

    Raises IoAtlasError.
    """
    path = _tool("iperf3", "apt-get install iperf3 here and on the server, and start `iperf3 -s` there")
    timing = ["--time", f"{seconds}", "--omit", "1", "--connect-timeout", "3000"]
    words = ["--client", host, "--port", f"{port}", *timing, "--json"]
    command = [path, *words, *(["--reverse"] if reverse else [])]
    done = asked(command, seconds + 30)
    try:
        data = json.loads(done.stdout)
    except json.JSONDecodeError:
        data = {"error": done.stderr.strip() or "it said nothing"}
    received = data.get("end", {}).get("sum_received", {}).get("bits_per_second")
    if received is None:
        raise IoAtlasError(
            f"iperf3 could not measure: {data.get('error', 'no result')}",
            where=f"{host}:{port}",
            remedy="start `iperf3 -s` on that host",
        )
    return Rate(float(received) / 8, 0.0, "iperf3 " + " ".join(words))


def path_mtu_passes(host: str, mtu: int) -> bool | None:
    """True when a packet of `mtu` bytes reaches the host unfragmented.

    None when that cannot be found out (no ping, or no answer at all).
    """
    sheet = Sheet()
    overhead = 48 if ":" in host else 28  # IP and ICMP headers
    said = sheet.tool(
        "ping", "-c", "2", "-i", "0.2", "-W", "1", "-M", "do", "-s", str(mtu - overhead), host, accept_failure=True
    )
    if said is None:
        return None
    if re.search(r"[1-9]\d* received", said):
        return True
    small = sheet.tool("ping", "-c", "1", "-W", "1", host, accept_failure=True)
    return False if small is not None and re.search(r"[1-9]\d* received", small) else None


def background(watched: Watched, seconds: float = 1.0) -> Usage | None:
    """What the client's resources do while we do nothing."""
    with Sampler(watched, seconds) as sampler:
        time.sleep(seconds)
    return sampler.stop().usage()
