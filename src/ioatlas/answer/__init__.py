# SPDX-License-Identifier: Apache-2.0
"""From what was measured to what is told: facts, no sentences of a page."""
