# SPDX-License-Identifier: Apache-2.0
"""What a fair reader asks of a result: conditions told, who paid, whether it may be published. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from ioatlas.answer.analysis.best import usable
from ioatlas.answer.analysis.wording import plural
from ioatlas.answer.product.figures import drives_line, held_by_licence
from ioatlas.answer.product.sheet import Publishing, Sheet
from ioatlas.model.errors import UsageError
from ioatlas.model.result import CampaignResult
from ioatlas.model.verdict import VerdictCode
from ioatlas_atlas.extracted import link_speed, plain_facts

MOST_DISCARDED = 0.1
"""Share of the visits that may be discarded before a reader has to ask why."""
ENOUGH_VISITS = 3


class Told(StrEnum):
    """Whether a condition is known."""

    YES = "told"
    PARTLY = "partly"
    NO = "not told"
    NOT_APPLICABLE = "not applicable"


@dataclass(frozen=True)
class Condition:
    """One thing that has to be known before figures are held against others.

    needed: without it nobody can measure the same again. text: what is known. todo: what its owner can do.
    """

    name: str
    told: Told
    needed: bool
    text: str
    todo: str = ""


@dataclass(frozen=True)
class Declaration:
    """What the publisher says beside the bundle. None: not said; '': said to be none.

    permission: who allowed to publish, and when, where the licence asks for that. embargo: ISO date, '' for none.
    """

    sponsor: str | None = None
    conflict: str | None = None
    permission: str = ""
    embargo: str = ""


class Grade(StrEnum):
    """How well others can make a result again, by fixed rules."""

    A = "A"
    B = "B"
    C = "C"
    D = "D"


GRADE_WORDS = {
    Grade.A: "all conditions are told",
    Grade.B: "all that is needed to measure it again is told",
    Grade.C: "one or two needed conditions are missing",
    Grade.D: "too little is told to measure it again",
}


class State(StrEnum):
    """Who sees a result. The texts stand in databases, and stay as they are."""

    PRIVATE = "private"
    EMBARGOED = "embargoed"
    PUBLIC = "public"
    FLAGGED = "flagged"
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True)
class Publication:
    """state, and why in one sentence for the owner."""

    state: State
    reason: str


# -- conditions ----------------------------------------------------------------------------------------------------


def checklist(
    result: CampaignResult, sheet: Sheet | None, declared: Declaration, *, signed: bool, licence: str = ""
) -> tuple[Condition, ...]:
    """All conditions, those of the product first. licence: of the data, '' where none was given."""
    facts = plain_facts(result.sessions)
    return (
        *_of_product(sheet),
        _any("client", facts, ("cpu.model", "host.kernel"), "processor and kernel", "run `ioatlas probe` there"),
        _path(facts),
        _any("target's facts", facts, ("target.kind", "mount.", "device.", "fs."), "what the target is", ""),
        _any("tools", facts, ("ioatlas", "fio"), "versions of ioatlas and fio", ""),
        *_of_method(result),
        Condition("raw output", Told.YES, True, "every batch's job and output are in the bundle"),
        _condition(
            "signature",
            _told(signed),
            "signed" if signed else "nobody signed it",
            "`ioatlas atlas key new`, then bundle it again",
        ),
        _text("licence of the data", licence, "bundle it with --license, such as CC-BY-4.0"),
        _said("sponsor", declared.sponsor, "publish it with --sponsor, or --sponsor none"),
        _said("conflict of interest", declared.conflict, "publish it with --conflict, or --conflict none"),
    )


def grade(conditions: Iterable[Condition]) -> Grade:
    """By what is missing: nothing, only what helps, one or two needed conditions, or more."""
    missing = [one for one in conditions if one.told in (Told.NO, Told.PARTLY)]
    needed = sum(one.needed for one in missing)
    if not missing:
        return Grade.A
    if not needed:
        return Grade.B
    return Grade.C if needed <= 2 else Grade.D


def _of_product(sheet: Sheet | None) -> tuple[Condition, ...]:
    if sheet is None:
        return (
            Condition("product", Told.NO, True, "no product sheet", "measure it with --product SHEET"),
            Condition("price", Told.NO, False, "no product sheet", "write [[price]] in a product sheet"),
        )
    dated = sheet.prices and all(item.origin.date for item in sheet.prices)
    known = bool(sheet.prices or sheet.rates or sheet.printed)
    firmware = next((str(fact.value) for fact in sheet.facts if "firmware" in fact.name or "version" in fact.name), "")
    drives = drives_line(sheet)
    return (
        Condition("product", Told.YES, True, sheet.name),
        _text("firmware", firmware, "write firmware in the product sheet"),
        _condition(
            "drives and layout",
            _told(drives and sheet.layout, drives or sheet.volume),
            drives or ("a volume of a service" if sheet.volume else "not told"),
            "write [[drives]] and [layout] in the product sheet",
            needed=True,
        ),
        _condition(
            "price",
            _told(dated or sheet.rates, known),
            "with its date" if dated else "without a date" if known else "not told",
            "write [[price]] with source and date",
        ),
    )


def _of_method(result: CampaignResult) -> tuple[Condition, ...]:
    measured = [one for one in result.estimates if one.kind == "measured"]
    with_interval = sum(one.bw_low is not None or one.iops_low is not None for one in measured)
    cached = sum(one.verdict is VerdictCode.CACHED for one in measured)
    made = result.n_visits + result.n_discarded
    lost = result.n_discarded / made if made else 0.0
    prepared, seed = result.settings.get("preparation", ""), result.settings.get("order seed", "")
    total = plural(len(measured), "value")
    return (
        _text("preparation", prepared, "", needed=True),
        _text("random order", f"seed {seed}" if seed else "", "", needed=True),
        _condition(
            "intervals",
            _told(with_interval == len(measured), with_interval),
            f"{with_interval:,} of {total} have one",
            f"measure it with --visits {ENOUGH_VISITS}",
            needed=True,
        ),
        _condition(
            "caches",
            _told(all(one.verdict is not VerdictCode.NONE for one in measured), True),
            f"{cached:,} of {total} came from a cache and are not ranked; {sum(map(usable, measured)):,} are usable",
            "",
            needed=True,
        ),
        _condition(
            "discards",
            _told(lost <= MOST_DISCARDED, True),
            f"{result.n_discarded} of {plural(made, 'visit')} were discarded, each with its reason",
            "measure it again on an idle system",
        ),
        _condition(
            "other load",
            _told(not result.other_traffic, True),
            "other activity was seen" if result.other_traffic else "none was seen",
            "measure it again on an idle system",
        ),
        _complete(result),
    )


def _complete(result: CampaignResult) -> Condition:
    known = {one.cell.key for one in result.estimates}
    left = len({one.cell.key for one in result.unmeasured} - known)
    if not result.complete:
        return Condition(
            "complete", Told.NO, True, "it was stopped early", "`ioatlas resume DIR`, then bundle it again"
        )
    if left:
        text = f"{left:,} of {plural(left + len(known), 'cell')} were left out"
        return Condition("complete", Told.PARTLY, False, text, "measure it with a longer --budget")
    return Condition("complete", Told.YES, True, "everything planned was measured")


def _any(name: str, facts: Mapping[str, str], begins: tuple[str, ...], what: str, todo: str) -> Condition:
    """Whether a fact of each of these names is told."""
    exact = [one for one in begins if not one.endswith(".")]
    families = tuple(one for one in begins if one.endswith("."))
    found = [facts[one] for one in exact if one in facts]
    found += [value for fact, value in facts.items() if families and fact.startswith(families)][:2]
    if not found:
        return Condition(name, Told.NO, True, f"{what}: not told", todo)
    whole = all(one in facts for one in exact) or bool(families)
    return Condition(name, Told.YES if whole else Told.PARTLY, True, ", ".join(found)[:200], "" if whole else todo)


def _path(facts: Mapping[str, str]) -> Condition:
    """Speed of the link, where there is one."""
    if not any(name.startswith(("nfs.", "cifs.", "smb.", "iscsi.", "server.")) for name in facts):
        return Condition("link", Told.NOT_APPLICABLE, False, "no network between client and target was seen")
    return _text("link", link_speed(facts), "write nic.speed in testbed.toml", needed=True)


def _told(whole: object, partly: object = False) -> Told:
    return Told.YES if whole else Told.PARTLY if partly else Told.NO


def _condition(name: str, told: Told, text: str, todo: str, *, needed: bool = False) -> Condition:
    """todo: where it is not told in full."""
    return Condition(name, told, needed, text, "" if told is Told.YES else todo)


def _text(name: str, text: str, todo: str, *, needed: bool = False) -> Condition:
    return _condition(name, _told(text), text or "not told", todo, needed=needed)


def _said(name: str, text: str | None, todo: str) -> Condition:
    if text is None:
        return Condition(name, Told.NO, False, "not said", todo)
    return Condition(name, Told.YES, False, text or "none, says the publisher")


# -- publication ---------------------------------------------------------------------------------------------------


def day_of(text: str, where: str) -> str:
    """A date as it was typed, in ISO form; '' stays. Raises UsageError."""
    try:
        return date.fromisoformat(text).isoformat() if text else ""
    except ValueError:
        raise UsageError(f"{text[:20]!r} is no date", where=where, remedy="write it as 2027-01-31") from None


def publication(
    publishing: Publishing | None, declared: Declaration, today: date, *, wants_private: bool = False, flagged: str = ""
) -> Publication:
    """Who may see a result today. publishing: what the product's sheet says of it; None without a sheet. flagged: why a
    check doubts it, '' for no doubt.
    """
    if flagged:
        return Publication(State.FLAGGED, flagged)
    if wants_private:
        return Publication(State.PRIVATE, "its owner keeps it private")
    if publishing is not None and (held := held_by_licence(publishing, declared.permission)):
        return Publication(State.PRIVATE, held)
    if declared.embargo and today < date.fromisoformat(declared.embargo):
        return Publication(State.EMBARGOED, f"its embargo ends on {declared.embargo}")
    return Publication(State.PUBLIC, "anybody may read it")
