# SPDX-License-Identifier: Apache-2.0
"""Measured against configured: plain fio on a lab target, without our own engine, so that neither hides a fault."""

import errno
import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ioatlas.model.errors import IoAtlasError
from ioatlas_lab.running import LabTarget, exact_sleeps, filled, find, start
from ioatlas_lab.scenario import Check, Setting

_LOG_MS = 100
_SECONDS_OF = {"edge": 9.0, "writes_per_error": 0.5, "safe_iodepth": 0.5, "device_reads": 2.0, "refused": 2.0}
"""Seconds of the checks that are not bounded by a time."""


@dataclass(frozen=True)
class Outcome:
    """One measured number beside its truth; `error` is relative, `ok` says whether it is within the check's tolerance.

    explained, because: the part of the error that was measured or follows apart from fio, relative, and what it is;
                        None where nothing is known.
    """

    scenario: str
    quantity: str
    options: str
    truth: float
    measured: float
    unit: str
    error: float
    ok: bool
    remark: str = ""
    explained: float | None = None
    because: str = ""
    seed: int = 1


def check(name: str, seed: int = 1, settings: Mapping[str, Setting] | None = None) -> Iterator[Outcome]:
    """Start one scenario and measure each of its checks, one after the other; `seed` is that of fio's offsets,
    `settings` override the scenario's.
    """
    given = settings or {}
    with start(name, **given) as target, target.programs():
        for one in target.checks:
            yield _measure(target, replace(one, options=(*one.options, f"randseed={seed}")), seed, given)


def seconds_of(name: str, settings: Mapping[str, Setting] | None = None) -> float:
    """About how long one seed of a scenario's checks takes: start, settling, measuring and the path without delay."""
    scenario = find(name)
    checks = scenario.build(filled(scenario, settings or {})).checks
    each = (
        one.settle_seconds
        + (_SECONDS_OF.get(one.kind) or (2 if one.without_delay else 1) * one.seconds)
        + (4.0 if one.without_delay else 0.7)
        for one in checks
    )
    return 1.0 + sum(each)


def _measure(target: LabTarget, one: Check, seed: int, settings: Mapping[str, Setting]) -> Outcome:
    truth = target.truth[one.quantity]
    configured = truth.value
    if one.first:
        _fio(target.location, one, 0, one.first)
    if one.without_delay:
        measured, configured, remark = _in_turn(target, one, configured, settings)
    else:
        measured, remark = _WAYS[one.kind](target, one)
    allowed = max(one.tolerance * abs(configured), one.tolerance_absolute)
    error = measured / configured - 1 if configured else 0.0
    ok = abs(measured - configured) <= allowed
    explained, because = _explanation(one, configured)
    options = " ".join(word for word in one.options if not word.startswith("randseed="))
    told = (
        f"{one.tolerance:.2g}"
        if not one.tolerance_absolute
        else f"{one.tolerance:.2g} or {one.tolerance_absolute:g} {truth.unit}"
    )
    remark += f"; tolerance {told}" + (f": {one.wider}" if one.wider else "")
    known = (configured, measured, truth.unit, error, ok, remark, explained, because)
    return Outcome(target.name, one.quantity, options, *known, seed)


TURNS = 3


def _in_turn(
    target: LabTarget, one: Check, configured: float, settings: Mapping[str, Setting]
) -> tuple[float, float, str]:
    """(measured, truth, remark) of a target and of the same path without delay, in turn: a latency less that of the
    path, or a rate against the one that delay and path together allow.
    """
    short = replace(one, seconds=one.seconds / TURNS)
    with start(target.name, **{**settings, one.without_delay: 0}) as plain:
        pairs = [(_WAYS[one.kind](plain, short)[0], _WAYS[one.kind](target, short)[0]) for _ in range(TURNS)]
    path, whole = (sum(pair[side] for pair in pairs) / TURNS for side in range(2))
    if one.kind == "latency":
        return whole - path, configured, f"less {path:.3f} ms of the same path without delay"
    together = 1 / (1 / configured + 1 / path)
    return (
        whole,
        together,
        f"{configured:.6g} by the delay alone; the same path without delay takes {configured / path:.2%} as long",
    )


def _explanation(one: Check, truth: float) -> tuple[float | None, str]:
    """What is known of the error beforehand: how much longer a sleep takes here, or the work in flight at the edges."""
    if one.sleep_ms:
        longer = sleep_ms(one.sleep_ms) - one.sleep_ms
        share = longer / one.sleep_ms
        return (
            share if one.kind == "latency" else 1 / (1 + share) - 1
        ), f"a sleep of {one.sleep_ms:g} ms takes {longer:.3f} ms more here"
    if one.kind in ("bw", "mean_bw", "iops"):
        given = dict(word.split("=", 1) for word in one.options)
        flying = int(given.get("iodepth", 1)) * int(given.get("numjobs", 1))
        size = int(given["bs"].removesuffix("k").removesuffix("m")) * (1 << (20 if given["bs"].endswith("m") else 10))
        share = flying * (1 if one.kind == "iops" else size) / (truth * one.seconds)
        return None, f"work in flight is {share:.2%} of the window's"
    return None, ""


_SLEEPER = """
import os, time, sys
try: os.nice(-10)
except OSError: pass
asked, count = float(sys.argv[1]), int(sys.argv[2])
begin = time.perf_counter()
for _ in range(count): time.sleep(asked)
print((time.perf_counter() - begin) / count)
"""


def sleep_ms(asked_ms: float) -> float:
    """How long a sleep of this length takes here, mean of a second's worth, in a process like a lab server."""
    count = max(20, round(1000 / asked_ms))
    with exact_sleeps():
        done = subprocess.run(
            [sys.executable, "-c", _SLEEPER, str(asked_ms / 1000), str(count)],
            capture_output=True,
            text=True,
            check=True,
        )
    return float(done.stdout) * 1000


def _mean(target: LabTarget, one: Check) -> tuple[float, str]:
    return _mean_latency_ms(target.location, one), "mean of all I/Os"


def _error_percent(target: LabTarget, one: Check) -> tuple[float, str]:
    job, _ = _fio(target.location, one, one.seconds, ("continue_on_error=io",))
    ios = sum(job[way]["total_ios"] for way in ("read", "write"))
    chance = ((1 - job["total_err"] / ios) / max(1, job["total_err"])) ** 0.5
    return 100 * job[
        "total_err"
    ] / ios, f"{job['total_err']} of {ios} I/Os failed; chance moves that by {chance:.1%} (one standard deviation)"


def _writes_per_error(target: LabTarget, one: Check) -> tuple[float, str]:
    job, _ = _fio(target.location, one, 0, ("continue_on_error=verify",))
    ios, wrong = job["write"]["total_ios"], job["total_err"]
    return (ios / wrong if wrong else 0.0), f"{wrong} of {ios} blocks read back wrong"


def _safe_iodepth(target: LabTarget, one: Check) -> tuple[float, str]:
    """The larger of 1 and 8 writes in flight after which every block reads back as it was written; 0 when none does."""
    wrong = {
        depth: _fio(target.location, one, 0, (f"iodepth={depth}", "continue_on_error=verify"))[0]["total_err"]
        for depth in (1, 8)
    }
    return float(
        max((depth for depth, count in wrong.items() if not count), default=0)
    ), f"{wrong[8]} blocks wrong at depth 8"


def _refused(target: LabTarget, one: Check) -> tuple[float, str]:
    """The size itself when fio's I/Os of half of it are refused with EINVAL and those of it are not; else 0."""
    sector = int(target.truth[one.quantity].value)
    small, _ = _fio(target.location, one, one.seconds, (f"bs={sector // 2}",))
    whole, _ = _fio(target.location, one, one.seconds, (f"bs={sector}",))
    fits = small["error"] == errno.EINVAL and whole["error"] == 0
    return (
        float(sector) if fits else 0.0
    ), f"{sector // 2} B: error {small['error']}, {sector} B: error {whole['error']}"


def _longest(target: LabTarget, one: Check) -> tuple[float, str]:
    job, _ = _fio(target.location, one, one.seconds)
    return max(job[way]["lat_ns"]["max"] for way in ("read", "write")) / 1e9, f"longest I/O in {one.seconds:g} s"


def _slope(target: LabTarget, one: Check) -> tuple[float, str]:
    """Change of the bandwidth a second: mean of the last third less the first, over the time between their middles."""
    third = one.seconds / 3 * 1000
    begin, end = one.settle_seconds * 1000, (one.settle_seconds + one.seconds) * 1000
    logs = _logs(target, one, "bw")
    early, late = (
        sum(_mean_between(log, start_ms, start_ms + third) for log in logs) * 1024 for start_ms in (begin, end - third)
    )
    return (late - early) / (2 * third / 1000), f"over {one.seconds:g} s"


def _edge(target: LabTarget, one: Check) -> tuple[float, str]:
    """Middle of the pair of footprints between which the bandwidth of a second pass falls most."""
    edge = int(target.truth[one.quantity].value)
    shares, rates = (0.5, 0.75, 63 / 64, 65 / 64, 1.25), []
    for share in shares:
        size = (f"size={int(edge * share) // 65536 * 65536}",)
        _fio(target.location, one, 0, size)
        job, _ = _fio(target.location, one, one.seconds, size)
        rates.append(job["read"]["bw_bytes"])
    fall, place = max((rates[index] / rates[index + 1], index) for index in range(len(rates) - 1))
    return edge * (shares[place] + shares[place + 1]) / 2, f"bandwidth falls {fall:.1f} times there"


def _device_reads(target: LabTarget, one: Check) -> tuple[float, str]:
    """Bytes that fio made a device read in a second pass (getrusage: blocks of 512 bytes); the least of two, for the
    system may take pages of the file or of fio itself back between passes.
    """
    _fio(target.location, one, 0)
    blocks: list[int] = []
    told = ""
    while len(blocks) < 2 and 0 not in blocks:
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_inblock
        job, _ = _fio(target.location, one, 0)
        blocks.append(resource.getrusage(resource.RUSAGE_CHILDREN).ru_inblock - before)
        told = f"while fio read {job['read']['io_bytes']} B"
    return min(blocks) * 512.0, told


def _path_bytes(target: LabTarget, one: Check) -> tuple[float, str]:
    """Bytes that came over the link during a run (the counter of its interface)."""
    counter = Path("/sys/class/net", target.context["device"], "statistics/rx_bytes")
    before = int(counter.read_text())
    job, _ = _fio(target.location, one, one.seconds)
    return float(int(counter.read_text()) - before), f"while fio read {job['read']['io_bytes']} B"


def _mean_latency_ms(location: str, one: Check) -> float:
    job, _ = _fio(location, one, one.seconds)
    parts = [job[way] for way in ("read", "write") if job[way]["total_ios"]]
    ios = sum(part["total_ios"] for part in parts)
    return float(sum(part["lat_ns"]["mean"] * part["total_ios"] for part in parts) / ios / 1e6)


def _steady_rate(target: LabTarget, one: Check) -> tuple[float, str]:
    """Bytes or I/Os per second between `settle_seconds` and the end, of all jobs."""
    metric = "bw" if one.kind == "bw" else "iops"
    begin, end = one.settle_seconds * 1000, (one.settle_seconds + one.seconds) * 1000
    # fio's bandwidth logs are in KiB/s.
    rate = sum(_mean_between(log, begin, end) for log in _logs(target, one, metric)) * (1024 if metric == "bw" else 1)
    return rate, f"from {one.settle_seconds:g} s on"


def _mean_rate(target: LabTarget, one: Check) -> tuple[float, str]:
    """Bytes per second of the whole time after settling, where I/Os are too slow or too uneven for a log of 0.1 s."""
    job, _ = _fio(target.location, one, one.seconds, (f"ramp_time={one.settle_seconds * 1000:.0f}ms",))
    rate = sum(job[way]["io_bytes"] * 1000 / max(1, job[way]["runtime"]) for way in ("read", "write"))
    return rate, f"from {one.settle_seconds:g} s on, whole run"


def _logs(target: LabTarget, one: Check, metric: str) -> list[list[tuple[int, int, int]]]:
    """(end in ms, value, direction) of each interval, one list a job."""
    with tempfile.TemporaryDirectory(prefix="ioatlas-lab-log-") as folder:
        _fio(
            target.location,
            one,
            one.settle_seconds + one.seconds,
            (f"write_{metric}_log={folder}/l", f"log_avg_msec={_LOG_MS}"),
        )
        found = []
        for path in sorted(Path(folder).glob(f"l_{metric}.*.log")):
            rows = (line.replace(",", " ").split() for line in path.read_text().splitlines())
            found.append([(int(row[0]), int(row[1]), int(row[2])) for row in rows])
        return found


def _mean_between(log: list[tuple[int, int, int]], begin_ms: float, end_ms: float) -> float:
    """Mean of one job's rate log, both directions added: each entry weighs the time since the last."""
    previous: dict[int, int] = {}
    amount: dict[int, float] = {}
    covered: dict[int, float] = {}
    for now, value, direction in log:
        before = previous.get(direction)
        previous[direction] = now
        if before is not None and before >= begin_ms and now <= end_ms + _LOG_MS:
            amount[direction] = amount.get(direction, 0.0) + value * (now - before)
            covered[direction] = covered.get(direction, 0.0) + now - before
    return sum(amount[direction] / covered[direction] for direction in amount)


def _fio(location: str, one: Check, seconds: float, extra: tuple[str, ...] = ()) -> tuple[dict[str, Any], int]:
    given = dict(word.split("=", 1) for word in (*one.options, *extra))
    if "filename" in given:
        given["filename"] = given["filename"].replace("{dir}/mount", location)
    options = {
        "thread": "1",
        "group_reporting": "1",
        "name": "check",
        "size": str(128 << 20),
        "refill_buffers": "1",
        "verify_state_save": "0",
        **given,
    }
    if location.startswith("nbd"):
        options |= {"ioengine": "nbd", "uri": location}
    else:
        options.setdefault("filename", location)
    if seconds:
        options |= {"time_based": "1", "runtime": f"{seconds * 1000:.0f}ms"}
    arguments = ["fio", "--output-format=json", *(f"--{key}={value}" for key, value in options.items())]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False, timeout=seconds + 120)
    brace = done.stdout.find("{")
    if brace < 0:
        raise IoAtlasError(
            f"fio said nothing that can be read: {done.stderr.strip()[-300:]}", where=" ".join(arguments)
        )
    job: dict[str, Any] = json.loads(done.stdout[brace:])["jobs"][0]
    return job, done.returncode


_WAYS: dict[str, Callable[[LabTarget, Check], tuple[float, str]]] = {
    "bw": _steady_rate,
    "mean_bw": _mean_rate,
    "iops": _steady_rate,
    "latency": _mean,
    "error_percent": _error_percent,
    "writes_per_error": _writes_per_error,
    "safe_iodepth": _safe_iodepth,
    "refused": _refused,
    "longest": _longest,
    "slope": _slope,
    "edge": _edge,
    "device_reads": _device_reads,
    "path_bytes": _path_bytes,
}
