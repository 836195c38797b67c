# SPDX-License-Identifier: Apache-2.0
"""How often blocks are voided on a target that never moves, and how often a target that moves is
seen.

Series are simulated and judged by the project's own functions. Run: `.venv/bin/python bench/drift/run.py [CAMPAIGNS]`;
prints RESULT.md.
"""

from __future__ import annotations

import math
import sys
import time
from dataclasses import replace

import numpy as np

from ioatlas.answer.analysis.drift import in_doubt, replicate_rows, to_repeat, wanders
from ioatlas.answer.analysis.estimates import estimate_cells
from ioatlas.model.cell import Cell
from ioatlas.model.verdict import read_reasons
from ioatlas.model.visit import Histogram, Part, Purpose, Series, Visit

SEED = 20211


def cells_of(count: int) -> dict[str, Cell]:
    made = [Cell.of("t", {"rw": "randread", "bs": 4096, "size": 1 << 20, "offset": 4096 * i}) for i in range(count)]
    return {cell.key: cell for cell in made}


def campaign(rng, cells, blocks, cv, *, level=None, wild=0.0, lost=0.0, rho=0.0):
    """Visits of a sweep in random blocks; `level`: log level by visit number, block and share
    of the block done.
    """
    keys = list(cells)
    truth = {key: math.exp(rng.normal()) for key in keys}
    visits: list[Visit] = []
    number = 0
    state = rng.normal()

    def add(key, block, share, purpose):
        nonlocal number, state
        # Noise of neighbours in time: AR(1).
        state = rho * state + math.sqrt(1 - rho**2) * rng.normal()
        log_value = math.log(1e8 * truth[key]) + (level(number, block, share) if level else 0.0) + cv * state
        if rng.random() < wild:
            log_value += math.log(rng.uniform(0.3, 0.7))
        discarded = ()
        if purpose is Purpose.SWEEP and rng.random() < lost:
            discarded = read_reasons("bytes: wrong")
        part = Part("read", int(math.exp(log_value)), 1000, 1000, 1e6, Histogram(), Series(20))
        # Sixty visits a batch.
        visits.append(
            Visit(
                len(visits),
                key,
                len(visits) // 60,
                0,
                block,
                1,
                float(number),
                (part,),
                purpose=purpose,
                discarded=discarded,
            )
        )
        if discarded and rng.random() >= lost:
            visits.append(replace(visits[-1], visit_id=len(visits), discarded=()))
        number += purpose is Purpose.SWEEP

    for block in range(blocks):
        for index, place in enumerate(rng.permutation(len(keys))):
            add(keys[place], block, index / len(keys), Purpose.SWEEP)
    return visits, truth


def rates(tries, cells, blocks, cv, **what):
    """Shares: campaigns with a block voided, blocks voided, campaigns with two blocks in doubt, with a level
    that wandered.
    """
    rng = np.random.default_rng(SEED)
    voided = doubt = voided_blocks = wandered = 0
    for _ in range(tries):
        visits, _ = campaign(rng, cells, blocks, cv, **what)
        rows = replicate_rows(cells, visits)
        bad = [row for several in to_repeat(rows).values() for row in several]
        voided += bool(bad)
        voided_blocks += len(bad)
        doubt += bool(in_doubt(rows))
        wandered += bool(wanders(cells, visits))
    return voided / tries, voided_blocks / tries / blocks, doubt / tries, wandered / tries


def unchanged(tries):
    print("## A target that never moves\n")
    print(
        "| cells x blocks | noise of a visit | campaigns with a void | blocks voided | two blocks in doubt | "
        "the level wandered |"
    )
    print("|---|---|---|---|---|---|")
    for count, blocks in ((8, 8), (24, 2), (60, 2), (60, 4), (300, 2), (300, 3)):
        cells = cells_of(count)
        for words, cv, more in (
            ("2%", 0.02, {}),
            ("12%", 0.12, {}),
            ("20%", 0.20, {}),
            ("12%, neighbours in time alike (AR(1) 0.6)", 0.12, {"rho": 0.6}),
            (
                "12%, one visit in 20 wild (0.3 to 0.7), one in 20 discarded and tried again",
                0.12,
                {"wild": 0.05, "lost": 0.05},
            ),
        ):
            row = rates(tries, cells, blocks, cv, **more)
            print(f"| {count} x {blocks} | {words} | {' | '.join(f'{share:.1%}' for share in row)} |", flush=True)


def moving(tries):
    print("\n## A target that moves\n")
    print("| cells x blocks | what happens | campaigns with a void | blocks voided | it wandered |")
    print("|---|---|---|---|---|")

    def wave(number, _block, _share):
        return math.log(0.75 + 0.25 * abs(1 - (number % 120) / 60))

    def there_and_back(number, _block, _share):
        return math.log(1 - 0.9 * (1 - abs(1 - number % 60 / 30)))

    deep = "goes ten times slower and back within 60 visits, noise 12%"
    cases = (
        ("one block 20% slower, noise 5%", 0.05, lambda _n, block, _s: math.log(0.8) * (block == 2)),
        ("one block 30% slower, noise 12%", 0.12, lambda _n, block, _s: math.log(0.7) * (block == 2)),
        (
            "30% slower from the middle of one block to its end, noise 12%",
            0.12,
            lambda _n, block, s: math.log(0.7) * (block == 1 and s >= 0.5),
        ),
        ("30% slower from the third block on, noise 12%", 0.12, lambda _n, block, _s: math.log(0.7) * (block >= 2)),
        ("wanders between 1 and 0.75 every 120 visits, noise 5%", 0.05, wave),
        (deep, 0.12, there_and_back),
    )
    others = ((8, 8, deep, 0.12, there_and_back), (24, 2, deep, 0.12, there_and_back))
    for count, blocks, words, cv, level in (*((60, 4, *case) for case in cases), *others):
        voided, share, _, wandered = rates(tries, cells_of(count), blocks, cv, level=level)
        told = " | ".join(f"{one:.1%}" for one in (voided, share, wandered))
        print(f"| {count} x {blocks} | {words} | {told} |", flush=True)


def coverage(tries):
    print("\n## Intervals where replicates differ\n")
    print("60 cells x 3 blocks, noise 5%; truth: the cell's level under the mean of the blocks.\n")
    print("| spread of replicates | covered | half-width |")
    print("|---|---|---|")
    cells = cells_of(60)
    for words, sd in (("none", 0.0), ("3%", 0.03), ("10%", 0.10)):
        rng = np.random.default_rng(SEED)
        hit = total = 0
        widths = []
        for _ in range(tries):
            effects = sd * rng.normal(size=3)
            visits, truth = campaign(
                rng, cells, 3, 0.05, level=lambda _n, block, _s, effects=effects: float(effects[block])
            )
            for estimate in estimate_cells(cells, visits):
                if estimate.bw_low is None or estimate.bw_high is None or not estimate.bw_bytes_per_s:
                    continue
                value = 1e8 * truth[estimate.cell.key] * math.exp(float(effects.mean()))
                hit += estimate.bw_low <= value <= estimate.bw_high
                total += 1
                widths.append((estimate.bw_high - estimate.bw_low) / 2 / estimate.bw_bytes_per_s)
        print(f"| {words} | {hit / total:.1%} | {np.median(widths):.1%} |", flush=True)


def main() -> None:
    tries = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    begin = time.monotonic()
    print("# Drift: false voids, and drift that is found\n")
    print(
        f"`nice -n 15 .venv/bin/python bench/drift/run.py {tries}`; {tries} simulated campaigns a row (coverage: a "
        f"tenth), seed {SEED}.\n"
    )
    unchanged(tries)
    moving(tries)
    coverage(max(10, tries // 10))
    print(f"\n{time.monotonic() - begin:.0f} s.")


if __name__ == "__main__":
    main()
