"""A site of many made-up results, without their reports: `python bench/site/fill.py FOLDER --results 10000`.

Every result has a value of each of 20 loads, four operations and five block sizes; a twentieth of these is doubted.
"""

import argparse
import random
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "packages" / "ioatlas-atlas" / "src")]

from ioatlas_atlas.ui import site  # noqa: E402

KINDS = [f"{rw}-{bs << 10}" for rw in ("read", "write", "randread", "randwrite") for bs in (4, 16, 64, 256, 1024)]


def rounded(value: float) -> float:
    """As a site rounds."""
    return float(f"{value:.4g}")


def line(n: int, drawn: random.Random) -> dict[str, object]:
    """A line of the summary."""
    rates = [rounded(10 ** drawn.uniform(*ends)) for ends in ((7, 10), (7, 10), (3, 6), (3, 6))]
    size = drawn.choice([1, 2, 4, 8, 16]) << 40
    product = drawn.randrange(3000)
    title = f"Vendor {product % 60} M{product}, {drawn.choice(['nfs4', 'cifs', 'xfs'])}, {size >> 40} TiB"
    name = f"map-{n}-{drawn.getrandbits(32):08x}"
    when = f"20{15 + n % 11}-{1 + n % 12:02}-{1 + n % 28:02}T{n % 24:02}:{n % 60:02}:00Z"
    trust = drawn.choice(["good", "fair", "low"])
    price = rounded(10 ** drawn.uniform(1, 3))
    values = (name, title, f"nas{drawn.randrange(300)}", "nfs4", size, *rates, trust, when, price, "USD")
    return dict(zip(site.SUMMARY, values, strict=True))


def best(n: int, kind: str, drawn: random.Random) -> list[object]:
    """What a result reached at a load."""
    iops = 10 ** drawn.uniform(2, 5)
    numbers = map(rounded, (iops * int(kind.split("-")[1]), iops, 10 ** drawn.uniform(5, 8)))
    return [n, *numbers, 1 << drawn.randrange(7), "? suspect" if drawn.random() < 0.05 else ""]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--results", type=int, default=10_000)
    options = parser.parse_args()
    drawn = random.Random(1)
    began = time.monotonic()
    made = site.Written(options.folder, set(), site.Site([line(n, drawn) for n in range(options.results)]))
    options.folder.mkdir(parents=True)
    site.write_pages(made, "Many", "", {kind: [best(n, kind, drawn) for n in range(options.results)] for kind in KINDS})
    print(f"{options.folder}: {options.results:,} results, {time.monotonic() - began:.1f} s")


if __name__ == "__main__":
    main()
