# SPDX-License-Identifier: Apache-2.0
"""Cheats against a service: output changed between fio's end and its being read, measured, packed, signed and sent."""

import pytest
import sqlalchemy as sa
from bench.atlas import cheats
from tests.simulate.executor import SimulatedExecutor
from tests.simulate.law import Law, Way
from tests.unit.simulated import World

from ioatlas.bundle import keys
from ioatlas.bundle.pack import pack
from ioatlas.bundle.redaction import RedactPlan
from ioatlas_atlas import tables

pytestmark = pytest.mark.long("atlas")

LAW = Law(read=Way(2e-3, 8_000, 800e6), random_read=Way(2e-3, 8_000, 800e6), noise=0.01, spread=0.5, cpu_seconds=4e-6)
CAMPAIGN = """
visits = 3
window = "3s"
[target]
path = "TARGET"
[sweep]
rw = ["randread", "read"]
bs = ["4k", "64k"]
size = "8m"
direct = 1
iodepth = [1, 8]
ioengine = "libaio"
"""
SEEN = (
    "x3, processor time and switches left", "x3, interval logs not touched", "x3, distribution left",
    "x3, buckets divided", "latencies alone divided by 5, mean left", "slow half told as the median",
)  # fmt: skip
UNSEEN = ("x3, everything alike", "x3 on a quarter of the loads")
"""As `/rules` says: all of it agrees. A real client's counters show more than a simulated one's: `bench/atlas`."""


class Cheating(SimulatedExecutor):
    """Changes what a load left, as a patched tool does."""

    cheat = ""

    def run(self, load, *how):
        outcome = super().run(load, *how)
        if self.cheat and load.directory.parent.name == "batches":
            cheats.apply(self.cheat, load.directory)
        return outcome


def sent(client, headers, place, cheat):
    """The id of the result of a campaign that was measured so."""
    place.mkdir()
    world = World(place)
    world.executor = Cheating(LAW)
    world.executor.cheat = cheat
    world.run(CAMPAIGN)
    sheet = cheats.SHEET.format(vendor="Contoso", model=cheat or "A1", **cheats.ARRAY)
    (world.directory / "product.toml").write_text(sheet)
    keys.make_key(place / "key")
    data = pack(world.directory, plan=RedactPlan(), key=keys.load_key(place / "key")).data()
    said = client.post("/api/v1/results", content=data, headers=headers)
    assert said.status_code == 201, said.text
    return said.json()["id"]


def doubted(database, number):
    """{load: what speaks against it}, '' for nothing."""
    with database.reading() as link:
        asked = sa.select(tables.cell).where(tables.cell.c.result_id == number)
        rows = link.execute(asked).all()
    assert not any(row.usable for row in rows if row.doubt)  # neither ranked nor found
    return {(row.rw, row.bs_bytes, row.iodepth): row.doubt for row in rows}


def test_honest_loads_are_not_doubted_and_changed_ones_are(client, database, people, tmp_path):
    told = {"": doubted(database, sent(client, people["alice"], tmp_path / "honest", ""))}
    for n, cheat in enumerate((*SEEN, *UNSEEN)):
        told[cheat] = doubted(database, sent(client, people["robert"], tmp_path / str(n), cheat))
    counts = {cheat: sum(map(bool, loads.values())) for cheat, loads in told.items()}
    assert [cheat for cheat, count in counts.items() if not count] == ["", *UNSEEN], told
    # Honest figures are found; of a changed map at most loads that nothing speaks against.
    for load in {load[:2] for load in told[""]}:
        asked = {"rw": load[0], "bs": str(load[1]), "iops": "400"}
        shown = {one["product"]["model"] for one in client.get("/api/v1/products", params=asked).json()["entries"]}
        left = {cheat or "A1" for cheat, loads in told.items() if any(not loads[(*load, n)] for n in (1, 8))}
        assert "A1" in shown <= left, load
