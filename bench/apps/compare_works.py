# SPDX-License-Identifier: Apache-2.0
"""Works compared: how often two campaigns of one unchanged target are called different, and how often a target that is
slower by a known share is found. Simulated targets, so that the truth is known.

    PYTHONPATH=src:. python bench/apps/compare_works.py [--pairs 8] > bench/apps/compare_works.txt
"""

import argparse
import tempfile
from pathlib import Path

from tests.simulate.law import Law, Way
from tests.unit.simulated import World

from ioatlas.campaign import load_result
from ioatlas.results.comparison import compare_sides

WORKS = 4
TEXT = 'visits = 6\norder_seed = {seed}\n[target]\npath = "TARGET"\n' + "".join(
    f'[[work]]\nname = "w{n}"\ncommand = "sleep {n} # {{salt}}"\n' for n in range(WORKS)
)


def campaign(place: Path, noise: float, slower: float, seed: int, salt: str) -> World:
    place.mkdir()
    way = Way(50e-6, 40_000 * (1 - slower), 1e9)
    world = World(place, Law(read=way, write=way, random_write=way, noise=noise))
    world.run(TEXT.format(seed=seed, salt=salt))
    return world


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=8)
    pairs = parser.parse_args().pairs
    print(f"{pairs} pairs of campaigns, {WORKS} works, 6 visits each; limit of a difference 2%")
    print("noise of a visit | slower by | works called slower | called faster | maps called slower | inside interval")
    for noise in (0.02,):
        for slower in (0.0, 0.05, 0.1):
            print(row(noise, slower, pairs), flush=True)


def row(noise: float, slower: float, pairs: int) -> str:
    lower = higher = whole = inside = works = figures = 0
    for number in range(pairs):
        with tempfile.TemporaryDirectory() as folder:
            first, second = Path(folder, "first"), Path(folder, "second")
            salt = f"{noise} {slower} {number}"
            campaign(first, noise, 0.0, 2 * number + 1, salt)
            campaign(second, noise, slower, 2 * number + 2, salt)
            (pair,) = compare_sides((first / "campaign", second / "campaign")).result.pairs
            works += len(pair.cells)
            lower += pair.count("lower")
            higher += pair.count("higher")
            whole += pair.whole is not None and pair.whole.outcome == "lower"
            for one in load_result(first / "campaign").works:
                figures += 1
                inside += one.low <= 1.0 <= one.high
    told = (lower / works, higher / works, whole / pairs, inside / figures)
    return f"{noise:16.0%} | {slower:9.0%} | " + " | ".join(f"{share:.1%}" for share in told)


if __name__ == "__main__":
    main()
