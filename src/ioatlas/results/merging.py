# SPDX-License-Identifier: Apache-2.0
"""Campaigns of one plan put together into one with the visits of all: what has to agree, and how it is done."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ioatlas.config.spec import CampaignSpec
from ioatlas.errors import IoAtlasError, UsageError
from ioatlas.results.result import session_facts
from ioatlas.store.journal import Journal
from ioatlas.store.merging import add_rows, finish_merged

_ONLY_PLANNED = frozenset({"adaptive", "rounds", "stream_loads", "configurations"})
"""Records of procedures whose cells follow from what was measured: their visits cannot be put together."""
_MAY_DIFFER = {"name": "", "order_seed": 1, "visits": 2, "budget_seconds": None, "remarks": (), "targets": ()}
_LEFT_OUT = ("report.html", "gnuplot", "imported.sqlite*", "*.png", "*.svg", "*.pdf")
_FACTS = ("fs_type", "model", "serial", "wwn", "size_bytes")
"""Of a target's identity: what must be the same where both tell it."""


@dataclass(frozen=True)
class Merged:
    """visits: accepted ones, by the directory they come from. versions: of fio and ioatlas, where they differ."""

    directory: Path
    visits: dict[str, int]
    versions: tuple[str, ...]


@dataclass(frozen=True)
class _Known:
    directory: Path
    campaign_id: str
    complete: bool
    spec: CampaignSpec
    cells: frozenset[tuple[str, str]]
    targets: dict[str, tuple[str, dict[str, str]]]
    versions: str
    visits: int
    records: frozenset[str]


def merge_campaigns(directories: Sequence[Path], output: Path) -> Merged:
    """Write a campaign with the visits of all into `output`, which must not exist; the others stay as they are.

    Raises UsageError when their plans, cells or targets do not agree, with what differs.
    """
    if len(directories) < 2:
        raise UsageError("one campaign is merged with nothing", remedy="name two or more")
    if len({directory.resolve() for directory in directories}) < len(directories):
        raise UsageError("a campaign is named twice", remedy="name each once")
    if output.exists():
        raise UsageError("there is something already", where=str(output), remedy="name another -o")
    known = [_read(directory) for directory in directories]
    for other in known[1:]:
        _check(known[0], other)
    try:
        _write(known, output)
    except OSError as error:
        raise IoAtlasError(
            f"the campaign cannot be written: {error.strerror or error}",
            where=str(output),
            remedy="name a place with room that can be written",
        ) from error
    versions = tuple(dict.fromkeys(one.versions for one in known))
    return Merged(
        output,
        {str(one.directory): one.visits for one in known},
        versions if len(versions) > 1 else (),
    )


def _write(known: Sequence[_Known], output: Path) -> None:
    """Under another name first: a campaign is there whole, or not at all."""
    part = Path(tempfile.mkdtemp(prefix=f".{output.name}.", dir=output.parent))
    try:
        left_out = shutil.ignore_patterns(*_LEFT_OUT)
        shutil.copytree(known[0].directory, part, symlinks=True, ignore=left_out, dirs_exist_ok=True)
        for other in known[1:]:
            for old, new in add_rows(part, other.directory).items():
                if (source := other.directory / old).is_dir() and not source.is_symlink():
                    shutil.copytree(source, part / new, symlinks=True)
        digest = hashlib.sha256("-".join(one.campaign_id for one in known).encode()).hexdigest()
        finish_merged(part, campaign_id=digest[:12], name=output.name, complete=all(one.complete for one in known))
        Journal.open(part).close()
        part.rename(output)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise


def _read(directory: Path) -> _Known:
    journal = Journal.open(directory)
    try:
        sessions = journal.sessions()
        facts = session_facts(journal.testbed(sessions[-1])) if sessions else {}
        row = journal.campaign()
        return _Known(
            directory,
            row.campaign_id,
            bool(row.complete),
            replace(CampaignSpec.from_record(journal.plan()["spec"]), **_MAY_DIFFER),  # type: ignore[arg-type]
            frozenset((cell.key, "" if not reason else "left out") for cell, reason in journal.cells()),
            {target.name: (target.kind, dict(target.identity.facts)) for target in journal.targets()},
            f"ioatlas {facts.get('ioatlas', '?')}, {facts.get('fio', 'fio ?')}",
            sum(not visit.discarded for visit in journal.visits()),
            journal.record_names(),
        )
    finally:
        journal.close()


def _check(first: _Known, other: _Known) -> None:
    """Raises UsageError with the first thing that does not agree."""
    where = f"{first.directory} and {other.directory}"
    for one in (first, other):
        if found := sorted(_ONLY_PLANNED & one.records):
            raise UsageError(
                f"its cells follow from what was measured ({', '.join(found)}), so that its visits cannot be added",
                where=str(one.directory),
                remedy=f"`ioatlas compare {first.directory} {other.directory}` holds them against each other",
            )
    remedy = "merge campaigns of one campaign file and one target; `ioatlas compare` takes others too"
    if first.targets.keys() != other.targets.keys():
        names = [", ".join(sorted(one.targets)) for one in (first, other)]
        raise UsageError(f"the targets are not called the same: {names[0]}; {names[1]}", where=where, remedy=remedy)
    for name, (kind, facts) in first.targets.items():
        other_kind, other_facts = other.targets[name]
        apart = [f for f in _FACTS if f in facts and f in other_facts and facts[f] != other_facts[f]]
        if kind != other_kind or apart:
            told = (
                ", ".join(f"{fact} {facts[fact]} and {other_facts[fact]}" for fact in apart) or f"{kind}, {other_kind}"
            )
            raise UsageError(f"target {name} is not the same: {told}", where=where, remedy=remedy)
    if first.spec != other.spec:
        told = ", ".join(name for name in vars(first.spec) if getattr(first.spec, name) != getattr(other.spec, name))
        raise UsageError(f"the plans do not agree in {told}", where=where, remedy=remedy)
    if {key for key, _ in first.cells} != {key for key, _ in other.cells}:
        raise UsageError("the cells are not the same", where=where, remedy=remedy)
