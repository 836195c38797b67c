# SPDX-License-Identifier: Apache-2.0
"""What these tests share with the core's on real targets."""

from tests.real.conftest import own_lab  # noqa: F401
