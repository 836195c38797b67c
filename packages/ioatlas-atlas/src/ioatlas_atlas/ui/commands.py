# SPDX-License-Identifier: Apache-2.0
"""The command line, called for a page: the same plan, the same guards, the same words.

What runs long is a process of its own that outlives the page and this server.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from ioatlas.answer.results.library import results_folder
from ioatlas.measure.run.live import live, log_of
from ioatlas.model.errors import PartialResultError, UsageError

SHORT_SECONDS = 120.0
"""The longest that a page waits for a command."""
START_SECONDS = 30.0
LONGEST_TEXT = 4096
MOST_BYTES = 16 << 10


@dataclass(frozen=True)
class Said:
    """What a command said, and its exit status."""

    status: int
    text: str


@dataclass(frozen=True)
class Wish:
    """What was asked for in the form of a new measurement; texts as typed, '' where left out."""

    target: str = ""
    profile: str = ""
    budget: str = ""
    product: str = ""
    name: str = ""
    read_only: str = ""
    destroy: str = ""
    overwrite: str = ""

    @classmethod
    def of(cls, form: dict[str, str]) -> Wish:
        """From the form's fields; others are not looked at. Raises UsageError for what no command line can hold."""
        said = {one.name: form.get(one.name, "").strip()[:LONGEST_TEXT] for one in fields(cls)}
        for name, text in said.items():
            if "\0" in text:
                raise UsageError("a NUL is part of no name", where=name, remedy="type it anew")
        return cls(**said)

    def words(self, command: str) -> list[str]:
        """The command line. Each value is a word of its own, so that none is taken for an option."""
        options = [f"--{name}={value}" for name in ("profile", "budget", "product") if (value := getattr(self, name))]
        if self.read_only:
            options.append("--read-only")
        if command == "plan":
            options.append("--json")
        else:
            options += [f"--{name}={value}" for name in ("destroy", "overwrite") if (value := getattr(self, name))]
            options += ["-o", str(self.directory()), "--yes"]
        return [command, *options, "--", self.target]

    def directory(self) -> Path:
        """Where the campaign goes: a new folder in the results folder."""
        return results_folder().absolute() / (_plain(self.name) or f"map-{time.strftime('%Y%m%d-%H%M%S')}")


def _plain(name: str) -> str:
    """As the name of a folder."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")[:100]


def bring(files: Mapping[str, bytes], library: Path) -> tuple[Path, str | None]:
    """Import files into a new folder of the library, and what was wrong: then there is no such folder."""
    name = _plain(Path(next(iter(files), "")).stem) or "imported"
    names = (name, *(f"{name}-{number}" for number in range(2, 1000)))
    directory = next((library / one for one in names if not (library / one).exists()), library / name)
    with tempfile.TemporaryDirectory(prefix="ioatlas-ui-") as folder:
        for one, content in files.items():
            (Path(folder) / one).write_bytes(content)
        said = call(["import", "-o", str(directory), "--", *(f"{folder}/{one}" for one in files)])
    if said.status in (0, PartialResultError.exit_code):
        return directory, None
    first = said.text.replace(f"{folder}/", "").strip().partition("\n")[0].removeprefix("ioatlas: ")
    return directory, first if files else "no file was chosen"


def call(words: Sequence[str]) -> Said:
    """Run a command to its end."""
    try:
        done = subprocess.run(**_process(words), capture_output=True, timeout=SHORT_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return Said(1, f"it took more than {SHORT_SECONDS:.0f} seconds")
    return Said(done.returncode, (done.stdout + done.stderr).decode("utf-8", "replace"))


def start(words: Sequence[str], directory: Path) -> Said | None:
    """Start a command that measures into `directory`. None once it runs; what it said when it ended before that."""
    log = log_of(directory)
    with log.open("w+b") if log is not None else tempfile.TemporaryFile() as said:
        process = subprocess.Popen(**_process(words), stdout=said, stderr=said, start_new_session=True)
        # Nobody waits for it later: it would stay as a zombie while this server lives.
        threading.Thread(target=process.wait, daemon=True).start()
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end:
            if process.returncode is not None:
                said.seek(0)
                return None if process.returncode == 0 else Said(process.returncode, _text(said.read(MOST_BYTES)))
            if live(directory) is not None:
                return None
            time.sleep(0.1)
    return None


def last_words(directory: Path) -> str:
    """What the last session that was started from a page said; '' when there was none."""
    log = log_of(directory)
    try:
        return "" if log is None else _text(log.read_bytes()[-MOST_BYTES:])
    except OSError:
        return ""


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace").strip()


def stop(directory: Path) -> bool:
    """Ask the session that runs there to stop: it keeps what is finished and cleans. False when none runs."""
    running = live(directory)
    if running is None:
        return False
    os.kill(running.pid, signal.SIGINT)
    return True


def _process(words: Sequence[str]) -> dict[str, Any]:
    environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1"}
    return {"args": [sys.executable, "-m", "ioatlas", *words], "stdin": subprocess.DEVNULL, "env": environment}
