# SPDX-License-Identifier: Apache-2.0
"""The findings are read by people: the tests check what they name, what they refuse to name, and the numbers in
them.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioatlas.analysis.best import best_of, groups, in_flight_bytes
from ioatlas.analysis.overview import findings
from ioatlas.model.cell import Cell
from ioatlas.model.estimate import Bound, Estimate
from ioatlas.model.finding import Finding
from ioatlas.model.reason import read_unmeasured
from ioatlas.model.result import CampaignResult, Unmeasured
from ioatlas.model.target import Target
from ioatlas.model.verdict import VerdictCode

KIB, MIB = 1 << 10, 1 << 20


def estimate(
    cell: Cell, value: float | None, *, width: float | None = 0.05, direction: str = "", **changes: Any
) -> Estimate:
    low, high = (value * (1 - width), value * (1 + width)) if value is not None and width is not None else (None, None)
    fields: dict[str, Any] = {"kind": "measured", "n_visits": 2, "verdict": VerdictCode.STEADY, **changes}
    return Estimate(cell, direction or cell.directions[0], bw_bytes_per_s=value, bw_low=low, bw_high=high, **fields)


def result(
    estimates: list[Estimate],
    *,
    unmeasured: tuple[Unmeasured, ...] = (),
    fresh: tuple[Estimate, ...] = (),
    **changes: Any,
) -> CampaignResult:
    targets = dict.fromkeys(e.cell.target for e in estimates)
    fields: dict[str, Any] = {"axes": {}, "constants": {}, **changes}
    return CampaignResult(
        "id",
        "name",
        0.0,
        "0",
        tuple(Target(t, "directory", f"/{t}") for t in targets),
        estimates=tuple(estimates),
        unmeasured=unmeasured,
        fresh=fresh,
        **fields,
    )


def sweep(speed: Callable[..., float], *, target: str = "nas", **axes: tuple[Any, ...]) -> list[Estimate]:
    made = []
    for values in itertools.product(*axes.values()):
        options = dict(zip(axes, values, strict=True))
        made.append(estimate(Cell.of(target, options), speed(**options)))
    return made


def saturating(rw: str, bs: int, numjobs: int) -> float:
    """At most 900 MiB/s, from 2 MiB in flight on; a little more with every byte in flight, so that there is one
    peak.
    """
    return (
        min(900 * MIB, 900 * MIB * bs * numjobs / (2 * MIB))
        * (1.0 if rw == "read" else 0.5)
        * (1 + bs * numjobs / 1e12)
    )


GRID: Mapping[str, Any] = {"rw": ("read", "write"), "bs": (4 * KIB, 256 * KIB, MIB), "numjobs": (1, 2, 4, 8, 16)}


def by_code(found: tuple[Finding, ...], code: str) -> list[Finding]:
    return [finding for finding in found if finding.code == code]


def test_peak_and_smallest_load_of_each_direction() -> None:
    estimates = sweep(saturating, **GRID)
    peaks, knees = by_code(findings(result(estimates)), "peak"), by_code(findings(result(estimates)), "knee")
    assert [p.sentence.split(":")[0] for p in peaks] == ["Best read", "Best write"]
    assert "Best read: 900 MiB/s ±5%, 1 MiB, 16 jobs." in peaks[0].sentence
    assert "450 MiB/s" in peaks[1].sentence
    assert "probably a little high" in peaks[0].sentence
    assert "256 KiB, 8 jobs" not in peaks[0].sentence
    assert "Ties with 1 MiB, 2 jobs" not in peaks[0].sentence
    assert "2 jobs are as fast" in peaks[0].sentence.lower()
    near = next(e.cell for e in estimates if e.cell.key == knees[0].cells[0])
    # 2 MiB in flight reach the limit with 8 x 256 KiB and with 2 x 1 MiB: the one with fewer requests is the smaller
    # load.
    assert (near.bs_bytes, near.numjobs, in_flight_bytes(near)) == (MIB, 2, 2 * MIB)
    assert knees[0].sentence.startswith("1 MiB blocks and 2 jobs already give 100% of the best read: 900 MiB/s")


def test_only_fresh_visits_give_a_named_cell_its_value() -> None:
    estimates = sweep(saturating, **GRID)
    again = tuple(
        estimate(cell, 800 * MIB if cell.numjobs == 16 else 600 * MIB, n_visits=4)
        for best in groups(estimates).values()
        for cell in {e.cell.key: e.cell for e in (best_of(best).peak, best_of(best).near)}.values()
        if cell.rw == "read"
    )
    found = findings(result(estimates, fresh=again))
    peak, knee = by_code(found, "peak")[0].sentence, by_code(found, "knee")[0].sentence
    # The sweep's 900 MiB/s of other cells are clearly higher than what the re-measured ones turned out to be.
    assert "900 MiB/s" in peak
    assert "probably a little high" in peak
    calm = tuple(replace(e, bw_low=700 * MIB, bw_high=930 * MIB) for e in again)
    found = findings(result(estimates, fresh=calm))
    peak, knee = by_code(found, "peak")[0].sentence, by_code(found, "knee")[0].sentence
    assert "Best read: 800 MiB/s ±14%" in peak
    assert "Re-measured 4 times; it was 900 MiB/s." in peak
    assert "2 jobs" not in knee  # its 600 MiB/s are no 90% of 800


@pytest.mark.parametrize(
    ("bound", "words"),
    [
        (1000, "The link allows 0.977 GiB/s (90% used)."),
        (4_600_000, "The link allows 4.39 TiB/s (5,100 times as much)."),
    ],
)
def test_a_ceiling_is_told_in_per_cent_where_it_is_near(bound: int, words: str) -> None:
    estimates = [replace(e, ceiling=Bound("link", bound * MIB)) for e in sweep(saturating, **GRID)]
    assert words in by_code(findings(result(estimates)), "peak")[0].sentence


@pytest.mark.parametrize(
    "changes",
    [
        {"verdict": VerdictCode.CACHED},
        {"verdict": VerdictCode.DISCARDED},
        {"verdict": VerdictCode.UNKNOWN},
        {"kind": "predicted", "n_visits": 0},
    ],
)
def test_suspect_and_predicted_cells_are_never_the_peak(changes: dict[str, Any]) -> None:
    estimates = sweep(saturating, **GRID)
    fake = estimate(Cell.of("nas", {"rw": "read", "bs": 2 * MIB, "numjobs": 1}), 9e12, **changes)
    found = findings(result([*estimates, fake]))
    assert all(fake.cell.key not in f.cells for f in found if f.code in ("peak", "knee", "saturation", "noise"))
    assert "900 MiB/s" in by_code(found, "peak")[0].sentence
    if fake.kind == "predicted":
        assert "1 estimated from the others" in by_code(found, "not-measured")[0].sentence
    else:
        assert f"Higher readings are left out: 1 {fake.verdict}" in by_code(found, "peak")[0].sentence
        assert f"not ranked: 1 {fake.verdict}" in by_code(found, "not-measured")[0].sentence


def test_an_unsteady_cell_is_named_only_when_nothing_is_steady() -> None:
    shaky = [replace(e, verdict=VerdictCode.DRIFTING) for e in sweep(saturating, **GRID)]
    steady = estimate(Cell.of("nas", {"rw": "read", "bs": 512, "numjobs": 1}), 5 * MIB)
    assert "5 MiB/s" in by_code(findings(result([*shaky, steady])), "peak")[0].sentence
    alone = by_code(findings(result(shaky)), "peak")[0].sentence
    assert "900 MiB/s" in alone
    assert "not steady (drifting)" in alone


def test_a_withheld_verdict_does_not_hide_a_peak() -> None:
    estimates = [
        replace(e, verdict=VerdictCode.TOO_SHORT, bw_bytes_per_s=1.15 * e.bw_bytes_per_s, bw_high=1.2 * e.bw_high)
        if e.cell.numjobs == 16
        else e
        for e in sweep(saturating, **GRID)
    ]
    found = findings(result(estimates))
    assert "1 MiB, 16 jobs" in by_code(found, "peak")[0].sentence
    noise = by_code(found, "noise")[0].sentence
    assert "The runs of 6 cells were too short to tell whether they are steady." in noise
    assert "not steady" not in noise


def test_a_client_limited_peak_is_named_as_a_lower_bound() -> None:
    estimates = [
        replace(e, verdict=VerdictCode.CLIENT_LIMITED) if e.cell.bs_bytes == MIB else e
        for e in sweep(saturating, **GRID)
    ]
    found = findings(result(estimates))
    assert "1 MiB, 16 jobs" in by_code(found, "peak")[0].sentence
    assert "treat this as a minimum" in by_code(found, "peak")[0].sentence
    assert "10 values were client-limited: read them as minimums." in by_code(found, "not-measured")[0].sentence


def test_options_that_follow_from_the_axes_are_not_spelled_out() -> None:
    estimates = [
        estimate(Cell.of("nas", {"rw": rw, "bs": 4096, **extra}), 1e8)
        for rw, extra in (("randread", {"norandommap": 1}), ("read", {}), ("write", {"refill_buffers": 1}))
    ]
    text = " ".join(f.sentence for f in findings(result(estimates, axes={"rw": ("randread", "read", "write")})))
    assert "norandommap" not in text
    assert "refill_buffers" not in text


def test_noise_gives_middle_and_worst_width_and_what_has_none() -> None:
    cells = [Cell.of("nas", {"rw": "read", "bs": 4096 * 2**i}) for i in range(4)]
    widths = [0.02, 0.04, 0.30, None]
    estimates = [estimate(cell, 1e8, width=width) for cell, width in zip(cells, widths, strict=True)]
    noise = by_code(findings(result(estimates)), "noise")[0]
    assert "Typical uncertainty ±4%. The widest is ±30%: read, 16 KiB, 1 job." in noise.sentence
    assert "1 of 4 values was measured too rarely to tell" in noise.sentence
    assert noise.cells == (cells[2].key,)


def test_noise_is_not_invented() -> None:
    found = by_code(findings(result([estimate(Cell.of("nas", {"rw": "read"}), 1e8, width=None)])), "noise")
    assert "Uncertainty is unknown" in found[0].sentence
    assert not re.search(r"±|%", found[0].sentence)


def test_what_was_not_measured_is_counted_by_reason() -> None:
    estimates = sweep(saturating, **GRID)
    missing = (
        *(
            Unmeasured(
                Cell.of("nas", {"rw": "read", "bs": 4 * MIB, "numjobs": n}),
                read_unmeasured("not admissible: block larger than the file"),
            )
            for n in (1, 2)
        ),
        Unmeasured(
            Cell.of("nas", {"rw": "read", "bs": 4 * MIB, "numjobs": 4}), read_unmeasured("failed: fio reported error 5")
        ),
    )
    axes = {"bs": (4 * KIB, 256 * KIB, MIB, 4 * MIB), "numjobs": (1, 2, 4, 8, 16)}
    found = by_code(
        findings(
            result(
                estimates, unmeasured=missing, axes=axes, n_discarded=1, discard_reasons={"over-ran": 1}, complete=False
            )
        ),
        "not-measured",
    )
    sentence = found[0].sentence
    assert (
        "3 of 33 cells were not measured: 2 not admissible (block larger than the file); "
        "1 failed (fio reported error 5)." in sentence
    )
    assert "Nothing was measured with bs 4 MiB." in sentence
    assert "1 run was discarded (1 over-ran)" in sentence
    assert "not finished" in sentence
    assert set(found[0].cells) == {u.cell.key for u in missing}


def test_a_complete_sweep_is_not_news() -> None:
    assert not by_code(findings(result(sweep(saturating, **GRID))), "not-measured")


def test_a_cell_whose_runs_disagree_is_named_without_a_number() -> None:
    estimates = sweep(saturating, **GRID)
    apart = replace(estimates[0], bw_low=1.0, bw_high=1e9)
    noise = by_code(findings(result([apart, *estimates[1:]])), "noise")[0].sentence
    assert "Ignore read, 4 KiB, 1 job: its runs disagree." in noise


def test_several_targets_are_told_apart() -> None:
    both = [*sweep(saturating, **GRID), *sweep(lambda **o: 2 * saturating(**o), target="san", **GRID)]
    peaks = by_code(findings(result(both)), "peak")
    assert [("on nas:" in p.sentence, "on san:" in p.sentence) for p in peaks] == [
        (True, False),
        (True, False),
        (False, True),
        (False, True),
    ]


def test_findings_tell_in_fields_where_their_evidence_lies() -> None:
    both = [*sweep(saturating, **GRID), *sweep(lambda **o: 2 * saturating(**o), target="san", **GRID)]
    found = findings(result(both))
    places = [(target, direction) for target in ("nas", "san") for direction in ("read", "write")]
    for code in ("peak", "knee"):
        assert [(one.target, one.direction) for one in by_code(found, code)] == places
    known = {e.cell.key: (e.cell.target, e.direction) for e in both}
    assert all(known[key] == (one.target, one.direction) for one in found for key in one.cells if one.target)


def test_mixed_cells_count_in_both_directions() -> None:
    cell = Cell.of("nas", {"rw": "randrw", "rwmixread": 70})
    found = findings(result([estimate(cell, 7e8, direction="read"), estimate(cell, 3e8, direction="write", width=0.2)]))
    assert [p.sentence.split(":")[0] for p in by_code(found, "peak")] == [
        "Best read",
        "Best write",
    ]
    [noise] = by_code(found, "noise")
    assert "write, 4 KiB randrw" in noise.sentence
    assert (noise.cells, noise.direction) == ((cell.key,), "write")


def test_nothing_measured() -> None:
    cell = Cell.of("nas", {"rw": "read"})
    found = findings(result([], unmeasured=(Unmeasured(cell, read_unmeasured("failed: target gone")),)))
    assert [f.code for f in found] == ["noise", "not-measured"]
    assert "1 of 1 cell was not measured: 1 failed (target gone)." in found[1].sentence


def test_no_value_may_be_named() -> None:
    found = findings(result([estimate(Cell.of("nas", {"rw": "read"}), 1e9, verdict=VerdictCode.CACHED)]))
    assert "No read value can be named the best: 1 cached." in by_code(found, "peak")[0].sentence
    assert not by_code(found, "knee")


VERDICTS = st.sampled_from(VerdictCode)
VALUES = st.one_of(st.none(), st.just(0.0), st.floats(1.0, 1e11))


@given(
    st.lists(
        st.tuples(VALUES, VERDICTS, st.sampled_from(["measured", "predicted", "imported"])), min_size=1, max_size=30
    )
)
def test_any_result_is_put_into_words(rows: list[tuple[float | None, VerdictCode, str]]) -> None:
    """Whatever the values: full sentences, evidence that exists, and no extreme that is suspect or not measured."""
    estimates = [
        estimate(
            Cell.of("nas", {"rw": "read", "bs": 512 << (i % 4), "numjobs": 1 + i // 4}),
            value,
            verdict=verdict,
            kind=kind,
        )
        for i, (value, verdict, kind) in enumerate(rows)
    ]
    known = {e.cell.key: e for e in estimates}
    for finding in findings(result(estimates)):
        assert finding.sentence.endswith(".")
        assert finding.sentence[0].isupper() or finding.sentence[0].isdigit()
        assert "  " not in finding.sentence
        assert ", ," not in finding.sentence
        assert set(finding.cells) <= known.keys()


def test_a_winner_that_fell_names_the_higher_value_that_the_map_still_shows() -> None:
    """It cannot be told from the winner, so it is not the headline; a reader who sees both must know why."""
    estimates = [
        replace(one, bw_first=one.bw_bytes_per_s, bw_bytes_per_s=500 * MIB, bw_low=300 * MIB, bw_high=1000 * MIB)
        if one.cell.numjobs == 16
        else replace(one, bw_bytes_per_s=(700 if one.cell.numjobs == 8 else 100) * MIB, bw_low=400 * MIB)
        for one in sweep(saturating, rw=("read",), bs=(MIB,), numjobs=(1, 8, 16))
    ]
    peak = by_code(findings(result(tuple(estimates))), "peak")[0].sentence
    assert peak.startswith("Best read: 500 MiB/s")
    assert "700 MiB/s at 1 MiB, 8 jobs was not re-measured." in peak
