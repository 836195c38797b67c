# SPDX-License-Identifier: Apache-2.0
"""I/O Atlas: performance maps of storage, with an interval and a verdict on every cell."""

__version__ = "0.4.0.dev0"
