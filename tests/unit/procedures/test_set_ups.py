# SPDX-License-Identifier: Apache-2.0
"""Configurations that are set up several times: in which order, with which visits, and what their intervals hold."""

import itertools
from dataclasses import replace

import pytest

from ioatlas.answer.results.comparison import ONE_SET_UP, compare_sides
from ioatlas.measure import campaign
from ioatlas.measure.procedures.options import read_campaign
from ioatlas.measure.run.blocks import passes
from ioatlas.model.errors import PartialResultError, UsageError
from ioatlas.model.finding import FindingCode
from ioatlas.model.visit import set_up_of
from ioatlas.plan.configurations import Configuration
from tests.simulate.device import Device
from tests.simulate.executor import SimulatedExecutor
from tests.unit.procedures.test_configurations import SWEEP, Switching, as_measured, law
from tests.unit.simulated import World

pytestmark = pytest.mark.usefixtures("no_law")
DRIFT = 1.06
"""How many times as fast the target is at each set-up as at the one before."""


class Drifting(SimulatedExecutor):
    """A target that is faster each time that a command has set it up."""

    def __init__(self, log):
        super().__init__(law(1))
        self._log, self._count = log, 0

    def run(self, load, *how):
        count = len(self._log.read_text().split())
        if count != self._count:
            self._count, slow = count, law(1)
            way = replace(slow.read, bytes_per_s=slow.read.bytes_per_s * DRIFT**count)
            self._device = Device(replace(slow, read=way, write=way))
        return super().run(load, *how)


class Alike(World):
    """Three configurations that do not differ, on a target that drifts."""

    def __init__(self, place, blocks):
        super().__init__(place)
        self.executor = Drifting(place / "log")
        self.text = f"blocks = {blocks}{SWEEP}" + "".join(
            f'[[configuration]]\nname = "{name}"\npath = "TARGET"\nfactors = {{kind = "{name}"}}\n'
            'before = "echo x >> log"\n'
            for name in "abc"
        )

    def measured(self):
        plan = campaign.open_plan(read_campaign(self.text.replace("TARGET", str(self.target)), folder=self.place))
        campaign.start(plan, self.directory, executor=self.executor).close()
        assert self.session().complete
        return self.directory


@pytest.fixture(scope="module")
def alike(tmp_path_factory):
    """The directory of a campaign of configurations that are alike, by how often each was set up."""
    return {blocks: Alike(tmp_path_factory.mktemp("alike"), blocks).measured() for blocks in (1, 2)}


@pytest.fixture(scope="module")
def twice(tmp_path_factory):
    """(what was planned, a campaign of configurations that differ, each set up twice)."""
    world = Switching(tmp_path_factory.mktemp("twice"), blocks=2)
    plan = world.start()
    assert world.session().complete
    return plan, world


def blocks_of(world):
    """{configuration: visits of the sweep in each of its set-ups}"""
    found = {}
    for target, replicate in world.rows(
        "select target, block from visit join cell using (cell_key) where purpose = 'sweep' and status = 'done'"
    ):
        mine = found.setdefault(target, {})
        mine[set_up_of(replicate)] = mine.get(set_up_of(replicate), 0) + 1
    return found


def test_each_is_set_up_twice_there_and_back_and_its_visits_are_shared_out(twice):
    plan, world = twice
    assert any("6 set-ups in all" in remark for remark in plan.remarks)
    assert plan.summary(1.0)["blocks"] == 2
    world.check()
    up = world.logged()[::2]
    assert sorted(up[:3]) == ["+1", "+2", "+4"]
    assert up[3:] == up[:3][::-1]
    made = blocks_of(world)
    assert made["d4"] == {0: 8, 1: 4}, "three visits of four cells, two and one"
    assert set(made) == {"d1", "d2", "d4"}
    assert world.best() == as_measured()


def test_a_set_up_that_fails_is_named_and_made_by_the_next_session(tmp_path):
    world = Switching(tmp_path, blocks=2)
    world.start(world.text.replace("&& echo 2 >", "&& test $IOATLAS_SET_UP = 1 -o -e there && echo 2 >"))
    error = world.tried()
    assert isinstance(error, PartialResultError)
    assert error.what.startswith("1 of 6 set-ups were not measured to their end; d2, set-up 2 of 2: its command")
    (tmp_path / "there").touch()
    before = world.logged()
    assert world.session().complete
    assert world.logged()[len(before) :] == ["+2", "-2"]


def test_a_budget_is_shared_by_all_set_ups(tmp_path):
    world = Switching(tmp_path, blocks=2)
    begin = world.clock.monotonic()
    world.start('budget = "40s"\n' + world.text.replace('"64k", "1m"', '"4k", "16k", "64k", "256k", "1m"'))
    assert world.session().complete
    assert world.clock.monotonic() - begin < 40 * 1.15
    assert {name: set(each) for name, each in blocks_of(world).items()} == {f"d{n}": {0, 1} for n in (1, 2, 4)}


@pytest.mark.long("procedures", "analysis")
def test_drift_between_set_ups_is_no_difference_between_configurations(alike):
    found = compare_sides([alike[1]], by_target=True)
    assert found.notes == (ONE_SET_UP,)
    assert any(pair.whole.outcome in ("higher", "lower") for pair in found.result.pairs), "nothing tells it apart"
    found = compare_sides([alike[2]], by_target=True)
    assert "set up 2 times" in found.notes[0]
    assert not any(pair.whole.outcome in ("higher", "lower") for pair in found.result.pairs)
    assert not any(pair.count("higher", "lower") for pair in found.result.pairs)
    result = campaign.load_result(alike[2])
    told = [one.values for one in result.findings if one.code is FindingCode.FACTOR]
    assert [one["n_set_ups"] for one in told if "n_set_ups" in one] == [2]
    assert {pair["unsure"] for one in told for pair in one.get("pairs", ())} == {True}
    assert all("set-ups/1" in e.method for e in result.estimates if e.bw_low is not None)


def test_a_difference_larger_than_what_moves_is_found(twice):
    found = compare_sides([twice[1].directory], by_target=True)
    assert all(pair.whole.outcome in ("higher", "lower") for pair in found.result.pairs)


@pytest.mark.parametrize(
    ("said", "ask", "expected"),
    [
        ("visits = 3", "", 2),
        ("visits = 1", "", 1),
        ("visits = 3", "ask = 'plug'\n", 1),
        ("visits = 2\nblocks = 4", "", 4),
    ],
)
def test_how_often_where_nothing_is_said(tmp_path, said, ask, expected):
    world = Switching(tmp_path)
    text = world.text.replace("blocks = 1", "").replace("visits = 3", said).replace("after =", f"{ask}after =")
    spec = campaign.open_plan(read_campaign(text.replace("TARGET", str(world.target)), folder=tmp_path)).spec
    assert spec.set_ups == expected
    assert spec.visits >= expected
    assert sum(spec.of_set_up(number).visits for number in range(expected)) == spec.visits


def test_side_by_side_or_without_replicates_it_is_refused(tmp_path):
    world = Switching(tmp_path)
    text = world.text.replace("TARGET", str(world.target)).replace("blocks = 1", "blocks = 2")
    few = campaign.open_plan(read_campaign("cells = 8\n" + text, folder=tmp_path))
    with pytest.raises(UsageError, match="configurations"):
        campaign.start(few, tmp_path / "few", executor=world.executor)
    for name in "ab":
        (world.target / name).mkdir()
    beside = (
        "blocks = 2"
        + SWEEP
        + "".join(f'[[configuration]]\nname = "{name}"\npath = "{world.target / name}"\n' for name in "ab")
    )
    with pytest.raises(UsageError, match="measured in turns"):
        campaign.open_plan(read_campaign(beside, folder=tmp_path))


def test_every_second_pass_goes_back_so_that_a_steady_drift_moves_all_alike():
    spec = replace(read_campaign(SWEEP + '[target]\npath = "/x"\n'), blocks=4, order_seed=7)
    order = passes([Configuration(name, f"/{name}") for name in "abcde"], spec)
    assert order[1] == order[0][::-1]
    assert order[3] == order[2][::-1]
    assert order[2] != order[0]
    places = {}
    for place, one in enumerate(itertools.chain.from_iterable(order)):
        places.setdefault(one.name, []).append(place)
    assert len({sum(mine) for mine in places.values()}) == 1
