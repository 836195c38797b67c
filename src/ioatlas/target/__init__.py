# SPDX-License-Identifier: Apache-2.0
"""Targets: opened, recognised, guarded, prepared and cleaned.

People own this data; nothing is written that was not named for it.
"""
