# SPDX-License-Identifier: Apache-2.0
"""Plausible campaigns for looking at the report: a storage surface with a link, a cache, a knee, noise and faults.

    python tests/browser/synthetic.py KIND OUT.html      KIND: one of KINDS below
    python tests/browser/synthetic.py all FOLDER         of every kind but the large one KIND.html

Nothing here is a measurement; the names say so.
"""

import argparse
import itertools
import math
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ioatlas.answer.analysis.latencies import FEWEST_BEYOND
from ioatlas.answer.analysis.rounds import (
    RoundsCell,
    RoundsResult,
    rounds_chart,
    rounds_doubts,
    rounds_headline,
    rounds_table,
)
from ioatlas.measure.procedures.load_points.result import with_streams
from ioatlas.measure.procedures.tune.parts import with_search
from ioatlas.model.cell import Cell, OptionValue
from ioatlas.model.estimate import Estimate
from ioatlas.model.finding import Finding, FindingCode
from ioatlas.model.load_curve import LoadCurve, LoadPoint, Sizing, Spread, StreamPoint
from ioatlas.model.result import (
    PERCENTS,
    CampaignResult,
    Change,
    LatencyCurve,
    ProductCost,
    TimeCourse,
    UnitPrice,
    Unmeasured,
)
from ioatlas.model.target import Identity, Target
from ioatlas.model.units import format_size, words
from ioatlas.model.verdict import VerdictCode, read_unmeasured
from ioatlas.report.page_format import ComparisonData

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
SESSION = {
    "kernel": "6.18.3",
    "fio": "fio-3.33",
    "cpu": "2 x made-up CPU at 2.6 GHz",
    "memory": "24 GiB",
    "hostname": "client-7.example",
    "file system": "ext4, relatime",
}
ODD = {
    "nas: device.loop0.max_hw_sectors_kb_of_all": "2147483647 KiB",
    "measured.client_randread_4096_bytes_iops": "1234567",
    "vm.dirty_background_bytes": "0 B",
}
CONSTANTS: dict[str, OptionValue] = {"direct": 1, "refill_buffers": 1}


def doubling(low: int, high: int) -> tuple[int, ...]:
    return tuple(low << i for i in range((high // low).bit_length()))


class Surface:
    """A made-up array behind a link: throughput saturates, cached footprints are faster, latency follows Little."""

    def __init__(
        self, seed: int, *, link: float = 1.16e9, drive_iops: float = 90e3, cache_bytes: float = 96 * MIB
    ) -> None:
        self.rng = np.random.default_rng(seed)
        self.link, self.drive_iops, self.cache_bytes = link, drive_iops, cache_bytes

    def estimate(self, cell: Cell, direction: str, *, kind: str = "measured", n_visits: int = 2) -> Estimate:
        bs, depth = cell.bs_bytes, cell.outstanding
        random = cell.rw.startswith("rand")
        service = (110e-6 if direction == "read" else 190e-6) * (1.9 if random else 1.0)
        iops_limit = self.drive_iops * (0.55 if direction == "write" else 1.0) * (0.6 if random else 1.0)
        cached = cell.size_bytes and cell.footprint_bytes <= self.cache_bytes and direction == "read"
        if cached:
            service, iops_limit = service * 0.45, iops_limit * 1.8
        link = self.link * (0.82 if direction == "write" else 1.0)
        iops = 1 / (1 / (depth / (service + bs / link * 0.9)) + 1 / iops_limit + bs / link)
        noise = (
            0.008 + 0.05 * (depth > 64) + 0.12 * (direction == "write" and cell.size_bytes >= GIB and bs >= 256 * KIB)
        )
        value = iops * bs * float(np.exp(self.rng.normal(0, noise)))
        half = float(abs(self.rng.normal(1.0, 0.35)) + 0.2) * noise * 1.6 * (2.2 if kind == "predicted" else 1.0)
        skew = float(np.exp(self.rng.normal(0, 0.15)))
        low, high = value * np.exp(-half * skew), value * np.exp(half)
        latency = depth * bs / value * 1e9
        tail = latency * (1.7 + 6 * noise + float(abs(self.rng.normal(0, 0.25))))
        verdict = (
            VerdictCode.CACHED
            if cached and value > self.link * 0.86
            else VerdictCode.UNSTABLE
            if noise > 0.1 and self.rng.random() < 0.45
            else VerdictCode.STEADY
        )
        cut = float(self.rng.choice([0.0, 0.0, 0.0, 0.1, 0.2])) if kind == "measured" else None
        discarded = int(self.rng.random() < 0.02)
        rate, latencies = (value, float(low), float(high)), (latency, latency * value / high, latency * value / low)
        figures = (*rate, *(one / bs for one in rate), *map(float, latencies), tail, tail * 0.93, tail * 1.09, "total")
        seeds, notes = (int(self.rng.integers(1 << 30)),), ("warm-up cut",) if cut else ()
        if kind == "measured":
            told = (verdict, "t-log-pooled/1", 0.5, cut, discarded, seeds, notes)
        else:
            told, n_visits = (VerdictCode.PREDICTED, "gp-log/1", None, cut, discarded, seeds, notes), 0
        return Estimate(cell, direction, kind, n_visits, *figures, *told)


def sweep(targets: Sequence[str], axes: Mapping[str, Sequence[OptionValue]], sharing: str = "shared") -> list[Cell]:
    names = list(axes)
    return [
        Cell.of(target, {**CONSTANTS, **dict(zip(names, values, strict=True))}, sharing=sharing)
        for target in targets
        for values in itertools.product(*axes.values())
    ]


def latencies_of(estimates: Sequence[Estimate]) -> tuple[LatencyCurve, ...]:
    """Percentiles about the mean of every measured cell; the far tail has too few I/Os where the load is slow."""
    curves = []
    for e in estimates:
        if e.kind == "measured" and e.lat_mean_ns and e.iops:
            spread = [e.lat_mean_ns * (0.6 + 0.25 * -math.log10(1 - p / 100)) for p in PERCENTS]
            n_ios = round(e.iops * 0.5)
            known = [
                ns if n_ios * (100 - p) / 100 >= FEWEST_BEYOND else None for p, ns in zip(PERCENTS, spread, strict=True)
            ]
            curves.append(LatencyCurve(e.cell.key, e.direction, n_ios, tuple(known)))
    return tuple(curves)


def courses_of(estimates: Sequence[Estimate]) -> tuple[TimeCourse, ...]:
    """Two visits of every measured cell; the second of each fifth cell stalls and does not count."""
    courses = []
    for number, e in enumerate(estimates):
        if e.kind != "measured" or not e.bw_bytes_per_s or not e.lat_mean_ns:
            continue
        for visit in range(2):
            bad = visit == 1 and number % 5 == 0
            rates = tuple(
                0.0 if bad and 4 <= i < 8 else e.bw_bytes_per_s * (0.4 if i < 2 and not visit else 1.0)
                for i in range(12)
            )
            waits = tuple(e.lat_mean_ns if rate else 0.0 for rate in rates)
            cut, why = (0, "ran longer than asked") if bad else (80 * (1 - visit), "")
            ends = tuple(40 * (i + 1) for i in range(12))
            at = 0.6 * number + 300.0 * visit
            courses.append(
                TimeCourse(e.cell.key, e.direction, len(courses), "sweep", at, cut, "steady", why, ends, rates, waits)
            )
    return tuple(courses)


def campaign(
    name: str,
    targets: Sequence[str],
    axes: Mapping[str, Sequence[OptionValue]],
    *,
    seed: int = 1,
    predicted: float = 0.0,
    unreached: float = 0.0,
    sharing: str = "shared",
    kind: str = "directory",
) -> CampaignResult:
    """Cross the axes, leave out what is not admissible, and fill the rest from a surface for each target."""
    rng = np.random.default_rng(seed)
    surfaces = {
        t: Surface(seed + i, link=1.16e9 / (1 + 0.35 * i), cache_bytes=96 * MIB / (1 + i))
        for i, t in enumerate(targets)
    }
    estimates: list[Estimate] = []
    unmeasured: list[Unmeasured] = []
    for cell in sweep(targets, axes, sharing):
        if cell.size_bytes and cell.bs_bytes > cell.size_bytes:
            unmeasured.append(Unmeasured(cell, read_unmeasured("not admissible: the block is larger than the file")))
            continue
        if rng.random() < unreached:
            unmeasured.append(Unmeasured(cell, read_unmeasured("not reached: the budget ended")))
            continue
        how = "predicted" if rng.random() < predicted else "measured"
        estimates += [
            surfaces[cell.target].estimate(cell, d, kind=how, n_visits=int(rng.choice([2, 2, 2, 3, 5])))
            for d in cell.directions
        ]
    findings = _findings(estimates, unmeasured)
    measured = [e for e in estimates if e.kind == "measured"]
    identity = Identity((("fs_type", "ext4"), ("source", "/dev/vdz")))
    place = {
        "directory": "/srv/made-up/{}",
        "file": "/srv/made-up/{}.img",
        "block": "/dev/made-up-{}",
        "uri": "nbd://{}.invalid/export",
    }[kind]
    return CampaignResult(
        campaign_id="01JD4Z8T3M-SYNTHETIC",
        name=name,
        created_at=1_795_000_000.0,
        tool_version="0.1.0",
        targets=tuple(
            Target(t, kind, place.format(t), identity, None, 412 * GIB, ioengine="nbd" if kind == "uri" else None)  # type: ignore[arg-type]
            for t in targets
        ),
        axes={name: tuple(values) for name, values in axes.items()},
        constants=CONSTANTS,
        estimates=tuple(estimates),
        unmeasured=tuple(unmeasured),
        findings=findings,
        latency_curves=latencies_of(estimates),
        time_courses=courses_of(estimates),
        settings={
            "profile": "synthetic",
            "sharing": sharing,
            "window": "500 ms",
            "visits": "2",
            "order seed": "20211121",
            "remark": "Made-up values for looking at the page; nothing was measured.",
        },
        sessions=(
            {"started": "2026-11-18T18:05:11Z", **SESSION},
            {"started": "2026-11-18T19:41:02Z", **SESSION, **ODD},
        ),
        n_visits=sum(e.n_visits for e in estimates),
        n_discarded=sum(e.n_discarded for e in estimates),
        discard_reasons=_reasons(sum(e.n_discarded for e in estimates)),
        seconds=0.52 * sum(e.n_visits for e in measured),
        complete=unreached == 0,
    )


def imported() -> CampaignResult:
    """Values of another tool: means without intervals, completion latency where there is any, and measured cells."""
    base = campaign("brought in", ["old", "new"], {"rw": ("read", "write"), "bs": BS[:6]}, seed=5)
    bare = dict.fromkeys(
        words(
            "bw_low bw_high iops_low iops_high lat_mean_low_ns lat_mean_high_ns lat_p99_ns lat_p99_low_ns "
            "lat_p99_high_ns window_seconds cut_seconds"
        )
    )
    other = {"kind": "imported", "n_visits": 0, "verdict": VerdictCode.IMPORTED, "method": "iozone/1", **bare}
    estimates = tuple(
        e if e.cell.target == "new" else replace(e, lat_kind="completion", **other) for e in base.estimates
    )
    methods = {"old": {"tool": "iozone 3.489", "page cache": "buffered", "running time": "not told"}}
    return replace(base, estimates=estimates, findings=(), methods=methods)


def _reasons(n: int) -> dict[str, int]:
    little = n * 2 // 3
    rows = {
        "Little's law: IOPS x latency differs from jobs x depth by more than 5%": little,
        "the section over-ran its slot": n - little,
    }
    return {reason: count for reason, count in rows.items() if count}


def _findings(estimates: list[Estimate], unmeasured: list[Unmeasured]) -> tuple[Finding, ...]:
    measured = [e for e in estimates if e.kind == "measured" and e.bw_bytes_per_s]
    if not measured:
        return ()
    top = max(measured, key=lambda e: e.bw_bytes_per_s or 0)
    near = [
        e
        for e in measured
        if e.direction == top.direction and (e.bw_bytes_per_s or 0) > 0.9 * (top.bw_bytes_per_s or 0)
    ]
    small = min(near, key=lambda e: (e.cell.bs_bytes, e.cell.outstanding, e.cell.footprint_bytes))

    def load(e: Estimate) -> str:
        return f"{format_size(e.cell.bs_bytes)} blocks, numjobs {e.cell.numjobs}, depth {e.cell.iodepth}"

    shaky = [e for e in measured if e.verdict is VerdictCode.UNSTABLE]
    best = {"bw_bytes_per_s": top.bw_bytes_per_s or 0.0, "load": load(top), "resource": "target", "probability": 0.9}
    rows = [
        Finding(FindingCode.LIMIT, best, (top.cell.key,), target=top.cell.target, direction=top.direction),
        Finding(
            FindingCode.KNEE,
            {"load": load(small)},
            (small.cell.key,),
            target=small.cell.target,
            direction=small.direction,
        ),
    ]
    if shaky:
        values = {"wanted": 0.05, "n_values": len(measured), "n_missed": len(shaky), "stopped_by_visits": 5}
        rows.append(Finding(FindingCode.PRECISION, values, tuple(e.cell.key for e in shaky[:40])))
    if unmeasured:
        why = Counter(u.reason.code for u in unmeasured)
        told = [{"kind": kind, "n_cells": count} for kind, count in why.items()]
        values = {"n_cells": len(measured) + len(unmeasured), "n_lost": len(unmeasured), "why": told}
        rows.append(Finding(FindingCode.NOT_MEASURED, values))
    return tuple(rows)


BS, SIZES, JOBS = doubling(4 * KIB, 2 * MIB), doubling(MIB, 2 * GIB), doubling(1, 128)
RW = ("read", "write")


def rounds() -> CampaignResult:
    """A test in rounds with a made-up write cliff, and one that was interrupted."""
    axes: Mapping[str, Sequence[OptionValue]] = {"rwmixread": (100, 50, 0), "bs": (4096, 65536)}
    result = campaign("made-up drive, rounds", ["drive"], {"rw": ("randrw",), **axes}, kind="block")
    values = (90e3, 61e3, 40e3, 36e3, 35e3, 35.4e3, 34.8e3)
    cells = tuple(
        RoundsCell("", "randrw", bs, share, 35e3 * 4096 / bs * (1 + share / 50), share == 0 and bs == 4096)
        for share in (100, 50, 0)
        for bs in (4096, 65536)
    )
    why = "rounds 3 to 7: range 14.4% of the average (limit 20%), slope 11.2% (limit 10%)"
    window = ((3, 7), 36.2e3, 0.144, 0.08, (37.8e3, 34.7e3))
    written = tuple(int(4e9 * n) for n in range(1, 8))
    prepared = (1 << 34, "all blocks discarded (BLKDISCARD)", ("Each cell of a round ran 5 s.",), "snia-pts-2.0/1")
    tracked = ("iops", "4 KiB random write", values, 1, True, "steady state met", why, *window)
    met = RoundsResult("drive", "iops", "IOPS test", "", *tracked, cells, written, *prepared)
    nothing = {"first": 2, "met": False, "ended": "", "window": None, "average": None, "line": None}
    latency = {"test": "latency", "title": "latency test", "quantity": "lat_mean_ns", "values": (1e6, 1.1e6)}
    early = replace(met, **latency, **nothing)
    tests = (met, early)
    charts, tables = tuple(map(rounds_chart, tests)), tuple(map(rounds_table, tests))
    headlines = (rounds_headline(met, several=False),)
    shown = {"charts": charts, "tables": tables, "shown_as": "tables"}
    return replace(result, headlines=headlines, doubts=rounds_doubts(tests), **shown)


def streams() -> CampaignResult:
    """Two streams at once at four loads, the last of them too much, with watts; and a phase that runs freely."""
    result = campaign(
        "made-up array, streams", ["array"], {"load": (100, 80, 50, 10), "stream": ("oltp", "log", "all")}, kind="block"
    )

    def spread(value: float) -> Spread:
        return Spread(value, value * 0.94, value * 1.06)

    def point(percent: float | None, phase: str = "") -> LoadPoint:
        offered = 20_000 * percent / 100 if percent is not None else None
        iops = min(offered or 21_000.0, 19_000.0)
        latency = 0.4e6 / (1.02 - min(1.0, iops / 20_000))
        rows = tuple(
            StreamPoint(n, d, offered and offered * s, iops * s, iops * s * 8192, s, latency, 2 * latency, 4 * latency)
            for n, d, s in (("oltp", "read", 0.7), ("log", "write", 0.3))
        )
        late = percent is not None and percent > 95
        loop, verdict = "open" if offered else "closed", "overloaded" if late else "steady"
        figures = map(spread, (iops, iops * 8192, latency, 2 * latency, 4 * latency))
        behind = (late, offered and max(0.0, (offered - iops) * 5), offered and 4 * (offered * 5) ** 0.5)
        watts = (("plug", 40 + iops / 1000),)
        return LoadPoint(phase, percent, loop, offered, offered, *figures, *behind, verdict, 3, 0, 5.0, rows, watts)

    points = (*(point(p) for p in (100.0, 80.0, 50.0, 10.0)), point(None, "free"))
    highest, watts = ((("", 20_000.0),), (("", "throughput"),)), (("plug", 38.0),)
    power = (watts, "plug: JSON over HTTP (the target's)", ("plug",))
    curve = LoadCurve("array", points, 1 << 36, 10**13, 30e6, *highest, *power)
    return with_streams(result, (curve,))


def tuned() -> CampaignResult:
    """A search: its trials as a map, its closed loop, and fixed rates that are safe, borderline and too much."""
    result = campaign("made-up search", ["array"], {"numjobs": (1, 2, 4), "iodepth": (1, 8, 32)}, kind="block")

    def point(percent: float | None, iops: float, p99: float, state: str = "", *, late: bool = False) -> LoadPoint:
        phase, loop = ("", "open") if percent else ("best: 2 x 32", "closed")
        offered, tail = (iops, Spread(p99, p99 * 0.8, p99 * 1.2)) if percent else (None, Spread(p99))
        figures = (Spread(iops), Spread(iops * 4096), Spread(p99 / 3), None, tail)
        behind = (late, None, None, "steady", 3, 0, 1.0)
        return LoadPoint(phase, percent, loop, offered, offered, *figures, *behind, state=state)

    points = (
        point(None, 62_000.0, 3.5e6),
        point(50.0, 31_000.0, 1e6, "within"),
        point(80.0, 49_600.0, 4.8e6, "borderline"),
        point(100.0, 62_000.0, 14e6, "over", late=True),
    )
    sizing = Sizing(31_000.0, (49_600.0, 49_600.0), 62_000.0, overloaded=True, highest_iops=62_000.0)
    curve = LoadCurve(
        "array", points, 1 << 30, limit_ns=5e6, power="", quantity="p99", setting="numjobs=2 iodepth=32", sizing=sizing
    )
    return with_search(result, curve)


def fitted() -> CampaignResult:
    """What was asked of a target, in place of main numbers."""
    told = (
        {"use": "a", "title": "a", "answer": "PASS", "margin": 3.1},
        {"use": "a", "number": 1, "answer": "PASS", "measured": "p99 of flushes at most 10 ms, 3.2 ms", "source": "us"},
        {"use": "b", "title": "b", "answer": "FAIL", "broken": ["at least 200 IOPS, measured 120 IOPS"]},
    )
    findings = tuple(Finding(FindingCode.FIT, values, place="map", target="scratch") for values in told)
    result = campaign("made-up disk, two uses", ["scratch"], {"rw": ("write", "randread"), "bs": (4096,)})
    return replace(result, headlines=(), shown_as="tables", has_small=False, findings=findings)


def priced(result: CampaignResult) -> CampaignResult:
    """With a made-up price for what its best read gives."""
    best = max((e for e in result.estimates if e.direction == "read"), key=lambda e: e.bw_bytes_per_s or 0.0)
    mb = (best.bw_bytes_per_s or 0.0) / 1e6
    units = (
        UnitPrice("usable TiB", 98.2, None, None, 43.7, None, "", "", "", lower_bound=False),
        UnitPrice(
            "MB/s read", 4288 / mb, 4000 / mb, 4600 / mb, mb, 1.5, "16 jobs", best.cell.key, "read", lower_bound=True
        ),
    )
    cost = ProductCost("scratch", "Made-up NAS", "USD", 4288.0, "2017-03", 48 * 10**12, units, ("It is made up.",))
    return replace(result, costs=(cost,))


KINDS: dict[str, Callable[[], CampaignResult]] = {
    "seed2021": lambda: campaign(
        "made-up array, 2021 sweep", ["nas"], {"rw": RW, "bs": BS, "size": SIZES, "numjobs": JOBS}
    ),
    "few cells": lambda: campaign(
        "made-up array, few cells",
        ["nas-a", "nas-b"],
        {"rw": RW, "bs": BS, "size": SIZES, "numjobs": JOBS},
        predicted=0.6,
        unreached=0.04,
    ),
    "quick": lambda: priced(
        campaign(
            "made-up disk, quick",
            ["scratch"],
            {"rw": ("randread", "randwrite"), "bs": (4096, 65536, MIB), "numjobs": (1, 4, 16)},
        )
    ),
    "fitted": fitted,
    "rounds": rounds,
    "streams": streams,
    "tuned": tuned,
    "line": lambda: campaign("one axis", ["scratch"], {"bs": BS}, kind="block"),
    "single": lambda: campaign("one cell", ["scratch"], {}, kind="file"),
    "mixed": lambda: campaign(
        "mixed directions",
        ["export"],
        {
            "rw": ("randread", "randrw", "trimwrite"),
            "rwmixread": (30, 50, 70),
            "bs": (4096, "4096,16384", 65536),
            "iodepth": (1, 8, 64),
        },
        kind="uri",
        unreached=0.1,
    ),
    "nosize": lambda: campaign(
        "no size axis",
        ["disk"],
        {"rw": ("randread", "read"), "bs": BS, "iodepth": JOBS, "numjobs": (1, 4)},
        kind="block",
    ),
    "imported": imported,
    "long": lambda: campaign(
        "long axes",
        [f"pool-{i}" for i in range(30)],
        {"offset": tuple(i * GIB for i in range(300)), "bs": (4096, 65536)},
        unreached=0.9,
    ),
    "paths": lambda: campaign(
        "</script><b>&amp; hostile name", ["nas </script>"], {"bs": (4096, 65536), "numjobs": (1, 2)}
    ),
    "large": lambda: campaign(
        "138,240 cells",
        [f"pool-{i}" for i in range(1, 10)],
        {"rw": RW, "bs": BS, "size": SIZES, "numjobs": JOBS, "iodepth": JOBS},
        predicted=0.3,
        unreached=0.01,
    ),
}


def comparison() -> tuple[CampaignResult, ComparisonData]:
    """The same sweep of two disks, the second a third slower for small blocks; nothing is known of one cell."""
    both = campaign("after against before", ["before", "after"], {"rw": ("read", "write"), "bs": (4096, 65536, MIB)})
    cells = [e for e in both.estimates if e.cell.target == "after"]
    changes = tuple(
        Change(e.cell.key, e.direction, 0.67 if e.cell.bs_bytes == 4096 else 1.25, 0.6, 1.4, "lower") for e in cells[1:]
    )
    told = ComparisonData(quantity="throughput", first=["before"], second=["after"], sentences=["Made up: -33%."])
    return replace(both, changes=changes), told


def several() -> tuple[CampaignResult, ComparisonData]:
    """Three disks: the second differs, of the third nothing is known but that large blocks are alike."""
    whole = campaign("a, b and c", ["a", "b", "c"], {"rw": ("read", "write"), "bs": (4096, 65536, MIB)})
    told = {"b": {MIB: "higher"}, "c": {MIB: "same"}}
    changes = tuple(
        Change(
            e.cell.key,
            e.direction,
            1.3 if e.cell.target == "b" else 1.01,
            0.9,
            1.4,
            told[e.cell.target].get(e.cell.bs_bytes, "not different"),
        )
        for e in whole.estimates
        if e.cell.target != "a"
    )
    return replace(whole, changes=changes), ComparisonData(
        quantity="throughput", first=["a"], second=["b", "c"], sentences=["Made up: b is ahead."]
    )


COMPARISONS = {"comparison": comparison, "several": several}


def main(arguments: Sequence[str]) -> int:
    from ioatlas.report.page import write_report

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=["all", *sorted([*KINDS, *COMPARISONS])])
    parser.add_argument("out", type=Path)
    options = parser.parse_args(arguments)
    every = {kind: options.out / f"{kind}.html" for kind in (*KINDS, *COMPARISONS) if kind != "large"}
    for kind, path in (every if options.kind == "all" else {options.kind: options.out}).items():
        result, told = COMPARISONS[kind]() if kind in COMPARISONS else (KINDS[kind](), None)
        write_report(result, path, told)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
