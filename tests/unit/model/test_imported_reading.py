# SPDX-License-Identifier: Apache-2.0
"""Mean and percentile of a row are of one kind of latency."""

import pytest

from ioatlas.answer.analysis.imported import imported_map
from ioatlas.model.imported_reading import ImportedReading, Labelled, OneLatency

COMPLETION, TOTAL = "completion", "total"


@pytest.mark.parametrize(
    ("kinds", "details", "shown"),
    [
        ((TOTAL, TOTAL), {}, OneLatency(200.0, 150.0, TOTAL)),
        ((TOTAL, COMPLETION), {"clat_mean_ns": 100.0}, OneLatency(100.0, 150.0, COMPLETION)),
        ((COMPLETION, TOTAL), {"lat_mean_ns": 120.0}, OneLatency(120.0, 150.0, TOTAL)),
        ((TOTAL, COMPLETION), {}, OneLatency(200.0, None, TOTAL)),
        ((TOTAL, None), {"clat_mean_ns": 100.0}, OneLatency(200.0, None, TOTAL)),
        ((None, None), {}, OneLatency(200.0, 150.0, None)),
    ],
)
def test_a_mean_of_one_latency_never_stands_beside_a_percentile_of_another(kinds, details, shown):
    figures = {"iops": 5.0, "lat_mean_ns": 200.0, "lat_p99_ns": 150.0, "details": details}
    kind, p99_kind = kinds
    reading = ImportedReading("a.json", 1, "fio", direction="read", lat_kind=kind, lat_p99_kind=p99_kind, **figures)
    assert reading.latency == shown
    (shown_row,) = imported_map([Labelled("", reading)]).estimates
    assert (shown_row.lat_mean_ns, shown_row.lat_p99_ns) == shown[:2]
    assert shown_row.lat_kind == (shown.kind or "unknown")
