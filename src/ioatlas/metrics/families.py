# SPDX-License-Identifier: Apache-2.0
"""The metrics there are: names, units and words by Prometheus' conventions, and their text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class Family:
    """One metric. name: without `_total`, which a counter's samples get."""

    name: str
    kind: Literal["gauge", "counter"]
    help: str

    @property
    def sample(self) -> str:
        return f"{self.name}_total" if self.kind == "counter" else self.name


FAMILIES = (
    Family("ioatlas_session_running", "gauge", "Whether a session measures now."),
    Family("ioatlas_session_start_timestamp_seconds", "gauge", "When the session began."),
    Family("ioatlas_session_elapsed_seconds", "gauge", "Time the session has taken."),
    Family("ioatlas_session_remaining_seconds", "gauge", "Time the session is expected to take still."),
    Family("ioatlas_session_visits_planned", "gauge", "Visits still to be made."),
    Family("ioatlas_visits", "counter", "Visits made, by whether they count."),
    Family("ioatlas_layout_written_bytes", "gauge", "Bytes of files written before the load."),
    Family("ioatlas_visit_throughput_bytes_per_second", "gauge", "Throughput of the cell's newest visit."),
    Family("ioatlas_visit_ios_per_second", "gauge", "I/Os per second of the cell's newest visit."),
    Family("ioatlas_visit_latency_mean_seconds", "gauge", "Mean latency of the cell's newest visit."),
    Family("ioatlas_visit_latency_p99_seconds", "gauge", "99th percentile of the newest visit."),
    Family("ioatlas_watch_rounds", "counter", "Rounds of a watch in this call, by result."),
    Family("ioatlas_watch_alarms", "counter", "Alarms of a watch in this call."),
    Family("ioatlas_watch_round_duration_seconds", "gauge", "Time the newest round took."),
    Family("ioatlas_watch_round_timestamp_seconds", "gauge", "When the newest round began."),
    Family("ioatlas_watch_level_ratio", "gauge", "The newest round over the level that holds."),
    Family("ioatlas_watch_fits", "gauge", "Whether the target fits a use: 1, or 0; NaN is undecided."),
    Family("ioatlas_watch_fit_margin_ratio", "gauge", "How many times what a use needs the target has."),
    Family("ioatlas_watch_evidence_ratio", "gauge", "Evidence that a cell got worse; 1 is an alarm."),
)
_BY_NAME = {family.name: family for family in FAMILIES}
Labels = tuple[tuple[str, str], ...]


@dataclass
class Values:
    """The newest value of each metric and set of labels."""

    _values: dict[str, dict[Labels, float]] = field(default_factory=dict)

    def set(self, name: str, value: float, labels: Mapping[str, object] | None = None) -> None:
        """Raises KeyError for a metric that is not declared."""
        self._values.setdefault(_BY_NAME[name].name, {})[_labels(labels)] = float(value)

    def add(self, name: str, labels: Mapping[str, object] | None = None) -> None:
        """One more of a counter."""
        counts = self._values.setdefault(_BY_NAME[name].name, {})
        counts[_labels(labels)] = counts.get(_labels(labels), 0.0) + 1

    def text(self) -> str:
        """All of it, in Prometheus' text format."""
        lines: list[str] = []
        for family in FAMILIES:
            samples = sorted(self._values.get(family.name, {}).items())
            if samples:
                lines += [f"# HELP {family.sample} {family.help}", f"# TYPE {family.sample} {family.kind}"]
                lines += [f"{family.sample}{_shown(labels)} {value!r}" for labels, value in samples]
        return "\n".join(lines) + "\n"


def _labels(labels: Mapping[str, object] | None) -> Labels:
    return tuple((name, str(value)) for name, value in (labels or {}).items())


def _shown(labels: Labels) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels) + "}"


def _escaped(value: str) -> str:
    return re.sub(r'["\\\n]', lambda found: {"\n": "\\n"}.get(found[0], "\\" + found[0]), value)
