# SPDX-License-Identifier: Apache-2.0
"""What a person typed serves for one place each."""

from types import SimpleNamespace

import pytest

from ioatlas.measure.run import set_up
from ioatlas.measure.run.set_up import Consent, confirm_writing
from ioatlas.model.errors import RefusedError

SIZE = "134217728"


@pytest.fixture
def drives(monkeypatch):
    """Three drives of one size without serial numbers; the third has a second name."""

    def confirm(target, typed):
        if typed != SIZE:
            raise RefusedError("not confirmed", where=target.location)

    monkeypatch.setattr(set_up, "check_before_start", lambda _target, writes: None)
    monkeypatch.setitem(set_up.CONFIRMS, "block", ("destroy", confirm))
    places = {"a": "/dev/1", "b": "/dev/2", "c": "/dev/3", "again": "/dev/3"}
    return [SimpleNamespace(name=name, kind="block", location=place) for name, place in places.items()]


PLAN = SimpleNamespace(writes=lambda _name: True)


def test_a_size_that_was_typed_once_confirms_one_drive(drives):
    with pytest.raises(RefusedError) as refused:
        confirm_writing(PLAN, Consent(destroy=(SIZE, SIZE)), drives)
    assert refused.value.where == "/dev/3"
    confirm_writing(PLAN, Consent(destroy=(SIZE, SIZE, SIZE)), drives)


def test_what_stands_in_a_table_of_its_own_serves_beside(drives):
    confirm_writing(PLAN, Consent(destroy=(SIZE, SIZE), own={"b": {"destroy": SIZE}}), drives)
