# SPDX-License-Identifier: Apache-2.0
"""A campaign packed into one signed file, and read back as a stranger's: keys, container, packing, verifying."""
