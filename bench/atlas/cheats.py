"""Cheats against an atlas: how many are seen, and by what: `python bench/atlas/cheats.py FOLDER [URL]`.

FOLDER is kept: what was measured there is not measured again. URL: of an empty PostgreSQL; SQLite without.

Small campaigns are measured on a real target, a memory behind nbdkit with a delay, by a socket, where nothing but fio
counts bytes, or by TCP. Five are honest. A cheat changes fio's output between its end and its being read, as a patched
tool does, or as a program in fio's place. Each is packed, signed and sent to a real service, twice: as a product of its
own, and as the product of the honest ones.
"""

import dataclasses
import json
import math
import os
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "packages" / "ioatlas-atlas"
sys.path[:0] = [str(one) for one in (ROOT, ROOT / "src", PACKAGE / "src")]

import numpy as np  # noqa: E402

from ioatlas.load.fio.figures import buckets  # noqa: E402

HONEST = 5
LOADS = ["--rw", "randread,read", "--bs", "4k,64k", "--numjobs", "1", "--iodepth", "1,8", "--budget", "25s"]
SHEET = """format = 1
[source]
name = "its maker's data sheet"
date = "2025"
[product]
vendor = "{vendor}"
model = "{model}"
kind = "{kind}"
ports = "{ports}"
[[drives]]
count = 8
kind = "{drive}"
capacity = "4 TB"
[[price]]
what = "whole"
each = 4000
currency = "USD"
[layout]
type = "raid6"
[publishing]
licence = "yes"
"""
ARRAY = {"kind": "all-flash array", "ports": "2 x 100GbE", "drive": "NVMe SSD"}
DISKS = {"kind": "disk array", "ports": "2 x 1GbE", "drive": "7,200 rpm"}
NAS = {"kind": "NAS", "ports": "2 x 10GbE", "drive": "SATA SSD"}


# -- what a cheat does to the output of a batch ---------------------------------------------------------------


def change(folder, of, *, which=bool):
    """Every job of fio's JSON and its logs through `of(job, direction, part)`."""
    path = folder / "fio.json"
    text = path.read_text()
    begin = text.index("{")
    told = json.loads(text[begin:])
    for job in told["jobs"]:
        for name in ("read", "write"):
            if job[name]["total_ios"] and which(job):
                of(job, job[name], folder)
    path.write_text(text[:begin] + json.dumps(told))


def times(rate, late, *, logs=True, cpu=True, bins=True, grid=True, json_rate=True, mean=True):
    """I/Os times `rate`, latencies times `late`; each keyword that is False leaves its part as it was."""

    def of(job, part, folder):
        if json_rate:
            bs = part["io_bytes"] // part["total_ios"]
            part["total_ios"] = round(part["total_ios"] * rate)
            part["io_bytes"] = part["total_ios"] * bs
            part["io_kbytes"] = part["io_bytes"] // 1024
            part["iops"] = part["total_ios"] * 1000 / part["runtime"]
            part["bw_bytes"] = part["io_bytes"] * 1000 // part["runtime"]
            part["bw"] = part["bw_bytes"] // 1024
            for name in part:
                if name.startswith(("bw_m", "bw_dev", "iops_m", "iops_s")) and "samples" not in name:
                    part[name] *= rate
        lat = part["lat_ns"]
        if mean:
            lat["mean"] *= late
        for name in ("min", "max", "stddev"):
            lat[name] = type(lat[name])(lat[name] * late)
        lat["percentile"] = {at: int(value * late) for at, value in lat["percentile"].items()}
        if bins:
            lat["N"] = part["total_ios"]
            moved = {}
            for ns, count in lat["bins"].items():
                place = int(int(ns) * late)
                place = int(buckets(np.array([place]))[0]) if grid else place
                moved[place] = moved.get(place, 0) + count * (rate if json_rate else 1)
            cut = {str(ns): int(count) for ns, count in sorted(moved.items())}
            rest = part["total_ios"] - sum(cut.values())
            most = max(cut, key=cut.get)
            cut[most] += rest
            lat["bins"] = cut
        if cpu:
            job["usr_cpu"], job["sys_cpu"], job["ctx"] = (
                job["usr_cpu"] * rate,
                job["sys_cpu"] * rate,
                round(job["ctx"] * rate),
            )
        if logs:
            rewrite(folder, job["jobname"], rate, late)

    return of


def rewrite(folder, name, rate, late):
    for kind, by in (("bw", rate), ("lat", late)):
        path = folder / f"{name}_{kind}.log"
        lines = [line.split(",", 2) for line in path.read_text().splitlines()]
        path.write_text("".join(f"{at}, {round(int(value) * by)},{rest}\n" for at, value, rest in lines))


def quarter(job):
    """A quarter of the loads, by what they ask for: the same ones in each visit."""
    asked = job["job options"]
    return (asked.get("bs"), asked.get("iodepth"), asked.get("rw")) in {
        ("4096", "8", "randread"),
        ("65536", "8", "read"),
    }


def tail(_job, part, _folder):
    """What is slower than the median is told as the median; the rest stays."""
    lat = part["lat_ns"]
    middle = lat["percentile"]["50.000000"]
    lat["bins"] = {ns: n for ns, n in lat["bins"].items() if int(ns) < middle} | {
        str(middle): sum(n for ns, n in lat["bins"].items() if int(ns) >= middle)
    }
    lat["percentile"] = {at: min(value, middle) for at, value in lat["percentile"].items()}
    lat["max"] = middle


def copied(memory={}):  # noqa: B006 - it is to be kept between batches
    """The logs and figures of a load's first visit stand in all its visits, moved in time."""

    def of(job, part, folder):
        asked = job["job options"]
        key = tuple(asked.get(name) for name in ("bs", "iodepth", "rw"))
        logs = {kind: (folder / f"{job['jobname']}_{kind}.log").read_text() for kind in ("bw", "lat")}
        if key not in memory:
            memory[key] = (json.loads(json.dumps(part)), logs)
            return
        old, old_logs = memory[key]
        if old["runtime"] // 1000 != part["runtime"] // 1000:
            return
        begin = {kind: int(text.split(",")[0]) for kind, text in logs.items()}
        was = {kind: int(text.split(",")[0]) for kind, text in old_logs.items()}
        for kind, text in old_logs.items():
            rows = [line.split(",", 1) for line in text.splitlines()]
            moved = "".join(f"{int(at) - was['lat'] + begin['lat']},{rest}\n" for at, rest in rows)
            (folder / f"{job['jobname']}_{kind}.log").write_text(moved)
        part.clear()
        part.update(json.loads(json.dumps(old)))

    return of


def invented(job, part, folder):
    """Nothing of what was measured: log-normal latencies of 300 us, and all else by them."""
    draw = random.Random(job["jobname"])
    asked = job["job options"]
    flight = int(asked.get("iodepth", 1)) * int(asked.get("numjobs", 1))
    mean = 3e5 * (1 + math.log2(flight) / 3) * draw.uniform(0.97, 1.03)
    rate = flight * 1e9 / mean * part["runtime"] / 1000 / part["total_ios"]
    late = mean / part["lat_ns"]["mean"]
    times(rate, late)(job, part, folder)


def keep(_job, _part, _folder):
    """Nothing is changed."""


CHEATS = {
    "x3 by a program in fio's place": (times(3, 1 / 3), ARRAY),
    "x3, processor time and switches left": (times(3, 1 / 3, cpu=False), ARRAY),
    "x3, everything alike": (times(3, 1 / 3), ARRAY),
    "x3, everything alike, where bytes are counted": (times(3, 1 / 3), ARRAY),
    "x3, everything alike, counters too": (times(3, 1 / 3), ARRAY),
    "x1.3, everything alike": (times(1.3, 1 / 1.3), ARRAY),
    "x3, interval logs not touched": (times(3, 1 / 3, logs=False), ARRAY),
    "x3, latencies left": (times(3, 1), ARRAY),
    "x3, distribution left": (times(3, 1 / 3, bins=False), ARRAY),
    "x3, buckets divided": (times(3, 1 / 3, grid=False), ARRAY),
    "x1000 on a quarter of the loads": (times(1000, 1 / 1000), ARRAY),
    "x3 on a quarter of the loads": (times(3, 1 / 3), ARRAY),
    "x1000 on all": (times(1000, 1 / 1000), ARRAY),
    "x1000 on all, processor time left": (times(1000, 1 / 1000, cpu=False), ARRAY),
    "latencies alone divided by 5, mean left": (times(1, 0.2, mean=False, logs=False), ARRAY),
    "slow half told as the median": (tail, ARRAY),
    "one visit copied into all": (copied(), ARRAY),
    "invented, consistent": (invented, ARRAY),
    "x30 with the sheet of 1 GbE ports and disks": (times(30, 1 / 30), DISKS),
    "disks' sheet on memory": (keep, DISKS),
    "NAS's sheet on memory, loopback": (keep, NAS),
    "NAS's sheet on memory, socket": (keep, NAS),
    "sheet of an array on another's flash": (keep, ARRAY),
}
QUARTER = ("x1000 on a quarter of the loads", "x3 on a quarter of the loads")
WRAPPED, COUNTERS = "x3 by a program in fio's place", "x3, everything alike, counters too"
COUNTED = (COUNTERS, "x3, everything alike, where bytes are counted", "NAS's sheet on memory, loopback")


def apply(name, folder):
    change(folder, CHEATS[name][0], which=quarter if name in QUARTER else bool)


# -- measuring -------------------------------------------------------------------------------------------------


def slug(name):
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def measure(name, location, out):
    """In a process of its own, with the tool patched."""
    from ioatlas.cli import main
    from ioatlas.load.fio import executor
    from ioatlas.load.machine import telemetry

    run = executor.SystemExecutor.run

    def patched(self, load, **how):
        outcome = run(self, load, **how)
        if load.program == "fio" and load.directory.parent.name == "batches" and name in CHEATS and name != WRAPPED:
            apply(name, load.directory)
        return outcome

    executor.SystemExecutor.run = patched
    if name == COUNTERS:
        read = telemetry.Sampler.snapshot
        first = {}

        def counted(self):
            """What the interface carried since the first reading, three times."""
            sample = read(self)
            raw = {place: tripled(text, first) if "net" in place else text for place, text in sample.raw.items()}
            return dataclasses.replace(sample, raw=raw)

        telemetry.Sampler.snapshot = counted
    sys.argv = ["ioatlas", "map", location, "--yes", "--read-only", *LOADS, "-o", str(out)]
    main()


def tripled(text, first):
    """Counters of the loopback interface."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        name, _, fields = line.partition(":")
        if name.strip() == "lo":
            values = [int(one) for one in fields.split()]
            begun = first.setdefault("lo", values)
            lines[number] = f"{name}: " + " ".join(
                str(old + 3 * (now - old)) for old, now in zip(begun, values, strict=True)
            )
    return "\n".join(lines)


def in_place_of_fio():
    """As a program called fio: the real one runs as its child."""
    real = os.environ["REAL_FIO"]
    code = subprocess.run([real, *sys.argv[2:]], close_fds=False, check=False).returncode
    here = Path.cwd()
    if here.parent.name == "batches" and (here / "fio.json").exists():
        apply(WRAPPED, here)
    sys.exit(code)


def campaigns(folder):
    """All that is not there yet."""
    tcp, unix = folder / "tcp.pid", folder / "s"
    unix.unlink(missing_ok=True)
    common = ["nbdkit", "-f", "--filter=delay", "memory", "256M", "delay-read=2ms"]
    servers = [
        subprocess.Popen([*common[:2], "-p", "10987", "-i", "127.0.0.1", "-P", str(tcp), *common[2:]]),
        subprocess.Popen([*common[:2], "-U", str(unix), *common[2:]]),
    ]
    shim = folder / "bin"
    shim.mkdir(exist_ok=True)
    (shim / "fio").write_text(f'#!/bin/sh\nexec {sys.executable} {Path(__file__).resolve()} --fio "$@"\n')
    (shim / "fio").chmod(0o755)
    try:
        for name in [*(f"honest {one}" for one in range(HONEST)), *CHEATS]:
            out = folder / slug(name)
            if (out / "report.html").exists():
                continue
            shutil.rmtree(out, ignore_errors=True)
            location = "nbd://127.0.0.1:10987/" if name in COUNTED else f"nbd+unix:///?socket={unix}"
            env = dict(os.environ, REAL_FIO=shutil.which("fio"))
            if name == WRAPPED:
                env["PATH"] = f"{shim}:{env['PATH']}"
            order = [sys.executable, __file__, "--measure", name, location, str(out)]
            with (folder / f"{slug(name)}.log").open("w") as log:
                code = subprocess.run(order, env=env, stdout=log, stderr=log, check=False).returncode
            if code in (0, 4):
                (out / "visits").touch()
            print(name, code, flush=True)
    finally:
        for one in servers:
            one.terminate()
            one.wait()


def packed(folder, name, model, told):
    """The campaign as a bundle with a sheet, signed by a key of its publisher."""
    place = folder / slug(name)
    (place / "product.toml").write_text(SHEET.format(vendor="Contoso", model=model, **told))
    key = folder / f"{slug(name)}.key"
    if not key.exists():
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    bundle = folder / f"{slug(name)}.{slug(model)}.zip"
    bundle.unlink(missing_ok=True)
    order = [
        sys.executable,
        "-m",
        "ioatlas",
        "bundle",
        str(place),
        "-o",
        str(bundle),
        "--key",
        str(key),
        "--license",
        "CC-BY-4.0",
    ]
    subprocess.run(order, check=True, capture_output=True)
    return bundle


# -- the service -----------------------------------------------------------------------------------------------


def sent(folder, url):
    import sqlalchemy as sa
    from starlette.testclient import TestClient

    from ioatlas_atlas import accounts, audit, best
    from ioatlas_atlas.app import make_app
    from ioatlas_atlas.blobs import Blobs
    from ioatlas_atlas.database import open_database
    from ioatlas_atlas.migrations import migrate
    from ioatlas_atlas.tables import cell, result
    from ioatlas_atlas.traffic import Rate

    database = open_database(url)
    migrate(database)
    client = TestClient(make_app(database, Blobs(folder / "blobs"), rate=Rate(1e9, 1e9)))

    def publish(who, bundle):
        of = accounts.new_account(database, who)
        headers = {"Authorization": f"Bearer {accounts.new_token(database, of)}"}
        said = client.post("/api/v1/results", content=bundle.read_bytes(), headers=headers)
        return said.json().get("id"), said

    def seen(number):
        with database.reading() as link:
            return link.execute(sa.select(cell).where(cell.c.result_id == number)).mappings().all()

    for one in range(HONEST):
        number, said = publish(f"honest-{one}", packed(folder, f"honest {one}", "A1", ARRAY))
        assert number, said.text
        with database.writing() as link:  # as from five clients: here there is one
            link.execute(sa.update(result).where(result.c.id == number).values(testbed=f"client {one}"))
            best.refresh(link)
            audit.note(link, "", "reproduced", "all")
        print(
            f"honest {one}: {sum(bool(row.get('doubt')) for row in seen(number))} of {len(seen(number))} loads doubted",
            sorted({row.get("doubt") for row in seen(number) if row.get("doubt")}),
        )
    print("| cheat | alone | by what | among peers | first in its list |\n|---|---|---|---|---|")
    for name, (_, told) in CHEATS.items():
        if not (folder / slug(name) / "visits").exists():
            said = (folder / f"{slug(name)}.log").read_text().partition("nothing was measured: ")[2].splitlines()[0]
            print(f"| {name} | nothing to publish | {said} | | honest |", flush=True)
            continue
        line, why, alone = [], "", ""
        for model in (slug(name), "A1"):
            who = f"cheat-{list(CHEATS).index(name)}-{'alone' if model != 'A1' else 'among'}"
            number, said = publish(who, packed(folder, name, model, told))
            if number is None:
                line.append("refused")
                why = why or said.text[:200]
                continue
            rows = seen(number)
            doubted = [row for row in rows if row.get("doubt")]
            unfit = sum(not row["usable"] and not row.get("doubt") for row in rows)
            state = client.get(f"/api/v1/results/{number}").status_code
            line.append(
                f"{len(doubted)} of {len(rows)}"
                + (f", {unfit} unfit" if unfit else "")
                + ("" if state == 200 else ", held back")
            )
            counts = {}
            for row in doubted:
                text = re.sub(r"[\d.,]+( ?[kMGTmun]i?B?/?s?| IOPS)?", "n", row["doubt"])
                counts[text] = counts.get(text, 0) + 1
            why = why or "; ".join(sorted(counts, key=counts.get, reverse=True)[:2])
            page = client.get("/api/v1/products?rw=randread&bs=4k&sort=speed").json()
            first = page[next(iter(k for k in page if isinstance(page[k], list)))][0]
            first = first.get("id") or first.get("product", {}).get("id") or str(first)[:60]
            if model != "A1":
                alone = first
            from ioatlas_atlas import queries, removal
            from ioatlas_atlas.records import OPERATOR

            removal.delete(database, Blobs(folder / "blobs"), queries.result_of(database, number, OPERATOR), OPERATOR)
        print(
            f"| {name} | {line[0]} | {why} | {line[-1]} | {'cheat' if alone != 'contoso-a1' else 'honest'} |",
            flush=True,
        )
    database.close()


if __name__ == "__main__":
    if sys.argv[1] == "--measure":
        measure(sys.argv[2], sys.argv[3], Path(sys.argv[4]))
    elif sys.argv[1] == "--fio":
        in_place_of_fio()
    else:
        folder = Path(sys.argv[1])
        folder.mkdir(exist_ok=True)
        campaigns(folder)
        sent(folder, sys.argv[2] if len(sys.argv) > 2 else f"sqlite:///{folder}/atlas-{os.getpid()}.sqlite")
