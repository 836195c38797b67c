# SPDX-License-Identifier: Apache-2.0
"""How long the checks before every fio start take. Needs root (a loop device with ext4), nbdkit and fio's libnbd.

python bench/target_checks/run.py
"""

import os
import platform
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from ioatlas.target.guard import check_before_start, check_block_device
from ioatlas.target.identity import check_identity
from ioatlas.target.opening import open_target
from ioatlas.target.workspace import Workspace

REPEATS = 100


def milliseconds(call):
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        call()
        times.append((time.perf_counter() - start) * 1000)
    return statistics.median(times), sorted(times)[int(0.95 * REPEATS)]


def tool(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def main():
    processes = sum(entry.isdigit() for entry in os.listdir("/proc"))
    print(
        f"Linux {platform.release()}, {os.cpu_count()} processors, {processes} processes, load "
        f"{os.getloadavg()[0]:.1f}, {REPEATS} repeats\n"
    )
    print("| check | median ms | 95th percentile ms |\n|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="iob", dir="/tmp") as folder:
        image = Path(folder, "image")
        with image.open("wb") as file:
            file.truncate(64 << 20)
        device = tool("losetup", "--find", "--show", str(image))
        server = subprocess.Popen(["nbdkit", "--foreground", "--unix", f"{folder}/s", "memory", "16M"])
        try:
            while not Path(folder, "s").exists():
                time.sleep(0.05)
            directory, file, block = (
                open_target(folder),
                open_target(str(Path(__file__).resolve())),
                open_target(device),
            )
            export = open_target(f"nbd+unix:///?socket={folder}/s")
            with Workspace(directory, "bench", lambda _: None) as workspace:
                rows = {
                    "identity of a directory": lambda: check_identity(directory),
                    "directory, before a start that writes": lambda: check_before_start(directory, writes=True),
                    "its workspace, 1 file": lambda: workspace.check(["a"]),
                    "identity of a file": lambda: check_identity(file),
                    "file, before a start that writes": lambda: check_before_start(file, writes=True),
                    "identity of a block device": lambda: check_identity(block),
                    "guards of a block device": lambda: check_block_device(block),
                    "block device, before a start that writes": lambda: check_before_start(block, writes=True),
                    "identity of an NBD export": lambda: check_identity(export),
                    "NBD export, before a start that writes": lambda: check_before_start(export, writes=True),
                }
                for name, call in rows.items():
                    median, high = milliseconds(call)
                    print(f"| {name} | {median:.2f} | {high:.2f} |")
                workspace.remove([])
            tool("mkfs.ext4", "-q", device)
            mount = Path(folder, "mnt")
            mount.mkdir()
            tool("mount", device, str(mount))
            try:
                on_disk = open_target(str(mount))
                median, high = milliseconds(lambda: check_identity(on_disk))
                print(f"| identity of a directory whose file system has a UUID | {median:.2f} | {high:.2f} |")
            finally:
                tool("umount", str(mount))
        finally:
            server.kill()
            server.wait()
            tool("losetup", "--detach", device)


if __name__ == "__main__":
    main()
