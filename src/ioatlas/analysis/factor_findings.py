# SPDX-License-Identifier: Apache-2.0
"""What factors do, in sentences, charts and tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ioatlas.analysis.charts import chart
from ioatlas.analysis.factors import pairs
from ioatlas.model.estimate import UNDETERMINED, Bound
from ioatlas.model.factors import FactorEffects, FactorLine, FactorPoint, Measured, speaks_for_itself
from ioatlas.model.finding import Finding, FindingCode
from ioatlas.model.load_curve import Spread
from ioatlas.model.panel import Dot, Line, Panel, Series, Table
from ioatlas.model.units import format_rate, per_cent
from ioatlas.model.words import words

RESOURCES = words("drive disk ssd hdd osd link port client node server brick box controller price cost")
"""Factors whose names hold one of these are bought more of: how well they scale is told in a sentence."""
MEGA = 1e6
NEAR_CEILING = 0.9
"""Share of a ceiling from which on it is named as the limit."""
MOST_PAIRS = 3
"""Of the levels of a factor of texts that are told in one sentence; the table has all."""
PRICE, PRICE_PER_TIB = "price", "price_per_tib"
"""Factors that follow from the product sheets."""
ONE_SET_UP = (
    "The configurations were measured one after another, each set up once. What drifted between them counts as what "
    "the factors do, and their intervals leave it out. To tell them apart, write `blocks = 2`, or let them exist side "
    "by side."
)
SEVERAL_SET_UPS = (
    "The configurations were measured one after another, each set up {} times. What moved between two set-ups of one "
    "configuration, drift or the setting up itself, is in all intervals."
)
NOUNS = {"read": "reads", "write": "writes", "trim": "trims"}


def factor_findings(effects: FactorEffects, *, set_ups: int = 0) -> tuple[Finding, ...]:
    """A sentence for each line. set_ups: how often each member was set up; 0 where they were measured in turns."""
    found = [_finding(line, _numeric(line) if line.numeric else _texts(line)) for line in effects.lines]
    alone = [
        Finding(FindingCode.FACTOR, f"Nothing can be said of the factor {name}: {why}.", title=f"Factor {name}")
        for name, why in effects.alone.items()
    ]
    apart = []
    if set_ups and found:
        sentence = ONE_SET_UP if set_ups == 1 else SEVERAL_SET_UPS.format(set_ups)
        apart = [Finding(FindingCode.FACTOR, sentence, title="Factors and drift")]
    return (*found, *alone, *apart)


def _finding(line: FactorLine, sentence: str) -> Finding:
    held = f", {line.held_words}" if line.held else ""
    cells = tuple(key for point in line.points for key in point.measured.cells)
    title = f"Factor {line.factor}, {_noun(line)}{held}"
    return Finding(FindingCode.FACTOR, sentence, cells, title=title, place="charts", direction=line.direction)


def _noun(line: FactorLine) -> str:
    return NOUNS.get(line.direction, line.direction)


def _span(line: FactorLine, first: FactorPoint, last: FactorPoint) -> str:
    """'3 to 11 drives', 'mtu 1500 to 9000', 'link 1 to 10 Gbit/s'."""
    low, high = (f"{point.level.value:g}" for point in (first, last))  # numbers both
    unit = f" {first.level.unit}" if first.level.unit else ""
    if line.factor.endswith("s") and not unit:
        return f"{low} to {high} {line.factor}"
    return f"{line.factor} {low} to {high}{unit}"


def _at(line: FactorLine, point: FactorPoint) -> str:
    """'7 drives', 'mtu 9000'."""
    return f"{point.level.text} {line.factor}" if line.factor.endswith("s") else f"{line.factor} {point.level.text}"


def times_text(ratio: Spread) -> str:
    """'1.6 times (1.4 to 1.8)'."""
    told = f"{ratio.value:.2g} times" if ratio.value < 10 else f"{ratio.value:.0f} times"
    if ratio.low is None or ratio.high is None:
        return f"{told} (too few visits for an interval)"
    digits = 2 if abs(ratio.high - ratio.low) >= 0.1 else 3
    return f"{ratio.value:.{digits}g} times ({ratio.low:.{digits}g} to {ratio.high:.{digits}g})"


def _priced(line: FactorLine) -> str:
    """'For 2.1 times the price (1,650 to 3,480 USD) 1.6 times the reads (1.4 to 1.8).'"""
    first, last = line.points[0], line.points[-1]
    low, high, unit = float(first.level.value), float(last.level.value), first.level.unit
    what = "the price" if line.factor == PRICE else "the price of a usable TiB"
    change, interval = times_text(last.change).split(" times", 1)
    sure = last.change.low is None or last.change.high is None or last.change.low > 1 or last.change.high < 1
    gives = (
        f"For {high / low:.2g} times {what} ({_money(low)} to {_money(high)} {unit}) {change} times the "
        f"{_noun(line)}{interval}{'' if sure else ', no sure change'}{_under(line)}."
    )
    sentences = [gives]
    if last.efficiency is not None and line.factor == PRICE:
        share = last.efficiency
        told = f" ({per_cent(share.low)} to {per_cent(share.high)})" if share.low and share.high else ""
        sentences.append(f"{unit} by {unit}, {per_cent(share.value)}{told} of what the cheapest gives.")
    return " ".join(sentences)


def _money(amount: float) -> str:
    return f"{amount:,.0f}" if amount >= 1000 else f"{amount:,.4g}"


def _numeric(line: FactorLine) -> str:
    if line.factor in (PRICE, PRICE_PER_TIB) and line.points[0].level.unit:
        return _priced(line)
    first, last = line.points[0], line.points[-1 if line.ends is None else line.ends]
    sentences = [f"From {_span(line, first, last)} {_noun(line)} {_changed(last.change)}{_under(line)}."]
    if line.ends is not None:
        why = _limit(line.points[-1].measured) or "more gains nothing"
        sentences.append(f"From {_at(line, last)} on {why}.")
    elif last.change.low is not None and last.change.low > 1 and (limit := _limit(last.measured)):
        sentences.append(f"At {_at(line, last)} {limit}.")
    efficiency = line.points[-1].efficiency
    if efficiency is not None and any(word in line.factor.lower() for word in RESOURCES):
        told = (
            f" ({per_cent(efficiency.low)} to {per_cent(efficiency.high)})"
            if efficiency.low and efficiency.high
            else ""
        )
        at = _at(line, line.points[-1])
        sentences.append(
            f"Scaling efficiency at {at}: {per_cent(efficiency.value)}{told} of that at {first.level.text}."
        )
    return " ".join(sentences)


def _changed(change: Spread) -> str:
    if change.low is not None and change.low > 1:
        return f"grow {times_text(change)}"
    if change.high is not None and change.high < 1:
        return f"fall to {times_text(change)}"
    if change.low is None:
        return f"come to {times_text(change)}"
    return f"show no sure change: {times_text(change)}"


def _under(line: FactorLine) -> str:
    """Under what this holds."""
    held = f", with {line.held_words}" if line.held else ""
    return f"{held}; {line.load}"


def _limit(one: Measured) -> str:
    """'the limit is the link: 113 of 117.7 MB/s'; '' where that is not known."""
    bound = one.ceiling
    if bound is not None and one.value >= NEAR_CEILING * bound.bw_bytes_per_s:
        told = f"{one.value / MEGA:.4g} of {bound.bw_bytes_per_s / MEGA:.4g} MB/s"  # as links are counted
        return f"the limit is {bound.name}: {told}"
    if one.limit and one.limit not in (UNDETERMINED, "latency"):
        return f"the limit is {one.limit}"
    return ""


def _texts(line: FactorLine) -> str:
    told = []
    for one, other, ratio in pairs(line)[:MOST_PAIRS]:
        against = f"{other.level.text} instead of {one.level.text}"
        sure = ratio.low is not None and ratio.high is not None and (ratio.low > 1 or ratio.high < 1)
        told.append(f"{against}: {times_text(ratio)}" + ("" if sure else ", no sure difference"))
    more = len(pairs(line)) - len(told)
    rest = f"; {more} more pairs in the table" if more > 0 else ""
    name = "" if all(speaks_for_itself(point.level.value) for point in line.points) else f"{line.factor} "
    return f"{_noun(line).capitalize()} with {name}{'; '.join(told)}{rest}{_under(line)}."


# -- charts and tables ------------------------------------------------------------------------------------------------


def factor_charts(effects: FactorEffects) -> tuple[Panel, ...]:
    """A chart for each factor of numbers and each direction; a line for each set of values of the others."""
    groups: dict[tuple[str, str], list[FactorLine]] = {}
    for line in effects.lines:
        if line.numeric:
            groups.setdefault((line.factor, line.direction), []).append(line)
    return tuple(_chart(factor, lines) for (factor, _), lines in groups.items())


def _chart(factor: str, lines: Sequence[FactorLine]) -> Panel:
    unit = lines[0].points[0].level.unit
    noun = _noun(lines[0])
    drawn = [Series(line.held_words or noun, tuple(map(_dot, line.points))) for line in lines]
    bounds: dict[str, Bound] = {}
    for line in lines:
        for point in line.points:
            if point.measured.ceiling is not None:
                bounds.setdefault(point.measured.ceiling.name, point.measured.ceiling)
    loads = dict.fromkeys(line.load for line in lines)
    held = f", with {lines[0].held_words}" if len(lines) == 1 and lines[0].held else ""
    known = any(dot.low is not None for one in drawn for dot in one.dots)
    bars = "Bars are 95% intervals over visits." if known else "Too few visits for intervals."
    return chart(
        f"{noun.capitalize()} over {factor}",
        f"{factor}, {unit}" if unit else factor,
        "Throughput",
        "B/s",
        drawn,
        limits=[Line(name, bound.bw_bytes_per_s) for name, bound in bounds.items()],
        note=f"{bars} {'; '.join(loads)}{held}.",
    )


def _dot(point: FactorPoint) -> Dot:
    one = point.measured
    return Dot(float(point.level.value), one.value, one.low, one.high, one.visits)


COLUMNS = ("Level", "Others", "Direction", "Throughput", "95% interval", "Against the first", "Efficiency", "Limit")


def factor_tables(effects: FactorEffects) -> Iterator[Table]:
    """A table for each factor: a row for each level."""
    for factor in dict.fromkeys(line.factor for line in effects.lines):
        lines = [line for line in effects.lines if line.factor == factor]
        rows = [_row(line, point) for line in lines for point in line.points]
        yield Table(f"Factor {factor}", COLUMNS, tuple(rows), folded=True)


def _row(line: FactorLine, point: FactorPoint) -> tuple[str, ...]:
    one, first = point.measured, point is line.points[0]
    known = one.low is not None and one.high is not None
    return (
        point.level.text,
        line.held_words or "–",
        line.direction,
        format_rate(one.value),
        f"{format_rate(one.low)} to {format_rate(one.high)}" if known else "–",  # type: ignore[arg-type]
        "–" if first else times_text(point.change),
        per_cent(point.efficiency.value) if point.efficiency is not None else "–",
        _limit(one) or "–",
    )
