# SPDX-License-Identifier: Apache-2.0
"""Mutants of the code that numbers, verdicts, guards and the journal come from: which do the unit tests notice?

Of every module a random sample of the changes in `mutations.py` is tried, each against the unit tests that reach its
line when nothing is changed. Each is tried in a process forked from one with everything imported and collected; the
changed function takes the place of the old one there. Code that runs at import is changed before the import.

Run: nice -n 19 .venv/bin/python bench/mutants/run.py record DIR [TESTS ...]     once, and for tests written since
     nice -n 19 .venv/bin/python bench/mutants/run.py try DIR [ROOM ...]          4: SECONDS are over, call it again
     nice -n 19 .venv/bin/python bench/mutants/run.py try DIR --again [ROOM ...]  those that survived
     nice -n 19 .venv/bin/python bench/mutants/run.py control DIR                 the same tests with nothing changed
     .venv/bin/python bench/mutants/run.py survivors DIR
     .venv/bin/python bench/mutants/run.py report DIR
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import json
import math
import os
import random
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ[variable] = "1"
ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

import pytest  # noqa: E402
from apart import AT_IMPORT, KILLED, SURVIVED, TIME_LIMIT, Ends, InPlace, Trial, apart, at_import  # noqa: E402
from hypothesis import Phase, settings  # noqa: E402
from mutations import Mutant, mutants  # noqa: E402

SEED = 13
PARSER = ("output", "records", "series", "collect", "figures", "loose_json", "io_log", "replay")
ROOMS = {"stats": 60, "fio's parser": 60, "measure/run": 25, "measure/procedures": 25}
"""Mutants of each module, at most."""
TESTS = tuple(
    f"tests/unit/{name}"
    for name in ("stats", "fio", "run", "procedures", "simulate", "results", "analysis", "store", "streams", "cli")
)
START_SECONDS, TIMES = 60.0, 10.0
"""A mutant's tests may take so many times what they took once, and so long to start; then it counts as killed.
`--again` asks those too: on a busy machine the time may end for nothing.
"""
MOST_SECONDS = 6.0
"""Of the tests that reach a line those that took this long together are asked, the quickest first."""
UNREACHED = "not reached"
Told = Callable[[Mutant | None, str], None]


def modules(room: str) -> list[Path]:
    source = ROOT / "src" / "ioatlas"
    if room == "fio's parser":
        return [source / "load" / "fio" / f"{name}.py" for name in PARSER]
    return sorted(path for path in (source / room).rglob("*.py") if path.name != "__init__.py")


def everything(share: float | None) -> Iterator[tuple[str, int, list[Mutant]]]:
    """(room, how many mutants the module has, those of the sample in their order) of each module.

    share: of the usual sample; None for all mutants.
    """
    for room, most in ROOMS.items():
        for path in modules(room):
            found = mutants(path, str(path.relative_to(ROOT)))
            drawn = random.Random(f"{SEED} {path.relative_to(ROOT)}").sample(found, len(found))
            yield room, len(found), drawn if share is None else drawn[: math.ceil(share * most)]


class Passed:
    """Seconds of every test that passed."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = defaultdict(float)
        self.bad: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._seconds[report.nodeid] += report.duration
        if report.outcome != "passed":
            self.bad.add(report.nodeid)

    @property
    def seconds(self) -> dict[str, float]:
        return {name: round(seconds, 3) for name, seconds in self._seconds.items() if name not in self.bad}


def record(directory: Path, tests: list[str]) -> int:
    """Run the tests once, and keep which lines each reaches."""
    directory.mkdir(parents=True, exist_ok=True)
    known = directory / "durations.json"
    os.environ["COVERAGE_FILE"] = str(directory / "coverage.sqlite")
    measured = [f"--cov=src/ioatlas/{room}" for room in ("stats", "run", "procedures", "fio")]
    options = ["--cov-context=test", "--cov-report=", "-p", "no:cacheprovider", "-p", "no:xdist"]
    passed = Passed()
    pytest.main([*(tests or TESTS), *measured, *options, *(["--cov-append"] if tests else [])], plugins=[passed])
    before = json.loads(known.read_text()) if tests and known.exists() else {}
    before = {name: seconds for name, seconds in before.items() if name not in passed.bad}
    known.write_text(json.dumps({**before, **passed.seconds}, indent=0))
    print(f"{len(passed.seconds)} tests in {sum(passed.seconds.values()):.0f} s; not used: {sorted(passed.bad)}")
    return 0


class Reach:
    """The tests that reach a line, the quickest first."""

    def __init__(self, directory: Path) -> None:
        from coverage import CoverageData

        self.seconds: dict[str, float] = json.loads((directory / "durations.json").read_text())
        self._data = CoverageData(str(directory / "coverage.sqlite"))
        self._data.read()
        self._lines: dict[str, dict[int, list[str]]] = {}

    def tests(self, mutant: Mutant, most_seconds: float) -> list[str]:
        if mutant.path not in self._lines:
            self._lines[mutant.path] = self._data.contexts_by_lineno(str(ROOT / mutant.path))
        lines = self._lines[mutant.path]
        wanted = lines if mutant.outside else range(mutant.line, mutant.last_line + 1)
        names = {context.rpartition("|")[0] for line in wanted for context in lines.get(line, ())}
        found, spent = [], 0.0
        for name in sorted(names & self.seconds.keys(), key=lambda one: (self.seconds[one], one)):
            spent += self.seconds[name]
            if found and spent > most_seconds:
                break
            found.append(name)
        return found


class Tried:
    """What was found out, a line for each mutant; the last one counts."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / "tried.jsonl"

    def all(self) -> dict[tuple[str, int, str], dict]:
        lines = self._path.read_text().splitlines() if self._path.exists() else []
        return {(one["path"], one["number"], one["after"]): one for one in map(json.loads, lines)}

    def add(self, mutant: Mutant, end: str, tests: list[str], by: str) -> None:
        row = dataclasses.asdict(mutant) | {"end": end, "tests": len(tests), "by": by}
        with self._path.open("a") as file:
            print(json.dumps(row), file=file)


def key(mutant: Mutant) -> tuple[str, int, str]:
    return mutant.path, mutant.number, mutant.after


def chosen(asked: argparse.Namespace, tried: dict[tuple[str, int, str], dict]) -> list[Mutant]:
    """What is tried now: the first of every module, then the second of each, and so on."""
    found = []
    for room, _, sample in everything(asked.share):
        if not asked.names or room in asked.names:
            for rank, mutant in enumerate(sample):
                known = tried.get(key(mutant))
                again = known is not None and known["end"] in (SURVIVED, UNREACHED, TIME_LIMIT)
                if asked.module in mutant.path and (again if asked.again else known is None):
                    found.append((rank, mutant))
    return [mutant for _, mutant in sorted(found, key=lambda one: one[0])]


def options_in(directory: Path) -> list[str]:
    """Of pytest; the libraries that every fork shall have from the start are imported too."""
    settings.register_profile(
        "mutants", deadline=None, derandomize=True, database=None, phases=(Phase.explicit, Phase.generate)
    )
    for name in ("numpy", "scipy.optimize", "scipy.stats"):
        importlib.import_module(name)
    none = [word for name in ("cacheprovider", "xdist", "cov") for word in ("-p", f"no:{name}")]
    return [*none, "--hypothesis-profile=mutants", f"--basetemp={directory}/base"]


def in_place(options: list[str], files: set[str], trials: Iterable[Trial], told: Told, ends: Ends) -> None:
    """Make the trials in a process that collects their tests once; this one stays without the program."""
    pid = os.fork()
    if not pid:
        os._exit(pytest.main([*options, *sorted(files)], plugins=[InPlace(ROOT, trials, told), ends]))
    os.waitpid(pid, 0)


def try_them(directory: Path, asked: argparse.Namespace) -> int:
    options, end = options_in(directory), time.monotonic() + asked.seconds
    reach, tried = Reach(directory), Tried(directory)
    tests = {mutant: reach.tests(mutant, asked.most_seconds) for mutant in chosen(asked, tried.all())}
    limits = {one: START_SECONDS + TIMES * sum(reach.seconds[name] for name in tests[one]) for one in tests}
    late, by = directory / "late", directory / "by"
    late.write_text("")
    by.write_text("")
    ends = Ends(by)

    def told(mutant: Mutant, ended: str) -> None:
        if ended == AT_IMPORT:
            with late.open("a") as file:
                print(f"{mutant.path} {mutant.number}", file=file)
        else:
            tried.add(mutant, ended, tests[mutant], by.read_text() if ended == KILLED else "")
        by.write_text("")

    def trials() -> Iterator[Trial]:
        for mutant, names in tests.items():
            if names and not mutant.outside and time.monotonic() < end:
                yield mutant, names, limits[mutant]

    def imported(mutant: Mutant) -> None:
        path, names = str(ROOT / mutant.path), tests[mutant]
        told(mutant, apart(lambda: at_import(path, mutant, [*options, "-x", *names], ends), limits[mutant]))

    for mutant, names in tests.items():
        if not names:
            told(mutant, UNREACHED)
    files = {name.partition("::")[0] for names in tests.values() for name in names}
    in_place(options, files, trials(), told, ends)
    asked_late = set(late.read_text().splitlines())
    for mutant, names in tests.items():
        wanted = mutant.outside or f"{mutant.path} {mutant.number}" in asked_late
        if names and wanted and time.monotonic() < end:
            imported(mutant)
    left = 0 if asked.again else len({key(mutant) for mutant in tests} - tried.all().keys())
    print(f"{len(tests)} to try, {left} left")
    return 4 if left else 0


def control(directory: Path) -> int:
    """Ask every test that a mutant failed, in a process of its own as well, with nothing changed."""
    options, reach = options_in(directory), Reach(directory)
    names = sorted({one["by"] for one in Tried(directory).all().values() if one["by"] in reach.seconds})
    by, bad = directory / "by", directory / "bad"
    by.write_text("")
    bad.write_text("")

    def told(_mutant: None, ended: str) -> None:
        if ended != SURVIVED:
            with bad.open("a") as file:
                print(ended, by.read_text(), file=file)
            by.write_text("")

    groups = [names[place : place + 25] for place in range(0, len(names), 25)]
    trials = [(None, group, START_SECONDS + TIMES * sum(reach.seconds[name] for name in group)) for group in groups]
    in_place(options, {name.partition("::")[0] for name in names}, trials, told, Ends(by))
    print(f"{len(names)} tests asked with nothing changed; failed: {bad.read_text() or 'none'}")
    return 0


def wilson(share: float, count: float) -> tuple[float, float]:
    z = 1.96
    middle = (share + z * z / (2 * count)) / (1 + z * z / count)
    half = z / (1 + z * z / count) * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    return middle - half, middle + half


def share_of(strata: list[tuple[float, int, int]]) -> tuple[float, float, float]:
    """Killed share of all mutants that tests reach, with its 95% interval, from (mutants, tried, killed) by module.

    Modules are weighted by the mutants they have; the interval is Wilson's at the effective size of the sample.
    """
    strata = [one for one in strata if one[1]]
    total = sum(size for size, _, _ in strata)
    share = sum(size / total * killed / tried for size, tried, killed in strata)
    spread = 0.0
    for size, tried, killed in strata:
        p = (killed + 1) / (tried + 2)
        spread += (size / total) ** 2 * p * (1 - p) / tried * max(0.0, 1 - tried / size)
    every = sum(tried for _, tried, _ in strata)
    effective = share * (1 - share) / spread if spread and 0 < share < 1 else every
    return share, *wilson(share, effective)


def report(directory: Path) -> int:
    tried = Tried(directory).all()
    print("| room | modules | mutants | tried | killed | survived | not reached | killed of those reached |")
    print("|---|---|---|---|---|---|---|---|")
    kinds: dict[str, Counter[str]] = defaultdict(Counter)
    for room in ROOMS:
        strata, counts, size = [], Counter(), 0
        for of_room, many, sample in everything(None):
            if of_room != room:
                continue
            found = [tried[key(one)] for one in sample if key(one) in tried]
            ends = Counter(KILLED if one["end"] == TIME_LIMIT else one["end"] for one in found)
            kinds[room] += Counter(one["kind"] for one in found if one["end"] == SURVIVED)
            reached = ends[KILLED] + ends[SURVIVED]
            strata.append((many * reached / max(1, ends.total()), reached, ends[KILLED]))
            counts, size = counts + ends, size + many
        if counts.total():
            share, low, high = share_of(strata)
            print(
                f"| {room} | {len(strata)} | {size} | {counts.total()} | {counts[KILLED]} | {counts[SURVIVED]} |"
                f" {counts[UNREACHED]} | {share:.0%} ({low:.0%} to {high:.0%}) |"
            )
    names = sorted({kind for counter in kinds.values() for kind in counter})
    print(f"\n| survivors | {' | '.join(names)} |\n|---|{'---|' * len(names)}")
    for room, counter in kinds.items():
        print(f"| {room} | {' | '.join(str(counter[name]) for name in names)} |")
    return 0


def survivors(directory: Path) -> int:
    for one in Tried(directory).all().values():
        if one["end"] == SURVIVED:
            print(f"{one['path'][12:]}:{one['line']} [{one['kind']}, {one['tests']}] {one['before']} -> {one['after']}")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("record", "try", "control", "survivors", "report"))
    parser.add_argument("directory", type=Path)
    parser.add_argument("names", nargs="*", help="tests to record, or rooms: " + ", ".join(ROOMS))
    parser.add_argument("--seconds", type=float, default=500.0)
    parser.add_argument("--share", type=float, default=1.0, help="of the sample of each module")
    parser.add_argument("--most-seconds", type=float, default=MOST_SECONDS, help="of the tests for one mutant")
    parser.add_argument("--module", default="", help="part of a module's path")
    parser.add_argument("--again", action="store_true", help="those that no test noticed")
    asked = parser.parse_args()
    directory = asked.directory.resolve()
    os.chdir(ROOT)
    if asked.what == "record":
        return record(directory, asked.names)
    if asked.what == "try":
        return try_them(directory, asked)
    return {"control": control, "survivors": survivors, "report": report}[asked.what](directory)


if __name__ == "__main__":
    sys.exit(main())
