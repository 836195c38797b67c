# SPDX-License-Identifier: Apache-2.0
"""Tables of an atlas, the same in SQLite and PostgreSQL. Times are seconds since the epoch, dates ISO texts.

A change here needs a step in `migrations.py`: databases that are in use are only changed by it.
"""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy import JSON, BigInteger, Boolean, Column, Double, ForeignKey, Index, Integer, MetaData, Table, Text

from ioatlas_atlas.extract import VALUES

metadata = MetaData()
BEST_VALUES = (*VALUES[:3], *VALUES[-3:])
_OWN_NUMBER = BigInteger().with_variant(Integer, "sqlite")

schema = Table(
    "atlas_schema",
    metadata,
    Column("version", Integer, primary_key=True),
    Column("applied_at", Double, nullable=False),
)

account = Table(
    "account",
    metadata,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("kind", Text, nullable=False, comment="member, vendor or moderator"),
    Column("vendor", Text, nullable=False, default="", comment="slug of the vendor that a vendor's account speaks for"),
    Column("created_at", Double, nullable=False),
    Column("disabled_at", Double),
)

token = Table(
    "token",
    metadata,
    Column("id", Text, primary_key=True),
    Column("account_id", Text, ForeignKey("account.id", ondelete="CASCADE"), nullable=False),
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
    Column("id", Text, primary_key=True, comment="slug of vendor and model"),
    Column("vendor", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("vendor_slug", Text, nullable=False, index=True),
    Column("words", Text, nullable=False, comment="vendor and model, lower case"),
    Column("added_at", Double, nullable=False),
    Column("kind", Text, nullable=False, server_default="", comment="by its sheet: NAS, array ...; '' not told"),
    Column("media", Text, nullable=False, server_default="", comment="flash, spindles, both; '' not told"),
    Column("year", Integer, comment="of its release"),
    # What follows is counted over the results that all may see.
    Column("results", Integer, nullable=False, server_default="0"),
    Column("evaluators", Integer, nullable=False, server_default="0"),
    Column("reproduced", Integer, nullable=False, server_default="0", comment="of its result that most reproduced"),
    Column("newest", Double, nullable=False, server_default="0"),
    Column("price_per_tib", Double, comment="of the newest result that has one"),
    Column("currency", Text, nullable=False, server_default=""),
)

result = Table(
    "result",
    metadata,
    Column("id", Text, primary_key=True),
    Column("bundle_sha256", Text, comment="NULL once it was deleted"),
    Column("bundle_bytes", BigInteger, nullable=False),
    Column("owner_id", Text, ForeignKey("account.id"), nullable=False, index=True),
    Column("product_id", Text, ForeignKey("product.id"), index=True),
    Column("title", Text, nullable=False),
    Column("words", Text, nullable=False, comment="what free text is looked for in, lower case"),
    Column("state", Text, nullable=False),
    Column("reason", Text, nullable=False, comment="why it has that state, in one sentence"),
    Column("wants_private", Boolean, nullable=False),
    Column("embargo", Text, nullable=False),
    Column("permission", Text, nullable=False),
    Column("sponsor", Text),
    Column("conflict", Text),
    Column("flag", Text, nullable=False, default=""),
    Column("licence_says", Text, nullable=False, comment="of the product, about publishing results"),
    Column("verified", Boolean, nullable=False),
    Column("signature", Text, nullable=False),
    Column("signer", Text, nullable=False, comment="fingerprint of the key that signed the bundle"),
    Column("protocol", Text, nullable=False),
    Column("link", Text, nullable=False),
    Column("drive", Text, nullable=False),
    Column("price_per_tib", Double),
    Column("currency", Text, nullable=False),
    Column("conditions", JSON, nullable=False),
    Column("checks", JSON, nullable=False),
    Column("summary", JSON, nullable=False),
    Column("grade", Text, nullable=False),
    Column("campaign_id", Text, nullable=False),
    Column("procedure", Text, nullable=False),
    Column("measured_at", Double, nullable=False),
    Column("uploaded_at", Double, nullable=False),
    Column("method_version", Text, nullable=False),
    Column("tool_version", Text, nullable=False),
    Column("licence", Text, nullable=False, comment="of the data, SPDX"),
    Column("reproduced", Integer, nullable=False, default=0, comment="by how many others"),
    Column("published_at", Double, comment="when all could see it first; NULL: never so far"),
    Column("replaces", Text, comment="the result that this one corrects"),
    Column("decision", Text, nullable=False, server_default="", comment="of a moderator on its flag: kept or released"),
    Column("testbed", Text, nullable=False, server_default="", comment="digest of what names its client; '' unknown"),
    Index("result_time", "uploaded_at", "id"),
    Index("result_cost", "price_per_tib", "id"),
    Index("result_owner_bundle", "owner_id", "bundle_sha256", unique=True),
    Index("result_bundle", "bundle_sha256"),
    Index("result_replaces", "replaces"),
)


cell = Table(
    "cell",
    metadata,
    Column("result_id", Text, ForeignKey("result.id", ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("target", Text, nullable=False),
    Column("cell_key", Text, nullable=False),
    Column("direction", Text, nullable=False),
    Column("rw", Text, nullable=False),
    Column("bs_bytes", BigInteger, nullable=False),
    Column("iodepth", BigInteger, nullable=False),
    Column("numjobs", BigInteger, nullable=False),
    Column("footprint_bytes", BigInteger, nullable=False),
    Column("streams", Text, nullable=False),
    Column("loop", Text, nullable=False),
    Column("options", JSON, nullable=False, comment="swept options in fio's names"),
    Column("n_visits", Integer, nullable=False),
    *(Column(name, Double) for name in VALUES),
    Column("verdict", Text, nullable=False),
    Column("cached", Boolean, nullable=False),
    Column("usable", Boolean, nullable=False, comment="a value of the target: not cached, not withheld, not doubted"),
    Column("doubt", Text, nullable=False, server_default="", comment="what speaks against it; '' for nothing"),
    Index(
        "cell_of", "result_id", "rw", "bs_bytes", "iops_low", "lat_p99_high_ns",
        postgresql_where=sa.text("usable"), sqlite_where=sa.text("usable = 1"),
    ),
)  # fmt: skip

best = Table(
    "best",
    metadata,
    Column("product_id", Text, ForeignKey("product.id", ondelete="CASCADE"), primary_key=True),
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
    Column("id", Text, primary_key=True),
    Column("result_id", Text, ForeignKey("result.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("account_id", Text, ForeignKey("account.id"), nullable=False),
    Column("kind", Text, nullable=False, comment="vendor or evaluator"),
    Column("version", Integer, nullable=False, comment="from 1; older versions stay"),
    Column("text", Text, nullable=False),
    Column("written_at", Double, nullable=False),
    Index("reply_version", "result_id", "account_id", "version", unique=True),
)

reproduction = Table(
    "reproduction",
    metadata,
    Column("result_id", Text, ForeignKey("result.id", ondelete="CASCADE"), primary_key=True),
    Column("by_result_id", Text, ForeignKey("result.id", ondelete="CASCADE"), primary_key=True),
    Column("account_id", Text, ForeignKey("account.id"), nullable=False),
    Column("outcome", Text, nullable=False, comment="reproduced, differs or not comparable"),
    Column("text", Text, nullable=False),
    Column("at", Double, nullable=False),
    Column("counted", Boolean, nullable=False, server_default=sa.true(), comment="of another client and key"),
)

trace = Table(
    "trace",
    metadata,
    Column("id", _OWN_NUMBER, primary_key=True, autoincrement=True),
    Column("result_id", Text, nullable=False, index=True, comment="stays when the result is deleted"),
    Column("at", Double, nullable=False),
    Column("what", Text, nullable=False, comment="published, corrected, withdrawn, deleted, flagged, cleared"),
    Column("text", Text, nullable=False),
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
    Column("account_id", Text, ForeignKey("account.id", ondelete="CASCADE"), primary_key=True),
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
    Column("account_id", Text, ForeignKey("account.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("at", Double, nullable=False),
)

browser = Table(
    "browser",
    metadata,
    Column("id", Text, primary_key=True, comment="SHA-256 of the cookie, which is random"),
    Column("account_id", Text, ForeignKey("account.id", ondelete="CASCADE"), nullable=False),
    Column("token_id", Text, ForeignKey("token.id", ondelete="CASCADE"), comment="with which it signed in"),
    Column("scopes", Text, nullable=False),
    Column("made_at", Double, nullable=False),
    Column("expires_at", Double, nullable=False, index=True),
)
