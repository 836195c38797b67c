# SPDX-License-Identifier: Apache-2.0
"""What `ioatlas fit` says beside the programs that it speaks for, on the same file system.

The file system is ext4 on a loop device on an NBD server in memory whose flushes take a known time (`slow.py`), or that
is limited in bytes a second (nbdkit's rate filter). Needs root, FUSE, nbdkit, nbdfuse; run with `chrt -f 10`, so that
what is served is what was set.

    python bench/fit/programs.py etcd      etcd, `etcdctl check perf`, and its documented fio job
    python bench/fit/programs.py postgres  pgbench at a rate and as fast as it can
    python bench/fit/programs.py training --dlio DIR --python PYTHON   dlio_benchmark with scaled times
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from run import documented, slow

SIGMA = 0.2


def said(*command: object, **more: object) -> str:
    done = subprocess.run([str(one) for one in command], capture_output=True, text=True, check=False, **more)
    if done.returncode not in (0, 1, 3, 5):
        print(f"{command}: {done.returncode} {done.stdout[-200:]}{done.stderr}", file=sys.stderr, flush=True)
    return done.stdout


def until(true, seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            raise SystemExit("it did not start")
        time.sleep(0.1)


@contextlib.contextmanager
def file_system(*server: str) -> Iterator[Path]:
    """ext4 on a server of nbdkit."""
    with tempfile.TemporaryDirectory(prefix="iof", dir="/tmp") as folder, contextlib.ExitStack() as ends:
        place = Path(folder)
        for name in ("fuse", "mnt"):
            (place / name).mkdir()

        def begin(*command: object) -> None:
            process = subprocess.Popen([str(one) for one in command])
            ends.callback(process.wait)
            ends.callback(process.terminate)

        begin("nbdkit", "--foreground", "--unix", place / "s", *server)
        until((place / "s").exists)
        begin("nbdfuse", place / "fuse", f"nbd+unix:///?socket={place / 's'}")
        until((place / "fuse" / "nbd").exists)
        loop = said("losetup", "-f", "--show", "--direct-io=on", place / "fuse" / "nbd").strip()
        ends.callback(said, "losetup", "-d", loop)
        said("mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", loop)
        said("mount", loop, place / "mnt")
        ends.callback(said, "umount", place / "mnt")
        yield place / "mnt"


def fit(place: Path, use: str, *more: str) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        words = ["fit", place, "--for", use, "-o", f"{folder}/c", "--json", "-q", *more]
        text = said(sys.executable, "-m", "ioatlas", *words)
        if not text.startswith("{"):
            raise SystemExit("fit failed")
        return json.loads(text)


def drawn(count: int, low: float, high: float, seed: int) -> list[float]:
    dice = random.Random(seed)
    return [round(low * (high / low) ** ((n + dice.random()) / count), 2) for n in range(count)]


def row(*cells: object) -> None:
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


# -- etcd ------------------------------------------------------------------------------------------------------------


def metrics(port: int) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        return answer.read().decode()


def percentile(text: str, name: str, share: float) -> float:
    """ms, evenly within its bucket on a logarithmic scale."""
    buckets = [
        (float(ends), int(count))
        for ends, count in re.findall(rf'^{name}_bucket{{le="([0-9.]+)"}} (\d+)$', text, re.MULTILINE)
    ]
    total, before, floor = int(re.search(rf"^{name}_count (\d+)$", text, re.MULTILINE)[1]), 0, 0.0005
    for ends, count in buckets:
        if count >= share * total:
            part = (share * total - before) / max(1, count - before)
            return 1000 * floor * (ends / floor) ** part
        before, floor = count, ends
    return math.inf


def real_etcd(place: Path, load: str) -> tuple[float, float, str]:
    """p99 and mean of the log's fsyncs in ms, and what `etcdctl check perf` says."""
    port = 23790
    home = place / "etcd"
    here = [f"http://127.0.0.1:{port}", f"http://127.0.0.1:{port + 1}"]
    with open("/dev/null", "w") as nothing:
        words = ["--listen-client-urls", here[0], "--advertise-client-urls", here[0], "--listen-peer-urls", here[1]]
        words += ["--initial-advertise-peer-urls", here[1], "--initial-cluster", f"default={here[1]}"]
        process = subprocess.Popen(
            ["chrt", "-o", "0", "etcd", "--data-dir", str(home), *words], stderr=nothing, stdout=nothing
        )
    try:
        time.sleep(3)
        told = said(
            "etcdctl", "--endpoints", here[0], "check", "perf", f"--load={load}", env={**os.environ, "ETCDCTL_API": "3"}
        )
        text = metrics(port)
    finally:
        process.terminate()
        process.wait()
        shutil.rmtree(home)
    name = "etcd_disk_wal_fsync_duration_seconds"
    total, count = (float(re.search(rf"^{name}_{one} (\S+)$", text, re.MULTILINE)[1]) for one in ("sum", "count"))
    verdict = "; ".join(re.findall(r"^(?:PASS|FAIL): .*$", told.replace("\r", "\n"), re.MULTILINE))
    return percentile(text, name, 0.99), 1000 * total / count, verdict


def etcd(count: int, seed: int) -> None:
    row(
        "a flush, p99",
        "etcd: fsync mean",
        "p99",
        "documented job",
        "ours (interval)",
        "answer",
        "seconds",
        "check perf s",
    )
    row(*["---"] * 8)
    for p99 in drawn(count, 2, 12, seed):
        with file_system(*slow(p99, "flush", 1, SIGMA), "mib=1500") as place:
            print(place, file=sys.stderr, flush=True)
            begin = time.monotonic()
            told = fit(place, "etcd")
            seconds = time.monotonic() - begin
            one = told["fits"][0]["requirements"][0]
            home = place / "documented"
            home.mkdir()
            theirs = documented(["--ioengine=sync", "--fdatasync=1", f"--directory={home}"])
            shutil.rmtree(home)
            print(one, theirs, file=sys.stderr, flush=True)
            real, mean, verdict = real_etcd(place, "s")
        ends = " to ".join(f"{(one[end] or 0) / 1e6:.3g}" for end in ("low", "high"))
        ours = f"{one['value'] / 1e6:.3g} ({ends})"
        row(p99, f"{mean:.3g}", f"{real:.3g}", f"{theirs:.3g}", ours, told["answer"], f"{seconds:.0f}", verdict)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=["etcd", "postgres", "training"])
    parser.add_argument("--count", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    {"etcd": etcd}[asked.part](asked.count, asked.seed)


if __name__ == "__main__":
    main()
