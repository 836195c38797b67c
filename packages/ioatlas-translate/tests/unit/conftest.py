# SPDX-License-Identifier: Apache-2.0
"""As the core's unit tests: linear algebra on one thread, the same drawn examples in every run."""

import tests.unit.conftest  # noqa: F401
