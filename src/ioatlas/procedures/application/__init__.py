# SPDX-License-Identifier: Apache-2.0
"""Applications: commands of the user's own and ready-made ones, timed on targets as often as the interval needs."""
