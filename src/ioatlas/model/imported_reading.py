# SPDX-License-Identifier: Apache-2.0
"""An imported reading: one measured quantity group brought in from another tool's result file.

It is never a visit, and carries no interval it did not bring. None means that the source does not say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

from ioatlas.model.units import words

FIRST_COLUMNS = words(
    "source line tool tool_version label direction rw operation bs_bytes size_bytes numjobs iodepth rwmixread iops "
    "bw_bytes_per_s lat_mean_ns lat_p99_ns lat_kind lat_p99_kind errors statistic n spread kind notes"
)


_MEANS = {"completion": "clat_mean_ns", "total": "lat_mean_ns"}
"""Where the details hold the mean of a kind of latency."""


class OneLatency(NamedTuple):
    """Mean and 99th percentile of one kind of latency. kind: as a reading's; None where the source does not say."""

    mean_ns: float | None
    p99_ns: float | None
    kind: str | None


@dataclass(frozen=True, slots=True)
class ImportedReading:
    """One object of `ioatlas import --json`.

    source, line: file and line (from 1) where the group starts; `origin` is both.
    label:        what the source calls it (job, run definition, target, host).
    direction:    what the figures count; 'mixed' when the source has only the sum of reads and writes; None for what
                  moves no data.
    rw:           fio's word for the access pattern; None where fio has none and `operation` says it.
    operation:    the tool's operation where fio's rw has no word for it (reread, rewrite, record rewrite, stat, ...).
    size_bytes:   size of one file or range, as the tool was told. numjobs, iodepth: of the whole reading; iodepth per
                  job.
    lat_kind:     'total' or 'completion', of lat_mean_ns; `lat_p99_kind` of lat_p99_ns (fio's usual percentiles are of
                  completion latency while its mean is of both); None where there is no latency or the source does not
                  say.
    errors:       the tool's own error figure; `notes` says when it is an error code and not a count.
    statistic:    single, mean of n, best of n, unknown; `n` how many; `spread` in the unit of `spread_of`.
    details:      further figures under names with units; kept as they are, never compared.
    """

    source: str
    line: int
    tool: str
    tool_version: str | None = None
    label: str | None = None
    direction: str | None = None
    rw: str | None = None
    operation: str | None = None
    bs_bytes: int | None = None
    size_bytes: int | None = None
    numjobs: int | None = None
    iodepth: int | None = None
    rwmixread: float | None = None
    iops: float | None = None
    bw_bytes_per_s: float | None = None
    lat_mean_ns: float | None = None
    lat_p99_ns: float | None = None
    lat_kind: str | None = None
    lat_p99_kind: str | None = None
    errors: int | None = None
    statistic: str = "single"
    n: int | None = None
    spread: float | None = None
    spread_of: str | None = None
    host: str | None = None
    runtime_seconds: float | None = None
    io_bytes: int | None = None
    notes: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def origin(self) -> str:
        return f"{self.source}:{self.line}"

    @property
    def latency(self) -> OneLatency:
        """What stands in one row. Where mean and percentile are of two kinds, both are of the percentile's if the
        source has its mean, else the percentile is left out: a mean of the one may lie above a percentile of the other.
        """
        if self.lat_p99_ns is None or self.lat_mean_ns is None or self.lat_p99_kind == self.lat_kind:
            kind = self.lat_kind if self.lat_mean_ns is not None else self.lat_p99_kind
            return OneLatency(self.lat_mean_ns, self.lat_p99_ns, kind)
        mean = self.details.get(_MEANS.get(self.lat_p99_kind or "", ""))
        if isinstance(mean, int | float):
            return OneLatency(mean, self.lat_p99_ns, self.lat_p99_kind)
        return OneLatency(self.lat_mean_ns, None, self.lat_kind)

    def as_dict(self) -> dict[str, Any]:
        """The JSON object, in a fixed order; `source` is `file:line`, `file` the file alone."""
        record: dict[str, Any] = {"source": self.origin, "line": self.line}
        for name in FIRST_COLUMNS[2:]:
            record[name] = (
                "imported" if name == "kind" else list(self.notes) if name == "notes" else getattr(self, name)
            )
        record["file"] = self.source
        for name in _LATER:
            record[name] = getattr(self, name)
        record["details"] = dict(self.details)
        return record

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> ImportedReading:
        """The reading of an `as_dict` object; names it does not know are left out."""
        known = {item.name: record[item.name] for item in fields(cls) if item.name in record}
        known |= {
            "source": str(record["file"]),
            "notes": tuple(record.get("notes") or ()),
            "details": record.get("details") or {},
        }
        return cls(**known)


_LATER = tuple(
    item.name for item in fields(ImportedReading) if item.name not in FIRST_COLUMNS and item.name != "details"
)


@dataclass(frozen=True)
class Labelled:
    """A reading, and what the user called the results it came with ('' when nothing)."""

    label: str
    reading: ImportedReading

    @property
    def file(self) -> str:
        return self.reading.source

    @property
    def tool(self) -> str:
        return self.reading.tool
