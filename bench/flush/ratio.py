# SPDX-License-Identifier: Apache-2.0
"""How much longer a log's flush takes that grows its file than one of 4 KiB that are overwritten, as a map measures
them: on directories of the kinds of `run.py`, drawn by a seed, with fio alone.

    python bench/flush/ratio.py [--targets 24] [--seed N] [--seconds 2] [--only WORD]
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import random
import secrets
import statistics
import subprocess
import sys
from pathlib import Path

from bench.flush.run import HONEST, LIARS, built

ROUNDS = 3
FLUSHED = ("--rw=randwrite", "--bs=4k", "--direct=1", "--fsync=1", "--size=16m")
LOGS = {
    "etcd's log": ("--rw=write", "--bs=2300", "--fdatasync=1", "--size=220m"),
    "8,000 B and fsync": ("--rw=write", "--bs=8000", "--fsync=1", "--size=220m"),
}


def flush(directory: Path, name: str, load: tuple[str, ...], seconds: float, *, grows: bool) -> tuple[float, float]:
    """Mean and p99 of a write with its flush, in ms; of a log, whose write the page cache takes, p99 of the flush."""
    place = directory / name.replace(" ", "").replace(",", "")
    if grows:
        place.unlink(missing_ok=True)
    elif not place.exists():
        place.write_bytes(random.randbytes(16 << 20))
    told = subprocess.run(
        [
            *("fio", "--name=x", f"--filename={place}", *load, "--output-format=json", "--ioengine=psync"),
            *("--time_based", f"--runtime={seconds}", *(["--file_append=1"] if grows else ["--overwrite=1"])),
        ],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    job = json.loads(told[told.index("{") :])["jobs"][0]
    write, sync = job["write"]["clat_ns"], job["sync"]["lat_ns"]
    p99s = [one["percentile"]["99.000000"] for one in ([sync] if grows else [sync, write]) if one["N"]]
    return (write["mean"] + sync["mean"]) / 1e6, max(1.0, sum(p99s)) / 1e6


def spread(values: list[float]) -> str:
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})" if values else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--targets", type=int, default=24)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**6))
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--only", default="")
    asked = parser.parse_args()
    draw = random.Random(asked.seed)
    kinds = [(lies, *one) for lies, some in ((True, LIARS), (False, HONEST)) for one in some.items()]
    kinds = [one for one in kinds if asked.only in one[1] and not one[1].startswith(("nbdkit", "NBD", "qemu", "zram"))]
    order = [one for _ in range(-(-asked.targets // len(kinds))) for one in draw.sample(kinds, len(kinds))]
    print(f"seed {asked.seed}\n\n| target | | mean, ms | p99, ms | p99 again | log | mean | p99 |", flush=True)
    print("|---|---|---|---|---|---|---|---|")
    found: dict[tuple[bool, str], list[tuple[float, float]]] = {}
    again = []
    for number, (lies, name, make) in enumerate(order[: asked.targets]):
        try:
            with built(make, random.Random(f"{asked.seed} {number}")) as place:
                if not Path(place.where).is_dir() or place.environment:
                    continue
                where = Path(place.where)
                rounds = []
                for _ in range(ROUNDS):
                    plain = flush(where, "flushed", FLUSHED, asked.seconds, grows=False)
                    rounds.append((plain, [flush(where, log, LOGS[log], asked.seconds, grows=True) for log in LOGS]))
        except (subprocess.CalledProcessError, OSError) as error:
            print(f"{name}: {error} {getattr(error, 'stderr', '')}", file=sys.stderr, flush=True)
            continue
        base = [statistics.median(plain[at] for plain, _ in rounds) for at in (0, 1)]
        again += [abs(math.log(a[0][1] / b[0][1])) for a, b in itertools.pairwise(rounds)]
        for at, log in enumerate(LOGS):
            ratios = [statistics.median(logs[at][what] for _, logs in rounds) / base[what] for what in (0, 1)]
            found.setdefault((lies, log), []).append((ratios[0], ratios[1]))
            moved = max(one[1] for one, _ in rounds) / min(one[1] for one, _ in rounds)
            row = f"{name} | {'liar' if lies else 'honest'} | {base[0]:.3g} | {base[1]:.3g} | {moved:.2f} | {log}"
            print(f"| {row} | {ratios[0]:.2f} | {ratios[1]:.2f} |", flush=True)
    print()
    for (lies, log), ratios in sorted(found.items()):
        means, p99s = ([one[at] for one in ratios] for at in (0, 1))
        who = "liars" if lies else "honest"
        print(f"{who}, {log}: {len(ratios)} targets, mean {spread(means)}, p99 {spread(p99s)}")
    print(f"p99 of the same load from one run to the next: {spread([math.exp(one) for one in again])} times")


if __name__ == "__main__":
    main()
