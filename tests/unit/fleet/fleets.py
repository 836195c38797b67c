# SPDX-License-Identifier: Apache-2.0
"""fio's client mode over a simulated target, and clients that a test can lose."""

import json
import shutil
from pathlib import Path
from typing import ClassVar

from ioatlas.load.fio.executor import LoadProcess
from ioatlas.load.fio.process import NOBODY, ProcessOutcome
from ioatlas.load.fleet.client import Address, ClientFacts, ClockOffset, LostClientError
from ioatlas.measure import campaign
from tests.simulate.executor import SimulatedExecutor
from tests.simulate.output import VERSION
from tests.unit.simulated import LAW, World, environment


class FakeClient:
    """A client whose troubles a test decides on. known: all of them, by name."""

    known: ClassVar[dict] = {}

    def __init__(self, host, _fio) -> None:
        self.name = host.name
        self.version = VERSION
        self.why = ""
        self.offset_ms = self.error_ms = 0.0
        self.down = False
        self.closed = 0
        before = self.known.get(self.name)
        if before is not None:
            self.version, self.down = before.version, before.down
            self.offset_ms, self.error_ms = before.offset_ms, before.error_ms
        self.known[self.name] = self

    def facts(self) -> ClientFacts:
        return ClientFacts(self.version, cores=4)

    def clock(self) -> ClockOffset:
        return ClockOffset(self.offset_ms, self.error_ms)

    def serve(self) -> Address:
        if self.down:
            raise LostClientError("it refuses the connection", where=self.name)
        self.why = ""
        return Address(Path(f"/simulated/{self.name}"))

    def run(self, _command, *, seconds=10.0):
        return None

    def trouble(self) -> str:
        return self.why

    def stop_load(self) -> None: ...

    def close(self) -> None:
        self.closed += 1


class ClientMode(SimulatedExecutor):
    """A simulated fio with `--client`: every client has the target to itself.

    skew_ms: how long after the first one each client starts, by name. silent: a client that gives no result.
    meanwhile: called in every batch of clients before it ends.
    """

    def __init__(self, *arguments, **options) -> None:
        super().__init__(*arguments, **options)
        self.skew_ms = {}
        self.silent = ""
        self.batches = []
        self.meanwhile = lambda: None

    def run(self, load, minder=NOBODY):
        words = load.arguments
        pairs = [
            (word.partition("sock:")[2], Path(words[place + 1])) for place, word in enumerate(words) if "sock:" in word
        ]
        if not pairs:
            return super().run(load, minder)
        minder.started(next(self._pids), 1)
        self.batches.append({name: job.read_text() for name, job in pairs})
        (load.directory / load.sink).write_bytes(b"")
        self.clock.sleep(1)
        self.meanwhile()
        if minder.stop_asked():
            return ProcessOutcome(130, 1.0, "asked", "")
        begin, entries, told = self.clock.time(), [], {}
        for name, job in pairs:
            shift_ms = round(1000 * (self.clock.time() - begin) - self.skew_ms.get(name, 0))
            place = load.directory / f"own-{name}"
            place.mkdir()
            shutil.copyfile(job, place / "job.fio")
            alone = LoadProcess("fio", ("--output=fio.json", "job.fio"), place, "fio.err", load.limit_seconds)
            super().run(alone)
            told = json.loads((place / "fio.json").read_text())
            if name != self.silent:
                entries += [{**one, "hostname": name, "port": 8765} for one in told["jobs"]]
            for log in place.glob("*.log"):
                rows = (line.split(",") for line in log.read_text().splitlines())
                moved = [",".join([str(int(row[0]) - shift_ms), *row[1:]]) for row in rows]
                (load.directory / f"{log.name}.{name}").write_text("\n".join(moved) + "\n")
        wrong = {**entries[0], "jobname": "All clients"}
        whole = {**{key: told[key] for key in told if key != "jobs"}, "client_stats": [*entries, wrong]}
        (load.directory / "fio.json").write_text("<vm> Starting 1 thread\n" + json.dumps(whole))
        return ProcessOutcome(0, self.clock.time() - begin, "", "")


class FleetWorld(World):
    """A campaign on a directory that several clients share."""

    def __init__(self, place, law=LAW, **options) -> None:
        super().__init__(place, law, **options)
        self.executor = ClientMode(law, **options)
        FakeClient.known = {}

    def session_with(self, clients: str):
        """One session with other clients than the campaign names."""
        journal = campaign.reopen(self.directory, executor=self.executor)
        try:
            return campaign.run(
                journal,
                emit=self.events.append,
                stop_asked=lambda: False,
                environment=environment(self.executor),
                clients=clients,
            )
        finally:
            journal.close()
