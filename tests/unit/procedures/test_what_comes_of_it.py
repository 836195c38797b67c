# SPDX-License-Identifier: Apache-2.0
"""What rounds leave no room for, and what comes of budgets and of a precision, on a simulated target."""

import pytest

from ioatlas.measure import campaign
from ioatlas.model.errors import UsageError
from ioatlas.model.outcomes import Voided
from ioatlas.model.visit import RemarkKind
from tests.simulate.law import Law, Way
from tests.unit.procedures.cases import DENSE, FIXED_WORK, HIGHEST, POINTS, ROUNDS
from tests.unit.simulated import World

pytestmark = pytest.mark.usefixtures("no_law")

STEADY = Law(read=Way(100e-6, 50_000, 1e9), write=Way(200e-6, 20_000, 5e8), noise=0.01)


@pytest.fixture
def world(tmp_path):
    return World(tmp_path, STEADY)


def result_of(world):
    return campaign.load_result(world.directory)


def remarks(world):
    return [text for (text,) in world.rows(f"select text from remark where kind = '{RemarkKind.LEFT_OUT}'")]


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ('purge = "punch-hole"', "punched in files"),
        ('purge = "discard"', "only a block device can be discarded"),
        ('purge = "nvme-format"', "only a block device can be formatted"),
        ("visits = 3", "repeats its round"),
        ("precision = 0.05", "repeats its round"),
        ('prepare = "fresh"', "one range to its end"),
    ],
)
def test_what_rounds_leave_no_room_for_is_refused(world, text, part):
    with pytest.raises(UsageError, match=part) as error:
        world.start(f"{text}\n{ROUNDS}")
    assert error.value.remedy
    assert not world.directory.exists()


def test_a_second_axis_is_refused_in_rounds(world):
    with pytest.raises(UsageError, match="iodepth cannot vary"):
        world.start(ROUNDS.replace("[sweep]", "[sweep]\niodepth = [1, 2]"))


# -- a budget, precision -------------------------------------------------------------------------------------


@pytest.mark.long("procedures")
def test_fixed_work_shrinks_its_file_to_the_budget_and_says_so(tmp_path):
    world = World(tmp_path, Law(read=Way(1e-3, 2_000, 50e6), write=Way(1e-3, 2_000, 50e6)))
    text = FIXED_WORK.replace('size = "1m"', 'size = "512m"')
    summary = world.run(f'budget = "60s"\n{text}')
    world.check()
    (told,) = remarks(world)
    assert "the budget leaves" in told
    sizes = {cell.size_bytes for cell, reason in world.journal().cells() if not reason}
    assert max(sizes) < 512 << 20
    assert summary.complete
    assert all(estimate.cell.size_bytes < 512 << 20 for estimate in result_of(world).estimates)


@pytest.mark.parametrize("text", [POINTS, HIGHEST], ids=["points", "highest"])
def test_load_points_are_made_shorter_or_fewer_for_a_budget(tmp_path, text):
    world = World(tmp_path, STEADY, start_seconds=0.3)
    summary = world.run(f'budget = "9s"\n{text.replace("300ms", "4s")}')
    world.check()
    assert any("load points" in told for told in remarks(world))
    assert summary.seconds < 25
    asked = {ms for (ms,) in world.rows("select runtime_ms from visit where purpose = 'sweep' and status = 'done'")}
    assert asked
    assert max(asked) < 4000


@pytest.mark.long("procedures", "plan")
def test_precision_goes_on_until_every_cell_has_it(tmp_path):
    world = World(tmp_path, Law(read=Way(100e-6, 50_000, 1e9), write=Way(200e-6, 20_000, 5e8), noise=0.15))
    world.run(f"precision = 0.05\n{DENSE.replace('visits = 3', 'visits = 2')}")
    world.check()
    counts = [
        n for (n,) in world.rows("select count(*) from visit where status='done' and purpose='sweep' group by cell_key")
    ]
    assert min(counts) >= 2
    assert max(counts) > 2, "a spread of 15% needs more visits than two"
    told = [event.fields for event in world.events if event.name == "precision"]
    assert told
    assert all(each["cells_waiting"] > 0 for each in told)


@pytest.mark.long("procedures", "run")
def test_a_replicate_that_another_load_slowed_is_voided_and_made_again(world):
    blocks = ", ".join(f'"{4 << power}k"' for power in range(8))
    world.start(DENSE.replace("visits = 3", "visits = 4").replace('"4k", "64k"', blocks))
    per_replicate = world.rows("select count(*) from visit where block = 1")[0][0]
    quick, slow = STEADY, Law(read=Way(400e-6, 12_000, 2e8), write=Way(800e-6, 5_000, 1e8), noise=0.01)

    def other_load():
        made = world.rows("select count(*) from visit where status = 'done' and purpose = 'sweep'")[0][0]
        again = world.rows("select count(*) from visit where block > 3 and purpose = 'sweep'")[0][0]
        world.executor._device.law = slow if not again and made >= 3 * per_replicate else quick
        return False

    assert world.session(other_load).complete
    world.check()
    journal = world.journal()
    voided = journal.kept(Voided).replicates
    journal.close()
    assert [one.replicate for one in voided] == [3]
    discarded = world.rows("select count(*) from visit where status = 'discarded' and block = 3 and purpose = 'sweep'")
    assert discarded[0][0] >= per_replicate
    assert world.rows("select count(*) from visit where status='done' and block=4 and purpose='sweep'") == [
        (per_replicate,)
    ]
    assert all(estimate.n_visits >= 4 for estimate in result_of(world).estimates)
