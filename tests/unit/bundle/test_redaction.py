# SPDX-License-Identifier: Apache-2.0
"""What names a site: planted in every kind of file of a campaign, and found nowhere in its bundle."""

import io
import json
import re
import shutil
import sqlite3
import zipfile

import pytest

from ioatlas.answer.results.evidence import is_remote
from ioatlas.bundle.keys import load_key, make_key
from ioatlas.bundle.material import gather
from ioatlas.bundle.pack import pack
from ioatlas.bundle.redaction import Redactor, RedactPlan, read_plan, redactor_of
from ioatlas.bundle.verify import verify
from ioatlas.load.machine import typed_in
from ioatlas.model.errors import UsageError
from ioatlas.store import archive
from tests.unit.bundle.made import bundle_file, campaign, key
from tests.unit.procedures.cases import TRACE
from tests.unit.simulated import Shell, World

SITE = {
    "host": "filer7.corp.example",
    "short host": "filer7",
    "user": "mmustermann",
    "serial": "S3Z9NB0K123456",
    "address": "10.77.3.21",
    "IPv6": "fd12:3456:789a::42",
    "MAC": "52:54:00:ab:cd:ef",
    "uuid": "3f1c8a52-0d7e-4b6a-9c3d-5e2f7a8b9c0d",
    "iqn": "iqn.2001-05.com.equallogic:0-8a0906-x",
    "path": "/srv/kunde-müller/daten",
    "home": "/home/mmustermann/maps",
}
TEXT = "; ".join(f"{name} {value}" for name, value in SITE.items())
FACTS = [
    {"name": "host.name", "value": "filer7.corp.example", "private": True, "kind": "known", "source": "uname"},
    {"name": "device.sda.serial", "value": "S3Z9NB0K123456", "private": True, "kind": "known", "source": "/sys"},
    {"name": "host.kernel", "value": "6.1 built on filer7", "kind": "known", "source": "uname"},
    {"name": "mount.source", "value": "10.77.3.21:/srv/kunde-müller/daten", "kind": "known", "source": "findmnt"},
]


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    """A campaign whose every file, and every text of its journal, tells of its site."""
    directory = tmp_path_factory.mktemp("site") / "campaign"
    shutil.copytree(campaign("points"), directory)
    for name, text in (("job.fio", f"; {TEXT}\n"), ("fio.err", f"fio: {TEXT}\n")):
        with (directory / "batches" / "00001" / name).open("a", encoding="utf-8") as file:
            file.write(text)
    raw = directory / "batches" / "00001" / "fio.json"
    told = json.loads(raw.read_text())
    told["global options"]["description"] = TEXT
    raw.write_text(json.dumps(told, indent=2))
    meter = 'command = "curl -u reader:geheim http://plug/"'
    (directory / "testbed.toml").write_text(f'[facts]\n"nas.drives" = 5\n[power.nas]\n{meter}\n')
    link = sqlite3.connect(directory / "journal.sqlite")
    bed = {"target": "target", "taken_at": 1.7e9, "facts": FACTS, "raw": {"uname": TEXT}}
    record = json.dumps({"ioatlas": "1", "fio": "fio-3.33", "targets": {"target": bed}})
    link.execute("update session set testbed_json = ?", [record])
    link.execute("insert into remark (at, kind, text) values (1.7e9, 'note', ?)", [TEXT])
    link.execute("update campaign set name = 'on filer7 by mmustermann'")
    facts = json.dumps(
        [["fs_type", "ext4"], ["serial", "S3Z9NB0K123456"], ["source", "filer7:/srv/kunde-müller/daten"]]
    )
    link.execute("update target set identity_json = ?", [facts])
    link.commit()
    link.close()
    return directory


def test_what_limits_rests_on_no_private_fact(tmp_path):
    """That a wire is on the way was once told by the server's address, which no bundle holds."""
    facts = [
        {"name": "server.address", "value": "10.77.3.21", "private": True, "kind": "known", "source": "the URI"},
        {"name": "nic.name", "value": "eth0", "kind": "known", "source": "ip -j route get"},
        {"name": "route.local", "value": False, "kind": "known", "source": "ip -j route get"},
    ]
    shared = [fact for fact in facts if not fact.get("private")]
    here, there = (
        typed_in.testbeds({"targets": {"target": {"target": "target", "taken_at": 1.7e9, "facts": told}}}, tmp_path)[
            "target"
        ]
        for told in (facts, shared)
    )
    assert here == there
    assert is_remote(there)


@pytest.fixture(scope="module")
def shared(planted):
    """Its bundle, by the default plan."""
    return pack(planted, plan=RedactPlan())


def texts(data):
    """Everything in a bundle as text, archives in it included."""
    found = []
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for name in archive.namelist():
            inner = archive.read(name)
            found.append((name, name))
            found += texts(inner) if name.endswith(".zip") else [(name, inner.decode(errors="replace"))]
    return found


def test_nothing_of_the_site_is_left_and_the_bundle_is_verified(planted, shared, tmp_path):
    packed = shared
    for name, text in texts(packed.data()):
        for what, value in SITE.items():
            for form in {value, json.dumps(value)[1:-1]}:
                assert form.lower() not in text.lower(), f"{what} in {name}"
    found = verify(bundle_file(tmp_path, packed.data()))
    assert found.verified, found.checks
    told = packed.index["redaction"]
    assert told["kept"] == []
    assert {"hosts", "users", "serials", "paths", "addresses"} <= told["names"].keys()
    assert pack(planted, plan=RedactPlan()).data() == packed.data()


def test_a_drive_has_the_same_name_by_the_same_key_alone(planted, shared, tmp_path):
    make_key(tmp_path / "another")
    keys, named = (key(), load_key(tmp_path / "another")), []
    for packed in (shared, *(pack(planted, plan=RedactPlan(), key=one) for one in keys)):
        text = packed.members["journal/session.jsonl"].decode()
        assert SITE["serial"] not in text
        named.append(re.findall(r'"device\.sda\.identity".*?"value": ?"([0-9a-f]{16})"', text))
    assert named[0] == []
    assert named[1] == [key().name_of(SITE["serial"])]
    assert len(named[2]) == 1
    assert named[1] != named[2]


def test_commands_of_meters_stay_here(shared):
    assert shared.members["campaign/testbed.toml"].decode() == '[facts]\n"nas.drives" = 5\n'


def test_the_same_name_is_replaced_by_the_same_everywhere(shared):
    packed = shared
    by = {name: placeholder for _, name, placeholder in packed.redactor.table()}
    assert packed.index["campaign"]["name"] == f"on {by['filer7']} by {by['mmustermann']}"
    for name in ("campaign/batches/00001/job.fio", "campaign/batches/00001/fio.json", "journal/remark.jsonl"):
        text = packed.members[name].decode()
        assert by["S3Z9NB0K123456"] in text, name
        assert by["10.77.3.21"] in text, name
    target = json.loads(packed.members["journal/target.jsonl"])
    assert target["location"] == by[str(campaign("points").parent / "target")]
    assert target["location"] in packed.members["campaign/batches/00001/job.fio"].decode()


def test_a_plan_keeps_kinds_and_names_more(planted, tmp_path):
    (tmp_path / "plan.toml").write_text('keep = ["addresses"]\nwords = ["uname"]\n')
    packed = pack(planted, plan=read_plan(str(tmp_path / "plan.toml")))
    remarks = packed.members["journal/remark.jsonl"].decode()
    assert SITE["address"] in remarks
    assert SITE["serial"] not in remarks
    assert "uname" not in packed.members["journal/session.jsonl"].decode()
    assert packed.index["redaction"]["kept"] == ["addresses"]
    assert packed.index["redaction"]["words_of_plan"] == 1
    assert "uname" not in packed.members["bundle.json"].decode()


def test_none_replaces_nothing(planted):
    packed = pack(planted, plan=read_plan("none"))
    assert packed.redactor.table() == []
    assert SITE["serial"] in packed.members["journal/remark.jsonl"].decode()


@pytest.mark.parametrize("text", ["keep = 1", "keep = ['x']", "words = ['a']", "other = 1", "x"])
def test_a_plan_that_is_none_is_one_message(tmp_path, text):
    (tmp_path / "plan.toml").write_text(text)
    with pytest.raises(UsageError):
        read_plan(str(tmp_path / "plan.toml"))


def test_a_word_of_the_format_cannot_be_replaced(planted):
    with pytest.raises(UsageError, match="the format has this word"):
        pack(planted, plan=RedactPlan(words=("target",)))


def test_a_target_named_after_its_host_gets_new_keys_and_is_verified(tmp_path):
    world = World(tmp_path)
    world.run(TRACE.replace('path = "TARGET"', 'path = "TARGET"\nname = "filer7"'))
    packed = pack(world.directory, plan=RedactPlan(words=("filer7",)))
    assert packed.index["campaign"]["targets"] == ["word-1"]
    assert packed.index["campaign"]["name"] == "word-1"
    before = {row["cell_key"] for row in gather(world.directory).tables["cell"]}
    rows = [json.loads(line) for line in packed.members["journal/cell.jsonl"].splitlines()]
    assert not before & {row["cell_key"] for row in rows}
    assert verify(bundle_file(tmp_path, packed.data())).verified


@pytest.mark.parametrize(
    "text",
    [
        "1,008 MiB/s at 12:34:56 on 2026-11-23T10:11:12Z",
        "bssplit=4096/50:65536/50",
        "6.18.44-fc-v669 and fio-3.33",
        "/proc/meminfo, /sys/block/vda/queue/nr_requests, /dev/vda",
        "https://www.example.org/data/sheet.pdf",
        "127.0.0.1 and ::1",
        "read/write, I/Os, 1/2, and/or",
        "0.5.1 to 1.7e9",
    ],
)
def test_what_names_no_site_stays(text):
    assert Redactor(RedactPlan()).text(text) == text


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("nfs 10.1.2.3:/export/a", "nfs address-1:/redacted/path-1"),
        ("addr=10.1.2.3,username=joe,vers=3", "addr=address-1,username=user-1,vers=3"),
        ("ssh admin@nas.corp", "ssh user-1"),
        ("filename=/mnt/a/f0:/mnt/a/f1", "filename=/redacted/path-1:/redacted/path-2"),
        ("enx525400abcdef", "enxaddress-1"),
    ],
)
def test_what_no_fact_tells_is_found_by_its_form(text, clean):
    assert Redactor(RedactPlan()).text(text) == clean


def test_a_target_that_is_a_uri_stays_one(planted):
    material = gather(planted)
    material.tables["target"][0]["location"] = "nbd://10.1.2.3:10809/export-of-mine"
    redactor = redactor_of(material, RedactPlan())
    told = redactor.text("uri=nbd://10.1.2.3:10809/export-of-mine")
    assert told == "uri=nbd://host-of-1/redacted-1"


def test_archives_of_logs_are_of_the_one_form(shared):
    name = "campaign/batches/00001/logs.zip"
    logs = archive.of_bytes(shared.members[name], name)
    assert archive.as_bytes({log: logs.read(log) for log in logs.members}) == shared.members[name]


def test_a_target_named_by_a_folder_from_where_one_stood_keeps_its_name(tmp_path, monkeypatch):
    """Its name is in the names of files too: a placeholder of a path would make folders of it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nas1").mkdir()
    (tmp_path / "c.toml").write_text(
        'visits = 2\nwindow = "300ms"\n[sweep]\nrw = ["randread"]\nbs = ["16k"]\nsize = ["1m"]\n'
    )
    shell = Shell()
    done = shell("map", "nas1", "--campaign", "c.toml", "-o", "made", "--yes")
    assert done.returncode == 0, done.stderr
    members = pack(tmp_path / "made", plan=RedactPlan(), key=None).members
    assert any(name.startswith("campaign/layout/nas1/") for name in members)
    assert not any(str(tmp_path).encode() in data for data in members.values())
    found = verify(bundle_file(tmp_path, archive.as_bytes(members)))
    assert found.verified, found.checks
