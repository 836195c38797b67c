# SPDX-License-Identifier: Apache-2.0
"""Works: planned, timed and judged against a simulated target; whose commands are run, and whose are not."""

import json
import re
from pathlib import Path

import pytest

from ioatlas import campaign
from ioatlas.bundle.reproduce import specification
from ioatlas.errors import IoAtlasError, PartialResultError, RefusedError, UsageError
from ioatlas.model.verdict import VerdictCode
from ioatlas.procedures.application.ready import is_shipped, ready_works
from ioatlas.procedures.application.work import Better
from ioatlas.procedures.options import campaign_toml, read_campaign
from ioatlas.results.comparison import compare_sides
from ioatlas.store import seal
from tests.simulate.law import Law, Way
from tests.unit.procedures.cases import APPLICATION
from tests.unit.simulated import LAW, World

LESS = """
visits = 3
[target]
path = "TARGET"
[[work]]
name = "late"
command = "echo figure: delay"
metric = { regex = "delay = ([0-9.]+)", unit = "ms", better = "less" }
"""


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


def test_every_work_has_its_figure_in_its_unit_with_an_interval(world):
    world.run(APPLICATION)
    world.check()
    result = campaign.load_result(world.directory)
    first, second = result.works
    rate = LAW.random_write.iops
    assert (first.work, first.unit, first.less_is_better) == ("first", "s", True)
    assert (second.work, second.unit, second.less_is_better) == ("second", "tps", False)
    assert first.low < first.value < first.high
    assert first.value == pytest.approx(40_000 / rate, rel=0.05)
    assert second.low < second.value < second.high
    assert second.value == pytest.approx(rate, rel=0.05)
    assert {first.verdict, second.verdict} == {VerdictCode.STEADY}
    (table,) = [one for one in result.tables if one.title == "Works"]
    assert [row[0] for row in table.rows] == ["first", "second"]
    assert all(one.bw_bytes_per_s is None for one in result.estimates)  # bytes that nobody counted


def test_a_time_that_a_command_prints_is_a_time(world):
    world.run(LESS)
    result = campaign.load_result(world.directory)
    printed = [
        float(re.search(r"delay = ([0-9.]+)", path.read_text())[1])
        for path in world.directory.glob("batches/*/command.out")
    ]
    (late,) = result.works
    assert late.less_is_better
    assert min(printed) <= late.value <= max(printed)
    (estimate,) = result.estimates
    assert estimate.lat_mean_ns == pytest.approx(late.value * 1e6, rel=0.01)


def test_works_follow_each_other_in_another_order_in_each_replicate(world):
    many = "\n".join(f'[[work]]\nname = "w{n}"\ncommand = "sleep {n}"' for n in range(6))
    world.run(f'visits = 4\n[target]\npath = "TARGET"\n{many}')
    orders = {}
    for block, key in world.rows("select block, cell_key from visit order by batch_id"):
        orders.setdefault(block, []).append(key)
    assert len(orders) == 4
    assert len({tuple(order) for order in orders.values()}) > 1
    assert all(sorted(order) == sorted(orders[0]) for order in orders.values())


def test_visits_go_on_until_the_interval_is_narrow_enough(tmp_path):
    text = APPLICATION.replace("visits = 3", 'visits = 2\nprecision = "5%"\nmax_visits = 12')
    for noise, name in ((0.001, "quiet"), (0.08, "loud")):
        place = tmp_path / name
        place.mkdir()
        law = Law(read=LAW.read, write=LAW.write, random_write=LAW.random_write, noise=noise)
        World(place, law).run(text)
    counts = [
        World.rows.__get__(type("Made", (), {"directory": tmp_path / name / "campaign"})())(
            "select count(*) from visit where status = 'done'"
        )[0][0]
        for name in ("quiet", "loud")
    ]
    assert counts[0] < counts[1]


def test_a_work_that_fails_twice_is_left_out_and_named_and_the_others_go_on(world):
    world.run(APPLICATION.replace('command = "sleep 1"', 'command = "false"'))
    world.check()
    result = campaign.load_result(world.directory)
    assert [one.work for one in result.works] == ["second"]
    (lost,) = result.unmeasured
    assert "its command failed" in lost.reason.text
    assert world.rows("select count(*) from visit where status = 'failed'") == [(2,)]
    assert any("first on target was not measured" in text for _, text in world.journal().remarks())


def test_where_no_work_comes_to_its_end_the_campaign_is_not_over(world):
    world.start(LESS.replace("echo figure: delay", "false"))
    with pytest.raises(PartialResultError, match="its command failed"):
        world.session()
    world.check(complete=False)
    assert world.rows("select complete from campaign") == [(0,)]


def test_a_figure_that_is_not_printed_is_no_figure(world):
    world.start(LESS.replace("delay = (", "weight = ("))
    with pytest.raises(PartialResultError, match="no figure above zero"):
        world.session()


def test_what_a_file_says_is_written_back_as_it_was():
    spec = read_campaign(APPLICATION)
    assert read_campaign(campaign_toml(spec)) == spec


def test_a_profile_has_commands_of_its_own_and_the_campaign_file_keeps_them(world):
    world.start('profile = "apps"\n[target]\npath = "TARGET"')
    written = (world.directory / "campaign.toml").read_text()
    works = read_campaign(written).own["work"]
    assert [one["name"] for one in works] == [name for name, one in ready_works().items() if not one.missing]
    assert "chosen" not in written
    told = campaign.recorded_plan(world.journal(), campaign.CAMPAIGN.tables)
    assert all(is_shipped(one) for one in campaign.procedure_of(told.spec).summary(told) and _works(told.spec))


def _works(spec):
    from ioatlas.procedures.application.plan import works_of

    return works_of(spec).values()


def test_ready_made_works_say_what_they_need_and_fill_their_variants():
    works = ready_works()
    assert {"pgbench-s1", "pgbench-s10", "pgbench-s100", "sqlite", "untar", "git-status"} <= works.keys()
    assert all(one.needs for one in works.values())
    assert " -s 10 postgres" in works["pgbench-s10"].work.setup
    assert "{scale}" not in json.dumps([one.work.setup + one.summary for one in works.values()])
    assert works["pgbench-s1"].work.better is Better.MORE


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ('works = "pgbensch"\n', "there is no ready-made work 'pgbensch'"),
        ('[sweep]\nbs = ["4k"]\n', "bs has no place beside works"),
        (
            '[[work]]\nname = "w"\ncommand = "true"\n[[work]]\nname = "w"\ncommand = "true"\n',
            "two works are called 'w'",
        ),
        ('[[work]]\nname = "w"\ncommand = " "\n', "there is nothing to time"),
        ('[[work]]\nname = "w"\n', "command"),
        ('[[work]]\nname = "a b"\ncommand = "true"\n', "name"),
        ('[[work]]\nname = "w"\ncommand = "true"\nlimit = "1y"\n', "limit"),
        ('[[work]]\nname = "w"\ncommand = "true"\nmetric = { regex = "(", unit = "x" }\n', "no regular expression"),
        (
            '[[work]]\nname = "w"\ncommand = "true"\nmetric = { regex = "x", unit = "x" }\n',
            "no part of it is the figure",
        ),
        (
            '[[work]]\nname = "w"\ncommand = "true"\nspace = "999p"\n',
            "no cell of the sweep can be measured: not admissible",
        ),
    ],
)
def test_what_cannot_be_is_one_message(world, change, said):
    head = "" if "[[work]]" in change or "works" in change else '[[work]]\nname = "ok"\ncommand = "true"\n'
    text = (
        f'{change}[target]\npath = "TARGET"'
        if change.startswith("works")
        else f'[target]\npath = "TARGET"\n{head}{change}'
    )
    with pytest.raises(UsageError) as error:
        world.start(text)
    assert said in str(error.value)


@pytest.mark.parametrize("how", ["elsewhere", "changed"])
def test_commands_of_somebody_else_are_never_run(world, monkeypatch, how):
    world.start(APPLICATION)
    if how == "elsewhere":
        monkeypatch.setattr(campaign, "machine_key", lambda: b"another machine")
    else:
        journal = world.journal()
        plan = journal.plan()
        plan["spec"]["work"][0]["command"] = "touch /tmp/never"
        journal.set_plan(plan)
        journal.close()
    with pytest.raises(RefusedError, match="its works bring commands"):
        world.session(trust=str(world.target))
    assert world.executor.runs == 0


def test_commands_other_than_planned_are_refused_even_where_the_seal_holds(world):
    world.start(APPLICATION)
    journal = world.journal()
    plan = journal.plan()
    plan["spec"]["work"][0]["command"] = "sleep 2"
    journal.set_plan(plan)
    journal.seal(seal.machine_key(), campaign._asks_text(campaign.asks_of(world.directory)))
    journal.close()
    with pytest.raises(RefusedError, match="not those that were planned"):
        world.session()


def test_the_commands_of_a_bundle_are_not_reproduced(world):
    world.run(APPLICATION)
    with pytest.raises(RefusedError, match="its works bring commands"):
        specification(world.directory, str(world.target))


def test_compare_tells_faster_from_slower_and_knows_other_commands(tmp_path):
    places = [tmp_path / name for name in ("before", "slower", "other")]
    for place in places:
        place.mkdir()
    text = APPLICATION.replace("visits = 3", "visits = 6")
    World(places[0]).run(text)
    slow = Way(LAW.random_write.latency_seconds, LAW.random_write.iops * 0.8, LAW.random_write.bytes_per_s)
    World(places[1], Law(read=LAW.read, write=LAW.write, random_write=slow, noise=LAW.noise)).run(
        text.replace("visits = 6", "visits = 6\norder_seed = 5")
    )
    (pair,) = compare_sides([places[0] / "campaign", places[1] / "campaign"]).result.pairs
    assert {one.outcome for one in pair.cells} == {"lower"}
    assert all(0.75 < one.ratio < 0.85 for one in pair.cells)
    World(places[2]).run(text.replace("sleep 1", "sleep 2"))
    found = compare_sides([places[0] / "campaign", places[2] / "campaign"])
    (pair,) = found.result.pairs
    first, second = found.loads.readings
    assert len(pair.cells) == len(first.keys() - second.keys()) == 1


def test_a_plan_shows_every_command(world):
    plan = campaign.open_plan(read_campaign(APPLICATION.replace("TARGET", str(world.target))))
    from ioatlas.cli.plan import describe

    told = describe(plan)
    assert "first: command sleep 1" in told
    assert "second: command echo figure: tps" in told
    assert "bs " not in told
    assert isinstance(IoAtlasError, type)
    assert Path(world.target).exists()
