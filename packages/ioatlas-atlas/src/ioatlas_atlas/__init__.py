# SPDX-License-Identifier: Apache-2.0
"""Bundles of many evaluators in one place: taken in, checked, found again, answered."""
