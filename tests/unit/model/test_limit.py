# SPDX-License-Identifier: Apache-2.0
import pytest

from ioatlas.model.estimate import Limit


@pytest.mark.parametrize(
    ("probability", "sentence"),
    [
        (None, "link, 99% used"),
        (0.55, "probably link (55%), 99% used"),
        (0.8, "very likely link (80%), 99% used"),
        (0.97, "almost certainly link (97%), 99% used"),
    ],
)
def test_odds_are_told_in_words_and_as_a_number(probability, sentence):
    assert Limit("link", 0.99, probability=probability).sentence == sentence
