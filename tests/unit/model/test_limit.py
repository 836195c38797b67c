# SPDX-License-Identifier: Apache-2.0
import pytest

from ioatlas.model.estimate import Limit


@pytest.mark.parametrize(
    ("probability", "words", "number"),
    [
        (None, "", ""),
        (0.55, "probably", " (55%)"),
        (0.8, "very likely", " (80%)"),
        (0.97, "almost certainly", " (97%)"),
    ],
)
def test_odds_are_told_in_words_and_as_a_number(probability, words, number):
    limit = Limit("link", 0.99, probability=probability)
    assert (limit.odds_words, limit.odds_number) == (words, number)
