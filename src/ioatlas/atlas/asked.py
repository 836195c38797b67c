# SPDX-License-Identifier: Apache-2.0
"""What a person typed into a search, as a search; the page, the API and the command line read it alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from ioatlas.atlas.records import Wanted
from ioatlas.errors import UsageError
from ioatlas.model.units import parse_duration_seconds, parse_size_bytes

LOADS = ("randread", "randwrite", "read", "write", "randrw", "rw")
MOST_LETTERS = 100
_FACTORS = {"k": 1e3, "m": 1e6, "g": 1e9}


@dataclass(frozen=True)
class Asked:
    """Texts as they were typed. price: per TiB at most; iops, rate (MB/s): at least; p99: at most."""

    q: str = ""
    product: str = ""
    drive: str = ""
    protocol: str = ""
    link: str = ""
    price: str = ""
    currency: str = ""
    rw: str = ""
    bs: str = ""
    iops: str = ""
    rate: str = ""
    p99: str = ""

    @classmethod
    def of(cls, given: Mapping[str, str]) -> Asked:
        """What is not known is left alone."""
        return cls(**{one.name: given.get(one.name, "").strip()[:MOST_LETTERS] for one in fields(cls)})

    @property
    def any(self) -> bool:
        return any(vars(self).values())

    @property
    def wants(self) -> bool:
        """Whether performance is asked for."""
        return bool(self.rw or self.bs or self.iops or self.rate or self.p99)

    @property
    def narrows(self) -> bool:
        """Whether something but words and performance is asked for."""
        return bool(self.drive or self.protocol or self.link or self.price or self.currency)

    def texts(self) -> dict[str, str]:
        """What was asked, for an address."""
        return {name: text for name, text in vars(self).items() if text}

    def wanted(self) -> Wanted:
        """Raises UsageError that names the field."""
        if self.rw and self.rw not in LOADS:
            raise UsageError(f"{self.rw!r} is no load", where="rw", remedy=f"one of {', '.join(LOADS)}")
        rate = _number(self.rate, "rate", "200")
        return Wanted(
            words=self.q,
            product_id=self.product,
            protocol=self.protocol,
            drive=self.drive,
            link=self.link,
            max_price_per_tib=_number(self.price, "price", "150"),
            currency=self.currency.upper() or ("USD" if self.price else ""),
            rw=self.rw,
            bs_bytes=parse_size_bytes(self.bs, where="bs") if self.bs else None,
            min_iops=_number(self.iops, "iops", "20k"),
            min_bw_bytes_per_s=rate * 1e6 if rate is not None else None,
            max_p99_ns=_latency_ns(self.p99),
        )

    def for_api(self) -> dict[str, str]:
        """The parameters of the API's search. Raises as `wanted`."""
        wanted = self.wanted()
        named = {
            "q": wanted.words,
            "product": wanted.product_id,
            "protocol": wanted.protocol,
            "drive": wanted.drive,
            "link": wanted.link,
            "max_price_per_tib": wanted.max_price_per_tib,
            "currency": wanted.currency,
            "rw": wanted.rw,
            "bs_bytes": wanted.bs_bytes,
            "min_iops": wanted.min_iops,
            "min_bw_bytes_per_s": wanted.min_bw_bytes_per_s,
            "max_p99_ns": wanted.max_p99_ns,
        }
        return {name: str(value) for name, value in named.items() if value not in ("", None)}


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


def _latency_ns(text: str) -> float | None:
    if not text:
        return None
    plain = text.replace(" ", "")
    return parse_duration_seconds(plain, where="p99") * 1e9
