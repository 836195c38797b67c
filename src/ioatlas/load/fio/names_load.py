# SPDX-License-Identifier: Apache-2.0
"""The load of names: opens, renames or lists files, which fio has no engine for. A program of its own.

It imports nothing of ioatlas, so that it starts at once. It is told by a JSON file what to do, and writes what it took
in the form of fio's JSON, so that one parser reads both. Every job is a process; all begin when the last is ready.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import time
from array import array
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

SIGNIFICANT_BITS = 7
_PR_SET_PDEATHSIG = 1
_GO_FAILED = 3


def _open(path: str, _: str) -> None:
    os.close(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC))


def _list(path: str, _: str) -> None:
    with os.scandir(path) as entries:
        for _entry in entries:
            pass


CALLS: dict[str, Callable[[str, str], None]] = {"open": _open, "rename": os.rename, "list": _list}


def paths_of(told: dict[str, Any], job: int) -> Iterator[tuple[str, str]]:
    """What a job's calls are made on, one after the other: a path, and the new one of a rename."""
    folder, names, renamed = (
        f"{told['top']}/" + told[name].replace("$jobnum", str(job)) for name in ("folder", "names", "renamed")
    )
    if told["operation"] == "list":
        for _ in range(told["passes"]):
            yield folder, ""
        return
    for number in range(told["files"]):
        yield names.replace("$filenum", str(number)), renamed.replace("$filenum", str(number))


def rounded(value: int) -> int:
    """A latency with as many bits as a histogram keeps."""
    spare = max(0, value.bit_length() - SIGNIFICANT_BITS)
    return value >> spare << spare


def result_json(told: dict[str, Any], jobs: list[array[int]]) -> dict[str, Any]:
    """What fio would write. jobs: of each job the moments of its begin and end, then the time of each call, all ns."""
    seconds = (max(one[1] for one in jobs) - min(one[0] for one in jobs)) / 1e9
    latencies = sorted(value for one in jobs for value in one[2:])
    bins: dict[str, int] = {}
    for value in latencies:
        key = str(rounded(value))
        bins[key] = bins.get(key, 0) + 1
    count = len(latencies)
    ranks = {percent: latencies[min(count - 1, int(count * percent / 100))] for percent in (50, 90, 99, 99.9)}
    latency = {
        "min": latencies[0],
        "max": latencies[-1],
        "mean": sum(latencies) / count,
        "N": count,
        "percentile": {f"{percent:.6f}": rounded(value) for percent, value in ranks.items()},
        "bins": bins,
    }
    way = {
        "io_bytes": count,
        "io_kbytes": count >> 10,
        "bw_bytes": int(count / seconds),
        "iops": count / seconds,
        "runtime": -int(-seconds * 1000 // 1),
        "total_ios": count,
        "lat_ns": latency,
    }
    job = {"jobname": told["name"], "error": 0, "usr_cpu": 0.0, "sys_cpu": 0.0, told["direction"]: way}
    return {"fio version": "fio-3.33", "made by": "the load of names of ioatlas", "jobs": [job]}


def _work(told: dict[str, Any], job: int, ready: int, go: int) -> int:
    """One job: waits for the others, makes its calls, and leaves what they took in a file."""
    call, pairs = CALLS[told["operation"]], list(paths_of(told, job))
    times = array("Q", bytes(8 * (2 + len(pairs))))
    clock = time.perf_counter_ns
    os.write(ready, b"r")
    os.read(go, 1)
    times[0] = clock()
    for place, (path, new) in enumerate(pairs, 2):
        begin = clock()
        call(path, new)
        times[place] = clock() - begin
    times[1] = clock()
    with Path(f"{told['name']}.{job}.times").open("wb") as file:
        times.tofile(file)
    return 0


def _die_with(parent: int) -> None:
    """A job ends when the program does, however that ends."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def _started(told: dict[str, Any], ready: int, go: int, release: int) -> list[int]:
    me, made = os.getpid(), []
    for job in range(told["jobs"]):
        pid = os.fork()
        if pid:
            made.append(pid)
            continue
        code = 1
        try:
            _die_with(me)
            os.close(release)
            code = _work(told, job, ready, go)
        except OSError as error:
            os.write(2, f"ioatlas names: {error.strerror}: {error.filename}\n".encode())
        finally:
            os._exit(code)
    return made


def main(told_file: str, output: str, top: str) -> int:
    """Do what the file says below the directory `top`; the exit code of the program."""
    told = json.loads(Path(told_file).read_text(encoding="utf-8")) | {"top": top}
    ready, ready_end = os.pipe()
    go, release = os.pipe()
    made = _started(told, ready_end, go, release)
    os.close(ready_end)
    waiting = told["jobs"]
    while waiting and (said := os.read(ready, waiting)):
        waiting -= len(said)
    os.close(release)  # every job reads the end of the pipe now
    codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in made]
    if any(codes):
        return _GO_FAILED
    jobs = []
    for job in range(told["jobs"]):
        kept = Path(f"{told['name']}.{job}.times")
        times = array("Q")
        times.frombytes(kept.read_bytes())
        kept.unlink()
        jobs.append(times)
    Path(output).write_text(json.dumps(result_json(told, jobs)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
