# SPDX-License-Identifier: Apache-2.0
"""A sheet and its figures as one JSON object. Pure."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ioatlas.product.figures import Figures, remarks
from ioatlas.product.quantity import TIB
from ioatlas.product.sheet import Sheet

_PRINTED = {"capacity", "capacity_bytes", "price_total", "price_per_tib"}


def document(sheet: Sheet, found: Figures) -> dict[str, Any]:
    """Sizes in bytes and TiB, money in `currency`, power in watts; null where something is not known."""
    capacity, power, printed = found.capacity, sheet.power, sheet.printed
    return {
        "format": 1,
        "name": sheet.name,
        "vendor": sheet.vendor,
        "model": sheet.model,
        "raw_bytes": found.raw_bytes,
        "raw_tib": found.raw_bytes / TIB if found.raw_bytes is not None else None,
        "usable_bytes": found.usable_bytes,
        "usable_tib": found.usable_tib,
        "price_total": found.price_total,
        "currency": found.currency or None,
        "price_per_tib": found.price_per_tib,
        "price_per_raw_tib": found.price_per_raw_tib,
        "price_per_month": found.per_month,
        "price_per_tib_month": found.per_tib_month,
        "layout": sheet.layout.name if sheet.layout else None,
        "survives_failures": capacity.survives if capacity else None,
        "failure_domain": capacity.domain if capacity else None,
        "capacity_steps": [asdict(step) for step in capacity.steps] if capacity else [],
        "idle_watts": power.idle_watts if power else None,
        "loaded_watts": power.loaded_watts if power else None,
        "printed": {**printed.model_dump(include=_PRINTED), **asdict(found.printed)}
        if printed and found.printed
        else None,
        "bill": [asdict(line) for line in found.bill.lines] if found.bill else [],
        "publishing": sheet.publishing.model_dump(mode="json", include={"licence", "says", "permission"}),
        "facts": {
            fact.name: {"value": fact.value, "source": fact.origin.source, "date": fact.origin.date}
            for fact in sheet.facts
        },
        "claims": [
            {"what": one.what, "value": one.text, "source": one.origin.source, "date": one.origin.date}
            for one in sheet.claims
        ],
        "functions": [
            one.model_dump(include={"name", "listed", "works", "evidence", "vendor_answer"}) for one in sheet.functions
        ],
        "sources": [{"source": source, "date": date, "of": names} for (source, date), names in sheet.origins().items()],
        "remarks": remarks(sheet, found),
    }
