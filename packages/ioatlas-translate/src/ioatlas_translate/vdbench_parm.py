# SPDX-License-Identifier: Apache-2.0
"""vdbench parameter files: a stream of `keyword=value` in the order general, hd, sd or fsd, wd or fwd, rd;
and the runs of an rd: one for each point of its loops and each of its rates.

Facts (manual 5.04): a line that begins with `/`, `#` or `*` is a comment, `eof` ends the file, a trailing comma
continues the line, text after a blank is a comment, keywords may be cut to two letters or more, `xx=default` sets
defaults for the definitions after it, and inside a wd or rd the words sd, fsd, hd, wd and fwd refer to earlier
definitions.
"""

from __future__ import annotations

import fnmatch
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ioatlas.load.streams.fidelity import Notes, notes_in
from ioatlas.model.errors import UsageError
from ioatlas.model.units import words
from ioatlas.store.toml import shipped
from ioatlas_translate.command import BINARY, Source, sized
from ioatlas_translate.translation import safe_name

TOLD = notes_in("ioatlas_translate", "vdbench")
KINDS = ("hd", "rg", "sd", "fsd", "wd", "fwd", "rd")
_OPTIONS = shipped("ioatlas_translate", "options.toml")
_STARTS = {kind: words(after) for kind, after in _OPTIONS["vdbench_order"].items()}
WORDS = {name: frozenset(words(listed)) for name, listed in _OPTIONS["vdbench_words"].items()}
_KEYWORDS = {kind: words(names) for kind, names in _OPTIONS["vdbench"].items()}


@dataclass
class Definition:
    """One sd, wd, rd, ...: parameters by full keyword, in the order they were written.

    used: keywords that the translation asked for.
    """

    kind: str
    name: str
    values: dict[str, list[str]] = field(default_factory=dict)
    where: str = ""
    used: set[str] = field(default_factory=set)

    def first(self, *names: str) -> str | None:
        return next(iter(self.all(*names)), None)

    def all(self, *names: str) -> list[str]:
        return next((self.values[name] for name in names if self.has(name)), [])

    def has(self, name: str) -> bool:
        self.used.add(name)
        return name in self.values

    def number(self, *names: str, default: str = "0") -> float:
        """Of the first of these keywords that is given. Raises UsageError for what is no number."""
        return number(self.first(*names) or default, names[0], self.where)


@dataclass
class ParameterFile:
    general: Definition = field(default_factory=lambda: Definition("general", ""))
    definitions: dict[str, list[Definition]] = field(default_factory=lambda: {kind: [] for kind in KINDS})
    passed_over: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    """Files it includes that are not there."""
    """Lines that hold no keyword=value: text between the definitions, as vdbench's own examples have it."""


def number(text: str, what: str, where: str) -> float:
    """A number with a binary suffix k, m, g or t. Raises UsageError."""
    return sized(text, what, BINARY, f"{what}=64k", where=where)


def seconds(text: str, what: str, where: str) -> float:
    """Seconds of `30`, `10s`, `10m` (minutes) or `1h`."""
    return sized(text, what, {"": 1, "s": 1, "m": 60, "h": 3600}, f"{what}=60 or {what}=10m", where=where)


def numbers(texts: list[str], what: str, where: str) -> list[float]:
    """Numbers of a list; `a-b,d` doubles from a to b, `a-b,n` steps by n, as vdbench's own lists do."""
    if len(texts) != 2 or "-" not in texts[0].lstrip("-"):
        return [number(text, what, where) for text in texts]
    given = f"{what}=({','.join(texts)})"
    first, last = (number(text, what, where) for text in texts[0].split("-", 1))
    doubling, falling = texts[1].lower() == "d", last < first  # (100-0,10) goes down, (64-1,d) halves
    step = 0.0 if doubling else number(texts[1], what, where)
    low, high = sorted((first, last))
    if low < 0 or (low if doubling else step) <= 0:
        raise UsageError(f"{given} is not a series", where=where, remedy="write for example (1-64,d) or (100-1000,100)")
    values: list[float] = []
    while low <= first <= high:
        if len(values) >= 10_000:
            raise UsageError(f"{given} has more than 10,000 values", where=where, remedy="use a larger step")
        values.append(first)
        first = first * (0.5 if falling else 2) if doubling else first + (-step if falling else step)
    return values


def logical_lines(
    source: Source, substitutions: Mapping[str, str], missing: list[str], depth: int = 0
) -> Iterator[tuple[str, str]]:
    """(where, line) without comments, continued lines joined, include files in their place; the names of those that are
    not there join `missing`.
    """
    pending, place = "", ""
    for index, raw in enumerate(source.text.split("\n"), 1):
        line = raw.strip()
        where = f"{source.where}:{index}" if source.from_file else source.where
        if line.startswith("eof"):
            break
        if not line or line.startswith(("/", "#", "*")):
            continue
        line = re.sub(r"\$([A-Za-z]\w*)", lambda m: substitutions.get(m.group(1), m.group(0)), line)
        if line.startswith("include="):
            name = "".join(line.partition("=")[2].split()[:1])
            if source.included(name).is_file():
                yield from logical_lines(source.include(name, depth=depth + 1), substitutions, missing, depth + 1)
            else:
                missing.append(name)
            continue
        line = _without_comment(line)
        place = place or where
        pending += line
        if pending.endswith(","):
            continue
        yield place, pending
        pending, place = "", ""
    if pending:
        yield place, pending.rstrip(",")


def _without_comment(line: str) -> str:
    """The line up to its first blank outside quotes and brackets; a blank after a comma or around `=` is layout."""
    line = re.sub(r",\s+(?=[A-Za-z_]+\s*=|\(|[\w.*/\\$-]+\s*[,)])", ",", line)
    line = re.sub(r"\s*=\s*", "=", line) if re.match(r"^[a-z]+\s+=", line) else line
    return next((line[:position] for position, letter in _outside(line) if letter.isspace()), line)


def _outside(text: str) -> Iterator[tuple[int, str]]:
    """Each letter outside quotes and brackets, with its position."""
    quote, level = "", 0
    for position, letter in enumerate(text):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        elif letter in "()":
            level += 1 if letter == "(" else -1
        elif level <= 0:
            yield position, letter


def _divided(text: str) -> list[str]:
    """At the commas outside quotes and brackets."""
    cuts = [-1, *(position for position, letter in _outside(text) if letter == ","), len(text)]
    return [text[start + 1 : end] for start, end in itertools.pairwise(cuts)]


def split_values(value: str, where: str) -> list[str]:
    """The values of one keyword: `x`, `(a,b)`; inner brackets stay together."""
    value = value.strip()
    if value.count("(") != value.count(")"):
        raise UsageError(f"brackets do not match in {value!r}", where=where, remedy="close each bracket")
    if not value.startswith("("):
        return [value.strip("\"'")] if value else []
    inner = value[1:-1] if value.endswith(")") else value.replace("(", "").replace(")", "")
    return [part.strip().strip("\"'") for part in _divided(inner) if part.strip()]


def _pairs(line: str, where: str) -> Iterator[tuple[str, list[str]]]:
    """keyword, values of one logical line; commas inside brackets and quotes do not divide."""
    for part in _divided(line):
        if not part.strip():
            continue
        keyword, equals, value = part.strip().partition("=")
        if not equals:
            raise UsageError(
                f"{part.strip()!r} is not keyword=value",
                where=where,
                remedy="write keyword=value, or a * before a comment",
            )
        yield keyword.strip().lower(), split_values(value, where)


def _full_name(kind: str, keyword: str, where: str) -> str:
    known = _KEYWORDS[kind]
    if keyword in known:
        return keyword
    found = next((name for name in known if name.startswith(keyword) and len(keyword) >= 2), None)
    if found is None:
        place = "a general parameter" if kind == "general" else f"a parameter of {kind}="
        raise UsageError(
            f"{keyword!r} is not {place}",
            where=where,
            remedy="correct its spelling, or its place: general, hd, sd, wd, rd in this order",
        )
    return found


def parse(source: Source, substitutions: Mapping[str, str] | None = None) -> ParameterFile:
    """All definitions with their defaults filled in. Raises UsageError with the line."""
    result = ParameterFile()
    defaults = {kind: Definition(kind, "default") for kind in KINDS}
    current = result.general
    for where, line in logical_lines(source, substitutions or {}, result.missing):
        if "=" not in line.partition(",")[0]:
            result.passed_over.append(f"{where}: {line[:60]}")
            continue
        for keyword, values in _pairs(line, where):
            word = "hd" if keyword == "host" and current.kind == "general" and values else keyword
            if word in KINDS and word in _STARTS[current.kind]:
                if not values:
                    raise UsageError(f"{word}= has no name", where=where, remedy="name it")
                if values[0] == "default":
                    current = defaults[word]
                    continue
                current = Definition(word, values[0], {k: list(v) for k, v in defaults[word].values.items()}, where)
                result.definitions[word].append(current)
                continue
            name = _full_name(current.kind, word, where)
            current.values.pop(name, None)  # a repeated keyword overrides, and takes its new place in the order
            current.values[name] = values
    return result


def matching(names: list[str], definitions: list[Definition], where: str) -> list[Definition]:
    """The definitions that names, patterns (`sd*`) and ranges (`sd1-sd4`) mean, in order. Raises UsageError when one
    means none.
    """
    found: list[Definition] = []
    for name in names:
        span = re.fullmatch(r"([A-Za-z_]+)(\d+)-(?:\1)?(\d+)", name)
        if span:
            wanted = {f"{span.group(1)}{n}" for n in range(int(span.group(2)), int(span.group(3)) + 1)}
            hits = [d for d in definitions if d.name in wanted]
        else:
            hits = [d for d in definitions if fnmatch.fnmatchcase(d.name, name)]
        if not hits:
            raise UsageError(f"{name!r} is not defined", where=where, remedy="define it before it is used")
        found += [hit for hit in hits if hit not in found]
    return found


def expanded(definitions: list[Definition]) -> list[Definition]:
    """`count=(start,n)` makes n sds or fsds numbered from start; `*` in the lun or anchor, or its end, takes the
    number. Raises UsageError.
    """
    found = []
    for one in definitions:
        count = one.all("count")
        if not count:
            found.append(one)
            continue
        place = "lun" if one.kind == "sd" else "anchor"
        start, n = (int(number(v, "count", one.where)) for v in (count if len(count) > 1 else ["1", count[0]]))
        if n > 4096:
            raise UsageError(
                f"count= makes more than 4,096 of {one.kind}={one.name}", where=one.where, remedy="use fewer"
            )
        for k in range(start, start + n):
            path = one.first(place) or ""
            values = {**one.values, place: [path.replace("*", str(k)) if "*" in path else f"{path}{k}"]}
            values.pop("count")
            found.append(Definition(one.kind, f"{one.name}{k}", values, one.where, one.used))
    return found


_LOOPS = words("""
    xfersize threads rdpct rhpct whpct seekpct hitarea compratio compression depth width files sizes totalsize wss
    workingsetsize
""")
_SEEK_WORDS = {"seq": "0", "sequential": "0", "seqnz": "0", "rand": "100", "random": "100"}
_CURVE = (10, 50, 70, 80, 90, 100)


class Point(dict[str, float]):
    """Values of the loops of one run. Which of them are asked for, its definition remembers."""

    def __init__(self, values: Iterable[tuple[str, float]], rd: Definition) -> None:
        super().__init__(values)
        self._rd = rd

    def __contains__(self, name: object) -> bool:
        self._rd.used |= {str(name), f"for{name}"}
        return super().__contains__(name)

    def get(self, name: str, default: Any = None) -> Any:
        return self[name] if name in self else default  # noqa: SIM401 - this is `get`, which is to remember


@dataclass
class Run:
    """One point of a run definition: its loop values, its rate and its times."""

    rd: Definition
    point: Point
    name: str
    rate: float | None
    elapsed: float
    warmup: float
    gaps: str
    operation: str = ""
    notes: Notes = field(default_factory=Notes)

    def number(self, name: str, of: Definition, default: str = "0") -> float:
        """As its loops say, else as the definition does. Raises UsageError."""
        value: float = self.point.get(name, of.number(name, default=default))
        return value


def _loops(rd: Definition) -> list[tuple[str, list[float]]]:
    found = []
    for keyword, values in rd.values.items():
        base = keyword.removeprefix("for") if keyword.startswith("for") and keyword != "format" else keyword
        if base in _LOOPS:
            found.append(
                (base, numbers([_SEEK_WORDS.get(value.lower(), value) for value in values], keyword, rd.where))
            )
    return found


def _rates(rd: Definition, notes: Notes) -> list[float | None]:
    values = rd.all("iorate", "fwdrate")
    if not values:
        notes.same("arrival", "no rate is given: taken as max")
        return [None]
    if values[0].lower() == "curve":
        points = [f"{p:g}" for p in (numbers(rd.all("curve"), "curve", rd.where) or _CURVE)]
        notes.tell(TOLD["curve"], points=", ".join(points))
        return [None]
    # In a list too: as fast as it goes stands beside given rates.
    return [
        rate or None
        for rate in numbers(["0" if value.lower() == "max" else value for value in values], "iorate", rd.where)
    ]


_WITHOUT_COUNTERPART = notes_in("ioatlas_translate", "vdbench_without")


def _gaps(rd: Definition, notes: Notes) -> str:
    gaps = "poisson"
    for word in rd.all("distribution"):
        if "deterministic".startswith(word.lower()):
            gaps = "constant"
        elif "uniform".startswith(word.lower()):
            gaps = "constant"
            notes.append(TOLD["uniform-gaps"])
        elif not "exponential".startswith(word.lower()):
            notes.lost("arrival", f"distribution={word}: bursts of varying rate")
    return gaps


def _time(rd: Definition, overrides: dict[str, str], name: str) -> str | None:
    """As the command line says, else as the definition does."""
    own = rd.first(name)
    return overrides.get(name) or own


def runs_of(rd: Definition, overrides: dict[str, str]) -> Iterator[Run]:
    """Its runs in the order vdbench makes them; overrides: times given on the command line. Raises UsageError."""
    notes = Notes()
    elapsed = seconds(_time(rd, overrides, "elapsed") or "30", "elapsed", rd.where)
    if elapsed <= 0:
        raise UsageError("elapsed= must be more than 0", where=rd.where, remedy="write for example elapsed=60")
    interval = seconds(_time(rd, overrides, "interval") or "1", "interval", rd.where)
    given_warmup = _time(rd, overrides, "warmup")
    warmup = seconds(given_warmup, "warmup", rd.where) if given_warmup else 0.0
    if not given_warmup:
        notes.tell(TOLD["averages"], percent=min(100.0, 100 * interval / elapsed))
    gaps = _gaps(rd, notes)
    notes += [note for keyword, note in _WITHOUT_COUNTERPART.items() if rd.has(keyword)]
    rates = _rates(rd, notes)
    loops = _loops(rd)
    operations = rd.values.get("foroperations") or rd.values.get("operations") or [""]
    for op in operations:
        for values in itertools.product(*(vs for _, vs in loops)):
            for rate in rates:
                point = Point(zip((name for name, _ in loops), values, strict=True), rd)
                varied = [f"{name}{value:g}" for (name, vs), value in zip(loops, values, strict=True) if len(vs) > 1]
                varied += [op] if len(operations) > 1 else []
                varied += [f"rate{rate:g}"] if len(rates) > 1 and rate else []
                name = safe_name("-".join([rd.name, *varied]))
                yield Run(rd, point, name, rate, elapsed, warmup, gaps, op, Notes(notes))
