# SPDX-License-Identifier: Apache-2.0
"""Several streams at once with a real fio: load points in order, each stream a job of its own.

The search, a crash, shares, power and what exports say are in tests/unit/cli/test_load_points_simulated.py.
"""

import pytest

from tests.load_points import check_load_points
from tests.real.conftest import ioatlas

pytestmark = pytest.mark.needs("fio")


@pytest.mark.unmeasured
def test_load_points_in_order_with_their_streams(tmp_path):
    check_load_points(ioatlas, tmp_path)
