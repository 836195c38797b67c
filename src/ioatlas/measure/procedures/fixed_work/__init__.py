# SPDX-License-Identifier: Apache-2.0
"""A fixed-work sequence: operations on one new file, in order."""
