# SPDX-License-Identifier: Apache-2.0
"""Wall time per cell beyond the time its load ran: `ioatlas map` and bench-fio (fio-plot) on the same grid, in turn, in
one run.

    python bench/overhead/run.py [--directory DIR ...] [--rounds 3] python bench/overhead/run.py --rounds 1 --onto
    rounds.json     # again and again: rounds add up in the file, the result is of all of them python
    bench/overhead/run.py --rounds 2 --onto rounds.json --without-peer

Load counted as such: what fio says a kept visit's load ran, warm-up included. Everything else is overhead: fio's
starts, throw-away sections, slack, gaps, discarded visits, parsing, journal. Files are laid out before anything is
counted. bench-fio 1.1.21 comes from PyPI into a virtual environment of its own. Needs fio and a directory on a disk
that takes direct I/O.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from ioatlas.model.verdict import sentences
from ioatlas.store.journal import Journal

PEER = "fio-plot==1.1.21"
PEER_NAME = "bench-fio 1.1.21, 1 s"
WINDOW_SECONDS = 1  # the shortest that bench-fio takes
SIZE = "256m"
MODES, BLOCKS, DEPTHS, JOBS = ("randread", "randwrite"), ("4k", "16k", "64k", "1m"), (1, 8), (1, 4, 16)
N_CELLS = len(MODES) * len(BLOCKS) * len(DEPTHS) * len(JOBS)

WINDOWS = {"ioatlas map, 1 s": "1s", "ioatlas map, its usual 0.5 s": "500ms"}
CAMPAIGN = f"""
visits = 1
window = "WINDOW"
[sweep]
rw = {json.dumps(MODES)}
bs = {json.dumps(BLOCKS)}
size = "{SIZE}"
iodepth = {json.dumps(DEPTHS)}
numjobs = {json.dumps(JOBS)}
ioengine = "libaio"
"""


@dataclass(frozen=True)
class Round:
    """One tool, once over the grid. Seconds; `load` is what its kept results' loads ran; `thrown` those of visits it
    discarded; `twice` what of `load` are visits that were made again and count all the same.
    """

    cells: int
    load: float
    sweep: float
    whole: float
    thrown: float = 0.0
    twice: float = 0.0

    @property
    def sweep_ms(self) -> float:
        return (self.sweep - self.load) / self.cells * 1000

    @property
    def repeats_ms(self) -> float:
        return (self.sweep - self.load - self.thrown) / self.cells * 1000

    @property
    def strict_ms(self) -> float:
        return (self.sweep - self.load + self.twice) / self.cells * 1000

    @property
    def whole_ms(self) -> float:
        return (self.whole - self.load) / self.cells * 1000


def run(*command: str) -> float:
    """Wall seconds of a command; its output is shown when it fails."""
    begun = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\nended with {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return time.monotonic() - begun


def ours(target: Path, scratch: Path, campaign_file: Path) -> tuple[Round, dict[str, float]]:
    """`ioatlas map`; sweep: from the first sweep batch's start to the last one's end, journal and parsing between them
    included.

    The whole command also plans, lays the file out (subtracted), probes, measures the extreme cells again and writes
    the report.
    """
    directory = Path(tempfile.mkdtemp(dir=scratch)) / "campaign"
    whole = run(
        str(Path(sys.executable).parent / "ioatlas"),
        "map",
        str(target),
        "--campaign",
        str(campaign_file),
        "-o",
        str(directory),
        "--yes",
        "--json",
    )
    journal = Journal.open(directory)
    visits = [visit for visit in journal.visits() if visit.purpose in ("sweep", "sentinel")]
    kept = [visit for visit in visits if not visit.discarded]
    cells = len({visit.cell_key for visit in kept if visit.purpose == "sweep"})
    batch_ids = {visit.batch_id for visit in visits}
    journal.close()
    with sqlite3.connect(directory / "journal.sqlite") as rows:
        times = {
            number: (begun, seconds or 0.0)
            for number, begun, seconds in rows.execute("SELECT batch_id, started_at, seconds FROM batch")
        }
    load = sum(max(part.runtime_ms for part in visit.parts) for visit in kept) / 1000
    thrown = (
        sum(max((part.runtime_ms for part in visit.parts), default=0) for visit in visits if visit.discarded) / 1000
    )
    again = [visit for visit in kept if visit.verdict.text.startswith("flat: ")]
    twice = sum(max(part.runtime_ms for part in visit.parts) for visit in again) / 1000
    sweep = max(sum(times[number]) for number in batch_ids) - min(times[number][0] for number in batch_ids)
    inside = sum(times[number][1] for number in batch_ids)
    others = sum(seconds for number, (_, seconds) in times.items() if number not in batch_ids)
    calm = [number for number in batch_ids if all(not visit.discarded for visit in visits if visit.batch_id == number)]
    in_calm = [visit for visit in kept if visit.batch_id in calm]
    calm_load = sum(max(part.runtime_ms for part in visit.parts) for visit in in_calm) / 1000
    where = {
        "batches without a discarded visit alone, ms per cell": (sum(times[number][1] for number in calm) - calm_load)
        / max(len(in_calm), 1)
        * 1000,
        "cells in those": len(in_calm),
        "visits discarded and made again, ms per cell": thrown / cells * 1000,
        "inside batches beyond their loads, ms per cell": (inside - load - thrown) / cells * 1000,
        "between batches, ms per cell": (sweep - inside) / cells * 1000,
        "batches": len(batch_ids),
        "visits that seemed to settle late": len(again)
        + sum("second half" in sentences(visit.discarded) for visit in visits),
        "of them discarded": sum("second half" in sentences(visit.discarded) for visit in visits),
        "visits discarded, overlapped a neighbour": sum("overlapped" in sentences(visit.discarded) for visit in visits),
        "visits discarded": len(visits) - len(kept),
        "probe and extreme cells' batches, s": others,
        "rest of the command (start, lay-out, clean-up, report), s": whole - sweep - others,
    }
    return Round(cells, load, sweep, whole, thrown, twice), where


def theirs(bench_fio: Path, target: Path, scratch: Path) -> Round:
    """bench-fio on a file that is laid out; sweep: the command without what its dry run takes."""
    out = Path(tempfile.mkdtemp(dir=scratch))
    command = [
        str(bench_fio),
        "--target",
        str(target),
        "--type",
        "file",
        "--size",
        SIZE,
        "--output",
        str(out),
        "--mode",
        *MODES,
        "--block-size",
        *BLOCKS,
        "--iodepth",
        *map(str, DEPTHS),
        "--numjobs",
        *map(str, JOBS),
        "--runtime",
        str(WINDOW_SECONDS),
        "--time-based",
        "--destructive",
        "--quiet",
    ]
    start_up = run(*command, "--dry-run")
    whole = run(*command)
    results = [json.loads(path.read_text()) for path in out.rglob("*.json")]
    load = (
        sum(max(job[side]["runtime"] for job in result["jobs"] for side in ("read", "write")) for result in results)
        / 1000
    )
    return Round(len(results), load, whole - start_up, whole)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--directory",
        type=Path,
        action="append",
        help="where to measure, may be given several times (default: /var/tmp)",
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--onto", type=Path, help="a file that rounds are added to (one directory only); the result is of all in it"
    )
    parser.add_argument("--without-peer", action="store_true", help="leave bench-fio out this time")
    options = parser.parse_args()
    directories = options.directory or [Path("/var/tmp")]
    if options.onto and len(directories) > 1:
        sys.exit("--onto takes one directory")
    fio = subprocess.run(["fio", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    texts = []
    for directory in directories:
        rounds, details, loads = earlier(options.onto)
        loads.append(os.getloadavg()[2])
        for _ in measure(directory, options.rounds, rounds, details, with_peer=not options.without_peer):
            if options.onto:
                kept = {name: [asdict(one) for one in rows] for name, rows in rounds.items()}
                options.onto.write_text(json.dumps({"rounds": kept, "details": details, "loads": loads}))
        texts.append(report(directory, {name: rows for name, rows in rounds.items() if rows}, details))
    text = "\n\n".join([heading(fio, loads), *texts])
    (Path(__file__).parent / "RESULT.md").write_text(text + "\n")
    print(text)


Rounds = dict[str, list[Round]]
Details = dict[str, list[dict[str, float]]]


def earlier(path: Path | None) -> tuple[Rounds, Details, list[float]]:
    """Rounds of earlier calls, where ours went, and the load averages they began with; nothing without a file."""
    if path is None or not path.exists():
        return {name: [] for name in (*WINDOWS, PEER_NAME)}, {name: [] for name in WINDOWS}, []
    known = json.loads(path.read_text())
    return (
        {name: [Round(**one) for one in rows] for name, rows in known["rounds"].items()},
        known["details"],
        known["loads"],
    )


def measure(directory: Path, count: int, rounds: Rounds, details: Details, *, with_peer: bool) -> Iterator[None]:
    """Add `count` rounds of every tool, and where ours went, both by column; one step a tool."""
    before = len(rounds[next(iter(WINDOWS))])
    with (
        tempfile.TemporaryDirectory(prefix="ioatlas-overhead-") as beside,
        tempfile.TemporaryDirectory(prefix="ioatlas-overhead-", dir=directory) as made,
    ):
        scratch, place = Path(beside), Path(made)
        if with_peer:
            venv.create(scratch / "peer", with_pip=True)
            run(str(scratch / "peer/bin/pip"), "install", "-q", "--disable-pip-version-check", PEER)
        target, file = place / "target", place / "file"
        target.mkdir()
        campaign_file = scratch / "grid.toml"
        lay_out = (
            f"--name=lay-out --filename={file} --size={SIZE} --rw=write --bs=1m --direct=1 --end_fsync=1 "
            "--output-format=json"
        )
        run("fio", *lay_out.split(" "))
        for number in range(before, before + count):
            for name in list(rounds) if number % 2 == 0 else reversed(rounds):
                if name == PEER_NAME and with_peer:
                    rounds[name].append(theirs(scratch / "peer/bin/bench-fio", file, scratch))
                elif name != PEER_NAME:
                    campaign_file.write_text(CAMPAIGN.replace("WINDOW", WINDOWS[name]))
                    done, detail = ours(target, scratch, campaign_file)
                    rounds[name].append(done)
                    details[name].append(detail)
                yield


def heading(fio: str, loads: list[float]) -> str:
    machine = (
        f"{platform.system()} {platform.release()}, {os.cpu_count()} cores, load average "
        f"{', '.join(f'{one:.1f}' for one in loads)} over the 15 minutes before"
    )
    grid = (
        f"{' '.join(MODES)} x bs {' '.join(BLOCKS)} x iodepth {' '.join(map(str, DEPTHS))} x numjobs "
        f"{' '.join(map(str, JOBS))}"
    )
    lines = [
        "# Overhead of a cell",
        "",
        "One command: `python bench/overhead/run.py`.",
        "",
        f"{machine}, {fio}, Python {platform.python_version()}, {datetime.now(UTC):%Y-%m-%d}.",
        (
            f"Grid: {N_CELLS} cells = {grid}; libaio, direct, one file of {SIZE}, one visit. bench-fio takes no window "
            f"under {WINDOW_SECONDS} s."
        ),
        "Rounds of all columns in turn. Median [range].",
        "",
        (
            "Wall time per cell minus the time its load ran (warm-up included; throw-away sections, gaps and discarded "
            "visits are overhead)."
        ),
        (
            "A visit that overlaps its neighbour is discarded and made again in a fio of its own. One that seems to "
            "settle in its second half is made"
        ),
        (
            "again there too, four times as long; it is discarded when the longer visit shows such a change again, and "
            "counts as a visit when it does"
        ),
        (
            "not. The second row charges its load all the same; the third takes the load of all discarded visits as "
            "load. "
            "The sentinel visits that"
        ),
        "watch over drift are load; what they take beyond it is charged to the cells.",
        "",
        (
            "The whole command of ours also lays the file out, probes, measures the extreme cells three times again "
            "and "
            "writes the report;"
        ),
        "bench-fio's does none of that.",
    ]
    return "\n".join(lines)


def report(directory: Path, rounds: Rounds, details: Details) -> str:
    kind = subprocess.run(
        ["findmnt", "-no", "FSTYPE", "-T", str(directory)], capture_output=True, text=True, check=True
    ).stdout.split()[0]
    lines = [
        f"## {directory} ({kind})",
        "",
        *_table(
            {
                "**sweep, ms per cell**": {name: [r.sweep_ms for r in rows] for name, rows in rounds.items()},
                "the same, the load of every visit that was made again charged": {
                    name: [r.strict_ms for r in rows] for name, rows in rounds.items()
                },
                "the same, the load of discarded visits counted as load": {
                    name: [r.repeats_ms for r in rows] for name, rows in rounds.items()
                },
                "whole command charged to the cells, ms per cell": {
                    name: [r.whole_ms for r in rows] for name, rows in rounds.items()
                },
                "rounds": {name: [len(rows)] for name, rows in rounds.items()},
                "cells": {name: [r.cells for r in rows] for name, rows in rounds.items()},
                "load, s": {name: [r.load for r in rows] for name, rows in rounds.items()},
                "sweep, s": {name: [r.sweep for r in rows] for name, rows in rounds.items()},
                "whole command, s": {name: [r.whole for r in rows] for name, rows in rounds.items()},
            }
        ),
        "",
        "Where ours goes:",
        "",
        *_table(
            {
                key: {name: [row[key] for row in rows] for name, rows in details.items()}
                for key in next(iter(details.values()))[0]
            }
        ),
    ]
    return "\n".join(lines)


def _table(rows: dict[str, dict[str, list[float]]]) -> list[str]:
    """Markdown: a row for each key, a column for each tool."""
    names = list(next(iter(rows.values())))
    body = [f"| {key} | {' | '.join(_spread(values[name]) for name in names)} |" for key, values in rows.items()]
    return [f"| | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|", *body]


def _spread(values: list[float]) -> str:
    return f"{statistics.median(values):.1f} [{min(values):.1f} to {max(values):.1f}]"


if __name__ == "__main__":
    main()
