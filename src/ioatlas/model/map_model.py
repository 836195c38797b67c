# SPDX-License-Identifier: Apache-2.0
"""What the model of a map says of a target as a whole: how good it is, where throughput jumps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from ioatlas.model.outcomes import KeptRecord


@dataclass(frozen=True)
class StatedError:
    """Median and P90 of |predicted / measured - 1| over the picks, each with a 95% interval, and how many intervals
    held.

    n: picks it rests on. Bounds are None when so few picks do not give them.
    """

    n: int
    median: float | None = None
    median_low: float | None = None
    median_high: float | None = None
    p90: float | None = None
    p90_low: float | None = None
    p90_high: float | None = None
    cover: float | None = None


@dataclass(frozen=True)
class ChangePoint:
    """A place where throughput jumps: between two measured levels of the footprint, or of another axis.

    axis:      '' for the footprint `size * numjobs^exponent` in bytes, a cliff that a cache makes: the law behind it
               has parameters of its own and no residual crosses it. Else the axis' name: a plain step (small writes, a
               stripe unit, a queue limit).
    direction: the direction it was seen in; '' for all.
    drop:      throughput on the low side over throughput on the high side.
    """

    low: float
    high: float
    exponent: int = 0
    direction: str = ""
    drop: float = 1.0
    axis: str = ""


@dataclass(frozen=True)
class WeakRegime:
    """A regime where the readings were not foreseen.

    cells, measured, dense: cells of the regime, those with a reading, those asked for because the model failed there,
    in journals of versions up to 0.3. measured is None in the first ones, which know only where.
    median_error: median |predicted / measured - 1| of its readings, each foretold from the others. failing: whether
    that is still beyond the limit and cells are left: its predictions should be measured, not believed.
    """

    name: str
    cells: int
    measured: int | None
    dense: int
    median_error: float
    failing: bool


@dataclass(frozen=True)
class MapOutcome:
    """What the model says of one target. cells, measured: how many the map has, and how many of them have a reading."""

    cells: int
    measured: int
    stated_error: StatedError
    change_points: tuple[ChangePoint, ...] = ()
    weak_regimes: tuple[WeakRegime, ...] = ()

    def content(self) -> dict[str, Any]:
        """As the journal keeps it, where change points are called edges."""
        content = asdict(self)
        content["edges"] = content.pop("change_points")
        return {**content, "parameters": []}  # of the law; versions up to 0.3 read them

    @classmethod
    def of_content(cls, content: Mapping[str, Any]) -> Self:
        return cls(
            content["cells"],
            content["measured"],
            StatedError(**content["stated_error"]),
            tuple(ChangePoint(**one) for one in content["edges"]),
            tuple(_weak_regime(one) for one in content.get("weak_regimes", ())),
        )


def _weak_regime(content: Mapping[str, Any]) -> WeakRegime:
    if "measured" in content:
        return WeakRegime(**content)
    return WeakRegime(content["name"], content.get("cells", 0), None, 0, content["median_error"], failing=True)


@dataclass(frozen=True)
class Maps(KeptRecord):
    """What the models say, by target. Before records had a version each target had an outcome of its own."""

    NAME, CONTENT = "maps", "targets"
    targets: Mapping[str, MapOutcome] = field(default_factory=dict)

    def content(self) -> Any:
        return {name: one.content() for name, one in self.targets.items()}

    @classmethod
    def of_content(cls, content: Any) -> Self:
        return cls({name: MapOutcome.of_content(one) for name, one in content.items()})

    @classmethod
    def of_outcomes(cls, outcomes: Mapping[str, Any], targets: Sequence[str]) -> Self | None:
        early = {name: outcomes[key] for name in targets if (key := f"map of {name}") in outcomes}
        now = super().of_outcomes(outcomes, targets)
        if not early:
            return now
        return cls({**cls.of_content(early).targets, **(now.targets if now else {})})
