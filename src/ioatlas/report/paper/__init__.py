# SPDX-License-Identifier: Apache-2.0
"""What a paper takes from campaigns: figures, tables, data with its dictionary, a methods paragraph, a citation."""
