# SPDX-License-Identifier: Apache-2.0
"""Tables of an atlas, the same in SQLite and PostgreSQL. Times are seconds since the epoch, dates ISO texts. What the
fields of `records` hold is said there.

A change here needs a step in `migrations.py`: databases that are in use are only changed by it.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

import sqlalchemy as sa
from sqlalchemy import JSON, BigInteger, Boolean, Column, Double, ForeignKey, Index, Integer, MetaData, Table, Text

from ioatlas.model.units import words
from ioatlas_atlas import records
from ioatlas_atlas.extract import VALUES
from ioatlas_atlas.extracted import CellFound

metadata = MetaData()
BEST_VALUES = (*VALUES[:3], *VALUES[-3:])
_COUNTS = words("results evaluators reproduced newest")
_NOT_KEPT = words("owner_id product_id owner product vendor_slug badge identity likeness")
_HELD = "state = 'embargoed'"
_OWN_NUMBER = BigInteger().with_variant(Integer, "sqlite")
_TYPES: dict[Any, Any] = {int: Integer, float: Double, bool: Boolean}
_LARGE = frozenset({"bs_bytes", "bundle_bytes", "footprint_bytes", "iodepth", "numjobs"})


def _of(record: Any, *beside: str, **later: Any) -> Iterator[Column[Any]]:
    """Columns of a record's fields, in their order; `id` is the key. beside: fields that are told otherwise.

    later: what rows hold that were there before the column was.
    """
    told = get_type_hints(record)
    for name in getattr(record, "model_fields", None) or record.__dataclass_fields__:
        if name not in beside:
            some = get_args(told[name])
            plain = next(one for one in some if one is not NoneType) if NoneType in some else told[name]
            kind = JSON if get_origin(plain) else BigInteger if name in _LARGE else _TYPES.get(plain, Text)
            key, empty = name == "id", NoneType in some
            yield Column(name, kind, primary_key=key, nullable=empty, server_default=later.get(name))


def _refers(name: str, to: str, **more: Any) -> Column[str]:
    """A column with the key of a row that takes this one with it when it goes."""
    return Column(name, Text, ForeignKey(to, ondelete="CASCADE"), **{"nullable": False, **more})


schema = Table(
    "atlas_schema",
    metadata,
    Column("version", Integer, primary_key=True),
    Column("applied_at", Double, nullable=False),
)

account = Table(
    "account",
    metadata,
    *_of(records.Account, "name"),
    Column("name", Text, nullable=False, unique=True),
    Column("disabled_at", Double),
)

token = Table(
    "token",
    metadata,
    Column("id", Text, primary_key=True),
    _refers("account_id", "account.id"),
    Column("hash", Text, nullable=False, comment="SHA-256 of the secret half, which is random"),
    Column("scopes", Text, nullable=False),
    Column("label", Text, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("expires_at", Double),
    Column("revoked_at", Double),
    Column("made_with", Text, comment="the token whose holder made this one in a browser; it ends with that"),
)

product = Table(
    "product",
    metadata,
    *_of(records.Product, "vendor_slug", kind="", media="", currency="", fits="{}", **dict.fromkeys(_COUNTS, "0")),
    Column("vendor_slug", Text, nullable=False, index=True),
    Column("added_at", Double, nullable=False),
    Column("changed", Integer, nullable=False, server_default="0", comment="how often its rows of best were made"),
)

result = Table(
    "result",
    metadata,
    *_of(records.Result, *_NOT_KEPT, decision="", hardware=""),
    Column("owner_id", Text, ForeignKey("account.id"), nullable=False, index=True),
    Column("product_id", Text, ForeignKey("product.id")),
    Column("words", Text, nullable=False, comment="what free text is looked for in, lower case"),
    Column("wants_private", Boolean, nullable=False),
    Column("licence_says", Text, nullable=False, comment="of the product, about publishing results"),
    Column("testbed", Text, nullable=False, server_default="", comment="digest of what names its client; '' unknown"),
    Index("result_time", "uploaded_at", "id"),
    Index("result_product", "product_id", "uploaded_at", "id"),
    Index("result_embargo", "embargo", postgresql_where=sa.text(_HELD), sqlite_where=sa.text(_HELD)),
    Index("result_owner_bundle", "owner_id", "bundle_sha256", unique=True),
    Index("result_bundle", "bundle_sha256"),
    Index("result_replaces", "replaces"),
)


cell = Table(
    "cell",
    metadata,
    _refers("result_id", "result.id", primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    *_of(CellFound, doubt=""),
    Index(
        "cell_of",
        "result_id",
        "rw",
        "bs_bytes",
        "iops_low",
        "lat_p99_high_ns",
        postgresql_where=sa.text("usable"),
        sqlite_where=sa.text("usable = 1"),
    ),
)

best = Table(
    "best",
    metadata,
    _refers("product_id", "product.id", primary_key=True),
    Column("protocol", Text, primary_key=True),
    Column("link", Text, primary_key=True),
    Column("rw", Text, primary_key=True, comment="'' for any load, without values"),
    Column("direction", Text, primary_key=True),
    Column("bs_bytes", BigInteger, primary_key=True, autoincrement=False),
    Column("in_flight", BigInteger, primary_key=True, autoincrement=False, comment="jobs times depth"),
    Column("result_id", Text, nullable=False, comment="of the cell that is shown"),
    Column("confirmed", Boolean, nullable=False, comment="reproduced, or another evaluator reached it"),
    Column("evaluators", Integer, nullable=False),
    Column("least", Double, comment="I/Os a second of the evaluator who reached least"),
    Column("most", Double),
    *(Column(name, Double) for name in BEST_VALUES),
    Index("best_load", "rw", "bs_bytes", "iops", "in_flight", "product_id", "protocol", "iops_low", "lat_p99_high_ns"),
)

reply = Table(
    "reply",
    metadata,
    *_of(records.Reply, "result_id", "account_id", "account", "older"),
    _refers("result_id", "result.id", index=True),
    Column("account_id", Text, ForeignKey("account.id"), nullable=False),
    Index("reply_version", "result_id", "account_id", "version", unique=True),
)

reproduction = Table(
    "reproduction",
    metadata,
    _refers("result_id", "result.id", primary_key=True),
    _refers("by_result_id", "result.id", primary_key=True),
    Column("account_id", Text, ForeignKey("account.id"), nullable=False),
    *_of(records.Reproduction, "result_id", "by_result_id", "account_id", "account", "title", counted=sa.true()),
)

trace = Table(
    "trace",
    metadata,
    Column("id", _OWN_NUMBER, primary_key=True, autoincrement=True),
    Column("result_id", Text, nullable=False, index=True, comment="stays when the result is deleted"),
    *_of(records.Trace),
    Column("about_id", Text, comment="another result that it tells of: only who may see that one is told"),
)

publisher = Table(
    "publisher",
    metadata,
    Column("campaign_id", Text, primary_key=True, comment="of a result that is, will be or was public"),
    Column("owner_id", Text, ForeignKey("account.id"), nullable=False, comment="who alone may publish the campaign"),
)

audit = Table(
    "audit",
    metadata,
    Column("id", _OWN_NUMBER, primary_key=True, autoincrement=True),
    Column("at", Double, nullable=False, index=True),
    Column("account_id", Text, nullable=False, comment="'' for the command line of the service"),
    Column("action", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column("detail", JSON, nullable=False),
)

once = Table(
    "idempotency",
    metadata,
    _refers("account_id", "account.id", primary_key=True),
    Column("key", Text, primary_key=True),
    Column("request_sha256", Text, nullable=False),
    Column("result_id", Text, nullable=False),
    Column("at", Double, nullable=False, index=True),
)

identity = Table(
    "identity",
    metadata,
    Column("issuer", Text, primary_key=True),
    Column("subject", Text, primary_key=True),
    _refers("account_id", "account.id", index=True),
    Column("at", Double, nullable=False),
)

browser = Table(
    "browser",
    metadata,
    Column("id", Text, primary_key=True, comment="SHA-256 of the cookie, which is random"),
    _refers("account_id", "account.id"),
    _refers("token_id", "token.id", nullable=True, comment="with which it signed in"),
    Column("scopes", Text, nullable=False),
    Column("made_at", Double, nullable=False),
    Column("expires_at", Double, nullable=False, index=True),
)
