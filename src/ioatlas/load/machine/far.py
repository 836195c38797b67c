# SPDX-License-Identifier: Apache-2.0
"""A client of a fleet as its shell and its /proc tell of it: facts of the machine, and its counters during a load."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

from ioatlas.load.fleet.client import Client
from ioatlas.load.machine.sheet import Sheet, as_int
from ioatlas.load.machine.telemetry import Beats, Recorder, Recording, Sample, Watched, keepers
from ioatlas.model.errors import IoAtlasError
from ioatlas.model.testbed import Fact

_VIRTUAL = "a virtual interface tells a fixed speed whatever limits it"
_FACTS = Path(__file__).with_name("facts.sh")
_COUNTERS = 'for file in "$@"; do [ -r "$file" ] && { echo "@ $file"; cat "$file"; }; done; true'


def look_at_client(client: Client) -> tuple[tuple[Fact, ...], Watched | None]:
    """Facts of a client, and whose counters are worth reading there; no facts and None where nothing can be run.

    Raises IoAtlasError where it is lost.
    """
    said = client.run(["sh", "-c", _FACTS.read_text(encoding="utf-8")])
    if said is None:
        return (), None
    rows = [line.partition("\t")[::2] for line in said.splitlines() if "\t" in line]
    told = dict(rows)
    doubt = "the hypervisor says so" if "virtual" in told else ""
    sheet, nics = Sheet(), []
    for name, value in rows:
        if name == "nic":
            nics.append(_enter_nic(sheet, value))
        elif name == "host.load_1min" and value:
            sheet.known(name, float(value), "/proc/loadavg")
        elif name == "cpu.threads":
            sheet.known(name, as_int(value), "/proc/cpuinfo")
        elif name.startswith("ram."):
            kilobytes = as_int(value)
            sheet.known(name, None if kilobytes is None else kilobytes * 1024, "/proc/meminfo", unit="B")
        elif name in ("cpu.model", "cpu.governor"):
            sheet.stated(name, value, "/proc/cpuinfo" if name == "cpu.model" else "/sys", doubt=doubt if value else "")
        elif name not in ("disk", "virtual"):
            sheet.known(name, value, "sh")
    disks = tuple(value for name, value in rows if name == "disk")
    return tuple(sheet.facts), Watched(devices=disks, interfaces=tuple(nics))


def _enter_nic(sheet: Sheet, value: str) -> str:
    name, speed, mtu, state, real = (value.split(" ") + [""] * 5)[:5]
    place = f"/sys/class/net/{name}"
    sheet.known(f"nic.{name}.mtu", as_int(mtu), place, unit="B")
    sheet.known(f"nic.{name}.state", state, place)
    megabits = as_int(speed)
    if megabits is None or megabits <= 0:
        sheet.unknown(f"nic.{name}.speed", place, "the interface does not tell its speed")
    else:
        sheet.stated(f"nic.{name}.speed", megabits * 10**6, place, doubt="" if real else _VIRTUAL, unit="bit/s")
    return name


class FarSampler(Recorder):
    """Reads a client's counters every `interval_seconds` over its connection, dated by our clock.

    A reading is dated at the middle of its round trip. One that fails is left out: whether a client is lost is for
    others to say.
    """

    def __init__(self, client: Client, watched: Watched, interval_seconds: float = 1.0) -> None:
        self._client = client
        self._watched = watched
        self._keep = keepers(watched)
        self._samples: list[Sample] = []
        self._cost_seconds = 0.0
        self._beats = Beats(f"telemetry {client.name}", interval_seconds, self._take, begin=self._take)

    def start(self) -> None:
        """Begin, without waiting for the first reading: clients are many."""
        self._beats.start()

    def end(self) -> None:
        """Ask it to end, without waiting."""
        self._beats.end()

    def stop(self) -> Recording:
        """Take the last reading and give all."""
        self._beats.stop()
        self._take()
        return Recording(self._watched, tuple(self._samples), self._cost_seconds)

    def _take(self) -> None:
        began, sent = time.monotonic(), time.time()
        with contextlib.suppress(IoAtlasError):
            said = self._client.run(["sh", "-c", _COUNTERS, "sh", *self._keep], seconds=5.0)
            took = time.monotonic() - began
            self._cost_seconds += took
            if said is not None:
                raw = {name: self._keep[name](text) for name, text in _files(said) if name in self._keep}
                self._samples.append(Sample(sent + took / 2, began + took / 2, raw))


def _files(said: str) -> list[tuple[str, str]]:
    """What was printed, by file."""
    found = []
    for part in f"\n{said}".split("\n@ ")[1:]:
        name, _, text = part.partition("\n")
        found.append((name, text))
    return found
