# SPDX-License-Identifier: Apache-2.0
"""How imported figures came about, as far as their sources tell: what has to stand beside a chart of several tools."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from ioatlas.interop.read.formats import TOOLS
from ioatlas.model.imported_reading import ImportedReading
from ioatlas.model.units import format_duration

UNKNOWN = "not told"
_UNITS = {tool.lower(): units for tool, units in TOOLS.items() if units}
_NO = frozenset({"0", "false", "no", "off", "disabled", "n", "none", ""})


def caching(reading: ImportedReading) -> str:
    """'direct', 'buffered' or 'not told': whether the client's page cache was passed by."""
    told = reading.details.get("direct")
    if told is not None:
        return "buffered" if str(told).strip().lower() in _NO else "direct"
    command = str(reading.details.get("command") or "")
    settings = " ".join(str(item) for item in reading.details.get("settings") or ())
    if reading.tool == "fio":
        # fio prints every option that was given: without `direct` it was the default.
        return "buffered" if "ioengine" in reading.details or "filename" in reading.details else UNKNOWN
    if reading.tool == "iozone" and (command or settings):
        return "direct" if "O_DIRECT" in settings or re.search(r"(?:^|\s)-I\b", command) else "buffered"
    if reading.tool == "diskspd" and command:
        flags = re.findall(r"(?:^|\s)[-/](Sh|Su\w*|h|S)(?=\s|$)", command)
        return "direct" if flags else "buffered"
    if reading.tool == "elbencho" and command:
        return "direct" if re.search(r"--direct\b", command) else "buffered"
    if reading.tool == "ior" and command:
        return "direct" if re.search(r"\s-B\b|--posix\.odirect", command) else "buffered"
    return UNKNOWN


def statistic(reading: ImportedReading) -> str:
    """'single run', 'mean of 3 runs', 'best of 5 runs', 'statistic not told'."""
    word = reading.statistic.split()[0]
    if word in ("mean", "best"):
        return f"{word} of {reading.n} runs" if reading.n else f"{word} of several runs"
    return "single run" if word == "single" else "statistic not told"


def methods(readings: Iterable[ImportedReading]) -> dict[str, str]:
    """What is known of how a set of readings was measured: name of the fact to its value, or several values in one
    text.
    """
    found: dict[str, dict[str, None]] = {}
    seconds: list[float] = []
    for reading in readings:
        facts = {
            "tool": "ioatlas with fio"
            if reading.tool == "ioatlas"
            else f"{reading.tool} {reading.tool_version or '(version not told)'}",
            "page cache": caching(reading),
            "statistic": statistic(reading),
            "mean latency": (reading.latency.kind or UNKNOWN) if reading.latency.mean_ns is not None else None,
            "p99 latency": (reading.latency.kind or UNKNOWN) if reading.latency.p99_ns is not None else None,
            "engine": str(reading.details["ioengine"]) if reading.details.get("ioengine") else None,
            "units": _UNITS.get(reading.tool),
        }
        for name, value in facts.items():
            if value is not None:
                found.setdefault(name, {})[value] = None
        if reading.runtime_seconds is not None:
            seconds.append(reading.runtime_seconds)
    told = {name: several(sorted(values) if name == "engine" else list(values)) for name, values in found.items()}
    return {**told, "running time": _span(min(seconds), max(seconds)) if seconds else UNKNOWN}


def differences(sets: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """{fact: who has which value} of the facts in which the sets are not alike, or cannot be known to be."""
    names = list(dict.fromkeys(name for facts in sets.values() for name in facts))
    found = {}
    for name in names:
        by_value: dict[str, list[str]] = {}
        for label, facts in sets.items():
            by_value.setdefault(facts.get(name, "no figure"), []).append(label)
        if len(by_value) > 1:
            found[name] = "; ".join(f"{value} ({several(labels, 4)})" for value, labels in by_value.items())
    return found


def several(values: Sequence[str], most: int = 6) -> str:
    shown = ", ".join(values[:most])
    return shown if len(values) <= most else f"{shown} and {len(values) - most} more"


def _span(low: float, high: float) -> str:
    first, last = format_duration(low), format_duration(high)
    return first if first == last else f"{first} to {last}"
