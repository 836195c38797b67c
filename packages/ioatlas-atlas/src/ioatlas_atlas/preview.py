# SPDX-License-Identifier: Apache-2.0
"""What publishing a bundle would show to whom, worked out at home: nothing is published by surprise."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from ioatlas.answer.product.kept import kept_sheet
from ioatlas.bundle.opening import open_bundle, opened_directory
from ioatlas.bundle.verify import Verification, verify
from ioatlas.measure.campaign import load_result
from ioatlas_atlas.extract import title_of
from ioatlas_atlas.fairness import Condition, Declaration, Publication, Told, checklist, day_of, grade, publication


@dataclass(frozen=True)
class Preview:
    """What a stranger would see of a bundle.

    names: campaign and targets, which stay. replaced: how many names the bundle has placeholders for. kept: kinds of
    names that its plan kept. checked: by `ioatlas verify`.
    """

    path: Path
    size_bytes: int
    sha256: str
    title: str
    product: str
    licence: str
    names: tuple[str, ...]
    replaced: int
    kept: tuple[str, ...]
    n_cells: int
    checked: Verification
    conditions: tuple[Condition, ...]
    publication: Publication

    @property
    def missing(self) -> tuple[Condition, ...]:
        """What lowers the grade."""
        return tuple(one for one in self.conditions if one.told in (Told.NO, Told.PARTLY))

    def document(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "bundle": str(self.path),
            "bytes": self.size_bytes,
            "sha256": self.sha256,
            "title": self.title,
            "product": self.product or None,
            "licence": self.licence or None,
            "signed_by": self.checked.fingerprint or None,
            "names_that_stay": list(self.names),
            "names_replaced": self.replaced,
            "names_kept": list(self.kept),
            "cells": self.n_cells,
            "verified": self.checked.verified,
            "refused": self.checked.refused,
            "checks": [vars(one) for one in self.checked.checks],
            "grade": grade(self.conditions),
            "missing": [{"name": one.name, "todo": one.todo} for one in self.missing],
            "state": self.publication.state,
            "reason": self.publication.reason,
        }


def read_declaration(sponsor: str | None, conflict: str | None, permission: str, embargo: str) -> Declaration:
    """'none' says that there is none. Raises UsageError for a date that is none."""
    return Declaration(_or_none(sponsor), _or_none(conflict), permission.strip(), day_of(embargo, "--embargo"))


def _or_none(text: str | None) -> str | None:
    return None if text is None else "" if text.strip().lower() == "none" else text.strip()


def preview(path: Path, declared: Declaration, today: date, *, private: bool = False) -> Preview:
    """Raises NotABundleError for another file, IoAtlasError for a bundle that was changed."""
    with open_bundle(path) as bundle:
        index, signed = bundle.index, bundle.attestation.key is not None
    directory, checked = opened_directory(path), verify(path)
    result = checked.result or load_result(directory)
    targets = [target.name for target in result.targets]
    sheet = kept_sheet(directory, targets[0] if targets else "")
    licence = str(index.get("licence") or "")
    redaction = index.get("redaction") or {}
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return Preview(
        path,
        path.stat().st_size,
        digest,
        title_of(result, sheet),
        sheet.name if sheet else "",
        licence,
        (result.name, *targets),
        sum(redaction.get("names", {}).values()),
        tuple(redaction.get("kept", ())),
        int(index["counts"]["cells"]),
        checked,
        checklist(result, sheet, declared, signed=signed, licence=licence),
        publication(sheet.publishing if sheet else None, declared, today, wants_private=private),
    )
