# SPDX-License-Identifier: Apache-2.0
"""Profiles are data: every one is read, and makes the cells it has always made."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest

from ioatlas.measure.procedures.fixed_work import plan as fixed_work
from ioatlas.measure.procedures.options import find_profile, read_campaign_file
from ioatlas.measure.procedures.registry import procedure_of
from ioatlas.measure.run.plan import Plan
from ioatlas.model.errors import UsageError
from ioatlas.model.target import Target
from ioatlas.plan.profiles import described, profiles

GIB = 1 << 30
CAMPAIGNS = Path(__file__).parents[3] / "examples" / "campaigns"
CELLS = json.loads((Path(__file__).parent / "profile_cells.json").read_text())
"""Number of cells of each profile on a directory named `nas`, and SHA-256 of their keys, one a line, in sweep order."""


def planned(name: str, directory: Path) -> Plan:
    spec = replace(find_profile(name), targets=(("", str(directory)),))
    targets = (Target("nas", "directory", str(directory), free_bytes=10_000 * GIB),)
    return procedure_of(spec).plan(spec, targets, read_only=False)


@pytest.mark.parametrize("name", CELLS)
def test_a_profile_makes_the_cells_it_has_always_made(name, tmp_path, monkeypatch):
    monkeypatch.setattr(fixed_work, "usable_bytes", lambda _: 10_000 * GIB)
    monkeypatch.setattr(fixed_work, "known_memory", lambda _facts: {"client": 16 * GIB})
    keys = [cell.key for cell, _ in planned(name, tmp_path).cells]
    assert {"cells": len(keys), "sha256": hashlib.sha256("\n".join(keys).encode()).hexdigest()} == CELLS[name]


EXAMPLES = {
    "seed2021": {"cells": 1920, "sha256": "81147948cb2185b6007bfb877ed1c47f518d76088d2860ef7e3b83fc897938da"},
    "diskspd2016": {"cells": 120, "sha256": "235e4f4644a02297252f2d97b5fd61ca5a14ad0562cc2e75a777c4c5818b462c"},
    "xdd2008": {"cells": 144, "sha256": "b72a73377516f9f20094732c8eb7b9204d1911f04fb1fa5f9c5507d2aaf60d8b"},
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_sweep_of_a_study_is_an_example(name):
    """With the cells that it had as a profile."""
    spec = replace(read_campaign_file(CAMPAIGNS / f"{name}.toml"), targets=(("", "/mnt/nas"),))
    plan = procedure_of(spec).plan(spec, (Target("nas", "directory", "/mnt/nas"),), read_only=False)
    keys = [cell.key for cell, _ in plan.cells]
    assert {"cells": len(keys), "sha256": hashlib.sha256("\n".join(keys).encode()).hexdigest()} == EXAMPLES[name]
    with pytest.raises(UsageError, match="no profile any more") as refused:
        find_profile(name)
    assert f"examples/campaigns/{name}.toml" in refused.value.remedy


def test_the_number_of_cells_that_a_profile_tells_is_that_of_its_plan():
    told = {each.name: each.n_cells for each in described() if each.n_cells}
    assert {name: CELLS[name]["cells"] for name in told} == told


def test_every_profile_has_its_place_and_its_sentence():
    assert list(profiles()) == [*CELLS]
    assert all(profiles().values())


def test_a_profile_says_what_a_map_made_with_it_notes():
    assert len(find_profile("orion").remarks) == 2
    assert find_profile("quick").remarks == ()


def test_a_mistyped_profile_is_guessed():
    with pytest.raises(UsageError, match="there is no profile 'quik'") as caught:
        find_profile("quik")
    assert "did you mean 'quick'?" in caught.value.remedy
    assert "emerald-like" in caught.value.remedy
