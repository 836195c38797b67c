# SPDX-License-Identifier: Apache-2.0
"""What `--verify` found, as findings: a mismatch stands above all others."""

from __future__ import annotations

from collections.abc import Sequence

from ioatlas.model.finding import Finding, FindingCode
from ioatlas.model.outcomes import IntegrityCheck
from ioatlas.model.units import format_size, format_size_rounded


def integrity_findings(checks: Sequence[IntegrityCheck]) -> tuple[Finding, ...]:
    """What the checks found, mismatches first."""
    found = []
    for check in sorted(checks, key=lambda check: not check.error):
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
