# SPDX-License-Identifier: Apache-2.0
"""Servers and drives that live as long as a context manager."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

MIB = 1 << 20
BLKIO = Path("/sys/fs/cgroup/blkio")


@contextlib.contextmanager
def process(*words: str, ready: Path | None = None) -> Iterator[None]:
    """A server that lives as long as this. ready: a socket that shows when it serves."""
    server = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        deadline = time.monotonic() + 60
        while ready is not None and not ready.exists():
            if server.poll() is not None or time.monotonic() > deadline:
                server.kill()
                raise RuntimeError(f"{words[0]} did not start: {server.stderr and server.stderr.read()!r}")
            time.sleep(0.05)
        yield
    finally:
        server.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.wait(10)
        if server.poll() is None:
            server.kill()
            server.wait()


def run(*words: str) -> str:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr.strip()}")
    return done.stdout.strip()


@contextlib.contextmanager
def nbdkit(place: Path, *words: str) -> Iterator[str]:
    """A URI that nbdkit serves."""
    socket = place / "nbd.sock"
    with process("nbdkit", "-f", "-U", str(socket), *words, ready=socket):
        yield f"nbd+unix:///?socket={socket}"


@contextlib.contextmanager
def disk(place: Path, parts: Mapping[str, object]) -> Iterator[str]:
    plugin = Path(__file__).with_name("disk.py")
    with nbdkit(place, "python", str(plugin), f"parts={json.dumps(parts)}") as uri:
        yield uri


@contextlib.contextmanager
def throttled(place: Path, size: int, **rules: float) -> Iterator[str]:
    """A file in memory, written over its length, behind a throttle group of QEMU."""
    image, socket = place / "image", place / "qsd.sock"
    _fill(image, size)
    said = "".join(f",x-{name.replace('_', '-')}={round(value)}" for name, value in rules.items())
    words = (
        *("qemu-storage-daemon", "--object", f"throttle-group,id=limit{said}"),
        *("--blockdev", f"driver=file,node-name=raw,filename={image}"),
        *("--blockdev", "driver=throttle,node-name=disk,throttle-group=limit,file=raw"),
        *("--nbd-server", f"addr.type=unix,addr.path={socket},max-connections=256"),
        *("--export", "type=nbd,id=export,node-name=disk,name=disk,writable=on"),
    )
    with process(*words, ready=socket):
        yield f"nbd+unix:///disk?socket={socket}"


def _fill(path: Path, size: int) -> None:
    piece = os.urandom(4 * MIB)
    with path.open("wb") as out:
        for _ in range(size // len(piece)):
            out.write(piece)


@contextlib.contextmanager
def loop_drive(place: Path, size: int, **limits: float) -> Iterator[str]:
    """A loop drive. limits: read_bps, write_iops and so on, as the kernel's controller names them."""
    image = place / "drive"
    _fill(image, size)
    device = run("losetup", "-f", "--show", str(image))
    number = Path(f"/sys/block/{Path(device).name}/dev").read_text().strip()
    rules = {BLKIO / f"blkio.throttle.{name}_device": round(value) for name, value in limits.items()}
    try:
        for rule, value in rules.items():
            rule.write_text(f"{number} {value}")
        yield device
    finally:
        for rule in rules:
            with contextlib.suppress(OSError):
                rule.write_text(f"{number} 0")
        run("losetup", "-d", device)
