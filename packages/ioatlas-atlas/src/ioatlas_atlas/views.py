# SPDX-License-Identifier: Apache-2.0
"""What pages show of a result, in words and as files: made from records and from the export that admission kept."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from operator import itemgetter
from typing import Any

from ioatlas.answer.analysis.wording import plural
from ioatlas.model.errors import IoAtlasError
from ioatlas.model.units import format_count, format_latency, format_rate, format_size, grouped, per_cent
from ioatlas.report.export.to_parquet import can, parquet
from ioatlas.report.redact import names_site
from ioatlas.report.table import Value, csv_text, meaning, plain
from ioatlas_atlas.extracted import FitFound
from ioatlas_atlas.records import DOUBTED, Product, Reply, Result

NOT_REPRODUCED = "not reproduced"
MOST_FACTS, MOST_VALUES = 200, 12
ANSWERS = ("pass", "fail", "undecided")
SMALL_BYTES = 32 << 10
"""Up to this block size a cell tells I/Os a second, above it bytes a second."""


@dataclass(frozen=True)
class Badge:
    """What is known of a result, each in a few words. kind: a word for the style of the last one."""

    kind: str
    parts: tuple[str, ...]

    @property
    def text(self) -> str:
        return " · ".join(self.parts)


def day(seconds: float) -> str:
    """UTC."""
    return datetime.fromtimestamp(seconds, UTC).date().isoformat()


def moment(seconds: float) -> str:
    """As feeds want it."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def badge_of(result: Result | Mapping[str, Any]) -> Badge:
    """Of one, or of what the API tells of it."""
    one = result if isinstance(result, Mapping) else vars(result)
    count = one.get("reproduced")
    checked = "recomputed" if one.get("verified") else "unchecked"
    told = (checked, str(one.get("identity", "")), str(one.get("likeness", "")))
    return _badge(count if isinstance(count, int) else 0, *filter(None, told))


def few_words(one: Result) -> str:
    """Of the same what a small picture has room for; likeness only where others contradict it."""
    again = f"reproduced by {one.reproduced}" if one.reproduced else NOT_REPRODUCED
    doubted = ["some loads doubted"] if any(check["name"] == DOUBTED for check in one.checks) else []
    return " · ".join((badge_of(one).parts[0], one.identity.removeprefix("product "), *doubted, again))


def _badge(reproduced: int, *parts: str) -> Badge:
    again = f"reproduced by {plural(reproduced, 'other account')}" if reproduced > 0 else NOT_REPRODUCED
    return Badge("reproduced" if reproduced > 0 else "", (*parts, again))


def load_words(one: Mapping[str, Any], rw: str, bs_bytes: int) -> str:
    """What a product does for a load, with the sides of its intervals that count."""
    numbers = {name: float(value) for name, value in one.items() if isinstance(value, int | float)}
    parts = [f"{load_name(rw, bs_bytes)}, {numbers.get('in_flight', 0):.0f} in flight"]
    parts += [f"at least {rate_text(numbers['iops_low'], bs_bytes)}"] if "iops_low" in numbers else []
    late = numbers.get("lat_p99_high_ns")
    return ", ".join([*parts, f"p99 at most {format_latency(late)}"] if late is not None else parts)


# -- one result ----------------------------------------------------------------------------------------------


def headlines(summary: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The best values, each with its interval and its cell."""
    found = []
    for one in summary.get("headlines", ()):
        written = {"bw_bytes_per_s": format_rate, "iops": format_count}.get(str(one.get("quantity")))
        value = one.get("value")
        if not isinstance(value, int | float):
            continue
        written = written or (lambda number: f"{number:.3g}")
        text = f"{'at least ' if one.get('lower_bound') else ''}{written(value)}"
        if one.get("low") is not None and one.get("high") is not None:
            text += f" ({written(one['low'])} to {written(one['high'])})"
        found.append((str(one.get("label", "")), f"{text}, {one.get('where', '')}".rstrip(", ")))
    return found


def testbed(document: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Facts of the last session, without those that could name a site."""
    sessions = document.get("sessions") or [{}]
    return [(str(name), str(value)) for name, value in sessions[-1].items() if not names_site(str(name))][:MOST_FACTS]


def replies(found: Iterable[Reply]) -> list[Reply]:
    """The vendor's first, then the evaluator's answer."""
    return sorted(found, key=lambda one: (one.kind != "vendor", one.written_at))


def role_words(kind: str) -> str:
    """As whom somebody replies."""
    return "vendor, verified" if kind == "vendor" else kind


def notice(one: Result) -> str:
    """What a reader has to know before anything else."""
    words = {
        "withdrawn": "This result was withdrawn",
        "flagged": "A moderator flagged this result. Only its owner and moderators see it",
        "private": "Only you see this",
        "embargoed": "Only you see this until its embargo ends",
    }
    told = words.get(one.state)
    return f"{told}: {one.reason}." if told and one.reason else f"{told}." if told else ""


def fits(results: Iterable[Result]) -> list[tuple[FitFound, str, int, int]]:
    """Of each use what one result tells (of those that pass the one with the least margin), its id, how many say that
    it fits, and how many tell of it. Yes before no before undecided.
    """
    told: dict[str, list[tuple[int, float, str, FitFound]]] = {}
    for one in results:
        for fit in (one.fits or ()) if one.verified else ():
            told.setdefault(fit.use, []).append((ANSWERS.index(fit.answer), fit.margin or 1.0, one.id, fit))
    first = itemgetter(0, 1, 2)  # the record of a use has no order
    rows = [(min(each, key=first), sum(place == 0 for place, *_ in each), len(each)) for each in told.values()]
    ordered = sorted(rows, key=lambda row: first(row[0]))
    return [(fit, number, yes, all_) for (*_, number, fit), yes, all_ in ordered]


def hardware(results: Iterable[Result]) -> list[str]:
    """What drives told of themselves in a product's results: several models, several firmwares of one, and whether
    results that one key signed are of one unit; another key makes other names of the same drives.
    """
    firmwares: dict[str, set[str]] = defaultdict(set)
    units: dict[tuple[str, str], list[str]] = defaultdict(list)
    models = []
    for one in (one for one in results if one.hardware):
        told, _, unit = one.hardware.partition("; unit ")
        drives = [each.split(", ") for each in told.split("; ")]
        models.append(" and ".join(model for model, *_ in drives))
        for model, *more in drives:
            firmwares[model] |= {text for text in more if text.startswith("firmware ")}
        units[one.owner, one.signer] += [unit] if unit else []
    named = sorted(set(models))
    said = [f"{plural(len(models), 'result')} name {len(named)} models: {'; '.join(named)}"] if len(named) > 1 else []
    said += [f"{model}: {' and '.join(sorted(each))}" for model, each in firmwares.items() if len(each) > 1]
    many = {owner: (len(each), len(set(each))) for (owner, _), each in units.items() if len(each) > 1}
    return said + [f"{all_} results by {owner}: {plural(some, 'unit')}" for owner, (all_, some) in many.items()]


# -- products ------------------------------------------------------------------------------------------------


LOADS = {"randread": "random read", "randwrite": "random write", "randrw": "random mix", "rw": "mix"}
"""Words for fio's; others are their own."""


def load_name(rw: str, bs_bytes: int) -> str:
    """'4 KiB random read'."""
    return f"{format_size(bs_bytes)} {LOADS.get(rw, rw)}"


def share(value: float | None, low: float | None, high: float | None) -> str:
    """Half the interval, as a share of the value."""
    if not value:
        return ""
    return "no interval" if low is None or high is None else f"±{per_cent((high - low) / 2 / value)}"


def known_of(one: Product) -> Badge:
    """What stands beside a product."""
    return _badge(one.reproduced, "product as told", plural(one.evaluators, "evaluator"))


def rate_text(value: float, bs_bytes: int) -> str:
    """I/Os a second, as bytes a second where blocks are large."""
    return format_rate(value * bs_bytes) if bs_bytes > SMALL_BYTES else f"{format_count(value)} IOPS"


def told_of(row: Mapping[str, Any]) -> tuple[str, str, str]:
    """Of a row of an export what it does, as in `rate_text`, half the interval of that, and its p99."""
    late = f"p99 {format_latency(row['lat_p99_ns'])}" if row.get("lat_p99_ns") else ""
    if (row.get("bs_bytes") or 0) <= SMALL_BYTES and row.get("iops") is not None:
        return f"{format_count(row['iops'])} IOPS", share(*map(row.get, ("iops", "iops_low", "iops_high"))), late
    value, low, high = map(row.get, ("bw_bytes_per_s", "bw_low", "bw_high"))
    return format_rate(value or 0.0), share(value, low, high), late


def loads(rows: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Of each kind and block size the depth that gives most, and one in flight."""
    kind = ("protocol", "link", "rw", "direction", "bs_bytes")
    groups = grouped((tuple(one[name] for name in kind), one) for one in rows)
    most = [max(each, key=lambda one: (one["iops_low"] or 0, one["iops"])) for each in groups.values()]
    alone = [[one for one in each if one["in_flight"] == 1] for each in groups.values()]
    return [one for top, first in zip(most, alone, strict=True) for one in [*(f for f in first if f is not top), top]]


_SPECIAL = re.compile(r"([&%$#_{}~^\\])")
_WORDS = {
    "\\": r"\textbackslash{}",
    "{": r"\textbraceleft{}",
    "}": r"\textbraceright{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}


def as_text(one: Result, origin: str) -> str:
    """How a paper names a result, in one line. origin: address of the service."""
    what = f"{one.title}: performance map"
    who = f"{one.owner or 'Anonymous'} ({day(one.uploaded_at)[:4]})"
    return f"{who}. {what}. I/O Atlas, result {one.id}. {origin}/r/{one.id}. SHA-256 {one.bundle_sha256 or 'deleted'}."


def as_bibtex(one: Result, origin: str) -> str:
    """How a paper names a result: an entry that any version of BibTeX takes."""
    what = f"{one.title}: performance map"
    key = re.sub(r"[^A-Za-z0-9]", "", one.id)
    return (
        f"@misc{{ioatlas-{key},\n"
        f"  author = {{{{{_plain(one.owner or 'Anonymous')}}}}},\n"
        f"  title = {{{_plain(what)}}},\n"
        f"  year = {{{day(one.uploaded_at)[:4]}}},\n"
        f"  howpublished = {{\\url{{{origin}/r/{one.id}}}}},\n"
        f"  note = {{I/O Atlas result {_plain(one.id)}, SHA-256 {one.bundle_sha256 or 'deleted'}}},\n"
        "}\n"
    )


def _plain(text: str) -> str:
    """Nothing in it is a command of TeX, and no brace ends a field: BibTeX counts those behind a backslash too."""
    return _SPECIAL.sub(lambda found: _WORDS.get(found[1], f"\\{found[1]}"), " ".join(text.split()))


FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""With what a cell begins that spreadsheets compute."""


def table(document: Mapping[str, Any]) -> tuple[tuple[str, ...], list[dict[str, Value]]]:
    """(columns, rows) of an export; lists become text."""
    rows = document.get("rows", [])
    names = tuple(dict.fromkeys(name for row in rows for name in row))
    found = [{name: plain(row.get(name)) for name in names} for row in rows]
    return names, found


def as_csv(document: Mapping[str, Any]) -> str:
    return harmless_csv(*table(document))


def harmless_csv(names: Sequence[str], rows: Iterable[Mapping[str, Value]]) -> str:
    """A stranger's text that a spreadsheet would compute has a mark before it, which makes it text. Nor may it begin a
    new row, which a carriage return does.
    """
    return csv_text(names, [{one: _no_formula(value) for one, value in row.items()} for row in rows]).replace("\r", " ")


def _no_formula(value: Value) -> Value:
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value


def as_parquet(document: Mapping[str, Any]) -> bytes:
    """Raises IoAtlasError where pyarrow is not installed (the extra `parquet`)."""
    if not can():
        raise IoAtlasError("Parquet is not installed here", remedy="take CSV or JSON")
    names, rows = table(document)
    return parquet({name: meaning(name, rows) for name in names}, rows)
