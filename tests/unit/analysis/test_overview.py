# SPDX-License-Identifier: Apache-2.0
"""Findings are read by people: what they name, what they refuse to name, and the numbers in them."""

import itertools
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ioatlas.answer.analysis.best import best_of, groups, in_flight_bytes, speed
from ioatlas.answer.analysis.findings import map_findings
from ioatlas.model.cell import Cell
from ioatlas.model.estimate import Estimate
from ioatlas.model.finding import Finding
from ioatlas.model.result import CampaignResult, Unmeasured
from ioatlas.model.target import Target
from ioatlas.model.verdict import VerdictCode, read_unmeasured
from ioatlas.report.findings import in_words

KIB, MIB = 1 << 10, 1 << 20


def estimate(
    cell: Cell, value: float | None, *, width: float | None = 0.05, direction: str = "", **changes: Any
) -> Estimate:
    low, high = (value * (1 - width), value * (1 + width)) if value is not None and width is not None else (None, None)
    fields: dict[str, Any] = {"kind": "measured", "n_visits": 2, "verdict": VerdictCode.STEADY, **changes}
    return Estimate(cell, direction or cell.directions[0], bw_bytes_per_s=value, bw_low=low, bw_high=high, **fields)


def result(estimates: list[Estimate], **changes: Any) -> CampaignResult:
    targets = tuple(Target(t, "directory", f"/{t}") for t in dict.fromkeys(e.cell.target for e in estimates))
    fields: dict[str, Any] = {"axes": {}, "constants": {}, "unmeasured": (), **changes}
    return CampaignResult("id", "name", 0.0, "0", targets, estimates=tuple(estimates), **fields)


def sweep(speed: Callable[..., float], *, target: str = "nas", **axes: tuple[Any, ...]) -> list[Estimate]:
    made = []
    for values in itertools.product(*axes.values()):
        options = dict(zip(axes, values, strict=True))
        made.append(estimate(Cell.of(target, options), speed(**options)))
    return made


def saturating(rw: str, bs: int, numjobs: int) -> float:
    """At most 900 MiB/s, from 2 MiB in flight on; a little more with every byte in flight, so there is one peak."""
    most = 900 * MIB * (1.0 if rw == "read" else 0.5)
    return most * min(1, bs * numjobs / (2 * MIB)) * (1 + bs * numjobs / 1e12)


GRID: Mapping[str, Any] = {"rw": ("read", "write"), "bs": (4 * KIB, 256 * KIB, MIB), "numjobs": (1, 2, 4, 8, 16)}


def by_code(found: tuple[Finding, ...], code: str) -> list[Finding]:
    return [finding for finding in found if finding.code == code]


def test_smallest_load_of_each_direction() -> None:
    estimates = sweep(saturating, **GRID)
    knees = by_code(map_findings(result(estimates)), "knee")
    assert [one.direction for one in knees] == ["read", "write"]
    near = next(e.cell for e in estimates if e.cell.key == knees[0].cells[0])
    # 2 MiB in flight reach the limit with 8 x 256 KiB and with 2 x 1 MiB: the one with fewer requests is the smaller
    # load.
    assert (near.bs_bytes, near.numjobs, in_flight_bytes(near)) == (MIB, 2, 2 * MIB)
    assert knees[0].values["load"] == "1 MiB blocks and 2 jobs"
    assert knees[0].values["share"] >= 0.99


def test_options_that_follow_from_the_axes_are_not_spelled_out() -> None:
    estimates = [
        estimate(Cell.of("nas", {"rw": rw, "bs": 4096, **extra}), 1e8)
        for rw, extra in (("randread", {"norandommap": 1}), ("read", {}), ("write", {"refill_buffers": 1}))
    ]
    text = " ".join(str(f.values) for f in map_findings(result(estimates, axes={"rw": ("randread", "read", "write")})))
    assert "norandommap" not in text
    assert "refill_buffers" not in text


def test_what_was_not_measured_is_counted_by_reason() -> None:
    estimates = sweep(saturating, **GRID)
    large, failed = "not admissible: block larger than the file", "failed: fio reported error 5"
    missing = tuple(
        Unmeasured(Cell.of("nas", {"rw": "read", "bs": 4 * MIB, "numjobs": n}), read_unmeasured(reason))
        for n, reason in ((1, large), (2, large), (4, failed))
    )
    more = {"n_discarded": 1, "discard_reasons": {"over-ran": 1}, "complete": False}
    axes = {"bs": (4 * KIB, 256 * KIB, MIB, 4 * MIB), "numjobs": (1, 2, 4, 8, 16)}
    (told,) = by_code(map_findings(result(estimates, unmeasured=missing, axes=axes, **more)), "not-measured")
    assert (told.values["n_lost"], told.values["n_cells"], told.values["n_discarded"]) == (3, 33, 1)
    assert [(one["kind"], one["n_cells"]) for one in told.values["why"]] == [("not admissible", 2), ("failed", 1)]
    assert set(told.cells) == {u.cell.key for u in missing}
    assert not by_code(map_findings(result(estimates)), "not-measured"), "a complete sweep is not news"


def test_the_smallest_load_near_the_best_may_be_an_estimated_one() -> None:
    measured = sweep(saturating, rw=("read",), bs=(MIB,), numjobs=(16,))
    cell = Cell.of("nas", {"rw": "read", "bs": MIB, "numjobs": 1})
    (near,) = by_code(map_findings(result(measured)), "knee")
    assert near.cells == (measured[0].cell.key,)
    foretold = replace(estimate(cell, 0.95 * speed(measured[0])), kind="predicted")
    (near,) = by_code(map_findings(result([*measured, foretold])), "knee")
    assert near.cells[0] == cell.key
    slower = replace(foretold, bw_bytes_per_s=0.8 * speed(measured[0]))
    (near,) = by_code(map_findings(result([*measured, slower])), "knee")
    assert near.cells == (measured[0].cell.key,)


def test_findings_tell_in_fields_where_their_evidence_lies() -> None:
    both = [*sweep(saturating, **GRID), *sweep(lambda **o: 2 * saturating(**o), target="san", **GRID)]
    found = map_findings(result(both))
    places = [(target, direction) for target in ("nas", "san") for direction in ("read", "write")]
    assert [(one.target, one.direction) for one in by_code(found, "knee")] == places
    known = {e.cell.key: (e.cell.target, e.direction) for e in both}
    assert all(known[key] == (one.target, one.direction) for one in found for key in one.cells if one.target)


def test_nothing_measured() -> None:
    cell = Cell.of("nas", {"rw": "read"})
    found = map_findings(result([], unmeasured=(Unmeasured(cell, read_unmeasured("failed: target gone")),)))
    assert [f.code for f in found] == ["not-measured"]
    assert found[0].values["why"] == [{"kind": "failed", "n_cells": 1, "detail": "target gone", "several": False}]


def peak_of(estimates: list[Estimate]) -> Estimate:
    (best,) = (best_of(members) for members in groups(estimates).values())
    assert best is not None
    return best.peak


def test_a_suspect_cell_is_never_the_best_and_an_unsteady_one_only_where_nothing_is_steady() -> None:
    estimates = sweep(saturating, rw=("read",), bs=(4 * KIB, MIB), numjobs=(1, 16))
    fastest = peak_of(estimates)
    assert (fastest.cell.bs_bytes, fastest.cell.numjobs) == (MIB, 16)
    for verdict in (VerdictCode.CACHED, VerdictCode.DISCARDED, VerdictCode.UNKNOWN):
        assert peak_of([*estimates, replace(fastest, bw_bytes_per_s=9e12, verdict=verdict)]) is fastest
    shaky = [replace(e, verdict=VerdictCode.DRIFTING) for e in estimates]
    steady = estimate(Cell.of("nas", {"rw": "read", "bs": 512, "numjobs": 1}), 5 * MIB)
    assert peak_of([*shaky, steady]) is steady
    assert peak_of(shaky).cell == fastest.cell
    short = [replace(e, verdict=VerdictCode.TOO_SHORT) if e is fastest else e for e in estimates]
    assert peak_of(short).cell == fastest.cell, "a verdict that was withheld hides no peak"


VERDICTS = st.sampled_from(VerdictCode)
VALUES = st.one_of(st.none(), st.just(0.0), st.floats(1.0, 1e11))
KINDS = st.sampled_from(["measured", "predicted", "imported"])


@given(st.lists(st.tuples(VALUES, VERDICTS, KINDS), min_size=1, max_size=30))
def test_any_result_is_put_into_words(rows: list[tuple[float | None, VerdictCode, str]]) -> None:
    """Whatever the values: full sentences, evidence that exists, and no extreme that is suspect or not measured."""
    cells = [Cell.of("nas", {"rw": "read", "bs": 512 << (i % 4), "numjobs": 1 + i // 4}) for i in range(len(rows))]
    estimates = [estimate(cell, value, verdict=v, kind=k) for cell, (value, v, k) in zip(cells, rows, strict=True)]
    known = {e.cell.key: e for e in estimates}
    for finding in in_words(map_findings(result(estimates))):
        assert finding.sentence.endswith(".")
        assert finding.sentence[0].isupper() or finding.sentence[0].isdigit()
        assert "  " not in finding.sentence
        assert ", ," not in finding.sentence
        assert set(finding.cells) <= known.keys()
