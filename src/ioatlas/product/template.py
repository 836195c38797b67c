# SPDX-License-Identifier: Apache-2.0
"""A new product.toml: what was given, and every other table as a comment to fill in."""

from __future__ import annotations

import json
from collections.abc import Mapping

HEAD = """\
# What this product is, what it costs, and who says so. `ioatlas product check {name}` checks it.
# A fact is a plain value, or {{value = ..., source = ..., date = ...}} where it is from somewhere else than [source].
format = 1

[source]
name = {source}
date = {date}

[product]
vendor = {vendor}
model = {model}
{product}
"""
PRODUCT = {
    "kind": '"NAS"',
    "cpu": '"Xeon D-1541"',
    "cpu_cores": "8",
    "memory": '"16 GB"',
    "ports": '"2 x 10GbE"',
    "protocols": '"SMB, NFS, iSCSI"',
    "file_system": '"btrfs"',
    "firmware": '"7.2"',
    "end_of_sale": '"2017-05"',
}
DRIVES = """
[[drives]]
count = {count}
capacity = {capacity}   # in the maker's unit: "8 TB"
# model = "WD80EFZX"
# kind = "5,400 rpm SATA"
"""
LAYOUT = """
[layout]
type = {layout}
# hot_spares = 1
# file_system_overhead = "2%"
# reserve = "10%"
"""
PRICE = """
[[price]]
what = "all of it"
each = {price}
currency = {currency}
tax = "unknown"              # included, excluded
date = {date}
"""
REST = """
# [power]
# idle = "45 W"
# loaded = "80 W"

# [publishing]
# licence = "says nothing"   # yes, no, ask first
# says = "the clause in its own words"
# permission = "who allowed it, and when"

# [[claim]]
# what = "sequential read"
# value = "1,200 MB/s"
# cell = {rw = "read", bs = "1m"}

# [[function]]
# name = "LUN snapshots"
# listed = true
# works = "no"               # yes, partly, not tried
# evidence = "a snapshot of a LUN under load never ended, 2 of 2 times"
# vendor_answer = "none after 30 days"
"""


def new_sheet(name: str, given: Mapping[str, str | int | float | None], today: str) -> str:
    """The text of a new sheet. given: vendor, model, source, drives, capacity, layout, price, currency."""
    drives, layout, price = given.get("drives"), given.get("layout"), given.get("price")
    parts = [
        HEAD.format(
            name=name,
            source=json.dumps(given.get("source") or "typed in"),
            date=today,
            vendor=json.dumps(given.get("vendor") or "Vendor", ensure_ascii=False),
            model=json.dumps(given.get("model") or "Model", ensure_ascii=False),
            product="\n".join(f"# {key} = {value}" for key, value in PRODUCT.items()),
        ),
        _part(
            DRIVES.format(count=drives or 8, capacity=json.dumps(given.get("capacity") or "8 TB")),
            known=drives is not None and given.get("capacity") is not None,
        ),
        _part(LAYOUT.format(layout=json.dumps(layout or "raid6")), known=layout is not None),
        _part(
            PRICE.format(price=price or 1000, currency=json.dumps(given.get("currency") or "USD"), date=today),
            known=price is not None,
        ),
        REST,
    ]
    return "".join(parts)


def _part(text: str, *, known: bool) -> str:
    """As a comment where nothing was given for it."""
    if known:
        return text
    return "\n".join(f"# {line}" if line and not line.startswith("#") else line for line in text.splitlines()) + "\n"
