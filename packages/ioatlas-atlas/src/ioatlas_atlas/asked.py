# SPDX-License-Identifier: Apache-2.0
"""What a person typed into a search for products; the page, the API and the command line read it alike."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import BaseModel

from ioatlas.model.errors import UsageError
from ioatlas.model.units import parse_duration_seconds, parse_size_bytes
from ioatlas_atlas.catalogue import MOST_PAGES, Sort, Sought
from ioatlas_atlas.shelf import FACETS

LOADS = ("randread", "randwrite", "read", "write", "randrw", "rw")
LARGE_BYTES, SMALL_BYTES = 1 << 20, 4096
"""Block sizes of sequential and random loads where none is named."""
MOST_LETTERS = 100
_FACTORS = {"k": 1e3, "m": 1e6, "g": 1e9}


class Asked(BaseModel):
    """Texts as they were typed. fits: a use. price: per TiB at most; iops, rate (MB/s): at least; p99: at most."""

    q: str = ""
    kind: str = ""
    protocol: str = ""
    media: str = ""
    year: str = ""
    fits: str = ""
    price: str = ""
    currency: str = ""
    rw: str = ""
    bs: str = ""
    depth: str = ""
    iops: str = ""
    rate: str = ""
    p99: str = ""
    sort: str = ""
    page: str = ""

    @classmethod
    def of(cls, given: Mapping[str, str]) -> Asked:
        """What is not known is left alone."""
        return cls(**{name: given.get(name, "").strip()[:MOST_LETTERS] for name in cls.model_fields})

    @property
    def any(self) -> bool:
        return any(vars(self).values())

    def texts(self, **other: str) -> dict[str, str]:
        """What was asked, for an address; the first page again where something else is asked."""
        return {name: text for name, text in {**vars(self), "page": "", **other}.items() if text}

    def sought(self) -> Sought:
        """Raises UsageError that names the field."""
        if self.rw and self.rw not in LOADS:
            raise UsageError(f"{self.rw!r} is no load", where="rw", remedy=f"one of {', '.join(LOADS)}")
        if self.sort and self.sort not in list(Sort):
            raise UsageError(f"{self.sort!r} is no order", where="sort", remedy=f"one of {', '.join(Sort)}")
        bs = parse_size_bytes(self.bs, where="bs") if self.bs else 0
        rw = self.rw or ("read" if self.rate or bs > LARGE_BYTES // 2 else "randread")
        bs = bs or (SMALL_BYTES if rw.startswith("rand") else LARGE_BYTES)
        asks = any((self.rw, self.bs, self.depth, self.iops, self.rate, self.p99))
        iops, rate = _number(self.iops, "iops", "20k"), _number(self.rate, "rate", "200")
        return Sought(
            words=self.q,
            **{name: getattr(self, name) for name in FACETS},
            max_price_per_tib=_number(self.price, "price", "150"),
            currency=self.currency.upper() or "USD",
            rw=rw,
            bs_bytes=bs,
            in_flight=_whole(self.depth, "depth"),
            min_iops=iops if rate is None else max(iops or 0.0, rate * 1e6 / bs),
            max_p99_ns=parse_duration_seconds(self.p99.replace(" ", ""), where="p99") * 1e9 if self.p99 else None,
            asks=asks,
            sort=Sort(self.sort or ("speed" if asks else "newest")),
            page=min(_whole(self.page, "page") or 1, MOST_PAGES),
        )


def _whole(text: str, where: str) -> int | None:
    value = _number(text, where, "16")
    return None if value is None else int(min(value, 1e9)) or 1


def _number(text: str, where: str, example: str) -> float | None:
    """'20k' is 20,000. A decimal comma is not read: it would mean two things."""
    if not text:
        return None
    plain = text.lower().replace(" ", "")
    factor = _FACTORS.get(plain[-1], 1.0)
    try:
        value = float(plain[:-1] if factor != 1.0 else plain) * factor
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e18:
        raise UsageError(f"{text[:20]!r} is no number", where=where, remedy=f"write it as {example}")
    return value
