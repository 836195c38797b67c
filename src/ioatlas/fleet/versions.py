# SPDX-License-Identifier: Apache-2.0
"""One fio on all clients: its two ends speak one version of its protocol, and results of two builds do not add up."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from ioatlas.errors import UsageError
from ioatlas.fleet.client import ClientFacts


def check_versions(ours: str, found: Mapping[str, ClientFacts]) -> None:
    """Raises UsageError naming every host whose fio is missing or of another version than ours.

    A client that cannot tell (a fio server that its owner started) is left to the connection itself, which fails where
    the versions differ.
    """
    missing = [name for name, facts in found.items() if not facts.fio_version and facts.kernel]
    if missing:
        raise UsageError(
            f"fio is not installed on {', '.join(missing)}",
            where="--clients",
            remedy=f"install {ours} there, name its path as `fio` in the hosts file, or add --bring-fio",
        )
    others: dict[str, list[str]] = defaultdict(list)
    for name, facts in found.items():
        if facts.fio_version and facts.fio_version != ours:
            others[facts.fio_version].append(name)
    if others:
        told = "; ".join(f"{version} on {', '.join(names)}" for version, names in sorted(others.items()))
        raise UsageError(
            f"the clients do not all have our {ours}: {told}",
            where="--clients",
            remedy=f"install {ours} on all of them, or add --bring-fio",
        )
