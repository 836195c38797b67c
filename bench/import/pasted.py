# SPDX-License-Identifier: Apache-2.0
"""Result files of others, pasted in eleven ways: whether the readings are those of the bare file.

    python bench/import/pasted.py

Reads the samples in IOATLAS_SAMPLES (default: beside the checkout); about 10 s. fio's logs are left out: they hold bare
numbers only.
"""

import os
import tempfile
from pathlib import Path

from ioatlas_translate.read.importer import read_source
from ioatlas_translate.read.source import Source

SAMPLES = Path(os.environ.get("IOATLAS_SAMPLES", Path(__file__).resolve().parents[3] / "shared" / "samples"))
BINARY = (b"\t\x00", b"\xd0\xcf")


def each(change):
    """A text with each of its lines changed."""
    return lambda text: "".join(change(line.rstrip("\r\n")) + "\n" for line in text.splitlines())


WAYS = {
    "indented by 3": each(lambda line: "   " + line),
    "indented by 4": each(lambda line: "    " + line),
    "indented by a tab": each(lambda line: "\t" + line),
    "quoted": each(lambda line: "> " + line),
    "behind time stamps": each(lambda line: "2024-05-01T10:00:00.1234567Z " + line),
    "in colours": each(lambda line: f"\x1b[0m{line}\x1b[m"),
    "with blanks at the end": each(lambda line: line + "   "),
    "without outer blanks": each(lambda line: line.strip()),
    "with tabs expanded": lambda text: text.expandtabs(8),
    "with CRLF": lambda text: text.replace("\r\n", "\n").replace("\n", "\r\n"),
    "in a page": lambda text: f"# A page\n\nSome words.\n\n```\n$ tool -x\n{text}\n```\n\nThe end.\n",
}


def readings(path):
    found = [
        (
            r.tool,
            r.tool_version,
            r.direction,
            r.rw,
            r.operation,
            r.bs_bytes,
            r.size_bytes,
            r.numjobs,
            r.iodepth,
            r.rwmixread,
            r.iops,
            r.bw_bytes_per_s,
            r.lat_mean_ns,
            r.lat_p99_ns,
            r.statistic,
            r.n,
        )
        for r in read_source(Source.of(path))
    ]
    return sorted(map(repr, found))


def main():
    files = [
        path
        for path in sorted(SAMPLES.rglob("*"))
        if path.is_file() and path.parent.name not in ("jobs", "logs", "axboe-examples")
    ]
    print("| pasted | files | same readings | other |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        pasted = Path(folder) / "pasted"
        bare = {}
        for path in files:
            raw = path.read_bytes()
            if path.name != "SOURCES.md" and not raw.startswith(BINARY) and (found := readings(path)):
                bare[path] = (raw.decode("utf-8", "replace"), found)
        for name, change in WAYS.items():
            other = []
            for path, (text, found) in bare.items():
                if text.lstrip().startswith("{") and name != "in a page":
                    continue  # blanks and colours inside JSON are JSON's own affair
                pasted.write_text(change(text), newline="")
                if readings(pasted) != found:
                    other.append(path.name)
            count = sum(name == "in a page" or not text.lstrip().startswith("{") for text, _ in bare.values())
            print(f"| {name} | {count} | {count - len(other)} | {', '.join(other)} |")


if __name__ == "__main__":
    main()
