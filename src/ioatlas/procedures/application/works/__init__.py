# SPDX-License-Identifier: Apache-2.0
"""Ready-made works, a file each: what a `[[work]]` table says, with `summary`, `needs` and `variants` besides."""
