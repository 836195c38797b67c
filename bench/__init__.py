# SPDX-License-Identifier: Apache-2.0
"""Claims of performance and of truth, one folder each, made again by one command."""
