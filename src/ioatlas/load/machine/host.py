# SPDX-License-Identifier: Apache-2.0
"""Facts of the client: processor, memory, kernel, virtualisation, clock, power policy, and the tools' versions; and the
whole testbed in one call. Parts are looked at side by side; a tool that hangs costs its time limit, not more.
"""

from __future__ import annotations

import os
import platform
import re
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ioatlas import __version__
from ioatlas.load.machine.network import look_at_network
from ioatlas.load.machine.path import look_at_path, look_at_session
from ioatlas.load.machine.sheet import Sheet, as_int
from ioatlas.load.machine.storage import look_at_stack
from ioatlas.load.machine.typed_in import corrected, read_facts
from ioatlas.model.testbed import Fact, Testbed

CPU = Path("/sys/devices/system/cpu")
CLOCK = Path("/sys/devices/system/clocksource/clocksource0")
SYSCTLS = ("dirty_ratio", "dirty_background_ratio", "dirty_bytes", "dirty_expire_centisecs", "swappiness")


def look_at_host(sheet: Sheet) -> None:
    """Enter what can be read without a target."""
    sheet.known("host.name", platform.node(), "uname", private=True)
    sheet.known("host.kernel", platform.release(), "uname")
    sheet.known("host.architecture", platform.machine(), "uname")
    release = sheet.file("/etc/os-release") or ""
    pretty = re.search(r'^PRETTY_NAME="?([^"\n]*)', release, re.MULTILINE)
    sheet.known("host.os", pretty[1] if pretty else None, "/etc/os-release")
    sheet.known("tool.ioatlas.version", __version__, "ioatlas")
    sheet.known("tool.python.version", platform.python_version(), "python")
    _memory(sheet)
    virtual = _virtualisation(sheet)
    _processor(sheet, virtual)
    _clock(sheet)
    _policy(sheet, virtual)
    _hardware(sheet, virtual)


def look_at_fio(sheet: Sheet) -> None:
    """Version of fio and the engines its build has."""
    version = sheet.tool("fio", "--version")
    if version is not None:
        sheet.known("fio.version", version.strip().removeprefix("fio-"), "fio --version")
    engines = sheet.tool("fio", "--enghelp") if version is not None else None
    if engines is not None:
        names = [line.strip() for line in engines.splitlines() if line.startswith(("\t", " ")) and line.strip()]
        sheet.known("fio.engines", " ".join(names), "fio --enghelp")


def memory_bytes() -> int | None:
    """The client's memory that a page cache may use: what there is, or the group's limit where it is lower."""
    sheet = Sheet()
    _memory(sheet)
    found = [
        int(fact.value)
        for fact in sheet.facts
        if fact.name in ("ram.size_bytes", "ram.limit_bytes") and isinstance(fact.value, int)
    ]
    return min(found, default=None)


def _memory(sheet: Sheet) -> None:
    source = "/proc/meminfo"
    text = sheet.file(source) or ""
    sheet.raw[source] = text
    for key, name in (
        ("MemTotal", "ram.size_bytes"),
        ("MemAvailable", "ram.available_bytes"),
        ("SwapTotal", "ram.swap_bytes"),
    ):
        found = re.search(rf"^{key}:\s+(\d+) kB", text, re.MULTILINE)
        sheet.known(name, int(found[1]) * 1024 if found else None, source, unit="B")
    limit = sheet.file("/sys/fs/cgroup/memory.max") or sheet.file("/sys/fs/cgroup/memory/memory.limit_in_bytes")
    limited = as_int(limit) if limit not in {None, "max"} else None
    # cgroup v1 writes "no limit" as the largest multiple of a page.
    if limited is not None and limited < 1 << 60:
        sheet.known("ram.limit_bytes", limited, "cgroup", unit="B")


def _virtualisation(sheet: Sheet) -> str:
    """Enter the kinds of virtualisation; returns why the hardware's word is doubtful, or ''."""
    seen = sheet.tool("systemd-detect-virt", "--vm", accept_failure=True)
    container = sheet.tool("systemd-detect-virt", "--container", accept_failure=True) if seen is not None else None
    flags = sheet.file("/proc/cpuinfo") or ""
    hypervisor = re.search(r"^flags\s*:.*\bhypervisor\b", flags, re.MULTILINE) is not None
    if seen is not None and seen.strip() not in {"", "none"}:
        sheet.known("virtualisation.machine", seen.strip(), "systemd-detect-virt --vm")
    elif hypervisor:
        kind = (sheet.file("/sys/hypervisor/type") or "hypervisor of unknown name").strip()
        sheet.known(
            "virtualisation.machine", kind, "/proc/cpuinfo", note="the processor's flags say that there is a hypervisor"
        )
    elif seen is not None:
        sheet.known("virtualisation.machine", "none", "systemd-detect-virt --vm")
    if container is not None:
        sheet.known("virtualisation.container", container.strip() or "none", "systemd-detect-virt --container")
    virtual = hypervisor or (seen or "").strip() not in {"", "none"}
    return "the hypervisor says so" if virtual else ""


def _processor(sheet: Sheet, virtual: str) -> None:
    data = sheet.tool_json("lscpu", "-J")
    if not isinstance(data, dict):
        sheet.known("cpu.threads", os.cpu_count(), "python")
        return
    fields: dict[str, str] = {}
    pending = list(data.get("lscpu", []))
    while pending:
        entry = pending.pop()
        fields[str(entry.get("field", "")).rstrip(":")] = str(entry.get("data") or "")
        pending += entry.get("children", [])
    source = "lscpu -J"
    sheet.stated("cpu.model", fields.get("Model name", ""), source, doubt=virtual)
    sheet.known("cpu.threads", as_int(fields.get("CPU(s)", "")), source)
    sheet.known("cpu.online", fields.get("On-line CPU(s) list", ""), source)
    for label, name in (
        ("Socket(s)", "cpu.sockets"),
        ("Core(s) per socket", "cpu.cores_per_socket"),
        ("Thread(s) per core", "cpu.threads_per_core"),
        ("NUMA node(s)", "cpu.numa_nodes"),
    ):
        sheet.stated(name, as_int(fields.get(label, "")), source, doubt=virtual)
    if fields.get("CPU max MHz"):
        sheet.stated("cpu.max_hz", round(float(fields["CPU max MHz"]) * 1e6), source, doubt=virtual, unit="Hz")
    if fields.get("L3 cache"):
        sheet.stated("cpu.l3_cache", fields["L3 cache"], source, doubt=virtual)
    affinity = os.sched_getaffinity(0)
    sheet.known("cpu.allowed", len(affinity), "sched_getaffinity")
    quota = (sheet.file("/sys/fs/cgroup/cpu.max") or "").split()
    if quota and quota[0].isdigit():
        sheet.known("cpu.limit_cores", int(quota[0]) / int(quota[1]), "/sys/fs/cgroup/cpu.max")


def _clock(sheet: Sheet) -> None:
    source = str(CLOCK / "current_clocksource")
    sheet.known("clock.source", sheet.file(source), source)
    sheet.known("clock.available", sheet.file(CLOCK / "available_clocksource"), str(CLOCK / "available_clocksource"))


def _policy(sheet: Sheet, virtual: str) -> None:
    governors = {text for path in CPU.glob("cpu[0-9]*/cpufreq/scaling_governor") if (text := sheet.file(path))}
    source = f"{CPU}/cpu*/cpufreq/scaling_governor"
    if governors:
        sheet.known("cpu.governor", " ".join(sorted(governors)), source)
    else:
        sheet.absent(
            "cpu.governor",
            source,
            "the kernel offers no frequency control" + (" in this virtual machine" if virtual else ""),
        )
    for path, name in (
        (CPU / "intel_pstate/no_turbo", "cpu.no_turbo"),
        (CPU / "cpufreq/boost", "cpu.boost"),
        (CPU / "smt/control", "cpu.smt"),
    ):
        sheet.says(name, path)
    for name in SYSCTLS:
        sheet.says(f"vm.{name}", f"/proc/sys/vm/{name}", as_int)
    sheet.says("host.load_1min", "/proc/loadavg", lambda text: float(text.split()[0]))
    sheet.says("host.uptime_seconds", "/proc/uptime", lambda text: round(float(text.split()[0])), unit="s")


def _hardware(sheet: Sheet, virtual: str) -> None:
    for key, name, private in (
        ("sys_vendor", "host.vendor", False),
        ("product_name", "host.product", False),
        ("product_serial", "host.serial", True),
    ):
        path = f"/sys/class/dmi/id/{key}"
        text = sheet.file(path)
        if text:
            sheet.stated(name, text, path, doubt=virtual, private=private)
    if not Path("/sys/class/dmi/id").exists():
        sheet.absent("host.product", "/sys/class/dmi/id", "the firmware offers no DMI table")


def testbed(target: str, facts_file: Path | None = None) -> Testbed:  # noqa: PT028 - not a test
    """Facts of client, path and target, as far as this user may read them; typed-in facts take the place of read ones.

    target: a path or a URI. Raises UsageError when the target is not there or the facts file cannot be read.
    """
    began, at = time.monotonic(), time.time()
    typed = read_facts(facts_file) if facts_file is not None else ()
    path_sheet = Sheet()
    with ThreadPoolExecutor(max_workers=4) as pool:
        host = pool.submit(_on_a_sheet, look_at_host)
        fio = pool.submit(_on_a_sheet, look_at_fio)
        route = look_at_path(path_sheet, target)
        stack = pool.submit(_on_a_sheet, lambda sheet: look_at_stack(sheet, route))
        session = pool.submit(_on_a_sheet, lambda sheet: look_at_session(sheet, route))
        stack_sheet = stack.result()
        server = route.server or _server_of(stack_sheet)
        network = pool.submit(_on_a_sheet, lambda sheet: look_at_network(sheet, server) if server else None)
        sheets = [host.result(), fio.result(), path_sheet, session.result(), stack_sheet, network.result()]
    facts = corrected(_once([fact for sheet in sheets for fact in sheet.facts]), typed)
    raw = {source: text for sheet in sheets for source, text in sheet.raw.items()}
    return Testbed(target, at, facts, raw, time.monotonic() - began)


def _on_a_sheet(look: Callable[[Sheet], object]) -> Sheet:
    sheet = Sheet()
    look(sheet)
    return sheet


def _server_of(sheet: Sheet) -> str:
    return next((str(fact.value) for fact in sheet.facts if fact.name == "server.address" and fact.value), "")


def _once(facts: list[Fact]) -> list[Fact]:
    """One fact a name: a value before a missing one, else the first."""
    kept: dict[str, Fact] = {}
    for fact in facts:
        before = kept.get(fact.name)
        if before is None or (before.value is None and fact.value is not None):
            kept[fact.name] = fact
    return list(kept.values())


testbed.__test__ = False  # type: ignore[attr-defined]
