# SPDX-License-Identifier: Apache-2.0
"""Ceilings that are measured: what this client can generate, what its stack carries without a device, what the network path carries."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ioatlas.errors import IoAtlasError
from ioatlas.model.usage import Usage
from ioatlas.probe.sheet import PATH, Sheet
from ioatlas.probe.telemetry import Sampler, Watched

Memory = Literal["file", "nbd"]
"""Kinds of targets in this client's own memory: a file there, and nbdkit's null plugin on a unix socket, which only fills the reply."""
_SERVED = "$uri"
"""What nbdkit replaces by the address of the server that it starts for a command."""
_MEMORY_BYTES = 64 << 20
_NULL = {"ioengine": "null", "rw": "randread", "size": 1 << 30}


@dataclass(frozen=True)
class Rate:
    """One measured rate. how: the command's options, so that it can be run again by hand."""

    bw_bytes_per_s: float
    iops: float
    how: str


def client_rate(bs_bytes: int, *, numjobs: int = 1, iodepth: int = 1, seconds: float = 1.0) -> Rate:
    """What fio generates on this client when I/Os cost nothing (its null engine). Raises IoAtlasError."""
    [rate] = _fio([{**_NULL, "bs": bs_bytes, "numjobs": numjobs, "iodepth": iodepth}], seconds)
    return rate


def stack_rate(kind: Memory, bs_bytes: int, *, numjobs: int = 1, seconds: float = 1.0) -> Rate:
    """What the path of such targets carries from memory: all that a target costs this client, without the target. Raises IoAtlasError."""
    [rate] = _from_memory(kind, [{"bs": bs_bytes, "numjobs": numjobs}], seconds)
    return rate


def client_and_stack(kind: Memory, sizes_bytes: Sequence[int], *, seconds: float) -> tuple[Rate, dict[int, Rate]]:
    """One job of fio's null engine, and one reading a target in memory with blocks of each size; one process makes all. Raises IoAtlasError."""
    null, *carried = _from_memory(kind, [{**_NULL, "bs": 4096}, *({"bs": size} for size in sizes_bytes)], seconds)
    return null, dict(zip(sizes_bytes, carried, strict=True))


def _from_memory(kind: Memory, loads: Sequence[Mapping[str, Any]], seconds: float) -> list[Rate]:
    """The loads' rates, one after the other; those without an engine of their own read the target in memory."""
    common = {"rw": "randread", "size": _MEMORY_BYTES}
    if kind == "nbd":
        # A server needs some I/Os in flight, and the fewer the larger they are.
        queue = [{"ioengine": "nbd", "uri": _SERVED, "iodepth": 16 if load["bs"] < 1 << 20 else 4} for load in loads]
        return _fio([load if "ioengine" in load else {**common, **more, **load} for load, more in zip(loads, queue, strict=True)], seconds)
    descriptor = os.memfd_create("ioatlas-stack")
    try:
        # Pages that were never written would be read much faster.
        with open(descriptor, "wb", closefd=False) as file:
            data = os.urandom(1 << 20)
            file.writelines(data for _ in range(_MEMORY_BYTES >> 20))
        memory = {"ioengine": "psync", "filename": f"/proc/{os.getpid()}/fd/{descriptor}"}
        return _fio([load if "ioengine" in load else {**common, **memory, **load} for load in loads], seconds)
    except OSError as error:
        raise IoAtlasError(f"there is no memory to read from: {error.strerror}") from error
    finally:
        os.close(descriptor)


def target_rate(location: str, rw: str, bs_bytes: int, *, numjobs: int = 1, iodepth: int = 16, seconds: float = 2.0) -> Rate:
    """A short read-only look at a file, a block device or an NBD export. Raises IoAtlasError."""
    options: dict[str, Any] = {"rw": rw, "bs": bs_bytes, "numjobs": numjobs, "iodepth": iodepth}
    if location.startswith("nbd"):
        options |= {"ioengine": "nbd", "uri": location}
    else:
        options |= {"ioengine": "libaio", "direct": 1, "filename": location}
    [rate] = _fio([options], seconds, "--readonly")
    return rate


def _fio(loads: Sequence[Mapping[str, Any]], seconds: float, *words: str) -> list[Rate]:
    """Rates of loads that run one after the other in one process; a server is there for those that ask for it."""
    common = {"thread": 1, "group_reporting": 1, "time_based": 1, "runtime": f"{seconds * 1000:.0f}ms", "norandommap": 1, "clocksource": "clock_gettime"}
    arguments = [_tool("fio"), "--output-format=json", "--eta=never", *words]
    for number, load in enumerate(loads):
        arguments += [f"--name=ceiling{number}", "--stonewall", *(f"--{key}={value}" for key, value in {**common, **load}.items())]
    if any(load.get("uri") == _SERVED for load in loads):
        command = " ".join(f'--uri="{_SERVED}"' if word == f"--uri={_SERVED}" else shlex.quote(word) for word in arguments)
        arguments = [_tool("nbdkit"), "--unix", "-", "null", f"{_MEMORY_BYTES}", "--run", command]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False, timeout=len(loads) * seconds + 60)
    brace = done.stdout.find("{")
    how = [" ".join(f"{key}={value}" for key, value in load.items() if key not in {"filename", "uri"}) for load in loads]
    if done.returncode != 0 or brace < 0:
        raise IoAtlasError(f"fio ended with status {done.returncode}: {(done.stderr or done.stdout).strip()[-300:]}", where=how[0])
    reads = [job["read"] for job in json.loads(done.stdout[brace:])["jobs"]]
    return [Rate(float(read["bw_bytes"]), float(read["iops"]), said) for read, said in zip(reads, how, strict=True)]


def _tool(name: str) -> str:
    path = shutil.which(name, path=PATH)
    if path is None:
        raise IoAtlasError(f"{name} is not installed", remedy=f"apt-get install {name}")
    return path


def network_rate(host: str, *, port: int = 5201, reverse: bool = True, seconds: int = 3) -> Rate:
    """What TCP carries from `host` (or to it), by iperf3 against a server that the user started there. Raises IoAtlasError."""
    path = shutil.which("iperf3", path=PATH)
    if path is None:
        raise IoAtlasError("iperf3 is not installed", remedy="apt-get install iperf3 here and on the server, and start `iperf3 -s` there")
    words = ["--client", host, "--port", str(port), "--time", str(seconds), "--omit", "1", "--connect-timeout", "3000", "--json"]
    done = subprocess.run([path, *words, *(["--reverse"] if reverse else [])], capture_output=True, text=True, check=False, timeout=seconds + 30)
    try:
        data = json.loads(done.stdout)
    except json.JSONDecodeError:
        data = {"error": done.stderr.strip() or "it said nothing"}
    received = data.get("end", {}).get("sum_received", {}).get("bits_per_second")
    if received is None:
        raise IoAtlasError(f"iperf3 could not measure: {data.get('error', 'no result')}", where=f"{host}:{port}", remedy="start `iperf3 -s` on that host")
    return Rate(float(received) / 8, 0.0, "iperf3 " + " ".join(words))


def path_mtu_passes(host: str, mtu: int) -> bool | None:
    """True when a packet of `mtu` bytes reaches the host unfragmented; None when that cannot be found out (no ping, or no answer at all)."""
    sheet = Sheet()
    overhead = 48 if ":" in host else 28  # IP and ICMP headers
    said = sheet.tool("ping", "-c", "2", "-i", "0.2", "-W", "1", "-M", "do", "-s", str(mtu - overhead), host, accept_failure=True)
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
