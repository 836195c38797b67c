# SPDX-License-Identifier: Apache-2.0
"""Runs every linter and test runner, all of them even when one fails, and closes with one line of counts.

A linter counts as one check; a test runner's counts come from the report it writes, never from its exit code alone:
one that fails without a failed test, or writes no report, adds one failure. Nothing is run twice.
Linters run two at a time. In CI, where nothing is compiled yet, every test is collected beside them: each worker of
those who run tests would compile all modules again. Unit tests compute, and real tests marked `unmeasured` and those in
a browser wait most of their time: they run side by side, and unit tests give way. Tests whose assertions depend on
what else the machine does run alone and one at a time, or they would disturb each other.
Files of unit tests lie in memory where that can be: they are thousands, each soon removed.
Tests marked `long` are run by `--all`, and with CI=true where what they test has changed since the last landed state.
Files that tests leave in the checkout are named; they are a failure with CI=true alone, since elsewhere somebody may be
at work there.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numeric_tests

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
CI = os.environ.get("CI") == "true"
NO_TESTS = 5
"""Pytest's exit status where no test was selected."""
MEMORY = Path("/dev/shm")
ROOM_BYTES = 4 << 30
PROGRESS_SECONDS = 60
REST_SECONDS = 2 * 3600
"""No commit for so long: what stood then is taken for landed, where nothing tells it better."""


@dataclass(frozen=True)
class Counts:
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped)

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


@dataclass(frozen=True)
class Step:
    """One command. `counts` reads the report it left; None for a command that is a single check."""

    name: str
    command: list[str]
    cwd: Path = ROOT
    report: Path | None = None
    counts: Callable[[Path], Counts] | None = None
    environment: tuple[tuple[str, str], ...] = ()
    may_be_empty: bool = False
    """Whether it may find nothing to run."""


def junit_counts(report: Path) -> Counts:
    """Counts of a JUnit XML file as pytest and node's test runner write it."""
    failed = skipped = total = 0
    for case in ET.parse(report).getroot().iter("testcase"):
        total += 1
        failed += case.find("failure") is not None or case.find("error") is not None
        skipped += case.find("skipped") is not None
    return Counts(total - failed - skipped, failed, skipped)


def vitest_counts(report: Path) -> Counts:
    data = json.loads(report.read_text())
    broken_files = sum(
        1 for suite in data["testResults"] if suite["status"] == "failed" and not suite["assertionResults"]
    )
    return Counts(
        data["numPassedTests"],
        data["numFailedTests"] + broken_files,
        data["numPendingTests"] + data.get("numTodoTests", 0),
    )


def playwright_counts(report: Path) -> Counts:
    stats = json.loads(report.read_text())["stats"]
    return Counts(stats["expected"] + stats["flaky"], stats["unexpected"], stats["skipped"])


def pytest_step(name: str, scratch: Path, *arguments: str, python: str = sys.executable) -> Step:
    report = scratch / f"{name.replace(' ', '-')}.xml"
    command = [python, "-m", "pytest", "-rs", f"--junitxml={report}", *arguments]
    return Step(name, command, report=report, counts=junit_counts)


def npm_test_step(name: str, script: str, text: str, scratch: Path) -> Step:
    """`npm run SCRIPT`, asking the runner that its text names for a report."""
    command = ["npm", "run", "--silent", script]
    web = ROOT / "web"
    report = scratch / f"{script.replace(':', '-')}.report"
    if "vitest" in text:
        arguments = ["--", "--reporter=default", "--reporter=json", f"--outputFile.json={report}"]
        return Step(name, [*command, *arguments], web, report, vitest_counts)
    if "playwright" in text:
        environment = (("PLAYWRIGHT_JSON_OUTPUT_NAME", str(report)),)
        return Step(name, [*command, "--", "--reporter=list,json"], web, report, playwright_counts, environment)
    if "node --test" in text or "--test " in text:
        destination = [
            f"--test-reporter-destination={report}",
            "--test-reporter=spec",
            "--test-reporter-destination=stdout",
        ]
        return Step(name, [*command, "--", "--test-reporter=junit", *destination], web, report, junit_counts)
    return Step(name, command, web)


def steps(scratch: Path, long: str) -> dict[str, list[list[list[Step]]]]:
    """All steps, by group: phases one after another, of rows side by side, of steps one after another.

    long: what conftest.py takes as `--long`.
    """
    lint = [  # the longest first; every second one runs beside the others
        Step("mypy", [str(BIN / "mypy")]),
        *([Step("collecting tests", [str(BIN / "pytest"), "--collect-only", "-qq"])] if CI else []),
        Step("documentation", [sys.executable, "scripts/check_docs.py"]),
        Step("ruff", [str(BIN / "ruff"), "check", "."]),
        Step("pages made from the code", [sys.executable, "scripts/reference.py", "--check"]),
        Step("format", [str(BIN / "ruff"), "format", "--check", "."]),
        Step("size", [sys.executable, "scripts/size.py", "--check"]),
        Step("import rules", [str(BIN / "lint-imports")]),
    ]
    # A module's tests share its campaigns, so they stay together. Real tests wait for their loads most of the time.
    # One worker more than processors: each waits now and then, for a disk or for a process that it started.
    unit = pytest_step(
        "unit tests",
        scratch,
        *_tests("unit"),
        f"--long={long}",
        f"--basetemp={scratch / 'unit'}",
        *_parallel(min((os.cpu_count() or 1) + 1, 4)),
    )
    computing = [_giving_way(unit)]
    real = (*_tests("real"), f"--long={long}", "-m")
    beside = [pytest_step("real tests that share the machine", scratch, *real, "unmeasured", *_parallel(4))]
    measuring = replace(pytest_step("real tests that measure", scratch, *real, "not unmeasured"), may_be_empty=True)
    package = ROOT / "web" / "package.json"
    if package.exists():
        scripts: dict[str, str] = json.loads(package.read_text()).get("scripts", {})
        lint += [
            Step(f"web {name}", ["npm", "run", "--silent", name], ROOT / "web")
            for name in ("lint", "typecheck")
            if name in scripts
        ]
        beside += [
            npm_test_step(f"web {name}", name, scripts[name], scratch)
            for name in ("test", "test:browser")
            if name in scripts
        ]
    alone = [] if long == "none" else [[[measuring]]]  # they are all long
    return {"lint": [[lint[::2], lint[1::2]]], "test": [[computing, beside], *alone]}


def numeric_steps(scratch: Path) -> list[Step]:
    """The numeric tests as other processors and other versions of Python compute them: in CI and with --all."""
    found = []
    for variant in numeric_tests.variants():
        if variant.set_up:
            found.append(Step(f"packages for {variant.name}", list(variant.set_up)))
        arguments = [*numeric_tests.tests(), *_parallel(min(os.cpu_count() or 1, 4))]
        step = pytest_step(f"numeric tests on {variant.name}", scratch, *arguments, python=variant.python)
        found.append(replace(_giving_way(step), environment=variant.environment))
    return found


def _tests(kind: str) -> list[str]:
    """The folders of unit or of real tests, the core's and those of packages/."""
    return ["tests/" + kind, *sorted(str(path.relative_to(ROOT)) for path in ROOT.glob(f"packages/*/tests/{kind}"))]


def _giving_way(step: Step) -> Step:
    return replace(step, command=["nice", "-n", "10", *step.command])


def _parallel(workers: int) -> list[str]:
    return ["-n", str(workers), "--dist", "loadscope"]


def _environment() -> dict[str, str]:
    """That of this process, but compiled modules are kept: the tests start Python some thousand times."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def run_row(row: list[Step], *, at_once: bool) -> list[tuple[Step, Counts]]:
    return [(step, run(step, at_once=at_once)) for step in row]


def run(step: Step, *, at_once: bool = True) -> Counts:
    """Run one step. at_once: print what it says as it comes; False for steps that run beside each other."""
    head = f"\n== {step.name}"
    print(head if at_once else f"{head}: begun", flush=True)
    begun = time.monotonic()
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as said:
        out = {} if at_once else {"stdout": said, "stderr": subprocess.STDOUT}
        ended = threading.Event()
        watcher = threading.Thread(target=_tell_progress, args=(step.name, said.fileno(), ended))
        watcher.start()
        try:
            code, cpu_seconds = _waited(step, out)
        finally:
            ended.set()
            watcher.join()
        said.seek(0)
        if not at_once:
            print(f"{head}\n{said.read()}", end="", flush=True)
    if step.counts is None:
        counts = Counts(passed=1) if code == 0 else Counts(failed=1)
    else:
        try:
            counts = step.counts(step.report) if step.report is not None else Counts()
        except (OSError, ValueError, KeyError, ET.ParseError) as error:
            print(f"{step.name}: its report could not be read ({error})")
            counts = Counts(failed=1)
        if step.may_be_empty and code == NO_TESTS:
            print(f"{step.name}: none is asked for")
        elif code != 0 and counts.failed == 0:
            counts += Counts(failed=1)
        elif counts == Counts():
            print(f"{step.name}: no test was executed")
            counts = Counts(failed=1)
    took = f"{time.monotonic() - begun:.0f} s, {cpu_seconds:.0f} CPU s"
    print(f"-- {step.name}: {'ok' if not counts.failed else 'FAILED'} ({took})", flush=True)
    return counts


def _tell_progress(name: str, said: int, ended: threading.Event) -> None:
    """The last line of a step's output, again and again: silence for minutes looks like a hang.

    said: descriptor of its output, of which nothing comes where the step prints by itself.
    """
    while not ended.wait(PROGRESS_SECONDS):
        lines = os.pread(said, 1000, max(0, os.fstat(said).st_size - 1000)).decode(errors="replace").split("\n")
        if last := next((line.strip() for line in reversed(lines) if line.strip()), ""):
            print(f"   {name}: {last[-80:]}", flush=True)


def _waited(step: Step, out: dict[str, Any]) -> tuple[int, float]:
    """(what a step ended with, CPU seconds of it and of the processes it waited for)."""
    environment = {**_environment(), **dict(step.environment)}
    try:
        process = subprocess.Popen(step.command, cwd=step.cwd, env=environment, stdin=subprocess.DEVNULL, **out)
    except OSError as error:
        print(f"{step.command[0]} could not be started: {error.strerror}")
        return 127, 0.0
    _pid, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, used.ru_utime + used.ru_stime


def most_cpu(scratch: Path, count: int = 10) -> list[str]:
    """The tests that took most CPU seconds, one a line, and what all tests took: growth is to be seen."""
    took: list[tuple[float, str]] = []
    for report in scratch.glob("*.xml"):
        for case in ET.parse(report).getroot().iter("testcase"):
            for one in case.iterfind("properties/property[@name='cpu_seconds']"):
                took.append((float(one.attrib["value"]), f"{case.get('classname')}::{case.get('name')}"))
    took.sort(reverse=True)
    total = sum(seconds for seconds, _name in took)
    return [f"most CPU seconds, of {total:.0f}:", *(f"{seconds:7.1f}  {name}" for seconds, name in took[:count])]


def which_long(*, every: bool) -> tuple[str, str]:
    """(`--long` of conftest.py, why): all with --all; none without CI; in CI those of what has changed."""
    if every:
        return "all", "all are run"
    if not CI:
        return "none", "left to `make test-all`"
    base, name = landed()
    if not base:
        return "none", f"{name}: left to `make test-all`"
    paths = [Path(line) for line in _git("diff", "--name-only", base, "HEAD").splitlines()]
    if any(path == Path("src/ioatlas/__init__.py") for path in paths):
        return "all", f"the version has changed since {name}: all are run"
    changed = {Path(room).stem for path in paths if path.parts[:2] == ("src", "ioatlas") for room in path.parts[2:]}
    changed |= {path.parts[1].removeprefix("ioatlas-") for path in paths if path.parts[0] == "packages"}
    changed |= {path.stem for path in paths if path.parts[-3:-1] == ("tests", "real")}
    return ",".join(sorted(changed)) or "none", f"those of what has changed since {name} are run"


def landed() -> tuple[str, str]:
    """(the last landed commit that this clone knows, what it is): ("", why) where none is known but this one.

    Where a branch left that of the origin, else the newest tag, else the last commit before a rest of hours.
    """
    head = _git("rev-parse", "HEAD")
    for upstream in ("origin/HEAD", "origin/main"):
        base = _git("merge-base", "HEAD", upstream)
        if base and base != head:
            return base, f"{base[:9]}, where this branch left {upstream}"
    if tag := _git("describe", "--tags", "--abbrev=0", "HEAD^"):
        return tag, tag
    log = [line.split() for line in _git("log", "--first-parent", "--format=%H %ct", "HEAD").splitlines()]
    for (_, later), (base, before) in pairwise(log):
        if int(later) - int(before) >= REST_SECONDS:
            return base, f"{base[:9]}, after which no commit was made for hours"
    return "", "no earlier landed state is known here"


def _git(*arguments: str) -> str:
    """What git prints; nothing where it fails or there is no git."""
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
        )
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def scratch_place() -> Path | None:
    """Memory, where it has room and takes direct I/O as disks do (Linux 6.6 and newer); None for the usual place."""
    try:
        with tempfile.NamedTemporaryFile(dir=MEMORY) as file:
            os.close(os.open(file.name, os.O_RDWR | os.O_DIRECT))
        return MEMORY if shutil.disk_usage(MEMORY).free >= ROOM_BYTES else None
    except OSError:
        return None


def untracked() -> set[str]:
    """Files of the checkout that git neither holds nor ignores; none where there is no git."""
    return set(filter(None, _git("ls-files", "--others", "--exclude-standard", "-z").split("\0")))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=("lint", "test", "numeric"), help="run one group")
    parser.add_argument("--all", action="store_true", help="run long tests too")
    options = parser.parse_args()
    long, why = which_long(every=options.all)
    print(f"long tests: {why}", flush=True)
    total = Counts()
    failed: list[str] = []
    with tempfile.TemporaryDirectory(prefix="ioatlas-tests-", dir=scratch_place()) as scratch:
        groups = steps(Path(scratch), long)
        if options.only == "numeric":
            groups = {"numeric": [[numeric_steps(Path(scratch))]]}
        elif options.only != "lint" and (CI or options.all):
            computing, *_ = groups["test"][0]
            computing += numeric_steps(Path(scratch))
        for group, phases in groups.items():
            for rows in phases if options.only in (None, group) else ():
                before = untracked()
                with ThreadPoolExecutor(len(rows)) as pool:
                    for found in pool.map(partial(run_row, at_once=len(rows) == 1), rows):
                        for step, counts in found:
                            total += counts
                            failed += [step.name] if counts.failed else []
                if left := sorted(untracked() - before):
                    print(f"\nleft in the checkout: {', '.join(left)}")
                    total += Counts(failed=CI)
                    failed += ["nothing is left in the checkout"] if CI else []
        print("", *most_cpu(Path(scratch)), sep="\n")
    print(f"\nfailed: {', '.join(failed)}" if failed else "\nall is well")
    print(total)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
