# SPDX-License-Identifier: Apache-2.0
"""Products: their sheets, usable capacity from the layout, price, and what a unit of performance costs."""
