# SPDX-License-Identifier: Apache-2.0
"""Edits journals of every procedure at random for as long as one likes; what is wrong is told with its seed.

python bench/foreign/run.py [SECONDS] [FIRST-SEED]        default: 600 1
"""

import os
import sys
import tempfile
import time
from collections import Counter
from itertools import count
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.unit.foreign import Fuzzer, bases


def main(seconds: float, first: int) -> int:
    with tempfile.TemporaryDirectory(prefix="ioatlas-foreign-") as folder:
        place = Path(folder)
        (place / "outside").mkdir()
        os.environ["XDG_STATE_HOME"] = str(place / "state")
        (place / "outside" / "victim").write_text("kept")
        fuzzer = Fuzzer(place, bases(place))
        ended: Counter[int] = Counter()
        wrong, longest = 0, 0.0
        for told, outcome in fuzzer.many(count(first), time.monotonic() + seconds):
            ended[outcome.code] += 1
            longest = max(longest, outcome.seconds)
            if outcome.what:
                wrong += 1
                print(told, outcome.what, sep="\n  ", flush=True)
        statuses = ", ".join(f"{number} with status {code}" for code, number in sorted(ended.items()))
        print(f"{sum(ended.values())} edited directories: {statuses}; longest {longest:.1f} s; {wrong} wrong")
    return bool(wrong)


if __name__ == "__main__":
    given = [float(one) for one in sys.argv[1:]]
    sys.exit(main(*(given[:1] or [600.0]), int((given[1:] or [1])[0])))
