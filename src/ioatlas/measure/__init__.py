# SPDX-License-Identifier: Apache-2.0
"""Campaigns: what each kind plans and asks for, the runner that makes it, rounds that watch a target."""
