# SPDX-License-Identifier: Apache-2.0
"""Dataclasses as JSON and back."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from ioatlas.model.outcomes import of_plain, plain


@dataclass(frozen=True)
class Inner:
    name: str
    share: float | None = None


@dataclass(frozen=True)
class Outer:
    inner: Inner
    sizes: tuple[int, ...] = ()
    pairs: tuple[tuple[int, str], ...] = ()
    names: frozenset[str] = frozenset()
    by_name: Mapping[str, Inner] = field(default_factory=dict)


WHOLE = Outer(Inner("a", 0.5), (1, 2), ((1, "x"), (2, "y")), frozenset({"b", "a"}), {"k": Inner("c")})


@pytest.mark.parametrize("value", [WHOLE, Outer(Inner("a"))])
def test_what_was_written_is_read_back(value):
    assert of_plain(Outer, json.loads(json.dumps(plain(value)))) == value


def test_a_field_that_was_not_kept_has_its_default():
    assert of_plain(Outer, {"inner": {"name": "a"}}) == Outer(Inner("a"))


@pytest.mark.parametrize("content", [3, {}, {"inner": 3}, {"inner": {"name": "a"}, "sizes": ["x"]}, {"other": 1}])
def test_what_is_none_is_refused(content):
    with pytest.raises((TypeError, ValueError, AttributeError)):
        of_plain(Outer, content)
