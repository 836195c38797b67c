# SPDX-License-Identifier: Apache-2.0
"""Other tools: their results read, their commands and job files translated."""
