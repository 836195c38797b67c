# SPDX-License-Identifier: Apache-2.0
"""An upload is read by a process of its own, under limits of time, memory and files. The service never reads one."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import signal
import subprocess
import sys
import threading
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

import orjson
from pydantic import ValidationError

from ioatlas.model.errors import IoAtlasError, UsageError
from ioatlas_atlas.blobs import full
from ioatlas_atlas.extract import DISK_FULL
from ioatlas_atlas.extracted import MOST_OUTPUT_BYTES, CheckFound, Found
from ioatlas_atlas.fairness import Declaration


@dataclass(frozen=True)
class Limits:
    """Of one upload and of the process that reads it. uploads_a_day, private: of one account."""

    upload_bytes: int = 256 << 20
    upload_seconds: int = 900
    idle_seconds: int = 30
    members: int = 20_000
    logs: int = 200_000
    unpacked_bytes: int = 2 << 30
    memory_bytes: int = 3 << 30
    cpu_seconds: int = 120
    wall_seconds: int = 240
    file_bytes: int = 1 << 30
    files: int = 256
    uploads_a_day: int = 100
    private: int = 1000


class NotAdmittedError(UsageError):
    """The upload was read, and is refused. checks: what was looked at until then."""

    def __init__(self, what: str, checks: tuple[CheckFound, ...] = ()) -> None:
        super().__init__(what, where="bundle", remedy="`ioatlas verify BUNDLE` says the same; mend it, or pack it anew")
        self.checks = checks


def read(path: Path, declared: Declaration, limits: Limits) -> Found:
    """What a bundle holds. path: in a folder of this upload alone. Raises NotAdmittedError for what is refused."""
    place = path.parent / "reading"
    more = json.dumps(asdict(declared))
    try:
        (place / "config").mkdir(parents=True)
        with (place / "told").open("w+b") as told, (place / "said").open("w+b") as said:
            process = _begun("ioatlas_atlas.extract", path, limits, place, more, told=told, said=said)
            code = _wait(process, limits.wall_seconds)
            told.seek(0)
            text = told.read(MOST_OUTPUT_BYTES + 1)
    except OSError as error:
        raise full(error, place) from error
    if code == DISK_FULL:
        raise full(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), place)
    if code != 0:
        raise NotAdmittedError(f"it cannot be read within the limits ({_ended(code)})")
    return _checked(text)


def confined(module: str, path: Path, limits: Limits, place: Path, more: str = "") -> int:
    """Have a module of ours read a kept bundle, in `place` and under the limits; its exit status. more: for it."""
    return _wait(_begun(module, path, limits, place, more), limits.wall_seconds)


def _begun(
    module: str,
    path: Path,
    limits: Limits,
    place: Path,
    more: str,
    told: IO[bytes] | int = subprocess.DEVNULL,
    said: IO[bytes] | int = subprocess.DEVNULL,
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", module, str(path), json.dumps(asdict(limits)), more],
        stdin=subprocess.DEVNULL,
        stdout=told,
        stderr=said,
        env=_environment(place),
        cwd=place,
        start_new_session=True,
    )


def _wait(process: subprocess.Popen[bytes], seconds: float) -> int:
    """Its exit status; whatever it started is ended with it."""
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        return -signal.SIGALRM
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _environment(place: Path) -> dict[str, str]:
    """Nothing of the service: no secrets, no trusted keys, one thread."""
    passed = {
        name: os.environ[name] for name in ("PATH", "PYTHONPATH", "LANG", "LD_LIBRARY_PATH") if name in os.environ
    }
    alone = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    own = {"HOME": str(place), "TMPDIR": str(place), "XDG_CONFIG_HOME": str(place / "config")}
    return {**passed, **alone, **own, "PYTHONDONTWRITEBYTECODE": "1"}


def _ended(code: int) -> str:
    words = {-signal.SIGALRM: "time", -signal.SIGXCPU: "processor time", -signal.SIGKILL: "killed"}
    return words.get(code, f"status {code}")


def _checked(text: bytes) -> Found:
    if len(text) > MOST_OUTPUT_BYTES:
        raise NotAdmittedError("it holds more than an atlas keeps of one result")
    try:
        told: Any = orjson.loads(text)  # which takes no half of a letter: no page could be written with one
        if "refused" in told:
            raise NotAdmittedError(str(told["refused"]), tuple(CheckFound(**one) for one in told["checks"]))
        return Found(**told["found"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        what = _first(error) if isinstance(error, ValidationError) else type(error).__name__
        raise NotAdmittedError(f"it holds what no result can have: {what}") from error


def _first(error: ValidationError) -> str:
    one = error.errors(include_input=False, include_url=False)[0]
    return f"{'.'.join(map(str, one['loc']))}: {one['msg']}"[:300]


class BusyError(IoAtlasError):
    """As many uploads are being read as this service reads at once."""


class Turns:
    """Few do something at once, and few wait for it: a context manager, which raises BusyError for who is too many."""

    def __init__(self, at_once: int, waiting: int, what: str) -> None:
        self._what = what
        self._working, self._places = threading.Semaphore(at_once), threading.Semaphore(at_once + waiting)

    def __enter__(self) -> None:
        if not self._places.acquire(blocking=False):
            raise BusyError(self._what, where="the atlas", remedy="try again in a minute")
        self._working.acquire()

    def __exit__(self, *_: object) -> None:
        self._working.release()
        self._places.release()
