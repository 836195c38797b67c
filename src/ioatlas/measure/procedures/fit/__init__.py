# SPDX-License-Identifier: Apache-2.0
"""Whether a target fits a use: the loads of the use in short windows, until each of its requirements is decided."""
