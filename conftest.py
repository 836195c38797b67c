# SPDX-License-Identifier: Apache-2.0
"""What all tests share: a key and a runtime directory of their own, never those of whoever runs them."""

import atexit
import functools
import gc
import os
import resource
import shutil
import tempfile
from pathlib import Path

import pytest

_STATE = tempfile.mkdtemp(prefix="ioatlas-state-")
os.environ["XDG_STATE_HOME"] = _STATE
os.environ["XDG_RUNTIME_DIR"] = os.path.join(_STATE, "run")
os.mkdir(os.environ["XDG_RUNTIME_DIR"], 0o700)
atexit.register(shutil.rmtree, _STATE, ignore_errors=True)

# What collecting makes lives as long as the run: nothing of it is looked through again and again for garbage.
gc.disable()


_ROOT = Path(__file__).resolve().parent
_BEGUN = pytest.StashKey[float]()
"""CPU seconds when a test's set-up began; what it took is a property of its report (scripts/run_tests.py)."""


def pytest_addoption(parser):
    parser.addoption("--long", default="all", help="tests marked long: all, none, or those of these rooms and files")


def pytest_collection_modifyitems(config, items):
    """Leaves out long tests, unless they or a room that they test are asked for."""
    wanted = config.getoption("--long").split(",")
    out = [item for item in items if not _wanted(item, wanted)]
    if out:
        config.hook.pytest_deselected(items=out)
        items[:] = [item for item in items if item not in set(out)]
    for item in items:
        wanted = {name for mark in item.iter_markers("needs") for name in mark.args}
        if lacking := [name for name in sorted(wanted) if not _is_there(name)]:
            item.add_marker(pytest.mark.skip(reason=f"needs {', '.join(lacking)}"))


@functools.cache
def _is_there(name):
    return os.geteuid() == 0 if name == "root" else shutil.which(name) is not None


def _wanted(item, wanted):
    mark = item.get_closest_marker("long")
    if mark is None and "real" in item.path.parts and item.get_closest_marker("unmeasured") is None:
        raise pytest.UsageError(f"{item.nodeid}: a real test is unmeasured, or long")
    if mark is None or wanted == ["all"]:
        return True
    rooms = {path.stem for path in (_ROOT / "src" / "ioatlas").rglob("*")}
    rooms |= {path.name.removeprefix("ioatlas-") for path in (_ROOT / "packages").iterdir()}
    if not mark.args or not rooms.issuperset(mark.args):
        raise pytest.UsageError(f"{item.nodeid}: long() names the rooms of src/ioatlas and packages that it tests")
    return bool({*mark.args, item.path.stem} & {*wanted})


def pytest_collection_finish():
    gc.freeze()
    # Tests make much that lives as long as they do: it is not looked through after each 700 objects.
    gc.set_threshold(100_000, 20, 50)
    gc.enable()


def _cpu_seconds():
    """Of this process and of those it has waited for: servers that a test leaves to others are not in it."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item):
    item.stash[_BEGUN] = _cpu_seconds()
    return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item):
    try:
        return (yield)
    finally:
        item.user_properties.append(("cpu_seconds", f"{_cpu_seconds() - item.stash[_BEGUN]:.3f}"))
