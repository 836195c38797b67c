# SPDX-License-Identifier: Apache-2.0
"""How much of a time the machine gave to nobody here: what a rate held for that time may have lost or caught up."""

import subprocess
import sys
import time

_METER = """
import select, sys, time
lost, step = 0.0, 0.002
print("ready", flush=True)
while not select.select([sys.stdin], [], [], 0)[0]:
    begin = time.monotonic()
    time.sleep(step)
    late = time.monotonic() - begin - step
    lost += late if late > 2 * step else 0.0
print(lost)
"""


class Pauses:
    """A process beside the load that sleeps 2 ms again and again: where it wakes late, others waited as well.

    `share` is known after the block: the part of its time that was lost so.
    """

    def __enter__(self):
        self._meter = subprocess.Popen(
            [sys.executable, "-c", _METER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._meter.stdout.readline()
        self._begin = time.monotonic()
        return self

    def __exit__(self, *_):
        seconds = time.monotonic() - self._begin
        said, _ = self._meter.communicate("\n")
        self.seconds = float(said)
        self.share = self.seconds / seconds
