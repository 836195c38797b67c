"""A PostgreSQL of its own with many results, made by itself: `python bench/atlas/fill.py FOLDER --results 100000`.

Every result has 100 cells: four kinds of load, five block sizes, five depths (`--depths` for fewer). Products differ as
drives do (a factor of a thousand in I/Os a second), results of one product by a few per cent. A seventh has no
intervals, a twentieth of the cells is of a cache. Texts of conditions, checks and summary are those of a real bundle.
"""

import argparse
import json
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "packages" / "ioatlas-atlas"
sys.path[:0] = [str(one) for one in (ROOT, ROOT / "src", PACKAGE / "src", PACKAGE / "tests" / "real")]

import sqlalchemy as sa  # noqa: E402
from postgresql import Cluster  # noqa: E402

from ioatlas_atlas import admission  # noqa: E402
from ioatlas_atlas.admission import Limits  # noqa: E402
from ioatlas_atlas.best import refresh  # noqa: E402
from ioatlas_atlas.database import open_database  # noqa: E402
from ioatlas_atlas.fairness import Declaration  # noqa: E402
from ioatlas_atlas.migrations import migrate  # noqa: E402

OPTIONS = "-c listen_addresses= -c shared_buffers=1GB -c maintenance_work_mem=1GB"
OPTIONS += " -c max_wal_size=8GB -c effective_cache_size=8GB"
FILLING = "-c fsync=off -c wal_level=minimal -c max_wal_senders=0 -c full_page_writes=off -c autovacuum=off"
FILLING += " -c default_toast_compression=lz4"
PRODUCTS, ACCOUNTS = 3000, 500

ACCOUNT = """
INSERT INTO account (id, name, kind, vendor, created_at)
SELECT 'a' || n, 'evaluator-' || n, 'member', '', 1.7e9 FROM generate_series(1, CAST(:accounts AS integer)) n"""
PRODUCT = """
INSERT INTO product (id, vendor, model, vendor_slug, words, added_at, kind, media, year)
SELECT 'vendor-' || n % 60 || '-m' || n, 'Vendor ' || n % 60, 'M' || n, 'vendor-' || n % 60,
  'vendor ' || n % 60 || ' m' || n, 1.7e9,
  (ARRAY['NAS', 'array', 'drive', 'cloud volume', 'software', ''])[1 + n % 6],
  (ARRAY['flash', 'spindles', 'flash and spindles', ''])[1 + n % 4], 2015 + n % 10
FROM generate_series(1, CAST(:products AS integer)) n"""
RESULT = """
INSERT INTO result (id, bundle_sha256, bundle_bytes, owner_id, product_id, title, words, state, reason, wants_private,
  embargo, permission, sponsor, conflict, flag, licence_says, verified, signature, signer, protocol, link, drive,
  price_per_tib, currency, conditions, checks, summary, testbed, fits, grade, campaign_id, procedure, measured_at,
  uploaded_at, method_version, tool_version, licence, reproduced, published_at)
SELECT lpad(to_hex(n), 6, '0') || 'zz', encode(sha256(n::text::bytea), 'hex'), 90000,
  'a' || 1 + who,
  'vendor-' || p % 60 || '-m' || p, 'map ' || n || ' of M' || p,
  'map ' || n || ' of m' || p || ' vendor ' || p % 60 || ' m' || p || ' ' || lower(drive) || ' ' || lower(protocol)
    || ' 1000 mb/s dense_map',
  CASE WHEN random() < 0.93 THEN 'public' WHEN random() < 0.6 THEN 'private' ELSE 'withdrawn' END,
  'anybody may read it', false, '', '', '', '', '', 'yes', true, 'unknown', 'SHA256:' || md5(n::text), protocol,
  '1000 Mb/s', drive, round((20 * exp(1.2 * (p % 97) / 30.0) * (0.95 + random() / 10))::numeric, 2),
  CASE WHEN random() < 0.8 THEN 'USD' ELSE 'EUR' END,
  CAST(:conditions AS json), CAST(:checks AS json), CAST(:summary AS json), 'of ' || who,
  CASE WHEN n % 3 = 0 THEN json_build_array(json_build_object('use', (ARRAY['etcd', 'kafka', 'media'])[1 + p % 3],
    'title', 'a use', 'answer', 'pass', 'margin', 1 + p % 7, 'text', 'it does', 'ways', json_build_array('write'))) END,
  'B', md5(n::text), 'dense_map', 1.7e9 + n * 600.0, 1.7e9 + n * 600.0 + 60,
  'gates/1', '0.3.0', 'CC-BY-4.0', 0, 1.7e9 + n * 600.0 + 60
FROM (SELECT n, 1 + (n * 7919) % CAST(:products AS integer) AS p,
    (n + n / CAST(:products AS integer)) % CAST(:accounts AS integer) AS who,
    (ARRAY['NFS', 'SMB', 'iSCSI', 'local', 'S3'])[1 + n % 5] AS protocol,
    '8 x ' || 2 + n % 11 || ' TB (WD' || (n * 31) % 200 || ')' AS drive
  FROM generate_series(CAST(:low AS bigint), CAST(:high AS bigint)) n) made"""
CELL = """
INSERT INTO cell (result_id, number, target, cell_key, direction, rw, bs_bytes, iodepth, numjobs, footprint_bytes,
  streams, loop, options, n_visits, iops, iops_low, iops_high, bw_bytes_per_s, bw_low, bw_high, lat_mean_ns,
  lat_mean_low_ns, lat_mean_high_ns, lat_p99_ns, lat_p99_low_ns, lat_p99_high_ns, verdict, cached, usable)
SELECT id, number, 'target', key, CASE WHEN rw LIKE '%read' THEN 'read' ELSE 'write' END,
  rw, bs, depth, 1, 1::bigint << 36, '', 'closed', '{}', 3, iops, iops * low, iops * high,
  iops * bs, iops * bs * low, iops * bs * high, lat, lat * low, lat * high, lat * 4, lat * 4 * low, lat * 4 * high,
  CASE WHEN cached THEN 'cached' ELSE 'steady' END, cached, NOT cached
FROM (SELECT *, depth * 1e9 / iops AS lat FROM (
  SELECT r.id, low, high, g.*, random() < 0.05 AS cached, top * g.factor * (0.97 + random() * 0.06) AS iops
  FROM (SELECT id, CASE WHEN hashtext(id) % 7 <> 0 THEN 0.95 END AS low,
      CASE WHEN hashtext(id) % 7 <> 0 THEN 1.05 END AS high,
      200 * exp(6.9 * (abs(hashtext(product_id)) % 1000) / 1000.0) AS top
    FROM result WHERE id >= :first AND id <= :last) r CROSS JOIN grid g) a) b"""
PUBLISHER = """
INSERT INTO publisher (campaign_id, owner_id) SELECT campaign_id, owner_id FROM result WHERE state = 'public'"""
LATER = """
SELECT pg_get_indexdef(indexrelid), 'DROP INDEX ' || indexrelid::regclass FROM pg_index
WHERE indrelid IN ('result'::regclass, 'cell'::regclass) AND NOT indisprimary UNION ALL
SELECT format('ALTER TABLE cell ADD CONSTRAINT %I %s', conname, pg_get_constraintdef(oid)),
  'ALTER TABLE cell DROP CONSTRAINT ' || conname
FROM pg_constraint WHERE conrelid = 'cell'::regclass AND contype IN ('f', 'p')"""
GRID = """
CREATE TEMPORARY TABLE grid AS SELECT row_number() OVER () - 1 AS number, substr(md5(rw || bs || depth), 1, 16) AS key,
  rw, bs::bigint, depth,
  (CASE rw WHEN 'randread' THEN 1.0 WHEN 'randwrite' THEN 0.6 ELSE 2.5 END)
    * sqrt(depth) * power(4096.0 / bs, 0.7) AS factor
FROM unnest(ARRAY['randread', 'randwrite', 'read', 'write']) rw,
  unnest(ARRAY[4096, 16384, 65536, 262144, 1048576]) bs, unnest(CAST(:depths AS integer[])) depth"""


class Server(Cluster):
    """Set up for its machine, and safe: what it acknowledges is on disk."""

    def start(self, *more):
        options = f"{OPTIONS} -c unix_socket_directories={self.folder} {' '.join(more)}"
        self._run(
            "pg_ctl", "-D", self.folder / "data", "-w", "-t", "400", "-o", options, "-l", self.folder / "log", "start"
        )


def texts():
    """What a real bundle fills three columns with."""
    place = ROOT / "tests" / "unit" / "bundle" / "formats" / "1-of-0.2.0.ioatlas.zip"
    import shutil
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bundle.ioatlas.zip"
        shutil.copy(place, path)
        found = admission.read(path, Declaration(), Limits())
    return {
        "conditions": json.dumps(found.conditions),
        "checks": json.dumps([one.model_dump() for one in found.checks]),
        "summary": json.dumps(found.summary),
    }


def fill(url, low, high, depths, *, fresh):
    """Results low to high with their cells."""
    engine = sa.create_engine(url.replace("://", "+psycopg://", 1))
    many = {"accounts": ACCOUNTS, "products": PRODUCTS}
    with engine.begin() as link:
        if fresh:
            link.execute(sa.text(ACCOUNT), many)
            link.execute(sa.text(PRODUCT), many)
        link.execute(sa.text("SELECT setseed(0.5)"))
        link.execute(sa.text(GRID), {"depths": [1, 16, 4, 8, 32][:depths]})
        link.execute(sa.text("TRUNCATE result, cell CASCADE"))  # what follows needs no log then
        later = link.execute(sa.text(LATER)).all()
        for _, drop in later:  # made anew in one go, indexes and references take a fifth of the time
            link.execute(sa.text(drop))
        told = {**many, **texts()}
        for begin in range(low, high + 1, 20_000):
            last = min(high, begin + 19_999)
            link.execute(sa.text(RESULT), {**told, "low": begin, "high": last})
            link.execute(sa.text(CELL), {"first": f"{begin:06x}zz", "last": f"{last:06x}zz"})
            print(f"{last:,} results", file=sys.stderr, flush=True)
        link.execute(sa.text(PUBLISHER))
        for make, _ in later:
            link.execute(sa.text(make))
            print(make, file=sys.stderr, flush=True)
        link.execute(sa.text("ANALYZE"))
    with engine.begin() as link:
        begin = time.monotonic()
        refresh(link)
        print(f"the best of {PRODUCTS:,} products in {time.monotonic() - begin:.0f} s", flush=True)
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as link:
        link.execute(sa.text("VACUUM ANALYZE"))
    engine.dispose()


def main():
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("folder", type=Path)
    asked.add_argument("--results", type=int, default=100_000)
    asked.add_argument("--depths", type=int, default=5, help="cells of a result: 20 for each")
    options = asked.parse_args()
    options.folder.mkdir(mode=0o755)
    server = Server(options.folder)
    server.start(FILLING)
    for name, count in (("large", options.results),):
        engine = sa.create_engine(server.url("postgres").replace("://", "+psycopg://"), isolation_level="AUTOCOMMIT")
        with engine.connect() as link:
            link.execute(sa.text(f"CREATE DATABASE {name}"))
        engine.dispose()
        held = open_database(server.url(name))
        migrate(held)
        held.close()
        begin = time.monotonic()
        fill(server.url(name), 1, count, options.depths, fresh=True)
        print(
            f"{name}: {count:,} results, {count * 20 * options.depths:,} cells in {time.monotonic() - begin:.0f} s",
            flush=True,
        )
    server.stop()
    server.start()
    print(server.url("large"))


if __name__ == "__main__":
    main()
