# SPDX-License-Identifier: Apache-2.0
"""The supervisor of a campaign: plan, design, engine and store put together; events out."""

from __future__ import annotations

from ioatlas.campaign.result import load_result

__all__ = ["load_result"]
