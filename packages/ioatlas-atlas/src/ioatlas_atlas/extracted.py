# SPDX-License-Identifier: Apache-2.0
"""What the process that reads an upload hands over. It is checked as a stranger's too: that process may be broken."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

MOST_CELLS = 20_000
MOST_OUTPUT_BYTES = 64 << 20


def printable(text: str) -> str:
    """As it is. Raises ValueError."""
    if not text.isprintable():
        raise ValueError("characters that cannot be shown")
    return text


Text = Annotated[str, Field(max_length=500), AfterValidator(printable)]
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
    text: Annotated[str, Field(max_length=4000), AfterValidator(printable)]


class FitFound(_Strict):
    """A use that a product was held against: `answer` as `ioatlas fit` gives it, and why. margin: how many times as
    good as needed; None where that is not known. ways: directions of the loads that it makes.
    """

    use: Text
    title: Text
    answer: Literal["pass", "fail", "undecided"]
    margin: Value
    text: Text
    ways: list[Text]


class Bundle(_Strict):
    """What is kept of a bundle beside its file and its cells. signer: fingerprint of a key, '' unsigned. drive: by the
    product's sheet; hardware: what the drives told of themselves, '' for nothing.

    price_per_tib: of usable capacity in `currency`. conditions: fields of each `fairness.Condition`.
    summary: of the campaign, as in the JSON export. fits: uses of which it tells something; None
    where it was taken in before they were told.
    """

    verified: bool
    signature: Text
    signer: Text
    campaign_id: Text
    title: Text
    procedure: Text
    measured_at: Annotated[float, Field(ge=0, le=1e11, allow_inf_nan=False)]
    method_version: Text
    tool_version: Text
    licence: Text
    protocol: Text
    link: Text
    drive: Text
    hardware: Text = ""
    price_per_tib: Value
    currency: Text
    grade: Text
    conditions: Annotated[list[dict[Text, Any]], Field(max_length=100)]
    summary: dict[Text, Any]
    fits: Annotated[list[FitFound], Field(max_length=100)] | None = None


class Found(Bundle):
    """Everything that is read of an upload. licence_says, licence_permission: of the product's sheet.

    testbed: digest of what names the client; '' where too little does.
    """

    testbed: Text = ""
    checks: Annotated[list[CheckFound], Field(max_length=50)]
    has_sheet: bool
    vendor: Text
    model: Text
    kind: Text = ""
    media: Text = ""
    year: Annotated[int, Field(ge=1, le=9999)] | None = None
    licence_says: Text
    licence_permission: Text
    cells: Annotated[list[CellFound], Field(max_length=MOST_CELLS)]


KINDS = {
    "NAS": ("nas", "filer"),
    "cloud volume": ("cloud", "volume"),
    "array": ("array", "san"),
    "software": ("software", "virtuali"),
    "drive": ("drive", "ssd", "disk", "nvme", "hdd"),
}
"""Words of a sheet's kind that decide; the first one that is found does."""
_MEDIA = {"flash": ("ssd", "nvme", "flash", "optane"), "spindles": ("rpm", "hdd", "disk", "spindle")}


def kind_of(said: str) -> str:
    """One of KINDS; '' where nothing tells."""
    return next((kind for kind, words in KINDS.items() if any(word in said.lower() for word in words)), "")


def media_of(drives: str) -> str:
    """'flash', 'spindles', both, or '' where nothing tells."""
    return " and ".join(name for name, words in _MEDIA.items() if any(word in drives.lower() for word in words))


def plain_facts(sessions: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Of all sessions, without the target's name that facts of several targets have before theirs."""
    return {name.rsplit(": ", 1)[-1]: value for session in sessions for name, value in session.items()}


def link_speed(facts: Mapping[str, str]) -> str:
    """Of the network card; '' where none is told."""
    return next((value for name, value in facts.items() if name.startswith("nic.") and name.endswith("speed")), "")
