# SPDX-License-Identifier: Apache-2.0
"""vdbench's hot band, which Emerald's load has too: I/O biased to the start of a region, as zones of equal shares."""

from __future__ import annotations

import functools
import itertools

from ioatlas.interop.fidelity import Fidelity, approximate, not_expressible
from ioatlas.model.workload import Address

# Cumulative share of the I/O within the first N megabytes (of 1,000,000 bytes) of a hot band before it is folded into
# the band's size.
_HOT_MB = (0, *(16 << k for k in range(27)), 10737418240)
_HOT_SHARES = """
    0 0.087217 0.10101 0.132206 0.159946 0.201713 0.262602 0.32645 0.366902 0.386175 0.436941 0.482631 0.523752
    0.56076 0.594068 0.624045 0.651024 0.675305 0.697159 0.716827 0.734528 0.750459 0.764797 0.777701 0.789314
    0.799767 0.809174 0.81764 1
"""
_HOT_SHARE = tuple(map(float, _HOT_SHARES.split()))
_ZONES = 50


def folded_share(megabytes: float, band_megabytes: float) -> float:
    """Share of the I/O in the first `megabytes` of a band: offsets beyond the band wrap around it."""

    def covered(end: float) -> float:
        """How much of 0 to `end`, wrapped around the band, lies in its first `megabytes`."""
        turns, rest = divmod(end, band_megabytes)
        return turns * megabytes + min(rest, megabytes)

    total = 0.0
    for (low, high), (below, above) in zip(itertools.pairwise(_HOT_MB), itertools.pairwise(_HOT_SHARE), strict=True):
        total += (above - below) / (high - low) * (covered(high) - covered(low))
    return total


@functools.lru_cache(maxsize=64)
def hot_band(size: int | None, block: int, read_percent: float) -> tuple[Address, Fidelity]:
    """A band of `size` bytes as zones of equal shares of the I/O."""
    if size is None:
        return Address("random"), approximate(
            "hot band",
            "the hot band's curve runs over megabytes, and the size of the sd is not given (size=)",
            "uniform inside the band instead of biased to its start",
        )
    band = size / 1e6
    if band < 1:
        return Address("random"), not_expressible(
            "hot band", "a hot band needs at least one megabyte; uniform offsets stand in"
        )
    edges = [0.0]
    for k in range(1, _ZONES):
        low, high = edges[-1], band
        for _ in range(40):
            middle = (low + high) / 2
            if folded_share(middle, band) < k / _ZONES:
                low = middle
            else:
                high = middle
        edges.append(high)
    edges.append(band)
    cuts = [round(edge * 1e6) // block * block for edge in edges[:-1]] + [size]
    zones: list[tuple[float, float]] = []
    carried = 0.0
    for low_cut, high_cut in itertools.pairwise(cuts):
        carried += 100 / _ZONES
        if high_cut > low_cut:
            zones.append((carried, float(high_cut - low_cut)))
            carried = 0.0
    if carried and zones:
        zones[-1] = (zones[-1][0] + carried, zones[-1][1])
    shift = "; writes are not shifted by 1% of the band" if read_percent < 100 else ""
    note = approximate(
        "hot band",
        f"the hot band's curve as {len(zones)} zones, uniform inside each{shift}",
        f"cumulative share within {100 / _ZONES:g} points of the curve everywhere",
    )
    return Address("zoned", zones=tuple(zones), zones_are_bytes=True), note
