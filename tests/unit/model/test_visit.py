# SPDX-License-Identifier: Apache-2.0
"""A visit that several clients made: how long its load ran."""

from ioatlas.model.visit import Histogram, Part, Series, Visit, VisitShare


def test_the_longest_client_tells_how_long_a_load_ran():
    common = Part("read", 1, 1, 2700, 1e6, Histogram(), Series(0))
    alone = Visit(1, "k", 1, 0, 0, 7, 1000.0, (common,))
    assert alone.ran_ms == 2700
    clients = (
        VisitShare("read", 1000.0, 3100, 1, 1, 1.0, name="a"),
        VisitShare("read", 1000.3, 3400, 1, 1, 1.0, name="b"),
    )
    assert Visit(1, "k", 1, 0, 0, 7, 1000.0, (common,), clients=clients).ran_ms == 3400
