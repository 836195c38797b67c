# SPDX-License-Identifier: Apache-2.0
"""What a record is to say, each fact beside its name."""

from typing import Any


def has(record: Any, **facts: Any) -> None:
    """Fails unless the record's attributes of these names have these values."""
    found = {name: getattr(record, name) for name in facts}
    assert found == facts, {name: value for name, value in found.items() if value != facts[name]}
