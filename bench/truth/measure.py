# SPDX-License-Identifier: Apache-2.0
"""Measure lab targets with plain fio and print measured against configured. Status 3 when one is off.

The remaining difference is explained as far as possible without fio: how long a sleep takes on this machine, the work
in flight at the window's edges, chance.

    python bench/truth/measure.py bandwidth latency
    python bench/truth/measure.py array-model --set level=raid6 --set drives=8
    python bench/truth/measure.py --seeds 5          all of them, five times; says first how long it takes
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import random
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.lab_check import Outcome, check, seconds_of

from ioatlas.model.units import format_duration, parse_size_bytes
from ioatlas_lab import scenarios
from ioatlas_lab.running import missing


def setting(word: str) -> tuple[str, int | str]:
    name, sign, value = word.partition("=")
    if not sign:
        raise argparse.ArgumentTypeError(f"{word!r} is not NAME=VALUE")
    return name, parse_size_bytes(value, where=name) if name.endswith(("_bytes", "_bytes_per_s")) else value


def line(outcomes: Sequence[Outcome]) -> str:
    """One value: configured, mean measured, error over the seeds, what of it is explained."""
    first, count = outcomes[0], len(outcomes)
    good = sum(one.ok for one in outcomes)
    verdict = "ok " if good == count else "OFF"
    measured = sum(one.measured for one in outcomes) / count
    errors = sorted(one.error for one in outcomes)
    mean = sum(errors) / count
    spread = f" ({errors[0]:+.2%} .. {errors[-1]:+.2%})" if count > 1 else ""
    left = f"{mean:+.2%}{spread}" if any(errors) else "exact"
    known = [one.explained for one in outcomes if one.explained is not None]
    if known:
        explained = sum(known) / len(known)
        why = f"; explained {explained:+.2%}: {outcomes[-1].because}; unexplained {mean - explained:+.2%}"
    else:
        why = f"; {first.because}" if first.because else ""
    seeds = f" {good}/{count}" if count > 1 else ""
    return (
        f"{verdict}{seeds} {first.scenario:<15} {first.quantity:<19} configured {first.truth:<11.6g} measured "
        f"{measured:<11.6g} {first.unit:<8} {left}{why}  [{first.options}] {first.remark}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--seeds", type=int, default=1, help="measure so often, with other offsets and orders")
    parser.add_argument("--set", dest="settings", action="append", type=setting, default=[], metavar="NAME=VALUE")
    parser.add_argument("--json", action="store_true", help="one JSON object for each value and seed, one a line")
    options = parser.parse_args()
    registry, settings = scenarios(), dict(options.settings)
    if settings and not options.names:
        parser.error("--set needs the names of targets")
    possible = [
        name for name, one in registry.items() if not missing(one) and (os.geteuid() == 0 or not one.needs_root)
    ]
    names = options.names or possible
    takes = options.seeds * sum(seconds_of(name, settings) for name in names)
    print(f"{len(names)} targets, {options.seeds} seeds: about {format_duration(takes)}", file=sys.stderr)
    found: dict[tuple[str, str, str], list[Outcome]] = {}
    for seed in range(1, options.seeds + 1):
        for name in random.Random(seed).sample(names, len(names)):
            for outcome in check(name, seed, settings):
                found.setdefault((name, outcome.quantity, outcome.options), []).append(outcome)
                if options.json:
                    print(json.dumps(dataclasses.asdict(outcome)), flush=True)
    if not options.json:
        for place in sorted(found, key=lambda place: (list(registry).index(place[0]), place[1:])):
            print(line(found[place]))
    if not options.names and set(possible) != set(registry):
        left_out = ", ".join(name for name in registry if name not in possible)
        print(f"not measured here (package or root missing): {left_out}", file=sys.stderr)
    every = [outcome for outcomes in found.values() for outcome in outcomes]
    off = sum(not outcome.ok for outcome in every)
    print(f"{len(every) - off} of {len(every)} measured values within their tolerance", file=sys.stderr)
    return 3 if off else 0


if __name__ == "__main__":
    sys.exit(main())
