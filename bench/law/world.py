# SPDX-License-Identifier: Apache-2.0
"""The whole command line on a simulated target, in virtual time."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from parts import Physics
from physics import SteppedDevice
from tests.command_line import call
from tests.simulate.executor import SimulatedExecutor
from tests.unit.simulated import environment


@dataclass(frozen=True)
class Shown:
    """What `ioatlas show DIR --json` says. virtual: seconds on the target's clock; real: of the processor."""

    told: dict[str, Any]
    screen: str
    virtual: float
    real: float
    problem: str = ""


def mapped(physics: Physics, *options: str, keep: Path | None = None) -> Shown:
    """`ioatlas map DIRECTORY` with no option but those given. keep: where the campaign stays."""
    executor = SimulatedExecutor(device=SteppedDevice(physics))
    began = time.process_time()
    with tempfile.TemporaryDirectory(prefix="ioatlas-law-") as folder:
        target, campaign = Path(folder) / "target", Path(folder) / "campaign"
        target.mkdir()
        with (
            mock.patch("ioatlas.measure.campaign.system_environment", return_value=environment(executor)),
            mock.patch("ioatlas.measure.campaign.SystemExecutor", return_value=executor),
            # A simulated file is sparse, and is read as if it were not.
            mock.patch("ioatlas.target.sites.hole_bytes", return_value=0),
            mock.patch("ioatlas.measure.run.conditions.has_holes", return_value=False),
        ):
            done = call("map", target, "-o", campaign, *options, COLUMNS="100")
            shown = call("show", campaign, "--json", COLUMNS="100")
        if keep:
            shutil.rmtree(keep, ignore_errors=True)
            shutil.copytree(campaign, keep)
    told = json.loads(shown.stdout) if shown.returncode == 0 else {}
    problem = "" if done.returncode == 0 and told else f"exit {done.returncode}: {done.stderr.strip()[-300:]}"
    return Shown(told, done.stdout, executor.clock.monotonic(), time.process_time() - began, problem)
