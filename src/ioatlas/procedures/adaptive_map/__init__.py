# SPDX-License-Identifier: Apache-2.0
"""A map of which few cells are visited and the rest is predicted."""
