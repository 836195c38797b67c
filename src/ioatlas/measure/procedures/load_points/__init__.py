# SPDX-License-Identifier: Apache-2.0
"""Several streams at once at given load points."""
