# SPDX-License-Identifier: Apache-2.0
"""The testbed as facts, and counters during the load."""
