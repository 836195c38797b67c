# SPDX-License-Identifier: Apache-2.0
"""Random complete block designs: every replicate visits every cell once, in an order of its own (Abedi and Brecht,
ICPE 2017).
"""

from __future__ import annotations

import random
from collections.abc import Sequence


def random_replicates(keys: Sequence[str], replicates: int, seed: int) -> list[tuple[str, int, int]]:
    """(cell key, replicate, seed of the visit) in the order in which the visits are to be made; equal seeds give equal
    orders.
    """
    generator = random.Random(seed)  # noqa: S311 - an order, not a secret
    order: list[tuple[str, int, int]] = []
    for replicate in range(replicates):
        shuffled = list(keys)
        generator.shuffle(shuffled)
        order += [(key, replicate, generator.randrange(1, 2**31)) for key in shuffled]
    return order
