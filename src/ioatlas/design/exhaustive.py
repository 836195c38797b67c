# SPDX-License-Identifier: Apache-2.0
"""Random complete blocks: every block visits every cell once, in an order of its own (Abedi and Brecht, ICPE 2017)."""

from __future__ import annotations

import random
from collections.abc import Sequence


def random_blocks(keys: Sequence[str], blocks: int, seed: int) -> list[tuple[str, int, int]]:
    """(cell key, block, seed of the visit) in the order in which the visits are to be made; equal seeds give equal
    orders.
    """
    generator = random.Random(seed)  # noqa: S311 - an order, not a secret
    order: list[tuple[str, int, int]] = []
    for block in range(blocks):
        shuffled = list(keys)
        generator.shuffle(shuffled)
        order += [(key, block, generator.randrange(1, 2**31)) for key in shuffled]
    return order
