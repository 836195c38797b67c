# SPDX-License-Identifier: Apache-2.0
"""A map of which every cell is visited."""
