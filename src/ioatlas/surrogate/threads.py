# SPDX-License-Identifier: Apache-2.0
"""Linear algebra on one thread.

Matrices of a few hundred rows lose more to handing out work than they gain from it, and a measured device shares its
machine with us: on a busy 2-core machine two threads were 15 times slower than one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def one_thread(function: Callable[P, R]) -> Callable[P, R]:
    """Runs the function with BLAS held to one thread."""

    @wraps(function)
    def limited(*arguments: P.args, **named: P.kwargs) -> R:
        from threadpoolctl import threadpool_limits

        with threadpool_limits(limits=1, user_api="blas"):
            return function(*arguments, **named)

    return limited
