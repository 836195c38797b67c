# SPDX-License-Identifier: Apache-2.0
"""One declaration of an option: file, schema, command line, default and record follow from it."""

import json
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import click
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from ioatlas.cli._options import campaign_option
from ioatlas.measure.procedures.fixed_work.options import FixedWorkOptions
from ioatlas.measure.procedures.load_points.options import streams_of
from ioatlas.measure.procedures.options import (
    CAMPAIGN,
    SniaOptions,
    TraceOptions,
    campaign_toml,
    find_profile,
    read_campaign,
)
from ioatlas.model.errors import UsageError
from ioatlas.model.options import Preparation, SniaTest
from ioatlas.plan.campaign_file import CampaignFormat
from ioatlas.plan.options import FLAG, PATH, PERCENT, Option, choice, declared, duration, integer
from ioatlas.plan.spec import CampaignSpec, ProcedureTable


class Colour(StrEnum):
    RED = "red"
    GREEN = "green"


PAUSE = duration(0.0, 60.0, "a pause of {!r} is too long", "write a time of up to 60s")


@dataclass(frozen=True)
class Toy(ProcedureTable):
    """The table of a procedure that nobody else knows."""

    pause_seconds: Annotated[float, Option(PAUSE, "Pause between visits.", key="pause", flag=True)] = 1.5
    tries: Annotated[int | None, Option(integer(2, 9), "Most tries.", flag=True, always=True)] = 3
    share: Annotated[float | None, Option(PERCENT, "Share that must be met.", flag=True)] = None
    colour: Annotated[Colour, Option(choice(Colour), "Colour of it.", flag=True)] = Colour.RED
    quiet: Annotated[bool, Option(FLAG, "Say nothing.", flag=True)] = False
    book: Annotated[str, Option(PATH, "A book of rules.", flag=True)] = ""
    secret: Annotated[int, Option(integer(0), "Of profiles alone.", shipped=True)] = 0


FORMAT = CampaignFormat((Toy,))
TEXT = 'pause = "2s"\ntries = 5\nshare = "5%"\ncolour = "green"\nquiet = true\nbook = "rules.txt"\n'
READ = Toy(2.0, 5, 0.05, Colour.GREEN, quiet=True, book="rules.txt")


def test_a_file_is_read_and_written_from_the_declaration(tmp_path):
    spec = FORMAT.read(TEXT)
    assert spec.of(Toy) == READ
    assert FORMAT.read(FORMAT.write(spec)) == spec
    (tmp_path / "c.toml").write_text(TEXT)
    assert FORMAT.read_file(tmp_path / "c.toml").of(Toy).book == str(tmp_path / "rules.txt")


def test_what_has_its_default_is_written_only_where_that_is_asked_for():
    assert FORMAT.read("").of(Toy) == Toy()
    assert CampaignSpec().of(Toy) == Toy()
    written = FORMAT.write(FORMAT.read(""))
    assert "tries = 3" in written
    assert all(f"{key} =" not in written for key in ("pause", "share", "colour", "quiet", "book", "secret"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('pause = "2h"\n', ["c.toml:1", "a pause of '2h' is too long", "up to 60s"]),
        ("tries = 1\n", ["c.toml:1", "a whole number of at least 2", "Most tries"]),
        ('\ncolour = "blue"\n', ["c.toml:2", "one of 'red', 'green'", "Colour of it"]),
        ("quiet = 1\n", ["quiet = 1 is not true or false"]),
        ("trys = 1\n", ["unknown key 'trys'", "did you mean 'tries'"]),
        ("secret = 1\n", ["unknown key 'secret'"]),
        ("[sweep]\ntries = 3\n", ["'tries' is a key of the campaign, not a fio option"]),
    ],
)
def test_faults_tell_what_the_declaration_says(text, words):
    with pytest.raises(UsageError) as caught:
        FORMAT.read(text, source="c.toml")
    assert all(word in str(caught.value) for word in words), caught.value


def test_the_schema_says_help_bounds_words_and_default():
    keys = FORMAT.schema()["properties"]
    assert (keys["pause"]["description"], keys["pause"]["default"]) == ("Pause between visits.", "1.5s")
    assert keys["tries"]["anyOf"][0] == {"maximum": 9, "minimum": 2, "type": "integer"}
    assert keys["colour"]["anyOf"][0]["enum"] == ["red", "green"]
    assert keys["book"]["description"].endswith("A path leads from where this file lies.")
    assert "secret" not in keys


def command_line(*arguments):
    """What a command with these options is handed, and its specification."""
    seen = {}

    def command(**values):
        seen.update({key: value for key, value in values.items() if value not in (None, False)})

    for one in declared(Toy):
        command = campaign_option(one)(command) if one.option.flag else command
    result = CliRunner().invoke(click.command()(command), arguments)
    return result, seen


def test_the_command_line_says_the_same_as_a_file(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    result, seen = command_line(
        *("--pause", "2s", "--tries", "5", "--share", "5%", "--colour", "green", "--quiet", "--book", "rules.txt")
    )
    assert result.exit_code == 0, result.output
    spec = FORMAT.apply(CampaignSpec(), seen, lambda key: f"--{key}", folder=tmp_path)
    assert spec.of(Toy) == replace(READ, book=str(tmp_path / "rules.txt"))


def test_help_on_the_command_line_tells_bounds_words_and_default():
    text = " ".join(command_line("--help")[0].output.split())
    assert "--pause TIME Pause between visits. Default: 1.5s." in text
    assert "[2<=x<=9]" in text
    assert "--colour [red|green] Colour of it. Default: red." in text
    assert "--quiet Say nothing." in text
    assert "--secret" not in text


def test_a_fault_on_the_command_line_names_the_option():
    with pytest.raises(UsageError, match="a pause of '2h' is too long") as caught:
        FORMAT.apply(CampaignSpec(), {"pause": "2h"}, lambda key: f"--{key}")
    assert caught.value.where == "--pause"


def test_a_record_keeps_every_option_and_gives_it_back():
    record = FORMAT.read(TEXT).to_record()
    assert (record["pause_seconds"], record["colour"], record["secret"]) == (2.0, "green", 0)
    assert CampaignSpec.from_record(record).of(Toy) == READ


@given(st.floats(min_value=1e-6, max_value=0.999))
def test_a_share_is_written_so_that_it_reads_back_to_the_same(share):
    spec = CampaignSpec().having(Toy(share=share))
    assert FORMAT.read(FORMAT.write(spec)).of(Toy).share == share


OF_0_1 = json.loads((Path(__file__).parent / "journal_specs.json").read_text())
"""Specifications as version 0.1 wrote them into its journals, one of each kind of campaign."""
SINCE = {
    "rest_seconds": 0.0,
    "blocks": None,
    "product": "",
    "together": False,
    "clients": "",
    "client_range": "auto",
    "on_lost_client": "stop",
}
"""Options of every campaign that came since, at their defaults."""


@pytest.mark.parametrize("name", OF_0_1)
def test_a_record_of_before_is_read_and_written_again_without_a_loss(name):
    spec = CampaignSpec.from_record(OF_0_1[name])
    assert json.loads(json.dumps(spec.to_record())) == {**OF_0_1[name], **SINCE}
    assert CampaignSpec.from_record(spec.to_record()) == spec


def test_what_a_record_of_before_says():
    first = CampaignSpec.from_record(OF_0_1["map"])
    assert (first.name, first.targets, first.axes["iodepth"]) == ("record", (("a", "/mnt/nas"),), (1, 2))
    assert (first.precision, first.grade, first.prepare) == (0.3, "certified", Preparation.FILLED)
    assert (first.wanted.name, first.wanted.cap) == ("certified", first.max_visits)
    assert CampaignSpec.from_record(OF_0_1["snia"]).of(SniaOptions).snia is SniaTest.IOPS
    assert CampaignSpec.from_record(OF_0_1["iozone"]).of(FixedWorkOptions) == FixedWorkOptions("iozone2017", ("fio",))
    a, b = streams_of(CampaignSpec.from_record(OF_0_1["streams"])).streams
    assert (a.name, a.region, a.options["bs"], b.share) == ("a", (0.0, 50.0), 8192, 30.0)
    assert CampaignSpec.from_record(OF_0_1["trace"]).of(TraceOptions).trace == "/root/t.iolog"


@pytest.mark.parametrize("name", OF_0_1)
def test_the_campaign_file_of_a_record_reads_back_to_the_same(name):
    """But for what the file leaves to the profile or the trace."""
    spec = CampaignSpec.from_record(OF_0_1[name])
    again = read_campaign(campaign_toml(spec))
    for one in CAMPAIGN.options:
        if one.key not in ("trace", "name") and one.field in spec.to_record():
            assert again.to_record()[one.field] == spec.to_record()[one.field], one.key
    assert again.targets == spec.targets
    assert again.of(SniaOptions) == spec.of(SniaOptions)


def test_an_older_record_lacks_what_came_later():
    old = {name: value for name, value in OF_0_1["map"].items() if name not in ("patterns", "engines", "streams")}
    assert CampaignSpec.from_record(old).of(FixedWorkOptions).engines == ("fio",)
    assert CampaignSpec.from_record(old).patterns == ()


def test_options_that_nobody_here_knows_are_kept():
    record = OF_0_1["map"] | {"of_a_later_version": [1, 2]}
    assert CampaignSpec.from_record(record).to_record()["of_a_later_version"] == [1, 2]


def test_no_two_tables_keep_an_option_under_the_same_name():
    fields = [one.field for one in CAMPAIGN.options]
    keys = [one.key for one in CAMPAIGN.options] + [key for table in CAMPAIGN.tables for key in table.table_keys()]
    assert len(set(fields)) == len(fields)
    assert len(set(keys)) == len(keys)


def test_a_new_record_says_every_option_even_at_its_default():
    record = find_profile("quick").to_record()
    assert {one.field for one in CAMPAIGN.options} <= record.keys()
    assert {one.field for table in CAMPAIGN.tables for one in declared(table)} <= record.keys()
