# SPDX-License-Identifier: Apache-2.0
"""What is measured now, for Prometheus: listens to a session's events and keeps the metrics in a file, for
node_exporter's textfile collector. Names, units and words are by Prometheus' conventions.
"""

from __future__ import annotations

import contextlib
import os
import re
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from ioatlas.model.errors import RefusedError, UsageError
from ioatlas.model.outcomes import Emit, Event
from ioatlas.store import confined
from ioatlas.store.toml import shipped


@dataclass(frozen=True)
class Family:
    """One metric. name: without `_total`, which a counter's samples get."""

    name: str
    kind: Literal["gauge", "counter"]
    help: str

    @property
    def sample(self) -> str:
        return f"{self.name}_total" if self.kind == "counter" else self.name


FAMILIES = tuple(Family(**one) for one in shipped("ioatlas.report", "metrics.toml")["family"])
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
        told = ""
        for one in FAMILIES:
            samples = sorted(self._values.get(one.name, {}).items())
            told += exposed(one.sample, one.kind, one.help, [("", *each) for each in samples])
        return told


_ESCAPED = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


def exposed(name: str, kind: str, said: str, samples: Sequence[tuple[str, Labels, float]]) -> str:
    """One metric in Prometheus' text format, if it has a sample. samples: what follows the name, labels, value."""
    lines = [f"# HELP {name} {said}", f"# TYPE {name} {kind}"]
    lines += [f"{name}{part}{_shown(labels)} {value!r}" for part, labels, value in samples]
    return "\n".join(lines) + "\n" if samples else ""


def _labels(labels: Mapping[str, object] | None) -> Labels:
    return tuple((name, str(value)) for name, value in (labels or {}).items())


def _shown(labels: Labels) -> str:
    told = ",".join(f'{name}="{value.translate(_ESCAPED)}"' for name, value in labels)
    return f"{{{told}}}" if told else ""


RENEW_SECONDS = 5.0
_PORT = re.compile(r"(\[[0-9a-fA-F:]+\]|[A-Za-z0-9.-]*):\d{1,5}")
_MET, _UNKNOWN = {"pass": 1.0, "fail": 0.0}, float("nan")
_UNITS = {"ns": ("seconds", 1e-9), "B/s": ("bytes_per_second", 1.0), "1/s": ("ios_per_second", 1.0), "": ("ratio", 1.0)}
_CELL = ("target", "rw", "bs_bytes", "size_bytes", "numjobs", "iodepth")


class Metrics:
    """The metrics of one call, in the file `place`. Raises IoAtlasError for one that cannot be used."""

    def __init__(self, place: Path) -> None:
        self._values, self._lock, self._written = Values(), threading.Lock(), float("-inf")
        self._file = check_place(place)
        self._values.set("ioatlas_session_running", 1)
        self._values.set("ioatlas_session_start_timestamp_seconds", time.time())
        self._write()

    def __call__(self, event: Event) -> None:
        with self._lock:
            self._take(event.name, event.fields)
        if time.monotonic() - self._written >= RENEW_SECONDS or event.name in ("watched", "alarm", "fits"):
            self._write()

    def behind(self, then: Emit) -> Emit:
        """A listener that hands each event on."""

        def both(event: Event) -> None:
            then(event)
            self(event)

        return both

    def close(self) -> None:
        """The call is over: the file says so."""
        with self._lock:
            self._values.set("ioatlas_session_running", 0)
        self._write()

    def _take(self, name: str, told: Mapping[str, Any]) -> None:
        match name:
            case "progress":
                self._values.set("ioatlas_session_elapsed_seconds", told.get("elapsed_seconds") or 0.0)
                self._values.set("ioatlas_session_remaining_seconds", told.get("seconds_left") or 0.0)
                self._values.set("ioatlas_session_visits_planned", told.get("visits_planned") or 0)
            case "layout":
                labels = {"target": told.get("target", "")}
                self._values.set("ioatlas_layout_written_bytes", told.get("bytes_done") or 0, labels)
            case "visit":
                self._visit(told)
            case "discarded":
                self._values.add("ioatlas_visits", {"target": told["target"], "result": "discarded"})
            case "watched":
                self._round(told)
            case "alarm":
                self._values.add("ioatlas_watch_alarms", {"target": told["target"]})
            case "fits":
                self._fits(told["fits"])

    def _visit(self, told: Mapping[str, Any]) -> None:
        labels = {**{name: told[name] for name in _CELL}, "direction": told["direction"]}
        self._values.add("ioatlas_visits", {"target": told["target"], "result": "counted"})
        self._values.set("ioatlas_visit_throughput_bytes_per_second", told["bw_bytes_per_s"], labels)
        self._values.set("ioatlas_visit_ios_per_second", told["iops"], labels)
        for key, name in (("lat_mean_ns", "mean"), ("lat_p99_ns", "p99")):
            if told.get(key) is not None:
                self._values.set(f"ioatlas_visit_latency_{name}_seconds", told[key] / 1e9, labels)

    def _round(self, told: Mapping[str, Any]) -> None:
        labels = {"target": told["target"]}
        self._values.add("ioatlas_watch_rounds", {**labels, "result": "failed" if told["failed"] else "measured"})
        self._values.set("ioatlas_watch_round_duration_seconds", told["seconds"], labels)
        self._values.set("ioatlas_watch_round_timestamp_seconds", told["began"], labels)
        for chart in told["charts"]:
            cell = {**labels, "cell": chart["name"]}
            self._values.set("ioatlas_watch_level_ratio", chart["last"] / chart["level"], cell)
            self._values.set("ioatlas_watch_evidence_ratio", chart["evidence"], cell)
        for fit in told.get("fits", ()):
            use = {**labels, "use": fit["use"]}
            self._values.set("ioatlas_watch_fits", _MET.get(fit["answer"], _UNKNOWN), use)
            self._values.set("ioatlas_watch_fit_margin_ratio", fit["margin"] or _UNKNOWN, use)

    def _fits(self, fits: Sequence[Mapping[str, Any]]) -> None:
        for fit in fits:
            for one in fit["requirements"]:
                labels = {"target": fit["target"], "use": fit["use"], "requirement": one["requirement"]}
                self._values.set("ioatlas_fit_requirement_met", _MET.get(one["answer"], _UNKNOWN), labels)
                self._values.set("ioatlas_fit_requirement_margin_ratio", one["margin"] or _UNKNOWN, labels)
                unit, times = _UNITS[one["unit"]]
                for name in ("value", "limit"):
                    value = _UNKNOWN if one[name] is None else times * one[name]
                    self._values.set(f"ioatlas_fit_requirement_{name}", value, labels | {"unit": unit})

    def _write(self) -> None:
        """In one step, so that nobody reads half of it. A disk that is full must not end a session."""
        self._written = time.monotonic()
        with self._lock:
            text = self._values.text()
        with contextlib.suppress(OSError):
            confined.write_text(self._file, text, in_root=True)


def check_place(path: Path) -> Path:
    """Before anything is begun. Raises IoAtlasError for a file that cannot be used."""
    if _PORT.fullmatch(str(path)):
        raise UsageError(
            "metrics are no longer served on a port",
            where=f"--metrics {path}",
            remedy="name a file (.prom) in the folder of node_exporter's textfile collector",
        )
    if not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise UsageError(
            "its directory is not there or cannot be written to", where=f"--metrics {path}", remedy="make it first"
        )
    if confined.is_ordinary(path) and not confined.read_text(path).startswith("# HELP ioatlas_"):
        raise RefusedError("this file was not written by --metrics", where=str(path), remedy="name another")
    return path
