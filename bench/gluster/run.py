# SPDX-License-Identifier: Apache-2.0
"""One file of a GlusterFS volume through fio's gfapi engine and through its FUSE mount, in turns in one campaign.
Before it the guards, each fired by this server.

    python bench/gluster/run.py [OUT]    # as root; keeps the campaign and the page gfapi-mount.html in OUT
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import ioatlas_lab as lab
from ioatlas.errors import RefusedError
from ioatlas.target import check_identity, open_target

SIZE = 64 << 20
TOOL = (sys.executable, "-m", "ioatlas")
CAMPAIGN = """visits = 3
window = "{seconds}s"
[[target]]
name = "gfapi"
path = "{uri}"
[[target]]
name = "mount"
path = "{file}"
[sweep]
rw = ["randread", "randwrite"]
bs = ["4k", "64k"]
iodepth = [1, 8]
direct = 1
"""


def refused(*words: str) -> str:
    """The first line of what a command says that must fail."""
    done = subprocess.run([*TOOL, *words], capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return "NOT REFUSED"
    told = [line for line in done.stderr.splitlines() if line.startswith("ioatlas:")]
    return (told or done.stderr.splitlines() or ["?"])[0]


def guards(uri: str, file: Path, out: Path) -> None:
    """Each guard with what fires it."""
    campaign, size = str(out / "guards"), ("--size", "8m", "--budget", "20s", "--yes", "--quiet")
    print("another size typed:", refused("map", uri, "--overwrite", f"{uri} {SIZE - 1}", *size, "-o", campaign))
    print("nothing typed:     ", refused("map", uri, *size, "-o", campaign))
    print("no such file:      ", refused("map", f"{uri}x", "--read-only", *size, "-o", campaign))
    print("no such volume:    ", refused("map", uri.replace("/lab/", "/other/"), "--read-only", *size, "-o", campaign))
    target = open_target(uri)
    os.truncate(file, SIZE // 2)
    try:
        check_identity(target)
        said = "NOT REFUSED"
    except RefusedError as error:
        said = str(error).splitlines()[0]
    print("shrunk meanwhile:  ", said, flush=True)
    os.truncate(file, SIZE)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("out", nargs="?", type=Path)
    parser.add_argument("--seconds", type=int, default=1)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        out = asked.out or Path(scratch)
        out.mkdir(parents=True, exist_ok=True)
        with lab.start("cluster", kind="distributed", nodes=1, rate_bits_per_s=10**9) as target:
            file = Path(target.location, "data")
            file.write_bytes(os.urandom(SIZE))
            uri = f"gfapi://{target.context['server']}/lab/data"
            guards(uri, file, Path(scratch))
            told = out / "gluster.toml"
            told.write_text(CAMPAIGN.format(seconds=asked.seconds, uri=uri, file=file))
            words = ["map", "--campaign", str(told), "-o", str(out / "campaign"), "--yes", "--quiet"]
            typed = [word for name in (uri, file) for word in ("--overwrite", f"{name} {SIZE}")]
            subprocess.run([*TOOL, *words, *typed], check=True)
        page = ["compare", str(out / "campaign"), "--by", "target", "-o", str(out / "gfapi-mount.html"), "--cells"]
        subprocess.run([*TOOL, *page], check=False)


if __name__ == "__main__":
    main()
