# SPDX-License-Identifier: Apache-2.0
"""Campaigns of several configurations: in turns where they exist side by side, else set up one after another."""

import csv
import io
import itertools
import shutil
from pathlib import Path

import pytest

from ioatlas.measure import campaign
from ioatlas.measure.procedures.options import campaign_toml, read_campaign
from ioatlas.measure.run.set_up import Answer, Consent
from ioatlas.model.errors import IoAtlasError, PartialResultError, RefusedError, UsageError
from ioatlas.model.finding import FindingCode
from ioatlas.model.verdict import UnmeasuredCode
from ioatlas.report.export.grid import lay_out
from ioatlas.report.page_data import report_data
from ioatlas.report.table import write_csv
from tests.simulate.device import Device
from tests.simulate.executor import SimulatedExecutor
from tests.simulate.law import Law, Way
from tests.unit.procedures.cases import DENSE
from tests.unit.simulated import World, killed, moments, spread

pytestmark = pytest.mark.usefixtures("no_law")
SHEET = Path(__file__).parents[3] / "examples" / "products" / "synology-ds2015xs.toml"
RATES = {1: 100e6, 2: 200e6, 4: 400e6}
SWEEP = """
visits = 3
[sweep]
rw = ["read", "write"]
bs = ["64k", "1m"]
size = "16m"
iodepth = 4
"""


def law(drives):
    way = Way(1e-4, 50_000, RATES[drives])
    return Law(read=way, write=way, noise=0.01)


class Switched(SimulatedExecutor):
    """A target as fast as the number in a file says, which commands write."""

    def __init__(self, marker):
        super().__init__(law(1))
        self._marker, self._set = marker, ""

    def run(self, load, *how):
        now = self._marker.read_text().strip()
        if now != self._set:
            self._set, self._device = now, Device(law(int(now)))
        return super().run(load, *how)


class Switching(World):
    """Configurations on one directory, made by commands that write their number into a file and a line into a log."""

    def __init__(self, place, *, fails=(), asks=False, blocks=1):
        super().__init__(place)
        self.executor = Switched(place / "marker")
        self.log = place / "log"
        self.text = f"blocks = {blocks}{SWEEP}"
        for drives in RATES:
            before = f"exit 3 # {drives}" if drives in fails else f"echo {drives} > marker && echo +{drives} >> log"
            self.text += f"""
[[configuration]]
name = "d{drives}"
path = "TARGET"
factors = {{drives = {drives}, raid = "raid0", link = {{value = 10, unit = "Gbit/s"}}}}
before = "test $IOATLAS_FACTOR_drives = {drives} && {before}"
after = "echo -{drives} >> log; rm marker"
"""
            self.text += f"ask = 'plug in {drives}'\n" if asks else ""

    def start(self, text=None, **options):
        text = (text or self.text).replace("TARGET", str(self.target))
        plan = campaign.open_plan(read_campaign(text, folder=self.place))
        campaign.start(plan, self.directory, executor=self.executor, **options).close()
        return plan

    def run(self):
        self.start()
        return self.session()

    def logged(self):
        return self.log.read_text().split() if self.log.exists() else []

    def best(self):
        """{configuration: highest read rate}"""
        found = {}
        for e in campaign.load_result(self.directory).estimates:
            if e.direction == "read":
                found[e.cell.target] = max(found.get(e.cell.target, 0), e.bw_bytes_per_s)
        return found


def as_measured():
    return {f"d{drives}": pytest.approx(rate, rel=0.05) for drives, rate in RATES.items()}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A campaign made to its end, and its plan; nobody changes it."""
    world = Switching(tmp_path_factory.mktemp("finished"))
    plan = world.start()
    assert world.session().complete
    return world, plan


def test_those_that_need_setting_up_are_measured_one_after_another_in_a_random_order(finished):
    world, plan = finished
    assert any("one after another, because d1 has to be set up" in remark for remark in plan.remarks)
    world.check()
    steps = world.logged()
    assert sorted(steps[::2]) == ["+1", "+2", "+4"]
    assert [step.replace("+", "-") for step in steps[::2]] == steps[1::2], "each is taken down before the next"
    assert world.best() == as_measured()


def test_each_has_a_session_of_its_own_and_its_batches_hold_no_other(finished):
    world, _ = finished
    assert len(world.rows("select 1 from session")) == 3
    mixed = "select batch_id from visit join cell using (cell_key) where batch_id not null group by 1"
    assert world.rows(f"{mixed} having count(distinct target) > 1") == []


def test_a_command_that_fails_ends_its_configuration_and_the_others_go_on(tmp_path):
    world = Switching(tmp_path, fails=(2,))
    world.start()
    error = world.tried()
    assert isinstance(error, PartialResultError)
    assert error.what == ("1 of 3 configurations were not measured to their end; d2: its command `before` ended with 3")
    assert "ioatlas resume" in error.remedy
    assert world.best() == {name: rate for name, rate in as_measured().items() if name != "d2"}
    result = campaign.load_result(world.directory)
    reasons = {u.reason for u in result.unmeasured}
    assert {(r.code, r.detail) for r in reasons} == {(UnmeasuredCode.NOT_REACHED, "its command `before` ended with 3")}
    assert "+2" not in world.logged()
    assert "-2" not in world.logged()
    world.check(complete=False)


def test_what_failed_is_tried_again_by_the_next_session_and_only_that(tmp_path):
    world = Switching(tmp_path)
    world.start(world.text.replace("&& echo 2 >", "&& test -e there && echo 2 >"))
    assert isinstance(world.tried(), PartialResultError)
    (tmp_path / "there").touch()
    before = world.logged()
    assert world.session().complete
    assert world.logged()[len(before) :] == ["+2", "-2"]
    assert world.best() == as_measured()
    world.check()


@pytest.mark.parametrize("blocks", [1, 2])
@pytest.mark.parametrize("count", [1, pytest.param(4, marks=pytest.mark.long("run", "procedures"))])
def test_killed_anywhere_and_resumed_it_measures_each_once(tmp_path, count, blocks):
    world = Switching(tmp_path, blocks=blocks)
    world.start()
    world.keep()
    total = moments(world)
    reference = world.made()
    for moment in spread(count, total):
        world.restore()
        world.log.unlink(missing_ok=True)
        assert killed(world, moment)
        before = world.finished()
        assert world.session().complete
        world.check()
        after = world.finished()
        assert {key: after.get(key) for key in before} == before
        assert {row[0] for row in world.made()} == {row[0] for row in reference}
        assert world.best() == as_measured()


def test_stopped_by_a_person_it_is_taken_down_and_goes_on_later(tmp_path):
    world = Switching(tmp_path)
    world.start()
    looks = iter(range(10_000))
    error = world.tried(lambda: next(looks) > 30)
    assert isinstance(error, PartialResultError)
    assert error.what.startswith("stopped")
    steps = world.logged()
    assert steps
    assert [step.replace("+", "-") for step in steps[::2]] == steps[1::2]
    assert world.session().complete
    assert world.best() == as_measured()


def test_it_waits_until_a_person_has_done_what_it_asks_for(tmp_path):
    world = Switching(tmp_path, asks=True)
    world.start()
    asked = []

    def answer(one):
        asked.append(one.ask)
        return Answer.SKIP if one.name == "d4" else Answer.YES

    error = world.tried(consent=Consent(answer=answer))
    assert sorted(asked) == ["plug in 1", "plug in 2", "plug in 4"]
    assert "d4: it was passed over when it asked: plug in 4" in error.what
    assert set(world.best()) == {"d1", "d2"}
    assert "nobody can be asked" in world.tried().what
    assert world.session(consent=Consent(answer=lambda _: Answer.YES)).complete
    assert world.best() == as_measured()


def test_a_budget_is_shared_and_all_keep_the_same_cells(tmp_path):
    world = Switching(tmp_path)
    begin = world.clock.monotonic()
    world.start('budget = "24s"\n' + world.text.replace('"64k", "1m"', '"4k", "16k", "64k", "256k", "1m"'))
    assert world.session().complete
    assert world.clock.monotonic() - begin < 24 * 1.15
    kept = {}
    for e in campaign.load_result(world.directory).estimates:
        kept.setdefault(e.cell.target, set()).add((e.cell.rw, e.cell.bs_bytes))
    assert len(kept) == 3
    assert len({frozenset(cells) for cells in kept.values()}) == 1


SIDE_BY_SIDE = (
    SWEEP
    + """
[[configuration]]
name = "small"
path = "TARGET/a"
factors = {drives = 3, state = "rebuilding", ssd_cache = false}
product = "PLACE/small.toml"

[[configuration]]
name = "large"
path = "TARGET/b"
factors = {drives = 11, state = "healthy"}
"""
)


def side_by_side(tmp_path):
    """Two directories, and the product sheet of one."""
    world = World(tmp_path)
    for name in "ab":
        (world.target / name).mkdir()
    shutil.copy(SHEET, tmp_path / "small.toml")
    return world


@pytest.fixture(scope="module")
def finished_in_turns(tmp_path_factory):
    place = tmp_path_factory.mktemp("turns")
    world = side_by_side(place)
    world.run(SIDE_BY_SIDE.replace("PLACE", str(place)))
    return world


def test_side_by_side_they_are_measured_in_turns(finished_in_turns):
    world = finished_in_turns
    order = world.rows(
        "select target from visit join cell using (cell_key) where purpose = 'sweep' and batch_id not null"
        " order by batch_id, section"
    )
    changes = sum(one != other for one, other in itertools.pairwise(order))
    assert changes > 3, "they follow each other at random"
    assert any("in turns" in text for text in campaign.load_result(world.directory).settings.values())


def test_the_table_ends_with_the_configuration_and_its_factors(finished_in_turns):
    world = finished_in_turns
    out = io.StringIO()
    write_csv(campaign.load_result(world.directory), out)
    rows = list(csv.DictReader(io.StringIO(out.getvalue())))
    assert list(rows[0])[-4:] == ["configuration", "factor_drives", "factor_state", "factor_ssd_cache"]
    told = {(r["configuration"], r["factor_drives"], r["factor_state"], r["factor_ssd_cache"]) for r in rows}
    assert told == {("small", "3", "rebuilding", "false"), ("large", "11", "healthy", "")}


def test_the_kept_campaign_file_says_the_same_without_what_was_typed_to_confirm(tmp_path):
    text = SIDE_BY_SIDE.replace(
        'state = "healthy"}', 'link = {value = 10, unit = "Gbit/s"}}\noverwrite = "x 1"\nafter = "ls"'
    )
    spec = read_campaign(text, folder=tmp_path)
    assert spec.confirmations == {"large": {"overwrite": "x 1"}}
    written = campaign_toml(spec)
    assert "overwrite" not in written
    again = read_campaign(written)
    assert again.configurations == spec.configurations
    assert again.configurations[0].product == str(tmp_path / "PLACE/small.toml")
    assert again.configurations[1].folder == str(tmp_path)
    assert type(spec).from_record(spec.to_record()).configurations == spec.configurations


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (('name = "large"', 'name = "small"'), "two configurations are called 'small'"),
        (('path = "TARGET/b"', 'before = "x"\ntarget = [{path = "a"}]'), "what is set up first has one target"),
        (('path = "TARGET/b"', 'path = "c"\ntarget = [{path = "a"}]'), "one of them, or `target` tables"),
        (('path = "TARGET/b"', 'target = [{path = "a", uri = "b"}]'), "needs `path` or `uri`, one of them"),
        (('path = "TARGET/b"', 'target = [{path = "a", name = "small"}]'), "are called 'small'"),
        (('path = "TARGET/b"\n', ""), "needs `path` or `uri`"),
        (("drives = 11", 'drives = {value = 11, unit = "pieces"}'), "several units"),
        (("drives = 11", '"no good" = 11'), "cannot name a factor"),
        (("[sweep]", '[target]\npath = "x"\n[sweep]'), "beside the configurations"),
        (("drives = 11", "drives = [1, 2]"), "drives"),
        (('path = "TARGET/b"', 'path = "TARGET/b"\nbefor = "x"'), "before"),
    ],
)
def test_what_is_wrong_in_a_configuration_is_told_with_its_line(change, said):
    with pytest.raises(UsageError) as caught:
        read_campaign(SIDE_BY_SIDE.replace(*change), source="mine.toml")
    assert said in str(caught.value)
    assert "mine.toml:" in caught.value.where


def test_a_directory_from_elsewhere_never_runs_commands(tmp_path):
    world = Switching(tmp_path)
    world.start()
    journal = world.journal()
    journal.set_outcome("seal", {})
    journal.close()
    with pytest.raises(RefusedError, match="your own campaign file only"):
        world.session(trust=str(world.target))
    assert world.logged() == []


def test_what_is_set_up_later_may_be_missing_but_its_loss_has_to_be_confirmed(tmp_path):
    text = (
        SWEEP
        + """
[[configuration]]
name = "later"
uri = "nbd+unix:///?socket=/nonexistent/socket"
before = "true"
"""
    )
    spec = read_campaign(text, folder=tmp_path)
    plan = campaign.open_plan(spec)
    assert [target.kind for target in plan.targets] == ["uri"]
    world = World(tmp_path)
    with pytest.raises(RefusedError, match="nothing was typed"):
        campaign.start(plan, world.directory, executor=world.executor)
    campaign.start(plan, world.directory, executor=world.executor, overwrite="x 1").close()
    error = world.tried(overwrite="x 1")
    assert "later:" in error.what
    with pytest.raises(IoAtlasError) as caught:
        campaign.open_plan(read_campaign(text.replace('size = "16m"\n', ""), folder=tmp_path))
    assert "name the `size`" in caught.value.remedy


def test_what_the_factor_does_is_told_drawn_and_shown(finished):
    world, _ = finished
    result = campaign.load_result(world.directory)
    *told, drift = [one for one in result.findings if one.code is FindingCode.FACTOR]
    assert drift.values == {"n_set_ups": 1}
    assert {one.direction for one in told} == {"write"}, "what a file with holes gives is not ranked"
    assert (told[0].values["span"], told[0].values["way"]) == ("1 to 4 drives", "up")
    assert told[0].values["efficiency"]
    (chart,) = [chart for chart in result.charts if chart.title == "Writes over drives"]
    assert [dot.x for dot in chart.series[0].dots] == [1, 2, 4]
    assert [dot.value for dot in chart.series[0].dots] == [pytest.approx(rate, rel=0.05) for rate in RATES.values()]
    data = report_data(result)
    axes = {axis.name: axis for axis in data.axes}
    assert axes["factor_drives"].levels == [1, 2, 4]
    assert not axes["factor_drives"].derived
    assert axes["target"].derived, "the factor tells it"
    assert "factor_raid" not in axes, "all have the same"
    layout = lay_out(result, x="drives")
    assert layout.x.heading == "drives"
    assert "target" not in {axis.name for page in layout.pages for axis, _ in page.fixed}


def test_factors_that_do_not_tell_targets_apart_leave_the_target_its_axis(tmp_path):
    text = SIDE_BY_SIDE.replace("drives = 11", "drives = 3").replace(', state = "rebuilding", ssd_cache = false', "")
    text = text.replace(', state = "healthy"', "")
    world = side_by_side(tmp_path)
    world.run(text.replace("PLACE", str(tmp_path)))
    axes = {axis.name: axis for axis in report_data(campaign.load_result(world.directory)).axes}
    assert not axes["target"].derived
    assert axes.keys().isdisjoint({"factor_drives"})


def test_a_directory_that_commands_make_need_not_be_there_yet(tmp_path):
    world = Switching(tmp_path)
    later = tmp_path / "later"
    text = world.text.replace('path = "TARGET"', f'path = "{later}/"')
    text = text.replace('before = "', f'before = "mkdir {later} && ').replace('after = "', f'after = "rmdir {later}; ')
    plan = world.start(text)
    assert {(target.kind, target.location) for target in plan.targets} == {("directory", str(later))}
    kept = (world.directory / "campaign.toml").read_text()
    assert f'path = "{later}/"' in kept, "planned again from it, the directory is still not there"
    assert world.session().complete
    assert world.best() == as_measured()
    assert not later.exists()
    assert campaign.open_plan(read_campaign(kept)).targets == plan.targets
    with pytest.raises(IoAtlasError, match="nothing at this path"):
        campaign.open_plan(read_campaign(kept.replace(f"{later}/", str(later))))


@pytest.mark.long("procedures")
@pytest.mark.parametrize(
    ("first", "sweep"),
    [
        ('profile = "iozone2017"\nvisits = 2', 'size = "1m"\nbs = ["64k"]'),
        pytest.param(
            'snia = "iops"',
            'size = "4m"\nbs = ["16k", "4k"]\nrwmixread = [50, 0]',
            marks=pytest.mark.long("run", "procedures"),
        ),
    ],
    ids=["fixed work", "snia"],
)
def test_whatever_is_measured_each_has_its_own(tmp_path, first, sweep):
    world = Switching(tmp_path)
    world.start(world.text.replace(SWEEP, f"\n{first}\n[sweep]\n{sweep}\n"))
    assert world.session().complete
    world.check()
    targets = {e.cell.target for e in campaign.load_result(world.directory).estimates}
    assert targets == {"d1", "d2", "d4"}


def test_a_product_sheet_that_is_not_there_is_told_before_anything_is_made(tmp_path):
    world = side_by_side(tmp_path)
    (tmp_path / "small.toml").unlink()
    with pytest.raises(UsageError, match=r"cannot be read|not there|no such|No such"):
        world.start(SIDE_BY_SIDE.replace("PLACE", str(tmp_path)))
    assert not world.directory.exists()


def test_a_meter_from_elsewhere_never_runs_a_command(tmp_path):
    world = World(tmp_path)
    world.start(DENSE)
    (world.directory / "testbed.toml").write_text(f'[power.nas]\ncommand = "touch {tmp_path}/run"\n')
    with pytest.raises(RefusedError, match="its meters bring commands"):
        world.session(trust=str(world.target))
