# SPDX-License-Identifier: Apache-2.0
"""The testbed as facts, and counters during the load."""

from ioatlas.testbed.inventory import testbed

__all__ = ["testbed"]
