# SPDX-License-Identifier: Apache-2.0
"""Results of tools that are known and not read: a user is told so, and what to do instead."""

from __future__ import annotations

import re

NOT_READ = "which is not read"
_SAME_LOAD = "Run the same load with fio and import its JSON, or measure the target with `ioatlas map`"
_OWN_FILES = "Measure files and names with `ioatlas map DIR --profile smallfiles`"
_OWN_COMMAND = "Time that command itself as a `[[work]]` of `ioatlas map --profile apps`"
_OBJECTS = "Run the same load with warp, whose results are read"
_KNOWN = (
    ("sysbench fileio", r"^File operations:\n\s+reads/s:|^Operations performed: +\d+ Read, ", _SAME_LOAD),
    ("sysbench", r"^sysbench \d[\w.-]* ?[(:]", _OWN_COMMAND),
    ("filebench", r"^[\d.]+: Per-Operation Breakdown|^[\d.]+: IO Summary: ", _OWN_FILES),
    ("fs_mark", r"^FSUse% +Count +Size +Files/sec", _OWN_FILES),
    ("SPECstorage (SFS)", r"^.{0,40}\bSPEC ?(?:storage|SFS|sfs)\S*.{0,40} Result\b", _SAME_LOAD),
    ("ioping", r"^--- .* ioping statistics ---", _SAME_LOAD),
    ("hdparm", r"^ *Timing (?:buffered disk|cached|O_DIRECT disk|O_DIRECT cached) reads: ", _SAME_LOAD),
    ("dd", r"^\d+\+\d+ records out\n\d+ bytes .*copied, ", _SAME_LOAD),
    ("YCSB", r"^\[OVERALL\], RunTime\(ms\), ", _OWN_COMMAND),
    (
        "s3-benchmark",
        r"Loop \d+: (?:PUT|GET) time[ =][\d.]+ secs,|^Download performance with ",
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
