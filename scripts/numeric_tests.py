# SPDX-License-Identifier: Apache-2.0
"""Where the numeric tests run besides: other kernels of OpenBLAS, numpy without its SIMD, other versions of Python.

Results must not hang on the processor: each kernel adds in another order, and what only rounding decides differs.
What a machine cannot run is said with its reason, never passed in silence.
"""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src"
ROOMS = ("stats", "law", "analysis")
"""That compute; of those which have tests of their own the files are run that reach numpy or scipy."""


@cache
def _imported(path: Path) -> list[str]:
    """Modules that a file imports, those inside its functions too."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    named = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    return named + [node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module]


def _computes(test: Path) -> bool:
    """Whether a test file, or what of ours it imports, uses numpy or scipy: nothing else hangs on the kernel."""
    seen: set[Path] = set()
    waiting = [test]
    while waiting:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        for module in _imported(path):
            if module.split(".")[0] in ("numpy", "scipy"):
                return True
            own = [base / module.replace(".", "/") for base in (SOURCE, ROOT)]
            waiting += [
                one for place in own for one in (place.with_suffix(".py"), place / "__init__.py") if one.is_file()
            ]
    return False


def tests() -> list[str]:
    """The files that are run."""
    paths = (path for room in ROOMS for path in sorted((ROOT / "tests" / "unit" / room).glob("test_*.py")))
    return [str(path.relative_to(ROOT)) for path in paths if _computes(path)]


KERNELS = {
    "Prescott": ("Prescott", "Katmai"),
    "Sandybridge": ("Sandybridge",),
    "Haswell": ("Haswell",),
    "SkylakeX": ("SkylakeX",),
}
"""By the name that OPENBLAS_CORETYPE takes: what OpenBLAS then calls itself."""
OLDEST = "Prescott"
"""The kernel that runs without numpy's SIMD."""
OLDEST_PYTHON, NEWEST_PYTHON = 11, 20
"""Minor versions looked for."""
_KERNEL = """
import numpy, threadpoolctl
a = numpy.ones((99, 99))
a @ a, a[0] @ a, a[0] @ a[0], numpy.linalg.solve(a + numpy.eye(99), a[0])
print(threadpoolctl.threadpool_info()[0].get("architecture", "no OpenBLAS"))
"""
"""Computes too: OpenBLAS takes a name for the asking, and dies of an instruction that the processor has not."""
_SIMD = (
    "from numpy._core import _multiarray_umath as m; "
    "print(*(name for name in m.__cpu_dispatch__ if m.__cpu_features__[name]))"
)


@dataclass(frozen=True)
class Variant:
    """One more run of the tests. set_up: the command that makes `python`, () where it is there."""

    name: str
    environment: tuple[tuple[str, str], ...]
    python: str = sys.executable
    set_up: tuple[str, ...] = ()


def variants() -> list[Variant]:
    """All that this machine can run; what it cannot is printed."""
    oldest, newest = OLDEST_PYTHON, NEWEST_PYTHON
    own = sys.version_info.minor
    found = [_kernel(name) for name in KERNELS]
    if own > oldest:
        found.append(_python(f"Python 3.{oldest}", [oldest]))
    found.append(_python(f"a Python after 3.{own}", range(newest, own, -1)))
    return [each for each in found if each]


def _kernel(name: str) -> Variant | None:
    environment = {"OPENBLAS_CORETYPE": name}
    runs = _says([sys.executable, "-c", _KERNEL], environment)
    if runs not in KERNELS[name]:
        why = f"OpenBLAS runs {runs} in its place" if runs else "this processor lacks its instructions"
        print(f"numeric tests on {name}: skipped, {why}")
        return None
    if name == OLDEST:
        environment["NPY_DISABLE_CPU_FEATURES"] = _says([sys.executable, "-c", _SIMD], {})
    return Variant(name, tuple(environment.items()))


def _python(name: str, minors: Iterable[int]) -> Variant | None:
    """The first of these versions that the machine has."""
    minor = next(filter(_starts, minors), None)
    if minor is None:
        print(f"numeric tests on {name}: skipped, this machine has none")
        return None
    place = ROOT / ".venv" / f"python3.{minor}"
    set_up = ("make", f"{place.relative_to(ROOT)}/.test")
    return Variant(f"Python 3.{minor}", (("PYTHONPATH", str(ROOT / "src")),), f"{place}/bin/python", set_up)


def _starts(minor: int) -> bool:
    """Of pyenv's names only the chosen version starts, so it is chosen."""
    name = f"python3.{minor}"
    return shutil.which(name) is not None and bool(_says([name, "-c", "print(1)"], {"PYENV_VERSION": f"3.{minor}"}))


def _says(command: list[str], environment: dict[str, str]) -> str:
    """What a command prints; '' where it fails."""
    done = subprocess.run(
        command,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    return done.stdout.strip() if done.returncode == 0 else ""
