# SPDX-License-Identifier: Apache-2.0
"""The check of examples/ci: two volumes measured in turns, and `compare --by target --fail-if-worse`.

How often it fails when nothing changed, and how often when the second is slower: on simulated visits, and with `real`
on two NBD servers beside programs that come and go.

Run: nice -n 15 .venv/bin/python bench/compare/turns.py [TRIALS] > bench/compare/RESULT-turns.md
     nice -n 5 .venv/bin/python bench/compare/turns.py real RUNS >> bench/compare/RESULT-turns.md
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from scipy.stats import beta

from ioatlas.answer.analysis.compare import Reading, compare
from ioatlas.answer.results.comparison import GATE_LEVEL, compare_sides

ROOT = Path(__file__).parents[2]
SEED = 30
CELLS, VISITS = 4, 40
TOLERANCES = (0.0, 0.005, 0.02)
SLOWER = (0.02, 0.03, 0.05)
NOISES = (
    # of a visit; share of wild visits, which keep 50 to 95%; drift of both, and of either alone, over 40 visits
    ("1%", 0.01, 0.0, 0.0, 0.0),
    ("2%", 0.02, 0.0, 0.0, 0.0),
    ("3%", 0.03, 0.0, 0.0, 0.0),
    ("3%, one in 10 visits loses 5 to 50%", 0.03, 0.1, 0.0, 0.0),
    ("3%, both drift by 10%", 0.03, 0.0, 0.1, 0.0),
    ("3%, each drifts by 1% of its own", 0.03, 0.0, 0.0, 0.01),
    ("10%, one in 10 visits loses 5 to 50%, both drift by 10%", 0.1, 0.1, 0.1, 0.0),
)


def drift(rng: np.random.Generator, n: int, sd: float) -> np.ndarray:
    r = np.exp(-1 / 40)
    steps = sd * np.sqrt(1 - r * r) * rng.normal(size=n)
    level = np.empty(n)
    level[0] = sd * rng.normal()
    for at in range(1, n):
        level[at] = r * level[at - 1] + steps[at]
    return level


def campaign(rng: np.random.Generator, noise: tuple[str, float, float, float, float]) -> list[list[Reading]]:
    """Visits of both sides: each round has every cell of either once, in random order."""
    _, sd, wild, both, alone = noise
    n = 2 * CELLS * VISITS
    levels = rng.normal(size=CELLS)
    shared, own = drift(rng, n, both), [drift(rng, n, alone), drift(rng, n, alone)]
    sides: list[list[Reading]] = [[], []]
    at = 0
    for _ in range(VISITS):
        for place in rng.permutation(2 * CELLS):
            side, cell = divmod(int(place), CELLS)
            value = levels[cell] + sd * rng.normal() + shared[at] + own[side][at]
            if rng.random() < wild:
                value += np.log(rng.uniform(0.5, 0.95))
            sides[side].append(Reading(str(cell), float(np.exp(value)), float(at)))
            at += 1
    return sides


def fails(first: list[Reading], second: list[Reading], tolerance: float) -> bool:
    """As `compare --fail-if-worse` judges one pair (SidesComparison.fails)."""
    found = compare(first, second, tolerance=tolerance, in_turns=True)
    tested = [cell for cell in found.cells if cell.p is not None]
    cuts = [(cell, GATE_LEVEL / len(tested)) for cell in tested]
    whole = [(found.whole, GATE_LEVEL)] if found.whole is not None else []
    return any(one.outcome == "lower" and one.p is not None and one.p <= cut for one, cut in [*whole, *cuts])


def row(noise: tuple[str, float, float, float, float], trials: int) -> str:
    rng = np.random.default_rng([SEED, NOISES.index(noise)])
    alarms = 0
    found = dict.fromkeys(SLOWER, 0)
    for trial in range(trials):
        first, second = campaign(rng, noise)
        alarms += fails(first, second, 0.0)
        if trial < trials // 10:
            for share in SLOWER:
                slow = [Reading(one.cell, one.value * (1 - share), one.time) for one in second]
                found[share] += fails(first, slow, 0.0)
    most = float(beta.ppf(0.95, alarms + 1, trials - alarms))
    shares = " | ".join(f"{count / max(1, trials // 10):.0%}" for count in found.values())
    return f"| {noise[0]} | {alarms} of {trials:,} | {most:.2%} | {shares} |"


def simulated(trials: int) -> None:
    print("# Two volumes measured in turns: false alarms and power of the check in CI\n\n## Simulated\n")
    print(f"`nice -n 15 .venv/bin/python bench/compare/turns.py {trials}`; seed {SEED}.\n")
    print(
        f"{CELLS} loads, {VISITS} visits of each on either side, in random order within rounds, as "
        "examples/ci/before-after.toml makes them, at `--tolerance 0`. A visit's value: noise (standard deviation), at "
        "times a loss from other programs, and a drift with a correlation time of 40 visits. Failed, though nothing "
        "changed: out of all trials, with the most that this allows at 95%; slower by so much: of "
        f"{trials // 10:,} trials.\n"
    )
    print(
        "| noise of a visit | failed, nothing changed | at most |"
        + "".join(f" {s:.0%} slower: failed |" for s in SLOWER)
    )
    print("|---|---|---|" + "---|" * len(SLOWER))
    for noise in NOISES:
        print(row(noise, trials), flush=True)


BUSY = (
    "import random, time\n"
    "while True:\n"
    "    end = time.monotonic() + random.expovariate(1)\n"
    "    while time.monotonic() < end: sum(range(10000))\n"
    "    time.sleep(random.expovariate(0.5))\n"
)
SIZE = 512 << 20


def real(runs: int) -> None:
    print(f"\n## Real: two NBD servers, two programs beside that come and go\n\n`bench/compare/turns.py real {runs}`\n")
    print("| second server | seconds | map, second over first | shown from | failed at 0% | at 0.5% | at 2% |")
    print("|---|---|---|---|---|---|---|")
    rng = random.Random(SEED)
    plan = [(name, share) for _ in range(runs) for name, share in (("the same", 0.0), ("2% slower", 0.02))]
    rng.shuffle(plan)
    for at, (name, share) in enumerate(plan):
        with tempfile.TemporaryDirectory() as scratch, ExitStack() as stack:
            work = Path(scratch)
            ports = [10820 + 2 * at, 10821 + 2 * at]
            for port, rate in zip(ports, (1.0, 1 - share), strict=True):
                words = ["nbdkit", "-f", "-p", str(port), "-i", "127.0.0.1", "--filter=rate", "memory", str(SIZE)]
                start(stack, [*words, f"rate={round(8 * 100e6 * rate)}", "burstiness=0.1"])
            for _ in range(2):
                start(stack, [sys.executable, "-c", BUSY])
            time.sleep(1)
            given = (ROOT / "examples" / "ci" / "before-after.toml").read_text()
            for place, port in zip(("/mnt/before", "/mnt/after"), ports, strict=True):
                given = given.replace(f'"{place}"', f'"nbd://127.0.0.1:{port}"')
            given = given.replace('["read", "write", "randread", "randwrite"]', '["read", "randread"]')
            given = given.replace('bs = "64k"', 'bs = ["64k", "256k"]')
            (work / "c.toml").write_text(given)
            began = time.monotonic()
            tool = [sys.executable, "-m", "ioatlas", "map", "--campaign", "c.toml", "--read-only", "--yes", "-o", "out"]
            subprocess.run(tool, cwd=work, check=True, capture_output=True)
            seconds = time.monotonic() - began
            judged = [compare_sides([work / "out"], tolerance=share, by_target=True) for share in TOLERANCES]
            whole = judged[0].result.pairs[0].whole
            assert whole is not None
            failed = [
                "yes"
                if any(one.fails(each) for each in (one.result.pairs[0].whole, *one.result.pairs[0].cells) if each)
                else "no"
                for one in judged
            ]
            print(
                f"| {name} | {seconds:.0f} | {whole.ratio:.4f} ({whole.low:.4f} to {whole.high:.4f}) "
                f"| {whole.detectable:.1%} | {' | '.join(failed)} |",
                flush=True,
            )


def start(stack: ExitStack, words: list[str]) -> None:
    assert shutil.which(words[0])
    process = subprocess.Popen(words)
    stack.callback(process.wait)
    stack.callback(process.terminate)


if __name__ == "__main__":
    if sys.argv[1:2] == ["real"]:
        real(int(sys.argv[2]))
    else:
        simulated(int(sys.argv[1]) if len(sys.argv) > 1 else 2_000)
