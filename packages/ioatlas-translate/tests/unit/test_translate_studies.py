# SPDX-License-Identifier: Apache-2.0
"""The core's operations of IOzone are what the command line of the study means."""

import pytest

from ioatlas.load.streams.fixed_work import iozone_arguments, iozone_round
from ioatlas_translate import translate


@pytest.mark.parametrize("direct", [True, False])
@pytest.mark.parametrize(("size", "record"), [(4 << 30, 1 << 20), (3 << 20, 28 << 10), (4 << 10, 4 << 10)])
def test_a_round_is_its_translation(size, record, direct):
    command = " ".join(["iozone", *iozone_arguments(size, [record], direct=direct)])
    assert translate("iozone", command).workloads == iozone_round(size, record, direct=direct)
