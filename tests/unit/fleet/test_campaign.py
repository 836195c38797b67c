# SPDX-License-Identifier: Apache-2.0
"""Whole campaigns of several clients, in virtual time: their sum, what each got, and clients that are lost."""

import json
import re

import pytest

from ioatlas.load.fleet.hosts import read_clients
from ioatlas.measure.campaign import load_result
from ioatlas.model.errors import PartialResultError, UsageError
from ioatlas.model.finding import FindingCode
from ioatlas.report.export.to_json import document
from tests.simulate.faults import Fault, FaultKind
from tests.unit.fleet.fleets import FakeClient, FleetWorld
from tests.unit.simulated import World

pytestmark = pytest.mark.usefixtures("no_law")

TEXT = """
{more}
visits = 2
[target]
path = "TARGET"
[sweep]
rw = "randread"
bs = 4096
size = "16m"
numjobs = 2
{sweep}
"""


def text(more="", sweep="", clients="a,b,c"):
    line = f'clients = "{clients}"\n' if clients else ""
    return TEXT.format(more=line + more, sweep=sweep)


@pytest.fixture
def world(tmp_path, monkeypatch):
    monkeypatch.setattr("ioatlas.load.fleet.executor.open_client", lambda host, fio, **_: FakeClient(host, fio))
    return FleetWorld(tmp_path)


def values(world):
    return {e.cell.bs_bytes: e for e in load_result(world.directory).estimates}


def test_the_value_is_the_sum_of_all_clients(world, tmp_path):
    world.run(text())
    world.check()
    alone = World(tmp_path / "alone") if (tmp_path / "alone").mkdir() is None else None
    alone.run(text(clients="", more="window = '2s'"))
    for size, e in values(world).items():
        single = values(alone)[size]
        assert e.bw_bytes_per_s == pytest.approx(3 * single.bw_bytes_per_s, rel=0.03), "each client has it to itself"
        assert e.lat_mean_ns == pytest.approx(single.lat_mean_ns, rel=0.03)
        assert [one.name for one in e.shares.parts] == ["a", "b", "c"]
        assert sum(one.bw_bytes_per_s for one in e.shares.parts) == pytest.approx(e.bw_bytes_per_s, rel=0.02)
        assert e.shares.jain_index == pytest.approx(1, abs=0.01)


def test_only_the_time_in_which_all_ran_counts(world):
    world.executor.skew_ms = {"b": 60}
    world.run(text())
    visits = [visit for visit in world.journal().visits() if visit.clients]
    assert visits
    for visit in visits:
        assert visit.skew_ms == pytest.approx(60, abs=25), "to a log's interval"
        longest = max(part.runtime_ms for part in visit.clients)
        assert visit.parts[0].runtime_ms <= longest - 60 + 25


def test_windows_outweigh_the_skew_that_was_seen(world):
    world.executor.skew_ms = {"b": 400}
    world.run(text())
    made = [visit for visit in world.journal().visits() if visit.clients and not visit.discarded]
    assert made
    assert all(visit.parts[0].runtime_ms >= 10 * visit.skew_ms for visit in made)


def test_visits_of_clients_that_started_too_far_apart_do_not_count(world):
    def later() -> None:
        if len(world.executor.batches) == 2:
            world.executor.skew_ms = {"b": 400}

    world.executor.meanwhile = later
    world.run(text())
    made = [visit for visit in world.journal().visits() if visit.clients and visit.purpose == "sweep"]
    lost = [visit for visit in made if visit.discarded]
    assert lost
    assert all("start skew" in visit.discarded[0].sentence for visit in lost)
    kept = [visit for visit in made if not visit.discarded]
    assert {visit.replicate for visit in lost} <= {visit.replicate for visit in kept}, "each was made again"
    assert all(visit.parts[0].runtime_ms >= 10 * visit.skew_ms for visit in kept)


def test_a_clock_that_is_off_is_set_right(world):
    world.start(text())
    FakeClient.known["c"].offset_ms = -250.0
    world.executor.skew_ms = {"c": -250}
    world.session()
    skews = [visit.skew_ms for visit in world.journal().visits() if visit.clients]
    assert max(skews) < 60


def test_no_two_clients_draw_the_same_offsets_and_each_has_its_own_file(world):
    world.run(text())
    for jobs in world.executor.batches:
        seeds = {name: re.findall(r"randseed=(\d+)", job) for name, job in jobs.items()}
        assert len({tuple(one) for one in seeds.values()}) == 3
        files = {name: set(re.findall(r"filename=\S+/(\S+)", job)) for name, job in jobs.items()}
        assert files == {name: {f"shared.client{n}.dat"} for n, name in enumerate("abc", 1)}
    assert not world.left_on_target()


def test_all_can_work_on_the_same_file(world):
    world.run(text(more='client_range = "same"'))
    names = {
        name for jobs in world.executor.batches for job in jobs.values() for name in re.findall(r"/(shared\S+)", job)
    }
    assert names == {"shared.dat"}


def test_the_number_of_clients_is_an_axis(world):
    world.run(text(sweep="clients = [1, 2, 3]"))
    found = load_result(world.directory)
    by_clients = {e.cell.clients: e for e in found.estimates if e.cell.bs_bytes == 4096}
    assert {n: len(e.shares.parts) >= n for n, e in by_clients.items()} == {1: True, 2: True, 3: True}
    assert by_clients[3].bw_bytes_per_s == pytest.approx(3 * by_clients[1].bw_bytes_per_s, rel=0.04)
    sums = [one.values for one in found.findings if one.code is FindingCode.CLIENTS and "sums" in one.values]
    assert any(one["n_enough"] is None for one in sums), "the clients are the limit"


def test_an_offered_rate_is_shared_among_the_clients(world):
    world.run(text(sweep="rate_iops = 600"))
    (e,) = values(world).values()
    assert e.iops == pytest.approx(1200, rel=0.02), "600 for each of 2 jobs, all clients together"
    assert [one.share for one in e.shares.parts] == pytest.approx([1 / 3] * 3, abs=0.02)
    rates = {
        rate for jobs in world.executor.batches for job in jobs.values() for rate in re.findall(r"rate_iops=(\d+)", job)
    }
    assert rates == {"200"}


@pytest.mark.parametrize("more", ['trace = "TRACE"'])
def test_what_one_client_makes_is_refused(world, more):
    with pytest.raises(UsageError, match="one client"):
        world.start(f'clients = "a,b"\n{more}\n[target]\npath = "TARGET"\n')


def test_what_each_client_got_is_exported(world):
    world.run(text())
    rows = json.loads(json.dumps(document(load_result(world.directory))))["rows"]
    assert {row["n_clients"] for row in rows} == {3}
    assert all(len(row["client_bw_bytes_per_s"]) == 3 for row in rows)
    tables = [table.title for table in load_result(world.directory).tables]
    assert "What each client got" in tables


def lose(name, once=True, down=False):
    """What loses a client while its first batch runs."""
    done = []

    def meanwhile():
        if not done or not once:
            done.append(name)
            FakeClient.known[name].why = "its ssh connection ended"
            FakeClient.known[name].down = down

    return meanwhile


def test_a_client_that_comes_back_is_told_and_the_visits_are_made_again(world):
    world.start(text())
    world.executor.meanwhile = lose("b")
    assert world.session().complete
    told = [said for _, said in world.journal().remarks() if "Client b was lost" in said]
    assert told == ["Client b was lost: its ssh connection ended. It was started again, and the batch is made again."]
    assert all(e.n_visits >= 2 and e.shares.fewest == 3 for e in values(world).values())


def test_a_campaign_stops_for_a_client_that_stays_away_and_goes_on_when_it_is_back(world):
    world.start(text())
    world.executor.meanwhile = lose("b", down=True)
    error = world.tried()
    assert isinstance(error, PartialResultError)
    assert "client b was lost" in error.what
    assert all(client.closed for client in FakeClient.known.values())
    FakeClient.known["b"].down = False
    assert world.session().complete


def test_a_campaign_may_go_on_without_a_client(world):
    world.start(text(more='on_lost_client = "continue"'))
    world.executor.meanwhile = lose("b", down=True)
    assert world.session().complete
    assert any("goes on with 2 of 3 clients: a, c" in said for _, said in world.journal().remarks())
    for e in values(world).values():
        assert [one.name for one in e.shares.parts] == ["a", "c"]
        assert any("made by 2 of 3 clients" in note for note in e.notes)


def test_a_client_whose_disk_is_full_is_named_and_the_campaign_is_made_when_there_is_room(world):
    world.start(text().replace("randread", "randwrite"))
    world.fail(Fault(FaultKind.NO_SPACE, jobs={"rw": "randwrite"}))
    error = world.tried()
    assert isinstance(error, PartialResultError)
    assert re.search(r"[abc]: fio reported error 28 \(No space left on device\)", error.what)
    assert error.remedy.startswith("free some space")
    world.fail()
    assert world.session().complete
    assert all(e.n_visits for e in values(world).values())


def test_a_visit_in_which_one_client_failed_is_made_again(world):
    def fail():
        if len(world.executor.batches) == 1:
            world.fail(Fault(FaultKind.IO_ERROR, jobs={"rw": "randread"}, times=1))

    world.executor.meanwhile = fail
    world.run(text())
    lost = world.rows("select purpose, block, reason from visit where status = 'failed'")
    assert lost == [("sweep", 0, "a: fio reported error 5 (Input/output error)")]
    again = world.rows("select purpose, block from visit where status = 'done' and purpose = 'sweep' order by block")
    assert again == [("sweep", 0), ("sweep", 1)]


def test_a_client_without_a_result_is_found_although_fio_says_nothing(world):
    world.start(text())
    world.executor.silent = "c"
    error = world.tried()
    assert isinstance(error, PartialResultError)
    assert not [visit for visit in world.journal().visits() if visit.clients], "a smaller fleet than asked has no value"


def test_another_fio_is_refused_before_anything_is_begun(world):
    FakeClient(read_clients("b").hosts[0], "").version = "fio-3.40"
    with pytest.raises(UsageError, match=r"fio-3\.40"):
        world.start(text())
    assert not world.directory.exists()


def test_another_fleet_is_told_on_the_way(world):
    world.start(text())
    world.executor.meanwhile = lose("b", down=True)
    world.tried()
    journal = world.journal()
    journal.close()
    FakeClient.known["a"].version = FakeClient.known["c"].version
    FakeClient.known["b"].down = False
    world.session_with("a,c,d")
    told = [said for _, said in world.journal().remarks() if "others than before" in said]
    assert told == ["The clients are others than before: b left; d joined."]


def test_more_clients_than_hosts_are_refused(world):
    with pytest.raises(UsageError, match="5 clients are to take part, and 3"):
        world.start(text(sweep="clients = [1, 5]"))


def test_a_number_of_clients_needs_hosts(world):
    with pytest.raises(UsageError, match="names none"):
        world.start(text(clients="", sweep="clients = [1, 2]"))
