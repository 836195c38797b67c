# SPDX-License-Identifier: Apache-2.0
"""What is signed: an in-toto statement over every file of a bundle, in a DSSE envelope; where everything stands in a
bundle; and its JSON, written in one form and read without what JSON does not have. Format history (`format` in
bundle.json and in the statement): 1 first version.

https://github.com/in-toto/attestation/blob/main/spec/v1/statement.md, https://github.com/secure-systems-lab/dsse
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from ioatlas.answer.results.library import BUNDLE_ENDING, BUNDLE_INDEX
from ioatlas.bundle.keys import PublicKey, SigningKey, read_public
from ioatlas.model.errors import IoAtlasError, UsageError
from ioatlas.store.archive import SEALED
from ioatlas.store.journal import ORDER

REMEDY = "ask for a bundle that was not changed"
MOST_LEVELS = 60


def pretty(value: Any) -> bytes:
    """A document for people and programs: in its order, indented."""
    return (json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()


def canonical(value: Any) -> bytes:
    """A document that is signed: sorted, without blanks, in ASCII."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def parse(data: bytes, where: str) -> Any:
    """A document. Raises IoAtlasError for NaN, a key that stands twice, too many levels, and what is no JSON."""
    try:
        value = json.loads(data.decode(), parse_constant=_no_number, object_pairs_hook=_once)
    except RecursionError:
        raise IoAtlasError("its JSON has too many levels", where=where, remedy=REMEDY) from None
    except ValueError as error:
        raise IoAtlasError(f"this is no JSON: {str(error)[:100]}", where=where, remedy=REMEDY) from None
    _check_levels(value, where)
    return value


def parse_lines(data: bytes, where: str, most: int) -> Iterator[Any]:
    """A document for each line. Raises as `parse`, and for more than `most` of them."""
    lines = data.split(b"\n")
    if lines.pop() or len(lines) > most:
        raise IoAtlasError(
            f"it has more than {most} lines, or its last one is cut off", where=where, remedy=REMEDY
        ) from None
    return (parse(line, f"{where}:{number}") for number, line in enumerate(lines, start=1))


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands there twice")
    return found


def _check_levels(value: Any, where: str) -> None:
    level, waiting = 0, [value]
    while waiting:
        if level > MOST_LEVELS:
            raise IoAtlasError("its JSON has too many levels", where=where, remedy=REMEDY)
        inside: list[Any] = []
        for one in waiting:
            if isinstance(one, dict):
                inside += [each for each in one.values() if isinstance(each, (dict, list))]
            elif isinstance(one, list) and one and isinstance(one[0], (dict, list)):
                inside += one
            elif isinstance(one, list):
                inside += [each for each in one if isinstance(each, (dict, list))]
        waiting, level = inside, level + 1


FILE_NAME = SEALED
PAYLOAD_TYPE = "application/vnd.in-toto+json"
STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "urn:x-ioatlas:bundle:v{}"
MOST_BYTES = 64 << 20
_REMEDY = "do not use it; ask its maker for another copy"


@dataclass(frozen=True)
class Attestation:
    """subjects: {file: SHA-256}. key: that signed it, None when nobody did."""

    predicate: Mapping[str, Any]
    subjects: Mapping[str, str]
    key: PublicKey | None


def statement(subjects: Mapping[str, bytes], predicate: Mapping[str, Any], version: int) -> bytes:
    """The text that is signed."""
    return canonical(
        {
            "_type": STATEMENT_TYPE,
            "subject": [
                {"name": name, "digest": {"sha256": hashlib.sha256(data).hexdigest()}}
                for name, data in sorted(subjects.items())
            ],
            "predicateType": PREDICATE_TYPE.format(version),
            "predicate": dict(predicate),
        }
    )


def _to_sign(payload: bytes) -> bytes:
    """DSSE's pre-authentication encoding: nothing that is signed can be taken for something else."""
    kind = PAYLOAD_TYPE.encode()
    return b" ".join([b"DSSEv1", str(len(kind)).encode(), kind, str(len(payload)).encode(), payload])


def envelope(payload: bytes, key: SigningKey | None) -> bytes:
    """The file. Without a key it carries no signature."""
    signatures = []
    if key is not None:
        signature = key.sign(_to_sign(payload))
        signatures.append({"keyid": key.public.fingerprint, "sig": base64.b64encode(signature).decode()})
    return canonical(
        {"payload": base64.b64encode(payload).decode(), "payloadType": PAYLOAD_TYPE, "signatures": signatures}
    )


def read(data: bytes, where: str) -> Attestation:
    """The statement, its signature checked against the key that it names. Raises IoAtlasError for any that is not
    as `envelope` writes it.
    """
    held = parse(data, where)
    if not isinstance(held, dict) or held.keys() != {"payload", "payloadType", "signatures"}:
        raise _bad("it is no DSSE envelope", where)
    payload = _decoded(held["payload"], where)
    signatures = held["signatures"]
    told = parse(payload, where)
    if canonical(held) != data or canonical(told) != payload or held["payloadType"] != PAYLOAD_TYPE:
        raise _bad("it is not in its one form", where)
    if not isinstance(signatures, list) or len(signatures) > 1:
        raise _bad("it has more than one signature", where)
    predicate, subjects = _parts(told, where)
    key = _signer(predicate.get("signer"), where)
    if (key is not None) != bool(signatures):
        raise _bad("its signature was taken off, or is not of the key that it names", where)
    for one in signatures:
        if not isinstance(one, dict) or one.keys() != {"keyid", "sig"} or key is None:
            raise _bad("its signature is none", where)
        if one["keyid"] != key.fingerprint or not key.verifies(_decoded(one["sig"], where), _to_sign(payload)):
            raise _bad("its signature does not fit: it is forged, or of another bundle", where)
    return Attestation(predicate, subjects, key)


def _bad(what: str, where: str) -> IoAtlasError:
    return IoAtlasError(what, where=where, remedy=_REMEDY)


def _decoded(text: object, where: str) -> bytes:
    try:
        data = base64.b64decode(str(text), validate=True)
    except ValueError:
        data = b""
    if not data or base64.b64encode(data).decode() != text:
        raise _bad("it is not in its one form", where)
    return data


def _signer(line: object, where: str) -> PublicKey | None:
    if line is None:
        return None
    try:
        key = read_public(str(line), where)
    except UsageError as error:
        raise _bad(error.what, where) from None
    if key.line != line:
        raise _bad("it is not in its one form", where)
    return key


def _parts(told: Any, where: str) -> tuple[dict[str, Any], dict[str, str]]:
    """(predicate, subjects) of a statement."""
    if not isinstance(told, dict) or told.keys() != {"_type", "subject", "predicateType", "predicate"}:
        raise _bad("it is no statement", where)
    predicate, listed = told["predicate"], told["subject"]
    if told["_type"] != STATEMENT_TYPE or not isinstance(predicate, dict) or not isinstance(listed, list):
        raise _bad("it is no statement", where)
    if told["predicateType"] != PREDICATE_TYPE.format(predicate.get("format")):
        raise _bad("it is a statement of another kind", where)
    try:
        subjects = {one["name"]: one["digest"]["sha256"] for one in listed}
    except (TypeError, KeyError):
        raise _bad("its list of files is not valid", where) from None
    if not all(isinstance(name, str) and isinstance(digest, str) for name, digest in subjects.items()):
        raise _bad("its list of files is not valid", where)
    return predicate, subjects


FORMAT = 1
ENDING, INDEX = BUNDLE_ENDING, BUNDLE_INDEX
CRATE = "ro-crate-metadata.json"
PACKAGE = "datapackage.json"
CELLS, RESULT = "data/cells.csv", "data/result.json"
DERIVED = (INDEX, CRATE, PACKAGE, CELLS, RESULT)
"""What is made from the campaign's own files, and can be made anew."""
CAMPAIGN = "campaign/"
"""Before the names of the campaign's own files."""
TABLES = {f"journal/{name}.jsonl": name for name in ORDER}
MOST_TEXT = 64 << 20
_FILES = re.compile(
    r"campaign/(?:(?:campaign|testbed|product)\.toml|tune\.json|trace\.iolog|"
    r"(?:batches|layout|verify|trace|products|configurations)/[^/]+(?:/[^/]+){0,6})"
)


def belongs(name: str) -> bool:
    """Whether a bundle may hold a file of that name."""
    return name in DERIVED or name in TABLES or bool(_FILES.fullmatch(name))
