# SPDX-License-Identifier: Apache-2.0
"""Coverage-guided fuzzing of every reader with atheris, with no net under the readers.

    python bench/import/fuzz.py [--seconds 60] [--reader fio_json ...]

Each reader runs in a process of its own for that long, started from the result files in IOATLAS_SAMPLES (default:
beside the checkout) that it recognises. What it raises, what takes longer than 10 s and what takes more than 1 GiB of
memory stops it and is printed with its input. atheris is not among the project's requirements: `pip install atheris`.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

SAMPLES = Path(os.environ.get("IOATLAS_SAMPLES", Path(__file__).resolve().parents[3] / "shared" / "samples"))
FIGURES = (
    "iops",
    "bw_bytes_per_s",
    "lat_mean_ns",
    "lat_p99_ns",
    "bs_bytes",
    "size_bytes",
    "numjobs",
    "iodepth",
    "io_bytes",
    "runtime_seconds",
    "spread",
)
READERS = (
    "fio_json",
    "fio_terse",
    "fio_text",
    "fio_log",
    "iozone",
    "diskspd",
    "diskspd_xml",
    "vdbench",
    "vdbench_histogram",
    "xdd",
    "orion",
    "elbencho",
    "bonnie",
    "crystal",
    "io500",
    "ior",
    "any",
)
LARGEST = 150_000


def target(reader: str, folder: Path, seconds: int) -> None:
    """Fuzz one reader in this process; libFuzzer ends it."""
    import atheris

    with atheris.instrument_imports(include=["ioatlas_translate.read", "ioatlas.load.fio", "ioatlas.model"]):
        import importlib
        import math

        from ioatlas_translate.read.importer import read_source
        from ioatlas_translate.read.source import Source

        module = None if reader == "any" else importlib.import_module(f"ioatlas_translate.read.{reader}")
    scratch = folder / "input"

    def once(data: bytes) -> None:
        scratch.write_bytes(data)  # the workbook's reader opens the file by its name
        source = Source.of(str(scratch), "input")
        for reading in read_source(source) if module is None else module.read(source):
            for name in FIGURES:
                value = getattr(reading, name)
                assert value is None or (math.isfinite(value) and value >= 0), (name, value)
            reading.as_dict()
        assert not any("gave up" in problem.what for problem in source.problems), source.problems

    corpus = folder / "corpus"
    options = [
        f"-max_total_time={seconds}",
        "-timeout=10",
        "-rss_limit_mb=1024",
        f"-max_len={LARGEST}",
        f"-artifact_prefix={folder}/",
        "-print_final_stats=1",
    ]
    atheris.Setup([sys.argv[0], *options, str(corpus)], once)
    atheris.Fuzz()


def seeds(reader: str, corpus: Path) -> int:
    """Result files that the reader recognises, as the corpus to start from."""
    from ioatlas_translate.read.formats import FORMATS, LOGS
    from ioatlas_translate.read.source import Source

    corpus.mkdir()
    count = 0
    formats = [item for item in FORMATS + LOGS if item.module == reader]
    for path in sorted(path for path in SAMPLES.rglob("*") if path.is_file() and path.stat().st_size <= LARGEST):
        text = Source.of(path).text(LARGEST)[0] if formats else ""
        wanted = reader == "any" or any(item.found_in(text) for item in formats)
        if wanted:
            (corpus / f"{count}").write_bytes(path.read_bytes())
            count += 1
    return count


def run(reader: str, seconds: int) -> str:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        started_from = seeds(reader, folder / "corpus")
        command = [sys.executable, __file__, "--target", reader, "--folder", name, "--seconds", str(seconds)]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        tried = re.search(r"stat::number_of_executed_units:\s*(\d+)", done.stderr)
        peak = re.search(r"stat::peak_rss_mb:\s*(\d+)", done.stderr)
        found = [path for path in folder.iterdir() if path.name.startswith(("crash-", "timeout-", "oom-"))]
        text = f"{reader}: {tried[1] if tried else '?'} inputs from {started_from} files, "
        text += f"peak {peak[1] if peak else '?'} MiB, {len(found)} faults"
        for path in found:
            kept = Path(tempfile.gettempdir()) / f"ioatlas-fuzz-{reader}-{path.name[:24]}"
            kept.write_bytes(path.read_bytes())
            text += (
                f"\n  {kept}: "
                + " | ".join(line for line in done.stderr.splitlines() if "Error" in line or "ALARM" in line)[:300]
            )
        if done.returncode and not found:
            text += f"\n  ended with {done.returncode}: {done.stderr[-500:]}"
        return text


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--reader", action="append", choices=READERS)
    parser.add_argument("--target", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.target:
        target(options.target, options.folder, options.seconds)
        return
    for reader in options.reader or READERS:
        print(run(reader, options.seconds), flush=True)


if __name__ == "__main__":
    main()
