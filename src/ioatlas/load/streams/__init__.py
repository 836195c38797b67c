# SPDX-License-Identifier: Apache-2.0
"""Loads of other tools and published studies in fio's terms, with what is and is not the same."""
