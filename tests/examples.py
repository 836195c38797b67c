# SPDX-License-Identifier: Apache-2.0
"""How many examples hypothesis draws."""

from math import ceil
from typing import Any

from hypothesis import settings

ALL = 100
FEW = 20
"""Of each hundred examples, where long tests are left out."""


def examples(count: int, **more: Any) -> settings:
    """Settings of a test over `count` drawn examples: all of them in the long run, else a fifth."""
    return settings(max_examples=ceil(count * settings.default.max_examples / ALL), **more)
