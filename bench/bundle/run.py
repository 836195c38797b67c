# SPDX-License-Identifier: Apache-2.0
"""Whether bundles are canonical, and what changes to them pass: `python bench/bundle/run.py [--real] [--forged 300]`.

Campaigns of every procedure are made on a simulated target, with --real also with fio on a directory of a real disk.
Each is packed in two processes, with other hash seeds, time zones and working directories: the bytes have to be the
same, and the bundle has to be verified. Then single bytes and single numbers of JSON are changed.
A change is refused when the bundle is not opened or not verified. The last tables are of a forger with a key of their
own, who changes one number and then makes anew everything that follows from it: values, descriptors, counts, hashes,
signature. --forged N numbers are tried in each kind of file of each campaign of --forge NAME.
"""

import argparse
import hashlib
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from tests.load_points import TWO_STREAMS  # noqa: E402
from tests.unit.bundle.made import rederived  # noqa: E402
from tests.unit.procedures.cases import EVERY, make_world  # noqa: E402
from tests.unit.simulated import SMALL_TRACE  # noqa: E402

from ioatlas.bundle import keys, opening, statement  # noqa: E402
from ioatlas.bundle.pack import pack  # noqa: E402
from ioatlas.bundle.redaction import RedactPlan  # noqa: E402
from ioatlas.bundle.statement import DERIVED  # noqa: E402
from ioatlas.bundle.verify import UNFIT, verify  # noqa: E402
from ioatlas.model.errors import IoAtlasError  # noqa: E402
from ioatlas.store import archive  # noqa: E402

NUMBER = re.compile(rb"(?<=[:\[,] )-?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?=\s*[,}\]])|(?<=[:\[,])-?\d+(?:\.\d+)?(?=[,}\]])")
HEAD = """
[target]
path = "TARGET"
[sweep]
size = "16m"
"""
REAL = {
    "dense": f'visits = 2\nwindow = "300ms"{HEAD}rw = ["randread", "write"]\nbs = ["4k", "64k"]\niodepth = [1, 8]\n',
    "few cells": f"""cells = 12
visits = 1
window = "200ms"
{HEAD}
rw = "randread"
bs = ["4k", "8k", "16k", "32k", "64k", "128k", "256k"]
numjobs = [1, 2, 4]
iodepth = [1, 2, 4]
""",
    "fixed work": f'profile = "iozone2017"\nvisits = 1{HEAD}bs = ["64k"]\n'.replace("16m", "4m"),
    "rounds": f'profile = "snia-pts"\nwindow = "200ms"\nbudget = "40s"{HEAD}rwmixread = [0]\nbs = ["4k"]\n',
    "points": f'visits = 1\nwindow = "300ms"{HEAD}[streams]\nload = 400\npoints = [100, 50]\n{TWO_STREAMS}',
    "trace": f'visits = 2\ntrace = "TRACE"{HEAD}numjobs = 4\n'.replace('size = "16m"', ""),
    "tune": "",
}
TUNE = ("--size", "64m", "--budget", "15s", "--max-jobs", "2", "--max-depth", "8")


def ioatlas(*arguments, **variables):
    command = [sys.executable, "-m", "ioatlas", *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), **variables}
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


def simulated(place, only):
    for name in EVERY:
        if only and f"simulated {name}" not in only:
            continue
        world = place / f"simulated {name}"
        world.mkdir()
        make = make_world(world, name)
        make.session()
        yield f"simulated {name}", make.directory


def real(place, only):
    (place / "small.iolog").write_text(SMALL_TRACE)
    for name, text in REAL.items():
        if only and f"fio {name}" not in only:
            continue
        target = place / f"target {name}"
        target.mkdir()
        directory = place / f"fio {name}"
        if not text:
            told = ioatlas("tune", target, *TUNE, "-o", directory)
        else:
            file = place / f"{name}.toml"
            file.write_text(text.replace("TARGET", str(target)).replace("TRACE", str(place / "small.iolog")))
            told = ioatlas("map", "--campaign", file, "-o", directory, "--yes")
        if not (directory / "journal.sqlite").exists():
            print(f"fio {name}: not made: {told.stderr.strip().splitlines()[-2:]}", flush=True)
            continue
        yield f"fio {name}", directory


def pack_one(directory):
    return pack(directory, plan=RedactPlan(), key=keys.load_key(keys.own_path())).data()


def digests_elsewhere(directories):
    """Digests of the bundles as another process packs them: another hash seed, time zone and working directory."""
    command = [sys.executable, __file__, "--digests", *map(str, directories)]
    environment = {**os.environ, "PYTHONHASHSEED": "7", "TZ": "Asia/Kathmandu"}
    return subprocess.run(
        command, capture_output=True, text=True, env=environment, cwd="/", check=True
    ).stdout.splitlines()


def refused(data):
    """Whether a bundle in memory is refused by what every command does on opening it."""
    try:
        opening.checked(archive.of_bytes(data, "changed"))
    except IoAtlasError:
        return True
    return False


def bytes_changed(data, places, generator):
    passed = 0
    for place in places:
        bad = bytearray(data)
        bad[place] ^= generator.randrange(1, 256)
        passed += not refused(bytes(bad))
    return passed


def spread_over_members(data, generator, each):
    """Places in every header and every member, so many in each."""
    with archive.of_bytes(data, "") as opened:
        members = list(opened.members.values())
    parts = [(member.offset, member.data_offset) for member in members]
    parts += [(member.data_offset, member.end) for member in members if member.packed_bytes]
    parts.append((members[-1].end, len(data)))
    places = set()
    for low, high in parts:
        places.update(generator.randrange(low, high) for _ in range(each))
    return sorted(places)


def members_of(data):
    with archive.of_bytes(data, "") as opened:
        return {name: opened.read(name) for name in opened.members}


def numbers(members):
    """(member, start, end) of every number of the JSON in a bundle, the statement left out."""
    return [
        (name, match.start(), match.end())
        for name, data in members.items()
        if name.endswith((".json", ".jsonl")) and name != statement.FILE_NAME
        for match in NUMBER.finditer(data)
    ]


def other_number(text, generator):
    """A number that is 1% or 1 larger or smaller."""
    if re.fullmatch(rb"-?\d+", text):
        value = int(text)
        step = max(1, abs(value) // 100)
        return str(value + generator.choice((step, -step)) if value > step else value + step).encode()
    return repr(float(text) * generator.choice((1.01, 0.99)) or 0.01).encode()


def numbers_changed(members, places, generator):
    passed = 0
    for name, start, end in places:
        data = members[name]
        changed = data[:start] + other_number(data[start:end], generator) + data[end:]
        passed += not refused(archive.as_bytes({**members, name: changed}))
    return passed


def kind_of(name):
    return re.sub(r"\d{5}", "N", name)


def forged(members, each, place, generator):
    """{kind of member: [tried, refused]} of numbers changed by somebody who makes everything anew, and what passed."""
    key_file = place / "forger"
    if not key_file.exists():
        keys.make_key(key_file)
    key = keys.load_key(key_file)
    by_kind = {}
    for one in numbers(members):
        by_kind.setdefault(kind_of(one[0]), []).append(one)
    table, passed = {}, Counter()
    for kind, places in sorted(by_kind.items()):
        tried = generator.sample(places, min(each, len(places)))
        caught = 0
        for name, start, end in tried:
            data = members[name]
            number = other_number(data[start:end], generator)
            changed = {**members, name: data[:start] + number + data[end:]}
            path = place / "forged.ioatlas.zip"
            try:
                path.write_bytes(archive.as_bytes(rederived(changed, key, keep=[name] if name in DERIVED else [])))
                bad = not verify(path).verified
            except (IoAtlasError, *UNFIT):
                bad = True
            caught += bad
            if not bad:
                before = re.findall(rb'"([^"]+)" ?:', data[max(0, start - 400) : start])
                field = before[-1].decode() if before else ""
                passed[kind, field] += 1
                line = data.rfind(b"\n", 0, start) + 1
                was, said = data[start:end].decode(), data[line:start][-160:].decode(errors="replace")
                print(f"  passed: {name} {field}: {was} -> {number.decode()} ...{said!r}", file=sys.stderr, flush=True)
        table[kind] = (len(tried), caught)
    return table, passed


def main():
    asked = argparse.ArgumentParser()
    asked.add_argument("--real", action="store_true")
    asked.add_argument("--also", type=Path, action="append", default=[], help="directory of a finished campaign")
    asked.add_argument("--only", action="append", default=[], metavar="NAME", help="of the campaigns")
    asked.add_argument("--bytes", type=int, default=30_000, help="bytes changed in the smallest bundle, at most all")
    asked.add_argument("--forged", type=int, default=20)
    asked.add_argument("--forge", action="append", default=[], metavar="NAME")
    asked.add_argument("--numbers", type=int, default=2000)
    asked.add_argument("--each", type=int, default=20, help="bytes changed in each header and member")
    asked.add_argument("--disk", type=Path, default=Path("/var/tmp"))
    asked.add_argument("--seed", type=int, default=1)
    asked.add_argument("--digests", type=Path, nargs="+", help="print the digests of these campaigns' bundles only")
    options = asked.parse_args()
    if options.digests:
        for directory in options.digests:
            print(hashlib.sha256(pack_one(directory)).hexdigest())
        return
    generator = random.Random(options.seed)
    with tempfile.TemporaryDirectory(dir=options.disk, prefix="ioatlas-bench-") as folder:
        place = Path(folder)
        os.environ["XDG_CONFIG_HOME"] = os.environ["XDG_STATE_HOME"] = str(place / "config")
        keys.make_key(keys.own_path())
        bundles = {}
        measured = [(directory.name, directory) for directory in options.also]
        measured += real(place, options.only) if options.real else []
        print(f"made by fio: {len(measured)} campaigns\n", flush=True)
        made = [*simulated(place, options.only), *measured]
        elsewhere = digests_elsewhere([directory for _, directory in made])
        print("| campaign | bytes | packed in two processes | verified | visits made again | seconds |")
        print("|---|---|---|---|---|---|")
        for (name, directory), other in zip(made, elsewhere, strict=True):
            data = pack_one(directory)
            path = place / "one.ioatlas.zip"
            path.write_bytes(data)
            begin = time.monotonic()
            found = verify(path)
            seconds = time.monotonic() - begin
            texts = {check.name: check.text for check in found.checks}
            visits = re.search(r"([\d,]+) visits?", texts.get("raw output", ""))
            what = "yes" if found.verified else "; ".join(c.text for c in found.checks if c.state == "failed")
            same = "same bytes" if hashlib.sha256(data).hexdigest() == other else "OTHER BYTES"
            print(f"| {name} | {len(data)} | {same} | {what} | {visits and visits[1]} | {seconds:.1f} |", flush=True)
            bundles[name] = data
        smallest = min(bundles, key=lambda name: len(bundles[name]))
        data = bundles[smallest]
        places = generator.sample(range(len(data)), min(options.bytes, len(data)))
        passed = bytes_changed(data, places, generator)
        print(f"\n{smallest}: {len(places)} of {len(data)} bytes changed, passed {passed}", flush=True)
        for name, data in bundles.items():
            places = spread_over_members(data, generator, options.each)
            members = members_of(data)
            every = numbers(members)
            tried = generator.sample(every, min(len(every), options.numbers // len(bundles)))
            passed = bytes_changed(data, places, generator)
            print(f"{name}: {len(places)} bytes in all its parts, passed {passed};", end=" ")
            print(
                f"{len(tried)} of {len(every)} numbers, passed {numbers_changed(members, tried, generator)}", flush=True
            )
        for name in options.forge or [next((one for one in bundles if one.startswith("fio ")), "simulated trace")]:
            print(f"\n{name}, everything made anew:\n| file | numbers changed | refused |\n|---|---|---|")
            table, passed = forged(members_of(bundles[name]), options.forged, place, generator)
            for kind, (tried, caught) in table.items():
                print(f"| {kind} | {tried} | {caught} |")
            print(f"| all | {sum(t for t, _ in table.values())} | {sum(c for _, c in table.values())} |")
            fields = {f"{kind} {field}": n for (kind, field), n in passed.most_common()}
            print("passed:", json.dumps(fields, indent=1), flush=True)


if __name__ == "__main__":
    main()
