# SPDX-License-Identifier: Apache-2.0
"""Whether a target fits a use: the files, the answer, a whole campaign on simulated targets."""

import json
import re
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import pytest

from ioatlas.load.fio.batch import Section, section_options
from ioatlas.measure.campaign import load_result
from ioatlas.measure.procedures.fit import fits
from ioatlas.measure.procedures.fit.fits import (
    MOST_WINDOWS,
    Fit,
    _judged,
    carried,
    fits_measured,
    load_fits,
)
from ioatlas.measure.procedures.fit.plan import cells_of
from ioatlas.measure.procedures.fit.read import LADDER, example, read_ladder, read_uses, ready
from ioatlas.measure.procedures.fit.use import Load, Quantity, Requirement, Use
from ioatlas.measure.procedures.fit.verdict import Answer, Judged, judge
from ioatlas.model.cell import Cell
from ioatlas.model.errors import UsageError
from ioatlas.model.estimate import Estimate
from ioatlas.model.target import Target
from ioatlas.model.visit import Flush, Histogram, Part, Series, Visit
from tests.command_line import call
from tests.simulate.law import Law, Way
from tests.unit.procedures.cases import BY_LAW, FIT
from tests.unit.simulated import World

MS = 1e6


def _visit(number, slow, count=200, rate=100e6, latency=1e6):
    """A window of so many writes, some of which took 20 ms, and a flush of each."""
    histogram = Histogram.from_counts({round(latency): count - slow, 20_000_000: slow})
    flush = Flush(count, latency, histogram, latency, histogram)
    mean = (latency * (count - slow) + 20e6 * slow) / count
    part = Part("write", round(rate), count, 1000.0, mean, histogram, Series(0), flush=flush)
    return Visit(number, "cell", 1, 0, number, 1, float(number), (part,))


# -- files -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(ready()))
def test_a_ready_use_says_what_it_requires_and_invents_no_source(name):
    (use,) = read_uses(name)
    assert use.requires
    assert use.title
    for one in use.requires:
        # A source has a title, an address and the date on which it was read there, or it is ours.
        assert bool(one.source.title) == bool(re.fullmatch(r"\d{4}-\d\d-\d\d", one.source.read))
        assert bool(one.source.title) == bool(re.fullmatch(r"https?://\S+", one.source.url))


def test_etcd_is_the_job_that_its_documents_name():
    (use,) = read_uses("etcd")
    (load,), (requirement,) = use.phases[0], use.requires
    assert (load.options["rw"], load.options["bs"], load.options["fdatasync"]) == ("write", 2300, 1)
    assert load.size_bytes == 22 << 20
    assert (requirement.quantity, requirement.percentile, requirement.limit) == (Quantity.FLUSH, 99.0, 10 * MS)


def test_its_log_grows_where_a_file_can_and_each_window_begins_at_its_end():
    (use,) = read_uses("etcd")
    directory = Target("t", "directory", "/t", free_bytes=10 << 30)
    ((cell, _),) = cells_of(use, directory, {})
    section = Section(1, cell, 1, 1000, 100, (("filename", "/t/f"),))
    options = section_options(section)
    assert (options["file_append"], options["create_serialize"], cell.size_bytes) == (1, 0, 22 << 20)
    ((cell, _),) = cells_of(use, replace(directory, kind="uri", location="nbd://h/e", size_bytes=64 << 20), {})
    assert "file_append" not in cell.option
    # What is appended until it is cut off leaves room for others.
    small = replace(directory, free_bytes=400 << 20)
    ((cell, _),) = cells_of(use, small, {})
    assert 10 * cell.size_bytes <= 100 << 20
    ((each, _),) = cells_of(use, small, {"clients": 4, "client_range": "own"})
    assert (each.clients, 40 * each.size_bytes <= 100 << 20) == (4, True)


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("backup:2TB in 8h", 2e12 / 28_800),
        ("backup:bytes=2TB time=8h", 2e12 / 28_800),
        ("checkpoint:10GiB every 60s", 10 * 2**30 / 60 / 0.05),
        ("training:unet3d accelerators=2 kind=h100", 2 * 2859.4e6),
        ("training:resnet50 4 a100", 4 * 94.9e6),
        ("training:cosmoflow", 565.7e6),
    ],
)
def test_parameters_stand_behind_the_name_and_make_the_limit(text, limit):
    (use,) = read_uses(text)
    assert use.requires[0].limit == pytest.approx(limit, rel=1e-3)
    assert use.name == text
    sizes_and_times = re.findall(r"\d+(?:TB|GiB|s|h)\b", text)
    assert all(words in use.title for words in sizes_and_times)  # as they were asked for


def test_connections_that_commit_at_once_share_flushes():
    (alone,), (shared,) = read_uses("postgres:tps=400"), read_uses("postgres:tps=400 together=4")
    assert [str(use.phases[0][0].options["rate_iops"]) for use in (alone, shared)] == ["400", "100"]
    assert alone.phases[0][1] == shared.phases[0][1]


def test_a_rate_is_split_over_jobs_and_directions():
    (use,) = read_uses("vm-host:128")
    (kept,) = (one for one in use.requires if one.quantity is Quantity.KEPT)
    assert kept.asked == pytest.approx(128 * 25, rel=0.02)


@pytest.mark.parametrize(
    "text",
    ["", "etdc", "etcd:3", "vm-host:none", "vm-host:5 5 5", "vm-host:iops=5 iops=6", "training:unet3d kind=v100"],
)
def test_what_is_no_use_is_refused_with_what_to_do(text):
    with pytest.raises(UsageError) as refused:
        read_uses(text)
    assert refused.value.remedy


@pytest.mark.parametrize(
    "broken",
    [
        'title = "x"',
        'title = "x"\n[[load]]\nrw = "read"',
        'title = "x"\n[[load]]\nrw = "read"\nfilename = "/etc/passwd"\n[[require]]\nrate = 5',
        'title = "x"\n[[load]]\nrw = "read"\n[[require]]\nread_p100 = "5ms"',
        'title = "x"\n[[load]]\nrw = "read"\n[[require]]\nrate = "5ms"',
        'title = "x"\n[[load]]\nrw = "read"\n[[require]]\nmisses = "1%"',
        'title = "x"\n[[load]]\nrw = "read"\n[[require]]\nmisses = 1\ndeadline = "5ms"',
        'title = "x"\n[[load]]\nrw = "read"\nbs = "{__import__(1)}"\n[[require]]\nrate = 5',
        'title = "x"\n[[load]]\nrw = "read"\n[[require]]\nrate = 5\nof = "other"',
        'title = "x"\nwhat = 1\n[[load]]\nrw = "read"\n[[require]]\nrate = 5',
        'title = "x"\n[[load]]\nrw = "read"\n[[require]]\nrate = 5\nsource = "nobody"',
        "title =",
    ],
)
def test_a_file_that_is_no_use_is_refused(tmp_path, broken):
    (tmp_path / "mine.toml").write_text(broken)
    with pytest.raises(UsageError) as refused:
        read_uses(f"{tmp_path}/mine.toml")
    assert refused.value.remedy


def test_the_example_is_a_use(tmp_path):
    (tmp_path / "mine.toml").write_text(example())
    (use,) = read_uses(f"{tmp_path}/mine.toml:users=7")
    assert "7 users" in use.title
    assert {one.source.title for one in use.requires} == {"The shop's own agreement", ""}


# -- the answer ------------------------------------------------------------------------------------------------

FLUSHES = Requirement("log", Quantity.FLUSH, 10 * MS, 99.0)


def test_a_share_of_slow_flushes_is_held_against_what_the_percentile_leaves():
    every = {slow: judge(FLUSHES, [_visit(n, slow + n % 2) for n in range(60)], "") for slow in (0, 2, 8)}
    assert [every[slow].answer for slow in (0, 2, 8)] == [Answer.PASS, Answer.UNDECIDED, Answer.FAIL]
    assert every[0].margin == pytest.approx(10)
    assert every[8].low <= every[8].value <= every[8].high


def test_frames_that_miss_their_deadline_are_counted():
    for name, deadline in (("media:ahead=6", 250 * MS), ("surveillance", 2e9)):
        (use,) = read_uses(name)
        needed = replace(use.requires[0], limit=10 * MS)
        assert (use.requires[0].limit, needed.misses) == (deadline, True)
        late = 100 - needed.percentile
        assert f"at most {late:.2g}% of" in needed.words
        visits = [_visit(n, round(8 * late)) for n in range(60)]  # of 200 writes
        visits = [replace(one, parts=(replace(one.parts[0], direction=needed.quantity.value),)) for one in visits]
        found = judge(needed, visits, "")
        assert found.answer is Answer.FAIL
        assert found.missed == pytest.approx(round(8 * late) / 200)
        assert f"{100 * found.missed:.2g}% were, p" in fits.value_text(found)


def test_without_a_page_cache_a_flush_takes_as_long_as_its_write_too():
    """Writes of 30 ms whose flush has nothing left to do are no log that a flush of 10 ms fits."""
    visits = [_visit(n, 0, latency=30e6) for n in range(20)]
    quick = Histogram(((100_000, 200),))
    flush = Flush(200, 1e5, quick, 3e7, visits[0].parts[0].histogram)
    visits = [replace(one, parts=(replace(one.parts[0], flush=flush, lat_kind="flushed"),)) for one in visits]
    assert judge(FLUSHES, visits, "").answer is Answer.PASS
    with_write = judge(replace(FLUSHES, written=True), visits, "")
    assert with_write.answer is Answer.FAIL
    assert with_write.value == pytest.approx(30 * MS, rel=0.02)


@pytest.mark.parametrize(
    ("needed", "most"),
    [
        (FLUSHES, 0.07),  # 12 of 200 take 10 ms too long, and 2 may: 120 ms, of a window of 1 s
        (replace(FLUSHES, percentile=None, limit=2 * MS), 0.1),  # 2.14 ms on the mean
        (Requirement("log", Quantity.RATE, 110e6, None), 0.11),
    ],
)
def test_it_fails_only_where_waiting_for_a_processor_cannot_be_why(needed, most):
    for waited, answer in ((0.5 * most, Answer.FAIL), (2 * most, Answer.UNDECIDED)):
        visits = [replace(_visit(n, 12, rate=100e6 + n % 3), waiting=waited) for n in range(60)]
        found = judge(needed, visits, "")
        assert found.answer is answer, (waited, found)
        assert found.waited == pytest.approx(waited if answer is Answer.UNDECIDED else 0)
        assert bool(found.more) == (answer is Answer.UNDECIDED)


def test_what_is_undecided_asks_for_more_windows():
    """Rates that move a lot around a limit, with whatever number of windows."""
    needed = Requirement("data", Quantity.RATE, 20e6)
    for count in range(1, 40):
        rates = [(3e6, 200e6, 4e6, 80e6)[n // 5 % 4] for n in range(count)]
        found = judge(needed, [_visit(n, 0, rate=rate) for n, rate in enumerate(rates)], "")
        assert (found.answer is Answer.UNDECIDED) == (found.more > 0)


def test_what_a_look_decided_stays_decided_while_other_requirements_are_not():
    rates = [100e6 + n % 3 * 1e6 for n in range(12)] + [5e6, 900e6, 2e6, 700e6, 3e6, 800e6]
    visits = [replace(_visit(n, 0, rate=rate), batch_id=n // 6) for n, rate in enumerate(rates)]
    needed = Requirement("data", Quantity.RATE, 80e6)
    assert judge(needed, visits, "").answer is Answer.UNDECIDED
    assert _judged(needed, visits, "", 1) == judge(needed, visits[:12], "")
    assert _judged(needed, [], "", 1).answer is Answer.UNDECIDED


def test_a_few_windows_decide_nothing():
    assert judge(FLUSHES, [_visit(n, 0) for n in range(3)], "").answer is Answer.UNDECIDED
    assert judge(FLUSHES, [], "").answer is Answer.UNDECIDED


def test_what_happens_in_one_window_counts_as_one_event():
    """Forty slow flushes in one window of twenty say less than two in each."""
    burst = judge(FLUSHES, [_visit(n, 160 if n == 7 else 0) for n in range(20)], "")
    spread = judge(FLUSHES, [_visit(n, 8) for n in range(20)], "")
    assert (burst.answer, spread.answer) == (Answer.UNDECIDED, Answer.FAIL)


@pytest.mark.parametrize(("rate", "answer"), [(0.9, Answer.FAIL), (1.1, Answer.PASS)])
def test_a_rate_is_held_against_what_is_needed(rate, answer):
    needed = Requirement("data", Quantity.RATE, 100e6)
    found = judge(needed, [_visit(n, 0, rate=rate * (99e6 + n % 3 * 1e6)) for n in range(12)], "")
    assert found.answer is answer
    assert found.margin == pytest.approx(rate, rel=0.02)


def test_a_backup_passes_once_all_of_it_was_written():
    needed = Requirement("data", Quantity.RATE, 50e6, bytes=2_000_000_000)
    visits = [_visit(n, 0) for n in range(20)]
    assert judge(needed, visits[:12], "").answer is Answer.UNDECIDED
    assert judge(needed, visits[:12], "").more >= 8
    assert judge(needed, visits, "").answer is Answer.PASS


# -- a whole campaign ------------------------------------------------------------------------------------------


def _told(world):
    (fit,) = load_fits(world.journal())
    return fit.answer, [one.answer for _, one in fit.judged]


def test_a_fast_target_fits_in_seconds_and_is_left_as_it_was(tmp_path):
    world = World(tmp_path)
    begin = world.clock.monotonic()
    world.run(FIT)
    assert _told(world)[0] is Answer.PASS
    assert world.clock.monotonic() - begin < 90
    world.check()


def test_a_slow_target_does_not_fit_and_says_which_requirement(tmp_path):
    slow = Law(random_read=Way(12e-3, 500, 50e6), read=Way(1e-3, 5000, 2e9), write=Way(1e-4, 9000, 1e9), noise=0.01)
    world = World(tmp_path, slow)
    world.run(FIT)
    answer, each = _told(world)
    assert answer is Answer.FAIL
    assert each[0] is Answer.FAIL


def test_where_windows_drain_for_long_each_is_waited_for(tmp_path):
    large = tmp_path / "large.toml"
    large.write_text(
        'title = "x"\n[[load]]\nrw = "read"\nbs = "512k"\niodepth = 8\nsize = "8m"\n[[require]]\nrate = "3MB/s"\n'
    )
    world = World(tmp_path, Law(read=Way(1e-3, 5000, 0.4e6), write=Way(1e-4, 9000, 1e9), noise=0.01))
    world.run(f"fit = '{large}'\nbudget = '5m'\n[target]\npath = 'TARGET'\n")
    assert _told(world)[0] is Answer.FAIL
    visits = sorted(world.journal().visits(), key=lambda one: one.started_at)
    assert all(one.started_at + one.ran_ms / 1000 <= other.started_at for one, other in pairwise(visits))
    world.check()


def test_a_target_that_is_written_slowly_gets_smaller_files(tmp_path):
    large = tmp_path / "large.toml"
    large.write_text('title = "x"\n[[load]]\nrw = "randread"\ndirect = 0\nsize = "64m"\n[[require]]\niops = 100\n')
    world = World(tmp_path, Law(write=Way(1e-3, 5000, 1e6), random_read=Way(1e-4, 9000, 1e9), noise=0.01))
    world.run(f"fit = '{large}'\nbudget = '2m'\n[target]\npath = 'TARGET'\n")
    (cell,) = (cell for cell, _ in world.journal().cells())
    assert 4 << 20 <= cell.size_bytes <= 32 << 20
    assert cell.size_bytes % (1 << 20) == 0
    assert _told(world)[0] is Answer.PASS
    assert any("instead of" in text for _, text in world.journal().remarks())
    own = load_fits(world.journal())
    assert (
        fits_measured(world.journal(), [one.use for one in own], ()) == own
    )  # a campaign answers its own uses as it did
    world.check()


def test_the_command_tells_the_answer_and_ends_with_its_status(tmp_path):
    listed = json.loads(call("fit", "--list", "--json").stdout)
    assert {"etcd", "postgres", "vm-host", "training"} <= {one["use"] for one in listed}
    assert call("fit", tmp_path).returncode == 2
    plan = call("fit", tmp_path, "--for", "etcd,restore:10g in 1h", "--dry-run", "--json")
    assert [one["use"] for one in json.loads(plan.stdout)["uses"]] == ["etcd", "restore:10g in 1h"]
    plan = json.loads(call("fit", tmp_path, "--for", "vm-host", "--max", "--dry-run", "--json").stdout)
    assert len(plan["uses"]) == len(LADDER)
    shown = call("fit", tmp_path, "--for", "vm-host", "--max", "--dry-run").stdout
    assert plan["uses"][-1]["use"] in shown
    assert plan["uses"][1]["requires"][-1] not in shown
    assert list(tmp_path.iterdir()) == []


# -- by a campaign that was measured ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("low", "high", "limit", "answer"),
    [(60, 160, 20, "pass"), (60, 160, 50, "undecided"), (60, 160, 300, "fail"), (90, 110, 85, "pass")],
)
def test_a_law_that_is_unsure_decides_what_lies_far_from_the_limit(monkeypatch, low, high, limit, answer):
    cell = Cell.of("nas", {"rw": "read", "bs": 4096, "size": 1 << 30})
    told = Estimate(cell, "read", "predicted", 0, iops=100.0, iops_low=low, iops_high=high)
    monkeypatch.setattr(fits, "measured", lambda *_: told)
    monkeypatch.setattr(fits, "foretold", lambda *_: (told,))
    laws = {"nas": SimpleNamespace(courses=[SimpleNamespace(cell=cell, counted=True)])}
    assert fits._by_law(Requirement("reads", Quantity.IOPS, limit), cell, cell, [], laws).answer == answer


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """A map of a target that makes 1,000 random reads a second alone and 2,000 at most, and flushes in 4 ms."""
    law = Law(
        read=Way(1e-3, 2_000, 1e9),
        write=Way(5e-4, 1_500, 5e8),
        random_read=Way(1e-3, 2_000, 1e9),
        random_write=Way(5e-4, 1_500, 5e8),
        flush_seconds=4e-3,
        noise=0.01,
    )
    world = World(tmp_path_factory.mktemp("measured"), law)
    world.run(BY_LAW.replace("direct = 0\n", "").replace("20s", "60s"))
    return world.journal(), load_result(world.directory).estimates


LOG = {"rw": "write", "bs": 2300, "direct": 0, "fdatasync": 1, "file_append": 1}
READS, PACED, MIX = {"rw": "randread"}, {"rw": "randread", "rate_iops": 400}, {"rw": "randrw", "rwmixread": 50}


@pytest.mark.parametrize(
    ("load", "needed", "answer"),
    [
        (LOG, Requirement("l", Quantity.FLUSH, 40 * MS, 99.0), "pass"),
        (LOG, Requirement("l", Quantity.FLUSH, 10 * MS, 99.0), "undecided"),  # another load: 4 times it is not sure
        (LOG, Requirement("l", Quantity.FLUSH, 1 * MS, 99.0), "fail"),
        (LOG, Requirement("l", Quantity.IOPS, 30), "pass"),
        (READS, Requirement("l", Quantity.READ, 4 * MS, 99.0), "pass"),
        (READS, Requirement("l", Quantity.READ, 1 * MS, 99.0), "fail"),
        (READS | {"iodepth": 8}, Requirement("l", Quantity.READ, 6 * MS, 99.0), "undecided"),  # asks for more
        (READS | {"iodepth": 8}, Requirement("l", Quantity.READ, 1 * MS, 99.0), "fail"),
        (PACED, Requirement("l", Quantity.READ, 4 * MS, 99.0), "pass"),
        (PACED, Requirement("l", Quantity.READ, 1 * MS, 99.0), "undecided"),  # asks for less
        (PACED, Requirement("l", Quantity.KEPT, 0.95, asked=400.0), "pass"),
        (PACED | {"iodepth": 80}, Requirement("l", Quantity.KEPT, 0.95, asked=400.0), "pass"),  # it needs no such queue
        (PACED | {"rate_iops": 4000}, Requirement("l", Quantity.KEPT, 0.95, asked=4000.0), "fail"),
        (MIX, Requirement("l", Quantity.IOPS, 300), "pass"),
        (MIX, Requirement("l", Quantity.IOPS, 1000), "undecided"),
        (MIX, Requirement("l", Quantity.IOPS, 9000), "fail"),
        (MIX, Requirement("l", Quantity.READ, 30 * MS, 99.0), "undecided"),  # reads beside writes were not measured
    ],
)
def test_a_campaign_answers_by_loads_that_ask_no_less_or_no_more(measured, load, needed, answer):
    use = Use("mine", "mine", ((Load("l", {"bs": 4096, **load}, 4 << 20),),), (needed,))
    (fit,) = fits_measured(measured[0], [use], measured[1])
    assert fit.answer == answer, fit.judged


def test_what_a_map_measured_a_fit_tells_as_the_map_does(measured):
    needed = Requirement("l", Quantity.IOPS, 500)
    use = Use("mine", "mine", ((Load("l", {"bs": 4096, **READS}, 4 << 20),),), (needed,))
    (((_, told),),) = (fit.judged for fit in fits_measured(measured[0], [use], measured[1]))
    (map_,) = (e for e in measured[1] if (e.cell.rw, e.cell.bs_bytes, e.cell.outstanding) == ("randread", 4096, 1))
    assert (told.value, told.low, told.high) == pytest.approx((map_.iops, map_.iops_low, map_.iops_high))


def test_metrics_tell_each_requirement(measured, tmp_path):
    place = tmp_path / "fit.prom"
    done = call("fit", measured[0].directory, "--for", "etcd,kubernetes-node", "--metrics", place)
    assert done.returncode == 5, done.stderr
    told = dict(line.rsplit(" ", 1) for line in place.read_text().splitlines() if line.startswith("ioatlas_fit"))
    log = 'target="target",use="etcd",requirement="log: p99 of flushes at most 10 ms"'
    assert told[f"ioatlas_fit_requirement_met{{{log}}}"] == "nan"
    assert float(told[f'ioatlas_fit_requirement_limit{{{log},unit="seconds"}}']) == pytest.approx(0.01)
    beside = json.loads(call("show", measured[0].directory, "--json").stdout)["summary"]["beside"]
    [flushed] = [one["reading"]["lat_p99_ns"] for one in beside if one["direction"] == "write"]  # the same number
    assert float(told[f'ioatlas_fit_requirement_value{{{log},unit="seconds"}}']) == pytest.approx(flushed / 1e9)
    node = 'target="target",use="kubernetes-node",requirement="node: at least 300 IOPS"'
    assert told[f"ioatlas_fit_requirement_met{{{node}}}"] == "1.0"
    assert float(told[f"ioatlas_fit_requirement_margin_ratio{{{node}}}"]) > 2
    assert len(told) == 4 * 4


# -- how many --------------------------------------------------------------------------------------------------


def _ladder(truth, blurred=0):
    """Fits of a target that carries so many, asked in the order in which they are wanted; the places asked. blurred: so
    many more stay undecided.
    """
    uses = read_ladder("vm-host")
    answers: dict[int, Answer | None] = {}
    while True:
        found = carried([_rung(use, answers.get(place), place in answers) for place, use in enumerate(uses)])
        if (place := found.next) is None:
            return found, list(answers)
        answers[place] = Answer.PASS if place < truth else None if place < truth + blurred else Answer.FAIL


def _rung(use, answer, asked=True):
    windows = MOST_WINDOWS if asked else 0
    value = use.requires[0].limit if asked and answer is not Answer.FAIL else None
    return Fit(use, "nas", (("cell", Judged(use.requires[0], answer or Answer.UNDECIDED, value, windows=windows)),))


@pytest.mark.parametrize("truth", [0, 1, 5, 16, 100, 5000])
def test_how_many_it_carries_is_found_in_few_steps(truth):
    found, asked = _ladder(truth)
    assert found.low + 1 == min(truth, len(LADDER))
    assert found.answer is (Answer.PASS if truth else Answer.FAIL)
    assert len(asked) == len(set(asked)) <= 15


@pytest.mark.parametrize("truth", [5, 100])
def test_numbers_that_stay_undecided_are_an_interval(truth):
    found, asked = _ladder(truth, blurred=1)
    told = found.finding.values
    assert (told["low"], told["high"], told["failed"]) == (truth, truth + 1, True)
    assert (told["most"], told["above"]) == tuple(f"a host of {n} virtual machines" for n in (truth + 1, truth + 2))
    assert found.answer is Answer.PASS
    assert len(asked) == len(set(asked)) <= 20


def test_the_one_that_was_begun_when_the_budget_ended_is_told():
    first, second, third, *rest = read_ladder("vm-host")
    begun = Fit(second, "nas", (("cell", Judged(second.requires[0], Answer.UNDECIDED, 1.0, windows=4, more=1)),))
    for answer, told in ((Answer.PASS, [first, second]), (None, [])):
        found = carried(
            [_rung(first, answer, bool(answer)), begun, *(_rung(use, None, False) for use in (third, *rest))]
        )
        assert found.answer is Answer.UNDECIDED
        assert [fit.use for fit in found.around] == told
        assert found.finding.values.get("above") == (second.title if told else None)


def test_how_many_is_asked_of_what_is_counted():
    with pytest.raises(UsageError):
        read_ladder("etcd")
    one, two, *_ = read_ladder("training:resnet50 kind=h100")
    assert two.requires[0].limit == 2 * one.requires[0].limit


@pytest.mark.long("procedures")
def test_a_campaign_asks_how_many_and_tells_it(tmp_path):
    world = World(tmp_path)
    world.run(FIT.replace("[target]", "fit_max = true\nbudget = '10m'\n[target]"))
    found = carried(load_fits(world.journal()))
    assert found.answer is Answer.PASS
    assert 0 <= found.low < found.high < len(LADDER)
    world.check()
