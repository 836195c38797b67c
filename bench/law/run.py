# SPDX-License-Identifier: Apache-2.0
"""Judge `ioatlas map` on simulated targets of random physics: what it tells against what they do for good.

python bench/law/run.py DIR --seeds 0-39 [--budget 10s] [--workers 2] [--json] [-v]

A target that is done is kept in DIR (by budget), and taken from there. Seeds from 150 on take --sealed.
"""

from __future__ import annotations

import argparse
import json
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from generate import Target, target
from score import HEADLINES, Judged, Scored, Table, Told, detail, judge, judge_bursts, markdown, read_answer
from truth import Cell, Lasting, credits_of, lasting, limits

FIRST_SEALED = 150
MIB = 1 << 20
CELLS = {
    "read": Cell("read", MIB, 16, 256 * MIB),
    "write": Cell("write", MIB, 16, 256 * MIB),
    "rand read q16": Cell("randread", 4096, 16, 256 * MIB),
    "rand write q16": Cell("randwrite", 4096, 16, 256 * MIB),
    "q1 read": Cell("randread", 4096, 1, 256 * MIB),
}


def cell_of(told: Told) -> Cell:
    """The cell whose truth a headline is held against: 1 MiB sequential, or 4 KiB random, as heavy and as wide as the
    told one.
    """
    usual = CELLS[told.name]
    flight = told.flight if told.flight and told.name in ("read", "write") else usual.flight
    return Cell(usual.rw, usual.bs, flight, told.size or usual.size)


def truth(one: Target, cell: Cell, place: Path) -> tuple[Lasting, dict[str, float]]:
    """From DIR, or worked out."""
    kept = place / "truth" / f"{one.seed}-{cell.rw}-{cell.bs}-{cell.flight}-{cell.size // MIB}.json"
    if not kept.exists():
        found = {"lasting": asdict(lasting(one, cell)), "limits": limits(one, cell)}
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(found))
    found = json.loads(kept.read_text())
    return Lasting(**found["lasting"]), found["limits"]


def scored(seed: int, place: Path, budget: str) -> Scored:
    """Map one target and judge the answer."""
    from world import mapped

    kept = place / (budget or "default") / f"{seed:03}.json"
    if kept.exists():
        return Scored.of_json(json.loads(kept.read_text()))
    kept.parent.mkdir(parents=True, exist_ok=True)
    one = target(seed)
    shown = mapped(one.physics, *(["--budget", budget] if budget else []))
    kept.with_suffix(".txt").write_text(shown.screen)
    kept.with_suffix(".show").write_text(json.dumps(shown.told))
    result = judged(one, shown.told, place, virtual=shown.virtual, real=shown.real, problem=shown.problem)
    kept.write_text(json.dumps(result.as_json()))
    return result


def judged(one: Target, document: dict, place: Path, *, virtual: float, real: float, problem: str = "") -> Scored:
    answer = read_answer(document) if document else None
    headlines: list[Judged] = []
    falls: dict[str, float] = {"read": 0.0, "write": 0.0}
    for name in HEADLINES:
        told = answer.headlines[name] if answer else Told(name)
        cell = cell_of(told)
        lasts, limit = truth(one, cell, place)
        unit = cell.bs if name in ("read", "write") else 1
        headlines.append(judge(told, lasts.iops * unit, lasts.low * unit, lasts.high * unit, lasts.falls_after, limit))
        if lasts.falls_after < 100:
            falls[cell.way] = max(falls[cell.way], lasts.falls_after)
    bursts = judge_bursts(answer.bursts if answer else (), credits_of(one.physics), falls)
    return Scored(
        one.seed,
        one.kind,
        one.words,
        one.deterministic,
        headlines,
        bursts,
        answer.trust if answer else "",
        answer.doubts if answer else (),
        virtual,
        real,
        problem,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("directory", type=Path)
    parser.add_argument("--seeds", default="0-39")
    parser.add_argument("--budget", default="", help="such as 10s; default: the profile's")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--sealed", action="store_true")
    parser.add_argument("--again", action="store_true", help="judge what is kept once more, without mapping")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("-v", dest="verbose", action="store_true")
    asked = parser.parse_args()
    seeds: list[int] = []
    for part in asked.seeds.split(","):
        first, _, last = part.partition("-")
        seeds += range(int(first), int(last or first) + 1)
    if max(seeds) >= FIRST_SEALED and not asked.sealed:
        parser.error("seeds from 150 on are closed")
    if asked.again:
        _judge_again(seeds, asked.directory, asked.budget)
    with ProcessPoolExecutor(asked.workers) as pool:
        going = [(seed, pool.submit(scored, seed, asked.directory, asked.budget)) for seed in seeds]
        results = []
        for seed, one in going:
            try:
                results.append(one.result())
            except Exception as error:  # noqa: BLE001 - one target must not end the examination
                print(f"seed {seed}: {type(error).__name__}: {error}", file=sys.stderr)
                continue
            print(detail(results[-1]) if asked.verbose else f"seed {seed} done", file=sys.stderr, flush=True)
    groups = Table(results, looked_s=4.0 if asked.budget == "10s" else 15.0).groups()
    problems = [f"seed {one.seed}: {one.problem}" for one in results if one.problem]
    print(json.dumps({"groups": groups, "problems": problems}, indent=1) if asked.json else markdown(groups))
    if problems and not asked.json:
        print("\nFailed: " + "; ".join(problems))


def _judge_again(seeds: list[int], place: Path, budget: str) -> None:
    for seed in seeds:
        kept = place / (budget or "default") / f"{seed:03}.json"
        if kept.exists():
            before = Scored.of_json(json.loads(kept.read_text()))
            document = json.loads(kept.with_suffix(".show").read_text())
            again = judged(
                target(seed), document, place, virtual=before.virtual, real=before.real, problem=before.problem
            )
            kept.write_text(json.dumps(again.as_json()))


if __name__ == "__main__":
    main()
