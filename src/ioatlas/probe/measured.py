# SPDX-License-Identifier: Apache-2.0
"""Ceilings that are measured: what this client can generate, what its stack carries without a device, what the network path carries."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ioatlas.errors import IoAtlasError
from ioatlas.model.usage import Usage
from ioatlas.probe.sheet import PATH, Sheet
from ioatlas.probe.telemetry import Sampler, Watched

SHARED_MEMORY = Path("/dev/shm")  # noqa: S108
_RAM_BYTES = 64 << 20


@dataclass(frozen=True)
class Rate:
    """One measured rate. how: the command's options, so that it can be run again by hand."""

    bw_bytes_per_s: float
    iops: float
    how: str


def client_rate(bs_bytes: int, *, numjobs: int = 1, iodepth: int = 1, seconds: float = 1.0) -> Rate:
    """What fio generates on this client when I/Os cost nothing (its null engine). Raises IoAtlasError."""
    return _fio({"ioengine": "null", "rw": "randread", "bs": bs_bytes, "size": 1 << 30, "numjobs": numjobs, "iodepth": iodepth}, seconds)


def stack_rate(bs_bytes: int, *, numjobs: int = 1, seconds: float = 1.0) -> Rate | None:
    """What the kernel's file path carries from memory (a file in tmpfs); None where there is no shared memory to use."""
    if not SHARED_MEMORY.is_dir() or shutil.disk_usage(SHARED_MEMORY).free < 4 * _RAM_BYTES:
        return None
    with tempfile.TemporaryDirectory(prefix="ioatlas-stack-", dir=SHARED_MEMORY) as folder:
        options = {"ioengine": "psync", "rw": "randread", "bs": bs_bytes, "filename": f"{folder}/data", "size": _RAM_BYTES, "numjobs": numjobs}
        return _fio(options, seconds)


def target_rate(location: str, rw: str, bs_bytes: int, *, numjobs: int = 1, iodepth: int = 16, seconds: float = 2.0) -> Rate:
    """A short read-only look at a file, a block device or an NBD export. Raises IoAtlasError."""
    options: dict[str, Any] = {"rw": rw, "bs": bs_bytes, "numjobs": numjobs, "iodepth": iodepth}
    if location.startswith("nbd"):
        options |= {"ioengine": "nbd", "uri": location}
    else:
        options |= {"ioengine": "libaio", "direct": 1, "filename": location}
    return _fio(options, seconds, "--readonly")


def _fio(options: Mapping[str, Any], seconds: float, *words: str) -> Rate:
    path = shutil.which("fio", path=PATH)
    if path is None:
        raise IoAtlasError("fio is not installed", remedy="apt-get install fio")
    common = {"name": "ceiling", "thread": 1, "group_reporting": 1, "time_based": 1, "runtime": f"{seconds * 1000:.0f}ms", "norandommap": 1, "clocksource": "clock_gettime"}
    arguments = [path, "--output-format=json", *words, *(f"--{key}={value}" for key, value in {**common, **options}.items())]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False, timeout=seconds + 60)
    how = " ".join(f"{key}={value}" for key, value in options.items())
    brace = done.stdout.find("{")
    if done.returncode != 0 or brace < 0:
        raise IoAtlasError(f"fio ended with status {done.returncode}: {(done.stderr or done.stdout).strip()[-300:]}", where=how)
    read = json.loads(done.stdout[brace:])["jobs"][0]["read"]
    return Rate(float(read["bw_bytes"]), float(read["iops"]), how)


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
