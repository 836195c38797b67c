# SPDX-License-Identifier: Apache-2.0
"""What `ioatlas fit` says beside the programs that it speaks for, on the same file system.

The file system is ext4 on a loop device on an NBD server in memory whose flushes take a known time (`slow.py`), or that
is limited in bytes a second (nbdkit's rate filter). Needs root, FUSE, nbdkit, nbdfuse; run with `chrt -f 10`, so that
what is served is what was set.

    python bench/fit/programs.py etcd      etcd, `etcdctl check perf`, and its documented fio job
    python bench/fit/programs.py postgres  pgbench at a rate and as fast as it can
    python bench/fit/programs.py training --python PYTHON   dlio_benchmark with scaled times, by a Python that has it
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
    """ext4 on a server of nbdkit; without one on a file in memory."""
    with tempfile.TemporaryDirectory(prefix="iof", dir="/tmp") as folder, contextlib.ExitStack() as ends:
        place = Path(folder)
        for name in ("fuse", "mnt"):
            (place / name).mkdir()

        def begin(*command: object) -> None:
            process = subprocess.Popen([str(one) for one in command])
            ends.callback(process.wait)
            ends.callback(process.terminate)

        if server:
            below = place / "fuse" / "nbd"
            begin("nbdkit", "--foreground", "--unix", place / "s", *server)
            until((place / "s").exists)
            begin("nbdfuse", place / "fuse", f"nbd+unix:///?socket={place / 's'}")
            until(below.exists)
        else:
            below = Path(ends.enter_context(tempfile.NamedTemporaryFile(dir="/dev/shm")).name)
            os.truncate(below, 1500 << 20)
        loop = said("losetup", "-f", "--show", f"--direct-io={'on' if server else 'off'}", below).strip()
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
        # It spins, and would starve what it asks.
        words = ["timeout", "75", "nice", "-n", "19", "etcdctl", "--endpoints", here[0], "check", "perf"]
        told = said(*words, f"--load={load}", env={**os.environ, "ETCDCTL_API": "3"})
        text = metrics(port)
    finally:
        process.terminate()
        process.wait()
        shutil.rmtree(home)
    name = "etcd_disk_wal_fsync_duration_seconds"
    total, count = (float(re.search(rf"^{name}_{one} (\S+)$", text, re.MULTILINE)[1]) for one in ("sum", "count"))
    verdict = "; ".join(re.findall(r"^(?:PASS|FAIL): .*$", told.replace("\r", "\n"), re.MULTILINE))
    return percentile(text, name, 0.99), 1000 * total / count, verdict


def etcd(count: int, seed: int, directory: Path | None) -> None:
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
    if directory is not None:
        for number in range(count):
            with tempfile.TemporaryDirectory(dir=directory) as place:
                beside(f"a disk, run {number + 1}", Path(place))
        return
    for number in range(count):
        with file_system() as place:
            beside(f"in memory, run {number + 1}", place)
    for p99 in drawn(count, 2, 12, seed):
        with file_system(*slow(p99, "flush", 1, SIGMA), "mib=1500") as place:
            beside(p99, place)


def beside(name: object, place: Path) -> None:
    begin = time.monotonic()
    told = fit(place, "etcd")
    seconds = time.monotonic() - begin
    one = told["fits"][0]["requirements"][0]
    home = place / "documented"
    home.mkdir()
    theirs = documented(["--ioengine=sync", "--fdatasync=1", f"--directory={home}"])
    shutil.rmtree(home)
    real, mean, verdict = real_etcd(place, "s")
    ends = " to ".join(f"{(one[end] or 0) / 1e6:.3g}" for end in ("low", "high"))
    ours = f"{one['value'] / 1e6:.3g} ({ends})"
    row(name, f"{mean:.3g}", f"{real:.3g}", f"{theirs:.3g}", ours, told["answer"], f"{seconds:.0f}", verdict)


# -- postgres --------------------------------------------------------------------------------------------------------

WAL = """
title = "one connection's log"
[[load]]
rw = "write"
bs = "8k"
size = "64m"
direct = 0
fdatasync = 1
[[require]]
iops = LEAST
"""
PORT = 54399
os.environ["PATH"] += "".join(f":{one}" for one in Path("/usr/lib/postgresql").glob("*/bin"))


@contextlib.contextmanager
def cluster(place: Path) -> Iterator[None]:
    """PostgreSQL with a table to insert into."""
    home = place / "pg"
    home.mkdir()
    shutil.chown(home, "postgres")
    place.parent.chmod(0o755)

    def pg(*words: object) -> str:
        return said("chrt", "-o", "0", "runuser", "-u", "postgres", "--", *words)

    pg("initdb", "--no-sync", "-D", home)
    pg("pg_ctl", "-D", home, "-w", "-o", f"-p {PORT} -k {home} -c listen_addresses=''", "-l", home / "log", "start")
    try:
        pg("psql", "-h", home, "-p", PORT, "-c", "create table t (n int, what text)", "postgres")
        (home / "insert.sql").write_text("insert into t values (1, repeat('x', 100));\n")
        yield
    finally:
        pg("pg_ctl", "-D", home, "-m", "immediate", "stop")
        shutil.rmtree(home)


def pgbench(place: Path, clients: int, rate: float | None = None) -> tuple[float, float]:
    """Transactions a second, and their mean latency in ms."""
    words = [
        "pgbench",
        "-h",
        place / "pg",
        "-p",
        PORT,
        "-n",
        "-f",
        place / "pg" / "insert.sql",
        "-c",
        clients,
        "-T",
        15,
    ]
    text = said("runuser", "-u", "postgres", "--", *words, *(["-R", rate] if rate else []), "postgres")
    return tuple(float(re.search(pattern, text)[1]) for pattern in (r"tps = ([\d.]+)", r"latency average = ([\d.]+)"))


def postgres(count: int, seed: int) -> None:
    row("a flush, p99", "rate", "ours: kept up", "answer on it", "pgbench, 1 client", "8 clients")
    row(*["---"] * 6)
    for p99 in drawn(count, 3, 12, seed):
        with file_system(*slow(p99, "flush", 1, SIGMA), "mib=1500") as place, tempfile.TemporaryDirectory() as folder:
            use = Path(folder, "wal.toml")
            use.write_text(WAL.replace("LEAST", "1"))
            free = fit(place, str(use), "--budget", "30s")["fits"][0]["requirements"][0]["value"]
            told = []
            for share in (0.6, 1.6):
                tps = round(share * free)
                wanted = fit(place, f"postgres:tps={tps} reads=0.1 data=64m", "--budget", "60s")["fits"][0][
                    "requirements"
                ]
                told.append((tps, next(one for one in wanted if one["quantity"] == "kept" and one["load"] == "wal")))
            with cluster(place):
                one, several = pgbench(place, 1), pgbench(place, 8)
                row(p99, "free", f"{free:.0f}/s", "", f"{one[0]:.0f}/s, {one[1]:.3g} ms", f"{several[0]:.0f}/s")
                for tps, kept in told:
                    one, several = pgbench(place, 1, tps), pgbench(place, 8, tps)
                    shares = [f"{100 * found[0] / tps:.0f}%, {found[1]:.3g} ms" for found in (one, several)]
                    row(p99, f"{tps}/s", f"{100 * (kept['value'] or 0):.0f}%", kept["answer"], *shares)


# -- training --------------------------------------------------------------------------------------------------------

RECORD, BATCH, BUSY, FILES = 1_999_396, 7, 0.9, 500
TRAINING = """
title = "training, scaled, for {accelerators} accelerators"
[parameters.accelerators]
default = 1
help = "accelerators"
[[load]]
rw = "read"
bs = "1m"
numjobs = "{2 * accelerators}"
iodepth = 4
size = "256m"
[[require]]
rate = "{accelerators * NEED}"
"""


def utilisation(place: Path, ranks: int, step: float, python: str, *, generate: bool = False) -> float:
    """AU in per cent, of as many accelerators as ranks; of a run that makes the data set nothing is told."""
    loop = said("findmnt", "-n", "-o", "SOURCE", place).strip()
    for command in (("umount", place), ("mount", loop, place)):  # what was read before is not in memory
        said(*command)
    workload = {
        "workflow.generate_data": generate,
        "workflow.train": not generate,
        "workflow.checkpoint": False,
        "dataset.data_folder": place / "data",
        "dataset.num_files_train": FILES,
        "dataset.record_length": RECORD,
        "dataset.record_length_stdev": 0,
        "reader.read_threads": 1,
        "train.epochs": 1,
        "train.computation_time": step,
    }
    with tempfile.TemporaryDirectory() as folder:
        words = [f"++workload.{name}={value}" for name, value in workload.items()]
        command = [
            "mpirun",
            "--allow-run-as-root",
            "--oversubscribe",
            "-np",
            ranks,
            python,
            "-m",
            "dlio_benchmark.main",
        ]
        text = said(*command, "workload=unet3d_h100", *words, f"hydra.run.dir={folder}", cwd=folder)
        text += "".join(one.read_text() for one in Path(folder).rglob("*.log"))
    found = re.findall(r"Accelerator Utilization \[AU\] \(%\): ([\d.]+)", text)
    print(ranks, found, file=sys.stderr, flush=True)
    return float(found[-1]) if found else math.nan


def training(count: int, seed: int, python: str) -> None:
    row("MB/s served", "an accelerator needs", "by division", "ours", "dlio: AU, per cent", "dlio")
    row(*["---"] * 6)
    dice = random.Random(seed)
    for mb in drawn(count, 25, 60, seed):
        need = mb / dice.uniform(2.2, 4.8)
        step = round(BUSY * BATCH * RECORD / need / 1e6, 3)
        server = ("--filter=rate", "memory", "1500M", f"rate={round(mb * 8e6)}", "burstiness=0.1")
        with file_system(*server) as place, tempfile.TemporaryDirectory() as folder:
            use = Path(folder, "train.toml")
            use.write_text(TRAINING.replace("NEED", str(need * 1e6)))
            ours = fit(place, str(use), "--max", "--budget", "150s")["carries"]
            print(ours, file=sys.stderr, flush=True)
            utilisation(place, 2, step, python, generate=True)
            tried = range(max(1, int(mb / need) - 1), int(mb / need) + 2)
            busy = {ranks: utilisation(place, ranks, step, python) for ranks in tried}
        carried = max((ranks for ranks, share in busy.items() if share >= 100 * BUSY), default=0)
        told = ", ".join(f"{ranks}: {share:.0f}" for ranks, share in busy.items())
        row(f"{mb:.3g}", f"{need:.3g} MB/s, {step} s", f"{mb / need:.2f}", ours, told, carried)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=["etcd", "postgres", "training"])
    parser.add_argument("--count", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--directory", type=Path, help="etcd: a disk instead of servers")
    parser.add_argument("--python", default=sys.executable, help="has dlio_benchmark")
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    if asked.part == "training":
        training(asked.count, asked.seed, asked.python)
    elif asked.part == "etcd":
        etcd(asked.count, asked.seed, asked.directory)
    else:
        postgres(asked.count, asked.seed)


if __name__ == "__main__":
    main()
