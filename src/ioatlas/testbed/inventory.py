# SPDX-License-Identifier: Apache-2.0
"""The whole testbed in one call. Parts are looked at side by side; a tool that hangs costs its time limit, not more."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ioatlas.model.testbed import Fact, Testbed
from ioatlas.testbed.host import look_at_fio, look_at_host
from ioatlas.testbed.network import look_at_network
from ioatlas.testbed.path import look_at_path, look_at_session
from ioatlas.testbed.sheet import Sheet
from ioatlas.testbed.storage import look_at_stack
from ioatlas.testbed.typed_in import corrected, read_facts


def testbed(target: str, facts_file: Path | None = None) -> Testbed:  # noqa: PT028 - not a test
    """Facts of client, path and target, as far as this user may read them; typed-in facts take the place of read ones.

    target: a path or a URI. Raises UsageError when the target is not there or the facts file cannot be read.
    """
    began, at = time.monotonic(), time.time()
    typed = read_facts(facts_file) if facts_file is not None else ()
    path_sheet = Sheet()
    with ThreadPoolExecutor(max_workers=4) as pool:
        host = pool.submit(_on_a_sheet, look_at_host)
        fio = pool.submit(_on_a_sheet, look_at_fio)
        route = look_at_path(path_sheet, target)
        stack = pool.submit(_on_a_sheet, lambda sheet: look_at_stack(sheet, route))
        session = pool.submit(_on_a_sheet, lambda sheet: look_at_session(sheet, route))
        stack_sheet = stack.result()
        server = route.server or _server_of(stack_sheet)
        network = pool.submit(_on_a_sheet, lambda sheet: _network(sheet, server))
        sheets = [host.result(), fio.result(), path_sheet, session.result(), stack_sheet, network.result()]
    facts = corrected(_once([fact for sheet in sheets for fact in sheet.facts]), typed)
    raw = {source: text for sheet in sheets for source, text in sheet.raw.items()}
    return Testbed(target, at, facts, raw, time.monotonic() - began)


def _on_a_sheet(look: Callable[[Sheet], object]) -> Sheet:
    sheet = Sheet()
    look(sheet)
    return sheet


def _network(sheet: Sheet, server: str) -> None:
    if server:
        look_at_network(sheet, server)


def _server_of(sheet: Sheet) -> str:
    return next((str(fact.value) for fact in sheet.facts if fact.name == "server.address" and fact.value), "")


def _once(facts: list[Fact]) -> list[Fact]:
    """One fact a name: a value before a missing one, else the first."""
    kept: dict[str, Fact] = {}
    for fact in facts:
        before = kept.get(fact.name)
        if before is None or (before.value is None and fact.value is not None):
            kept[fact.name] = fact
    return list(kept.values())


testbed.__test__ = False  # type: ignore[attr-defined]
