# SPDX-License-Identifier: Apache-2.0
"""A campaign's result, computed anew from its journal."""
