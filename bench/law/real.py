# SPDX-License-Identifier: Apache-2.0
"""Judge `ioatlas map` on real targets of random numbers, with no option set. Root; a minute a target.

python bench/law/real.py DIR --seeds 0-14 [--budget 10s] [--json] [-v]

Seeds count through the classes of targets.py. A target that is done is kept in DIR and taken from there. Seeds from 90
on take --sealed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from score import HEADLINES, Judged, Scored, Table, Told, detail, judge, judge_bursts, markdown, read_answer
from targets import CLASSES, FIRST_SEALED, RealTarget, started

MIB = 1 << 20


def scored(seed: int, place: Path, budget: str) -> Scored:
    """Start, map, judge, stop."""
    kept = place / (budget or "default") / f"{seed:03}.json"
    if kept.exists():
        return Scored.of_json(json.loads(kept.read_text()))
    kept.parent.mkdir(parents=True, exist_ok=True)
    campaign = kept.with_suffix("")
    subprocess.run(["rm", "-rf", str(campaign)], check=True)
    with started(seed) as target:
        words = [sys.executable, "-m", "ioatlas", "map", target.location, *target.confirm, "-o", str(campaign)]
        words += ["--budget", budget] if budget else []
        began, load = time.monotonic(), os.getloadavg()[0]
        done = subprocess.run(words, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
        spent = time.monotonic() - began
        shown = subprocess.run(
            [sys.executable, "-m", "ioatlas", "show", str(campaign), "--json"],
            capture_output=True,
            text=True,
            check=False,
        )
        kept.with_suffix(".txt").write_text(done.stdout + done.stderr)
        document = json.loads(shown.stdout) if shown.returncode == 0 else {}
        kept.with_suffix(".show").write_text(json.dumps(document))
        problem = "" if done.returncode == 0 and document else f"exit {done.returncode}: {done.stderr.strip()[-300:]}"
        seen = {name: by_fio(target, name) for name in target.by_fio}
        result = judged(target, document, spent, load, problem, seen)
    kept.write_text(json.dumps(result.as_json()))
    return result


def by_fio(target: RealTarget, headline: str) -> float:
    """I/Os a second of plain fio for some seconds."""
    rw, depth = ("randwrite" if "write" in headline else "randread"), 1 if headline == "q1 read" else 16
    words = [
        *("fio", "--name=j", "--ioengine=nbd", f"--uri={target.location}", f"--rw={rw}", "--bs=4k"),
        *(f"--iodepth={depth}", "--size=256m", "--time_based", "--ramp_time=1", "--runtime=4", "--output-format=json"),
    ]
    said = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    (job,) = json.loads(said[said.index("{") :])["jobs"]
    return job["write" if "write" in headline else "read"]["iops"]


def judged(
    target: RealTarget, document: dict, spent: float, load: float, problem: str, seen: Mapping[str, float]
) -> Scored:
    answer = read_answer(document) if document else None
    headlines: list[Judged] = []
    for name in HEADLINES:
        told = answer.headlines[name] if answer else Told(name)
        known = target.truth.get(name)
        span = known(told.size or 256 * MIB) if known else None
        if span is None:
            continue
        if name in seen:
            span = (span[0], min(span[1], 0.97 * seen[name]), max(span[2], 1.03 * seen[name]))
        limit = target.limits.get(name) or ""
        falls = target.falls.get("write" if "write" in name else "read", 0.0)
        headlines.append(judge(told, *span, falls, {limit: 1.0} if limit else {}))
    bursts = judge_bursts(answer.bursts if answer else (), target.credit, target.falls)
    return Scored(
        f"{target.seed} {target.name}",
        "odd" if target.odd else "plain",
        (target.words, f"load {load:.1f}"),
        not target.odd,
        headlines,
        bursts,
        answer.trust if answer else "",
        answer.doubts if answer else (),
        spent,
        0.0,
        problem,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("directory", type=Path)
    parser.add_argument("--seeds", default=f"0-{len(CLASSES) - 1}")
    parser.add_argument("--budget", default="", help="such as 10s; default: the profile's")
    parser.add_argument("--sealed", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("-v", dest="verbose", action="store_true")
    asked = parser.parse_args()
    seeds: list[int] = []
    for part in asked.seeds.split(","):
        first, _, last = part.partition("-")
        seeds += range(int(first), int(last or first) + 1)
    if max(seeds) >= FIRST_SEALED and not asked.sealed:
        parser.error(f"seeds from {FIRST_SEALED} on are closed")
    results = []
    for seed in seeds:
        try:
            results.append(scored(seed, asked.directory.resolve(), asked.budget))
        except Exception as error:  # noqa: BLE001 - one target must not end the examination
            print(f"seed {seed}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
            continue
        print(detail(results[-1]) if asked.verbose else f"seed {seed} done", file=sys.stderr, flush=True)
    groups = Table(results, looked_s=4.0 if asked.budget == "10s" else 15.0).groups()
    problems = [f"{one.seed}: {one.problem}" for one in results if one.problem]
    print(json.dumps({"groups": groups, "problems": problems}, indent=1) if asked.json else markdown(groups))
    if problems and not asked.json:
        print("\nFailed: " + "; ".join(problems))


if __name__ == "__main__":
    main()
