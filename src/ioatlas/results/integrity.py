# SPDX-License-Identifier: Apache-2.0
"""What `--verify` found, as findings: a mismatch stands above all others."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from ioatlas.model.finding import Finding, FindingCode
from ioatlas.model.units import format_size, format_size_rounded


@dataclass(frozen=True)
class Check:
    """One target's check: bytes written and read back, what fio said of those that did not match ('' when all did)."""

    target: str
    bs_bytes: int
    iodepth: int
    size_bytes: int
    written_bytes: int
    read_bytes: int
    mismatches: int
    error: int
    message: str


def as_outcome(checks: list[Check]) -> list[dict[str, Any]]:
    return [asdict(check) for check in checks]


def integrity_findings(outcome: list[dict[str, Any]]) -> tuple[Finding, ...]:
    """What the checks found, mismatches first."""
    found = []
    for check in sorted((Check(**row) for row in outcome), key=lambda check: not check.error):
        what = f"blocks of {format_size(check.bs_bytes)} at depth {check.iodepth}"
        if check.error or check.mismatches:
            sentence = (
                f"{check.target} returned other data than was written: {what}, {max(1, check.mismatches)} "
                "mismatches seen in "
            )
            sentence += (
                f"{format_size_rounded(check.read_bytes)} read back "
                f"({check.message or f'fio error {check.error}'}). Trust none of its data before this is "
                "explained."
            )
            found.append(Finding(FindingCode.CORRUPTION, sentence, target=check.target))
        else:
            sentence = (
                f"{check.target} gave back what was written: {what}, "
                f"{format_size_rounded(check.written_bytes)} written and "
            )
            found.append(
                Finding(
                    FindingCode.INTEGRITY,
                    sentence + f"{format_size_rounded(check.read_bytes)} read back and compared.",
                    target=check.target,
                )
            )
    return tuple(found)
