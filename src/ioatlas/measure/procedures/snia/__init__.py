# SPDX-License-Identifier: Apache-2.0
"""Rounds until steady, as SNIA's performance test specification has them."""
