# SPDX-License-Identifier: Apache-2.0
"""What pages show of a result, in words: made from records and from the export that admission kept. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from ioatlas.analysis.wording import plural
from ioatlas.atlas.fairness import GRADE_WORDS
from ioatlas.atlas.records import Cell, Hit, Reply, Result, Trace
from ioatlas.model.units import format_count, format_latency, format_rate, format_size
from ioatlas.product.quantity import amount_text, money
from ioatlas.report.redact import names_site

MOST_FINDINGS = 30
MOST_FACTS = 200


@dataclass(frozen=True)
class Badge:
    """What is known of a result, each in a few words. kind: a word for the style of the last one."""

    kind: str
    parts: tuple[str, ...]

    @property
    def text(self) -> str:
        return " · ".join(self.parts)


@dataclass(frozen=True)
class Shown:
    """A result in a list or at the head of its page."""

    id: str
    title: str
    badge: Badge
    product_id: str
    product: str
    protocol: str
    link: str
    price: str
    grade: str
    measured: str
    uploaded_iso: str
    by: str
    matched: str
    replaces: str = ""


@dataclass(frozen=True)
class Named:
    """A line of facts."""

    name: str
    text: str


@dataclass(frozen=True)
class Cost:
    """What a unit costs, with its interval."""

    unit: str
    cost: str
    interval: str


@dataclass(frozen=True)
class Said:
    """A reply with its older versions."""

    by: str
    role: str
    verified: bool
    at: str
    version: int
    text: str
    earlier: tuple[Said, ...]


@dataclass(frozen=True)
class Event:
    """A trace in words."""

    at: str
    text: str


def day(seconds: float) -> str:
    """UTC."""
    return datetime.fromtimestamp(seconds, UTC).date().isoformat()


def moment(seconds: float) -> str:
    """As feeds want it."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def shown(hit: Hit) -> Shown:
    one = hit.result
    return Shown(
        one.id,
        one.title,
        badge_of(one),
        one.product_id or "",
        one.product,
        one.protocol,
        one.link,
        f"{money(one.price_per_tib, one.currency)} per TiB" if one.price_per_tib is not None else "",
        one.grade,
        day(one.measured_at),
        moment(one.uploaded_at),
        one.owner,
        cell_words(hit.cell) if hit.cell else "",
        one.replaces or "",
    )


def badge_of(one: Result) -> Badge:
    return badge_of_told(vars(one))


def badge_of_told(one: Mapping[str, Any]) -> Badge:
    """The same of a result as the API tells it."""
    count = one.get("reproduced")
    again = isinstance(count, int) and count > 0
    checked = "recomputed" if one.get("verified") else "unchecked"
    told = (checked, str(one.get("identity", "")), str(one.get("likeness", "")))
    said = f"reproduced by {plural(count or 0, 'other account')}" if again else "reproduced by no other account"
    return Badge("reproduced" if again else "", (*filter(None, told), said))


def cell_words(cell: Cell) -> str:
    """The cell that fits a search, with the sides of its intervals that count."""
    return cell_words_of(vars(cell))


def cell_words_of(cell: Mapping[str, Any]) -> str:
    """The same of a cell as the API tells it."""
    named = {name: cell.get(name) for name in ("bs_bytes", "iops_low", "bw_low", "lat_p99_high_ns")}
    numbers = {name: float(value) for name, value in named.items() if isinstance(value, int | float)}
    what = "".join(letter for letter in str(cell.get("rw", "")) if letter.isprintable())[:40]
    parts = [f"{what} {format_size(int(numbers.get('bs_bytes', 0)))}, {cell.get('numjobs')} x {cell.get('iodepth')}"]
    if "iops_low" in numbers:
        parts.append(f"at least {format_count(numbers['iops_low'])} IOPS")
    elif "bw_low" in numbers:
        parts.append(f"at least {format_rate(numbers['bw_low'])}")
    if "lat_p99_high_ns" in numbers:
        parts.append(f"p99 at most {format_latency(numbers['lat_p99_high_ns'])}")
    return ", ".join(parts)


# -- one result ----------------------------------------------------------------------------------------------


def headlines(summary: Mapping[str, Any]) -> list[Named]:
    """The best values, each with its interval and its cell."""
    found = []
    for one in summary.get("headlines", ()):
        told = {"bw_bytes_per_s": format_rate, "iops": format_count}.get(str(one.get("quantity")))
        value = one.get("value")
        if not isinstance(value, int | float):
            continue
        told = told or (lambda number: f"{number:.3g}")
        text = f"{'at least ' if one.get('lower_bound') else ''}{told(value)}"
        if one.get("low") is not None and one.get("high") is not None:
            text += f" ({told(one['low'])} to {told(one['high'])})"
        found.append(Named(str(one.get("label", "")), f"{text}, {one.get('where', '')}".rstrip(", ")))
    return found


def grade_words(grade: str) -> str:
    """What a grade says; '' for one that is none."""
    return next((words for one, words in GRADE_WORDS.items() if one == grade), "")


def trust(summary: Mapping[str, Any]) -> dict[str, Any]:
    """The trust badge and why it is not better."""
    doubts = [str(one.get("sentence", "")) for one in summary.get("doubts", ())]
    return {"level": str(summary.get("trust", "")) or "not told", "why": doubts[:5]}


def findings(document: Mapping[str, Any]) -> list[str]:
    return [str(one.get("sentence", "")) for one in document.get("findings", ())][:MOST_FINDINGS]


def costs(document: Mapping[str, Any]) -> list[Cost]:
    """Of the first product."""
    found = next(iter(document.get("costs", ())), None)
    if found is None:
        return []
    currency = str(found.get("currency", ""))
    return [
        Cost(
            str(one["unit"]),
            f"{'at most ' if one.get('lower_bound') else ''}{money(one['cost'], currency)}",
            f"{amount_text(one['low'])} to {amount_text(one['high'])}"
            if one.get("low") is not None and one.get("high") is not None
            else "",
        )
        for one in found.get("units", ())
        if one.get("cost") is not None
    ]


def testbed(document: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Facts of the last session, without those that could name a site."""
    sessions = document.get("sessions") or [{}]
    return [(str(name), str(value)) for name, value in sessions[-1].items() if not names_site(str(name))][:MOST_FACTS]


def evidence(one: Result, document: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What the result rests on."""
    settings = document.get("settings", {})
    made = [
        ("visits", f"{document.get('n_visits', '?')} counted, {document.get('n_discarded', '?')} discarded"),
        ("preparation", settings.get("preparation", "")),
        ("random order", f"seed {settings['order seed']}" if settings.get("order seed") else ""),
        ("campaign", document.get("name", "")),
        ("procedure", one.procedure),
        ("method", one.method_version),
        ("measured with", f"ioatlas {one.tool_version}"),
        ("measured", day(one.measured_at)),
        ("published", f"{day(one.uploaded_at)} by {one.owner}"),
        ("signed by", one.signer or "nobody"),
        ("licence of the data", one.licence or "none given"),
        ("bundle, SHA-256", one.bundle_sha256 or "deleted"),
    ]
    return [(name, str(text)) for name, text in made if text]


def declared(one: Result) -> dict[str, str]:
    """Who paid, and whose side the evaluator is on."""
    return {
        "sponsor": _told(one.sponsor, "nobody else, says the evaluator"),
        "conflict": _told(one.conflict, "none, says the evaluator"),
    }


def _told(text: str | None, none: str) -> str:
    return "not said" if text is None else text or none


def replies(found: Iterable[Reply]) -> list[Said]:
    """The vendor's first, then the evaluator's answer."""
    ordered = sorted(found, key=lambda one: (one.kind != "vendor", one.written_at))
    return [_said(one) for one in ordered]


def role_words(kind: str) -> str:
    """As whom somebody replies."""
    return "vendor, verified" if kind == "vendor" else kind


def _said(one: Reply) -> Said:
    vendor, role = one.kind == "vendor", role_words(one.kind)
    return Said(
        one.account, role, vendor, day(one.written_at), one.version, one.text, tuple(_said(old) for old in one.older)
    )


def trail(found: Iterable[Trace]) -> list[Event]:
    return [Event(day(one.at), f"{one.what}{f': {one.text}' if one.text else ''}") for one in found]


def notice(one: Result) -> str:
    """What a reader has to know before anything else."""
    words = {
        "withdrawn": "This result was withdrawn",
        "flagged": "A check doubts this result. Only its owner and moderators see it",
        "private": "Only you and those you share it with see this",
        "embargoed": "Only you see this until its embargo ends",
    }
    told = words.get(one.state)
    return f"{told}: {one.reason}." if told and one.reason else f"{told}." if told else ""


def facts_of_product(found: Sequence[Result]) -> list[tuple[str, str]]:
    """What its results say of a product; each value once."""
    made: list[tuple[str, str]] = []
    for name in ("drive", "protocol", "link"):
        values = dict.fromkeys(str(getattr(one, name)) for one in found if getattr(one, name))
        if values:
            made.append((name, ", ".join(values)))
    prices = sorted({(one.price_per_tib, one.currency) for one in found if one.price_per_tib is not None})
    if prices:
        made.append(("price per usable TiB", ", ".join(money(price, currency) for price, currency in prices)))
    return made
