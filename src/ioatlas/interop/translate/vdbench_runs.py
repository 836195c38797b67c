# SPDX-License-Identifier: Apache-2.0
"""The runs of a vdbench run definition (rd): one for each point of its loops and each of its rates."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ioatlas.errors import UsageError
from ioatlas.interop.fidelity import Fidelity, approximate, exact, not_expressible
from ioatlas.interop.translate.vdbench_parm import Definition, numbers, seconds
from ioatlas.interop.translation import safe_name
from ioatlas.model.words import words

_LOOPS = words(
    """
    xfersize threads rdpct rhpct whpct seekpct hitarea compratio compression depth width files sizes totalsize wss
    workingsetsize
    """
)
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
    notes: list[Fidelity] = field(default_factory=list)


def _loops(rd: Definition) -> list[tuple[str, list[float]]]:
    found = []
    for keyword, values in rd.values.items():
        base = keyword.removeprefix("for") if keyword.startswith("for") and keyword != "format" else keyword
        if base in _LOOPS:
            found.append(
                (base, numbers([_SEEK_WORDS.get(value.lower(), value) for value in values], keyword, rd.where))
            )
    return found


def _rates(rd: Definition, notes: list[Fidelity]) -> list[float | None]:
    values = rd.all("iorate", "fwdrate")
    if not values:
        notes.append(exact("arrival", "no rate is given: taken as max"))
        return [None]
    if values[0].lower() == "curve":
        points = [f"{p:g}" for p in (numbers(rd.all("curve"), "curve", rd.where) or _CURVE)]
        notes.append(
            not_expressible(
                "curve",
                f"points at {', '.join(points)}% of what the first run reaches: the "
                "rates are known after it has run; the run at the maximum is translated, "
                "the points need its result",
            )
        )
        return [None]
    # In a list too: as fast as it goes stands beside given rates.
    return [
        rate or None
        for rate in numbers(["0" if value.lower() == "max" else value for value in values], "iorate", rd.where)
    ]


_WITHOUT_COUNTERPART = {
    **dict.fromkeys(("maxdata", "maxdataread"), "ends a run after an amount of data"),
    "replay": "replays a trace",
    "maxdatawritten": "ends a run after an amount of data",
    **dict.fromkeys(("startcmd", "start_cmd", "endcmd", "end_cmd"), "a command is never taken from a file"),
    "mount": "mount options for the run",
    "stopcurve": "ends a curve by response time",
    "pause": "rest before the run; the load is the same without it",
}


def _gaps(rd: Definition, notes: list[Fidelity]) -> str:
    gaps = "poisson"
    for word in rd.all("distribution"):
        if "deterministic".startswith(word.lower()):
            gaps = "constant"
        elif "uniform".startswith(word.lower()):
            gaps = "constant"
            error = "spread of the gaps: 0 instead of 58% of their mean"
            notes.append(approximate("arrival", "uniformly distributed gaps become even gaps", error))
        elif not "exponential".startswith(word.lower()):
            notes.append(not_expressible("arrival", f"distribution={word}: bursts of varying rate"))
    return gaps


def _time(rd: Definition, overrides: dict[str, str], name: str) -> str | None:
    """As the command line says, else as the definition does."""
    own = rd.first(name)
    return overrides.get(name) or own


def runs_of(rd: Definition, overrides: dict[str, str]) -> Iterator[Run]:
    """Its runs in the order vdbench makes them; overrides: times given on the command line. Raises UsageError."""
    notes: list[Fidelity] = []
    elapsed = seconds(_time(rd, overrides, "elapsed") or "30", "elapsed", rd.where)
    if elapsed <= 0:
        raise UsageError("elapsed= must be more than 0", where=rd.where, remedy="write for example elapsed=60")
    interval = seconds(_time(rd, overrides, "interval") or "1", "interval", rd.where)
    given_warmup = _time(rd, overrides, "warmup")
    warmup = seconds(given_warmup, "warmup", rd.where) if given_warmup else 0.0
    if not given_warmup:
        notes.append(
            approximate(
                "averages",
                "without warmup= vdbench leaves the first interval out of its averages; fio counts the whole run",
                f"{min(100.0, 100 * interval / elapsed):.3g}% of the run",
            )
        )
    gaps = _gaps(rd, notes)
    notes += [not_expressible(f"{keyword}=", why) for keyword, why in _WITHOUT_COUNTERPART.items() if rd.has(keyword)]
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
                yield Run(rd, point, name, rate, elapsed, warmup, gaps, op, list(notes))
