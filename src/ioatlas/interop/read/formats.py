# SPDX-License-Identifier: Apache-2.0
"""The formats that are read. A new one is a module beside this one, with a SIGNATURE and a `read`, and an entry.

Tools that are known and not read stand at its end: a user is told so, and what to do instead.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING

from ioatlas.interop.read.margin import margin_of

if TYPE_CHECKING:
    from ioatlas.interop.read.source import Source
    from ioatlas.model.imported_reading import ImportedReading


@dataclass(frozen=True)
class Format:
    """One format: its name for people and the module that recognises and reads it, imported when one of `hints` is in a
    text. tools: what its readings are of, by the names their makers write, and what their units mean.
    """

    name: str
    module: str
    hints: tuple[str, ...] = ()
    tools: Mapping[str, str] = field(default_factory=dict)
    pattern: str = "SIGNATURE"
    reader: str = "read"
    margin: re.Pattern[str] | None = None
    """What stands before its lines in this file."""

    def _load(self) -> ModuleType:
        return importlib.import_module(f"ioatlas.interop.read.{self.module}")

    def _signature(self) -> re.Pattern[str]:
        found: re.Pattern[str] = getattr(self._load(), self.pattern)
        return found

    def found_in(self, text: str) -> bool:
        if self.hints and not any(hint in text for hint in self.hints):
            return False
        return self._signature().search(text) is not None

    def margin_in(self, text: str) -> re.Pattern[str] | None:
        """What stands before the lines of this format in `text`; None for nothing, or where the format is not there."""
        hints = [hint for hint in self.hints if hint in text]
        margin = margin_of(text, hints, self._signature()) if hints else None
        return margin if margin is not None and self.found_in(re.sub(rf"(?m)^(?:{margin.pattern})", "", text)) else None

    def read(self, source: Source) -> Iterator[ImportedReading]:
        source.margin = self.margin
        yield from getattr(self._load(), self.reader)(source)


FORMATS = (
    Format(
        "fio JSON",
        "fio_json",
        ('"fio version"', '"client_stats"', '"jobname"'),
        {"fio": "bytes in JSON; kB, MB in text are 1000 since 2.2x, 1024 before"},
    ),
    Format("fio terse", "fio_terse", (";fio-", "%;")),
    Format("fio text", "fio_text", ("(groupid=", ": io=", ": bw=", ": IOPS=")),
    Format(
        "IOzone",
        "iozone",
        ("Iozone: Perf", "Children see", "reclen", "riter report", "riter Report", "Throughput report"),
        {"IOzone": "kB is 1024 bytes"},
    ),
    Format("DiskSpd text", "diskspd", ("Results for timespan", "I/Os"), {"DiskSpd": "MB and MiB are 1024^2 bytes"}),
    Format("DiskSpd XML", "diskspd_xml", ("<Results>",)),
    Format(
        "vdbench",
        "vdbench",
        ("Starting RD=", "ReqstdOps", "MB/sec", "Interval", "interval"),
        {"vdbench": "MB is 1024^2 bytes"},
    ),
    Format("vdbench histogram", "vdbench", ("min(ms)",), pattern="HISTOGRAM", reader="read_histogram"),
    Format("xdd", "xdd", ("XDD version", "Bytes_Xfered", "IOPS"), {"xdd": "MB is 10^6 bytes"}),
    Format(
        "ORION",
        "orion",
        ("RION", "Large MBPS", "Small IOPS", "Small Latency", "Large/Small", "ran ("),
        {"ORION": "MBPS is 1024^2 bytes"},
    ),
    Format(
        "elbencho",
        "elbencho",
        ("LAST DONE", " Elapsed ", "path type", "RuntimeMS", "phase_type", "time ms [first]"),
        {"elbencho": "MiB is 1024^2 bytes, MB 10^6"},
    ),
    Format(
        "bonnie++",
        "bonnie",
        ("1.9", "-Per Chr-", "------Sequential", "K,", "M,", "G,", "T,", "K:", "M:", "G:", "T:"),
        {"bonnie++": "K is 1024 bytes"},
    ),
    Format(
        "CrystalDiskMark, KDiskMark",
        "crystal",
        ("DiskMark", "iB (Q="),
        {"CrystalDiskMark": "MB is 10^6 bytes", "KDiskMark": "MB is 10^6 bytes, from KiB divided by 1000"},
    ),
    Format("IO500", "io500", ("IO500", "IO-500", "[RESULT", "[ior", "[mdtest"), {"IO500": "GiB is 1024^3 bytes"}),
    Format(
        "IOR, mdtest",
        "ior",
        ("MPI Coordinated", "bw(MiB/s)", "SUMMARY", "mdtest-", '"bwMiB"', "Max Write", "Max Read"),
        {"IOR": "MiB is 1024^2 bytes", "mdtest": ""},
    ),
    Format("ioatlas export", "ioatlas_export", ("ioatlas-export/",)),
)
LOGS = (
    Format("fio log", "fio_log"),
    Format("fio histogram log", "fio_log", pattern="HISTOGRAM", reader="read_histogram"),
)
TOOLS = {tool: units for item in FORMATS for tool, units in item.tools.items()}
"""Tools whose results are read, and what their units mean; the readings are in base units already."""


NOT_READ = "which is not read"
_SAME_LOAD = "Run the same load with fio and import its JSON, or measure the target with `ioatlas map`"
_OWN_FILES = "Measure files and names with `ioatlas map DIR --profile smallfiles`"
_OWN_COMMAND = "`ioatlas fit` says whether a target is fast enough for a use"
_OBJECTS = "It is of objects, which have no block size or queue depth; ioatlas compares files and devices"
_KNOWN = (
    ("sysbench fileio", r"^File operations:\n\s+reads/s:|^Operations performed: +\d+ Read, ", _SAME_LOAD),
    (
        "ioatlas as a table",
        r"^(?=.*\bbs_bytes\b)(?=.*\bn_visits\b)(?=.*\bbw_bytes_per_s\b).*\bdirection\b",
        "Import the campaign itself, its bundle, or what `ioatlas export --format json` writes",
    ),
    ("sysbench", r"^sysbench \d[\w.-]* ?[(:]", _OWN_COMMAND),
    ("filebench", r"^[\d.]+: Per-Operation Breakdown|^[\d.]+: IO Summary: ", _OWN_FILES),
    ("smallfile", r"^host = \S+, ?thr(?:ead)? = \S+, ?elapsed|\"files-?[pP]er-?[sS]ec\"\s*:", _OWN_FILES),
    ("fs_mark", r"^FSUse% +Count +Size +Files/sec", _OWN_FILES),
    ("SPECstorage (SFS)", r"^.{0,40}\bSPEC ?(?:storage|SFS|sfs)\S*.{0,40} Result\b", _SAME_LOAD),
    ("kubestr", r"^FIO test results:|^JobName: .*\n +blocksize=", _SAME_LOAD),
    ("ioping", r"^--- .* ioping statistics ---", _SAME_LOAD),
    ("hdparm", r"^ *Timing (?:buffered disk|cached|O_DIRECT disk|O_DIRECT cached) reads: ", _SAME_LOAD),
    ("dd", r"^\d+\+\d+ records out\n\d+ bytes .*copied, ", _SAME_LOAD),
    ("YCSB", r"^\[OVERALL\], RunTime\(ms\), ", _OWN_COMMAND),
    ("pgbench", r"^pgbench \(|^number of transactions actually processed: ", _OWN_COMMAND),
    ("db_bench", r"^\w+ +: +[\d.,]+ micros/op", _OWN_COMMAND),
    ("dbench", r"^[td]bench version |^Throughput [\d.]+ MB/sec .*\d+ procs", _OWN_COMMAND),
    ("rados bench", r"^Total (?:writes|reads) made: +\d|^ +sec Cur ops ", _OBJECTS),
    (
        "s3-benchmark",
        r"Loop \d+: (?:PUT|GET) time[ =][\d.]+ secs,|^Download performance with ",
        _OBJECTS,
    ),
    (
        "warp",
        r"^(?:Operation|Report): [A-Z]+\b.*(?:Concurrency|Ran)|^\s*\"(?:by_op_type|mixed_server_stats)\"\s*:",
        _OBJECTS,
    ),
    ("COSBench", r"^\W?(?:Stage|Id|Timestamp|Op-Type),(?:(?:Op|Sample)-\w+,){0,2}Op-Count,", _OBJECTS),
    ("sibench", r"^Total \w+ +bandwidth: +[\d.]+ ?[KMGT]?[bB]/s, |\"ResTimeAvg\"\s*:", _OBJECTS),
    (
        "iperf",
        r"^\[ *ID\] Interval +Transfer +(?:Bandwidth|Bitrate)|\"sum_received\"\s*:|\"tcp_mss_default\"\s*:",
        'It is of a network. Let ioatlas measure it: `iperf = "HOST"` under `[measure]` in the testbed file',
    ),
)
_PATTERNS = [(tool, re.compile(pattern, re.MULTILINE), remedy) for tool, pattern, remedy in _KNOWN]


def told_of(text: str) -> str | None:
    """What to tell of a text in which no reader found its own; None where nothing in it is known."""
    for tool, pattern, remedy in _PATTERNS:
        if pattern.search(text):
            return f"a result of {tool}, {NOT_READ}. {remedy}"
    return None
