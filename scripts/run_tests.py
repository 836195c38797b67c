# SPDX-License-Identifier: Apache-2.0
"""Runs every linter and test runner, all of them even when one fails, and closes with one line of counts.

A linter counts as one check; a test runner's counts come from the report it writes, never from its exit code alone:
one that fails without a failed test, or writes no report, adds one failure. Nothing is run twice.
Linters run two at a time. Beside them every test is collected once: whoever runs tests then finds their modules
compiled, which each of its workers would do again. Unit tests compute, and real tests marked `unmeasured` and those in
a browser wait most of their time: they run side by side, and unit tests give way. Tests whose assertions depend on
what else the machine does run alone and one at a time, or they would disturb each other. Where CI=true says that the
machine has neighbours nobody knows, and time, these rows run one after another, and real tests one at a time. Files
that tests leave in the checkout are named; they are a failure with CI=true alone, since elsewhere somebody may be at
work there.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
CI = os.environ.get("CI") == "true"


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


def pytest_step(name: str, scratch: Path, *arguments: str) -> Step:
    report = scratch / f"{name.replace(' ', '-')}.xml"
    return Step(
        name, [str(BIN / "pytest"), "-rs", f"--junitxml={report}", *arguments], report=report, counts=junit_counts
    )


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


def steps(scratch: Path) -> dict[str, list[list[list[Step]]]]:
    """All steps, by group: phases one after another, of rows side by side, of steps one after another."""
    lint = [
        Step("mypy", [str(BIN / "mypy")]),  # the longest first
        Step("collecting tests", [str(BIN / "pytest"), "--collect-only", "-qq", "tests"]),
        Step("ruff", [str(BIN / "ruff"), "check", "."]),
        Step("format", [str(BIN / "ruff"), "format", "--check", "."]),
        Step("import rules", [str(BIN / "lint-imports")]),
    ]
    # A module's tests share its campaigns, so they stay together. Real loads meet no more neighbours than need be:
    # each more worker made one of them fail in some runs, and unit tests last as long anyway.
    workers = min(os.cpu_count() or 1, 4)
    unit = pytest_step("unit tests", scratch, "tests/unit", *_parallel(workers))
    computing = [replace(unit, command=["nice", "-n", "10", *unit.command])]
    shared = _parallel(1 if CI else workers)
    beside = [pytest_step("real tests that share the machine", scratch, "tests/real", "-m", "unmeasured", *shared)]
    measuring = [pytest_step("real tests that measure", scratch, "tests/real", "-m", "not unmeasured")]
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
    return {"lint": [[lint[::2], lint[1::2]]], "test": [[computing, beside], [measuring]]}


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
    try:
        done = subprocess.run(
            step.command,
            cwd=step.cwd,
            env={**_environment(), **dict(step.environment)},
            stdin=subprocess.DEVNULL,
            stdout=None if at_once else subprocess.PIPE,
            stderr=None if at_once else subprocess.STDOUT,
            text=True,
            check=False,
        )
        code = done.returncode
        if not at_once:
            print(f"{head}\n{done.stdout}", end="", flush=True)
    except OSError as error:
        print(f"{step.command[0]} could not be started: {error.strerror}")
        code = 127
    if step.counts is None:
        counts = Counts(passed=1) if code == 0 else Counts(failed=1)
    else:
        try:
            counts = step.counts(step.report) if step.report is not None else Counts()
        except (OSError, ValueError, KeyError, ET.ParseError) as error:
            print(f"{step.name}: its report could not be read ({error})")
            counts = Counts(failed=1)
        if code != 0 and counts.failed == 0:
            counts += Counts(failed=1)
        elif counts == Counts():
            print(f"{step.name}: no test was executed")
            counts = Counts(failed=1)
    print(f"-- {step.name}: {'ok' if not counts.failed else 'FAILED'} ({time.monotonic() - begun:.0f} s)", flush=True)
    return counts


def untracked() -> set[str]:
    """Files of the checkout that git neither holds nor ignores; none where there is no git."""
    command = ["git", "ls-files", "--others", "--exclude-standard", "-z"]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    except OSError:
        return set()
    return set(filter(None, done.stdout.split("\0")))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=("lint", "test"), help="run one group")
    only = parser.parse_args().only
    total = Counts()
    failed: list[str] = []
    with tempfile.TemporaryDirectory(prefix="ioatlas-tests-") as scratch:
        for group, phases in steps(Path(scratch)).items():
            for rows in phases if only in (None, group) else ():
                width = 1 if group == "test" and CI else len(rows)
                before = untracked()
                with ThreadPoolExecutor(width) as pool:
                    for found in pool.map(partial(run_row, at_once=width == 1), rows):
                        for step, counts in found:
                            total += counts
                            failed += [step.name] if counts.failed else []
                if left := sorted(untracked() - before):
                    print(f"\nleft in the checkout: {', '.join(left)}")
                    total += Counts(failed=CI)
                    failed += ["nothing is left in the checkout"] if CI else []
    print(f"\nfailed: {', '.join(failed)}" if failed else "\nall is well")
    print(total)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
