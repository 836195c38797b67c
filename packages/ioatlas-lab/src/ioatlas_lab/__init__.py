# SPDX-License-Identifier: Apache-2.0
"""Real targets with known truth on this one machine, made from existing software."""

from ioatlas_lab.running import LabTarget, scenarios, start, up

__all__ = ["LabTarget", "scenarios", "start", "up"]
