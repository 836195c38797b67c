# SPDX-License-Identifier: Apache-2.0
"""Every lab target measured against what is configured, over five seeds, with what is left explained.

The column of the tool's defaults is one cell of `ioatlas map` with that load and nothing else said, of loads that
read: value, 95% interval, verdict and error.

With DIR each target is kept there as soon as it is measured and taken from there afterwards, and a call ends with
status 4 before a target that would
begin after SECONDS: repeated calls measure all in slices of at most four minutes.

Run: .venv/bin/python bench/truth/run.py [DIR [SECONDS]] > bench/truth/RESULT.md
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from ioatlas.measure.campaign import load_result

MEASURE = str(Path(__file__).with_name("measure.py"))
TOOL = str(Path(sys.executable).parent / "ioatlas")
SEEDS = 5


def outcomes(keep: Path, name: str, latest: float) -> list[dict[str, Any]]:
    """The outcomes of one target, from `keep` or measured now. Ends the program when it would begin after `latest`."""
    record = keep / f"{name}.jsonl"
    if not record.exists():
        if time.monotonic() > latest:
            sys.exit(4)
        done = subprocess.run(
            [sys.executable, MEASURE, name, "--seeds", str(SEEDS), "--json"],
            check=False,
            capture_output=True,
            text=True,
        )
        if done.returncode not in (0, 3):
            raise SystemExit(done.stderr)
        record.write_text(done.stdout)
    return [json.loads(line) for line in record.read_text().splitlines()]


IN_A_MAP = {
    "bw_bytes_per_s": ("bw", 1.0),
    "read_bytes_per_s": ("bw", 1.0),
    "miss_bw_bytes_per_s": ("bw", 1.0),
    "iops": ("iops", 1.0),
    "iops_per_job": ("iops", 1.0),
    "lat_mean_ms": ("lat_mean", 1e6),
}
"""Quantities of a check that an estimate has: the beginning of its fields' names, and how many of its units one is."""
OF_A_LOAD = ("rw", "bs", "iodepth", "numjobs", "size")


def by_default(keep: Path, name: str, quantity: str, options: str, truth: float, latest: float) -> str:
    """What `ioatlas map` says of one load on one target, from `keep` or measured now; '' where it is no map's."""
    load = dict(word.split("=", 1) for word in options.split() if "=" in word)
    if quantity not in IN_A_MAP or load.get("rw") not in ("read", "randread") or "verify" in load:
        return ""
    record = keep / f"{name}-{quantity}-{load['rw']}-{load.get('bs', '')}.json"
    if not record.exists():
        if time.monotonic() > latest:
            sys.exit(4)
        record.write_text(json.dumps(_mapped(name, load)))
    (first, *_) = json.loads(record.read_text()) or [{}]
    field, unit = IN_A_MAP[quantity]
    ends = {"bw": ("_bytes_per_s", "_low", "_high"), "iops": ("", "", ""), "lat_mean": ("_ns", "_low_ns", "_high_ns")}
    value, low, high = (first.get(field + end) for end in ends[field])
    if not value:
        return str(first.get("problem", "no value"))
    if field == "iops" and first["bw_low"] and first["bw_high"]:  # in proportion: one block size
        low, high = (value * first[end] / first["bw_bytes_per_s"] for end in ("bw_low", "bw_high"))
    interval = f" ({low / unit:.5g} to {high / unit:.5g})" if low and high else ""
    return f"{value / unit:.5g}{interval}, {first['verdict']}, {value / unit / truth - 1:+.2%}"


def _mapped(name: str, load: dict[str, str]) -> list[dict[str, Any]]:
    """The estimates of a map of one cell."""
    with tempfile.TemporaryDirectory() as place:
        campaign = Path(place) / "campaign"
        sweep = "".join(f'{key} = "{load[key]}"\n' for key in OF_A_LOAD if key in load)
        (Path(place) / "cell.toml").write_text(f"[sweep]\n{sweep}")
        cell = ["--campaign", str(Path(place) / "cell.toml")]
        command = [TOOL, "map", "{}", "--read-only", *cell, "-o", str(campaign)]
        made = subprocess.run([TOOL, "lab", "run", name, "--", *command], check=False, capture_output=True, text=True)
        if made.returncode:
            return [{"problem": (made.stderr.strip().splitlines() or ["failed"])[-1]}]
        estimates = load_result(campaign).estimates
    fields = ("iops", "bw_bytes_per_s", "bw_low", "bw_high", "lat_mean_ns", "lat_mean_low_ns", "lat_mean_high_ns")
    return [{**{field: getattr(one, field) for field in fields}, "verdict": one.verdict.value} for one in estimates]


def row(seeds: list[dict[str, Any]], default: str) -> str:
    first, count = seeds[0], len(seeds)
    errors = sorted(one["error"] for one in seeds)
    mean = sum(errors) / count
    measured, truth = (sum(one[key] for one in seeds) / count for key in ("measured", "truth"))
    known = [one["explained"] for one in seeds if one["explained"] is not None]
    explained = f"{sum(known) / len(known):+.2%}: {seeds[-1]['because']}" if known else first["because"]
    good = sum(one["ok"] for one in seeds)
    options = first["options"]
    return (
        f"| {first['scenario']} | {first['quantity']} | `{options}` | {truth:.6g} | {measured:.6g} "
        f"{first['unit']} "
        f"| {mean:+.2%} ({errors[0]:+.2%} .. {errors[-1]:+.2%}) | {explained} | {first['remark']} | {good}/{count} "
        f"| {default} |"
    )


def main() -> None:
    latest = time.monotonic() + (float(sys.argv[2]) if len(sys.argv) > 2 else float("inf"))
    listed = json.loads(
        subprocess.run([TOOL, "lab", "list", "--json"], check=True, capture_output=True, text=True).stdout
    )
    lines, every, absent = [], [], []
    with tempfile.TemporaryDirectory() as scratch:
        keep = Path(sys.argv[1] if len(sys.argv) > 1 else scratch)
        keep.mkdir(parents=True, exist_ok=True)
        for target in listed:
            if target["missing_packages"]:
                absent.append(target["name"])
                continue
            found = outcomes(keep, target["name"], latest)
            every += found
            places: dict[tuple[str, str], list[dict[str, Any]]] = {}
            for one in found:
                places.setdefault((one["quantity"], one["options"]), []).append(one)
            lines += [
                row(seeds, by_default(keep, target["name"], quantity, options, seeds[0]["truth"], latest))
                for (quantity, options), seeds in places.items()
            ]
    print("# Truth: measured against configured\n")
    print(
        f"`.venv/bin/python bench/truth/run.py` (or `make truth`), as root; {SEEDS} seeds, plain fio, not the "
        "project's own engine.\n"
        "By default: one cell of `ioatlas map` with this load, nothing else said: value (95% interval), verdict, error."
        "\n"
    )
    print(
        "Truth is what is configured, after the burst; of a delay it is the delay plus the same path without delay, "
        "measured in turn. Explained: the part of the error that was measured apart from fio\n"
        "(how much longer than asked a sleep takes), and the share of the window's work that is in flight at its "
        "edges. The remark ends with the tolerance, relative or in the unit, and why it is wider than 1% of a rate or "
        "2% of a latency.\n"
    )
    print(
        "| target | quantity | load | truth | measured | error, mean (least .. most) | explained | remark | within "
        "| by default |\n|---|---|---|---|---|---|---|---|---|---|"
    )
    print("\n".join(lines))
    print(
        f"\n{sum(one['ok'] for one in every)} of {len(every)} values within their tolerance."
        + (f" Not measured, a package is missing: {', '.join(absent)}." if absent else "")
    )


if __name__ == "__main__":
    main()
