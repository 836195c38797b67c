# SPDX-License-Identifier: Apache-2.0
"""The tool's defaults against the truth: 12 lab targets x `ioatlas map` and `ioatlas tune`, no option set.

Of a map the value is that of the cell that the truth speaks of: the best of its direction, or the lightest. Of a
search it is the fixed rate that it calls safe, or the best setting's rate. A target that is done is kept in DIR and
taken from there afterwards: a call that was stopped goes on where it was.

python bench/defaults/run.py DIR [--targets latency,iops] [--seconds 3000] [-o bench/defaults/RESULT.md]

--seconds: no measurement begins after so many (status 4 then).
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from ioatlas.analysis.summary import summarise
from ioatlas.campaign import load_result
from ioatlas.model.estimate import Estimate
from ioatlas.model.result import CampaignResult

IOATLAS = (sys.executable, "-m", "ioatlas")
WITHIN = 0.02


@dataclass(frozen=True)
class Truth:
    """What is configured. quantity: bw, iops or lat_ms; of the fastest cell in `rw`, lat_ms of the lightest.

    bs_bytes: of cells whose value it is; 0 of any. read_only: the target is an export or a file that is not ours.
    tune_iops: what a search of 4 KiB random reads should call safe; None where it depends on this machine.
    """

    value: float | None
    quantity: str
    tune_iops: float | None
    bs_bytes: int = 0
    rw: str = ""
    read_only: bool = True


LINK_1G, LINK_100M = 119.551e6, 11.9551e6
TRUTHS = {
    "bandwidth": Truth(20e6, "bw", 20e6 / 4096),
    "iops": Truth(2000, "iops", 2000, bs_bytes=4096),
    "latency": Truth(5, "lat_ms", None, bs_bytes=4096),
    "single-queue": Truth(124.7, "iops", 124.7, bs_bytes=4096),
    "throttled": Truth(50e6, "bw", 2000),
    "burst-credit": Truth(1000, "iops", 1000, bs_bytes=4096),
    "stalling": Truth(1, "lat_ms", None, bs_bytes=4096),
    "link-1g": Truth(LINK_1G, "bw", None),
    "link-100m": Truth(LINK_100M, "bw", None),
    "drive": Truth(50e6, "bw", 1000),
    "nas-smb": Truth(LINK_100M, "bw", None),
    "memory": Truth(None, "bw", None),
}
"""`memory` has no limit of its own: it shows what is said where the client is the limit."""


@dataclass(frozen=True)
class Answer:
    """What one run came to. value: in the truth's unit; None without one. said: the verdict, or the search's answer."""

    target: str
    command: str
    value: float | None
    low: float | None
    high: float | None
    said: str
    trust: str
    seconds: float
    problem: str = ""


def run(target: str, command: str, place: Path) -> Answer:
    """One run of the tool on one lab target."""
    campaign = place / "campaign"
    shutil.rmtree(campaign, ignore_errors=True)
    words = [*IOATLAS, command, "{}", *(["--read-only"] if TRUTHS[target].read_only else []), "-o", str(campaign)]
    begin = time.monotonic()
    made = subprocess.run(
        [*IOATLAS, "lab", "run", target, "--", *words], capture_output=True, text=True, check=False, cwd=place
    )
    seconds = time.monotonic() - begin
    said = (made.stderr.strip().splitlines() or [""])[-1]
    if made.returncode not in (0, 3) or not (campaign / "journal.sqlite").exists():
        return Answer(target, command, None, None, None, "", "", seconds, said or f"exit {made.returncode}")
    result = load_result(campaign)
    trust = summarise(result).trust.value
    if command == "tune":
        return of_search(target, json.loads((campaign / "tune.json").read_text()), trust, seconds)
    return of_map(target, result, trust, seconds)


def of_map(target: str, result: CampaignResult, trust: str, seconds: float) -> Answer:
    truth = TRUTHS[target]
    found = [one for one in result.estimates if one.kind == "measured" and one.direction == "read"]
    found = [one for one in found if truth.bs_bytes in (0, one.cell.bs_bytes)]
    if not found:
        return Answer(target, "map", None, None, None, "no value", trust, seconds)
    if truth.quantity == "lat_ms":
        chosen = min(found, key=lambda one: one.cell.outstanding)
    else:
        chosen = max(found, key=lambda one: one.bw_bytes_per_s or 0.0)
    value, low, high = quantities(chosen, truth.quantity)
    return Answer(target, "map", value, low, high, chosen.verdict.value, trust, seconds)


def quantities(one: Estimate, quantity: str) -> tuple[float | None, float | None, float | None]:
    """Value and interval in the truth's unit."""
    if quantity == "lat_ms":
        told = (one.lat_mean_ns, one.lat_mean_low_ns, one.lat_mean_high_ns)
        return tuple(None if ns is None else ns / 1e6 for ns in told)  # type: ignore[return-value]
    share = 1.0 if quantity == "bw" else 1 / one.cell.bs_bytes
    told = (one.bw_bytes_per_s, one.bw_low, one.bw_high)
    return tuple(None if bw is None else bw * share for bw in told)  # type: ignore[return-value]


def of_search(target: str, found: dict, trust: str, seconds: float) -> Answer:
    best, sizing = found["best"], found["sizing"]
    if best is None:
        return Answer(target, "tune", None, None, None, "no setting", trust, seconds)
    safe = sizing["safe_iops"] if sizing else None
    said = f"{best['numjobs']} x {best['iodepth']}, best {best['iops']:.5g}, " + (
        f"safe to {safe:.5g}" if safe else "no rate safe"
    )
    return Answer(target, "tune", safe, best["iops_low"], best["iops_high"], said, trust, seconds)


def row(answer: Answer) -> str:
    truth = TRUTHS[answer.target]
    known = truth.value if answer.command == "map" else truth.tune_iops
    unit = {"bw": "B/s", "iops": "IOPS", "lat_ms": "ms"}[truth.quantity] if answer.command == "map" else "IOPS"
    if answer.problem:
        return f"| {answer.target} | {answer.command} | {told(known, unit)} | {answer.problem} | | | | | | |"
    error = answer.value / known - 1 if answer.value and known else None
    interval = f"{answer.low:.5g} to {answer.high:.5g}" if answer.low is not None and answer.high is not None else ""
    good = "" if error is None else "yes" if abs(error) <= WITHIN else "no"
    shown = f"{error:+.1%}" if error is not None else ""
    return (
        f"| {answer.target} | {answer.command} | {told(known, unit)} | {told(answer.value, unit)} | {interval} "
        f"| {shown} | {good} | {answer.said} | {answer.trust} | {answer.seconds:.0f} |"
    )


def told(value: float | None, unit: str) -> str:
    return f"{value:.5g} {unit}" if value is not None else "-"


def table(answers: list[Answer]) -> str:
    head = (
        "| target | command | truth | answer | interval | error | within 2% | verdict, or what the search says | trust "
        "| seconds |\n|---|---|---|---|---|---|---|---|---|---|"
    )
    return "\n".join([head, *map(row, answers)])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("directory", type=Path)
    parser.add_argument("--targets", default=",".join(TRUTHS))
    parser.add_argument("--commands", default="map,tune")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("-o", dest="output", type=Path)
    asked = parser.parse_args()
    asked.directory.mkdir(parents=True, exist_ok=True)
    wanted = [(target, command) for target in asked.targets.split(",") for command in asked.commands.split(",")]
    answers, spent, begin = [], [], time.monotonic()
    load = f"{os.getloadavg()[1]:.1f}"
    for place, (target, command) in enumerate(wanted):
        kept = asked.directory / f"{target}-{command}.json"
        if not kept.exists():
            if time.monotonic() - begin > asked.seconds:
                sys.exit(4)
            scratch = asked.directory / f"{target}-{command}"
            scratch.mkdir(exist_ok=True)
            answer = run(target, command, scratch)
            kept.write_text(json.dumps(asdict(answer)))
            spent.append(answer.seconds)
        answers.append(Answer(**json.loads(kept.read_text())))
        left = sum(not (asked.directory / f"{t}-{c}.json").exists() for t, c in wanted[place + 1 :])
        eta = f"{left * sum(spent) / len(spent) / 60:.0f} min left" if spent else ""
        print(row(answers[-1]), eta, file=sys.stderr, flush=True)
    text = (
        "# The tool's defaults against the truth\n\n`python bench/defaults/run.py DIR -o bench/defaults/RESULT.md`, as "
        f"root; load average at its start {load}. Truth is what is configured; of `tune` the answer is the safe "
        "fixed rate, the interval that of the best setting.\n\n" + table(answers) + "\n"
    )
    print(text)
    if asked.output:
        asked.output.write_text(text)


if __name__ == "__main__":
    main()
