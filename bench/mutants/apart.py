# SPDX-License-Identifier: Apache-2.0
"""One mutant in a process of its own: forked, changed, and asked the tests that reach it."""

from __future__ import annotations

import contextlib
import functools
import gc
import importlib.machinery
import os
import resource
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import CodeType, FunctionType

import pytest
from mutations import Mutant, mutated

MOST_MEMORY = 3 << 30
KEEPER = type(functools.cache(lambda: None))
KILLED, SURVIVED, TIME_LIMIT, AT_IMPORT = "killed", "survived", "time limit", "only at import"
_OK, _FAILED, _AT_IMPORT, _TROUBLE = 0, 1, 3, 4
Trial = tuple[Mutant | None, list[str], float]
"""A mutant (None: nothing is changed), the tests to ask, and the seconds they may take."""


def apart(what: Callable[[], int], seconds: float) -> str:
    """What comes of it in a process of its own: its exit status, or that it took too long."""
    pid = os.fork()
    if not pid:
        os.setpgid(0, 0)
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        code = _TROUBLE
        try:
            code = what()
        finally:
            os._exit(code)
    end = time.monotonic() + seconds
    done = status = 0
    while not done and time.monotonic() < end:
        time.sleep(0.01)
        done, status = os.waitpid(pid, os.WNOHANG)
    with contextlib.suppress(ProcessLookupError):  # with whatever it started
        os.killpg(pid, signal.SIGKILL)
    if not done:
        os.waitpid(pid, 0)
        return TIME_LIMIT
    code = os.waitstatus_to_exitcode(status)
    if code == _TROUBLE:
        raise RuntimeError("the trial itself went wrong")
    return {_OK: SURVIVED, _AT_IMPORT: AT_IMPORT}.get(code, KILLED)


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def replaced(path: str, mutant: Mutant) -> bool:
    """Put the mutated code into the functions that exist; False where only an import can."""
    source = Path(path).read_text()
    before = {(one.co_qualname, one.co_firstlineno): one for one in _codes(compile(source, path, "exec"))}
    new = {(one.co_qualname, one.co_firstlineno): one for one in _codes(_compiled(path, mutant))}
    new = {key: one for key, one in new.items() if key in before and before[key] != one}
    done = False
    for thing in gc.get_objects():
        if isinstance(thing, FunctionType) and thing.__code__.co_filename == path:
            code = new.get((thing.__code__.co_qualname, thing.__code__.co_firstlineno))
            if code is not None and code.co_freevars != thing.__code__.co_freevars:
                return False
            if code is not None:
                thing.__code__ = code
                done = True
        elif type(thing) is KEEPER:
            thing.cache_clear()
    return done


def _compiled(path: str, mutant: Mutant) -> CodeType:
    return compile(mutated(Path(path).read_text(), mutant.number), path, "exec")


class Ends:
    """Ends the process at the first test that fails, and writes its name down."""

    def __init__(self, name_file: Path) -> None:
        self._name_file = name_file

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.outcome == "failed":
            self._name_file.write_text(report.nodeid)
            os._exit(_FAILED)


class InPlace:
    """Instead of running the collected tests: every mutant, each with the tests that reach it."""

    def __init__(self, root: Path, trials: Iterable[Trial], told: Callable[[Mutant | None, str], None]) -> None:
        self._root, self._trials, self._told = root, trials, told

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = {item.nodeid: item for item in session.items}
        for mutant, names, seconds in self._trials:
            chosen = [items[name] for name in names]
            self._told(mutant, apart(lambda mutant=mutant, chosen=chosen: self._one(mutant, chosen), seconds))
        return True

    def _one(self, mutant: Mutant | None, chosen: list[pytest.Item]) -> int:
        if mutant is not None and not replaced(str(self._root / mutant.path), mutant):
            return _AT_IMPORT
        for item, following in zip(chosen, [*chosen[1:], None], strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        return _OK


def at_import(path: str, mutant: Mutant, options: list[str], ends: Ends) -> int:
    """The tests with the module changed before it is imported. Not for a process that has imported it."""
    code = _compiled(path, mutant)
    usual = importlib.machinery.SourceFileLoader.get_code
    importlib.machinery.SourceFileLoader.get_code = lambda self, name: code if self.path == path else usual(self, name)
    return _OK if pytest.main(options, plugins=[ends]) == 0 else _FAILED
