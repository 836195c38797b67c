# SPDX-License-Identifier: Apache-2.0
"""The hierarchical reuse random walk of an SPC-1-like load, and the zipf distribution that comes nearest to it: fio has
no such walk, and `ioatlas.load.streams.standards` takes its theta from here.
"""

from __future__ import annotations

import bisect
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from ioatlas.load.streams.standards import LEAF_BLOCKS


@dataclass
class Walk:
    """The hierarchical reuse random walk over the leaves of one region; a leaf is 32 KiB.

    From the current leaf a subtree of 64 leaves is chosen, doubled with probability 0.44 at each level, and a leaf in
    it at random. Reads cycle through the leaf's 8 blocks. Writes go to every eighth leaf: half to a random block, half
    to the last one read; 15% are repeated.
    """

    leaves: int
    rng: random.Random
    leaf: int = 0
    repeat: int | None = None
    state: dict[int, int] = field(default_factory=dict)

    def next_block(self, *, read: bool) -> int:
        """The next block of 4 KiB, counted from the start of the region."""
        if not read and self.repeat is not None:
            block, self.repeat = self.repeat, None
            self.leaf = block // LEAF_BLOCKS
            return block
        levels = max(6, math.ceil(math.log2(self.leaves)))
        old = self.leaf
        for _ in range(100):
            height = 6
            while height < levels and self.rng.random() < 0.44:
                height += 1
            width = 1 << height
            new = width * (old // width) + self.rng.randrange(width)
            if not read:
                new -= new % 8
            if new < self.leaves:
                break
            old = new
        else:
            new = self.rng.randrange(self.leaves)
        last = self.state.get(new, 0)
        if read:
            self.state[new] = (last + 1) % LEAF_BLOCKS
            block = last
        else:
            block = self.rng.randrange(LEAF_BLOCKS) if self.rng.random() < 0.5 else (last - 1) % LEAF_BLOCKS
        self.leaf = new
        address = new * LEAF_BLOCKS + block
        if not read and self.rng.random() < 0.15:
            self.repeat = address
        return address


def reuse_distances(items: Sequence[int]) -> list[int]:
    """For each repeated item, how many others came since its last use (a Fenwick tree over times of last use)."""
    n = len(items)
    tree = [0] * (n + 1)

    def add(i: int, value: int) -> None:
        i += 1
        while i <= n:
            tree[i] += value
            i += i & -i

    def below(i: int) -> int:
        total = 0
        while i > 0:
            total += tree[i]
            i -= i & -i
        return total

    last: dict[int, int] = {}
    found = []
    for now, item in enumerate(items):
        before = last.get(item)
        if before is not None:
            found.append(below(now) - below(before + 1))
            add(before, -1)
        add(now, 1)
        last[item] = now
    return found


def _zipf(theta: float, n: int, count: int, rng: random.Random) -> list[int]:
    cumulative, total = [], 0.0
    for k in range(1, n + 1):
        total += k**-theta
        cumulative.append(total)
    return [bisect.bisect_left(cumulative, rng.random() * total) for _ in range(count)]


def distance_error(first: Sequence[int], second: Sequence[int], n: int) -> float:
    """Largest gap between two cumulative distributions of reuse distance over n accesses each; first uses count as
    infinitely far.
    """
    a, b = sorted(first), sorted(second)
    return max((abs(bisect.bisect_right(a, x) - bisect.bisect_right(b, x)) / n for x in [*a, *b]), default=0.0)


def calibrate(leaves: int, accesses: int = 20_000, seed: int = 1) -> tuple[float, float]:
    """The zipf theta whose reuse distances over leaves come nearest to the walk's, and how near: the largest gap of the
    cumulative shares.
    """
    rng = random.Random(seed)
    walk = Walk(leaves, rng, rng.randrange(leaves))
    reference = reuse_distances([walk.next_block(read=rng.random() < 0.5) // LEAF_BLOCKS for _ in range(accesses)])
    best = (0.0, 1.0)
    for theta in (0.05, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95, 1.05, 1.2):
        error = distance_error(reference, reuse_distances(_zipf(theta, leaves, accesses, rng)), accesses)
        if error < best[1]:
            best = (theta, error)
    return best
