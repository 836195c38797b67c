# SPDX-License-Identifier: Apache-2.0
"""The testbed as facts, and counters beside the load."""

from ioatlas.probe.testbed import testbed

__all__ = ["testbed"]
