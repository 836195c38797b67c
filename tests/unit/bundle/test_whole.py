# SPDX-License-Identifier: Apache-2.0
"""Campaigns of every procedure: packed, packed again, verified, changed and refused."""

import json
import math
import random
import re

import pytest

from ioatlas.bundle import keys, opening, statement
from ioatlas.bundle.pack import pack
from ioatlas.bundle.redaction import RedactPlan
from ioatlas.bundle.verify import Signature, verify
from ioatlas.measure.campaign import load_result
from ioatlas.model.errors import IoAtlasError, UsageError
from ioatlas.report.export.to_json import document
from ioatlas.store import archive
from ioatlas.store.journal import export
from tests.command_line import call
from tests.unit.bundle.made import bundle_file, campaign, changed, key, packed, rederived, resigned

FEW = ("by law", "points", "highest", "trace")
"""The procedures whose campaigns are short; bench/bundle takes them all, simulated and with fio."""


@pytest.fixture(autouse=True)
def _own_settings(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def failed(found):
    return {check.name for check in found.checks if check.state == "failed"}


@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=pytest.mark.long("bundle")) if one == "highest" else one for one in FEW]
)
def test_packed_again_it_is_the_same_and_it_is_verified(name, tmp_path):
    data = packed(name).data()
    assert pack(campaign(name), plan=RedactPlan(), key=key()).data() == data
    found = verify(bundle_file(tmp_path, data))
    assert [check for check in found.checks if check.state not in ("passed", "told")] == []
    assert found.verified
    assert (found.signature, found.fingerprint) == (Signature.UNKNOWN, key().public.fingerprint)


@pytest.mark.parametrize("name", ["trace", "points"])
def test_opened_it_is_the_campaign(name, tmp_path):
    directory = opening.opened_directory(bundle_file(tmp_path, packed(name).data()))
    mine, opened = (document(load_result(place)) for place in (campaign(name), directory))
    assert opened["rows"] == mine["rows"]
    assert opened["findings"] == mine["findings"]
    (_, tables), (_, again) = export(campaign(name)), export(directory)
    assert again["part"] == tables["part"]
    assert {row["cell_key"] for row in again["cell"]} == {row["cell_key"] for row in tables["cell"]}


def test_whose_signature_it_is_is_told_apart(tmp_path):
    path = bundle_file(tmp_path, packed("trace").data())
    assert verify(path).signature is Signature.UNKNOWN
    assert call("verify", path, "--trusted").returncode == 3
    fingerprint = key().public.fingerprint
    assert call("key", "trust", path, "--name", "Alice", "--fingerprint", fingerprint).returncode == 0
    told = call("verify", path, "--trusted")
    assert told.returncode == 0
    assert "VERIFIED, signed by a key you trust (Alice SHA256:" in told.stdout
    unsigned = bundle_file(tmp_path, pack(campaign("trace"), plan=RedactPlan()).data())
    assert verify(unsigned).signature is Signature.NONE
    assert call("key", "trust", unsigned).returncode == 2
    assert verify(unsigned).verified
    assert call("verify", unsigned, "--trusted").returncode == 3


def test_a_changed_byte_is_refused_wherever_it_is(tmp_path):
    data = packed("highest").data()
    generator = random.Random(3)
    for place in generator.sample(range(len(data)), 100):
        bad = bytearray(data)
        bad[place] ^= 1 << generator.randrange(8)
        told = call("verify", bundle_file(tmp_path, bytes(bad)))
        assert told.returncode == 3, place
        assert "REFUSED" in told.stdout


def test_no_bit_of_the_statement_is_without_meaning(tmp_path):
    """It was deflated once, and the last byte of a deflate stream has bits that nobody reads."""
    data = packed("trace").data()
    member = archive.of_bytes(data, "").members[statement.FILE_NAME]
    assert member.packed_bytes == member.size_bytes
    for place in range(member.end - 40, member.end):
        for bit in range(8):
            bad = bytearray(data)
            bad[place] ^= 1 << bit
            with pytest.raises(IoAtlasError):
                opening.checked(archive.of_bytes(bytes(bad), ""))


def test_a_signature_that_was_taken_off_moved_or_replayed_is_refused(tmp_path):
    mine, other = packed("trace").members, packed("highest").members

    def refused(envelope):
        members = {**mine, statement.FILE_NAME: envelope}
        return verify(bundle_file(tmp_path, archive.as_bytes(members))).signature is Signature.BAD

    held = json.loads(mine[statement.FILE_NAME])
    theirs = json.loads(other[statement.FILE_NAME])
    assert not refused(mine[statement.FILE_NAME])
    assert refused(other[statement.FILE_NAME])
    assert refused(statement.canonical({**held, "signatures": []}))
    assert refused(statement.canonical({**held, "signatures": theirs["signatures"]}))
    assert refused(statement.canonical({**held, "signatures": held["signatures"] * 2}))
    assert refused(statement.canonical({**held, "payloadType": "text/plain"}))
    assert refused(json.dumps(held, indent=1).encode())


class Anybody:
    """Signs with a key of small order, which is no secret of anybody."""

    public = keys.PublicKey((1).to_bytes(32, "little"))

    @staticmethod
    def sign(_message):
        return (1).to_bytes(32, "little") + bytes(32)


def test_a_key_that_anybody_can_sign_with_signs_no_bundle(tmp_path):
    assert verify(bundle_file(tmp_path, archive.as_bytes(resigned(packed("trace").members, Anybody)))).refused


CHANGES = {
    "a value": ("data/result.json", lambda value: value["rows"][0].update(iops=1.01 * value["rows"][0]["iops"])),
    "the trust in it": ("data/result.json", lambda value: value["summary"].update(trust="good and more")),
    "its name": ("bundle.json", lambda value: value["campaign"].update(name="another")),
    "the count of discards": ("bundle.json", lambda value: value["counts"].update(discard_reasons={"late": 3})),
    "the describing file": ("datapackage.json", lambda value: value["resources"].pop()),
    "the crate": ("ro-crate-metadata.json", lambda value: value["@graph"].pop()),
}


@pytest.mark.parametrize("what", CHANGES)
def test_what_does_not_follow_from_raw_output_is_refused_whoever_signed_it(what, tmp_path):
    members = changed(packed("points").members, *CHANGES[what])
    found = verify(bundle_file(tmp_path, archive.as_bytes(resigned(members, key()))))
    assert found.signature is Signature.UNKNOWN
    assert failed(found)


def with_rows(members, table, change):
    """Members with rows of a table of the journal changed by `change(rows)`."""
    name = f"journal/{table}.jsonl"
    rows = [json.loads(line) for line in members[name].splitlines()]
    change(rows)
    text = "".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in rows)
    return {**members, name: text.encode()}


def first(rows, **wanted):
    return next(row for row in rows if all(row[name] == value for name, value in wanted.items()))


ROWS = {
    "bytes of a visit": ("part", lambda rows: rows[1].update(io_bytes=rows[1]["io_bytes"] * 2)),
    "a latency": ("part", lambda rows: rows[1]["histogram"][0].__setitem__(1, 7)),
    "a rate over time": ("part", lambda rows: rows[1]["series"]["bw_bytes_per_s"].__setitem__(0, 1.0)),
    "a visit that was discarded": (
        "visit",
        lambda rows: first(rows, status="done", purpose="sweep").update(status="discarded", reason="late"),
    ),
    "a verdict": ("visit", lambda rows: first(rows, status="done", purpose="sweep").update(verdict="drifting")),
    "a batch that was taken out": ("batch", lambda rows: rows.pop(0)),
    "a ledger that was made smaller": ("ledger", lambda rows: [row.update(bytes=1) for row in rows]),
    "when a batch ran": ("batch", lambda rows: rows[0].update(started_at=rows[0]["started_at"] - 1000)),
}


@pytest.mark.parametrize("what", ROWS)
def test_a_journal_that_is_not_what_was_measured_is_refused_whoever_signed_it(what, tmp_path):
    members = with_rows(packed("points").members, *ROWS[what])
    found = verify(bundle_file(tmp_path, archive.as_bytes(resigned(members, key()))))
    assert failed(found), found.checks


def _as_if_older(members):
    """As somebody says who hopes that less is checked then."""
    members = with_rows(members, "campaign", lambda rows: rows[0].update(tool_version="0.2.0"))
    index = json.loads(members["bundle.json"]) | {"packed_with": "ioatlas 0.2.0"}
    return {**members, "bundle.json": json.dumps(index).encode()}


def _another_job(members):
    name = "campaign/batches/00001/job.fio"
    assert b"direct=0" in members[name]
    return {**members, name: members[name].replace(b"direct=0", b"direct=1")}


def _without_iops(document):
    document["rows"][0].pop("iops")
    document["tool_version"] = "0.2.0"


FORGED = {
    "a verdict": lambda members: with_rows(members, *ROWS["a verdict"]),
    "a job of another load": _another_job,
    "a value": lambda members: changed(members, *CHANGES["a value"]),
    "a name": lambda members: changed(members, "data/result.json", _without_iops),
}


@pytest.mark.parametrize("what", FORGED)
def test_who_claims_another_version_to_be_checked_less_is_not_verified(what, tmp_path):
    members = FORGED[what](packed("points").members)
    honest = verify(bundle_file(tmp_path, archive.as_bytes(resigned(members, key()))))
    assert honest.refused
    keep = ["data/result.json"] if what in ("a value", "a name") else []
    path = bundle_file(tmp_path, archive.as_bytes(rederived(_as_if_older(members), key(), keep=keep)))
    found = verify(path)
    assert (found.refused, found.verified) == (False, False), found.checks
    told = call("verify", path)
    assert (told.returncode, "NOT VERIFIED IN FULL" in told.stdout) == (3, True)
    assert "what ioatlas 0.2.0 made" in told.stdout.splitlines()[-1]
    (text,) = (check.text for check in found.checks if check.state == "note")
    assert ("1 key came later" if what == "a name" else "because its methods changed since 0.2.0; first: ") in text
    assert json.loads(call("verify", path, "--json").stdout)["packed_with"] == found.packed_with == "0.2.0"


def test_a_version_is_told_only_where_it_is_one(tmp_path):
    index = json.loads(packed("trace").members["bundle.json"]) | {"packed_with": "ioatlas 0.2.0\x1b[2J"}
    members = {**packed("trace").members, "bundle.json": json.dumps(index).encode()}
    assert verify(bundle_file(tmp_path, archive.as_bytes(resigned(members, key())))).packed_with == ""


def test_raw_output_that_was_taken_out_or_changed_is_refused_whoever_signed_it(tmp_path):
    members = packed("points").members
    name = "campaign/batches/00001/fio.json"
    without = {key: data for key, data in members.items() if key != name}
    found = verify(bundle_file(tmp_path, archive.as_bytes(resigned(without, key()))))
    assert "raw output" in failed(found)
    text = re.sub(r'"io_bytes": (?=[1-9])', '"io_bytes": 1', members[name].decode(), count=1)
    assert text != members[name].decode()
    found = verify(bundle_file(tmp_path, archive.as_bytes(resigned({**members, name: text.encode()}, key()))))
    assert "raw output" in failed(found)


def _with_forged_law(members):
    """The members with a law that was kept as of a target that is ten times as fast."""

    def forged(line):
        row = json.loads(line)
        if row["name"] == "law":
            record = row["value_json"]["targets"]["target"]
            record |= {"loads": "these", "theta": [value + math.log(10) for value in record["theta"]]}
        return json.dumps(row, separators=(",", ":"))

    name = "journal/outcome.jsonl"
    return {**members, name: "".join(f"{forged(line)}\n" for line in members[name].decode().splitlines()).encode()}


def test_a_law_that_was_kept_otherwise_is_not_believed(tmp_path, monkeypatch):
    """Neither by who opens a bundle nor by who verifies one whose values follow from it."""
    monkeypatch.setattr("ioatlas.answer.law.kept._digest", lambda _: "these")  # its forger knows it as well
    forged = _with_forged_law(packed("dense").members)
    path = bundle_file(tmp_path, archive.as_bytes(rederived(forged, key())))
    assert verify(path).verified
    honest = json.loads(packed("dense").members["data/result.json"])["rows"]
    assert document(load_result(opening.opened_directory(path)))["rows"] == honest
    with monkeypatch.context() as believing:
        believing.setattr("ioatlas.answer.results.by_law.is_opened", lambda _: False)
        told = rederived(forged, key())
    assert json.loads(told["data/result.json"])["rows"] != honest
    assert "values" in failed(verify(bundle_file(tmp_path, archive.as_bytes(told))))


HOSTILE = {
    "a file that no bundle has": {"campaign/.bashrc": b"x"},
    "a journal beside the text": {"campaign/journal.sqlite": b"SQLite format 3\0"},
    "NaN": {"journal/ledger.jsonl": b'{"entry":1,"at":NaN,"target":"t","what":"w","bytes":1}\n'},
    "deep JSON": {"journal/ledger.jsonl": b"[" * 100_000 + b"]" * 100_000 + b"\n"},
    "deep JSON that can be read": {"data/result.json": b"[" * 500 + b"]" * 500},
    "a key twice": {"journal/ledger.jsonl": b'{"entry":1,"entry":2}\n'},
    "a huge number": {"journal/ledger.jsonl": b'{"entry":1' + b"0" * 5000 + b"}\n"},
    "a number beyond SQLite": {
        "journal/ledger.jsonl": b'{"entry":1,"at":1,"target":"target","what":"w","bytes":99999999999999999999}\n'
    },
    "another type": {"journal/ledger.jsonl": b'{"entry":1,"at":{},"target":"t","what":"w","bytes":1}\n'},
    "another column": {"journal/ledger.jsonl": b'{"entry":1,"sql":"x"}\n'},
    "rows cut off": {"journal/ledger.jsonl": b'{"entry":1'},
    "a list for an index": {"bundle.json": b"[]"},
    "a plan that nobody can ask for": {"journal/campaign.jsonl": b""},
}


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_content_is_refused_in_one_message_whoever_signed_it(what, tmp_path):
    members = {**packed("trace").members}
    try:
        forged = resigned({**members, **HOSTILE[what]}, key())
    except TypeError:  # the helper cannot read this index
        forged = {**resigned(members, key()), **HOSTILE[what]}
    path = bundle_file(tmp_path, archive.as_bytes(forged))
    told = call("verify", path)
    assert told.returncode == 3, told
    assert "REFUSED" in told.stdout
    assert "Traceback" not in told.stderr


@pytest.mark.parametrize("data", [b"", b"text", b"PK\3\4" + bytes(100)])
def test_what_is_no_bundle_is_told_apart(data, tmp_path):
    told = call("verify", bundle_file(tmp_path, data))
    assert told.returncode == 2
    assert "no bundle" in told.stderr
    assert call("verify", tmp_path / "none").returncode == 2


def test_a_newer_format_is_not_guessed_at(tmp_path):
    members = changed(packed("trace").members, "bundle.json", lambda value: value.update(format=99))
    found = verify(bundle_file(tmp_path, archive.as_bytes(resigned(members))))
    assert "newer ioatlas" not in str(found.checks)
    assert "format 99" in found.checks[0].text


def test_the_command_line_packs_previews_and_replaces_nothing(tmp_path):
    directory = campaign("trace")
    keys.make_key(keys.own_path())
    path = tmp_path / "a.ioatlas.zip"
    told = call("bundle", directory, "-o", path, "--dry-run")
    assert told.returncode == 0
    assert not path.exists()
    assert f"{directory.parent / 'target'}  →  /redacted/path-1" in told.stderr
    told = call("bundle", directory, "-o", path, "--json", "--license", "CC0-1.0")
    assert json.loads(told.stdout)["signed_by"] == keys.own_public().fingerprint
    assert call("bundle", directory, "-o", path).returncode == 2
    assert "signed by a key you trust (own key" in call("verify", path).stdout


def test_what_has_no_visits_of_its_own_is_no_bundle(tmp_path):
    with pytest.raises(UsageError, match="no journal"):
        pack(tmp_path, plan=RedactPlan())
