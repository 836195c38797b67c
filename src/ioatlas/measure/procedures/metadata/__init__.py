# SPDX-License-Identifier: Apache-2.0
"""Metadata and small files: what is done to names, on trees of files that are made new for every sequence."""
