# SPDX-License-Identifier: Apache-2.0
"""The page of a comparison: both maps, and the map of ratios."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ioatlas.model.result import CampaignResult
from ioatlas.report.page import write_report
from ioatlas.report.page_format import ComparisonData
from ioatlas.report.redact import redactor
from ioatlas.results.comparison import CampaignComparison
from ioatlas.results.joined import joined


def write_comparison(
    first: CampaignResult,
    second: CampaignResult,
    comparison: CampaignComparison,
    words: str,
    sentences: Sequence[str],
    path: Path,
) -> None:
    """words: the quantity that was compared. sentences: what the comparison says. Raises as `write_report` does."""
    both = joined(first, second, comparison)
    clean = redactor((*first.targets, *second.targets))
    n_first = len(first.targets)
    names = [target.name for target in both.targets]
    data = ComparisonData(
        quantity=words,
        first=names[:n_first],
        second=names[n_first:],
        sentences=[clean(sentence) for sentence in sentences],
    )
    write_report(both, path, data)
