# SPDX-License-Identifier: Apache-2.0
"""The product sheets of a campaign: copied into its directory at its start, and what its result costs by them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from ioatlas.answer.product.cost import Costed, Offer, Terms, UnitCost, compare_costs
from ioatlas.answer.product.figures import figures
from ioatlas.answer.product.price import sheet_currency
from ioatlas.answer.product.readings import Unit, Workload, targets_of
from ioatlas.answer.product.sheet import Sheet
from ioatlas.answer.product.sheet_file import FILE_NAME, read_sheet, read_sheet_file, text_of
from ioatlas.model.result import SHEETS, CampaignResult, ProductCost, UnitPrice
from ioatlas.plan.spec import CampaignSpec
from ioatlas.store import confined, toml


def sheet_texts(spec: CampaignSpec) -> dict[str, str]:
    """Texts of the sheets that a campaign names, by their place in its directory. Raises UsageError for a bad one."""
    named = {FILE_NAME: spec.product} if spec.product else {}
    named |= {_place(one.name): one.product for one in spec.configurations if one.product}
    texts = {place: text_of(Path(path)) for place, path in named.items()}
    for place, text in texts.items():
        figures(read_sheet(text, named[place]))
    return texts


def _place(target: str) -> str:
    return f"{SHEETS}/{confined.plain_name(target)}.toml"


def keep_sheets(directory: Path, texts: Mapping[str, str]) -> None:
    """Copies of them: a campaign is passed around, and says what it says."""
    for place, text in texts.items():
        (directory / place).parent.mkdir(exist_ok=True)
        (directory / place).write_text(text, encoding="utf-8")


def kept_sheet(directory: Path, target: str = "") -> Sheet | None:
    """The sheet of a target: its configuration's, else that of the whole campaign; None where it names none.

    It may be corrected by hand later. Raises UsageError for a faulty one, RefusedError for a link.
    """
    for place in (*((_place(target),) if target else ()), FILE_NAME):
        if confined.is_ordinary(directory / place, most_bytes=toml.MOST_BYTES):
            return read_sheet_file(directory / place)
    return None


def with_costs(result: CampaignResult, directory: Path) -> CampaignResult:
    """The result with what its products cost; as it was where the campaign names none."""
    found = []
    for target in targets_of(result):
        sheet = kept_sheet(directory, target)
        if sheet is not None:
            found.append(_cost(Offer(sheet, result, target)))
    return replace(result, costs=tuple(found)) if found else result


def _cost(offer: Offer) -> ProductCost:
    """The purchase alone: for how long it is used nobody said."""
    compared = compare_costs([offer], Terms(sheet_currency(offer.sheet)), Workload())
    one = compared.products[0]
    dates = one.figures.bill.dates if one.figures.bill else ()
    return ProductCost(
        offer.target,
        offer.sheet.name,
        compared.terms.currency,
        one.spend.total,
        " to ".join(dict.fromkeys(dates[:1] + dates[-1:])),
        one.figures.usable_bytes,
        (*_monthly(one), *(_unit_price(unit) for unit in one.units)),
        tuple(remark.removeprefix(f"{one.label}: ") for remark in compared.remarks if "--years" not in remark),
    )


def _monthly(one: Costed) -> tuple[UnitPrice, ...]:
    """What a service charges for each TiB and month."""
    cost, tib = one.figures.per_tib_month, one.figures.usable_tib
    if cost is None or tib is None:
        return ()
    return (UnitPrice("TiB and month", cost, None, None, tib, None, "", "", "", lower_bound=False),)


def _unit_price(unit: UnitCost) -> UnitPrice:
    reading, cost = unit.reading, unit.cost
    direction = {Unit.MB_READ: "read", Unit.KIOPS_READ: "read", Unit.MB_WRITE: "write", Unit.KIOPS_WRITE: "write"}
    return UnitPrice(
        unit.unit.value,
        cost.value if cost else None,
        cost.low if cost else None,
        cost.high if cost else None,
        unit.amount.value,
        unit.per_watt,
        reading.where if reading else "",
        reading.cell if reading else "",
        direction.get(unit.unit, ""),
        reading.lower_bound if reading else False,
    )
