# SPDX-License-Identifier: Apache-2.0
"""Uses that a product fits: told from raw output, kept with every change of what all may see, found and shown."""

import re

import pytest
import sqlalchemy as sa
from made import cell, found, put
from tests.simulate.law import Law, Way
from tests.unit.simulated import Shell, World

from ioatlas.measure.campaign import load_result
from ioatlas.measure.procedures.fit.fits import load_fits
from ioatlas.target import opening
from ioatlas_atlas import accounts, catalogue, extract, queries, removal, spread, tables
from ioatlas_atlas.asked import Asked
from ioatlas_atlas.extracted import FitFound
from ioatlas_atlas.migrations import Form, migrate, newest
from ioatlas_atlas.records import OPERATOR

ETCD = "fit = '{}'\nbudget = '1m'\n[target]\npath = 'TARGET'\n"


def told_of(directory, doubts=()):
    result = load_result(directory).doubted(dict.fromkeys(doubts, "why"))
    return [FitFound(**one) for one in extract._fits(directory, result)]


def test_a_use_is_told_by_its_own_loads_and_by_no_word_of_the_bundle(tmp_path):
    places = [tmp_path / name for name in ("theirs", "own")]
    for place in places:
        place.mkdir()
    world = World(places[0])
    world.run(ETCD.format("etcd"))
    (one,) = told_of(world.directory)
    (own,) = load_fits(world.journal())
    assert (one.use, one.answer, one.margin, one.ways) == ("etcd", own.answer, own.margin, ["write"])
    own = tmp_path / "etcd.toml"
    own.write_text('title = "x"\n[[load]]\nrw = "randread"\ndirect = 0\nsize = "4m"\n[[require]]\niops = 1\n')
    world = World(places[1])
    world.run(ETCD.format(own))
    assert told_of(world.directory) == []


def test_less_than_a_use_works_on_is_not_taken_for_it(tmp_path, monkeypatch):
    monkeypatch.setattr(opening, "_free_bytes", lambda _: 64 << 20)
    world = World(tmp_path)
    world.run(ETCD.format("etcd"))
    (own,) = load_fits(world.journal())
    assert any(one.windows for _, one in own.judged)
    assert told_of(world.directory) == []


def test_of_a_map_the_law_tells_rates_and_nothing_by_a_doubted_load(tmp_path):
    (tmp_path / "t").mkdir()
    ways = Way(1e-3, 20_000, 200e6), Way(1e-3, 20_000, 200e6)
    done = Shell(Law(*ways, noise=0.01))("map", tmp_path / "t", "--budget", "40s", "-o", tmp_path / "d", "-q")
    assert done.returncode == 0, done.stderr
    told = {one.use: one for one in told_of(tmp_path / "d")}
    assert told["checkpoint"].answer == "fail"  # it writes 358 MB/s
    assert 0.5 < told["checkpoint"].margin < 0.62
    # Small loads and flushes were not measured, and reads of holes are none.
    assert not told.keys() & {"cockroachdb", "etcd", "restore"}
    written = [e.cell.key for e in load_result(tmp_path / "d").estimates if e.direction == "write"]
    assert told_of(tmp_path / "d", [(written[0], "write")]) == []


def fit(use, answer="pass", margin=2.0, ways=("read",)):
    return {"use": use, "title": f"a {use}", "answer": answer, "margin": margin, "text": "why", "ways": list(ways)}


def search(database, **asked):
    page = catalogue.search(database, Asked.of(asked).sought())
    return [one.product.model for one in page.entries], page


def test_products_are_found_by_a_use_and_counted(database, desk, alice):
    put(desk, alice, found("a", model="N1", fits=[fit("etcd"), fit("media", margin=9.0)], price_per_tib=50.0))
    put(desk, alice, found("b", model="N2", fits=[fit("etcd", margin=3.0), fit("media", "fail", 0.5)]))
    put(desk, alice, found("c", model="N3", fits=[fit("etcd", "undecided", None)]))
    put(desk, alice, found("d", model="N4", fits=[fit("etcd")], verified=False))
    models, page = search(database, fits="etcd", sort="price")
    assert models == ["N1", "N2"]
    assert page.facets["fits"] == {"etcd": 2, "": 1, "media": 1}
    assert {use: one.model for use, one in page.most_room.items()} == {"etcd": "N2", "media": "N1"}
    assert search(database, fits="etcd", price="60")[0] == ["N1"]
    assert search(database, fits="kafka")[0] == []


def test_the_least_room_of_those_who_say_yes_is_told_and_goes_with_its_result(database, desk, alice):
    bert = accounts.new_account(database, "bert")
    put(desk, alice, found("a", fits=[fit("etcd", margin=5.0)]))
    less = put(desk, bert, found("b", fits=[fit("etcd", margin=1.5), fit("media")]))
    put(desk, bert, found("c", fits=[fit("etcd", "fail", 0.5)]))
    assert catalogue.product_of(database, "contoso-n100").fits == {"etcd": 1.5, "media": 2.0}
    removal.withdraw(database, queries.result_of(database, less), OPERATOR, "a cable")
    assert catalogue.product_of(database, "contoso-n100").fits == {"etcd": 5.0}


def test_nothing_fits_by_a_doubted_load(database):
    best = [{"cell": "0" * 16, "direction": way, "value": 1.0} for way in ("read", "write")]
    what = found(cells=[cell(doubt="why", usable=False)], summary={"headlines": best})
    fits = [
        FitFound(**fit("media")),
        FitFound(**fit("etcd", ways=["write"])),
        FitFound(**fit("vdi", ways=["read", "write"])),
    ]
    marked = spread.marked(database, what.model_copy(update={"fits": fits}), "")
    assert [one.use for one in marked.fits] == ["etcd"]
    assert [one["direction"] for one in marked.summary["headlines"]] == ["write"]


def test_pages_say_what_a_product_fits(client, database, desk, alice):
    number = put(desk, alice, found("a", fits=[fit("etcd", margin=2.5), fit("media", "fail", 0.5)]))
    alike = [fit("kafka", "undecided", None), fit("zoo", "undecided", None)]  # nothing orders these two but their names
    put(desk, alice, found("b", fits=[fit("etcd", "undecided", None), fit("vdi", margin=3.0), *alike]))
    product, home = client.get("/products/contoso-n100").text, client.get("/").text
    rows = re.findall(r'href="/\?fits=(\w+)">.*?<b>. (\w+)</b>', product)
    assert rows == [("etcd", "yes"), ("vdi", "yes"), ("media", "no"), ("kafka", "undecided"), ("zoo", "undecided")]
    assert "1 of 2 say yes" in product
    assert re.findall(r"([\d.]+) times what it needs", product) == ["2.5", "3", "0.5"]
    assert re.findall(r'href="/\?fits=(\w+)&amp;sort=price">(\d+)', home) == [("etcd", "1"), ("vdi", "1")]
    assert client.get(f"/api/v1/results/{number}").json()["result"]["fits"][0]["margin"] == 2.5
    assert client.get("/api/v1/products", params={"fits": "etcd"}).json()["most_room"]["etcd"]["model"] == "N100"


@pytest.mark.parametrize("table", ["result", "product"])
def test_what_was_there_before_fits_nothing_known(client, database, desk, alice, table):
    number = put(desk, alice, found(fits=[]))
    with database.writing() as link:
        link.execute(sa.text("ALTER TABLE product ADD COLUMN words TEXT"))  # as it was in form 7
        link.execute(sa.text(f"ALTER TABLE {table} DROP COLUMN fits"))
        link.execute(sa.update(tables.schema).values(version=7))
    assert migrate(database) == Form(7, newest())
    known = table == "product"  # what a result's bundle fits is not known until it is read again
    assert (queries.result_of(database, number).fits == []) == known
    assert catalogue.product_of(database, "contoso-n100").fits == {}
    for page in (f"/r/{number}", "/products/contoso-n100"):
        assert ("before this atlas held" in client.get(page).text) != known
