# SPDX-License-Identifier: Apache-2.0
"""A work on a simulated target: its commands are not run, its time follows from the target's law."""

from __future__ import annotations

import json
import random
import re
from dataclasses import dataclass
from pathlib import Path

from tests.simulate.law import Law

WORK_IOS = 40_000
"""Random writes that every work stands for."""
SETUP_SECONDS = 2.0


@dataclass(frozen=True)
class SimulatedWork:
    """What a driver would leave, and how long it takes."""

    result: str
    printed: str
    seconds: float


def simulated_work(directory: Path, law: Law, now: float, trouble: str = "") -> SimulatedWork:
    """The work whose request lies in `directory`. now: seconds since the epoch. A work whose command is `false` fails,
    and each that has trouble, which it says; what follows `figure:` in its command is printed with the rate.
    """
    request = json.loads((directory / "request.json").read_text(encoding="utf-8"))
    command = str(request["command"])
    generator = random.Random(f"{request['seed']} {command}")
    rate = (law.random_write or law.write).iops
    seconds = WORK_IOS / rate * generator.lognormvariate(0.0, law.noise)
    failed = command.strip() == "false" or bool(trouble)
    if trouble:
        (directory / "command.err").write_text(trouble + "\n")
    at, phases = now, {}
    for name, lasts in (("setup", SETUP_SECONDS), ("command", seconds), ("cleanup", 0.1)):
        if not request[name] or (request["only_cleanup"] and name != "cleanup"):
            continue
        code = int(failed and name == "command")
        times = {"seconds": lasts, "user_seconds": lasts / 10, "system_seconds": lasts / 20}
        phases[name] = {"started_at": at, "exit_code": code, **times}
        at += lasts
    why = {"failed": "command", "why": "it ended with 1"} if failed else {"failed": "", "why": ""}
    record = {"phases": phases, **why, "cleaned": True, "run": ""}
    word = re.search(r"figure: (\w+)", command)
    printed = f"{word[1]} = {WORK_IOS / seconds:.6f}\n" if word else ""
    return SimulatedWork(json.dumps(record), printed, at - now)
