# SPDX-License-Identifier: Apache-2.0
"""What the process that reads an upload hands over. It is checked as a stranger's too: that process may be broken."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

MOST_CELLS = 20_000
MOST_OUTPUT_BYTES = 64 << 20


def _printable(text: str) -> str:
    if not text.isprintable():
        raise ValueError("characters that cannot be shown")
    return text


Text = Annotated[str, Field(max_length=500), AfterValidator(_printable)]
Whole = Annotated[int, Field(ge=0, le=1 << 62)]
Value = Annotated[float, Field(ge=0, le=1e18, allow_inf_nan=False)] | None


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class CellFound(_Strict):
    """One cell and direction; as `records.Cell`."""

    target: Text
    cell_key: Text
    direction: Text
    rw: Text
    bs_bytes: Whole
    iodepth: Whole
    numjobs: Whole
    footprint_bytes: Whole
    streams: Text
    loop: Text
    options: dict[Text, Text]
    n_visits: Annotated[int, Field(ge=0, le=1 << 30)]
    iops: Value
    iops_low: Value
    iops_high: Value
    bw_bytes_per_s: Value
    bw_low: Value
    bw_high: Value
    lat_mean_ns: Value
    lat_mean_low_ns: Value
    lat_mean_high_ns: Value
    lat_p99_ns: Value
    lat_p99_low_ns: Value
    lat_p99_high_ns: Value
    verdict: Text
    cached: bool
    usable: bool
    doubt: Text = ""


class CheckFound(_Strict):
    """As `verify.Check`."""

    name: Text
    state: Text
    text: Annotated[str, Field(max_length=4000), AfterValidator(_printable)]


class Found(_Strict):
    """Everything that is kept of a bundle beside its file. licence_says, licence_permission: of the product's sheet.

    testbed: digest of what names the client; '' where too little does.
    """

    verified: bool
    signature: Text
    signer: Text
    testbed: Text = ""
    checks: Annotated[list[CheckFound], Field(max_length=50)]
    campaign_id: Text
    title: Text
    procedure: Text
    measured_at: Annotated[float, Field(ge=0, le=1e11, allow_inf_nan=False)]
    method_version: Text
    tool_version: Text
    licence: Text
    has_sheet: bool
    vendor: Text
    model: Text
    kind: Text = ""
    media: Text = ""
    year: Annotated[int, Field(ge=1, le=9999)] | None = None
    licence_says: Text
    licence_permission: Text
    protocol: Text
    link: Text
    drive: Text
    price_per_tib: Value
    currency: Text
    grade: Text
    conditions: Annotated[list[dict[Text, Any]], Field(max_length=100)]
    summary: dict[Text, Any]
    cells: Annotated[list[CellFound], Field(max_length=MOST_CELLS)]
