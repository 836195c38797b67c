# SPDX-License-Identifier: Apache-2.0
"""A campaign's result in other programs' formats, one module each."""
