"""A database with many results, made by itself: `python bench/atlas/fill.py FOLDER --results 1000000 --depths 1`.

FOLDER gets a PostgreSQL of its own, or with `--sqlite` a file, and bundles: a real campaign that fio made, packed with
as many keys as an account has results, so that the bundle of a result opens, though its cells are not the ones below.
Every result has 20 cells a depth: four kinds of load, five block sizes. Products differ as drives do (a factor of a
thousand in I/Os a second), results of one product by a few per cent. A seventh has no intervals, a twentieth of the
cells is of a cache. Texts of conditions, checks and summary are those of the bundles.
"""

import argparse
import hashlib
import json
import math
import random
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "packages" / "ioatlas-atlas"
sys.path[:0] = [str(one) for one in (ROOT, ROOT / "src", PACKAGE / "src", PACKAGE / "tests" / "real")]

import sqlalchemy as sa  # noqa: E402
from postgresql import Cluster  # noqa: E402

from ioatlas.bundle import keys  # noqa: E402
from ioatlas.bundle.opening import open_bundle, unpack  # noqa: E402
from ioatlas.bundle.pack import pack  # noqa: E402
from ioatlas.bundle.redaction import RedactPlan  # noqa: E402
from ioatlas_atlas import admission, tables  # noqa: E402
from ioatlas_atlas.admission import Limits  # noqa: E402
from ioatlas_atlas.best import refresh  # noqa: E402
from ioatlas_atlas.blobs import Blobs  # noqa: E402
from ioatlas_atlas.database import open_database  # noqa: E402
from ioatlas_atlas.derived import Derived  # noqa: E402
from ioatlas_atlas.fairness import Declaration  # noqa: E402
from ioatlas_atlas.migrations import migrate  # noqa: E402

OPTIONS = "-c listen_addresses= -c shared_buffers=1GB -c maintenance_work_mem=1GB"
OPTIONS += " -c max_wal_size=8GB -c effective_cache_size=8GB"
FILLING = "-c fsync=off -c wal_level=minimal -c max_wal_senders=0 -c full_page_writes=off -c autovacuum=off"
FILLING += " -c default_toast_compression=lz4 -c work_mem=256MB"
LIGHT = ("journal_mode=OFF", "synchronous=OFF", "cache_size=-2000000", "foreign_keys=OFF")
BUNDLE = ROOT / "tests" / "unit" / "bundle" / "formats" / "1-of-0.2.0.ioatlas.zip"
PRODUCTS, BATCH = 3000, 20_000
FIRST_DAY, APART = 1.1e9, 600.0
LOADS = {"randread": 1.0, "randwrite": 0.6, "read": 2.5, "write": 2.5}
SIZES, DEPTHS = (4096, 16384, 65536, 262144, 1048576), (1, 16, 4, 8, 32)

TEMPORARY = (
    """CREATE TEMPORARY TABLE pool (bundle integer, sha256 text, bytes bigint, conditions json, checks json,
         summary json)""",
    """CREATE TEMPORARY TABLE grid (number integer, cell_key text, direction text, rw text, bs bigint, depth integer,
         factor double precision)""",
    """CREATE TEMPORARY TABLE made (n integer PRIMARY KEY, id text, bundle integer, owner_id text, product_id text,
         title text, words text, state text, protocol text, drive text, price double precision, currency text, who text,
         fits json, reached double precision, low double precision, high double precision)""",
)
RESULT = f"""
INSERT INTO result (id, bundle_sha256, bundle_bytes, owner_id, product_id, title, words, state, reason, wants_private,
  embargo, permission, sponsor, conflict, flag, licence_says, verified, signature, signer, protocol, link, drive,
  price_per_tib, currency, conditions, checks, summary, testbed, fits, grade, campaign_id, procedure, measured_at,
  uploaded_at, method_version, tool_version, licence, reproduced, published_at)
SELECT id, sha256, bytes, owner_id, product_id, title, words, state, 'anybody may read it', 1 = 0, '', '', '', '', '',
  'yes', 1 = 1, 'unknown', 'SHA256:' || who, protocol, '1000 Mb/s', drive, price, currency, conditions, checks, summary,
  'of ' || who, fits, 'B', 'campaign ' || n, 'dense_map', {FIRST_DAY} + n * {APART}, {FIRST_DAY} + n * {APART} + 60,
  'gates/1', '0.3.0', 'CC-BY-4.0', 0, {FIRST_DAY} + n * {APART} + 60
FROM made JOIN pool ON pool.bundle = made.bundle ORDER BY n"""
CELL = """
INSERT INTO cell (result_id, number, target, cell_key, direction, rw, bs_bytes, iodepth, numjobs, footprint_bytes,
  streams, loop, options, n_visits, iops, iops_low, iops_high, bw_bytes_per_s, bw_low, bw_high, lat_mean_ns,
  lat_mean_low_ns, lat_mean_high_ns, lat_p99_ns, lat_p99_low_ns, lat_p99_high_ns, verdict, cached, usable)
SELECT id, number, 'target', cell_key, direction, rw, bs, depth, 1, 68719476736, '', 'closed', '{}', 3,
  iops, iops * low, iops * high, iops * bs, iops * bs * low, iops * bs * high, depth * 1e9 / iops,
  depth * 1e9 / iops * low, depth * 1e9 / iops * high, depth * 4e9 / iops, depth * 4e9 / iops * low,
  depth * 4e9 / iops * high, CASE WHEN cached THEN 'cached' ELSE 'steady' END, cached, NOT cached
FROM (SELECT n, id, low, high, grid.*, (n * 31 + number * 7) % 20 = 0 AS cached,
    reached * factor * (0.97 + 0.06 * ((n % 100003 * 7919 + number * 7349) % 1000) / 1000.0) AS iops
  FROM made CROSS JOIN grid) told ORDER BY n, number"""
LATER = {
    "postgresql": """
SELECT pg_get_indexdef(indexrelid), 'DROP INDEX ' || indexrelid::regclass FROM pg_index
WHERE indrelid IN ('result'::regclass, 'cell'::regclass) AND NOT indisprimary UNION ALL
SELECT format('ALTER TABLE cell ADD CONSTRAINT %I %s', conname, pg_get_constraintdef(oid)),
  'ALTER TABLE cell DROP CONSTRAINT ' || conname
FROM pg_constraint WHERE conrelid = 'cell'::regclass AND contype IN ('f', 'p')""",
    "sqlite": """
SELECT sql, 'DROP INDEX ' || name FROM sqlite_master
WHERE type = 'index' AND sql IS NOT NULL AND tbl_name IN ('result', 'cell')""",
}


class Server(Cluster):
    """Set up for its machine, and safe: what it acknowledges is on disk."""

    def start(self, *more):
        options = f"{OPTIONS} -c unix_socket_directories={self.folder} {' '.join(more)}"
        self._run(
            "pg_ctl", "-D", self.folder / "data", "-w", "-t", "400", "-o", options, "-l", self.folder / "log", "start"
        )


def packed(blobs, count):
    """(number, SHA-256, bytes, texts of three columns) of so many bundles of one campaign, which are kept."""
    made = []
    with tempfile.TemporaryDirectory() as folder:
        place, file = (Path(folder) / name for name in ("campaign", "bundle.ioatlas.zip"))
        with open_bundle(BUNDLE) as bundle:
            place.mkdir()
            unpack(bundle, place)
        for number in range(count):
            own = Path(folder) / f"key{number}"
            keys.make_key(own)
            data = pack(place, plan=RedactPlan(), key=keys.load_key(own), licence="CC-BY-4.0").data()
            if not made:
                file.write_bytes(data)
                found = admission.read(file, Declaration(), Limits())
                told = (found.conditions, [one.model_dump() for one in found.checks], found.summary)
                texts = tuple(map(json.dumps, told))
            with blobs.incoming(1 << 30) as incoming:
                incoming.write(data)
                blobs.keep(incoming)
                made.append((number, incoming.sha256, incoming.size_bytes, *texts))
    return made


def grid(depths):
    """Rows of the loads of a result."""
    loads = [(rw, bs, depth) for rw in LOADS for bs in SIZES for depth in DEPTHS[:depths]]
    for number, (rw, bs, depth) in enumerate(loads):
        key = hashlib.md5(f"{rw}{bs}{depth}".encode(), usedforsecurity=False).hexdigest()[:16]
        factor = LOADS[rw] * math.sqrt(depth) * (4096 / bs) ** 0.7
        yield number, key, "read" if "read" in rw else "write", rw, bs, depth, factor


def results(low, high, accounts):
    """What differs between results. No account has a bundle twice."""
    for n in range(low, high + 1):
        drawn, p, place = random.Random(n), 1 + (n * 7919) % PRODUCTS, n + n // PRODUCTS
        bundle, who = divmod(place, accounts)
        protocol = ("NFS", "SMB", "iSCSI", "local", "S3")[n % 5]
        drive = f"8 x {2 + n % 11} TB (WD{n * 31 % 200})"
        words = f"map {n} of m{p} vendor {p % 60} m{p} {drive} {protocol} 1000 mb/s dense_map".lower()
        state = "public" if drawn.random() < 0.93 else drawn.choice(("private", "withdrawn"))
        price = round(20 * math.exp(1.2 * (p % 97) / 30) * drawn.uniform(0.95, 1.05), 2)
        use = {"use": ("etcd", "kafka", "media")[p % 3], "title": "a use", "answer": "pass", "margin": 1 + p % 7}
        fits = json.dumps([{**use, "text": "it does", "ways": ["write"]}]) if n % 3 == 0 else None
        reached = 200 * math.exp(6.9 * random.Random(-p).random())
        low_high = (0.95, 1.05) if drawn.random() < 6 / 7 else (None, None)
        yield (
            n, f"{n:06x}zz", bundle, f"a{who}", f"vendor-{p % 60}-m{p}", f"map {n} of M{p}", words, state, protocol,
            drive, price, "USD" if drawn.random() < 0.8 else "EUR", str(who), fits, reached, *low_high,
        )  # fmt: skip


def put(link, table, rows):
    """Rows as they are, the fastest way."""
    if link.dialect.name == "sqlite":
        rows = list(rows)
        link.connection.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(rows[0]))})", rows)
        return
    with link.connection.cursor() as cursor, cursor.copy(f"COPY {table} FROM STDIN") as copy:
        for row in rows:
            copy.write_row(row)


def fill(engine, pool, count, depths, accounts):
    """So many results with their cells."""
    with engine.begin() as link:
        many = [{"id": f"a{n}", "name": f"evaluator-{n}", "kind": "member", "vendor": ""} for n in range(accounts)]
        link.execute(sa.insert(tables.account).values(created_at=FIRST_DAY), many)
        link.execute(sa.insert(tables.product).values(added_at=FIRST_DAY), list(map(product, range(1, PRODUCTS + 1))))
        later = link.execute(sa.text(LATER[engine.dialect.name])).all()
        for _, drop in later:  # made anew in one go, indexes and references take a fifth of the time
            link.execute(sa.text(drop))
        for order in TEMPORARY:
            link.execute(sa.text(order))
        put(link, "pool", pool)
        put(link, "grid", grid(depths))
        for begin in range(1, count + 1, BATCH):
            last = min(count, begin + BATCH - 1)
            link.execute(sa.text("DELETE FROM made"))
            put(link, "made", results(begin, last, accounts))
            link.execute(sa.text(RESULT))
            link.execute(sa.text(CELL))
            print(f"{last:,} results", file=sys.stderr, flush=True)
        shown = sa.select(tables.result.c.campaign_id, tables.result.c.owner_id).where(
            tables.result.c.state == "public"
        )
        link.execute(sa.insert(tables.publisher).from_select(["campaign_id", "owner_id"], shown))
        for make, _ in later:
            link.execute(sa.text(make))
            print(make, file=sys.stderr, flush=True)
    if engine.dialect.name == "postgresql":  # which does so by itself, later
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as link:
            link.execute(sa.text("VACUUM ANALYZE"))
    with engine.begin() as link:
        begin = time.monotonic()
        refresh(link)
        print(f"the best of {PRODUCTS:,} products in {time.monotonic() - begin:.0f} s", flush=True)


def product(n):
    vendor = n % 60
    named = {"id": f"vendor-{vendor}-m{n}", "vendor": f"Vendor {vendor}", "model": f"M{n}"}
    kinds = ("NAS", "array", "drive", "cloud volume", "software", "")
    told = {
        "kind": kinds[n % 6],
        "media": ("flash", "spindles", "flash and spindles", "")[n % 4],
        "year": 2015 + n % 10,
    }
    return {**named, **told, "vendor_slug": f"vendor-{vendor}"}


def light(connection, _):
    """Of SQLite: what a fill need not have."""
    for pragma in LIGHT:
        connection.execute(f"PRAGMA {pragma}")


def main():
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("folder", type=Path)
    asked.add_argument("--results", type=int, default=100_000)
    asked.add_argument("--depths", type=int, default=5, help="cells of a result: 20 for each")
    asked.add_argument("--sqlite", action="store_true")
    options = asked.parse_args()
    options.folder.mkdir(mode=0o755)
    if options.sqlite:
        url, server = f"sqlite:///{options.folder.absolute() / 'atlas.sqlite'}", None
    else:
        server = Server(options.folder)
        server.start(FILLING)
        url = server.new_database()
    begin = time.monotonic()
    held = open_database(url)
    migrate(held)
    held.close()
    accounts = max(500, options.results // 200)
    blobs = Blobs(options.folder / "blobs")
    pool = packed(blobs, 1 + (options.results + options.results // PRODUCTS) // accounts)
    print(f"{len(pool)} bundles in {time.monotonic() - begin:.0f} s", flush=True)
    engine = sa.create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    if options.sqlite:
        sa.event.listen(engine, "connect", light)
    fill(engine, pool, options.results, options.depths, accounts)
    engine.dispose()
    cells = options.results * 20 * options.depths
    print(f"{options.results:,} results, {cells:,} cells in {time.monotonic() - begin:.0f} s", flush=True)
    held = open_database(url)
    begin, pages = time.monotonic(), Derived(blobs, Limits(), held)
    for _, sha256, *_ in pool:
        pages.made(sha256)
    print(f"pages of {len(pool)} bundles in {time.monotonic() - begin:.0f} s", flush=True)
    held.close()
    if server:
        server.stop()
        server.start()
    print(url)


if __name__ == "__main__":
    main()
