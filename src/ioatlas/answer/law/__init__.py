# SPDX-License-Identifier: Apache-2.0
"""One law of the target, fitted to all that was seen of it; every number, limit and verdict is read from it."""
