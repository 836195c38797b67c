# SPDX-License-Identifier: Apache-2.0
"""Campaign files and profiles: what is read, the cells they make, and that every fault names line, key and remedy."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from ioatlas.measure.procedures.fixed_work import plan as fixed_work
from ioatlas.measure.procedures.options import (
    MapOptions,
    campaign_schema,
    campaign_toml,
    find_profile,
    read_campaign,
    read_campaign_file,
)
from ioatlas.measure.procedures.registry import procedure_of
from ioatlas.measure.run.plan import Plan
from ioatlas.model.errors import UsageError
from ioatlas.model.options import ALLOWED
from ioatlas.model.target import Target
from ioatlas.model.units import words
from ioatlas.plan.profiles import described, profiles
from ioatlas.plan.spec import CampaignSpec
from tests.examples import examples
from tests.facts import has

SCHEMA = Path(__file__).parents[3] / "docs" / "campaign.schema.json"

FULL = """
name = "my nas"
visits = 3
budget = "1h30m"
order_seed = 7
window = "2s"
sharing = "private"
cells = 48
precision = "4%"
grade = "certified"
max_visits = 13

[[target]]
name = "a"
path = "/mnt/a"

[[target]]
uri = "nbd://host/x"

[sweep]
rw = ["read", "randtrim"]
bs = "4k..1m"
size = ["64MiB", "1g"]
iodepth = [1, 8]
rwmixread = 70
"""


def test_a_full_file_reads_as_written():
    spec = read_campaign(FULL, source="c.toml")
    assert spec.targets == (("a", "/mnt/a"), ("", "nbd://host/x"))
    assert spec.axes["bs"] == (4096, 8192, 16384, 32768, 65536, 131072, 262144, 524288, 1048576)
    assert spec.axes["size"] == (64 << 20, 1 << 30)
    assert spec.constants == {"rwmixread": 70}
    assert (spec.wanted.name, spec.wanted.precision, spec.wanted.cap) == ("certified", 0.04, 13)
    assert spec.of(MapOptions).cells == 48
    has(spec, visits=3, budget_seconds=5400, order_seed=7, window_seconds=2, sharing="private")


def test_written_out_and_read_back_it_is_the_same():
    spec = read_campaign(FULL, source="c.toml")
    assert read_campaign(campaign_toml(spec), source="d.toml") == spec


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("visits = 0\n", 1, ["visits"]),
        ("visits = 2\nvists = 3\n", 2, ["vists", "did you mean 'visits'"]),
        ('[sweep]\nrw = "read"\nbs = ["4k", "5x"]\n', 3, ["bs", "not a size"]),
        ("[sweep]\nruntime = [1, 2]\n", 2, ["runtime", "not a repeat count", "visits"]),
        ('[sweep]\nfilename = "/etc/passwd"\n', 2, ["filename", "ioatlas alone sets"]),
        ('[sweep]\nexec_prerun = "sh"\n', 2, ["exec_prerun", "not taken"]),
        ("[sweep]\niodpth = [1]\n", 2, ["iodpth", "did you mean 'iodepth'"]),
        ('[sweep]\nbs = "4k..1000k"\n', 2, ["does not reach"]),
        ("[sweep]\nbs = []\n", 2, ["empty"]),
        ('[target]\nname = "x"\n', 1, ["path", "uri"]),
        ('[[target]]\npath = "/a"\n\n[[target]]\npth = "/b"\n', 5, ["pth", "did you mean 'path'"]),
        ('window = "10ms"\n', 1, ["at least 100 ms"]),
        ('budget = "soon"\n', 1, ["not a duration"]),
        ("visits = \n", 1, ["not TOML"]),
        ('profile = "quik"\n', 1, ["no profile 'quik'", "did you mean 'quick'"]),
        ("[sweep]\nbs = [4096, true]\n", 2, ["True"]),
        ('sharing = "both"\n', 1, ["sharing"]),
        ('error = "5%"\n', 1, ["unknown key 'error'", "`cells` says"]),
        ('visits = "two"\n', 1, ["visits = 'two' is not a whole number", "Visits of every cell"]),
        ("visits = true\n", 1, ["visits = True is not a whole number"]),
        ("cells = 1\n", 1, ["at least 3"]),
        ("budget = 0\n", 1, ["the budget is zero"]),
        ("budget = nan\n", 1, ["not a duration"]),
        ("window = inf\n", 1, ["not a duration"]),
        ('window = "9999h"\n', 1, ["at most a day"]),
        ('[sweep]\nbs = ".."\n', 2, ["bs", "not a size"]),
        ('[sweep]\nbs = "4k..768k"\n', 2, ["end the range at 512 KiB"]),
        ('[sweep]\nbs = ["4k,4k,4k,4k"]\n', 2, ["read,write,trim sizes"]),
        ('[sweep]\nbssplit = "4k/x"\n', 2, ["4k/40:64k/60"]),
        ("[sweep]\nnumjobs = true\n", 2, ["True is not a whole number"]),
        ("[sweep]\nnumjobs = inf\n", 2, ["inf is not a whole number"]),
        ('[sweep]\nsize = "9999999p"\n', 2, ["larger than any file"]),
        ("[sweep]\nbs = 2020-01-01\n", 2, ["a number, a text or a list of them"]),
        ('[sweep]\nbs = [["4k"]]\n', 2, ["a number, a text or a list of them"]),
        ('[target]\nname = "../x"\npath = "/a"\n', 2, ["a name of up to 64 letters"]),
        ('sharing = "both"\n', 1, ["one of 'shared', 'private'"]),
        ('sharing = "both"\nvisits = "x"\n', 2, ["1 more key with a fault"]),
        ("str = 1\n", 1, ["unknown key 'str'"]),
        ("sweep = 3\n", 1, ["sweep = 3 is not a table"]),
    ],
)
def test_a_fault_names_line_key_and_remedy(text, line, words):
    with pytest.raises(UsageError) as caught:
        read_campaign(text, source="c.toml")
    message = str(caught.value)
    assert f"c.toml:{line}" in message, message
    assert "what to do" in message
    for word in words:
        assert word in message, message


VALUES = st.one_of(
    st.integers(),
    st.floats(),
    st.booleans(),
    st.dates(),
    st.text("0123456789kmgKiB.,:/%-+ abx", max_size=12),
    st.sampled_from(["..", "4k..", "..4k", "1..1e9", "randread:", "4k/", ":", ",", "1h1h", "-5%"]),
)
KEYS = [*words("visits budget cells order_seed window precision grade max_visits sharing prepare snia")]


def _toml(value):
    if isinstance(value, bool):
        return str(value).lower()
    return json.dumps(value) if isinstance(value, str) else str(value)


@given(
    st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=3),
    st.dictionaries(st.sampled_from(sorted(ALLOWED)), st.one_of(VALUES, st.lists(VALUES, max_size=3)), max_size=3),
)
@examples(300)
def test_whatever_stands_in_a_file_it_is_read_or_refused_in_words(keys, sweep):
    lines = [f"{name} = {_toml(value)}" for name, value in keys.items()] + ["[sweep]"]
    lines += [
        f"{name} = [{', '.join(map(_toml, value))}]" if isinstance(value, list) else f"{name} = {_toml(value)}"
        for name, value in sweep.items()
    ]
    try:
        spec = read_campaign("\n".join(lines), source="c.toml")
    except UsageError as error:
        assert error.remedy  # noqa: PT017
    else:
        assert read_campaign(campaign_toml(spec), source="d.toml") == spec


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_a_file_with_a_byte_order_mark_and_foreign_line_ends_reads_the_same(tmp_path, encoding):
    path = tmp_path / "c.toml"
    path.write_bytes('name = "größe"\r\n[sweep]\r\nbs = ["4k"]\r\n'.encode(encoding))
    spec = read_campaign_file(path)
    assert (spec.name, spec.axes["bs"]) == ("größe", (4096,))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('a = 1\nname = "café"\n'.encode("latin-1"), ["c.toml:2", "not UTF-8 text", "save it as UTF-8"]),
        ("name".encode("utf-16"), ["c.toml:1", "not UTF-8"]),
        (b"# " + b"x" * (5 << 20), ["over 4 MiB"]),
        (None, ["Is a directory"]),
    ],
)
def test_a_file_that_cannot_be_a_campaign_is_refused(tmp_path, content, words):
    path = tmp_path / "c.toml"
    path.mkdir() if content is None else path.write_bytes(content)
    with pytest.raises(UsageError) as caught:
        read_campaign_file(path)
    assert all(word in str(caught.value) for word in words), caught.value


def test_a_file_overrides_the_profile_it_names():
    spec = read_campaign('profile = "quick"\n[sweep]\nbs = ["8k"]\nsize = "64m"\n', source="c")
    assert spec.axes["bs"] == (8192,)
    assert spec.axes["rw"] == find_profile("quick").axes["rw"]
    assert "size" not in spec.axes
    assert spec.constants["size"] == 64 << 20


def test_the_published_schema_is_the_one_in_force():
    assert json.loads(SCHEMA.read_text()) == campaign_schema(), "run `make schema`"
    Draft202012Validator.check_schema(campaign_schema())


def test_default_specification_is_closed_to_typing_errors():
    with pytest.raises(TypeError):
        CampaignSpec(vists=3)


def test_a_key_of_the_campaign_below_sweep_is_told_its_place():
    with pytest.raises(UsageError, match="'visits' is a key of the campaign, not a fio option") as caught:
        read_campaign('[sweep]\nrw = ["read"]\nvisits = 2\n', source="c.toml")
    assert caught.value.where == "c.toml:3, key 'sweep.visits'"
    assert "before [sweep]" in caught.value.remedy


GIB = 1 << 30
CAMPAIGNS = Path(__file__).parents[3] / "examples" / "campaigns"
CELLS = json.loads((Path(__file__).parent / "profile_cells.json").read_text())
"""Number of cells of each profile on a directory named `nas`, and SHA-256 of their keys, one a line, in sweep order."""


def planned(name: str, directory: Path) -> Plan:
    spec = replace(find_profile(name), targets=(("", str(directory)),))
    targets = (Target("nas", "directory", str(directory), free_bytes=10_000 * GIB),)
    return procedure_of(spec).plan(spec, targets, read_only=False)


@pytest.mark.parametrize("name", CELLS)
def test_a_profile_makes_the_cells_it_has_always_made(name, tmp_path, monkeypatch):
    monkeypatch.setattr(fixed_work, "usable_bytes", lambda _: 10_000 * GIB)
    monkeypatch.setattr(fixed_work, "known_memory", lambda _facts: {"client": 16 * GIB})
    keys = [cell.key for cell, _ in planned(name, tmp_path).cells]
    assert {"cells": len(keys), "sha256": hashlib.sha256("\n".join(keys).encode()).hexdigest()} == CELLS[name]


EXAMPLES = {
    "seed2021": {"cells": 1920, "sha256": "81147948cb2185b6007bfb877ed1c47f518d76088d2860ef7e3b83fc897938da"},
    "diskspd2016": {"cells": 120, "sha256": "235e4f4644a02297252f2d97b5fd61ca5a14ad0562cc2e75a777c4c5818b462c"},
    "xdd2008": {"cells": 144, "sha256": "b72a73377516f9f20094732c8eb7b9204d1911f04fb1fa5f9c5507d2aaf60d8b"},
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_sweep_of_a_study_is_an_example(name):
    """With the cells that it had as a profile."""
    spec = replace(read_campaign_file(CAMPAIGNS / f"{name}.toml"), targets=(("", "/mnt/nas"),))
    plan = procedure_of(spec).plan(spec, (Target("nas", "directory", "/mnt/nas"),), read_only=False)
    keys = [cell.key for cell, _ in plan.cells]
    assert {"cells": len(keys), "sha256": hashlib.sha256("\n".join(keys).encode()).hexdigest()} == EXAMPLES[name]
    with pytest.raises(UsageError, match="no profile any more") as refused:
        find_profile(name)
    assert f"examples/campaigns/{name}.toml" in refused.value.remedy


def test_the_number_of_cells_that_a_profile_tells_is_that_of_its_plan():
    told = {each.name: each.n_cells for each in described() if each.n_cells}
    assert {name: CELLS[name]["cells"] for name in told} == told


def test_every_profile_has_its_place_and_its_sentence():
    assert list(profiles()) == [*CELLS]
    assert all(profiles().values())


def test_a_profile_says_what_a_map_made_with_it_notes():
    assert len(find_profile("orion").remarks) == 2
    assert find_profile("quick").remarks == ()


def test_a_mistyped_profile_is_guessed():
    with pytest.raises(UsageError, match="there is no profile 'quik'") as caught:
        find_profile("quik")
    assert "did you mean 'quick'?" in caught.value.remedy
    assert "emerald-like" in caught.value.remedy
