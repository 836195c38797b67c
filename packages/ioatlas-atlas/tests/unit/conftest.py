# SPDX-License-Identifier: Apache-2.0
"""The atlas of these tests, and what the core's unit tests have: linear algebra on one thread, the same examples."""

import tests.unit.conftest  # noqa: F401
from served import *  # noqa: F403
from served import _each_upload_read_once  # noqa: F401
