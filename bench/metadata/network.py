# SPDX-License-Identifier: Apache-2.0
"""Names over a network: does `compare` find a server that takes longer for each look-up, and leave an equal one alone?

    python bench/metadata/network.py [--files 100] [--visits 4] [names-smb names-nfs names]    # as root

Each target is mapped three times, of which two are equal. The third has a longer way or a slower look-up, by a known
time.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

SLOWER = {
    "names-smb": ("round_trip_ms", 1.0, 2.0),
    "names-nfs": ("round_trip_ms", 1.0, 2.0),
    "names": ("lookup_ms", 0.0, 5.0),
}
"""Setting, its value of the two equal campaigns, and of the third."""
TOOL = (sys.executable, "-m", "ioatlas")


def campaign(name: str, setting: str, value: float, out: Path, asked: argparse.Namespace) -> None:
    """A map of empty files on the target with this setting."""
    sweep = f"nrfiles = {asked.files}\nnumjobs = 1\n"
    file = out.with_suffix(".toml")
    # Location and name differ from start to start; the campaign is told by its own name.
    file.write_text(
        f'file_sizes = "0"\nvisits = {asked.visits}\n[target]\npath = "HERE"\nname = "{name}"\n[sweep]\n{sweep}'
    )
    script = f"sed -i 's#HERE#{{}}#' {file} && exec {' '.join(TOOL)} map --campaign {file} -o {out} --yes --quiet"
    command = [*TOOL, "lab", "run", name, "--set", f"{setting}={value}", "--", "sh", "-c", script]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{out.name}: {done.stderr}")


def compared(before: Path, after: Path) -> dict[str, tuple[float, str]]:
    """(ratio, outcome) of each operation."""
    said = subprocess.run(
        [*TOOL, "compare", str(before), str(after), "--json"], check=False, capture_output=True, text=True
    )
    if said.returncode not in (0, 1):
        sys.exit(said.stderr)
    return {
        cell["operation"]: (cell["ratio"], cell["outcome"]) for cell in json.loads(said.stdout)["pairs"][0]["cells"]
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("targets", nargs="*", default=list(SLOWER))
    parser.add_argument("--files", type=int, default=100)
    parser.add_argument("--visits", type=int, default=4)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(dir="/var/tmp") as place:
        for name in asked.targets:
            setting, usual, slow = SLOWER[name]
            runs = {word: Path(place, f"{name}-{word}") for word in ("first", "again", "slow")}
            for word, out in runs.items():
                campaign(name, setting, slow if word == "slow" else usual, out, asked)
            equal, slower = (compared(runs["first"], runs[word]) for word in ("again", "slow"))
            print(f"{name}: {setting} {usual:g} and {slow:g}, {asked.files} files, {asked.visits} visits")
            print("operation   equal target          slower target")
            for operation in equal:
                told = (f"{row[operation][0]:5.2f}  {row[operation][1]:<14}" for row in (equal, slower))
                print(f"{operation:<10}", *told, sep="  ", flush=True)


if __name__ == "__main__":
    main()
