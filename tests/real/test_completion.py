# SPDX-License-Identifier: Apache-2.0
"""Completion, typed with a tab in the shells themselves."""

import os
import pty
import select
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.unmeasured

SHELLS = {
    "bash": (["bash", "--norc", "-i"], 'eval "$(ioatlas completion bash)"'),
    "zsh": (["zsh", "-f", "-i"], 'autoload -Uz compinit; compinit -u -D; eval "$(ioatlas completion zsh)"'),
    "fish": (["fish", "--no-config", "-i"], "ioatlas completion fish | source"),
}
BOUND_SECONDS = 60


class Terminal:
    """An interactive shell behind a pseudo terminal."""

    def __init__(self, program: list[str], home: Path) -> None:
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(home)
            os.execvpe(program[0], program, {**os.environ, "HOME": str(home), "TERM": "dumb"})

    def type_until(self, typed: str, shown: bytes) -> None:
        os.write(self.fd, typed.encode())
        seen, end = b"", time.monotonic() + BOUND_SECONDS
        while shown not in seen:
            assert time.monotonic() < end, seen
            if select.select([self.fd], [], [], 1)[0]:
                seen += os.read(self.fd, 65536)

    def close(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.fd)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Callable[[str], Terminal]]:
    opened = []

    def open_(shell: str) -> Terminal:
        program, first = SHELLS[shell]
        if shutil.which(shell) is None or shutil.which("ioatlas") is None:
            pytest.skip(f"needs {shell}, and ioatlas on the PATH")
        opened.append(Terminal(program, tmp_path))
        opened[0].type_until(f"{first}; echo loa''ded\n", b"loaded")
        return opened[0]

    yield open_
    for each in opened:
        each.close()


@pytest.mark.parametrize("shell", SHELLS)
def test_a_tab_completes_profiles_and_the_paths_of_targets(
    shell: str, terminal: Callable[[str], Terminal], tmp_path: Path
) -> None:
    (tmp_path / "volume-of-a-nas").mkdir()
    at = terminal(shell)
    at.type_until("ioatlas map --profile smal\t", b"smallfiles")
    at.type_until(" volume\t", b"volume-of-a-nas")


def test_a_help_text_with_commas_is_whole_in_fish(terminal: Callable[[str], Terminal]) -> None:
    at = terminal("fish")
    at.type_until("complete -C 'ioatlas map --profile iozone'\n", b"in order on a 4 GB file, records")
