# SPDX-License-Identifier: Apache-2.0
"""What was imported into a directory, as a result of its own or beside the campaign that was measured there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from statistics import median

from ioatlas.answer.analysis.balance import client_findings
from ioatlas.answer.analysis.imported import ImportedMap, imported_map
from ioatlas.answer.analysis.imported_answer import (
    LOADS,
    SETS,
    by_kind,
    differences,
    named,
    operation_of,
    rivals,
)
from ioatlas.answer.analysis.imported_answer import several as _several
from ioatlas.answer.analysis.summary import small_io
from ioatlas.answer.analysis.wording import Namer, plural
from ioatlas.model.estimate import Estimate
from ioatlas.model.finding import Finding, FindingCode, Value
from ioatlas.model.imported_reading import ImportedReading, Labelled
from ioatlas.model.panel import Table
from ioatlas.model.result import CampaignResult
from ioatlas.model.target import Target
from ioatlas.model.units import format_count, format_rate, format_size
from ioatlas.store.imported import FILE_NAME, Imported

CAMPAIGN_ID = "imported"
_HEADS = ("best read", "best write", "4K random read", "4K random write", "best other")
TOLD_PROBLEMS = 30


def read_imported(place: Path) -> ImportedMap:
    """The readings as a map, each for itself. Raises UsageError when there are none, IoAtlasError when they cannot be
    read.
    """
    with closing(Imported.open(place.parent if place.name == FILE_NAME else place)) as store:
        return imported_map(_labelled(store), one_by_one=True)


def load_imported(directory: Path, name: str = "") -> CampaignResult:
    """The result of a directory in which nothing was measured, or of what was imported there. name: the directory's
    where none is given.
    """
    with closing(Imported.open(directory)) as store:
        labelled = list(_labelled(store))
        found = _result(store.imports(), imported_map(labelled), labelled, store.problems())
    return replace(found, name=name or directory.resolve().name)


def load_sets(directory: Path) -> list[CampaignResult]:
    """The sets that were imported into a directory, each as a result of its own; of a single one `load_imported`. Each
    was made on the first day that its files tell.
    """
    with closing(Imported.open(directory)) as store:
        found, imports = imported_map(_labelled(store)), store.imports()
    sets = [load_imported(directory)]
    if len(found.series) > 1:
        sets = [_result(imports, found.of_set(name), found.readings[name]) for name in found.series]
        sets = [replace(one, name=f"{directory.resolve().name}, {one.name}") for one in sets]
    return [replace(one, created_at=_made(found.readings[name])) for one, name in zip(sets, found.series, strict=True)]


def _made(readings: Sequence[Labelled]) -> float:
    """The first day that they tell, in seconds since 1970; 0 where none does."""
    found = []
    for one in readings:
        with suppress(ValueError):
            found.append(datetime.fromisoformat(f"{one.reading.details.get('measured')}T00:00Z").timestamp())
    return min(found, default=0.0)


def _result(
    imports: Sequence[tuple[float, str, str]], found: ImportedMap, of: Sequence[Labelled], bad: Sequence[str] = ()
) -> CampaignResult:
    """imports: as the store has them. of: the readings. bad: what was not read."""
    shared = set.intersection(*(set(e.cell.options) for e in found.estimates)) if found.estimates else set()
    return CampaignResult(
        CAMPAIGN_ID,
        ", ".join(found.series),
        imports[0][0] if imports else 0.0,
        imports[-1][1] if imports else "",
        _targets(found),
        found.axes,
        {option: value for option, value in sorted(shared) if option not in found.axes},
        found.estimates,
        findings=_told(found, of, bad),
        settings=_settings(bad),
        methods=found.methods,
        tables=_sets(found),
    )


def with_imported(result: CampaignResult, directory: Path) -> CampaignResult:
    """A measured campaign with what was imported into its directory beside it: as targets of their own, never among its
    findings.
    """
    with closing(Imported.open(directory)) as store:
        labelled, problems = list(_labelled(store)), store.problems()
    found = imported_map(labelled)
    renamed = {one.name: f"imported: {one.name}" for one in result.targets if one.name in found.series}
    estimates = tuple(_renamed(estimate, renamed) for estimate in found.estimates)
    axes = {
        name: tuple(
            dict.fromkeys(
                (*result.axes.get(name, ()), *(e.cell.option[name] for e in estimates if name in e.cell.option))
            )
        )
        for name in dict.fromkeys((*result.axes, *found.axes))
    }
    # An option that was the same for all measured cells is an axis as soon as imported cells differ in it.
    for name in result.constants:
        if name in axes:
            axes[name] = tuple(dict.fromkeys((result.constants[name], *axes[name])))
    return replace(
        result,
        targets=(*result.targets, *_targets(found, renamed)),
        axes=axes,
        constants={name: value for name, value in result.constants.items() if name not in axes},
        estimates=(*result.estimates, *estimates),
        findings=(*result.findings, *_told(found, labelled, problems)),
        settings={**result.settings, **_settings(problems)},
        methods={**result.methods, **{renamed.get(name, name): facts for name, facts in found.methods.items()}},
    )


def _told(found: ImportedMap, labelled: Sequence[Labelled], problems: Sequence[str]) -> tuple[Finding, ...]:
    clients = client_findings(one.reading for one in labelled)
    return (*_answer(found, labelled, problems), *_findings(found), *clients)


def _labelled(store: Imported) -> Iterator[Labelled]:
    for label, record in store.readings():
        yield Labelled(label, ImportedReading.from_dict(record))


def _renamed(estimate: Estimate, names: dict[str, str]) -> Estimate:
    name = names.get(estimate.cell.target)
    return estimate if name is None else replace(estimate, cell=replace(estimate.cell, target=name))


def _targets(found: ImportedMap, renamed: dict[str, str] | None = None) -> tuple[Target, ...]:
    return tuple(Target((renamed or {}).get(name, name), "imported", "") for name in found.series)


def _settings(problems: Sequence[str]) -> dict[str, str]:
    told = {f"not read {number}": text for number, text in enumerate(problems[:TOLD_PROBLEMS], start=1)}
    return (
        told
        if len(problems) <= TOLD_PROBLEMS
        else {**told, "not read, further": f"{len(problems) - TOLD_PROBLEMS} remarks"}
    )


def _of_repeats(repeated: Sequence[Estimate]) -> list[Finding]:
    """How far repeats are apart, and where the most."""
    shares = [(e.bw_sd / e.bw_bytes_per_s, e) for e in repeated if e.bw_sd is not None and e.bw_bytes_per_s]
    if not shares:
        return []
    counts = sorted({e.n_repeats for e in repeated})
    widest, worst = max(shares, key=lambda pair: pair[0])
    load = f"{worst.cell.option.get('operation', worst.direction)}" + (
        f", bs {format_size(int(worst.cell.option['bs']))}" if isinstance(worst.cell.option.get("bs"), int) else ""
    )
    values: dict[str, Value] = {
        "n_values": len(repeated),
        "repeats": " to ".join(dict.fromkeys((str(counts[0]), str(counts[-1])))),
        "typical": median(share for share, _ in shares),
        "most": widest,
        "load": load,
    }
    return [Finding(FindingCode.IMPORTED, values, (worst.cell.key,), target=worst.cell.target)]


def _answer(found: ImportedMap, labelled: Sequence[Labelled], problems: Sequence[str]) -> Iterator[Finding]:
    """What was imported, which latency it is, and what was lost."""
    yield Finding(FindingCode.IMPORTED, {"n_readings": len(found.estimates), **_sources(found, labelled)})
    if not found.estimates:
        return
    kinds = []
    for name in ("mean", "p99"):
        of = Counter(facts.get(f"{name} latency", "none") for facts in found.methods.values())
        counts = [f"{kind} ({plural(n, 'set')})" if len(of) > 1 else kind for kind, n in of.most_common(4)]
        kinds.append({"quantity": name, "told": counts})
    yield Finding(FindingCode.IMPORTED, {"kinds": kinds})
    if problems:
        first, *further = by_kind(problems)
        yield Finding(FindingCode.IMPORTED, {"remark": first, "n_more": len(further) or None})


def _sources(found: ImportedMap, labelled: Sequence[Labelled]) -> Mapping[str, Value]:
    tools: dict[str, dict[str, None]] = {}
    for one in labelled:
        tools.setdefault(one.tool, {})[one.reading.tool_version or "of no told version"] = None
    told = [f"{tool} {next(iter(of)) if len(of) == 1 else f'({len(of)} versions)'}" for tool, of in tools.items()]
    return {
        "n_files": len({one.file for one in labelled}),
        "n_hosts": len({one.reading.host for one in labelled if one.reading.host}) or None,
        "n_sets": len(found.series) if len(found.series) > 1 else None,
        "tools": _several(told, 4),
    }


def _sets(found: ImportedMap) -> tuple[Table, ...]:
    """A line for each set, the fastest first: its best values, and small random I/O at the least and most in flight.
    Of a single set that makes no map a line for each load.
    """
    alone = len(found.series) == 1
    kinds = {(e.direction, operation_of(e)) for e in found.estimates}
    if not found.estimates or (alone and len(kinds) * 2 <= len(found.estimates)):
        return ()
    namer = Namer((e.cell for e in found.estimates), found.series)
    cells: dict[str, dict[str, str]] = {}
    told = found.estimates if alone else rivals(found.estimates) or found.estimates
    for e in sorted(told, key=lambda e: (e.bw_bytes_per_s or 0.0, e.iops or 0.0), reverse=True):
        row = cells.setdefault(named(e, namer, everything=True) if alone else e.cell.target, {})
        if e.bw_bytes_per_s and e.direction in ("read", "write"):
            row.setdefault(f"best {e.direction}", format_rate(e.bw_bytes_per_s))
        elif e.bw_bytes_per_s or e.iops:
            rate = format_rate(e.bw_bytes_per_s) if e.bw_bytes_per_s else f"{format_count(e.iops or 0.0)}/s"
            row.setdefault("best other", f"{rate} {operation_of(e)}")
    for io in [] if alone else small_io(found.estimates, namer):
        cells[io.target][f"4K random {io.direction}"] = " → ".join(
            f"{format_count(one.iops)}{f' @{one.in_flight}' if one.in_flight else ''}"
            for one in dict.fromkeys((io.lightest, io.best))
        )
    heads = [name for name in _HEADS if any(name in row for row in cells.values())]
    rows = tuple((name, *(row.get(head, "") for head in heads)) for name, row in cells.items())
    note = "" if alone else "4K random: IOPS @ I/Os in flight, at the fewest and at the most."
    return (Table(LOADS if alone else SETS, ("load" if alone else "set", *heads), rows, note),)


def _findings(found: ImportedMap) -> tuple[Finding, ...]:
    told = _of_repeats([e for e in found.estimates if e.n_repeats])
    if differing := ", ".join(differences(found.methods)):
        told.append(Finding(FindingCode.METHOD, {"differences": differing}))
    return tuple(told)
