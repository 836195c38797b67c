# SPDX-License-Identifier: Apache-2.0
"""What a campaign file says of the replay of a trace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from ioatlas.config.options import PATH, Axes, Constants, Option, Table
from ioatlas.config.spec import CampaignSpec
from ioatlas.model.cell import TRACE, TRACE_SECONDS

TRACE_FILE = "trace.iolog"
"""Name of the copy in the campaign's directory."""
TRACE_SUMMARY = frozenset({TRACE, TRACE_SECONDS, "rw", "bs", "size", "iodepth"})
"""What a trace settles of its cells."""


@dataclass(frozen=True)
class TraceOptions(Table):
    """A timed trace instead of a sweep."""

    trace: Annotated[
        str,
        Option(
            PATH,
            "Replay a timed trace (fio's version 3 log) instead of a sweep. Latencies count from the time each I/O "
            "was due.",
            flag=True,
        ),
    ] = ""

    @property
    def brings_load(self) -> bool:
        return bool(self.trace)

    def entries(self, spec: CampaignSpec | None = None) -> dict[str, Any]:  # noqa: ARG002
        return {"trace": TRACE_FILE} if self.trace else {}

    def swept(self, axes: Axes, constants: Constants) -> tuple[Axes, Constants]:
        if not self.trace:
            return axes, constants
        return axes, {option: value for option, value in constants.items() if option not in TRACE_SUMMARY}
