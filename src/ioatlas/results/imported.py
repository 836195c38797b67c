# SPDX-License-Identifier: Apache-2.0
"""What was imported into a directory, as a result of its own or beside the campaign that was measured there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median

from ioatlas import beneath
from ioatlas.analysis.balance import client_findings
from ioatlas.analysis.imported import ImportedMap, Labelled, imported_map
from ioatlas.analysis.imported_methods import differences
from ioatlas.analysis.imported_repeats import MIDDLE
from ioatlas.analysis.wording import plural
from ioatlas.model.estimate import Estimate
from ioatlas.model.finding import Finding, FindingCode
from ioatlas.model.imported_reading import ImportedReading
from ioatlas.model.result import CampaignResult
from ioatlas.model.target import Target
from ioatlas.model.units import format_rate, format_size
from ioatlas.store.imported import FILE_NAME, Imported

CAMPAIGN_ID = "imported"
TOLD_PROBLEMS = 30
TOLD_ONE_BY_ONE = 4
"""Most sets whose differences of method are told in sentences; a table has them all."""


def is_imported(place: Path) -> bool:
    """Whether there are imported readings in a directory; `place` may be the file that holds them, too."""
    return beneath.is_ordinary(place if place.name == FILE_NAME else place / FILE_NAME)


def read_imported(place: Path) -> ImportedMap:
    """The readings as a map, each for itself. Raises UsageError when there are none, IoAtlasError when they cannot be
    read.
    """
    store = Imported.open(place.parent if place.name == FILE_NAME else place)
    try:
        return imported_map(_labelled(store), one_by_one=True)
    finally:
        store.close()


def load_imported(directory: Path) -> CampaignResult:
    """The result of a directory in which nothing was measured."""
    store = Imported.open(directory)
    try:
        imports, problems = store.imports(), store.problems()
        labelled = list(_labelled(store))
    finally:
        store.close()
    found = imported_map(labelled)
    shared = set.intersection(*(set(e.cell.options) for e in found.estimates)) if found.estimates else set()
    name = directory.resolve().name
    return CampaignResult(
        CAMPAIGN_ID,
        name,
        imports[0][0] if imports else 0.0,
        imports[-1][1] if imports else "",
        _targets(found),
        found.axes,
        {option: value for option, value in sorted(shared) if option not in found.axes},
        found.estimates,
        findings=(*_findings(found, problems), *client_findings(one.reading for one in labelled)),
        settings=_settings(problems),
        methods=found.methods,
    )


def with_imported(result: CampaignResult, directory: Path) -> CampaignResult:
    """A measured campaign with what was imported into its directory beside it: as targets of their own, never among its
    findings.
    """
    store = Imported.open(directory)
    try:
        labelled, problems = list(_labelled(store)), store.problems()
    finally:
        store.close()
    found = imported_map(labelled)
    taken = {target.name for target in result.targets}
    renamed = {name: f"imported: {name}" for name in found.series if name in taken}
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
        findings=(*result.findings, *_findings(found, problems), *client_findings(one.reading for one in labelled)),
        settings={**result.settings, **_settings(problems)},
        methods={**result.methods, **{renamed.get(name, name): facts for name, facts in found.methods.items()}},
    )


def _labelled(store: Imported) -> Iterator[Labelled]:
    for label, record in store.readings():
        yield Labelled(label, ImportedReading.from_dict(record))


def _renamed(estimate: Estimate, names: dict[str, str]) -> Estimate:
    name = names.get(estimate.cell.target)
    return estimate if name is None else replace(estimate, cell=replace(estimate.cell, target=name))


def _targets(found: ImportedMap, renamed: dict[str, str] | None = None) -> tuple[Target, ...]:
    return tuple(Target((renamed or {}).get(name, name), "imported", "") for name in found.series)


def _settings(problems: list[str]) -> dict[str, str]:
    told = {f"not read {number}": text for number, text in enumerate(problems[:TOLD_PROBLEMS], start=1)}
    return (
        told
        if len(problems) <= TOLD_PROBLEMS
        else {**told, "not read, further": f"{len(problems) - TOLD_PROBLEMS} remarks"}
    )


def _shared(estimates: Sequence[Estimate]) -> list[Finding]:
    """The loads that several sets have, the fastest first: where they can be compared."""
    places: dict[object, list[Estimate]] = {}
    for estimate in estimates:
        places.setdefault((estimate.cell.options, estimate.direction), []).append(estimate)
    several = [group for group in places.values() if len({e.cell.target for e in group}) > 1]
    if not several:
        return []
    several.sort(key=lambda group: max(e.bw_bytes_per_s or 0.0 for e in group), reverse=True)
    keys = tuple(dict.fromkeys(e.cell.key for group in several for e in group))
    return [
        Finding(
            FindingCode.IMPORTED,
            f"{plural(len(several), 'load')} in more than one set: there the sets can be seen beside each other.",
            keys,
        )
    ]


def _of_repeats(repeated: Sequence[Estimate]) -> list[Finding]:
    """How far repeats are apart, and where the most."""
    shares = [(e.bw_sd / e.bw_bytes_per_s, e) for e in repeated if e.bw_sd is not None and e.bw_bytes_per_s]
    if not shares:
        return []
    counts = sorted({e.n_repeats for e in repeated})
    n = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    widest, worst = max(shares, key=lambda pair: pair[0])
    load = f"{worst.cell.option.get('operation', worst.direction)}" + (
        f", bs {format_size(int(worst.cell.option['bs']))}" if isinstance(worst.cell.option.get("bs"), int) else ""
    )
    return [
        Finding(
            FindingCode.IMPORTED,
            f"{plural(len(repeated), 'value')} are means of {n} repeats. Typical standard deviation "
            f"{median(share for share, _ in shares):.1%}, at most {widest:.1%} ({worst.cell.target}, {load}).",
            (worst.cell.key,),
            target=worst.cell.target,
        )
    ]


def _findings(found: ImportedMap, problems: list[str]) -> tuple[Finding, ...]:
    if not found.estimates:
        return (Finding(FindingCode.IMPORTED, "Nothing with a figure was imported."),)
    kinds = Counter(estimate.statistic for estimate in found.estimates)
    words = ", ".join(f"{count} × {word}" for word, count in kinds.most_common(4))
    several = f" in {plural(len(found.series), 'set')}" if len(found.series) > 1 else f" of {found.series[0]}"
    repeated = [e for e in found.estimates if e.n_repeats]
    bounds = "intervals are those of repeats" if repeated else "no interval is shown that a source did not bring"
    sentences = [
        Finding(
            FindingCode.IMPORTED,
            f"{plural(len(found.estimates), 'imported reading')}{several} ({words}); nothing here was measured by "
            f"ioatlas, and {bounds}.",
        )
    ]
    sentences += _of_repeats(repeated)
    sentences += _shared(found.estimates)
    if (clashing := sum(e.statistic.startswith(MIDDLE) for e in found.estimates)) > 0:
        several = (
            f"{plural(clashing, 'load')} with several readings that neither folder, file name, host nor label tells "
            "apart: the map shows the middle one. `--label` names sets; `--repeats` makes means of repeats."
        )
        sentences.append(Finding(FindingCode.IMPORTED, several))
    doubted = [(e, note) for e in found.estimates for note in e.notes if "contradict" in note]
    if doubted:
        keys = tuple(dict.fromkeys(e.cell.key for e, _ in doubted))
        sentence = f"{plural(len(keys), 'cell')} with figures that contradict each other, such as {doubted[0][1]}."
        sentences.append(Finding(FindingCode.IMPORTED, sentence, keys))
    for direction in ("read", "write"):
        rates = [
            (e.bw_bytes_per_s, e) for e in found.estimates if e.direction == direction and e.bw_bytes_per_s is not None
        ]
        if rates:
            value, top = max(rates, key=lambda pair: pair[0])
            sentences.append(
                Finding(
                    FindingCode.IMPORTED,
                    f"Highest imported {direction} throughput: {format_rate(value)} ({top.cell.target}, "
                    f"{top.statistic}, {top.notes[0]}).",
                    (top.cell.key,),
                    target=top.cell.target,
                    direction=direction,
                )
            )
    differing = differences(found.methods)
    if len(found.series) > TOLD_ONE_BY_ONE and differing:
        names = ", ".join(differing)
        sentences.append(
            Finding(
                FindingCode.METHOD,
                "The sets were not measured alike; they differ in "
                f"{names}: see how the imported figures were measured.",
            )
        )
    else:
        sentences += [
            Finding(FindingCode.METHOD, f"Methods differ in {name}: {values}.") for name, values in differing.items()
        ]
    if problems:
        sentences.append(
            Finding(
                FindingCode.IMPORTED,
                f"{plural(len(problems), 'remark')} on what gave no figure; the settings list them.",
            )
        )
    return tuple(sentences)
