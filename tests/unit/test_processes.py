# SPDX-License-Identifier: Apache-2.0
"""Who may start a process, and why. The load of a campaign is started by load/fio/process.py alone."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = [ROOT / "src" / "ioatlas", *sorted(ROOT.glob("packages/*/src"))]
STARTERS = {
    "load/fio/process.py": "the one place where a load is started, watched and ended",
    "load/fio/names_load.py": "its jobs, when load/fio/process.py has started it as a program",
    "load/fio/executor.py": "asks a load generator for its version",
    "ioatlas_atlas/admission.py": "reads one upload, under limits; ended with the request",
    "ioatlas_atlas/ui/commands.py": "the command line, for a page of `ioatlas ui`",
    "ioatlas_translate/import_.py": "reads many files on several processors",
    "ioatlas_lab/cli.py": "the command that `ioatlas lab run` was given",
    "load/fleet/bare.py": "asks a fio server about itself, through fio",
    "load/fleet/local.py": "fio servers in namespaces of this machine; ended with the session",
    "load/fleet/keeper.py": "a POSIX shell on a client; what lasts dies with us",
    "load/fleet/ssh.py": "the tunnel to a client's fio server",
    "ioatlas_lab/far_link.py": "ip, inside a namespace of its own",
    "ioatlas_lab/instance.py": "takes down what a scenario set up: loop devices, mounts, namespaces",
    "ioatlas_lab/network.py": "ip and tc, in namespaces of its own",
    "ioatlas_lab/running.py": "sets a scenario up and starts its servers",
    "target/preparation.py": "purges a device that was named, through nvme-cli",
    "load/machine/measured.py": "what carries bytes without a drive: nbdkit's null export, iperf3",
    "load/machine/power.py": "a meter of the user's own: the command in the file of facts that was named",
    "load/machine/sheet.py": "tools that only tell of the testbed",
    "measure/watch.py": "the user's own command on an alarm, from this call's command line",
}
OF_OS = ("system", "popen", "exec", "spawn", "posix_spawn", "fork")
MODULES = {"subprocess", "multiprocessing", "pty", "_posixsubprocess"}
_WORDS = "|".join((*MODULES, r"fio\.process", "ProcessPoolExecutor", "create_subprocess_"))
NAMED = re.compile(rf"\b({_WORDS}|os\.({'|'.join(OF_OS)})|from os)")
NOT_STARTING = {"DEVNULL", "PIPE", "STDOUT", "TimeoutExpired", "CalledProcessError", "SubprocessError"}


def starts(source):
    """What in a source starts a process: names of os and of modules that do nothing else."""
    if not NAMED.search(source):
        return set()
    nodes, found = [*ast.walk(ast.parse(source))], set()
    called = {node.func for node in nodes if isinstance(node, ast.Call)}
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            module = (node.module or "").partition(".")[0]
            found |= {f"{module}.{name.name}" for name in node.names if module in MODULES}
            found |= {name.name for name in node.names if name.name == "ProcessPoolExecutor"}
            found |= {f"os.{name.name}" for name in node.names if module == "os" and name.name.startswith(OF_OS)}
            ours = node.module == "ioatlas.load.fio.process"  # whose own starters are started by others
            found |= {f"process.{name.name}" for name in node.names if ours and name.name == "asked"}
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            module, name = node.value.id, node.attr
            of_module = (module in MODULES and node in called) or (module == "os" and name.startswith(OF_OS))
            if of_module or name == "ProcessPoolExecutor" or name.startswith("create_subprocess_"):
                found.add(f"{module}.{name}")
    return {name for name in found if name.rpartition(".")[2] not in NOT_STARTING}


def test_only_these_modules_start_processes():
    found = {
        str(path.relative_to(source)): sorted(names)
        for source in SOURCES
        for path in source.rglob("*.py")
        if (names := starts(path.read_text()))
    }
    unknown = {path: names for path, names in found.items() if path not in STARTERS}
    assert not unknown, "give the executor or `load/machine/sheet.py` the work, or say here why not"
    assert sorted(STARTERS) == sorted(found), "they start none any more"


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("import subprocess\nsubprocess.run(['x'])", {"subprocess.run"}),
        ("from ioatlas.load.fio.process import asked, text_of", {"process.asked"}),
        ("import subprocess\ndef f():\n    with subprocess.Popen('x') as p: pass", {"subprocess.Popen"}),
        ("from subprocess import check_output as c", {"subprocess.check_output"}),
        ("from subprocess import TimeoutExpired", set()),
        ("import subprocess\ntry: pass\nexcept subprocess.TimeoutExpired: pass", set()),
        ("import os\nos.execvp('x', [])", {"os.execvp"}),
        ("import os\nos.posix_spawn('x', [], {})", {"os.posix_spawn"}),
        ("from os import fork", {"os.fork"}),
        ("import os\nos.kill(1, 9)", set()),
        ("import multiprocessing\nmultiprocessing.Process(target=f)", {"multiprocessing.Process"}),
        ("from concurrent.futures import ProcessPoolExecutor", {"ProcessPoolExecutor"}),
        ("import asyncio\nasyncio.create_subprocess_exec('x')", {"asyncio.create_subprocess_exec"}),
    ],
)
def test_every_way_to_start_one_is_seen(source, names):
    assert starts(source) == names
