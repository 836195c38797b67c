# SPDX-License-Identifier: Apache-2.0
"""Whether stated limits are right: lab targets with a known limit, mapped; the table, what each answer rests on, and
how often it was withheld.

    python bench/attribution/run.py [ROW or SCENARIO ...] [--visits N]     root for the links and drives; ten minutes

Exits with 3 when a limit was confidently called by a wrong name.
"""

import argparse
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from attributed import attributed, confidently_wrong, table, verdict_lines
from limit_cases import CASES

from ioatlas_lab import scenarios
from ioatlas_lab.running import missing


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", nargs="*", metavar="ROW", help="of a row or of a scenario; all without one")
    parser.add_argument("--visits", type=int, default=1, help="least visits of every cell; default: as each row says")
    options = parser.parse_args()
    asked = set(options.rows)
    if unknown := asked - {name for case in CASES for name in (case.name, case.scenario)}:
        parser.error(f"there is no row {min(unknown)!r}; rows are {'; '.join(case.name for case in CASES)}")
    outcomes = []
    for case in CASES:
        if asked and not asked & {case.name, case.scenario}:
            continue
        scenario = scenarios()[case.scenario]
        if missing(scenario) or (scenario.needs_root and os.geteuid() != 0):
            print(f"not measured here (package or root missing): {case.scenario}", file=sys.stderr)
            continue
        one = attributed(case, options.visits)
        outcomes.append(one)
        print(f"{one.verdict:<9} {case.scenario}: {case.name}: {one.attributed}; {'; '.join(one.evidence)}", flush=True)
    print("\n".join([*table(outcomes), "", *verdict_lines(outcomes)]))
    return 3 if confidently_wrong(outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
