# SPDX-License-Identifier: Apache-2.0
"""All rows of all campaigns as one table, and what its columns mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ioatlas.model.result import CampaignResult
from ioatlas.report.export import markup
from ioatlas.report.redact import redactor
from ioatlas.report.table import columns, rows

Kind = Literal["string", "integer", "number"]


@dataclass(frozen=True)
class Meaning:
    """text: in words, with Markdown. unit: SI, '' where it has none. kind: as Frictionless Table Schema names it."""

    text: str
    unit: str = ""
    kind: Kind = "string"


MEANINGS = {
    "target": Meaning("the target's name in the campaign"),
    "rw": Meaning("fio's `rw`"),
    "bs_bytes": Meaning("block size of this direction; empty for a mix of sizes (`bssplit`)", "B", "integer"),
    "size_bytes": Meaning("bytes of the file or device that the load covers", "B", "integer"),
    "numjobs": Meaning("as in fio", "", "integer"),
    "iodepth": Meaning("as in fio", "", "integer"),
    "direction": Meaning("read, write or trim"),
    "kind": Meaning("measured, predicted or imported; empty without a value"),
    "n_visits": Meaning("independent starts of the load that the value comes from", "", "integer"),
    "bw_bytes_per_s": Meaning("throughput, bytes a second", "B/s", "number"),
    "bw_low": Meaning("lower end of its 95% interval over visits", "B/s", "number"),
    "bw_high": Meaning("upper end", "B/s", "number"),
    "iops": Meaning("I/Os a second", "1/s", "number"),
    "lat_mean_ns": Meaning("mean latency, nanoseconds", "ns", "number"),
    "lat_p99_ns": Meaning("99th percentile of latency, nanoseconds", "ns", "number"),
    "lat_kind": Meaning(
        "total (submission to completion), flushed (to the end of the flush that a write waits for), "
        "intended (from when the I/O was due), or completion"
    ),
    "verdict": Meaning("what the value is worth, or why there is none"),
    "method": Meaning("what computed the value: id/version"),
    "iops_low": Meaning("lower end of the interval of `iops`", "1/s", "number"),
    "iops_high": Meaning("upper end", "1/s", "number"),
    "lat_mean_low_ns": Meaning("lower end of the interval of the mean latency", "ns", "number"),
    "lat_mean_high_ns": Meaning("upper end", "ns", "number"),
    "lat_p99_low_ns": Meaning("lower end of the interval of the 99th percentile", "ns", "number"),
    "lat_p99_high_ns": Meaning("upper end", "ns", "number"),
    "loop": Meaning("closed: the next I/O waits for an answer; open: I/Os are due at times of their own"),
    "window_seconds": Meaning("length of the windows kept", "s", "number"),
    "cut_seconds": Meaning("length of the warm-up cut before them", "s", "number"),
    "n_discarded": Meaning("windows discarded", "", "integer"),
    "seeds": Meaning("seeds of the visits, separated by blanks"),
    "notes": Meaning("remarks, separated by semicolons"),
    "limit": Meaning("what limits the cell; see [What limits a cell](../method/limits.md)"),
    "limit_share": Meaning("how far that is used", "", "number"),
    "limit_next": Meaning("what comes next"),
    "limit_next_share": Meaning("how far that is used", "", "number"),
    "limit_evidence": Meaning("why"),
    "limit_probability": Meaning("how probable that limit is; empty where it is undetermined", "", "number"),
    "ceiling": Meaning("the tightest bound known of the cell: of its path, or of the target by its law"),
    "ceiling_bytes_per_s": Meaning("that bound, bytes a second", "B/s", "number"),
    "watts": Meaning("power of the target during the cell's visits", "W", "number"),
    "iops_per_watt": Meaning("I/Os a second for each watt", "1/s/W", "number"),
    "bw_bytes_per_s_per_watt": Meaning("bytes a second for each watt", "B/s/W", "number"),
    "sharing": Meaning("shared: one file for all jobs; private: one for each"),
    "state": Meaning("what the file or device held before the load"),
    "footprint_bytes": Meaning("bytes really covered", "B", "integer"),
    "written_before_bytes": Meaning("bytes written to that footprint since it was prepared", "B", "integer"),
    "cell": Meaning("the cell's key"),
    "n_repeats": Meaning("imported readings that the value is the mean of; empty for others", "", "integer"),
    "bw_sd": Meaning("standard deviation of imported repeats", "B/s", "number"),
    "iops_sd": Meaning("standard deviation of imported repeats", "1/s", "number"),
    "lat_mean_sd_ns": Meaning("standard deviation of imported repeats", "ns", "number"),
    "lat_p99_sd_ns": Meaning("standard deviation of imported repeats", "ns", "number"),
    "n_clients": Meaning("clients that made the load together; empty for one", "", "integer"),
    "client_bw_bytes_per_s": Meaning("throughput of each client, bytes a second: NAME=VALUE, separated by semicolons"),
    "client_low_bytes_per_s": Meaning("throughput of the client that got least", "B/s", "number"),
    "client_high_bytes_per_s": Meaning("throughput of the client that got most", "B/s", "number"),
    "jain_index": Meaning("Jain's fairness index of the clients: 1 when all get the same", "", "number"),
    "skew_ms": Meaning("largest time between the first and the last client's start", "ms", "number"),
    "finish_spread_ms": Meaning("largest time between the first and the last client's end", "ms", "number"),
    "n_targets": Meaning("targets that were loaded at once; empty for one alone", "", "integer"),
    "target_bw_bytes_per_s": Meaning("throughput of each target, bytes a second: NAME=VALUE, separated by semicolons"),
    "target_low_bytes_per_s": Meaning("throughput of the target that got least", "B/s", "number"),
    "target_high_bytes_per_s": Meaning("throughput of the target that got most", "B/s", "number"),
    "target_jain_index": Meaning("Jain's fairness index of the targets: 1 when all get the same", "", "number"),
    "target_first_done": Meaning("target that was done first, on average"),
    "target_last_done": Meaning("target that was done last, on average"),
    "grade": Meaning("how far the value is to be believed: good, fair or low; empty where that was not worked out"),
    "grade_reason": Meaning("why it is less than good"),
}
"""By column. Columns of other options that differ between cells are in fio's names."""


NAME = "name of the campaign"

Value = str | int | float | None


def table(results: Sequence[CampaignResult]) -> tuple[tuple[str, ...], list[dict[str, Value]]]:
    """(columns, rows); a column that one campaign lacks is None there. The first column names the campaign."""
    names = list(dict.fromkeys(name for result in results for name in columns(result)))
    found = []
    for result in results:
        clean = redactor(result.targets)
        for row in rows(result):
            values = {name: _plain(row.get(name)) for name in names}
            found.append({"campaign": clean(result.name), **values})
    return ("campaign", *names), found


def _plain(value: object) -> Value:
    if isinstance(value, (tuple, list)):
        return "; ".join(map(str, value))
    return value if value is None or isinstance(value, (str, int, float)) else str(value)


def meaning(name: str, found: Sequence[Mapping[str, Value]]) -> Meaning:
    """What a column means. Of an option that is not in the dictionary the type is that of its values."""
    if name == "campaign":
        return Meaning(NAME)
    if name in MEANINGS:
        return MEANINGS[name]
    values = [row[name] for row in found if row[name] is not None]
    kinds = {type(value) for value in values}
    kind = "integer" if kinds == {int} else "number" if kinds and kinds <= {int, float} else "string"
    return Meaning(f"fio's `{name}`", "", kind)  # type: ignore[arg-type]


def csv_text(names: Sequence[str], found: Sequence[Mapping[str, Value]]) -> str:
    return markup.csv_text(names, ([row[name] for name in names] for row in found))
