# SPDX-License-Identifier: Apache-2.0
"""What fio's options, as fio prints them back, say about a reading."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from ioatlas.interop.read.numbers import num, whole
from ioatlas.model.units import words

_SIZE = re.compile(r"^\s*(\d+)\s*([kmgtp]?)(ib|i|b)?\s*$", re.IGNORECASE)
_RW = {"readwrite": "rw", "r": "read", "w": "write"}
RW_WORDS = frozenset(words("read write randread randwrite rw readwrite randrw trim randtrim trimwrite randtrimwrite"))

SHAPING = words(
    "bssplit bsrange blocksize_range percentage_random random_distribution norandommap "
    "fsync fdatasync sync_file_range sync buffered zonemode zonesize zonerange zoneskip rate_min rate_iops_min "
    "rate_process latency_target thinktime_blocks iodepth_batch iodepth_batch_complete_max io_size offset flow "
    "buffer_compress_percentage dedupe_percentage zero_buffers verify read_iolog"
)
"""Options that make a load another one than its rw, bs, depth and jobs say."""
_WITHOUT_EFFECT = {"percentage_random": "100", "random_distribution": "random", "rate_process": "linear"}
_VALUE_LENGTH = 80


def shape_note(options: Mapping[str, str]) -> tuple[str, ...]:
    """What else shaped the load, as one note."""
    told = []
    for name in SHAPING:
        value = options.get(name)
        if value is None or value.strip() in (_WITHOUT_EFFECT.get(name, "0"), "none"):
            continue
        told.append(f"{name}={value.strip()[:_VALUE_LENGTH]}" if value.strip() else name)
    return (f"the load had also {', '.join(told)}",) if told else ()


@lru_cache(maxsize=4096)
def fio_size(text: str | None, *, kb_base: int = 1024) -> int | None:
    """Bytes as fio 3.33 reads them: 4k, 4ki and 4kb are 4096 and 4KiB is 4000 with the default kb_base, the reverse
    with kb_base=1000.
    """
    match = _SIZE.match(text or "")
    if match is None or len(match[1]) > 18:
        return None
    letter, unit = match[2].lower(), (match[3] or "").lower()
    base = (1000 if kb_base == 1024 else 1024) if unit == "ib" else kb_base
    size = int(match[1]) * (base ** " kmgtp".index(letter) if letter else 1)
    return size if size < 1 << 63 else None


def block_size(options: Mapping[str, str], direction: str) -> int | None:
    """`bs` of one direction; None when it is a range, a split or not given."""
    if "bssplit" in options or "bsrange" in options or "blocksize_range" in options:
        return None
    text = options.get("bs", options.get("blocksize", ""))
    parts = text.split(",")
    place = {"read": 0, "write": 1, "trim": 2}.get(direction)
    if place is None:
        return fio_size(text, kb_base=_kb_base(options)) if len(set(parts)) == 1 else None
    part = (
        parts[place]
        if place < len(parts) and parts[place].strip()
        else next((p for p in reversed(parts[: place + 1]) if p.strip()), "")
    )
    return fio_size(part, kb_base=_kb_base(options))


def _kb_base(options: Mapping[str, str]) -> int:
    return 1000 if options.get("kb_base", "").strip() == "1000" else 1024


def workload_fields(options: Mapping[str, str], direction: str) -> dict[str, Any]:
    """rw, bs_bytes, size_bytes, numjobs, iodepth, rwmixread of a reading; None for what the options do not say."""
    rw = options.get("rw", options.get("readwrite"))
    word = rw.split(":")[0].strip() if rw else None
    mix = num(options.get("rwmixread"))
    if mix is None and (writes := num(options.get("rwmixwrite"))) is not None:
        mix = 100 - writes
    mixed = word in ("rw", "readwrite", "randrw")
    return {
        "rw": _RW.get(word, word) if word in RW_WORDS or word in _RW else None,
        "bs_bytes": block_size(options, direction),
        "size_bytes": fio_size(options.get("size"), kb_base=_kb_base(options)),
        "numjobs": whole(options.get("numjobs")),
        "iodepth": whole(options.get("iodepth")),
        "rwmixread": mix if mixed else None,
    }
