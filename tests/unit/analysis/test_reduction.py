# SPDX-License-Identifier: Apache-2.0
from ioatlas.answer.analysis.reduction import reduction_findings
from ioatlas.model.cell import Cell
from ioatlas.model.estimate import Estimate
from ioatlas.model.verdict import VerdictCode


def estimate(compress, rate, latency_ns, bs=4096, width=0.02, verdict=VerdictCode.STEADY):
    cell = Cell.of("nas", {"rw": "randwrite", "bs": bs, "buffer_compress_percentage": compress})
    low, high = rate * (1 - width), rate * (1 + width)
    return Estimate(cell, "write", "measured", 3, rate, low, high, rate / bs, lat_mean_ns=latency_ns, verdict=verdict)


def test_a_target_that_compresses_is_named():
    (finding,) = reduction_findings(
        [estimate(0, 1e6, 2e6), estimate(50, 2e6, 1e6), estimate(0, 1e6, 2e6, 65536), estimate(50, 1.9e6, 1e6, 65536)]
    )
    assert finding.code == "data-reduction"
    assert "nas" in finding.sentence
    assert "2 of 2 loads" in finding.sentence
    assert len(finding.cells) == 2


def test_a_client_that_makes_compressible_data_faster_is_not_the_target():
    (finding,) = reduction_findings([estimate(0, 1e6, 2e6), estimate(50, 1.5e6, 2e6)])
    assert finding.code == "no-data-reduction"


def test_overlapping_intervals_and_suspect_values_say_nothing():
    assert (
        reduction_findings([estimate(0, 1e6, 2e6, width=0.5), estimate(50, 1.4e6, 1e6, width=0.5)])[0].code
        == "no-data-reduction"
    )
    assert reduction_findings([estimate(0, 1e6, 2e6, verdict=VerdictCode.CLIENT_LIMITED), estimate(50, 2e6, 1e6)]) == ()
    assert reduction_findings([estimate(0, 1e6, 2e6)]) == ()
