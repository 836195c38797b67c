# SPDX-License-Identifier: Apache-2.0
"""What `ioatlas show DIR --json` tells, beside the truth. Nothing else of the tool is looked at."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import median
from typing import Any

MIB = 1 << 20
HEADLINES = ("read", "write", "rand read q16", "rand write q16", "q1 read")
WRONG, SURE = 0.10, "good"


@dataclass(frozen=True)
class Told:
    """A headline as it is told. value: bytes/s of the first two, else I/Os a second. cell: what made it. held: s, for
    which it is told, and no longer; None without such an end.
    """

    name: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    trust: str = ""
    limit: str = ""
    rw: str = ""
    bs: int = 0
    flight: int = 0
    size: int = 0
    held: float | None = None


@dataclass(frozen=True)
class Burst:
    """A burst as it is told. size: bytes or I/Os, None where only its presence is told."""

    way: str
    size: float | None = None


@dataclass(frozen=True)
class Answer:
    """All that is judged of one answer."""

    headlines: dict[str, Told]
    bursts: tuple[Burst, ...]
    trust: str
    doubts: tuple[str, ...] = ()


def read_answer(told: Mapping[str, Any]) -> Answer:
    """The parts of the JSON document that are judged."""
    summary = told.get("summary", {})
    rows = {row["cell"]: row for row in told.get("rows", ())}
    trust = summary.get("trust", "")
    found: dict[str, Told] = {}
    for way in ("read", "write"):
        named = [one for one in summary.get("headlines", ()) if one["direction"] == way and one.get("value")]
        of_bytes = [one for one in named if one["quantity"] == "bw_bytes_per_s"]
        if of_bytes:
            one = of_bytes[0]
            grade = one.get("grade") or trust
            high = one["high"] if one["high"] is not None or not one["lower_bound"] else math.inf
            told_of = _of_row(way, rows.get(one["cell"], {}), one["value"], one["low"], high, grade)
            found[way] = replace(told_of, held=one.get("held_seconds"))
        else:
            found[way] = Told(way)
    readings = {
        reading["cell"]: reading
        for one in summary.get("small", ())
        for reading in (one["lightest"], one["best"])
        if reading
    }
    for name, rw, flight in (
        ("rand read q16", "randread", 16),
        ("rand write q16", "randwrite", 16),
        ("q1 read", "randread", 1),
    ):
        mine = [
            row
            for row in rows.values()
            if row["rw"] == rw and row["bs_bytes"] == 4096 and row["iops"] and row["verdict"] != "hole"
        ]
        mine = [row for row in mine if row["numjobs"] * row["iodepth"] == flight]
        if mine:
            row = mine[0]
            reading = readings.get(row["cell"], {})
            grade = row.get("grade") or reading.get("grade") or trust
            small = _of_row(name, row, row["iops"], row["iops_low"], row["iops_high"], grade)
            found[name] = replace(small, held=reading.get("held_seconds"))
        else:
            found[name] = Told(name)
    bursts = []
    for finding in told.get("findings", ()):
        if finding["code"] == "burst":
            bursts.append(Burst(finding["direction"], _size(finding["values"])))
    return Answer(found, tuple(bursts), trust, tuple(one["code"] for one in summary.get("doubts", ())))


def _size(values: Mapping[str, Any]) -> float | None:
    """The credit of a burst: what ran fast, less what came back meanwhile."""
    if "first" not in values:
        return None
    first, fast, then = (values[name]["value"] for name in ("first", "fast", "then"))
    return first * (1 - then / fast) if values.get("back_seconds") else first


def _of_row(name: str, row: Mapping[str, Any], value: float, low: float | None, high: float | None, trust: str) -> Told:
    if not row:
        return Told(name, value, low, high, trust)
    return Told(
        name,
        value,
        low,
        high,
        trust,
        row.get("limit") or "",
        row["rw"],
        row["bs_bytes"],
        row["numjobs"] * row["iodepth"],
        row["size_bytes"],
    )


LIMIT_NAMES = {
    "latency": {"latency"},
    "connection queue": {"latency"},
    "link": {"link"},
    "drive bandwidth": {"bytes"},
    "target bandwidth": {"bytes"},
    "drive IOPS": {"ios"},
    "target IOPS": {"ios"},
    "single queue": {"ios"},
    "rate limit (token bucket)": {"bytes", "ios"},
    "rate limit in bytes": {"bytes"},
    "rate limit per job in bytes": {"bytes"},
    "rate limit per job in I/Os": {"ios"},
    "rate limit in I/Os": {"ios"},
    "rate limit in IOPS": {"ios"},
    "target": {"bytes", "ios", "cache"},
    "drive": {"bytes", "ios", "cache"},
    "server cache": {"cache"},
    "client page cache": {"cache"},
    "client CPU": {"client"},
}
"""What the tool's words claim, in the examiner's: latency, link, bytes, ios, cache."""


def limit_word(told: str, truth: Mapping[str, float]) -> str:
    """'right', 'two' (one of two names), 'wrong' or 'withheld'."""
    names = [one.strip() for one in re.split(r" or |,|/(?!O)", told) if one.strip()]
    names = [one for one in names if one not in ("undetermined", "unclear")]
    if not names or not truth:
        return "withheld"
    most = max(truth.values())
    true = {name for name, gain in truth.items() if gain >= 0.35 or gain == most}
    if "link" in true:  # from the client's side it is a limit in bytes
        true.add("bytes")
    claims = [LIMIT_NAMES.get(one, {one}) for one in names]
    if len(claims) == 1:
        return "right" if claims[0] & true else "wrong"
    return "two" if any(one & true for one in claims) else "wrong"


@dataclass
class Judged:
    """One headline against the truth. error: of the value against the lasting rate or, where that changes with time,
    against the nearer end of its range. holds: whether the interval has the truth, None without an interval. held: as
    told.
    """

    name: str
    truth: float
    truth_low: float
    truth_high: float
    falls_after: float
    value: float | None
    low: float | None
    high: float | None
    trust: str
    error: float | None
    holds: bool | None
    limit: str
    true_limit: dict[str, float]
    limit_word: str
    held: float | None = None

    @property
    def sure_and_wrong(self) -> bool:
        return self.error is not None and abs(self.error) > WRONG and self.trust.lower() == SURE

    @property
    def fell_later(self) -> bool:
        """Whether it is too high for what lasts, and told of a time alone."""
        return self.held is not None and not self.holds and (self.error or 0.0) > WRONG

    @property
    def narrow_and_wrong(self) -> bool:
        if self.error is None or self.low is None or self.high is None or not self.value:
            return False
        return abs(self.error) > WRONG and (self.high - self.low) / 2 < WRONG * self.value


def judge(told: Told, truth: float, low: float, high: float, falls_after: float, limits: Mapping[str, float]) -> Judged:
    error = holds = None
    if told.value is not None:
        error = told.value / truth - 1
        if low < high and low <= told.value <= high:
            error = 0.0
        elif low < high:
            error = told.value / (low if told.value < low else high) - 1
        if told.low is not None and told.high is not None:
            holds = told.low <= high * 1.002 and told.high >= low / 1.002
    return Judged(
        told.name,
        truth,
        low,
        high,
        falls_after,
        told.value,
        told.low,
        told.high,
        told.trust,
        error,
        holds,
        told.limit,
        dict(limits),
        limit_word(told.limit, limits) if told.value is not None else "withheld",
        told.held,
    )


@dataclass
class Scored:
    """One target. bursts: of each direction 'false', 'missed', 'told', 'none' and how far off the told size is."""

    seed: int | str
    kind: str
    words: tuple[str, ...]
    deterministic: bool
    headlines: list[Judged]
    bursts: dict[str, tuple[str, float | None]]
    trust: str
    doubts: tuple[str, ...]
    virtual: float
    real: float
    problem: str = ""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of_json(cls, value: dict[str, Any]) -> Scored:
        headlines = [Judged(**one) for one in value["headlines"]]
        bursts = {way: (word, size) for way, (word, size) in value["bursts"].items()}
        return cls(**{**value, "headlines": headlines, "bursts": bursts, "words": tuple(value["words"])})


def judge_bursts(
    told: Sequence[Burst], true: Mapping[str, list[tuple[str, float, float]]], falls_after: Mapping[str, float]
) -> dict[str, tuple[str, float | None]]:
    """falls_after: of each direction the longest that a main load takes to come to what lasts."""
    found: dict[str, tuple[str, float | None]] = {}
    for way in ("read", "write"):
        mine = [one for one in told if one.way in (way, "both", "")]
        sizes = [size for _, size, _ in true[way]]
        if mine and not sizes:
            found[way] = ("false", None)
        elif mine:
            off = [abs(math.log(one.size / size)) for one in mine if one.size for size in sizes]
            found[way] = ("told", math.exp(min(off)) - 1 if off else None)
        elif sizes and 0.5 < falls_after.get(way, 0.0) < 20:
            found[way] = ("missed", None)
        else:
            found[way] = ("none", None)
    return found


@dataclass
class Table:
    """A table over many targets. looked_s: what takes longer to come to what lasts is 'hidden'."""

    scored: list[Scored]
    looked_s: float = 15.0

    def group(
        self,
        name: str,
        wanted: Sequence[Scored],
        fits: Callable[[Judged], bool] = lambda _one: True,
        *,
        bursts_too: bool = True,
    ) -> dict[str, Any]:
        all_of = [one for target in wanted for one in target.headlines if fits(one)]
        told = [one for one in all_of if one.error is not None]
        errors = sorted(abs(one.error or 0.0) for one in told)
        known = [one for one in told if one.holds is not None]
        grades = {grade: sum(one.trust.lower() == grade for one in told) for grade in ("good", "fair", "low")}
        words = [one.limit_word for one in all_of]
        bursts = [word for target in wanted for word, _ in target.bursts.values() if bursts_too]
        sizes = [size for target in wanted for _, size in target.bursts.values() if size is not None and bursts_too]
        return {
            "group": name,
            "targets": len(wanted),
            "headlines": len(all_of),
            "told": len(told),
            "within_10": sum(error <= WRONG for error in errors),
            "right": sum(abs(one.error or 0.0) <= WRONG or bool(one.holds) for one in told),
            "median_error": median(errors) if errors else None,
            "p90_error": errors[int(0.9 * (len(errors) - 1))] if errors else None,
            "intervals": len(known),
            "hold": sum(bool(one.holds) for one in known),
            "for_a_time": sum(one.held is not None for one in told),
            "fell_later": sum(one.fell_later for one in told),
            "median_half_width": median([(one.high - one.low) / 2 / one.value for one in known]) if known else None,
            "narrow_and_wrong": sum(one.narrow_and_wrong for one in told),
            **grades,
            "sure_and_wrong": sum(one.sure_and_wrong for one in told),
            "limits_right": words.count("right"),
            "limits_two": words.count("two"),
            "limits_wrong": words.count("wrong"),
            "limits_withheld": words.count("withheld"),
            "bursts_false": bursts.count("false"),
            "bursts_told": bursts.count("told"),
            "bursts_missed": bursts.count("missed"),
            "bursts_looked_at": len(bursts),
            "burst_size_off": median(sizes) if sizes else None,
            "seconds": median([one.virtual for one in wanted]) if wanted else None,
            "cpu_seconds": median([one.real for one in wanted]) if wanted else None,
        }

    def groups(self) -> list[dict[str, Any]]:
        good = [one for one in self.scored if not one.problem]
        plain = [one for one in good if one.kind != "odd"]

        def seen(one: Judged) -> bool:
            return one.falls_after <= self.looked_s

        found = [
            self.group("all", good),
            self.group("plain", plain, seen),
            self.group("  no noise", [one for one in plain if one.deterministic], seen),
            *(
                self.group(f"  {name}", plain, lambda one, name=name: seen(one) and one.name == name, bursts_too=False)
                for name in HEADLINES
            ),
            self.group("hidden", plain, lambda one: not seen(one), bursts_too=False),
            self.group("odd", [one for one in good if one.kind == "odd"]),
        ]
        return [one for one in found if one["headlines"]]


def percent(value: float | None) -> str:
    return "" if value is None else f"{value:.1%}"


def markdown(groups: Sequence[Mapping[str, Any]]) -> str:
    """The table for people."""
    head = (
        "| | targets | told of headlines | within 10% | or in interval | median, p90 error | intervals hold "
        "| half-width | "
        "narrow and wrong | good/fair/low | sure and wrong | limits right, two, wrong, withheld "
        "| bursts told, missed, "
        "**false** (size off) | s, CPU s |\n" + "|---" * 14 + "|"
    )
    lines = [head]
    for one in groups:
        hold = f"{one['hold']} of {one['intervals']}" if one["intervals"] else "-"
        hold += f"; {one['fell_later']} of {one['for_a_time']} fell later" if one["for_a_time"] else ""
        bursts = (
            f"{one['bursts_told']}, {one['bursts_missed']}, {one['bursts_false']}" if one["bursts_looked_at"] else ""
        )
        bursts += f" ({percent(one['burst_size_off'])})" if one["burst_size_off"] is not None else ""
        lines.append(
            f"| {one['group']} | {one['targets']} | {one['told']} of {one['headlines']} | {one['within_10']} "
            f"| {one['right']} | {percent(one['median_error'])}, {percent(one['p90_error'])} | {hold} "
            f"| {percent(one['median_half_width'])} | {one['narrow_and_wrong']} "
            f"| {one['good']}/{one['fair']}/{one['low']} | {one['sure_and_wrong']} "
            f"| {one['limits_right']}, {one['limits_two']}, {one['limits_wrong']}, "
            f"{one['limits_withheld']} | {bursts} "
            f"| {one['seconds']:.0f}, {one['cpu_seconds']:.1f} |"
        )
    return "\n".join(lines)


def detail(one: Scored) -> str:
    """Lines on one target."""
    lines = [f"seed {one.seed} {one.kind} trust={one.trust} {'; '.join(one.words)} {one.problem}"]
    for h in one.headlines:

        def said(value: float | None, name: str = h.name) -> str:
            if value is None:
                return "-"
            return f"{value / 1e6:.4g} MB/s" if name in ("read", "write") else f"{value:.5g}"

        span = f" [{said(h.truth_low)}..{said(h.truth_high)}]" if h.truth_low < h.truth_high else ""
        mark = " SURE AND WRONG" if h.sure_and_wrong else " narrow and wrong" if h.narrow_and_wrong else ""
        lines.append(
            f"   {h.name:<15} truth {said(h.truth)}{span} told {said(h.value)} [{said(h.low)}..{said(h.high)}] "
            f"{percent(h.error)} {h.trust} holds={h.holds} falls {h.falls_after:.1f} s; limit {h.limit!r} true "
            f"{ {name: round(gain, 2) for name, gain in h.true_limit.items()} } {h.limit_word}{mark}"
        )
    lines.append(f"   bursts {one.bursts} doubts {one.doubts} {one.virtual:.0f} s, CPU {one.real:.1f} s")
    return "\n".join(lines)
