# SPDX-License-Identifier: Apache-2.0
"""The replay of a timed trace."""
