# SPDX-License-Identifier: Apache-2.0
"""Measured against configured: plain fio on a lab target, apart from the project's own engine so that neither hides the other's fault."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ioatlas.errors import IoAtlasError
from ioatlas.lab.running import LabTarget, start
from ioatlas.lab.scenario import Check

_LOG_MS = 100


@dataclass(frozen=True)
class Outcome:
    """One measured number beside its truth; `error` is relative, `ok` says whether it is within the check's tolerance."""

    scenario: str
    quantity: str
    options: str
    truth: float
    measured: float
    unit: str
    error: float
    ok: bool
    remark: str = ""


def check(name: str) -> Iterator[Outcome]:
    """Start one scenario and measure each of its checks, one after the other."""
    with start(name) as target:
        for one in target.checks:
            yield _measure(target, one)


def _measure(target: LabTarget, one: Check) -> Outcome:
    truth = target.truth[one.quantity]
    measured, remark = truth.value, ""
    match one.kind:
        case "bw" | "iops":
            measured, remark = _steady_rate(target, one), "after the burst credit"
        case "latency":
            base = _baseline_latency_ms(one)
            measured = _mean_latency_ms(target.location, one) - base
            remark = f"less {base:.3f} ms of the same path without delay"
        case "fails" | "refused":
            job, done = _fio(target.location, one, one.seconds)
            failed = done != 0 and int(job["error"]) != 0
            return Outcome(
                target.name, one.quantity, " ".join(one.options), truth.value, float(job["error"]), truth.unit, 0.0, failed, "fio's error number"
            )
        case "verify":
            job, _ = _fio(target.location, one, 0)
            return Outcome(
                target.name, one.quantity, " ".join(one.options), truth.value, float(job["error"]), truth.unit, 0.0,
                int(job["error"]) == 84, "fio's error number; 84 is a block that fails its checksum",
            )  # fmt: skip
    error = measured / truth.value - 1
    allowed = one.tolerance + one.tolerance_absolute / truth.value
    return Outcome(target.name, one.quantity, " ".join(one.options), truth.value, measured, truth.unit, error, abs(error) <= allowed, remark)


def _baseline_latency_ms(one: Check) -> float:
    with start("memory") as plain:
        return _mean_latency_ms(plain.location, one)


def _mean_latency_ms(location: str, one: Check) -> float:
    job, _ = _fio(location, one, one.seconds)
    parts = [job[way] for way in ("read", "write") if job[way]["total_ios"]]
    ios = sum(part["total_ios"] for part in parts)
    return float(sum(part["lat_ns"]["mean"] * part["total_ios"] for part in parts) / ios / 1e6)


def _steady_rate(target: LabTarget, one: Check) -> float:
    """Bytes or I/Os per second between `settle_seconds` and the end, from the per-interval logs of all jobs."""
    with tempfile.TemporaryDirectory(prefix="ioatlas-lab-log-") as folder:
        metric = "bw" if one.kind == "bw" else "iops"
        log = (f"write_{metric}_log={folder}/l", f"log_avg_msec={_LOG_MS}", "log_unix_epoch=0")
        _fio(target.location, one, one.settle_seconds + one.seconds, log)
        begin, end = one.settle_seconds * 1000, (one.settle_seconds + one.seconds) * 1000
        # fio's bandwidth logs are in KiB/s.
        return sum(_mean_between(path.read_text(), begin, end) for path in Path(folder).glob(f"l_{metric}.*.log")) * (1024 if metric == "bw" else 1)


def _mean_between(log: str, begin_ms: float, end_ms: float) -> float:
    """Mean of one job's rate log, both directions added: each entry weighs the time since the one before, as fio leaves some out."""
    previous: dict[str, float] = {}
    amount: dict[str, float] = {}
    covered: dict[str, float] = {}
    for line in log.splitlines():
        stamp, value, direction = line.replace(",", " ").split()[:3]
        now, before = float(stamp), previous.get(direction)
        previous[direction] = now
        if before is not None and before >= begin_ms and now <= end_ms + _LOG_MS:
            amount[direction] = amount.get(direction, 0.0) + float(value) * (now - before)
            covered[direction] = covered.get(direction, 0.0) + now - before
    return sum(amount[direction] / covered[direction] for direction in amount)


def _fio(location: str, one: Check, seconds: float, extra: tuple[str, ...] = ()) -> tuple[dict[str, Any], int]:
    given = dict(word.split("=", 1) for word in (*one.options, *extra))
    options = {"thread": "1", "group_reporting": "1", "name": "check", "size": str(128 << 20), "refill_buffers": "1", "verify_state_save": "0", **given}
    if location.startswith("nbd"):
        options |= {"ioengine": "nbd", "uri": location}
    else:
        options |= {"filename": location}
    if seconds:
        options |= {"time_based": "1", "runtime": f"{seconds * 1000:.0f}ms"}
    arguments = ["fio", "--output-format=json", *(f"--{key}={value}" for key, value in options.items())]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False, timeout=seconds + 120)
    brace = done.stdout.find("{")
    if brace < 0:
        raise IoAtlasError(f"fio said nothing that can be read: {done.stderr.strip()[-300:]}", where=" ".join(arguments))
    job: dict[str, Any] = json.loads(done.stdout[brace:])["jobs"][0]
    return job, done.returncode
