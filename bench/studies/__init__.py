# SPDX-License-Identifier: Apache-2.0
"""Published evaluations made again in small, on lab targets: what was claimed, and what comes out here."""
