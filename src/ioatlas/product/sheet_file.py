# SPDX-License-Identifier: Apache-2.0
"""Product sheets: TOML in, a checked sheet out. Every fault names file, line, key and remedy."""

from __future__ import annotations

import contextlib
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ioatlas.errors import UsageError
from ioatlas.model.cost import SHEET
from ioatlas.model.units import format_size, parse_percent, parse_size_bytes
from ioatlas.product.layout import DRAID, Layout, LayoutKind
from ioatlas.product.quantity import capacity_bytes, rate_bytes_per_s, watts
from ioatlas.product.sheet import (
    Claim,
    DriveRole,
    DriveSet,
    Exchange,
    Fact,
    Function,
    Origin,
    Per,
    Period,
    Permission,
    Power,
    PriceItem,
    Printed,
    Publishing,
    Rate,
    RateOf,
    Sheet,
    Tax,
    Volume,
)
from ioatlas.testbed.typed_in import quantity

if TYPE_CHECKING:
    from pydantic import ValidationError

    from ioatlas.product import file_model

MOST_BYTES = 1 << 20
FILE_NAME = SHEET
"""The sheet's copy in a campaign's directory."""
_QUANTITIES = {"B/s": "bw_bytes_per_s", "1/s": "iops", "s": "lat_mean_seconds"}
Made = TypeVar("Made")


def read_sheet_file(path: Path) -> Sheet:
    """The sheet in a file. Raises UsageError."""
    return read_sheet(text_of(path), str(path))


def text_of(path: Path) -> str:
    """The text of a sheet's file. Raises UsageError."""
    try:
        with path.open("rb") as file:
            raw = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(
            f"the product sheet cannot be read: {error.strerror}",
            where=str(path),
            remedy="name a readable product.toml; `ioatlas product new FILE.toml` writes one",
        ) from error
    if len(raw) > MOST_BYTES:
        raise UsageError(
            f"that is no product sheet: it is larger than {format_size(MOST_BYTES)}",
            where=str(path),
            remedy="name a product.toml",
        )
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise UsageError("it is not UTF-8 text", where=f"{path}:{line}", remedy="save it as UTF-8") from error


def read_sheet(text: str, source: str = "product.toml") -> Sheet:
    """The sheet in a text; `source` is its name in messages. Raises UsageError."""
    from pydantic import ValidationError

    from ioatlas.product.file_model import ProductFile

    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        match = re.search(r"\(at line (\d+), column \d+\)", str(error))
        raise UsageError(
            f"not TOML: {str(error).split(' (at ')[0]}",
            where=f"{source}:{match[1]}" if match else source,
            remedy="mend that line",
        ) from error
    newest = table.get("format")
    if isinstance(newest, int) and not isinstance(newest, bool) and newest > 1:
        raise UsageError(
            f"it has format {newest}, and this version reads up to 1", where=source, remedy="update ioatlas"
        )
    try:
        file = ProductFile.model_validate(table)
    except ValidationError as error:
        raise _fault(error, table, text, source) from error
    return _Reader(file, text, source).sheet()


class SheetError(UsageError):
    """A sheet with faults: the one that is told, and each for itself."""

    def __init__(self, told: UsageError, faults: Sequence[UsageError]) -> None:
        super().__init__(told.what, where=told.where, remedy=told.remedy)
        self.faults = tuple(faults)


def _fault(error: ValidationError, table: Mapping[str, Any], text: str, source: str) -> SheetError:
    """Of a plain fact the key itself is at fault, not the `value` that nobody wrote."""
    from ioatlas.config.faults import fault_of
    from ioatlas.product.file_model import ProductFile

    details: list[dict[str, Any]] = []
    for each in error.errors():
        loc = tuple(part for part in each["loc"] if not (isinstance(part, str) and "[" in part))
        if each["loc"][0] in ("product", "facts") and "value" in loc and each["type"] != "missing":
            place = loc.index("value")
            plain = not _is_table(table, loc[:place])
            loc = loc[:place] if plain else loc[: place + 1]
        details.append({**each, "loc": loc})
    # An unknown key explains the one that is missing.
    unknown = [each for each in details if each["type"] == "extra_forbidden"]
    tables = {each["loc"][:-1] for each in unknown}
    groups: dict[tuple[str | int, ...], list[dict[str, Any]]] = {}
    for one in details:
        if one["type"] != "missing" or one["loc"][:-1] not in tables:
            loc = one["loc"]
            # The alternatives of one key are one fault.
            groups.setdefault(loc[: 3 if len(loc) > 1 and isinstance(loc[1], int) else 2], []).append(one)
    faults = [fault_of(group, ProductFile, source, text) for group in groups.values()]
    return SheetError(fault_of(unknown or details, ProductFile, source, text), faults)


def _is_table(table: Mapping[str, Any], path: Sequence[str | int]) -> bool:
    at: Any = table
    for part in path:
        at = at[part]
    return isinstance(at, dict)


class _Reader:
    """From a checked file to the sheet: units read, sources filled in."""

    def __init__(self, file: file_model.ProductFile, text: str, place: str) -> None:
        self._file, self._text, self._place = file, text, place
        given = file.source
        self._source = Origin(given.name, given.date or "", given.url or "") if given is not None else Origin()

    def sheet(self) -> Sheet:
        file = self._file
        facts = (*self._facts("product", file.product), *self._further())
        return Sheet(
            self._place,
            file.product.vendor.value,
            file.product.model.value,
            facts,
            self._source,
            file.currency or "",
            tuple(self._drive_set(n, one) for n, one in enumerate(file.drives)),
            self._layout(),
            self._origin(file.layout, "layout") if file.layout else Origin(),
            tuple(self._price(n, one) for n, one in enumerate(file.price)),
            tuple(
                Exchange(one.currency, one.for_one, one.rate, self._origin(one, "exchange", n))
                for n, one in enumerate(file.exchange)
            ),
            self._power(),
            self._publishing(),
            self._volume(),
            tuple(self._rate(n, one) for n, one in enumerate(file.rate)),
            tuple(self._claim(n, one) for n, one in enumerate(file.claim)),
            self._printed(),
            tuple(
                Function(
                    one.name,
                    one.listed,
                    one.works,
                    one.evidence or "",
                    one.vendor_answer or "",
                    self._origin(one, "function", n),
                )
                for n, one in enumerate(file.function)
            ),
        )

    def _where(self, *path: str | int) -> str:
        from ioatlas.config.faults import where_of

        return where_of(self._place, self._text, path)

    def _origin(self, table: file_model.Sourced, *path: str | int) -> Origin:
        """Where a fact is from. Raises UsageError for one that nobody vouches for."""
        source = table.source or self._source.source
        if not source:
            name = next((part for part in reversed(path) if isinstance(part, str)), "")
            raise UsageError(
                f"{name!r} has no source",
                where=self._where(*path),
                remedy="write source = beside it, {value = ..., source = ..., date = ...}, or a [source] for all",
            )
        date = table.date or ("" if table.source else self._source.date)
        return Origin(source, date, table.note or "")

    def _facts(self, table: str, facts: file_model.ProductTable) -> tuple[Fact, ...]:
        found = ((name, getattr(facts, name)) for name in type(facts).model_fields)
        return tuple(
            Fact(name, fact.value, self._origin(fact, table, name)) for name, fact in found if fact is not None
        )

    def _further(self) -> tuple[Fact, ...]:
        return tuple(
            Fact(name, fact.value, self._origin(fact, "facts", name)) for name, fact in self._file.facts.items()
        )

    def _maybe(self, read: Callable[..., Made], text: str | None, *path: str | int) -> Made | None:
        if text is None:
            return None
        with self._at(*path):
            return read(text, where="")

    @contextlib.contextmanager
    def _at(self, *path: str | int) -> Iterator[None]:
        """Tells the place of a fault. Looking for a line takes as long as the text is, so only a fault looks."""
        try:
            yield
        except UsageError as error:
            error.where = self._where(*path)
            raise

    def _share(self, text: str | None, *path: str | int) -> float:
        with self._at(*path):
            share = parse_percent(text) if text is not None else 0.0
            if not 0 <= share < 1:
                raise UsageError(f"{text!r} is not between 0% and 100%", remedy="write a share such as 5%")
        return share

    def _drive_set(self, n: int, one: file_model.DrivesTable) -> DriveSet:
        size = self._maybe(capacity_bytes, one.capacity, "drives", n, "capacity")
        return DriveSet(
            one.count,
            one.model,
            one.kind,
            DriveRole(one.role),
            one.capacity or "",
            size,
            self._origin(one, "drives", n),
            self._maybe(rate_bytes_per_s, one.read, "drives", n, "read"),
            self._maybe(rate_bytes_per_s, one.write, "drives", n, "write"),
            one.read_iops,
            one.write_iops,
        )

    def _layout(self) -> Layout | None:
        one = self._file.layout
        if one is None:
            return None
        kind = LayoutKind(one.type)
        if kind is LayoutKind.ERASURE and (one.data is None or one.parity is None):
            raise self._missing("an erasure code needs data and parity", "write data = 8 and parity = 3")
        if kind in DRAID and one.data is None:
            raise self._missing("dRAID needs the data drives of a redundancy group", "write data = 8")
        reserve_share, reserve_bytes = self._reserve(one.reserve)
        return Layout(
            kind,
            tuple(one.groups) if isinstance(one.groups, list) else (),
            one.groups if isinstance(one.groups, int) else 1,
            one.hot_spares,
            one.data or 0,
            one.parity or 0,
            one.copies or (3 if kind is LayoutKind.REPLICA else 2),
            one.nodes or 0,
            self._maybe(parse_size_bytes, one.stripe_unit, "layout", "stripe_unit") or None,
            self._maybe(parse_size_bytes, one.recordsize, "layout", "recordsize") or 128 << 10,
            one.ashift or 12,
            reserve_share,
            reserve_bytes,
            self._share(one.file_system_overhead, "layout", "file_system_overhead"),
        )

    def _missing(self, what: str, remedy: str) -> UsageError:
        return UsageError(what, where=self._where("layout"), remedy=remedy)

    def _reserve(self, text: str | None) -> tuple[float, int]:
        if text is None:
            return 0.0, 0
        if text.strip().endswith("%"):
            return self._share(text, "layout", "reserve"), 0
        return 0.0, capacity_bytes(text, where=self._where("layout", "reserve"))

    def _price(self, n: int, one: file_model.PriceTable) -> PriceItem:
        rate = self._share(one.tax_rate, "price", n, "tax_rate") if one.tax_rate is not None else None
        return PriceItem(
            one.what,
            one.count,
            one.each,
            one.currency,
            Per(one.per),
            Tax(one.tax),
            rate,
            self._origin(one, "price", n),
        )

    def _power(self) -> Power | None:
        one = self._file.power
        if one is None:
            return None
        idle = self._maybe(watts, one.idle, "power", "idle")
        return Power(idle, self._maybe(watts, one.loaded, "power", "loaded"), self._origin(one, "power"))

    def _publishing(self) -> Publishing:
        one = self._file.publishing
        if one is None:
            return Publishing()
        return Publishing(
            Permission(one.licence), one.says or "", one.permission or "", self._origin(one, "publishing")
        )

    def _volume(self) -> Volume | None:
        one = self._file.volume
        if one is None:
            return None
        return Volume(
            capacity_bytes(one.size, where=self._where("volume", "size")),
            one.iops,
            self._maybe(rate_bytes_per_s, one.throughput, "volume", "throughput"),
            self._origin(one, "volume"),
        )

    def _rate(self, n: int, one: file_model.RateTable) -> Rate:
        of = RateOf(one.of)
        unit = 1.0
        with self._at("rate", n, "unit"):
            if of is RateOf.CAPACITY:
                unit = float(capacity_bytes(f"1 {one.unit or 'GiB'}", where=""))
            elif of is RateOf.THROUGHPUT:
                unit = rate_bytes_per_s(f"1 {one.unit or 'MiB/s'}", where="")
            elif one.unit is not None:
                raise UsageError(f"a rate of {of.value} has no unit of its own", remedy="leave unit out: it is for one")
        if one.up_to is not None and one.up_to <= one.included:
            raise UsageError(
                "up_to lies below included", where=self._where("rate", n, "up_to"), remedy="correct one of them"
            )
        return Rate(
            of,
            one.amount,
            unit,
            Period(one.period),
            one.currency,
            one.included,
            one.up_to,
            self._origin(one, "rate", n),
        )

    def _claim(self, n: int, one: file_model.ClaimTable) -> Claim:
        read = _claimed(one.value)
        name = _QUANTITIES.get(read[1], "") if read else ""
        from ioatlas.model.options import read_option

        options = [(key, str(value)) for key, value in one.cell.items() if key != "direction"]
        with self._at("claim", n, "cell"):
            cell = tuple((key, str(read_option(key, value)[1])) for key, value in options)
        return Claim(
            one.what,
            one.value,
            name,
            float(read[0]) if read and name else None,
            cell,
            str(one.cell.get("direction", "")),
            self._origin(one, "claim", n),
        )

    def _printed(self) -> Printed | None:
        one = self._file.printed
        if one is None:
            return None
        return Printed(
            one.capacity or "",
            self._maybe(capacity_bytes, one.capacity, "printed", "capacity"),
            one.price_total,
            one.price_per_tib,
            one.currency or "",
            self._origin(one, "printed"),
        )


def _claimed(text: str) -> tuple[float | int, str] | None:
    """Value and base unit of what a maker claims; '200 k IOPS' too. None for words."""
    match = re.fullmatch(r"\s*([\d.,]+)\s*([kM])\s*IOPS\s*", text)
    if match is None:
        return quantity(text)
    read = quantity(f"{match[1]} IOPS")
    return None if read is None else (read[0] * (1000 if match[2] == "k" else 1_000_000), read[1])


def origins(sheet: Sheet) -> Mapping[tuple[str, str], list[str]]:
    """What each source and date vouches for, in the order of the sheet: for a list of sources."""
    found: dict[tuple[str, str], list[str]] = {}

    def add(name: str, origin: Origin) -> None:
        if origin.source:
            found.setdefault((origin.source, origin.date), []).append(name)

    for fact in sheet.facts:
        add(fact.name, fact.origin)
    for name, items in (
        ("drives", sheet.drives),
        ("price", sheet.prices),
        ("exchange rate", sheet.exchanges),
        ("rates", sheet.rates),
        ("claims", sheet.claims),
        ("functions", sheet.functions),
    ):
        for item in items:
            add(name, item.origin)
    for name, one in (("layout", sheet.layout_origin), ("publishing", sheet.publishing.origin)):
        add(name, one)
    for name, table in (("power", sheet.power), ("volume", sheet.volume), ("printed", sheet.printed)):
        if table is not None:
            add(name, table.origin)
    return {key: list(dict.fromkeys(names)) for key, names in found.items()}
